"""TensorFlow kernels that act on each element: arithmetic and functions of one variable."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.tensorflow_array import TFArray, able, asarray, converted, inexact, made, pair
from tapegrad.kernels.tensorflow_basics import (
    BITS,
    binary,
    bits,
    bitwise_and,
    bitwise_right_shift,
    equal,
    from_bits,
    from_parts,
    greater,
    imag,
    isfinite,
    isinf,
    isnan,
    less,
    logical_and,
    logical_not,
    logical_or,
    part_dtype,
    real,
    unary,
    where,
)
from tapegrad.kernels.tensorflow_calls import BOOL, F32, F64, cast, scalar

if TYPE_CHECKING:
    from collections.abc import Callable

_AND, _OR = calls.two("LogicalAnd"), calls.two("LogicalOr")


# -- arithmetic ------------------------------------------------------------------------------------------
def _with_logic(numeric: Callable[..., Any], logic: Callable[..., Any] | None, name: str) -> Callable[[Any, Any], Any]:
    """Arithmetic that is logic for booleans, or refuses them."""

    def kernel(x1: Any, x2: Any) -> Any:
        if (type(x1) is TFArray and ((d := x1.dtype) is F32 or d is F64)) or not (_is_bool(x1) and _is_bool(x2)):
            return numeric(x1, x2)
        if logic is None:
            raise TypeError(f"{name} of booleans is not defined; use logical_xor, or cast them")
        a, b, _ = pair(x1, x2)
        return made(logic(a, b), BOOL)

    return kernel


def _is_bool(x: Any) -> bool:
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


def _same_dtype(name: str) -> Callable[[Any], Any]:
    """A function of any number that TensorFlow has under this name, its result in the argument's dtype."""
    run = calls.one(name)

    def kernel(x: Any) -> Any:
        d = x.dtype
        w = d if d is F32 or d is F64 else able(name, d)
        y = made(run(x.bare if w is d else cast(x.bare, w)), w, x._shape)
        return y if w is d else converted(y, d)

    return kernel


_neg, _abs, _sign, _square = (_same_dtype(n) for n in ("Neg", "Abs", "Sign", "Square"))
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
_floor_div, _floor_mod = binary("FloorDiv"), binary("FloorMod")


def floor_divide(x1: Any, x2: Any) -> Any:
    """The quotient, rounded down; 0 for integers divided by 0.  Of or by an infinity it is what the quotient is."""
    a, b, d = pair(x1, x2)
    x1, x2 = made(a, d), made(b, d)
    if d.kind in "ui":
        zero = equal(x2, 0)
        if d.kind == "u":
            return where(zero, 0, _floor_div(x1, where(zero, 1, x2)))
        back = equal(x2, -1)  # the lowest integer divided by -1 stops the machine
        y = _floor_div(x1, where(logical_or(zero, back), 1, x2))
        return where(zero, 0, where(back, negative(x1), y))
    if d is BOOL:
        return converted(floor_divide(converted(x1, calls.INT8), converted(x2, calls.INT8)), calls.INT8)
    w = F32 if d.itemsize == 2 else d
    x1, x2 = converted(x1, w), converted(x2, w)
    quotient = divide(x1, x2)
    ratio = divide(subtract(x1, _remainder(x1, x2)), x2)
    low = floor(ratio)
    low = where(greater(subtract(ratio, low), 0.5), add(low, 1.0), low)
    low = where(equal(ratio, 0), copysign(0.0, quotient), low)
    odd = logical_or(
        logical_or(logical_and(isinf(x1), isfinite(x2)), equal(x2, 0)), logical_and(isinf(x2), isfinite(x1))
    )
    return converted(where(odd, quotient, low), d)


def remainder(x1: Any, x2: Any) -> Any:
    """The remainder of the quotient that is rounded down, with the sign of the divisor; 0 for integers divided by 0."""
    a, b, d = pair(x1, x2)
    x1, x2 = made(a, d), made(b, d)
    if d.kind in "ui":
        none = equal(x2, 0) if d.kind == "u" else logical_or(equal(x2, 0), equal(x2, -1))
        return where(none, 0, _floor_mod(x1, where(none, 1, x2)))
    if d is BOOL:
        return remainder(converted(x1, calls.INT8), converted(x2, calls.INT8))
    if d.kind == "c":
        raise TypeError("remainder of complex numbers is not defined")
    w = F32 if d.itemsize == 2 else d
    return converted(_remainder(converted(x1, w), converted(x2, w)), d)


def _remainder(x1: Any, x2: Any) -> Any:
    y = _floor_mod(x1, x2)
    return where(equal(y, 0), copysign(0.0, x2), y)


_tf_pow = binary("Pow")


def pow(x1: Any, x2: Any) -> Any:
    if type(x2) in (int, float) and x2 == 2 and not _is_bool(x1):
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


