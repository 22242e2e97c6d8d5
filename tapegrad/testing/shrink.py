"""The smallest input at which the same property fails: sizes first, then layout of axes, then values, then cotangents."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.testing.inputs import Point

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.testing.outcome import Failure
    from tapegrad.testing.words import Word

    Fails = Callable[[Point], Failure | None]


@final
class Shrinker:
    """Tries simpler inputs, each once, and keeps those on which `fails` still gives the failure.  Stops after a while.

    What has become simpler is gone on from, not begun with again: a report is half of what a check costs that fails.
    """

    def __init__(
        self,
        fails: Fails,
        words: Sequence[Word],
        domains: Sequence[tuple[float, float]],
        *,
        seconds: float = 0.4,
        tries: int = 400,
    ) -> None:
        self.fails = fails
        self.words = words
        self.domains = domains
        self.deadline = time.perf_counter() + seconds
        self.left = tries
        self._tried: set[Any] = set()

    def shrink(self, point: Point, failure: Failure) -> tuple[Point, Failure]:
        """The simplest input found, and its failure."""
        self.point, self.failure = point, failure
        for _ in range(3):
            start = self.point
            self._sizes()
            self._axes()
            self._whole_cotangents()
            self._values()
            self._cotangents()
            if self.point is start:
                break
        return self.point, self.failure

    def _take(self, candidate: Point) -> bool:
        """Whether it fails there too: then it is gone on from."""
        if self.left <= 0 or time.perf_counter() > self.deadline:
            return False
        key = [(x.shape, x.tobytes()) for x in (*candidate.xs, *(candidate.gs or ())) if isinstance(x, np.ndarray)]
        if (told := (candidate.gs is None, *key)) in self._tried:
            return False
        self._tried.add(told)
        self.left -= 1
        again = self.fails(candidate)
        if again is None:
            return False
        self.point, self.failure = candidate, again
        return True

    # -- sizes -----------------------------------------------------------------------------------------
    def _groups(self, point: Point) -> list[list[tuple[int, int]]]:
        """Axes that have to keep the same length: of one name, or of one length where nothing is named."""
        groups: dict[Any, list[tuple[int, int]]] = {}
        for i, (w, x) in enumerate(zip(self.words, point.xs, strict=True)):
            if not isinstance(x, np.ndarray) or w.kind == "fixed":
                continue
            for axis, n in enumerate(x.shape):
                if w.dims is not None and w.base is None and w.kind != "strategy":
                    name: Any = w.dims[axis]
                    if isinstance(name, str):
                        groups.setdefault(name, []).append((i, axis))
                else:
                    groups.setdefault((n, x.ndim - axis if w.dims is None else n), []).append((i, axis))
        return sorted(groups.values(), key=lambda group: -point.xs[group[0][0]].shape[group[0][1]])

    def _sizes(self) -> None:
        """Of length one all at once, or else one after the other as short as it goes."""
        groups = self._groups(self.point)
        if sum(self._length(group) > 1 for group in groups) > 1:
            least = self.point
            for group in groups:
                if self._length(group) > 1:
                    least = self._picked(least, group, [0])
            self._take(least)
        at = 0
        while at < len(groups):
            n = self._length(groups[at])
            if not any(self._take(self._picked(self.point, groups[at], keep)) for keep in (_parts(n) if n > 1 else ())):
                at += 1
            groups = self._groups(self.point)

    def _length(self, group: list[tuple[int, int]]) -> int:
        i, axis = group[0]
        return int(self.point.xs[i].shape[axis])

    def _picked(self, point: Point, group: list[tuple[int, int]], keep: Any) -> Point:
        xs = list(point.xs)
        before = [np.shape(x) for x in xs]
        for i, axis in group:
            if xs[i].ndim > axis:
                xs[i] = np.take(xs[i], keep, axis)
        name = self.words[group[0][0]].dims
        label = name[group[0][1]] if name is not None else None
        for i, w in enumerate(self.words):
            if w.kind == "indices" and w.bound == label:  # row numbers that are no longer there
                xs[i] = np.minimum(xs[i], len(keep) - 1)
        gs = None
        if point.gs is not None:
            gs = [self._follow(g, before, group, keep) for g in point.gs]
        return self._with(xs, gs)

    def _follow(self, g: Any, before: list[tuple[int, ...]], group: list[tuple[int, int]], keep: Any) -> Any:
        """The cotangent, cut in the same way, if it has the shape of one of the leaves."""
        for i, axis in group:
            if g.shape == before[i]:
                return np.take(g, keep, axis)
        return g

    def _axes(self) -> None:
        """Fewer axes, where no word says how many."""
        for i, w in enumerate(self.words):
            while w.dims is None and np.ndim(self.point.xs[i]) > 1 and self.point.xs[i].shape[0] == 1:
                xs = list(self.point.xs)
                xs[i] = xs[i][0]
                if not self._take(self._with(xs, None)):
                    break
        active = [i for i, w in enumerate(self.words) if w.active]
        ranks = {np.ndim(self.point.xs[i]) for i in active}
        if len(ranks) == 1 and max(ranks) > 1 and all(self.words[i].dims is None for i in active):
            xs = [x.reshape(-1) if i in active else x for i, x in enumerate(self.point.xs)]
            self._take(self._with(xs, None))

    # -- values ----------------------------------------------------------------------------------------
    def _values(self) -> None:
        for i, w in enumerate(self.words):
            x = self.point.xs[i]
            if not isinstance(x, np.ndarray) or not x.size or not w.active or w.kind == "psd":
                continue
            simpler = (np.zeros_like(x), np.ones_like(x), *(np.round(x, d) for d in (0, 1, 2)))
            if any(_costs(z) < _costs(x) and self._take_leaf(i, z) for z in simpler):
                x = self.point.xs[i]
            for k in range(x.size if x.size <= 8 else 0):
                self._entry(i, k)

    def _entry(self, i: int, k: int) -> None:
        x = self.point.xs[i]
        v = x.reshape(-1)[k]
        for simpler in dict.fromkeys((x.dtype.type(0), x.dtype.type(1), *(np.round(v, d) for d in (0, 1, 2, 3, 5)))):
            if _cost(simpler) < _cost(v):
                z = x.copy()
                z.reshape(-1)[k] = simpler
                if self._take_leaf(i, z):
                    return

    def _take_leaf(self, i: int, x: Any) -> bool:
        lo, hi = self.domains[i]
        inside = bool(((x.real >= lo) & (x.real <= hi)).all())
        return inside and self._take(
            self._with([x if j == i else z for j, z in enumerate(self.point.xs)], self.point.gs)
        )

    def _whole_cotangents(self) -> None:
        gs = self.point.gs
        if gs is None:
            return
        simple = [np.ones_like(g) for g in gs]
        counted = [np.arange(1, g.size + 1, dtype=g.dtype).reshape(g.shape) for g in gs]
        for other in (simple, counted, [np.round(g, 1) for g in gs]):
            if sum(map(_costs, other)) < sum(map(_costs, gs)) and self._take(self._with(self.point.xs, other)):
                return

    def _cotangents(self) -> None:
        """Entry by entry to zero."""
        for k, g in enumerate(self.point.gs or ()):
            for j in range(g.size if 1 < g.size <= 8 else 0):
                gs = list(self.point.gs or ())
                if gs[k].reshape(-1)[j] != 0:
                    gs[k] = gs[k].copy()
                    gs[k].reshape(-1)[j] = 0
                    self._take(self._with(self.point.xs, gs))

    def _with(self, xs: list[Any], gs: list[Any] | None) -> Point:
        point = self.point
        return Point(xs, point.label, point.seed, tame=point.tame, gs=gs)


def _parts(n: int) -> list[Any]:
    """Which elements of an axis are kept: one, half of them, all but some."""
    half = n // 2
    made = [[0], [n - 1]]
    if n > 3:
        made += [list(range(half)), list(range(half, n))]
    if n > 8:
        return [*made, list(range(3 * n // 4)), list(range(n - 1))]
    return [*made, *([i for i in range(n) if i != k] for k in range(n - 1, -1, -1) if n > 2)]


def _cost(v: Any) -> float:
    """How much there is to read in a number."""
    if v == 0:
        return 0.0
    if np.iscomplexobj(v):
        return _cost(v.real) + _cost(v.imag) + 1
    return 1 + len(f"{abs(float(v)):.12g}") + (0.5 if v < 0 else 0) + (0 if v == 1 else 0.5)


def _costs(x: Any) -> float:
    return sum(map(_cost, np.asarray(x).reshape(-1)[:64]))
