"""Special functions: error, gamma and modified Bessel functions, and what statistics makes of them.

Where a partial derivative would cancel for large arguments, it is an op of its own, of a family that is closed under
differentiation: so every order keeps its digits.
"""

from __future__ import annotations

import math
from typing import Any

from tapegrad.kernels import hurwitz
from tapegrad.kernels.orders import of_orders
from tapegrad.registry import composite, elementwise, no_derivative

_ROOT_PI = math.sqrt(math.pi)
_ROOT_2 = math.sqrt(2.0)
_ROOT_2_PI = math.sqrt(2.0 * math.pi)


def _of_order(low: float, high: float, *orders: int) -> Any:
    """Arguments of a function of an integer and a number from low to high."""
    return lambda draw: (draw.choice(*orders), draw.array(low=low, high=high))


def _number(F: Any, order: Any, x: Any) -> Any:
    """An order as a factor that has no say in the dtype, if it is an integer; what is no integer may have a derivative."""
    whole = hasattr(order, "shape") and order.dtype.kind in "iub" and hasattr(x, "shape")
    return F.cast_like(order, x) if whole else order


# -- error functions -----------------------------------------------------------------------------------
@elementwise(public=False)
def erf(xp: Any, x: Any, /) -> Any:
    """The error function: 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x.  DLMF 7.2.1.

    Large float32 arrays on NumPy's kernels: within 7 units in the last place, 0.7 on average; else within 1.
    """
    return xp.erf(x)


erf.partials(x=lambda F, x: F.exp(-x * x) * (2 / _ROOT_PI))


@elementwise(public=False)
def erfc(xp: Any, x: Any, /) -> Any:
    """1 - erf(x), which keeps its digits for large x.  DLMF 7.2.2."""
    return xp.erfc(x)


erfc.partials(x=lambda F, x: F.exp(-x * x) * (-2 / _ROOT_PI))


@elementwise(real=True, singular=True, public=False)
def erfcx(xp: Any, x: Any, /) -> Any:
    """exp(x**2) erfc(x), which neither vanishes nor cancels for large x.  DLMF 7.2.3, 7.18.9."""
    return xp.erfcx(x)


erfcx.partials(x=lambda F, x: -2 * F.scaled_erfc_integral(1, x))


@elementwise(real=True, singular=True, laws=_of_order(-2, 2, 0, 1, 2), public=False)
def scaled_erfc_integral(xp: Any, order: Any, x: Any, /) -> Any:
    """exp(x**2) times the repeated integral of erfc, `order` times, from x to infinity.  DLMF 7.18.2, 7.18.9."""
    return xp.scaled_erfc_integral(order, x)


scaled_erfc_integral.partials(
    order=no_derivative, x=lambda F, order, x: F.scaled_erfc_integral(order + 1, x) * (-2 * _number(F, order + 1, x))
)


@elementwise(real=True, singular=True, domain=(-0.95, 0.95), public=False)
def erfinv(xp: Any, x: Any, /) -> Any:
    """The number whose `erf` is x, for x from -1 to 1, where it is infinite, as is its derivative."""
    return xp.erfinv(x)


erfinv.partials(x=lambda F, y: F.exp(y * y) * (_ROOT_PI / 2))


@elementwise(real=True, singular=True, domain=(0.05, 1.95), public=False)
def erfcinv(xp: Any, x: Any, /) -> Any:
    """The number whose `erfc` is x, for x from 0 to 2, where it is infinite, as is its derivative."""
    return xp.erfcinv(x)


erfcinv.partials(x=lambda F, y: F.exp(y * y) * (-_ROOT_PI / 2))


# -- the normal distribution ---------------------------------------------------------------------------
@elementwise(real=True, public=False)
def ndtr(xp: Any, x: Any, /) -> Any:
    """The probability that a standard normal variable is not larger than x.

    Large float32 arrays on NumPy's kernels: within 10 units in the last place, 0.8 on average; else within 1.
    """
    return xp.ndtr(x)


ndtr.partials(x=lambda F, x: F.exp(-0.5 * x * x) * (1 / _ROOT_2_PI))


@elementwise(real=True, public=False)
def log_ndtr(xp: Any, x: Any, /) -> Any:
    """The logarithm of `ndtr`, which keeps its digits where the probability vanishes."""
    return xp.log_ndtr(x)


log_ndtr.partials(x=lambda F, x: F.normal_hazard(x))


@elementwise(real=True, domain=(-6, 4), public=False)
def normal_hazard(xp: Any, x: Any, /) -> Any:
    """The density of a standard normal variable over `ndtr`: sqrt(2 / pi) / erfcx(-x / sqrt(2))."""
    return xp.normal_hazard(x)


def _hazard_slope(F: Any, x: Any, y: Any) -> Any:
    """-y (x + y), which cancels below 0: there by the integral of `erfc`."""
    low = F.at_most(x, 0)
    below = F.scaled_erfc_integral(1, low * (-1 / _ROOT_2)) * -_ROOT_PI
    return y * F.where(x > 0, -(x + y), below * y)


