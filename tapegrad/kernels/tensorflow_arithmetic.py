"""TensorFlow kernels of arithmetic: sums, products, powers, signs and extremes of numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.tensorflow_array import TFArray, made
from tapegrad.kernels.tensorflow_basics import (
    binary,
    bitwise_and,
    bitwise_right_shift,
    equal,
    greater,
    isnan,
    part_dtype,
    real,
    where,
)
from tapegrad.kernels.tensorflow_calls import BOOL, F32, F64, cast, scalar
from tapegrad.kernels.tensorflow_promotion import able, asarray, converted, pair

if TYPE_CHECKING:
    from collections.abc import Callable

_AND, _OR = calls.two("LogicalAnd"), calls.two("LogicalOr")


def _with_logic(numeric: Callable[..., Any], logic: Callable[..., Any] | None, name: str) -> Callable[[Any, Any], Any]:
    """Arithmetic that is logic for booleans, or refuses them."""

    def kernel(x1: Any, x2: Any) -> Any:
        if (type(x1) is TFArray and ((d := x1.dtype) is F32 or d is F64)) or not (is_bool(x1) and is_bool(x2)):
            return numeric(x1, x2)
        if logic is None:
            raise TypeError(f"{name} of booleans is not defined; use logical_xor, or cast them")
        a, b, _ = pair(x1, x2)
        return made(logic(a, b), BOOL)

    return kernel


def is_bool(x: Any) -> bool:
    return type(x) is bool or getattr(x, "dtype", None) == BOOL


add = _with_logic(binary("AddV2"), _OR, "add")
subtract = _with_logic(binary("Sub"), None, "subtract")
multiply = _with_logic(binary("Mul"), _AND, "multiply")
_real_div = binary("RealDiv")


def divide(x1: Any, x2: Any) -> Any:
    """The quotient; integers become float64."""
    a, b, d = pair(x1, x2)
    if d is F32 or d is F64 or d.kind in "fcV":
        return _real_div(made(a, d), made(b, d))
    return _real_div(made(cast(a, F64), F64), made(cast(b, F64), F64))


def negative(x: Any) -> Any:
    x = asarray(x)
    if x.dtype is BOOL:
        raise TypeError("negative of booleans is not defined; use logical_not")
    return _neg(x) if x.dtype.kind != "u" else subtract(made(scalar(0, x.dtype), x.dtype, ()), x)


def same_dtype(name: str) -> Callable[[Any], Any]:
    """A function of any number that TensorFlow has under this name, its result in the argument's dtype."""
    run = calls.one(name)

    def kernel(x: Any) -> Any:
        d = x.dtype
        w = d if d is F32 or d is F64 else able(name, d)
        y = made(run(x.bare if w is d else cast(x.bare, w)), w, x._shape)
        return y if w is d else converted(y, d)

    return kernel


_neg, _abs, _sign, _square = (same_dtype(n) for n in ("Neg", "Abs", "Sign", "Square"))
_complex_abs = calls.op("ComplexAbs")


def positive(x: Any) -> Any:
    return _numbers("positive", asarray(x))


def _numbers(name: str, x: Any) -> Any:
    if x.dtype is BOOL:
        raise TypeError(f"{name} of booleans is not defined; cast them")
    return x


def abs(x: Any) -> Any:
    x = asarray(x)
    k = x.dtype.kind
    if k == "c":
        r = part_dtype(x.dtype)
        return made(_complex_abs(x.bare, Tout=calls.TF_OF[r]), r, x._shape)
    return x if k in "ub" else _abs(x)


def sign(x: Any) -> Any:
    """-1, 0 or 1, and NaN of NaN; x / abs(x) of a complex x."""
    x = _numbers("sign", asarray(x))
    if x.dtype.kind == "u":
        return minimum(x, 1)
    if x.dtype.kind == "c":
        size = abs(x)
        return where(equal(size, 0), 0, divide(x, where(equal(size, 0), 1, size)))
    if x.dtype.kind == "i":
        return _sign(x)
    y = _sign(x)
    return where(isnan(x), x, y)


