"""Functions that act on each element: thousands of points in one call, each with an error estimate of its own."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.testing.inputs import Point
from tapegrad.testing.numeric import LEVELS, QUICK
from tapegrad.testing.trial import filled, noise

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tapegrad.testing.inputs import Source
    from tapegrad.testing.systems.base import System
    from tapegrad.testing.trial import Settings

_EPS = 2.220446049250313e-16
_H = 4.0 ** -np.arange(LEVELS)


@final
class Swept:
    """What a sweep found: how many points, how many decided, and those that are wrong, by argument."""

    __slots__ = ("decided", "points", "wrong")

    def __init__(self, points: int) -> None:
        self.points = points
        self.decided = 0
        #: (leaf, indices of the points, discrepancies, all leaves)
        self.wrong: list[tuple[int, Any, Any, list[Any]]] = []


@final
class Layout:
    """How N points are given to the function: shapes of the leaves for a length."""

    __slots__ = ("base", "compiles", "leaves", "rest", "tail")

    def __init__(self, base: list[Any], leaves: list[int], tail: tuple[int, ...], *, compiles: bool = False) -> None:
        self.compiles = compiles
        self.base = base
        self.leaves = leaves
        self.tail = tail
        self.rest = math.prod(tail)

    def full(self, columns: Sequence[Any]) -> list[Any]:
        """The leaves, for points as vectors; padded to whole rows."""
        xs = list(self.base)
        for i, c in zip(self.leaves, columns, strict=True):
            n = -(-c.size // self.rest) * self.rest
            if self.compiles and n < 2000 * self.rest:
                n = 2000 * self.rest  # one more shape, not one for each number of points that are left
            xs[i] = np.resize(c, n).reshape(-1, *self.tail) if self.tail or self.compiles else c.copy()
        return xs


def layout_of(system: System, source: Source) -> Layout | None:
    """How the function takes many points at once, if it acts on elements; else None."""
    leaves = list(system.active)
    words = [source.words[i] for i in leaves]
    if not leaves or any(w.kind != "array" or np.dtype(w.dtype) != np.float64 for w in words):
        return None
    dims = words[0].dims
    if any(w.dims != dims for w in words) or dims == () or (dims and not any(isinstance(d, str) for d in dims)):
        return None
    if dims and not isinstance(dims[0], str):
        return None
    sizes = {name: 4 - k % 2 for k, name in enumerate(source.names)}
    point = source.point("usual", sizes, 7)
    tail = tuple(sizes[d] if isinstance(d, str) else d for d in dims[1:]) if dims else ()
    if any(d == 0 for d in tail) or (dims and dims[0] in dims[1:]):
        return None
    if (
        any(isinstance(d, str) and d == dims[0] for w in source.words if not w.active for d in (w.dims or ()))
        if dims
        else False
    ):
        return None
    found = Layout(point.xs, leaves, tail, compiles=system.compiles)
    return found if _acts_on_elements(system, source, found) else None


def _acts_on_elements(system: System, source: Source, layout: Layout) -> bool:
    rng = source.rng
    n = 6 * layout.rest
    columns = [source._leaf(i, source.words[i], (n,), "usual", {}) for i in layout.leaves]
    order = rng.permutation(n)
    moved = [c.copy() for c in columns]
    replacements = [source._leaf(i, source.words[i], (1,), "positive", {}) for i in layout.leaves]
    for c, r in zip(moved, replacements, strict=True):
        c[0] = r[0]
    try:
        y = system.value(layout.full(columns))
        z = system.value(layout.full([c[order] for c in columns]))
        w = system.value(layout.full(moved))
    except Exception:  # whatever it is that the function refuses, it does not act on elements of any number
        return False
    if (
        len(y) != 1
        or y[0].size != layout.full(columns)[layout.leaves[0]].size
        or z[0].shape != y[0].shape
        or y[0].dtype != np.float64
    ):
        return False
    flat = y[0].reshape(-1)[:n]
    return bool(
        np.allclose(z[0].reshape(-1)[:n], flat[order], rtol=1e-12, equal_nan=True)
        and np.array_equal(w[0].reshape(-1)[1:n], flat[1:], equal_nan=True)
        and np.isfinite(flat).all()
    )


def columns_of(source: Source, leaves: Sequence[int], n: int) -> list[Any]:
    """Points: usual ones, of every size, numbers from the code and next to them, ends of the domain, whole numbers."""
    rng = source.rng
    made = []
    for i in leaves:
        lo, hi = source.domains[i]
        low, high = (lo if lo > -np.inf else min(-6.0, hi - 12)), (hi if hi < np.inf else max(6.0, lo + 12))
        parts = [rng.uniform(low, high, n // 2)]
        signs = rng.choice([-1.0, 1.0], n // 4)
        parts.append(10.0 ** rng.uniform(-12, 6, n // 4) * signs)
        mined = [c for c in source.mined if lo <= c <= hi]
        if mined:
            around = rng.choice(mined, n // 8)
            spread = 10.0 ** rng.uniform(-9, -2, around.size) * rng.choice([-1.0, 0.0, 1.0], around.size)
            parts.append(around + spread)
        near = [e + s * 10.0 ** rng.uniform(-9, 0, 64) for e, s in ((lo, 1), (hi, -1)) if abs(e) < np.inf]
        parts += [np.arange(-20.0, 21), np.array(mined[:400], float), *near]
        x = np.concatenate(parts)
        x = np.where((x > lo) & (x < hi), x, rng.uniform(low, high, x.size))
        x = x[rng.permutation(x.size)]
        made.append(np.resize(x, n))
    if len(made) > 1:  # ties between arguments, and equal arguments close to each other
        k = n // 16
        made[1][:k] = made[0][:k]
        made[1][k : 2 * k] = made[0][k : 2 * k] * (1 + 1e-6 * rng.standard_normal(k))
        for i, c in zip(leaves, made, strict=True):
            lo, hi = source.domains[i]
            c[: 2 * k] = np.where((c[: 2 * k] > lo) & (c[: 2 * k] < hi), c[: 2 * k], c[2 * k : 4 * k])
    return made


def sweep(system: System, source: Source, settings: Settings, layout: Layout, n: int) -> Swept:
    """The gradient for each argument, at each of n points, against differences."""
    found = Swept(n)
    columns = columns_of(source, layout.leaves, n)
    with np.errstate(all="ignore"):
        y = _value(system, layout, columns)
        keep = np.isfinite(y)
        g = noise(source.rng, (n,), y.dtype)
        grads = _gradient(system, layout, columns, g)
        for k, i in enumerate(layout.leaves):
            x = columns[k]
            u = _steps(x, *source.domains[i])
            gain = min(1.0, float(np.median(np.abs(grads[k][keep] / g[keep])))) if keep.any() else 0.0
            wrong, errors, decided = _line(system, layout, columns, k, u, g, grads[k], keep, gain, settings.usual)
            if wrong.size and settings.kinks == "warn":
                few = [z[wrong] for z in columns]
                smooth = ~_bends(system, layout, few, k, u[wrong], g[wrong], errors)
                wrong, errors = wrong[smooth], errors[smooth]
            found.decided += decided
            if wrong.size:
                found.wrong.append((i, wrong, errors, columns))
    found.points = n * len(layout.leaves)
    return found


def _steps(x: Any, lo: float, hi: float) -> Any:
    floor = 0.02 * (hi - lo if hi - lo < np.inf else 4.0)
    u = 0.1 * np.maximum(np.abs(x), floor)
    if lo > -np.inf:
        u = np.minimum(u, 0.9 * np.maximum(x - lo, 0))
    if hi < np.inf:
        u = np.minimum(u, 0.9 * np.maximum(hi - x, 0))
    return u


def _value(system: System, layout: Layout, columns: Sequence[Any]) -> Any:
    n = columns[0].size
    return system.value(layout.full(columns))[0].reshape(-1)[:n]


def _gradient(system: System, layout: Layout, columns: Sequence[Any], g: Any) -> list[Any]:
    n = g.size
    xs = layout.full(columns)
    ys, pull = system.run(xs)
    full = np.zeros(ys[0].size)
    full[:n] = g
    return [c.reshape(-1)[:n] for c in filled(pull([full.reshape(ys[0].shape)]), [xs[i] for i in layout.leaves])]


def _line(
    system: System,
    layout: Layout,
    columns: list[Any],
    k: int,
    u: Any,
    g: Any,
    c: Any,
    keep: Any,
    gain: float,
    usual: float,
) -> tuple[Any, Any, int]:
    """The points where the claim `c` for argument k is wrong, by how much, and how many points are decided."""
    first = _difference(system, layout, columns, k, QUICK[0], u, g, c)
    then = _difference(system, layout, columns, k, QUICK[1], u, g, c)
    error = (16 * then[0] - first[0]) / 15
    scale = np.abs(c * u) + np.minimum(first[2], then[2])
    bound = 2 * then[1] + _EPS * np.abs(u) * (2 * np.abs(c) + 10 * gain * np.abs(g))
    good = keep & (np.abs(error) <= 1e-8 * scale + 10 * bound) & ((bound <= 1e-4 * scale) | (error == 0)) & (u > 0)
    left = np.flatnonzero(keep & ~good & (u > 0))
    decided = int(good.sum())
    if not left.size:
        return left, left, decided
    if left.size > 2000:  # if that many are wrong, some of them tell it
        left = left[:2000]
    some = [x[left] for x in columns]
    wrong, errors, right = _ladder(system, layout, some, k, u[left], g[left], c[left], gain, usual)
    if wrong.any():  # steps in proportion to x do not step over a pole or a branch close to zero
        again = np.flatnonzero(wrong)
        few = [x[again] for x in some]
        near = np.minimum(u[left][again], np.where(few[k] == 0, np.inf, 0.1 * np.abs(few[k])))
        mended = _ladder(system, layout, few, k, near, g[left][again], c[left][again], gain, usual, right_only=True)[0]
        wrong[again[mended]] = False
    return left[wrong], errors[wrong], decided + right + int(wrong.sum())


def _difference(
    system: System, layout: Layout, columns: Sequence[Any], k: int, level: int, u: Any, g: Any, c: Any
) -> tuple[Any, Any, Any]:
    """Discrepancy, its noise, and the slope, at step 4**-level."""
    h = 4.0**-level
    up, down = columns[k] + h * u, columns[k] - h * u
    above = _value(system, layout, [*columns[:k], up, *columns[k + 1 :]])
    below = _value(system, layout, [*columns[:k], down, *columns[k + 1 :]])
    moved = g * (above - below)
    size = np.abs(g) * np.maximum(np.abs(above), np.abs(below))
    return (moved - c * (up - down)) / (2 * h), 2 * _EPS * size / h, np.abs(moved) / (2 * h)


def _ladder(
    system: System,
    layout: Layout,
    columns: Sequence[Any],
    k: int,
    u: Any,
    g: Any,
    c: Any,
    gain: float,
    usual: float,
    *,
    right_only: bool = False,
) -> tuple[Any, Any, int]:
    levels = [_difference(system, layout, columns, k, level, u, g, c) for level in range(LEVELS)]
    errors, noises, slopes = (np.array(part) for part in zip(*levels, strict=True))
    noises = noises + 2 * _EPS * usual * np.abs(g) / _H[:, None]  # of what may be large inside, and is not any more
    usable = np.isfinite(errors)
    claim = np.isfinite(c)
    errors = np.where(usable, errors, 0.0)
    tail = np.abs(np.diff(errors[-3:], axis=0)).max(axis=0)
    noises = np.maximum(np.where(np.isfinite(noises), noises, np.inf), tail * _H[-1] / _H[:, None])
    moved = np.sort(np.where(np.isfinite(slopes), slopes, np.inf), axis=0)[LEVELS // 4]
    moved = np.where(np.isfinite(moved), moved, 0.0)
    scale = np.abs(c * u) + moved
    best, bound = _extrapolated(errors, noises, usable)
    bound = bound + _EPS * np.abs(u) * (4 * np.abs(c) + 10 * gain * np.abs(g))
    decisive = np.maximum(np.abs(best), 1e-3 * scale)
    decides = usable & (10 * noises <= decisive)
    finest = LEVELS - 1 - np.argmax(decides[::-1], axis=0)
    at_finest = np.take_along_axis(errors, finest[None], axis=0)[0]
    agrees = decides.any(axis=0) & (np.abs(at_finest - best) <= 0.5 * decisive)
    fits = np.abs(best) <= 30 * bound + 1e-8 * scale
    right = claim & fits & ((bound <= 1e-3 * scale) & agrees | (scale == 0))
    if right_only:
        return right, best, int(right.sum())
    sees = usable & (10 * noises <= np.abs(best))
    last = LEVELS - 1 - np.argmax(sees[::-1], axis=0)
    there = np.abs(np.take_along_axis(errors, last[None], axis=0)[0] - best) <= 0.5 * np.abs(best)
    agrees &= sees.any(axis=0) & there  # a small discrepancy has to be there at the finest step that could show it
    wrong = claim & ~fits & agrees & (bound <= 0.03 * np.maximum(np.abs(best), moved))
    wrong |= ~claim & usable[-4:].all(axis=0) & _finite_slope(slopes)
    if wrong.any():
        wrong &= ~_between(system, layout, columns, k, u, g, c, best)
    return wrong, best, int(right.sum())


def _finite_slope(slopes: Any) -> Any:
    """Where the derivative is not infinite: slopes stop growing with smaller steps."""
    return np.isfinite(slopes[-3:]).all(axis=0) & (slopes[-1] <= 1.5 * slopes[-4])


def _between(system: System, layout: Layout, columns: Sequence[Any], k: int, u: Any, g: Any, c: Any, error: Any) -> Any:
    """Whether f bends at a point, and the claim lies between the slopes on either side."""
    excused = np.zeros(c.shape, bool)
    for left, right in _one_sided(system, layout, columns, k, u, g):
        low, high = np.minimum(left, right), np.maximum(left, right)
        jump = high - low
        excused |= (jump >= 0.9 * np.abs(error)) & (c * u >= low - 0.01 * jump) & (c * u <= high + 0.01 * jump)
    return excused


def _bends(system: System, layout: Layout, columns: Sequence[Any], k: int, u: Any, g: Any, error: Any) -> Any:
    """Whether the slopes on either side of a point differ by as much as the claim is wrong, or nearly."""
    bent = np.zeros(g.shape, bool)
    for left, right in _one_sided(system, layout, columns, k, u, g):
        bent |= np.abs(right - left) >= 0.3 * np.abs(error)
    return bent


def _one_sided(
    system: System, layout: Layout, columns: Sequence[Any], k: int, u: Any, g: Any
) -> Iterator[tuple[Any, Any]]:
    here = _value(system, layout, columns)
    for h in (4.0**-7, 4.0**-10, 4.0**-12):
        above = _value(system, layout, [*columns[:k], columns[k] + h * u, *columns[k + 1 :]])
        below = _value(system, layout, [*columns[:k], columns[k] - h * u, *columns[k + 1 :]])
        yield g * (here - below) / h, g * (above - here) / h


def _extrapolated(errors: Any, noise_: Any, usable: Any) -> tuple[Any, Any]:
    best = np.zeros(errors.shape[1])
    bound = np.full(errors.shape[1], np.inf)
    table = errors
    for order in (2, 4, 6):
        for k in range(1, len(table) - 1):
            spread = np.maximum(np.abs(table[k] - table[k - 1]), np.abs(table[k] - table[k + 1]))
            b = spread + 2 * noise_[k + order // 2 - 1]
            b = np.where(usable[k - 1 : k + order // 2 + 1].all(axis=0), b, np.inf)
            better = b < bound
            best = np.where(better, table[k], best)
            bound = np.where(better, b, bound)
        factor = 4.0**order
        table = (factor * table[1:] - table[:-1]) / (factor - 1)
    return best, bound


def single(swept: Swept, layout: Layout, seed: int) -> list[Point]:
    """Wrong points as inputs of their own: the simplest ones first."""
    points = []
    for _, at, errors, columns in swept.wrong:
        order = np.argsort(-np.abs(errors))[:3]
        for j in order:
            xs = layout.full([np.array([c[at[j]]]) for c in columns])
            points.append(Point(xs, "swept", seed, tame=True))
    return points


def region(swept: Swept, names: Sequence[str]) -> str:
    """Where the wrong points lie, in words."""
    told = []
    for i, at, _, columns in swept.wrong:
        n = columns[0].size
        k = 0
        x = columns[k] if len(columns) == 1 else columns[min(i, len(columns) - 1)]
        wrong = x[at]
        rest = np.delete(x, at)
        told.append(f"{at.size:,} of {n:,} points are wrong{_where(wrong, rest, names[i])}")
    return "; ".join(told)


def _where(wrong: Any, rest: Any, name: str) -> str:
    low, high = float(wrong.min()), float(wrong.max())
    if not rest.size or (wrong.size < 3):
        return f", at {name} = {low:.6g}" if wrong.size < 3 else ", all of them"
    inside = ((rest >= low) & (rest <= high)).sum()
    if inside > 0.2 * wrong.size:
        return ""
    if high >= np.quantile(np.concatenate([rest, wrong]), 0.999):
        return f", all with {name} >= {low:.4g}"
    if low <= np.quantile(np.concatenate([rest, wrong]), 0.001):
        return f", all with {name} <= {high:.4g}"
    return f", all with {low:.4g} <= {name} <= {high:.4g}"
