"""Functions of one variable: exponentials, logarithms, circular and hyperbolic functions."""

from __future__ import annotations

from typing import Any

from tapegrad.registry import elementwise
from tapegrad.registry.batch_rules import scaled

# The rules are written for real numbers and hold for complex ones as they stand: `g * conj(partial)` is formed centrally.


@elementwise(singular=True)
def exp(xp: Any, x: Any, /) -> Any:
    """e to the power of each element."""
    return xp.exp(x)


exp.partials(x="y")


@elementwise(singular=True)
def expm1(xp: Any, x: Any, /) -> Any:
    """exp(x) - 1, exact for small x."""
    return xp.expm1(x)


expm1.partials(x=lambda F, x: F.exp(x))  # not y + 1, which has no digits left below -37


@elementwise(real=True, singular=True, domain=(0.1, 9), public=False)
def cbrt(xp: Any, x: Any, /) -> Any:
    """The cube root of each element, negative for negative ones; the derivative at 0 is infinite."""
    return xp.cbrt(x)


cbrt.partials(x=lambda F, y: 1 / (3 * (y * y)))


@elementwise(singular=True, domain=(0.1, 9))
def log(xp: Any, x: Any, /) -> Any:
    """The natural logarithm of each element."""
    return xp.log(x)


log.partials(x=lambda F, x: 1 / x)


@elementwise(singular=True, domain=(-0.8, 5))
def log1p(xp: Any, x: Any, /) -> Any:
    """log(1 + x), exact for small x."""
    return xp.log1p(x)


log1p.partials(x=lambda F, x: 1 / (1 + x))


@elementwise(singular=True, domain=(0.1, 9))
def log2(xp: Any, x: Any, /) -> Any:
    """The logarithm of each element to base 2."""
    return xp.log2(x)


log2.partials(x=lambda F, x: 1.4426950408889634 / x)


@elementwise(singular=True, domain=(0.1, 9))
def log10(xp: Any, x: Any, /) -> Any:
    """The logarithm of each element to base 10."""
    return xp.log10(x)


log10.partials(x=lambda F, x: 0.4342944819032518 / x)


@elementwise
def sin(xp: Any, x: Any, /) -> Any:
    """The sine of each element, in radians."""
    return xp.sin(x)


sin.partials(x=lambda F, x: F.cos(x))


@elementwise
def cos(xp: Any, x: Any, /) -> Any:
    """The cosine of each element, in radians."""
    return xp.cos(x)


cos.partials(x=lambda F, x: -F.sin(x))


@elementwise(domain=(-1.2, 1.2))
def tan(xp: Any, x: Any, /) -> Any:
    """The tangent of each element, in radians."""
    return xp.tan(x)


tan.partials(x=lambda F, y: 1 + y * y)


@elementwise(public=False)
def one_less_square(xp: Any, x: Any, /) -> Any:
    """1 - x**2, as a product that keeps its digits near 1; as a single op, for its derivative to keep them near 0."""
    if x.dtype.kind == "c":  # so that zeros keep their signs: on a cut they tell on which side
        return -((x - 1) * (x - -1))
    return (1 - x) * (1 + x)


one_less_square.partials(x=lambda F, x: -2 * x)


@elementwise(singular=True, domain=(-0.9, 0.9))
def asin(xp: Any, x: Any, /) -> Any:
    """The angle in radians whose sine is the element."""
    return xp.asin(x)


asin.partials(x=lambda F, x: 1 / F.sqrt(F.one_less_square(x)))


@elementwise(singular=True, domain=(-0.9, 0.9))
def acos(xp: Any, x: Any, /) -> Any:
    """The angle in radians whose cosine is the element."""
    return xp.acos(x)


acos.partials(x=lambda F, x: -1 / F.sqrt(F.one_less_square(x)))


@elementwise
def atan(xp: Any, x: Any, /) -> Any:
    """The angle in radians whose tangent is the element."""
    return xp.atan(x)


