"""TensorFlow kernels that round: to integers, to quotients with a remainder; and that look at the sign or the next number."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.tensorflow_arithmetic import abs, add, divide, negative, subtract
from tapegrad.kernels.tensorflow_array import made
from tapegrad.kernels.tensorflow_basics import (
    BITS,
    binary,
    bits,
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
    logical_or,
    real,
    unary,
    where,
)
from tapegrad.kernels.tensorflow_calls import BOOL, F32, scalar
from tapegrad.kernels.tensorflow_promotion import asarray, converted, inexact, pair

if TYPE_CHECKING:
    from collections.abc import Callable

_floor_div, _floor_mod, _truncate_mod = binary("FloorDiv"), binary("FloorMod"), binary("TruncateMod")


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
    return _left("remainder", x1, x2, _floor_mod, _remainder)


def _remainder(x1: Any, x2: Any) -> Any:
    y = _floor_mod(x1, x2)
    return where(equal(y, 0), copysign(0.0, x2), y)


def fmod(x1: Any, x2: Any) -> Any:
    """What is left of `x1` by the quotient without its fraction, with the sign of `x1`; 0 for integers divided by 0."""
    return _left("fmod", x1, x2, _truncated, _truncate_mod)


def _truncated(x1: Any, x2: Any) -> Any:
    """The same of integers, of which TensorFlow's kernel knows the wide ones with a sign; without one the two remainders are one."""
    d = x1.dtype
    return _floor_mod(x1, x2) if d.kind == "u" else converted(_truncate_mod(converted(x1, calls.INT64), converted(x2, calls.INT64)), d)


def _left(name: str, x1: Any, x2: Any, integers: Callable[..., Any], floats: Callable[..., Any]) -> Any:
    """What a division leaves: by one kernel of integers, by another of floats, in float32 of half precision."""
    a, b, d = pair(x1, x2)
    if d.kind == "c":
        raise TypeError(f"{name} of complex numbers is not defined")
    w = calls.INT8 if d is BOOL else F32 if d.itemsize == 2 and d.kind in "fV" else d
    x1, x2 = converted(made(a, d), w), converted(made(b, d), w)
    if w.kind in "ui":
        none = equal(x2, 0) if w.kind == "u" else logical_or(equal(x2, 0), equal(x2, -1))
        return where(none, 0, integers(x1, where(none, 1, x2)))
    return converted(floats(x1, x2), d)


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
    if d.kind == "c":
        raise TypeError("nextafter of complex numbers: they have no order")
    if d.kind not in "fV":
        return nextafter(converted(x1, inexact(d)), converted(x2, inexact(d)))
    away = equal(greater(x2, x1), greater(x1, 0))
    moved = from_bits(add(bits(x1), where(away, made(scalar(1, BITS[d]), BITS[d], ()), -1)), d)
    tiny = from_bits(made(scalar(1, BITS[d]), BITS[d], ()), d)
    moved = where(equal(x1, 0), copysign(tiny, x2), moved)
    y = where(equal(x1, x2), x1 if d is calls.F16 else x2, moved)  # as NumPy has it: of two zeros the second, of halves the first
    return where(logical_or(isnan(x1), isnan(x2)), math.nan, y)
