"""TensorFlow kernels of Bessel functions, and of integrals that TensorFlow has."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.kernels.tensorflow_arithmetic import abs, sign
from tapegrad.kernels.tensorflow_basics import equal, isinf, less, where
from tapegrad.kernels.tensorflow_functions import exp, sqrt
from tapegrad.kernels.tensorflow_special import by_integer, native

i0, i0e, i1, i1e = native("BesselI0"), native("BesselI0e"), native("BesselI1"), native("BesselI1e")
_FIRST = {kind: (native(f"Bessel{kind[0]}0{kind[1:]}"), native(f"Bessel{kind[0]}1{kind[1:]}")) for kind in ("J", "Y", "K", "Ke")}
dawsn, expi, spence = native("Dawsn"), native("Expint"), native("Spence")
fresnel_cos, fresnel_sin = native("FresnelCos"), native("FresnelSin")


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