atan.partials(x=lambda F, x: 1 / (1 + x * x))


@elementwise(singular=True)
def sinh(xp: Any, x: Any, /) -> Any:
    """The hyperbolic sine of each element."""
    return xp.sinh(x)


sinh.partials(x=lambda F, x: F.cosh(x))


@elementwise(singular=True)
def cosh(xp: Any, x: Any, /) -> Any:
    """The hyperbolic cosine of each element."""
    return xp.cosh(x)


cosh.partials(x=lambda F, x: F.sinh(x))


@elementwise
def tanh(xp: Any, x: Any, /) -> Any:
    """The hyperbolic tangent of each element."""
    return xp.tanh(x)


tanh.partials(x=lambda F, y: 1 - y * y)
tanh.fused(x=lambda F, g, y: F.tanh_grad(g, y))


@elementwise(public=False)
def tanh_grad(xp: Any, x1: Any, x2: Any, /) -> Any:
    """x1 (1 - x2**2): the cotangent of the argument of `tanh`, from that of the value and the value."""
    return x1 * (1 - x2 * x2)


tanh_grad.partials(x1=lambda F, x2: 1 - x2 * x2, x2=lambda F, x1, x2: -2 * x1 * x2)
tanh_grad.fused(x1=lambda F, g, x2: F.tanh_grad(g, x2))
scaled(tanh_grad)


@elementwise
def asinh(xp: Any, x: Any, /) -> Any:
    """The inverse hyperbolic sine of each element."""
    return xp.asinh(x)


def _asinh_slope(F: Any, x: Any) -> Any:
    if hasattr(x, "dtype") and x.dtype.kind == "c":
        return 1 / F.sqrt(x * x - -1)  # a complex zero plus 1 would lose its sign, and so the side of a cut
    return 1 / F.hypot(x, 1.0)  # whose squares do not overflow: in half precision from 256 on


asinh.partials(x=_asinh_slope)


@elementwise(singular=True, domain=(1.2, 6))
def acosh(xp: Any, x: Any, /) -> Any:
    """The inverse hyperbolic cosine of each element."""
    return xp.acosh(x)


acosh.partials(x=lambda F, x: 1 / (F.sqrt(x - 1) * F.sqrt(x - -1)))


@elementwise(singular=True, domain=(-0.9, 0.9))
def atanh(xp: Any, x: Any, /) -> Any:
    """The inverse hyperbolic tangent of each element."""
    return xp.atanh(x)


atanh.partials(x=lambda F, x: 1 / F.one_less_square(x))


@elementwise(public=False)
def sigmoid(xp: Any, x: Any, /) -> Any:
    """1 / (1 + exp(-x)), without overflow."""
    return xp.sigmoid(x)


# From y alone, though it has no digits left where y is near 1: another exponential made a step of an LSTM 20 % slower.
# `special.expit` has all digits.
sigmoid.partials(x=lambda F, y: y * (1 - y))
sigmoid.fused(x=lambda F, g, y: F.sigmoid_grad(g, y))


@elementwise(public=False)
def sigmoid_grad(xp: Any, x1: Any, x2: Any, /) -> Any:
    """x1 x2 (1 - x2): the cotangent of the argument of `sigmoid`, from that of the value and the value."""
    return x1 * (x2 * (1 - x2))


sigmoid_grad.partials(x1=lambda F, x2: x2 * (1 - x2), x2=lambda F, x1, x2: x1 * (1 - 2 * x2))
sigmoid_grad.fused(x1=lambda F, g, x2: F.sigmoid_grad(g, x2))
scaled(sigmoid_grad)


@elementwise(real=True, public=False)
def expit(xp: Any, x: Any, /) -> Any:
    """1 / (1 + exp(-x)); unlike that of `nn.sigmoid`, its derivative keeps its digits where the value is close to 1."""
    return xp.expit(x)


expit.partials(x=lambda F, x, y: y * F.expit(-x))