def share(x1: Any, x2: Any) -> Any:
    """1 where x1 > x2, 0.5 where they are equal, 0 elsewhere."""
    a, b, d = pair(x1, x2)
    x1, x2 = made(a, d), made(b, d)
    return where(greater(x1, x2), made(scalar(1, d), d, ()), where(equal(x1, x2), made(scalar(0.5, d), d, ()), 0))


def hypot(x1: Any, x2: Any) -> Any:
    """sqrt(x1**2 + x2**2), relative to the larger one."""
    a, b, given = pair(x1, x2)
    d = inexact(given)
    w = F32 if d.itemsize == 2 else d
    x1, x2 = abs(converted(made(a, given), w)), abs(converted(made(b, given), w))
    large, small = maximum(x1, x2), minimum(x1, x2)
    plain = logical_and(isfinite(large), greater(large, 0))
    ratio = where(plain, divide(small, where(plain, large, 1)), 0)
    y = multiply(large, sqrt(add(1, square(ratio))))
    return converted(where(logical_or(isinf(x1), isinf(x2)), math.inf, y), d)


def logaddexp(x1: Any, x2: Any) -> Any:
    """log(exp(x1) + exp(x2)), relative to the larger one."""
    a, b, d = pair(x1, x2)
    x1, x2 = (converted(made(t, d), inexact(d)) for t in (a, b))
    gap = subtract(x1, x2)
    y = add(maximum(x1, x2), log1p(exp(negative(abs(gap)))))
    return where(equal(x1, x2), add(x1, math.log(2)), y)


# -- what TensorFlow has ---------------------------------------------------------------------------------
exp, _log, sqrt = unary("Exp"), unary("Log"), unary("Sqrt")
sin, cos, tan = unary("Sin"), unary("Cos"), unary("Tan")
sinh, cosh, _tanh, asinh = unary("Sinh"), unary("Cosh"), unary("Tanh"), unary("Asinh")
acosh, atanh = unary("Acosh"), unary("Atanh")
sigmoid = unary("Sigmoid")
_log1p, _expm1 = unary("Log1p"), unary("Expm1")
_asin, _acos, _atan = unary("Asin"), unary("Acos"), unary("Atan")
_atan2 = binary("Atan2")


def atan2(x1: Any, x2: Any) -> Any:
    a, b, d = pair(x1, x2)
    return _atan2(*(converted(made(t, d), inexact(d)) for t in (a, b)))


def log(x: Any) -> Any:
    """Of complex numbers by parts: TensorFlow squares them, which overflows (measured with 2.21)."""
    y = _log(x)
    if y.dtype.kind != "c":
        return y
    a, b = real(x), imag(x)
    return where(isfinite(y), y, from_parts(_log(hypot(a, b)), atan2(b, a)))


def tanh(x: Any) -> Any:
    """At complex infinities the imaginary part is a zero that has its sign, as the array API says."""
    y = _tanh(x)
    if y.dtype.kind != "c":
        return y
    a, b = real(x), imag(x)
    return where(logical_and(isinf(a), isfinite(b)), from_parts(copysign(1, a), copysign(0, b)), y)


def _in_bases(base: float) -> Callable[[Any], Any]:
    def kernel(x: Any) -> Any:
        y = log(x)
        d = y.dtype
        if d.kind == "c":  # part by part: 0 times infinity is no number
            return from_parts(multiply(real(y), 1 / math.log(base)), multiply(imag(y), 1 / math.log(base)))
        y = multiply(y, 1 / math.log(base))
        whole = round(y)  # exact at powers of the base
        return where(equal(pow(base, whole), converted(asarray(x), d)), whole, y)

    return kernel


log2, log10 = _in_bases(2.0), _in_bases(10.0)


def log1p(x: Any) -> Any:
    x = asarray(x)
    if x.dtype.kind != "c":
        return _log1p(x)
    a, b = real(x), imag(x)  # log(abs(1 + x)) = log1p(a (a + 2) + b b) / 2
    near = logical_and(less(abs(a), 0.5), less(abs(b), 0.5))
    size = where(near, multiply(0.5, _log1p(add(multiply(a, add(a, 2)), multiply(b, b)))), log(abs(add(x, 1))))
    return from_parts(size, atan2(b, add(a, 1)))


def expm1(x: Any) -> Any:
    x = asarray(x)
    if x.dtype.kind != "c":
        return _expm1(x)
    a, b = real(x), imag(x)
    half = sin(multiply(b, 0.5))
    size = subtract(multiply(_expm1(a), cos(b)), multiply(2, square(half)))
    y = from_parts(size, multiply(exp(a), sin(b)))
    odd = logical_or(logical_not(isfinite(x)), equal(x, 0))
    return where(odd, subtract(exp(x), 1), y)


