"""Which functions act on each element, and the many points that are given to them in one call."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.testing.recipes import as_complex

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapegrad.testing.inputs import Source
    from tapegrad.testing.systems.base import System


@final
class Layout:
    """How N points are given to the function: shapes of the leaves for a length.

    `lines`: leaf by leaf, the units along which it is moved: 1, and for complex ones the imaginary unit, too.
    """

    __slots__ = ("base", "compiles", "leaves", "lines", "rest", "tail")

    def __init__(self, base: list[Any], leaves: list[int], tail: tuple[int, ...], *, compiles: bool = False) -> None:
        self.compiles = compiles
        self.base = base
        self.leaves = leaves
        self.tail = tail
        self.rest = math.prod(tail)
        self.lines = [
            (k, unit) for k, i in enumerate(leaves) for unit in ((1.0, 1j) if np.iscomplexobj(base[i]) else (1.0,))
        ]

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
    if not leaves or any(w.kind != "array" or np.dtype(w.dtype).char not in "dD" for w in words):
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
        or y[0].dtype.char not in "dD"
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
        x = _column(source, i, n)
        if np.dtype(source.words[i].dtype).kind == "c":
            free = source.domains[i] == (-np.inf, np.inf)
            x = as_complex(rng, x, _column(source, i, n), mixed=free)
            if free and source.mined:  # all around the numbers from the code, which two random parts seldom are
                k = n // 16
                x[-k:] = rng.choice(source.mined, k) + 10.0 ** rng.uniform(-9, -2, k) * np.exp(
                    2j * np.pi * rng.random(k)
                )
        made.append(x)
    if len(made) > 1:  # ties between arguments, and equal arguments close to each other
        k = n // 16
        second = made[1]
        for at, off in ((slice(k), 0.0), (slice(k, 2 * k), 1e-6 * rng.standard_normal(k))):
            tied = made[0][at] * (1 + off)
            second[at] = tied.real if second.dtype.kind != "c" else tied
        for i, c in zip(leaves, made, strict=True):
            lo, hi = source.domains[i]
            inside = (c[: 2 * k].real > lo) & (c[: 2 * k].real < hi)
            c[: 2 * k] = np.where(inside, c[: 2 * k], c[2 * k : 4 * k])
    return made


def _column(source: Source, i: int, n: int) -> Any:
    rng = source.rng
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
    return np.resize(x, n)
