"""The smallest input at which the same property fails: sizes first, then layout of axes, then values, then cotangents."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.testing.inputs import Point

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tapegrad.testing.outcome import Failure
    from tapegrad.testing.words import Word

    Fails = Callable[[Point], Failure | None]


@final
class Shrinker:
    """Tries simpler inputs, and keeps those on which `fails` still gives the failure.  Stops after a while."""

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

    def shrink(self, point: Point, failure: Failure) -> tuple[Point, Failure]:
        """The simplest input found, and its failure."""
        best, found = point, failure
        for _ in range(3):
            start = best
            for candidates in (self._sizes, self._axes, self._values, self._cotangents):
                best, found = self._descend(best, found, candidates)
            if best is start:
                break
        return best, found

    def _descend(
        self, point: Point, failure: Failure, candidates: Callable[[Point], Iterator[Point]]
    ) -> tuple[Point, Failure]:
        moved = True
        while moved:
            moved = False
            for candidate in candidates(point):
                if self.left <= 0 or time.perf_counter() > self.deadline:
                    return point, failure
                self.left -= 1
                again = self.fails(candidate)
                if again is not None:
                    point, failure, moved = candidate, again, True
                    break
        return point, failure

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

    def _sizes(self, point: Point) -> Iterator[Point]:
        for group in self._groups(point):
            i, axis = group[0]
            n = point.xs[i].shape[axis]
            if n <= 1:
                continue
            for keep in _parts(n):
                yield self._picked(point, group, keep)

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
        return self._with(point, xs, gs)

    def _follow(self, g: Any, before: list[tuple[int, ...]], group: list[tuple[int, int]], keep: Any) -> Any:
        """The cotangent, cut in the same way, if it has the shape of one of the leaves."""
        for i, axis in group:
            if g.shape == before[i]:
                return np.take(g, keep, axis)
        return g

    def _axes(self, point: Point) -> Iterator[Point]:
        """Fewer axes, where no word says how many."""
        for i, (w, x) in enumerate(zip(self.words, point.xs, strict=True)):
            if w.dims is None and isinstance(x, np.ndarray) and x.ndim > 1 and x.shape[0] == 1:
                xs = list(point.xs)
                xs[i] = x[0]
                yield self._with(point, xs, None)
        if all(w.dims is None or not w.active for w in self.words):
            longest = max((np.ndim(x) for x in point.xs), default=0)
            if longest > 1 and all(
                np.ndim(x) == longest for w, x in zip(self.words, point.xs, strict=True) if w.active
            ):
                xs = [x.reshape(-1) if w.active else x for w, x in zip(self.words, point.xs, strict=True)]
                yield self._with(point, xs, None)

    # -- values ----------------------------------------------------------------------------------------
    def _values(self, point: Point) -> Iterator[Point]:
        for i, (w, x) in enumerate(zip(self.words, point.xs, strict=True)):
            if not isinstance(x, np.ndarray) or not x.size or not w.active:
                continue
            for simpler in (np.zeros_like(x), np.ones_like(x), *(_rounded(x, d) for d in (0, 1, 2))):
                if _simpler(simpler, x) and self._allowed(i, simpler):
                    yield self._with(point, [simpler if j == i else z for j, z in enumerate(point.xs)], point.gs)
            if x.size <= 8:
                yield from self._entries(point, i, x)

    def _entries(self, point: Point, i: int, x: Any) -> Iterator[Point]:
        for k in range(x.size):
            v = x.reshape(-1)[k]
            for simpler in dict.fromkeys((0.0, 1.0, *(_rounded(v, d) for d in (0, 1, 2, 3, 5)))):
                if _cost(simpler) < _cost(v):
                    z = x.copy()
                    z.reshape(-1)[k] = simpler
                    if self._allowed(i, z):
                        yield self._with(point, [z if j == i else a for j, a in enumerate(point.xs)], point.gs)

    def _allowed(self, i: int, x: Any) -> bool:
        lo, hi = self.domains[i]
        if self.words[i].kind == "psd":
            return False
        return bool(((x.real >= lo) & (x.real <= hi)).all())

    def _cotangents(self, point: Point) -> Iterator[Point]:
        gs = point.gs
        if gs is None:
            return
        simple = [np.ones_like(g) for g in gs]
        counted = [np.arange(1, g.size + 1, dtype=g.dtype).reshape(g.shape) for g in gs]
        for other in (simple, counted, [_rounded(g, 1) for g in gs]):
            if sum(map(_costs, other)) < sum(map(_costs, gs)):
                yield self._with(point, point.xs, other)
        for k, g in enumerate(gs):
            for j in range(g.size if g.size <= 8 else 0):
                if g.reshape(-1)[j] != 0 and g.size > 1:
                    h = g.copy()
                    h.reshape(-1)[j] = 0
                    if _costs(h) < _costs(g):
                        yield self._with(point, point.xs, [h if m == k else z for m, z in enumerate(gs)])

    def _with(self, point: Point, xs: list[Any], gs: list[Any] | None) -> Point:
        return Point(xs, point.label, point.seed, tame=point.tame, gs=gs)


def _parts(n: int) -> list[Any]:
    """Which elements of an axis are kept: one, two, half of them, all but one."""
    if n > 8:
        half = n // 2
        return [[0], [n - 1], list(range(half)), list(range(half, n)), list(range(3 * n // 4)), list(range(n - 1))]
    made = [[i] for i in range(n)]
    if n > 2:
        made += [[0, 1], [n - 2, n - 1], list(range(n - 1)), list(range(1, n))]
    return made


def _rounded(x: Any, digits: int) -> Any:
    return np.round(x, digits)


def _cost(v: Any) -> float:
    """How much there is to read in a number."""
    if v == 0:
        return 0.0
    if np.iscomplexobj(v):
        return _cost(v.real) + _cost(v.imag) + 1
    return 1 + len(f"{abs(float(v)):.12g}") + (0.5 if v < 0 else 0) + (0 if v == 1 else 0.5)


def _costs(x: Any) -> float:
    return sum(map(_cost, np.asarray(x).reshape(-1)[:64]))


def _simpler(a: Any, b: Any) -> bool:
    return _costs(a) < _costs(b)
