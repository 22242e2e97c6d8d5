"""Products and sums that are rounded once, as fused multiply-add instructions give them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.dtypes import float32, float64

Array = np.ndarray[Any, Any]

_SPLIT = float((1 << 27) + 1)


def fused32(a: Any, b: Any, c: Any) -> Array:
    """a * b + c of float32 numbers, rounded to float32.

    In float64 the product is exact and the sum is rounded once more: one result in about 10**8 differs in its last bit.
    """
    wide = np.asarray(a, float64) * np.asarray(b, float64) + np.asarray(c, float64)
    return wide.astype(float32)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The sum as rounded and what rounding took away (Knuth, TAOCP 2, 4.2.2)."""
    s = a + b
    t = s - a
    return s, (a - (s - t)) + (b - t)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The product as rounded and what rounding took away (Dekker 1971)."""
    p = a * b
    x, y = _SPLIT * a, _SPLIT * b
    a1, b1 = x - (x - a), y - (y - b)
    a2, b2 = a - a1, b - b1
    return p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2


def _to_odd(a: Array, b: Array) -> Array:
    """The sum, rounded to the neighbour whose last bit is 1 where it is not exact."""
    s, rest = _two_sum(a, b)
    bits = s.view(np.int64)
    away = (rest > 0) == (s > 0)  # the exact sum is farther from zero than s
    wrong = (rest != 0) & ((bits & 1) == 0)
    return np.where(wrong, bits + np.where(away, 1, -1), bits).view(float64)


def fused64(a: Any, b: Any, c: Any) -> Array:
    """a * b + c of float64 numbers far from overflow and underflow, rounded once (Boldo and Melquiond 2008)."""
    a, b, c = np.broadcast_arrays(np.asarray(a, float64), np.asarray(b, float64), np.asarray(c, float64))
    high, low = _two_product(a, b)
    top, middle = _two_sum(c, low)
    first, second = _two_sum(high, top)
    return first + _to_odd(np.atleast_1d(middle), np.atleast_1d(second)).reshape(first.shape)


def narrowed(x: Array, dtype: np.dtype[Any]) -> Array:
    """Float64 numbers in a floating dtype; a half by way of float32, as PyTorch casts."""
    if dtype in (float32, float64):
        return x.astype(dtype)
    return x.astype(float32).astype(dtype)


#: Elements of a block: PyTorch makes two vectors of 32 bytes at a time, and what is left one by one.
_BYTES = 32


def steps(start: float, step: float, n: int, dtype: np.dtype[Any]) -> Array:
    """start, start + step, ... (n numbers), as PyTorch's vectors round them: from the first element of each vector on.

    With the same last bits as PyTorch on processors that have fused multiply-add (AVX2), up to 32,768 elements.
    """
    wide = dtype if dtype in (float32, float64) else np.dtype(float32)
    i = np.arange(n)
    made = narrowed(fused64(i, step, start), wide)
    size = _BYTES // wide.itemsize
    whole = n - n % (2 * size)
    if whole:
        first = made[: whole : size].astype(float64)[:, None]
        made[:whole] = fused64(np.arange(size), step, first).astype(wide).reshape(-1)
    return made.astype(dtype, copy=False)


def even(first: float, last: float, n: int, dtype: np.dtype[Any]) -> Array:
    """n numbers from `first` to `last`, counted from the nearer end in the dtype's own arithmetic, as PyTorch does."""
    if n == 1:
        return np.array([first]).astype(dtype)
    i = np.arange(n)
    if dtype.kind in "iu":
        first, last = int(first), int(last)
        step = np.float32((last - first) / max(n - 1, 1))
        return np.where(i < n // 2, first + step * i, last - step * (n - 1 - i)).astype(dtype)
    wide = dtype if dtype in (float32, float64) else np.dtype(float32)
    fused = fused64 if wide == float64 else fused32
    a, b = wide.type(first), wide.type(last)
    step = (b - a) / wide.type(max(n - 1, 1))
    return np.where(i < n // 2, fused(i, step, a), fused(n - 1 - i, -step, b)).astype(dtype)