normal_hazard.partials(x=_hazard_slope)


@elementwise(real=True, singular=True, domain=(0.03, 0.97), public=False)
def ndtri(xp: Any, x: Any, /) -> Any:
    """The number whose `ndtr` is x, for x from 0 to 1, where it is infinite, as is its derivative."""
    return xp.ndtri(x)


ndtri.partials(x=lambda F, y: F.exp(0.5 * y * y) * _ROOT_2_PI)


# -- gamma functions -----------------------------------------------------------------------------------
@elementwise(real=True, singular=True, domain=(0.3, 5), public=False)
def gammaln(xp: Any, x: Any, /) -> Any:
    """The logarithm of the absolute value of the gamma function; inf at 0, -1, -2, ..., with a derivative of NaN.  DLMF 5.2.2."""
    return xp.gammaln(x)


gammaln.partials(x=lambda F, x: F.digamma(x))


@elementwise(real=True, singular=True, domain=(0.3, 4), public=False)
def gamma(xp: Any, x: Any, /) -> Any:
    """The gamma function, (x - 1)! at positive integers; at 0, -1, -2, ... it has poles.  DLMF 5.2.1."""
    return xp.gamma(x)


gamma.partials(x=lambda F, x, y: y * F.digamma(x))


@elementwise(real=True, singular=True, domain=(0.3, 5), public=False)
def digamma(xp: Any, x: Any, /) -> Any:
    """The derivative of `gammaln`.  DLMF 5.2.2."""
    return xp.digamma(x)


digamma.partials(x=lambda F, x: F.polygamma(1, x))


@elementwise(real=True, singular=True, laws=_of_order(0.6, 5, 0, 1, 2, 3), public=False)
def polygamma(xp: Any, order: Any, x: Any, /) -> Any:
    """The derivative of `digamma` of an order, which is a non-negative integer.  DLMF 5.15.1."""
    return xp.polygamma(order, x)


polygamma.partials(order=no_derivative, x=lambda F, order, x: F.polygamma(order + 1, x))


@composite(real=True, laws=lambda draw: (draw.array("n", low=2, high=5), {"d": draw.choice(1, 2, 3)}), public=False)
def multigammaln(F: Any, x: Any, /, d: int) -> Any:
    """The logarithm of the multivariate gamma function of dimension `d`, for x > (d - 1) / 2.  DLMF 35.3.4."""
    y = F.gammaln(x) + d * (d - 1) / 4 * math.log(math.pi)
    for j in range(1, d):
        y = y + F.gammaln(x - j / 2)
    return y


@elementwise(real=True, singular=True, domain=(0.3, 4), public=False)
def beta(xp: Any, x1: Any, x2: Any, /) -> Any:
    """gamma(x1) gamma(x2) / gamma(x1 + x2).  DLMF 5.12.1."""
    return xp.beta(x1, x2)


beta.partials(
    x1=lambda F, x1, x2, y: -y * F.polygamma_gap(0, x1, x2), x2=lambda F, x1, x2, y: -y * F.polygamma_gap(0, x2, x1)
)


