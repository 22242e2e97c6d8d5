"""Functions that act on each element: thousands of points in one call, each with an error estimate of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.testing.elements import columns_of
from tapegrad.testing.kinks import ALONG, STEPS, STILL, stays, steps_of
from tapegrad.testing.noise import noise
from tapegrad.testing.numeric import FINER, LEVELS, QUICK, SINGLE, rounding_of, stairs
from tapegrad.testing.trial import filled

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tapegrad.testing.elements import Layout
    from tapegrad.testing.inputs import Source
    from tapegrad.testing.systems.base import System
    from tapegrad.testing.trial import Settings

_EPS = 2.220446049250313e-16
_H = 4.0 ** -np.arange(LEVELS)
_SOME = 500  # points, which are in no order, for what is usual
_MOST = 2000  # points for the whole ladder: if that many are wrong, some of them tell it


@final
class Swept:
    """What a sweep found: how many points, how many decided, and those that are wrong, by argument."""

    __slots__ = ("count", "decided", "points", "right", "wrong")

    def __init__(self, points: int) -> None:
        self.points = points
        self.decided = 0
        #: (which of the layout's leaves, indices of the points, discrepancies, all columns)
        self.wrong: list[tuple[int, Any, Any, list[Any]]] = []
        #: Likewise, which points are right.
        self.right: list[Any] = []
        #: By leaf, how many are wrong: about, where not all could be looked at closely.
        self.count: dict[int, int] = {}


@final
class Points:
    """Points along a line: all columns, the one that moves and how far, cotangents, the claimed gradient."""

    __slots__ = ("c", "columns", "g", "k", "u")

    def __init__(self, columns: Sequence[Any], k: int, u: Any, g: Any, c: Any) -> None:
        self.columns = list(columns)
        self.k = k
        self.u = u
        self.g = g
        self.c = c

    def pick(self, at: Any) -> Points:
        """Some of them."""
        return Points([x[at] for x in self.columns], self.k, self.u[at], self.g[at], self.c[at])

    def along(self, u: Any) -> Points:
        """The same with other steps."""
        return Points(self.columns, self.k, u, self.g, self.c)

    def moved(self, h: float) -> list[Any]:
        """The columns, one of them moved by h times the step."""
        return [x + h * self.u if j == self.k else x for j, x in enumerate(self.columns)]


@final
class Found:
    """What the ladder says of each point."""

    __slots__ = ("bound", "error", "right", "wrong")

    def __init__(self, right: Any, wrong: Any, error: Any, bound: Any) -> None:
        self.right = right
        self.wrong = wrong
        self.error = error
        self.bound = bound


def _real(a: Any, b: Any) -> Any:
    """The real inner product, entry by entry."""
    return (np.conj(a) * b).real if a.dtype.kind == "c" or b.dtype.kind == "c" else a * b


def sweep(
    system: System, source: Source, settings: Settings, layout: Layout, n: int, *, hurried: bool = False
) -> Swept:
    """The gradient for each argument, at each of n points, against differences.

    `hurried`: where it is known that some are wrong, those are not looked at more closely.
    """
    columns = columns_of(source, layout.leaves, n)
    found = Swept(n * len(layout.lines))
    with np.errstate(all="ignore"):
        y = _value(system, layout, columns)
        keep = np.isfinite(y)
        g = noise(source.rng, (n,), y.dtype)
        grads = _gradient(system, layout, columns, g)
        for k, unit in layout.lines:
            u = unit * _steps(columns[k], *source.domains[layout.leaves[k]])
            some = np.flatnonzero(keep)[:_SOME]
            gain = min(1.0, float(np.median(np.abs(grads[k][some] / g[some])))) if some.size else 0.0
            line = _Line(system, layout, gain, settings.usual, SINGLE if settings.single else 0.0)
            points = Points(columns, k, u, g, grads[k])
            wrong, errors, right, share = line.examined(points, keep, () if hurried else FINER)
            if wrong.size and settings.kinks == "warn":
                smooth = ~line.bends(points.pick(wrong), errors)
                wrong, errors = wrong[smooth], errors[smooth]
            found.decided += int(right.sum()) + wrong.size
            if wrong.size:
                found.right.append(right)
                found.wrong.append((k, wrong, errors, columns))
                found.count[k] = max(found.count.get(k, 0), int(wrong.size * share))
    return found


def _steps(x: Any, lo: float, hi: float) -> Any:
    floor = 0.02 * (hi - lo if hi - lo < np.inf else 4.0)
    u = 0.1 * np.maximum(np.abs(x), floor)
    if lo > -np.inf:
        u = np.minimum(u, 0.9 * np.maximum(x.real - lo, 0))
    if hi < np.inf:
        u = np.minimum(u, 0.9 * np.maximum(hi - x.real, 0))
    return u


def _value(system: System, layout: Layout, columns: Sequence[Any]) -> Any:
    n = columns[0].size
    return system.value(layout.full(columns))[0].reshape(-1)[:n]


def _gradient(system: System, layout: Layout, columns: Sequence[Any], g: Any) -> list[Any]:
    n = g.size
    xs = layout.full(columns)
    ys, pull = system.run(xs)
    full = np.zeros(ys[0].size, g.dtype)
    full[:n] = g
    return [c.reshape(-1)[:n] for c in filled(pull([full.reshape(ys[0].shape)]), [xs[i] for i in layout.leaves])]


@final
class _Line:
    """The function along one argument."""

    def __init__(self, system: System, layout: Layout, gain: float, usual: float, least: float) -> None:
        self.system = system
        self.layout = layout
        self.gain = gain
        self.usual = usual
        self.least = least

    def value(self, columns: Sequence[Any]) -> Any:
        return _value(self.system, self.layout, columns)

    def difference(self, p: Points, level: int) -> tuple[Any, Any, Any]:
        """Discrepancy, its noise, and the slope, at step 4**-level."""
        h = 4.0**-level
        up, down = p.moved(h), p.moved(-h)
        above, below = self.value(up), self.value(down)
        moved = _real(p.g, above - below)
        size = np.abs(p.g) * np.maximum(np.abs(above), np.abs(below))
        claimed = _real(p.c, up[p.k] - down[p.k])
        rounding = max(rounding_of(above), self.least)
        if rounding > _EPS:  # single precision inside, to which the arguments are rounded too
            size = size + 0.5 * np.abs(p.c * p.columns[p.k])
        return (moved - claimed) / (2 * h), 2 * rounding * size / h, np.abs(moved) / (2 * h)

    def rounding(self, p: Points, claims: float) -> Any:
        """Of the claim itself."""
        return _EPS * np.abs(p.u) * (claims * np.abs(p.c) + 10 * self.gain * np.abs(p.g))

    def examined(self, p: Points, keep: Any, finer: Sequence[float]) -> tuple[Any, Any, Any, float]:
        """The points where the claim is wrong, by how much, which are right, and for how many each wrong one stands."""
        first, then = (self.difference(p, level) for level in QUICK)
        error = (16 * then[0] - first[0]) / 15
        scale = np.abs(p.c * p.u) + np.minimum(first[2], then[2])
        bound = 2 * then[1] + self.rounding(p, 2)
        there = keep & (np.abs(p.u) > 0)
        good = there & (np.abs(error) <= 1e-8 * scale + 10 * bound) & ((bound <= 1e-4 * scale) | (error == 0))
        left = np.flatnonzero(there & ~good)
        if not left.size:
            return left, left, good, 1.0
        share = max(1.0, left.size / _MOST)
        left = left[:_MOST]
        some = p.pick(left)
        found = self.ladder(some)
        wrong = found.wrong
        if wrong.any():  # steps in proportion to x do not step over a pole or a branch close to zero
            again = np.flatnonzero(wrong)
            few = some.pick(again)
            size = np.abs(few.u)
            near = np.minimum(1.0, np.where(few.columns[p.k] == 0, np.inf, 0.1 * np.abs(few.columns[p.k])) / size)
            for shorter in (near, *(np.full(size.shape, part) for part in finer)):
                at = np.flatnonzero(wrong[again])
                if not at.size:
                    break
                closer = self.ladder(few.pick(at).along(shorter[at] * few.u[at]))
                gone = np.abs(closer.error) + 10 * closer.bound <= 0.1 * shorter[at] * np.abs(found.error[again[at]])
                wrong[again[at[closer.right & gone]]] = False
            wrong[again[self.jumps(few.along(near * few.u))]] = False
            wrong[again[self.narrow_stairs(few)]] = False
        good[left[found.right]] = True
        return left[wrong], found.error[wrong], good, share

    def ladder(self, p: Points) -> Found:
        """All steps, extrapolated to 0; the finest one that still decides has to agree."""
        errors, noises, slopes = (
            np.array(part) for part in zip(*(self.difference(p, k) for k in range(LEVELS)), strict=True)
        )
        # Of what may be large inside, and is not any more.
        noises = noises + 2 * _EPS * self.usual * np.abs(p.g) / _H[:, None]
        usable = np.isfinite(errors)
        claim = np.isfinite(p.c)
        errors = np.where(usable, errors, 0.0)
        tail = np.abs(np.diff(errors[-3:], axis=0)).max(axis=0)
        expected = np.where(np.isfinite(noises), noises, np.inf)
        noises = np.maximum(expected, tail * _H[-1] / _H[:, None])
        moved = np.sort(np.where(np.isfinite(slopes), slopes, np.inf), axis=0)[LEVELS // 4]
        moved = np.where(np.isfinite(moved), moved, 0.0)
        scale = np.abs(p.c * p.u) + moved
        best, bound = _extrapolated(errors, noises, usable)
        bound = bound + self.rounding(p, 4)
        decisive = np.maximum(np.abs(best), 1e-3 * scale)
        at_finest, decides = _finest(errors, usable & (10 * noises <= decisive))
        agrees = decides & (np.abs(at_finest - best) <= 0.5 * decisive)
        fits = np.abs(best) <= 30 * bound + 1e-8 * scale
        right = claim & fits & ((bound <= 1e-3 * scale) & agrees | (scale == 0))
        last, sees = _finest(errors, usable & (10 * noises <= np.abs(best)))
        agrees &= sees & (np.abs(last - best) <= 0.5 * np.abs(best))  # there at the finest step that could show it
        last, sees = _finest(errors, usable & (10 * expected <= np.abs(best)))
        claimed = _real(p.c, p.u)
        agrees &= ~(sees & (claimed != 0) & (np.abs(last) <= 0.1 * np.abs(best)))  # and not gone at finer ones
        agrees &= ~stairs(errors, slopes, scale, claimed)
        wrong = claim & ~fits & agrees & (bound <= 0.03 * np.maximum(np.abs(best), moved))
        wrong |= ~claim & usable[-4:].all(axis=0) & _finite_slope(slopes)
        if wrong.any():
            wrong &= ~self.between(p, best)
        return Found(right, wrong, best, bound)

    def between(self, p: Points, error: Any) -> Any:
        """Whether f bends at a point, and the claim lies between the slopes on either side."""
        excused = np.zeros(p.g.shape, bool)
        claimed = _real(p.c, p.u)
        for left, right in self.one_sided(p):
            low, high = np.minimum(left, right), np.maximum(left, right)
            jump = high - low
            excused |= (jump >= 0.9 * np.abs(error)) & (claimed >= low - 0.01 * jump) & (claimed <= high + 0.01 * jump)
        return excused

    def bends(self, p: Points, error: Any) -> Any:
        """Whether the slopes on either side of a point differ by as much as the claim is wrong, or nearly."""
        bent = np.zeros(p.g.shape, bool)
        for left, right in self.one_sided(p):
            bent |= np.abs(right - left) >= 0.3 * np.abs(error)
        return bent

    def jumps(self, p: Points) -> Any:
        """Whether f itself jumps at a point, as on a branch cut."""
        here = self.value(p.columns)
        sizes = [
            np.maximum(np.abs(self.value(p.moved(h)) - here), np.abs(self.value(p.moved(-h)) - here))
            for h in (1e-3, 1e-6, 1e-9)
        ]
        return stays(*sizes) & (sizes[2] > 1e-9 * (np.abs(here) + self.usual))

    def narrow_stairs(self, p: Points) -> Any:
        """Whether the claim is zero, and values are steps: `kinks.narrow_stairs` of each point."""
        level = p.c == 0
        if level.any():
            p = p.along(p.columns[p.k])
            flat = [self.value(p.moved(low)) == self.value(p.moved(high)) for low, high in STILL]
            level &= np.any(flat, axis=0)
        if level.any():
            level &= steps_of(np.array([self.value(p.moved(h)) for h in ALONG])) >= STEPS - 1
        return level

    def one_sided(self, p: Points) -> Iterator[tuple[Any, Any]]:
        """The slopes on either side, at several steps."""
        here = self.value(p.columns)
        for h in (4.0**-7, 4.0**-10, 4.0**-12):
            above, below = self.value(p.moved(h)), self.value(p.moved(-h))
            yield _real(p.g, here - below) / h, _real(p.g, above - here) / h


def _finest(errors: Any, usable: Any) -> tuple[Any, Any]:
    """The discrepancy at the finest of the usable steps, and whether there is any."""
    last = LEVELS - 1 - np.argmax(usable[::-1], axis=0)
    return np.take_along_axis(errors, last[None], axis=0)[0], usable.any(axis=0)


def _finite_slope(slopes: Any) -> Any:
    """Where the derivative is not infinite: slopes stop growing with smaller steps."""
    return np.isfinite(slopes[-3:]).all(axis=0) & (slopes[-1] <= 1.5 * slopes[-4])


def _extrapolated(errors: Any, noise_: Any, usable: Any) -> tuple[Any, Any]:
    """For each point the best estimate at step 0, of all orders and steps, and its error."""
    found, bounds = [], []
    table, all_of = errors, usable
    whole = bool(usable.all())
    for order in (2, 4, 6):
        apart = np.abs(table[1:] - table[:-1])
        bound = np.maximum(apart[:-1], apart[1:]) + 2 * noise_[order // 2 : order // 2 + len(table) - 2]
        if not whole:
            all_of = usable if order == 2 else all_of[:-1] & all_of[1:]
            bound = np.where(all_of[:-2] & all_of[1:-1] & all_of[2:], bound, np.inf)
        found.append(table[1:-1])
        bounds.append(bound)
        factor = 4.0**order
        table = (factor * table[1:] - table[:-1]) / (factor - 1)
    each = np.concatenate(bounds)
    best = np.argmin(np.where(np.isnan(each), np.inf, each), axis=0)[None]
    bound = np.take_along_axis(each, best, axis=0)[0]
    found_there = np.take_along_axis(np.concatenate(found), best, axis=0)[0]
    decided = bound < np.inf
    return np.where(decided, found_there, 0.0), np.where(decided, bound, np.inf)
