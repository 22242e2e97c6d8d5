"""TensorFlow kernels of elementary functions: exponentials, logarithms, circular and hyperbolic ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tapegrad.kernels.tensorflow_arithmetic import (
    abs,
    add,
    divide,
    maximum,
    minimum,
    multiply,
    negative,
    pow,
    square,
    subtract,
)
from tapegrad.kernels.tensorflow_array import made
from tapegrad.kernels.tensorflow_basics import (
    binary,
    equal,
    from_parts,
    greater,
    imag,
    isfinite,
    isinf,
    less,
    logical_and,
    logical_not,
    logical_or,
    real,
    unary,
    where,
)
from tapegrad.kernels.tensorflow_calls import F32
from tapegrad.kernels.tensorflow_promotion import asarray, converted, inexact, pair
from tapegrad.kernels.tensorflow_rounding import copysign, round

if TYPE_CHECKING:
    from collections.abc import Callable


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


def cbrt(x: Any) -> Any:
    """A power of a third, which rounds 1 / 3, and one step of Newton's method."""
    x = converted(asarray(x), inexact(asarray(x).dtype))
    w = F32 if x.dtype.itemsize == 2 else x.dtype
    size = abs(converted(x, w))
    plain = logical_and(isfinite(size), greater(size, 0))
    size = where(plain, size, 1)
    y = pow(size, 1 / 3)
    y = subtract(y, divide(subtract(y, divide(size, square(y))), 3))
    return converted(where(plain, copysign(y, converted(x, w)), converted(x, w)), x.dtype)


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
