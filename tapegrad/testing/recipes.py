"""Recipes for the numbers in an array: usual ones, ties, zeros, several scales, ends of the domain, numbers from code."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Generator = np.random.Generator
    Recipe = Callable[[Generator, tuple[int, ...], float, float, Sequence[float]], Any]


def usual(rng: Generator, shape: tuple[int, ...], lo: float, hi: float, mined: Sequence[float] = ()) -> Any:
    """Numbers of the size of one, inside the domain."""
    if lo == -math.inf and hi == math.inf:
        return rng.uniform(-2, 2, shape)
    if lo > -math.inf and hi < math.inf:
        edge = 0.01 * (hi - lo)
        return rng.uniform(lo + edge, hi - edge, shape)
    away = rng.uniform(0.02, 3, shape) * max(1.0, 0.3 * abs(lo if hi == math.inf else hi))
    return lo + away if hi == math.inf else hi - away


def inside(x: Any, rng: Generator, lo: float, hi: float) -> Any:
    """The same numbers, with usual ones in the place of those outside the open domain."""
    if lo == -math.inf and hi == math.inf:
        return x
    out = ~((x > lo) & (x < hi))
    return np.where(out, usual(rng, x.shape, lo, hi), x) if out.any() else x


def ties(rng: Generator, shape: tuple[int, ...], lo: float, hi: float, mined: Sequence[float]) -> Any:
    """Few different numbers, whole ones where the domain has some."""
    x = rng.integers(-2, 3, shape).astype(float)
    if hi - lo < 3:
        return lo + (hi - lo) * rng.integers(1, 4, shape) / 4
    return inside(x, rng, lo, hi)


def _centre(lo: float, hi: float) -> float:
    if lo < 0 < hi:
        return 0.0
    if lo > -math.inf and hi < math.inf:
        return (lo + hi) / 2
    return lo + 1.0 if lo > -math.inf else hi - 1.0 if hi < math.inf else 0.0


def zeros(rng: Generator, shape: tuple[int, ...], lo: float, hi: float, mined: Sequence[float]) -> Any:
    """All zero, or as near as the domain allows."""
    return np.full(shape, 0.0 if lo <= 0 <= hi else _centre(lo, hi))


def equal(rng: Generator, shape: tuple[int, ...], lo: float, hi: float, mined: Sequence[float]) -> Any:
    """All equal."""
    return np.full(shape, 0.75 if lo < 0.75 < hi else _centre(lo, hi))


def positive(rng: Generator, shape: tuple[int, ...], lo: float, hi: float, mined: Sequence[float]) -> Any:
    """Numbers above zero, if there are any."""
    x = usual(rng, shape, lo, hi)
    return inside(np.abs(x) + 0.01, rng, lo, hi)


def negative(rng: Generator, shape: tuple[int, ...], lo: float, hi: float, mined: Sequence[float]) -> Any:
    """Numbers below zero, if there are any."""
    x = usual(rng, shape, lo, hi)
    return inside(-np.abs(x) - 0.01, rng, lo, hi)


def one_zero(rng: Generator, shape: tuple[int, ...], lo: float, hi: float, mined: Sequence[float]) -> Any:
    """Usual numbers, and a single zero among them."""
    x = usual(rng, shape, lo, hi)
    if x.size and lo <= 0 <= hi:
        x.reshape(-1)[int(rng.integers(x.size))] = 0.0
    return x


def ends(rng: Generator, shape: tuple[int, ...], lo: float, hi: float, mined: Sequence[float]) -> Any:
    """The ends of the domain, numbers close to them, and usual ones."""
    x = usual(rng, shape, lo, hi)
    choices = [lo + d for d in (0, 1e-9, 1e-5)] if lo > -math.inf else [-30.0, -0.0]
    choices += [hi - d for d in (0, 1e-9, 1e-5)] if hi < math.inf else [30.0, 0.0]
    return np.where(rng.random(shape) < 0.5, rng.choice(choices, shape), x)


def scales(rng: Generator, shape: tuple[int, ...], lo: float, hi: float, mined: Sequence[float]) -> Any:
    """Numbers of every size from 1e-6 to 1e6."""
    x = 10.0 ** rng.uniform(-6, 6, shape) * rng.choice([-1.0, 1.0], shape)
    if lo > -math.inf and hi == math.inf:
        return lo + np.abs(x)
    return inside(x, rng, lo, hi)


def tiny(rng: Generator, shape: tuple[int, ...], lo: float, hi: float, mined: Sequence[float]) -> Any:
    """Numbers close to zero, or to the lower end."""
    size = 10.0 ** rng.integers(-10, -2)
    if lo > -math.inf and lo != 0:
        return lo + min(1.0, hi - lo) * size * rng.uniform(0.1, 1, shape)
    return inside(size * rng.uniform(-2, 2, shape), rng, lo, hi)


def large(rng: Generator, shape: tuple[int, ...], lo: float, hi: float, mined: Sequence[float]) -> Any:
    """Numbers far from zero."""
    return inside(usual(rng, shape, -2, 2) * 10.0 ** rng.integers(1, 4), rng, lo, hi)


def rows(rng: Generator, shape: tuple[int, ...], lo: float, hi: float, mined: Sequence[float]) -> Any:
    """Rows of different size."""
    x = usual(rng, shape, lo, hi)
    if len(shape) < 2:
        return inside(x * 10.0 ** rng.uniform(-4, 4), rng, lo, hi)
    return inside(x * 10.0 ** rng.uniform(-6, 6, (shape[0],) + (1,) * (len(shape) - 1)), rng, lo, hi)


def from_code(rng: Generator, shape: tuple[int, ...], lo: float, hi: float, mined: Sequence[float]) -> Any:
    """Numbers that are written in the function's code, and some next to them."""
    x = usual(rng, shape, lo, hi)
    pool = [c for c in mined if lo <= c <= hi]
    return np.where(rng.random(shape) < 0.7, rng.choice(pool, shape), x) if pool else x


def descending(rng: Generator, shape: tuple[int, ...], lo: float, hi: float, mined: Sequence[float]) -> Any:
    """Numbers that fall along the last axis."""
    x = usual(rng, shape, lo, hi)
    return np.sort(x, axis=-1)[..., ::-1].copy() if shape else x


def as_complex(rng: Generator, a: Any, b: Any, *, mixed: bool) -> Any:
    """Complex numbers of two arrays of real ones: their parts; if `mixed`, at times a size and any phase, or one part only."""
    z = a + 1j * b
    if mixed:
        kind = rng.random(np.shape(a))
        z = np.where(kind < 0.25, a * np.exp(2j * np.pi * rng.random(np.shape(a))), z)
        z = np.where((kind >= 0.25) & (kind < 0.375), a + 0j, z)
        z = np.where((kind >= 0.375) & (kind < 0.5), 1j * a, z)
    return z


RECIPES: dict[str, Recipe] = {
    "usual": usual,
    "ties": ties,
    "zeros": zeros,
    "equal": equal,
    "positive": positive,
    "negative": negative,
    "one zero": one_zero,
    "ends": ends,
    "scales": scales,
    "tiny": tiny,
    "large": large,
    "rows": rows,
    "from code": from_code,
    "descending": descending,
}
#: Those on which rounding is of the size of eps: what is compared exactly is compared there.
TAME = frozenset(["usual", "ties", "zeros", "equal", "positive", "negative", "one zero", "descending"])
#: Those whose numbers, where they are complex, are sizes as well as parts.
MIXED = frozenset(["from code", "ends", "scales", "tiny", "large"])
