"""Samples of gamma and Dirichlet distributions as functions of their concentrations: each held at its probability.

A sample x with the share u = P(a, x) below it moves with a so that u stays: dx/da = -(dP/da) / (dP/dx).  M. Figurnov, S. Mohamed,
A. Mnih, "Implicit reparameterization gradients" (2018), equation 5.
"""

from __future__ import annotations

from typing import Any

from tapegrad.kernels import incomplete
from tapegrad.kernels.orders import of_orders
from tapegrad.ops import incomplete as _shares  # noqa: F401  declares densities, and polygamma
from tapegrad.registry import elementwise, no_derivative, primitive


def _concentrations(draw: Any) -> Any:
    return draw.array("n", low=0.4, high=5), draw.array("n", low=0.3, high=5)


@primitive(real=True, pointwise=True, public=False, laws="tests/test_samples.py")
def gamma_sample(xp: Any, a: Any, x: Any, /) -> Any:
    """The sample `x` of a gamma distribution of concentration `a` and scale 1, of the same shape; it moves with `a` at its probability."""
    return xp.positive(x)


gamma_sample.pullback(a=lambda F, g, a, y: F.mul_zero(g, -F.gamma_quantile_slope(1, a, y)), x=no_derivative)
gamma_sample.pushforward(a=lambda F, t, a, y: F.mul_zero(t, -F.gamma_quantile_slope(1, a, y)))


@elementwise(real=True, singular=True, laws=lambda draw: (draw.choice(1, 2), *_concentrations(draw)), public=False)
def gamma_quantile_slope(xp: Any, order: Any, a: Any, x: Any, /) -> Any:
    """The derivative of `gammainc` for `a`, of an order that is a positive integer, over its derivative for `x`."""
    return of_orders(incomplete.gamma_quantile_slope, xp, (order,), (a, x))


def _log_slope(F: Any, a: Any, x: Any) -> Any:
    """The derivative of the density's logarithm for `a`."""
    return F.log(_beside(x, a)) - F.digamma(_beside(a, x))


def _beside(x: Any, other: Any) -> Any:
    """A number of Python's in the dtype of the other argument; an array as it is."""
    return x if hasattr(x, "shape") else x + 0 * other


def _ratio(F: Any, order: Any, a: Any, x: Any) -> Any:
    """The density's derivative for `a`, over the density."""
    if type(order) is int and order == 1:
        return _log_slope(F, a, x)
    return F.gamma_density_slope(order, a, x) / F.gamma_density_slope(0, a, x)


gamma_quantile_slope.partials(
    order=no_derivative,
    a=lambda F, order, a, x, y: F.gamma_quantile_slope(order + 1, a, x) - y * _log_slope(F, a, x),
    x=lambda F, order, a, x, y: _ratio(F, order, a, x) - y * ((a - 1) / x - 1),
)


# -- shares ----------------------------------------------------------------------------------------------
@primitive(real=True, public=False, laws="tests/test_samples.py")
def dirichlet_sample(xp: Any, a: Any, x: Any, /) -> Any:
    """The sample `x` of a Dirichlet distribution of concentrations `a`, (..., n), of the same shape, as a function of these.

    Each share moves with its own concentration so that its probability among beta variables stays; the others keep their proportions.
    """
    return xp.positive(x)


def _share_slope(F: Any, a: Any, y: Any) -> Any:
    """How each share moves with its own concentration, over what the others have."""
    return -F.beta_quantile_slope(1, 0, a, F.sum(a, axis=-1, keepdims=True) - a, y)


dirichlet_sample.pullback(
    a=lambda F, g, a, y: _share_slope(F, a, y) * (g - F.sum(g * y, axis=-1, keepdims=True)), x=no_derivative
)


@elementwise(real=True, singular=True, public=False, tolerance=100, laws=lambda draw: (  # slopes cancel where x is 1
    *draw.choice((1, 0), (0, 1)), draw.array("n", low=0.5, high=4), draw.array("n", low=0.5, high=4), draw.array("n", low=0.1, high=0.9)
))
def beta_quantile_slope(xp: Any, of_a: Any, of_b: Any, a: Any, b: Any, x: Any, /) -> Any:
    """The derivative of `betainc`, `of_a` times for `a` and `of_b` times for `b`, over 1 - x times that for `x`."""
    return of_orders(incomplete.beta_quantile_slope, xp, (of_a, of_b), (a, b, x))


def _beta_ratio(F: Any, of_a: Any, of_b: Any, a: Any, b: Any, x: Any) -> Any:
    return F.beta_density_slope(of_a, of_b, a, b, x) / ((1 - x) * F.beta_density_slope(0, 0, a, b, x))


beta_quantile_slope.partials(
    of_a=no_derivative,
    of_b=no_derivative,
    a=lambda F, of_a, of_b, a, b, x, y: (
        F.beta_quantile_slope(of_a + 1, of_b, a, b, x) - y * (_log_slope(F, a, x) + F.digamma(_beside(a + b, x)))
    ),
    b=lambda F, of_a, of_b, a, b, x, y: (
        F.beta_quantile_slope(of_a, of_b + 1, a, b, x) - y * (_log_slope(F, b, 1 - x) + F.digamma(_beside(a + b, x)))
    ),
    x=lambda F, of_a, of_b, a, b, x, y: _beta_ratio(F, of_a, of_b, a, b, x) - y * ((a - 1) / x - b / (1 - x)),
)
