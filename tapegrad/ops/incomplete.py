"""Incomplete gamma and beta functions: integrals up to x, as shares of the whole; and their derivatives for the parameters.

Those are ops of their own, of families that are closed under differentiation, so there is every order of them.
"""

from __future__ import annotations

import math
from typing import Any

from tapegrad.kernels import incomplete
from tapegrad.kernels.orders import of_orders
from tapegrad.ops import entropies  # noqa: F401  declares xlogy and xlog1py
from tapegrad.ops.special import _number
from tapegrad.registry import elementwise, no_derivative


def _gamma_pair(draw: Any) -> Any:
    return draw.array("n", low=0.4, high=5), draw.array("n", low=0.3, high=5)


def _of_order(draw: Any) -> Any:
    return draw.choice(1, 2), *_gamma_pair(draw)


def _density(F: Any, a: Any, x: Any) -> Any:
    """The integrand of `gammainc`."""
    a = _number(F, a, x)
    return F.exp(F.xlogy(a - 1, x) - x - _log_gamma(F, a))


def _log_gamma(F: Any, a: Any) -> Any:
    """The logarithm of gamma(a), a > 0; of a Python number one too: it has no dtype to impose."""
    if hasattr(a, "shape"):
        return F.gammaln(a)
    return math.lgamma(a) if a > 0 else math.nan


@elementwise(real=True, singular=True, laws=_gamma_pair, public=False)
def gammainc(xp: Any, a: Any, x: Any, /) -> Any:
    """The integral of exp(-t) t**(a - 1) / gamma(a) from 0 to x, for a > 0 and x >= 0.  DLMF 8.2.4."""
    return xp.gammainc(a, x)


gammainc.partials(a=lambda F, a, x: F.gammainc_slope(1, a, x), x=_density)


@elementwise(real=True, singular=True, laws=_gamma_pair, public=False)
def gammaincc(xp: Any, a: Any, x: Any, /) -> Any:
    """1 - gammainc(a, x), which keeps its digits for large x.  DLMF 8.2.4."""
    return xp.gammaincc(a, x)


gammaincc.partials(a=lambda F, a, x: -F.gammainc_slope(1, a, x), x=lambda F, a, x: -_density(F, a, x))


@elementwise(real=True, singular=True, laws=_of_order, public=False)
def gammainc_slope(xp: Any, order: Any, a: Any, x: Any, /) -> Any:
    """The derivative of `gammainc` for `a`, of an order that is a positive integer."""
    return of_orders(incomplete.gammainc_slope, xp, (order,), (a, x))


gammainc_slope.partials(
    order=no_derivative,
    a=lambda F, order, a, x: F.gammainc_slope(order + 1, a, x),
    x=lambda F, order, a, x: F.gamma_density_slope(order, a, x),
)


@elementwise(real=True, singular=True, laws=_of_order, public=False)
def gamma_density_slope(xp: Any, order: Any, a: Any, x: Any, /) -> Any:
    """The derivative of exp(-x) x**(a - 1) / gamma(a) for `a`, of an order that is an integer; 0 for a negative one."""
    return of_orders(incomplete.gamma_density_slope, xp, (order,), (a, x))


def _density_slope(F: Any, order: Any, a: Any, x: Any, y: Any) -> Any:
    along = F.mul_zero(y, (_number(F, a, x) - 1) / x - 1)
    return along + F.mul_zero(F.gamma_density_slope(order - 1, a, x), _number(F, order, x) / x)


gamma_density_slope.partials(
    order=no_derivative, a=lambda F, order, a, x: F.gamma_density_slope(order + 1, a, x), x=_density_slope
)


# -- beta ------------------------------------------------------------------------------------------------
def _beta_three(draw: Any) -> Any:
    return draw.array("n", low=0.5, high=4), draw.array("n", low=0.5, high=4), draw.array("n", low=0.1, high=0.9)


def _of_orders(draw: Any) -> Any:
    return *draw.choice((1, 0), (0, 1), (1, 1)), *_beta_three(draw)


@elementwise(real=True, singular=True, laws=_beta_three, public=False)
def betainc(xp: Any, a: Any, b: Any, x: Any, /) -> Any:
    """The integral of t**(a - 1) (1 - t)**(b - 1) / beta(a, b) from 0 to x, for a, b > 0 and x from 0 to 1.  DLMF 8.17.2."""
    return xp.betainc(a, b, x)


def _share(F: Any, a: Any, b: Any, x: Any) -> Any:
    """The integrand of `betainc`."""
    a, b = _number(F, a, x), _number(F, b, x)
    return F.exp(F.xlogy(a - 1, x) + F.xlog1py(b - 1, -x) - _log_beta(F, a, b))


def _log_beta(F: Any, a: Any, b: Any) -> Any:
    if hasattr(a, "shape") or hasattr(b, "shape"):
        return F.betaln(a, b)
    return _log_gamma(F, a) + _log_gamma(F, b) - _log_gamma(F, a + b)


betainc.partials(
    a=lambda F, a, b, x: F.betainc_slope(1, 0, a, b, x), b=lambda F, a, b, x: F.betainc_slope(0, 1, a, b, x), x=_share
)


@elementwise(real=True, singular=True, laws=_of_orders, public=False)
def betainc_slope(xp: Any, of_a: Any, of_b: Any, a: Any, b: Any, x: Any, /) -> Any:
    """The derivative of `betainc`, `of_a` times for `a` and `of_b` times for `b`, integers of which one is positive."""
    return of_orders(incomplete.betainc_slope, xp, (of_a, of_b), (a, b, x))


betainc_slope.partials(
    of_a=no_derivative,
    of_b=no_derivative,
    a=lambda F, of_a, of_b, a, b, x: F.betainc_slope(of_a + 1, of_b, a, b, x),
    b=lambda F, of_a, of_b, a, b, x: F.betainc_slope(of_a, of_b + 1, a, b, x),
    x=lambda F, of_a, of_b, a, b, x: F.beta_density_slope(of_a, of_b, a, b, x),
)


@elementwise(real=True, singular=True, laws=_of_orders, public=False)
def beta_density_slope(xp: Any, of_a: Any, of_b: Any, a: Any, b: Any, x: Any, /) -> Any:
    """The derivative of x**(a - 1) (1 - x)**(b - 1) / beta(a, b), `of_a` times for `a` and `of_b` times for `b`.

    For a negative number of times it is 0.
    """
    return of_orders(incomplete.beta_density_slope, xp, (of_a, of_b), (a, b, x))


def _share_slope(F: Any, of_a: Any, of_b: Any, a: Any, b: Any, x: Any, y: Any) -> Any:
    along = F.mul_zero(y, (_number(F, a, x) - 1) / x - (_number(F, b, x) - 1) / (1 - x))
    for_a = F.mul_zero(F.beta_density_slope(of_a - 1, of_b, a, b, x), _number(F, of_a, x) / x)
    return along + for_a - F.mul_zero(F.beta_density_slope(of_a, of_b - 1, a, b, x), _number(F, of_b, x) / (1 - x))


beta_density_slope.partials(
    of_a=no_derivative,
    of_b=no_derivative,
    a=lambda F, of_a, of_b, a, b, x: F.beta_density_slope(of_a + 1, of_b, a, b, x),
    b=lambda F, of_a, of_b, a, b, x: F.beta_density_slope(of_a, of_b + 1, a, b, x),
    x=_share_slope,
)