@elementwise(real=True, singular=True, domain=(0.3, 4), public=False)
def betaln(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The logarithm of the absolute value of `beta`."""
    return xp.betaln(x1, x2)


betaln.partials(x1=lambda F, x1, x2: -F.polygamma_gap(0, x1, x2), x2=lambda F, x1, x2: -F.polygamma_gap(0, x2, x1))


@elementwise(
    real=True, singular=True, public=False,
    laws=lambda draw: (draw.choice(0, 1, 2), draw.array("n", low=0.6, high=4), draw.array("n", low=0.5, high=4)),
)
def polygamma_gap(xp: Any, order: Any, x1: Any, x2: Any, /) -> Any:
    """polygamma(order, x1 + x2) - polygamma(order, x1), which keeps its digits where x2 is much smaller than x1."""
    return xp.polygamma_gap(order, x1, x2)


polygamma_gap.partials(
    order=no_derivative,
    x1=lambda F, order, x1, x2: F.polygamma_gap(order + 1, x1, x2),
    x2=lambda F, order, x1, x2: F.polygamma(order + 1, x1 + x2),
)


@elementwise(
    real=True, singular=True, public=False,
    laws=lambda draw: (draw.array("n", low=1.4, high=5), draw.array("n", low=0.6, high=4)),
)
def zeta(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Hurwitz' zeta function: the sum of (k + x2)**-x1 over k = 0, 1, ..., for x1 > 1.  DLMF 25.11.1, 25.11.17."""
    return xp.zeta(x1, x2)


zeta.partials(x1=lambda F, x1, x2: F.zeta_slope(1, x1, x2), x2=lambda F, x1, x2: F.zeta(x1 + 1, x2) * -_number(F, x1, x2))


@elementwise(
    real=True, singular=True, public=False,
    laws=lambda draw: (draw.choice(1, 2), draw.array("n", low=1.4, high=5), draw.array("n", low=0.6, high=4)),
)
def zeta_slope(xp: Any, order: Any, x1: Any, x2: Any, /) -> Any:
    """The derivative of `zeta` for `x1`, of an order that is an integer, at x2 > 0; 0 for a negative order."""
    return of_orders(hurwitz.zeta_slope, xp, (order,), (x1, x2))


def _zeta_slope_for_second(F: Any, order: Any, x1: Any, x2: Any) -> Any:
    along = F.zeta_slope(order, x1 + 1, x2) * _number(F, x1, x2)
    return -(along + F.zeta_slope(order - 1, x1 + 1, x2) * _number(F, order, x2))


zeta_slope.partials(
    order=no_derivative, x1=lambda F, order, x1, x2: F.zeta_slope(order + 1, x1, x2), x2=_zeta_slope_for_second
)


# -- the inverse of the logistic function --------------------------------------------------------------
@elementwise(real=True, singular=True, domain=(0.05, 0.95), public=False)
def logit(xp: Any, x: Any, /) -> Any:
    """log(x / (1 - x)), for x from 0 to 1, where it is infinite, as is its derivative."""
    return xp.logit(x)


def _logit_slope(F: Any, x: Any) -> Any:
    """Not 1 / (x * (1 - x)), whose derivative is inf - inf for tiny x; and none where there is no value."""
    return F.where((x < 0) | (x > 1), math.nan, 1 / x + 1 / (1 - x))


logit.partials(x=_logit_slope)


# -- Bessel functions ----------------------------------------------------------------------------------
@elementwise(real=True, public=False)
def i0(xp: Any, x: Any, /) -> Any:
    """The modified Bessel function of the first kind of order 0.  DLMF 10.25.2, 10.29.1."""
    return xp.i0(x)


i0.partials(x=lambda F, x: F.bessel_i(1, x))


@elementwise(real=True, public=False)
def i1(xp: Any, x: Any, /) -> Any:
    """The modified Bessel function of the first kind of order 1.  DLMF 10.25.2, 10.29.1."""
    return xp.i1(x)


i1.partials(x=lambda F, x: (F.bessel_i(0, x) + F.bessel_i(2, x)) * 0.5)


@elementwise(real=True, laws=_of_order(-3, 3, 0, 1, 2), public=False)
def bessel_i(xp: Any, order: Any, x: Any, /) -> Any:
    """The modified Bessel function of the first kind of an order that is an integer.  DLMF 10.25.2, 10.29.1."""
    return xp.bessel_i(order, x)


bessel_i.partials(
    order=no_derivative, x=lambda F, order, x: (F.bessel_i(order - 1, x) + F.bessel_i(order + 1, x)) * 0.5
)


@elementwise(real=True, kinks=(0.0,), public=False)
def i0e(xp: Any, x: Any, /) -> Any:
    """exp(-abs(x)) i0(x); at 0, where it has a tip, the derivative is 0."""
    return xp.i0e(x)


i0e.partials(x=lambda F, x: F.scaled_bessel_slope(0, x))


@elementwise(real=True, kinks=(0.0,), public=False)
def i1e(xp: Any, x: Any, /) -> Any:
    """exp(-abs(x)) i1(x); at 0, where the second derivative jumps, it is 0."""
    return xp.i1e(x)


i1e.partials(x=lambda F, x: F.scaled_bessel_slope(1, x))


@elementwise(real=True, laws=_of_order(0.3, 3, 0, 1, 2), public=False)
def scaled_bessel_slope(xp: Any, order: Any, x: Any, /) -> Any:
    """The derivative of exp(-abs(x)) bessel_i(order, x); at 0 the mean of those on both sides."""
    return xp.scaled_bessel_slope(order, x)


def _slope_of_slope(F: Any, order: Any, x: Any, y: Any) -> Any:
    around = (F.scaled_bessel_slope(order - 1, x) + F.scaled_bessel_slope(order + 1, x)) * 0.5
    return around - F.sign(x) * y


scaled_bessel_slope.partials(order=no_derivative, x=_slope_of_slope)


# -- sinc ----------------------------------------------------------------------------------------------
@elementwise(public=False)
def sinc(xp: Any, x: Any, /) -> Any:
    """sin(pi x) / (pi x), and 1 at 0."""
    return xp.sinc(x)


sinc.partials(x=lambda F, x: F.sinc_derivative(1, x))


@elementwise(laws=_of_order(-2, 2, 0, 1, 2), public=False)
def sinc_derivative(xp: Any, order: Any, x: Any, /) -> Any:
    """The derivative of `sinc` of an order, which is a non-negative integer."""
    return xp.sinc_derivative(order, x)


sinc_derivative.partials(order=no_derivative, x=lambda F, order, x: F.sinc_derivative(order + 1, x))
