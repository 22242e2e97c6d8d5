"""Arithmetic: what acts on each element of one array, or of two that are broadcast."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tapegrad.registry import composite, constant, elementwise, primitive
from tapegrad.registry.batch_rules import scaled

if TYPE_CHECKING:
    from tapegrad.registry.op import Op

# The rules are written for real numbers and hold for complex ones as they stand: `g * conj(partial)` is formed centrally.


@elementwise(symbol="+")
def add(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The sum of two arrays, element by element."""
    return xp.add(x1, x2)


add.partials(x1=1, x2=1)


@elementwise(symbol="-")
def subtract(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The difference of two arrays, element by element."""
    return xp.subtract(x1, x2)


subtract.partials(x1=1, x2=-1)


@elementwise(symbol="*", repeated="square")
def multiply(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The product of two arrays, element by element."""
    return xp.multiply(x1, x2)


multiply.partials(x1="x2", x2="x1")
scaled(multiply, both=True)


#: What is said of both products that keep zeros.
_KEEPING_ZEROS: dict[str, Any] = {
    "weak": True, "pointwise": True, "masks": True,
    "laws": lambda draw: (draw.array("n", 3), draw.array(*draw.choice(("n", 3), (3,), (1,)))),
}


@primitive(**_KEEPING_ZEROS)
def mul_zero(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The product of two arrays, zero wherever `x1` is zero, even where `x2` is infinite or NaN.

    It multiplies a cotangent with a partial derivative that may be infinite: a zero from upstream stays zero.  Where
    `x1` is zero the product does not depend on `x2`, so the derivative for `x2` is zero, whatever comes from upstream.
    """
    return xp.mul_zero(x1, x2)


@primitive(**_KEEPING_ZEROS, public=False)
def mul_zeros(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The product of two arrays, zero wherever one of them is zero, even where the other is infinite or NaN.

    It multiplies two numbers that both come from upstream: the zeros of each stay.
    """
    return xp.mul_zeros(x1, x2)


def _like(F: Any, c: Any, x: Any) -> Any:
    return c if c.shape == x.shape else F.sum_to(c, x.shape)


def _conj(F: Any, x: Any) -> Any:
    """The conjugate; a real array or a Python number as it is, which so stays weak."""
    return F.conj(x) if hasattr(x, "dtype") and x.dtype.kind == "c" else x


def _products(op: Op, product: Any) -> None:
    """Declare how a product that keeps zeros depends on its factors; what comes from upstream keeps its own."""
    op.pullback(
        x1=lambda F, g, x1, x2: _like(F, product(F, g, _conj(F, x2)), x1),
        x2=lambda F, g, x1, x2: _like(F, F.mul_zeros(_conj(F, x1), g), x2),
    )
    op.pushforward(x1=lambda F, t, x2: product(F, t, x2), x2=lambda F, t, x1: product(F, x1, t))


_products(mul_zero, lambda F, x1, x2: F.mul_zero(x1, x2))
_products(mul_zeros, lambda F, x1, x2: F.mul_zeros(x1, x2))
scaled(mul_zero)
scaled(mul_zeros, both=True)


@elementwise(symbol="/", singular=True, domain={"x2": (0.5, 4)})
def divide(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The quotient of two arrays, element by element; integers give floats."""
    return xp.divide(x1, x2)


def _inverse(F: Any, x2: Any) -> Any:
    return float("inf") if type(x2) in (int, float) and x2 == 0 else 1 / x2  # Python refuses 1 / 0


def _divided_last(F: Any, g: Any, y: Any, x2: Any) -> Any:
    sums = getattr(F, "divided_last", None)  # which kernels may have
    return None if sums is None else sums(g, y, x2)


divide.partials(x1=_inverse, x2=lambda F, y, x2: y / -x2)
divide.summed(x2=_divided_last)


def _power_partial_base(F: Any, x1: Any, x2: Any) -> Any:
    if type(x2) in (int, float):
        if x2 == 0:
            return 0 * F.ones(x1.shape, dtype=x1.dtype)
        return 2 * x1 if x2 == 2 else x2 * F.pow(x1, x2 - 1)
    zero = (x2 == 0) & (x1 == 0)  # d(x**0) = 0, at x = 0 too; elsewhere it is 0 by itself, and how it changes counts
    return F.mul_zero(x2, x1 ** F.where(zero, x2, x2 - 1))  # what overflows has no derivative where none is asked for


def _power_partial_exponent(F: Any, x1: Any, x2: Any, y: Any) -> Any:
    if type(x1) in (int, float):
        if x1 == 0:
            return F.where(F.isfinite(y), 0 * F.ones(y.shape, dtype=y.dtype), -y)
        return y * math.log(x1) if x1 > 0 else 0 * y
    if type(x1) is complex:
        return y * complex(math.log(abs(x1)), math.atan2(x1.imag, x1.real)) if x1 else _power_partial_exponent(F, 0, x2, y)
    zero = (x1 == 0) & F.isfinite(y)  # 0**p is 0 for all p > 0, so it does not change with p; where it is infinite, log(0) counts
    return F.mul_zero(F.log(F.where(zero, F.ones(x1.shape, dtype=x1.dtype), x1)), y)


@elementwise(singular=True, domain={"x1": (0.3, 3), "x2": (-2, 3)})
def pow(xp: Any, x1: Any, x2: Any, /) -> Any:
    """`x1` to the power `x2`, element by element.

    The derivative for the base at 0 is that of the polynomial (x**2 has 0, then 2, then 0), and 0 for exponent 0; for
    the exponent it is 0 at base 0, but -inf where the power is infinite (the limit from above, x1**x2 * log(x1)), and NaN at a
    negative base, where real powers near `x2` do not exist.
    """
    return xp.pow(x1, x2)


pow.partials(x1=_power_partial_base, x2=_power_partial_exponent)


@elementwise(symbol="-")
def negative(xp: Any, x: Any, /) -> Any:
    """Each element with its sign changed."""
    return xp.negative(x)


negative.partials(x=-1)


@elementwise
def positive(xp: Any, x: Any, /) -> Any:
    """Each element as it is."""
    return xp.positive(x)


positive.partials(x=1)


@elementwise(singular=True, domain=(0.4, 4))
def reciprocal(xp: Any, x: Any, /) -> Any:
    """1 / x for each element."""
    return xp.reciprocal(x)


reciprocal.partials(x=lambda F, x, y: -y / x)  # not -y * y: this keeps a zero from upstream at second order too


@elementwise
def square(xp: Any, x: Any, /) -> Any:
    """The square of each element."""
    return xp.square(x)


square.partials(x=lambda F, x: 2 * x)
square.fused(x=lambda F, g, x: F.square_grad(g, x))


@elementwise(public=False)
def square_grad(xp: Any, x1: Any, x2: Any, /) -> Any:
    """2 x1 x2: the cotangent of the argument of `square`, from that of the value and the argument."""
    return x1 * (2 * x2)


square_grad.partials(x1=lambda F, x2: 2 * x2, x2=lambda F, x1: 2 * x1)
square_grad.fused(x1=lambda F, g, x2: F.square_grad(g, x2), x2=lambda F, g, x1: F.square_grad(g, x1))
scaled(square_grad, both=True)


@elementwise(singular=True, domain=(0.1, 9))
def sqrt(xp: Any, x: Any, /) -> Any:
    """The square root of each element; the derivative at 0 is infinite."""
    return xp.sqrt(x)


sqrt.partials(x=lambda F, y: 0.5 / y)


@elementwise(domain=(0.1, 9), public=False)
def ieee_sqrt(xp: Any, x: Any, /) -> Any:
    """The square root, differentiated as IEEE arithmetic has it: at 0 a cotangent of 0 becomes NaN, for 0 * inf is that.

    It is PyTorch's, where a branch that `where` does not take leaks NaN in this way.
    """
    return xp.sqrt(x)


ieee_sqrt.partials(x=lambda F, y: 0.5 / y)


def _from_integer_ratio(x1: Any, x2: Any) -> Any:
    return (x1 / x2 + 0.5) % 1 - 0.5


def _difference(x1: Any, x2: Any) -> Any:
    return x1 - x2


@elementwise(real=True, kinks=_from_integer_ratio, domain={"x2": (1, 3)})
def remainder(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The remainder of floor division, with the sign of `x2`; where it jumps the derivative is that from above."""
    return xp.remainder(x1, x2)


remainder.partials(x1=1, x2=lambda F, x1, x2: -F.floor_divide(x1, x2))


@elementwise(real=True, kinks=_from_integer_ratio, domain={"x2": (1, 3)}, public=False)
def fmod(xp: Any, x1: Any, x2: Any, /) -> Any:
    """What is left of `x1`, whose sign it has, when `x2` is taken off as often as it goes: exact, as no quotient of large numbers is."""
    left = xp.remainder(xp.abs(x1), xp.abs(x2))
    return xp.where(x1 < 0, -left, left)


fmod.partials(x1=1, x2=lambda F, x1, x2, y: -F.round((x1 - y) / x2))


@elementwise(real=True, masks=True, kinks=_difference)
def maximum(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The larger of two elements; where they are equal each has half of the derivative."""
    return xp.maximum(x1, x2)


maximum.partials(x1=lambda F, x1, x2: F.share(x1, x2), x2=lambda F, x1, x2: F.share(x2, x1))


@elementwise(real=True, masks=True, kinks=_difference)
def minimum(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The smaller of two elements; where they are equal each has half of the derivative."""
    return xp.minimum(x1, x2)


minimum.partials(x1=lambda F, x1, x2: F.share(x2, x1), x2=lambda F, x1, x2: F.share(x1, x2))


@elementwise(real=True, masks=True, kinks=_difference, public=False)
def at_least(xp: Any, x: Any, low: Any, /) -> Any:
    """`x`, or `low` where `x` is below it; at the bound the derivative is that of `x`."""
    return xp.maximum(x, low)


at_least.partials(x=lambda F, x, low: F.truth(F.greater_equal(x, low), x, low), low=lambda F, x, low: F.truth(F.less(x, low), x, low))


@elementwise(real=True, masks=True, kinks=_difference, public=False)
def at_most(xp: Any, x: Any, high: Any, /) -> Any:
    """`x`, or `high` where `x` is above it; at the bound the derivative is that of `x`."""
    return xp.minimum(x, high)


at_most.partials(
    x=lambda F, x, high: F.truth(F.less_equal(x, high), x, high),
    high=lambda F, x, high: F.truth(F.greater(x, high), x, high),
)


@composite(real=True, weak=True, kinks=(-0.5, 0.5), laws=lambda draw: (
    draw.array("n", 3),
    *draw.choice((-0.5, 0.5), (-0.5, None), (None, 0.5), (draw.array(3, low=-1.5, high=-1), draw.array("n", 1, low=1, high=1.5))),
))
def clip(F: Any, x: Any, min: Any = None, max: Any = None, /) -> Any:
    """Each element, kept between `min` and `max` (None is no bound); at a bound the derivative is 1."""
    y = F.positive(x)
    if min is not None:
        y = F.at_least(y, min)
    if max is not None:
        y = F.at_most(y, max)
    return y


@elementwise(
    real=True, cuts=True, laws=lambda draw: (draw.array("n", 3), {"nan": 0.5, "high": 2.0, "low": -2.0}), public=False
)
def finite_or(xp: Any, x: Any, /, *, nan: float, high: float, low: float) -> Any:
    """`x`, with `nan`, `high` and `low` in place of NaN, inf and -inf; there the derivative is 0."""
    y = xp.where(xp.isnan(x), nan, x)
    y = xp.where(xp.equal(y, math.inf), high, y)
    return xp.where(xp.equal(y, -math.inf), low, y)


finite_or.partials(x=lambda F, x: F.cast_like(F.isfinite(x), x))


@elementwise(real=True, singular=True, domain=(0.2, 3))
def hypot(xp: Any, x1: Any, x2: Any, /) -> Any:
    """sqrt(x1**2 + x2**2) without overflow; at (0, 0) the derivative is taken as 0, the smallest subgradient.

    Where one is infinite it is the limit, 1 or -1 for that one and 0 for the other; where both are, that for both growing alike.
    """
    return xp.hypot(x1, x2)


hypot.partials(x1=lambda F, x1, x2, y: _along(F, x1, x2, y), x2=lambda F, x1, x2, y: _along(F, x2, x1, y))


def _along(F: Any, x: Any, other: Any, y: Any) -> Any:
    one = F.ones(y.shape, dtype=y.dtype)
    return F.where(F.isinf(x) & F.isinf(other), math.sqrt(0.5) * one, one) * _over(F, x, y)


def _over(F: Any, x: Any, y: Any) -> Any:
    """x / y, with 0 / 0 = 0 and inf / inf = 1, whose derivatives are 0 too."""
    odd = (y == 0) | F.isinf(y)
    one = F.ones(y.shape, dtype=y.dtype)
    return F.where(odd, F.where(F.isinf(x), F.sign(x * one), 0 * one), x / F.where(odd, one, y))


@elementwise(real=True, domain=(0.2, 3))
def atan2(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The angle of the point (x2, x1), between -pi and pi; at (0, 0) the derivative is taken as 0, and it is 0 infinitely far out."""
    return xp.atan2(x1, x2)


atan2.partials(x1=lambda F, x1, x2: _of_circle(F, x2, x1, x2), x2=lambda F, x1, x2: -_of_circle(F, x1, x1, x2))


def _of_circle(F: Any, x: Any, x1: Any, x2: Any) -> Any:
    """x / (x1**2 + x2**2), whose squares would overflow, or vanish."""
    radius = F.hypot(x1, x2)
    return _over(F, _over(F, x, radius), radius)


@elementwise(real=True)
def logaddexp(xp: Any, x1: Any, x2: Any, /) -> Any:
    """log(exp(x1) + exp(x2)) without overflow."""
    return xp.logaddexp(x1, x2)


logaddexp.partials(x1=lambda F, x1, x2: F.expit(_gap(F, x1, x2)), x2=lambda F, x1, x2: F.expit(_gap(F, x2, x1)))


def _gap(F: Any, a: Any, b: Any) -> Any:
    """a - b; 0 where both are the same infinity."""
    infinite = (a == float("inf")) | (a == -float("inf"))
    return F.where((a == b) & infinite, 0.0, a - b)


@elementwise(real=True, kinks=(0.0,), domain=(-2, 2))
def copysign(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The magnitude of `x1` with the sign of `x2`; the derivative at 0 is 0, for the magnitude has a tip there."""
    return xp.copysign(x1, x2)


copysign.partials(x1=lambda F, x1, x2: F.sign(x1) * F.copysign(F.ones(x1.shape, dtype=x1.dtype), x2), x2=0)


@elementwise(real=True)
def nextafter(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The next number after the first element, in the direction of the second; it moves with the first."""
    return xp.nextafter(x1, x2)


nextafter.partials(x1=1, x2=0)


@constant(pointwise=True, laws=lambda draw: (draw.array("n", 3), draw.array("n", 3)), public=False)
def share(xp: Any, x1: Any, x2: Any, /) -> Any:
    """1 where `x1` is larger, 0.5 where both are equal, 0 elsewhere: who gets the derivative of a maximum."""
    return xp.share(x1, x2)


@constant(pointwise=True, laws=lambda draw: (draw.array("n", 3) > 0, draw.array("n", 3), draw.array("n", 3)), public=False)
def truth(xp: Any, condition: Any, x1: Any, x2: Any, /) -> Any:
    """1 where the condition holds and 0 elsewhere, in the dtype that an op of `x1` and `x2` has."""
    return xp.truth(condition, x1, x2)