def square(x: Any) -> Any:
    x = asarray(x)
    if x.dtype is BOOL:
        x = converted(x, calls.INT8)
    return _square(x) if calls.supports("Square", x.dtype) else multiply(x, x)


def reciprocal(x: Any) -> Any:
    x = asarray(x)
    if x.dtype.kind in "fcV":
        return divide(made(scalar(1, x.dtype), x.dtype, ()), x)
    if x.dtype is BOOL:
        x = converted(x, calls.INT8)
    zero = equal(x, 0)
    one = made(scalar(1, x.dtype), x.dtype, ())
    return where(zero, 0, _truncated_quotient(one, where(zero, one, x)))


_truncated_quotient = binary("TruncateDiv")
_tf_pow = binary("Pow")


def pow(x1: Any, x2: Any) -> Any:
    if type(x2) in (int, float) and x2 == 2 and not is_bool(x1):
        return square(x1) if getattr(x1, "dtype", F32).kind in "fcV" or type(x2) is int else square(converted(x1, F64))
    a, b, d = pair(x1, x2)
    if d is BOOL:
        d = calls.INT8
        a, b = cast(a, d), cast(b, d)
    if d is calls.UINT64:
        return _power_of_uint64(made(a, d), made(b, d))
    y = _tf_pow(made(a, d), made(b, d))
    if d.kind != "c":
        return y
    base, exponent = made(a, d), made(b, d)
    at_zero = where(equal(exponent, 0), 1, where(greater(real(exponent), 0), 0, complex(math.nan, math.nan)))
    return where(equal(base, 0), converted(at_zero, d), y)


def _power_of_uint64(base: Any, exponent: Any) -> Any:
    """By squaring, for TensorFlow has no power of these, and as signed integers exponents may be negative."""
    y = made(scalar(1, calls.UINT64), calls.UINT64, ())
    for bit in range(64):
        y = where(equal(bitwise_and(bitwise_right_shift(exponent, bit), 1), 1), multiply(y, base), y)
        base = multiply(base, base)
    return y


def _nan_wins(name: str) -> Callable[[Any, Any], Any]:
    run = binary(name)

    def kernel(x1: Any, x2: Any) -> Any:
        a, b, d = pair(x1, x2)
        if d is BOOL:
            return made((_OR if name == "Maximum" else _AND)(a, b), BOOL)
        if d.kind == "c":
            raise TypeError(f"{name.lower()} of complex numbers: they have no order")
        return run(made(a, d), made(b, d))

    return kernel


maximum, minimum = _nan_wins("Maximum"), _nan_wins("Minimum")


def between(x: Any, low: float, high: float) -> Any:
    """`x`, kept between two numbers."""
    return minimum(maximum(x, low), high)


def own_number(x: Any, number: float) -> float:
    """A number of Python's beside `x`: here it is weak for every dtype."""
    return number


def share(x1: Any, x2: Any) -> Any:
    """1 where x1 > x2, 0.5 where they are equal, 0 elsewhere."""
    a, b, d = pair(x1, x2)
    x1, x2 = made(a, d), made(b, d)
    return where(greater(x1, x2), made(scalar(1, d), d, ()), where(equal(x1, x2), made(scalar(0.5, d), d, ()), 0))


_mul_no_nan = calls.two("MulNoNan")


def mul_zero(g: Any, partial: Any) -> Any:
    """`g * partial`, and zero wherever `g` is zero, whatever `partial` is there."""
    a, b, d = pair(partial, g)
    if calls.supports("MulNoNan", d):
        return made(_mul_no_nan(a, b), d)
    w = F32 if d.itemsize == 2 and d.kind in "fV" else d
    if w is d:
        return where(equal(made(b, d), 0), 0, multiply(made(a, d), made(b, d)))
    return made(cast(_mul_no_nan(cast(a, w), cast(b, w)), d), d)


def mul_zeros(x1: Any, x2: Any) -> Any:
    """`x1 * x2`, and zero wherever either is zero."""
    a, b, d = pair(x1, x2)
    return where(equal(made(a, d), 0), 0, mul_zero(made(b, d), made(a, d)))
