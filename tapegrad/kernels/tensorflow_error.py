"""TensorFlow kernels of the error function and the normal distribution."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from tapegrad.kernels.numpy_special import by_ratios
from tapegrad.kernels.tensorflow_arithmetic import abs, maximum, minimum, square
from tapegrad.kernels.tensorflow_basics import greater, isnan, less, logical_and, real, where
from tapegrad.kernels.tensorflow_calls import F64
from tapegrad.kernels.tensorflow_functions import exp, log, log1p, sigmoid
from tapegrad.kernels.tensorflow_promotion import asarray, converted
from tapegrad.kernels.tensorflow_special import ROOT_PI, by_integer, floats, in_double, native

_erf, _erfc = native("Erf"), native("Erfc")
erfinv, ndtri = native("Erfinv"), native("Ndtri")


def erf(x: Any) -> Any:
    x = asarray(x)
    if x.dtype.kind == "c":
        return _complex_erf(x, complement=False)
    if x.dtype is F64:  # TensorFlow 2.21 gives NaN for infinities, in double precision
        x = where(isnan(x), x, minimum(maximum(x, -10.0), 10.0))
    return _erf(x)


def erfc(x: Any) -> Any:
    x = asarray(x)
    return _complex_erf(x, complement=True) if x.dtype.kind == "c" else _erfc(x)


def _complex_erf(x: Any, *, complement: bool) -> Any:
    """Near 0 by Kummer's series (DLMF 7.6.2), elsewhere by Weideman's rational function of exp(z**2) erfc(z)."""
    d = x.dtype
    z: Any = converted(x, np.dtype(np.complex128))
    right = where(less(real(z), 0), -z, z)
    near = less(abs(z), 2.5)
    small = where(near, z, 0)
    total: Any = 1.0
    for n in range(60, 0, -1):
        total = 1 + total * (small * small) * (2 / (2 * n + 1))
    series = exp(-small * small) * small * total * (2 / ROOT_PI)
    far = where(near, 3, right)
    tail = exp(-far * far) * _faddeeva_right(far)  # erfc on the right half
    if complement:
        found = where(near, 1 - series, where(less(real(z), 0), 2 - tail, tail))
    else:
        found = where(near, series, where(less(real(z), 0), tail - 1, 1 - tail))
    return converted(found, d)


@functools.cache
def _weideman(n: int = 64) -> tuple[float, list[float]]:
    """Length and coefficients of J. Weideman, "Computation of the complex error function" (1994), section 3."""
    m = 2 * n
    k = np.arange(-m + 1, m)
    length = math.sqrt(n / math.sqrt(2))
    t = length * np.tan(k * np.pi / m / 2)
    f = np.concatenate([[0.0], np.exp(-t * t) * (length**2 + t * t)])
    a = np.real(np.fft.fft(np.fft.fftshift(f))) / (2 * m)
    return length, [float(v) for v in a[1 : n + 1]]


def _faddeeva_right(z: Any) -> Any:
    """exp(z**2) erfc(z) for a non-negative real part."""
    length, coefficients = _weideman()
    ratio = (length - z) / (length + z)
    total: Any = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * ratio + c
    return 2 * total / (length + z) ** 2 + (1 / ROOT_PI) / (length + z)


@in_double
def erfcx(x: Any) -> Any:
    """exp(x**2) erfc(x): up to 4 as it is written, above by its continued fraction (DLMF 7.9.2)."""
    low = where(less(x, 4.0), x, 0.0)
    return where(less(x, 4.0), exp(square(low)) * erfc(low), _tail(where(less(x, 4.0), 4.0, x)))


def _tail(x: Any) -> Any:
    """The continued fraction of exp(x**2) erfc(x), for x >= 2."""
    total = x
    for k in range(60, 0, -1):
        total = x + (0.5 * k) / total
    return (1 / ROOT_PI) / total


@by_integer
def scaled_erfc_integral(n: int, x: Any) -> Any:
    """exp(x**2) times the n-th repeated integral of erfc; -1 stands for 2 / sqrt(pi).  DLMF 7.18.7; Gautschi 1961."""
    constant = 2 / ROOT_PI
    if n < 0:
        return constant + 0 * x
    before, y = constant + 0 * x, erfcx(x)
    for k in range(1, n + 1):
        before, y = y, (before - 2 * x * y) / (2 * k)
    if not n:
        return y
    high = greater(x, 1.0)
    return where(high, by_ratios(n, where(high, x, 1.0)), y)


@in_double
def erfcinv(x: Any) -> Any:
    """By the inverse of the normal distribution, whose digits near 0 it keeps."""
    return ndtri(0.5 * x) * (-1 / math.sqrt(2))


@in_double
def ndtr(x: Any) -> Any:
    return 0.5 * erfc(x * (-1 / math.sqrt(2)))


@in_double
def log_ndtr(x: Any) -> Any:
    t = x * (-1 / math.sqrt(2))
    low = less(x, -1.0)
    below = log(0.5 * erfcx(where(low, t, 1.0))) - where(low, square(t), 0.0)
    return where(low, below, log1p(-0.5 * erfc(-where(low, 0.0, t))))


@in_double
def normal_hazard(x: Any) -> Any:
    """The density of a standard normal variable over the probability that it is not larger than x."""
    return math.sqrt(2 / math.pi) / erfcx(x * (-1 / math.sqrt(2)))


@in_double
def logit(x: Any) -> Any:
    s = 2 * (x - 0.5)
    middle = logical_and(greater(x, 0.3), less(x, 0.65))
    return where(middle, log1p(s) - log1p(-s), log(x / (1 - x)))


def expit(x: Any) -> Any:
    (x,), _ = floats(x)
    return sigmoid(x)
