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


def _as_float32(*numbers: float) -> tuple[float, ...]:
    return tuple(float(np.float32(x)) for x in numbers)


_LOG = _as_float32(
    *(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1),
    *(-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
)
_SIN = _as_float32(-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1)
_COS = _as_float32(2.443315711809948e-5, -1.388731625493765e-3, 4.166664568298827e-2)
_COS_SIN = np.array([_COS, _SIN]).T[:, :, None, None]
_QUARTER_PI = _as_float32(0.78515625, 2.4187564849853515625e-4, 3.77489497744594108e-8)  # pi / 4 in three parts
_LOG2_HIGH, _LOG2_LOW = float(np.float32(0.693359375)), np.float32(-2.12194440e-4)
_TWO_PI, _OCTANTS, _ROOT_HALF = map(np.float32, (2 * math.pi, 4 / math.pi, math.sqrt(0.5)))
_BITS_OF_ROOT_HALF = _ROOT_HALF.view(np.int32)
_ONE, _HALF, _MINUS_TWO = map(np.float32, (1, 0.5, -2))


def normal(
    generator: Generator, n: int, mean: float, std: float, dtype: np.dtype[Any], *, contiguous: bool = True
) -> Array:
    """`n` numbers from the normal distribution of this mean and standard deviation."""
    if n < _BLOCK or not contiguous:
        drawn = np.array(generator.normals(n), float64)
        return narrowed(drawn if (mean, std) == (0, 1) else fused64(drawn, std, mean), dtype)
    if dtype == float64:
        drawn = _blocks(n, generator.doubles(n), generator.doubles, _pairs64)
        return drawn if (mean, std) == (0, 1) else fused64(drawn, std, mean)
    if dtype == float32:
        drawn = _blocks(n, unit32(generator, n), lambda k: unit32(generator, k), _pairs32)
    else:  # a half draws block by block, so that a rest takes fewer words
        whole = n - n % _BLOCK
        drawn = _blocks(n, unit32(generator, whole), lambda k: unit32(generator, k), _pairs32)
    if (mean, std) != (0, 1):
        drawn = fused32(drawn, np.float32(std), np.float32(mean))
    return drawn.astype(dtype, copy=False)


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
    """What `_pairs64` gives, in float32; where a product is added with one rounding, in float64, then rounded."""
    radius = _log32(_ONE - even[:, 0])
    radius *= _MINUS_TWO
    np.sqrt(radius, radius)
    sin, cos = _sin_cos32(even[:, 1] * _TWO_PI)
    out = np.empty_like(even)
    np.multiply(radius, cos, out[:, 0])
    np.multiply(radius, sin, out[:, 1])
    return out


def _rounded(wide: Array, narrow: Array) -> None:
    """Round numbers of float64 to float32, and have them in both."""
    narrow[...] = wide
    wide[...] = narrow


def _polynomial(coefficients: Any, x: Array, narrow: Array) -> None:
    """The polynomial in `x` by Horner's scheme, the highest power first, rounded at each step; left in `narrow`."""
    y = x * coefficients[0]
    for c in coefficients[1:-1]:
        y += c
        _rounded(y, narrow)
        y *= x
    y += coefficients[-1]
    narrow[...] = y


def _log32(v: Array) -> Array:
    """The logarithm of positive numbers: of the exponent, and of a mantissa in [sqrt(1/2), sqrt(2))."""
    bits = v.view(np.int32)
    exponent = bits - _BITS_OF_ROOT_HALF
    exponent >>= 23
    x = (bits - (exponent << 23)).view(float32)
    x -= _ONE
    y, e = np.empty_like(x), exponent.astype(float32)
    _polynomial(_LOG, x.astype(float64), y)
    y *= x
    square = x * x
    low = e * _LOG2_LOW
    wide = y.astype(float64)
    wide *= square
    wide += low
    y[...] = wide
    square *= _HALF
    y -= square
    y += x
    wide[...] = exponent
    wide *= _LOG2_HIGH
    wide += y
    y[...] = wide
    return y


def _sin_cos32(x: Array) -> tuple[Array, Array]:
    """Sine and cosine of numbers >= 0 and < 2 pi, reduced to a quarter of a right angle to either side."""
    octant = (x * _OCTANTS).astype(np.int32)
    octant += 1
    octant &= ~1
    wide, turns = x.astype(float64), octant.astype(float64)
    for part in _QUARTER_PI:
        wide -= turns * part
        _rounded(wide, x)
    z = x * x
    both = np.empty((2, *x.shape), float32)  # the series of cosine and sine, side by side
    series = np.empty(both.shape)
    series[...] = z
    _polynomial(_COS_SIN, series, both)
    both *= z
    factors = series
    factors[1] = wide
    wide_both = both.astype(float64)
    wide_both *= factors
    factors[0] *= -0.5
    wide_both += factors
    both[...] = wide_both
    cos, sin = both
    cos += _ONE
    odd = octant & 2 != 0
    s, c = np.where(odd, cos, sin), np.where(odd, sin, cos)
    s.view(np.int32)[...] ^= (octant & 4) << 29  # the sign
    octant += 2
    octant &= 4
    octant <<= 29
    c.view(np.int32)[...] ^= octant
    return s, c
