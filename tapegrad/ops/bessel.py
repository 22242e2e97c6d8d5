"""Bessel functions that are not modified, those of the second kind, and integrals that physics names."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.ops.special import _of_order
from tapegrad.registry import elementwise, no_derivative


# -- of an order that is an integer ------------------------------------------------------------------
@elementwise(real=True, laws=_of_order(-4, 4, 0, 1, 2), public=False)
def bessel_j(xp: Any, order: Any, x: Any, /) -> Any:
    """The Bessel function of the first kind of an order that is an integer.  DLMF 10.2.2, 10.6.1."""
    return xp.bessel_j(order, x)


bessel_j.partials(
    order=no_derivative, x=lambda F, order, x: (F.bessel_j(order - 1, x) - F.bessel_j(order + 1, x)) * 0.5
)


@elementwise(real=True, singular=True, laws=_of_order(0.5, 4, 0, 1, 2), public=False)
def bessel_y(xp: Any, order: Any, x: Any, /) -> Any:
    """The Bessel function of the second kind of an order that is an integer, for x > 0.  DLMF 10.2.3, 10.6.1."""
    return xp.bessel_y(order, x)


bessel_y.partials(
    order=no_derivative, x=lambda F, order, x: (F.bessel_y(order - 1, x) - F.bessel_y(order + 1, x)) * 0.5
)


@elementwise(real=True, singular=True, laws=_of_order(0.5, 4, 0, 1, 2), public=False)
def bessel_k(xp: Any, order: Any, x: Any, /) -> Any:
    """The modified Bessel function of the second kind of an order that is an integer, for x > 0.  DLMF 10.25.3, 10.29.1."""
    return xp.bessel_k(order, x)


bessel_k.partials(
    order=no_derivative, x=lambda F, order, x: (F.bessel_k(order - 1, x) + F.bessel_k(order + 1, x)) * -0.5
)


@elementwise(real=True, singular=True, laws=_of_order(0.5, 4, 0, 1, 2), public=False)
def scaled_bessel_k(xp: Any, order: Any, x: Any, /) -> Any:
    """exp(x) bessel_k(order, x), for x > 0: it falls as a root where `bessel_k` underflows."""
    return xp.scaled_bessel_k(order, x)


scaled_bessel_k.partials(
    order=no_derivative,
    x=lambda F, order, x, y: y - (F.scaled_bessel_k(order - 1, x) + F.scaled_bessel_k(order + 1, x)) * 0.5,
)


# -- integrals ----------------------------------------------------------------------------------------
@elementwise(real=True, public=False)
def dawsn(xp: Any, x: Any, /) -> Any:
    """Dawson's integral: exp(-x**2) times the integral of exp(t**2) from 0 to x.  DLMF 7.2.5."""
    return xp.dawsn(x)


dawsn.partials(x=lambda F, x, y: 1 - 2 * x * y)


@elementwise(real=True, singular=True, domain=(0.3, 3), public=False)
def expi(xp: Any, x: Any, /) -> Any:
    """The exponential integral Ei: of exp(t) / t from minus infinity to x, its principal value.  DLMF 6.2.5."""
    return xp.expi(x)


expi.partials(x=lambda F, x: F.exp(x) / x)


@elementwise(real=True, public=False)
def fresnel_cos(xp: Any, x: Any, /) -> Any:
    """The integral of cos(pi t**2 / 2) from 0 to x.  DLMF 7.2.7."""
    return xp.fresnel_cos(x)


fresnel_cos.partials(x=lambda F, x: F.cos(x * x * (math.pi / 2)))


@elementwise(real=True, public=False)
def fresnel_sin(xp: Any, x: Any, /) -> Any:
    """The integral of sin(pi t**2 / 2) from 0 to x.  DLMF 7.2.8."""
    return xp.fresnel_sin(x)


fresnel_sin.partials(x=lambda F, x: F.sin(x * x * (math.pi / 2)))


def _log_over_less(F: Any, x: Any) -> Any:
    """log(x) / (1 - x): near 1, where it is 0 / 0, by its series, whose eight terms leave 1e-17 of 0.01."""
    d = x - 1
    near = F.less(F.abs(d), 0.01)
    small = F.where(near, d, 0.0)
    series: Any = 0.0
    for k in range(8, 0, -1):
        series = 1 / k - small * series
    apart = F.where(near, 2.0, x)
    return F.where(near, -series, F.log(apart) / (1 - apart))


@elementwise(real=True, singular=True, domain=(0.1, 3), public=False)
def spence(xp: Any, x: Any, /) -> Any:
    """The integral of log(t) / (1 - t) from 1 to x, for x >= 0: the dilogarithm of 1 - x.  DLMF 25.12.2."""
    return xp.spence(x)


spence.partials(x=lambda F, x: _log_over_less(F, x))
