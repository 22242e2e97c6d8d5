"""TensorFlow kernels of Bessel functions, and of integrals that TensorFlow has."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.kernels.tensorflow_arithmetic import abs, sign
from tapegrad.kernels.tensorflow_basics import equal, isinf, less, where
from tapegrad.kernels.tensorflow_functions import exp, log, sqrt
from tapegrad.kernels.tensorflow_rounding import copysign
from tapegrad.kernels.tensorflow_special import by_integer, in_double, native

i0, i0e, i1, i1e = native("BesselI0"), native("BesselI0e"), native("BesselI1"), native("BesselI1e")
_FIRST = {kind: (native(f"Bessel{kind[0]}0{kind[1:]}"), native(f"Bessel{kind[0]}1{kind[1:]}")) for kind in ("J", "Y", "K", "Ke")}
_dawsn, _expi, _spence = native("Dawsn"), native("Expint"), native("Spence")
fresnel_cos, fresnel_sin = in_double(native("FresnelCos")), in_double(native("FresnelSin"))


def _bound(n: int) -> float:
    """Up to where the power series is summed; the asymptotic one holds above."""
    return 25.0 + n * n


def _series(n: int, size: Any, bound: float) -> Any:
    """exp(-size) I_n(size) for 0 <= size <= bound, by its power series, all terms positive (DLMF 10.25.2)."""
    n = abs_int(n)
    quarter = size * size * 0.25
    total: Any = 1.0
    for k in range(int(1.5 * bound) + 20, 0, -1):
        total = 1 + total * quarter * (1 / (k * (k + n)))
    power: Any = 1.0
    for k in range(1, n + 1):
        power = power * size * (0.5 / k)
    return exp(-size) * power * total


def abs_int(n: int) -> int:
    return -n if n < 0 else n


def _asymptotic(n: int, size: Any) -> Any:
    """exp(-size) I_n(size) for a large size (DLMF 10.40.1)."""
    term: Any = 1.0
    total: Any = 1.0
    for k in range(30):
        term = term * (-(4.0 * n * n - (2 * k + 1) ** 2) / (8 * (k + 1) * size))
        total = total + term
    return total / sqrt(2 * math.pi * size)


def _scaled(n: int, size: Any, bound: float) -> Any:
    near = less(size, bound)
    return where(near, _series(n, where(near, size, 1.0), bound), _asymptotic(n, where(near, bound, size)))


@by_integer
def bessel_i(n: int, x: Any) -> Any:
    """The modified Bessel function of the first kind."""
    if n in (-1, 0, 1):
        return i1(x) if n else i0(x)
    size = abs(x)
    y = exp(size) * _scaled(n, size, _bound(n))
    y = where(isinf(size), math.inf, y)
    return y * sign(x) if n % 2 else y


@by_integer
def scaled_bessel_slope(n: int, x: Any) -> Any:
    """The derivative of exp(-abs(x)) I_n(x): by the neighbours of I_n, far from 0 by the asymptotic series (DLMF 10.40.1)."""
    size = abs(x)
    bound = _bound(abs_int(n) + 1)
    near = less(size, bound)
    small = where(near, size, 1.0)
    own = _series(n, small, bound)
    y = (_series(n - 1, small, bound) + _series(n + 1, small, bound)) * 0.5 - own
    z = where(near, bound, size)
    term: Any = 1.0
    total: Any = 0.0
    for k in range(30):
        total = total - term * (k + 0.5)
        term = term * (-(4.0 * n * n - (2 * k + 1) ** 2) / (8 * (k + 1) * z))
    far = where(isinf(z), 0.0, total / (z * sqrt(2 * math.pi * z)))
    y = where(near, y, far)
    y = where(equal(size, 0), y + (1.0 if n == 0 else 0.0), y)  # the mean of both sides
    if n % 2 == 0:
        y = where(less(x, 0), -y, y)
    return y


def _upwards(kind: str, n: int, x: Any, turned: float) -> Any:
    """From the orders 0 and 1, which TensorFlow has, by y[k + 1] = 2 k / x y[k] - turned y[k - 1] (DLMF 10.6.1, 10.29.1)."""
    first, second = _FIRST[kind]
    if n < 2:
        return (second if n else first)(x)
    before, y = first(x), second(x)
    for k in range(1, n):
        before, y = y, y * (2.0 * k) / x - before * turned
    return y


@by_integer
def bessel_j(n: int, x: Any) -> Any:
    """The Bessel function of the first kind: near 0, where the recurrence loses digits, by its power series (DLMF 10.2.2)."""
    m = abs_int(n)
    if m < 2:
        y = _upwards("J", m, x, 1.0)
    else:
        near = less(abs(x), m + 1.0)
        small = where(near, x, 1.0)
        quarter = small * small * -0.25
        total: Any = 1.0
        for k in range(30 + 2 * m, 0, -1):
            total = 1 + total * quarter * (1 / (k * (k + m)))
        for k in range(1, m + 1):
            total = total * small * (0.5 / k)
        y = where(near, total, _upwards("J", m, where(near, m + 1.0, x), 1.0))
    return -y if n < 0 and n % 2 else y


@by_integer
def bessel_y(n: int, x: Any) -> Any:
    """The Bessel function of the second kind."""
    y = _upwards("Y", abs_int(n), x, 1.0)
    return -y if n < 0 and n % 2 else y


@by_integer
def bessel_k(n: int, x: Any) -> Any:
    """The modified Bessel function of the second kind."""
    return _upwards("K", abs_int(n), x, -1.0)


@by_integer
def scaled_bessel_k(n: int, x: Any) -> Any:
    """exp(x) times the modified Bessel function of the second kind."""
    return _upwards("Ke", abs_int(n), x, -1.0)


# -- integrals -------------------------------------------------------------------------------------------
@in_double
def dawsn(x: Any) -> Any:
    """Dawson's integral, which is odd: TensorFlow's has the wrong sign for large negative numbers (2.21)."""
    return copysign(_dawsn(abs(x)), x)


@in_double
def spence(x: Any) -> Any:
    """The dilogarithm of 1 - x; of a large x by its inversion (DLMF 25.12.4), where TensorFlow's is NaN (2.21)."""
    far = less(1e18, x)
    size = log(where(far, x, 1.0))
    return where(far, -math.pi**2 / 6 - 0.5 * size * size, _spence(where(far, 1.0, x)))


@in_double
def expi(x: Any) -> Any:
    """The exponential integral; for x < 0, where TensorFlow's is NaN (2.21), -E1(-x), by its series and its continued fraction."""
    below = less(x, 0)
    size = where(below, -x, 1.0)
    near = less(size, 1.0)
    small, large = where(near, size, 1.0), where(near, 1.0, size)
    series: Any = 0.0
    for k in range(20, 0, -1):  # DLMF 6.6.2
        series = 1.0 / k - small * series * (1.0 / (k + 1))
    series = 0.5772156649015329 + log(small) - small * series
    fraction: Any = 0.0
    for k in range(90, 0, -1):  # DLMF 6.9.1, even part
        fraction = k * k / (large + (2 * k + 1) - fraction)
    tail = exp(-large) / (large + 1 - fraction)
    above = less(700.0, x)  # by its asymptotic series (DLMF 6.12.2), with half of the exponent at a time
    far: Any = where(above, x, 1000.0)
    total: Any = 1.0
    for k in range(7, 0, -1):
        total = 1 + total * k / far
    half = exp(0.5 * far)
    far = where(isinf(far), math.inf, half * (half / far * total))
    return where(below, where(near, series, -tail), where(above, far, _expi(where(below | above, 1.0, x))))
