"""From even numbers to normal ones, by Box and Muller's transform (1958), in the two ways that PyTorch's CPU kernels know.

Fewer than 16 numbers, or an array that is not contiguous: one after another in float64, two from a pair of even
numbers, the second kept for the next draw.  Otherwise: blocks of 16 even numbers of the array's own precision, the
first eight for the radius and the last eight for the angle; a rest is covered by 16 further numbers over the last
16 places.  There float32 goes through the polynomials of Moshier's Cephes library (logf, sinf, cosf) with
fused multiply-adds, as PyTorch's AVX2 kernels do, so that even the last bit agrees.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.dtypes import float32, float64
from tapegrad.torch._generator import Generator
from tapegrad.torch._rounding import Array, fused32, fused64, narrowed
from tapegrad.torch._uniform import unit32

_BLOCK = 16
_CHUNK = 1 << 15  # numbers at a time: what is between stays in the cache

_LOG = (
    *(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1),
    *(-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
)
_LOG2_HIGH, _LOG2_LOW = 0.693359375, -2.12194440e-4
_SIN = (-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = (2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_QUARTER_PI = (0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)  # pi / 4 in three parts


def normal(
    generator: Generator, n: int, mean: float, std: float, dtype: np.dtype[Any], *, contiguous: bool = True
) -> Array:
    """`n` numbers from the normal distribution of this mean and standard deviation."""
    if n < _BLOCK or not contiguous:
        drawn = np.array([generator.normal() for _ in range(n)], float64)
        return narrowed(fused64(drawn, std, mean), dtype)
    if dtype == float64:
        drawn = _blocks(n, generator.doubles(n), generator.doubles, _pairs64)
        return drawn if (mean, std) == (0, 1) else fused64(drawn, std, mean)
    if dtype == float32:
        drawn = _blocks(n, unit32(generator, n), lambda k: unit32(generator, k), _pairs32)
    else:  # a half draws block by block, so that a rest takes fewer words
        whole = n - n % _BLOCK
        drawn = _blocks(n, unit32(generator, whole), lambda k: unit32(generator, k), _pairs32)
    return fused32(drawn, np.float32(std), np.float32(mean)).astype(dtype)


def _blocks(n: int, even: Array, more: Any, pairs: Any) -> Array:
    """Normal numbers from even ones, block by block; a rest takes a block of its own that ends where they end."""
    whole = n - n % _BLOCK
    out = np.empty(n, even.dtype)
    for start in range(0, whole, _CHUNK):
        stop = min(whole, start + _CHUNK)
        out[start:stop] = pairs(even[start:stop].reshape(-1, 2, _BLOCK // 2)).ravel()
    if whole != n:
        out[n - _BLOCK :] = pairs(more(_BLOCK).reshape(1, 2, _BLOCK // 2)).ravel()
    return out


def _pairs64(even: Array) -> Array:
    # Python's functions are those of the C library, as in PyTorch; NumPy's own differ in the last bit of a few.
    radius = np.sqrt(-2 * _each(math.log, 1 - even[:, 0]))
    angle = 2 * math.pi * even[:, 1]
    return np.stack([radius * _each(math.cos, angle), radius * _each(math.sin, angle)], 1)


def _each(function: Any, x: Array) -> Array:
    return np.fromiter(map(function, x.ravel().tolist()), float64, x.size).reshape(x.shape)


def _pairs32(even: Array) -> Array:
    radius = np.sqrt(np.float32(-2) * _log32(np.float32(1) - even[:, 0]))
    sin, cos = _sin_cos32(np.float32(2 * math.pi) * even[:, 1])
    return np.stack([radius * cos, radius * sin], 1)


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    y = np.full_like(x, coefficients[0])
    for c in coefficients[1:]:
        y = fused32(y, x, np.float32(c))
    return y


def _log32(x: Array) -> Array:
    """The logarithm of positive float32 numbers: of the exponent, and of a mantissa in [sqrt(1/2), sqrt(2))."""
    mantissa, exponent = np.frexp(x)
    small = mantissa < np.float32(math.sqrt(0.5))
    e = (exponent - small).astype(float32)
    x = (mantissa - np.float32(1)) + np.where(small, mantissa, np.float32(0))
    square = x * x
    y = fused32(_polynomial(_LOG, x) * x, square, e * np.float32(_LOG2_LOW))
    y = y - square * np.float32(0.5)
    return (x + y) + e * np.float32(_LOG2_HIGH)


def _sin_cos32(x: Array) -> tuple[Array, Array]:
    """Sine and cosine of float32 numbers >= 0 and < 2 pi, reduced to a quarter of a right angle to either side."""
    octant = ((x * np.float32(4 / math.pi)).astype(np.int32) + 1) & ~1
    turns = octant.astype(float32)
    for part in _QUARTER_PI:
        x = fused32(turns, np.float32(-part), x)
    z = x * x
    cos = fused32(_polynomial(_COS, z) * z, z, -(z * np.float32(0.5))) + np.float32(1)
    sin = fused32(_polynomial(_SIN, z) * z, x, x)
    quadrant = (octant >> 1) & 3
    odd, sin_sign, cos_sign = quadrant & 1 == 1, quadrant >= 2, (quadrant == 1) | (quadrant == 2)
    s, c = np.where(odd, cos, sin), np.where(odd, sin, cos)
    return np.where(sin_sign, -s, s), np.where(cos_sign, -c, c)