def asin(x: Any) -> Any:
    """Of complex numbers by the inverse hyperbolic sine: asin(z) = -i asinh(i z)."""
    x = asarray(x)
    return _asin(x) if x.dtype.kind != "c" else multiply(asinh(multiply(x, 1j)), -1j)


def acos(x: Any) -> Any:
    x = asarray(x)
    if x.dtype.kind != "c":
        return _acos(x)
    w = asinh(from_parts(negative(imag(x)), real(x)))  # part by part, so that infinities and zeros keep their signs
    return from_parts(subtract(math.pi / 2, imag(w)), real(w))


def atan(x: Any) -> Any:
    """Of complex numbers by the inverse hyperbolic tangent: atan(z) = -i atanh(i z)."""
    x = asarray(x)
    return _atan(x) if x.dtype.kind != "c" else multiply(atanh(multiply(x, 1j)), -1j)


# -- rounding --------------------------------------------------------------------------------------------
def _rounding(name: str) -> Callable[[Any], Any]:
    run = unary(name)

    def kernel(x: Any) -> Any:
        x = asarray(x)
        if x.dtype.kind == "c":
            if name != "Round":
                raise TypeError(f"{name.lower()} of complex numbers is not defined")
            return from_parts(run(real(x)), run(imag(x)))
        if x.dtype is BOOL and name == "Round":
            return converted(x, calls.F16)
        return x if x.dtype.kind in "iub" else run(x)

    return kernel


floor, ceil, round = _rounding("Floor"), _rounding("Ceil"), _rounding("Round")


def trunc(x: Any) -> Any:
    x = asarray(x)
    return x if x.dtype.kind in "iub" else where(less(x, 0), ceil(x), floor(x))


def signbit(x: Any) -> Any:
    x = asarray(x)
    return less(bits(x) if x.dtype.kind in "fV" else x, 0)


def copysign(x1: Any, x2: Any) -> Any:
    a, b, d = pair(x1, x2)
    d2 = inexact(d) if d.kind not in "fV" else d
    size, source = abs(converted(made(a, d), d2)), converted(made(b, d), d2)
    return where(signbit(source), negative(size), size)


def nextafter(x1: Any, x2: Any) -> Any:
    """By the bits, which count as the numbers do."""
    a, b, d = pair(x1, x2)
    x1, x2 = made(a, d), made(b, d)
    if d.kind not in "fV":
        return nextafter(converted(x1, inexact(d)), converted(x2, inexact(d)))
    away = equal(greater(x2, x1), greater(x1, 0))
    moved = from_bits(add(bits(x1), where(away, made(scalar(1, BITS[d]), BITS[d], ()), -1)), d)
    tiny = from_bits(made(scalar(1, BITS[d]), BITS[d], ()), d)
    moved = where(equal(x1, 0), copysign(tiny, x2), moved)
    y = where(equal(x1, x2), x1 if d is calls.F16 else x2, moved)  # as NumPy has it: of two zeros the second, of halves the first
    return where(logical_or(isnan(x1), isnan(x2)), math.nan, y)


# -- of neural networks ----------------------------------------------------------------------------------
_relu = _same_dtype("Relu")


def relu(x: Any) -> Any:
    """The larger of `x` and 0."""
    x = asarray(x)
    return maximum(x, 0) if x.dtype is BOOL else _relu(x)


def step(x: Any) -> Any:
    """1 where x > 0, else 0, in the dtype of x."""
    return converted(greater(x, 0), x.dtype)


def softplus(x: Any, *, beta: float = 1.0) -> Any:
    """max(x, 0) + log1p(exp(-abs(x)))."""
    if beta != 1:
        x = multiply(x, beta)
    y = add(maximum(x, 0), log1p(exp(negative(abs(x)))))
    return y if beta == 1 else divide(y, beta)


def _gradient(name: str, otherwise: Callable[[Any, Any], Any], *, value_first: bool) -> Callable[[Any, Any], Any]:
    """A cotangent times a partial by TensorFlow's op of this name, where both have one shape and a common real dtype."""
    run = calls.two(name)

    def kernel(g: Any, y: Any) -> Any:
        if type(g) is TFArray and type(y) is TFArray and (d := g.dtype) is y.dtype and (d is F32 or d is F64):
            s = y.shape
            if g.shape == s:
                return made(run(y.bare, g.bare) if value_first else run(g.bare, y.bare), d, s)
        return otherwise(g, y)

    return kernel


def _times_step(g: Any, y: Any) -> Any:
    return multiply(g, step(y) if hasattr(y, "dtype") else float(y > 0))


tanh_grad = _gradient("TanhGrad", lambda g, y: multiply(g, subtract(1, multiply(y, y))), value_first=True)
sigmoid_grad = _gradient("SigmoidGrad", lambda g, y: multiply(g, multiply(y, subtract(1, y))), value_first=True)
relu_grad = _gradient("ReluGrad", _times_step, value_first=False)
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
