"""TensorFlow kernels that others are built from: comparisons, logic, choice, parts and bits of numbers, dtypes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.tensorflow_array import TFArray, made
from tapegrad.kernels.tensorflow_calls import BF16, BOOL, C64, F16, F32, F64, INT32, INT64, cast, ints, scalar
from tapegrad.kernels.tensorflow_lengths import is_static, shape_tensor
from tapegrad.kernels.tensorflow_promotion import able, asarray, converted, inexact, pair

if TYPE_CHECKING:
    from collections.abc import Callable

_TF_SELECT = calls.op("SelectV2")
_AND, _OR, _NOT = calls.two("LogicalAnd"), calls.two("LogicalOr"), calls.one("LogicalNot")
_NOT_EQUAL = calls.op("NotEqual")
_BITCAST = calls.op("Bitcast")
_COMPLEX, _REAL, _IMAG, _CONJ = calls.op("Complex"), calls.op("Real"), calls.op("Imag"), calls.one("Conj")
#: Signed integers of the size of each float: its bits.
BITS = {F16: calls.INT16, BF16: calls.INT16, F32: INT32, F64: INT64}


# -- how most are made -----------------------------------------------------------------------------------
def unary(name: str) -> Callable[[Any], Any]:
    """A function of floats that TensorFlow has under this name; integers become floats, as in NumPy."""
    run = calls.one(name)

    def kernel(x: Any) -> Any:
        if type(x) is not TFArray:
            x = asarray(x)
        d = x.dtype
        if d is F32 or d is F64:
            return made(run(x.bare), d, x._shape)
        x = converted(x, inexact(d))
        d = x.dtype
        w = able(name, d)
        y = made(run(x.bare if w is d else cast(x.bare, w)), w, x._shape)
        return y if w is d else converted(y, d)

    return kernel


def binary(name: str) -> Callable[[Any, Any], Any]:
    """A function of two numbers that TensorFlow has under this name, its result in their common dtype."""
    run = calls.two(name)

    def kernel(x1: Any, x2: Any) -> Any:
        if type(x1) is TFArray and type(x2) is TFArray and (d := x1.dtype) is x2.dtype and (d is F32 or d is F64):
            s = x1._shape
            return made(run(x1.bare, x2.bare), d, s if s == x2._shape else None)
        a, b, d = pair(x1, x2)
        if d is F32 or d is F64:
            return made(run(a, b), d)
        w = able(name, d)
        if w is d:
            return made(run(a, b), d)
        return made(cast(run(cast(a, w), cast(b, w)), d), d)

    return kernel


def _compared(name: str) -> Callable[[Any, Any], Any]:
    run = calls.op(name)

    def kernel(x1: Any, x2: Any) -> Any:
        try:
            a, b, d = pair(x1, x2)
        except OverflowError:  # an integer that no element can be equal to
            return kernel(*(_wide_integer(x) for x in (x1, x2)))
        w = d if d is F32 or d is F64 or calls.supports(name, d) else able(name, d)
        if w is not d:
            a, b = cast(a, w), cast(b, w)
        if name in ("Equal", "NotEqual"):
            return made(run(a, b, incompatible_shape_error=True), BOOL)
        return made(run(a, b), BOOL)

    return kernel


def _wide_integer(x: Any) -> Any:
    """What decides a comparison with an integer that the other dtype cannot hold."""
    return converted(asarray(x), F64) if hasattr(x, "dtype") else float(x)


equal, not_equal = _compared("Equal"), _compared("NotEqual")
less, less_equal = _compared("Less"), _compared("LessEqual")
greater, greater_equal = _compared("Greater"), _compared("GreaterEqual")


# -- choice -----------------------------------------------------------------------------------------------
def where(condition: Any, x1: Any, x2: Any) -> Any:
    a, b, d = pair(x1, x2)
    return made(_TF_SELECT(truths(condition), a, b), d)


def truths(x: Any) -> Any:
    """The bare truth values of an array: of numbers, whether they are not zero."""
    if type(x) is not TFArray:
        x = asarray(x)
    if x.dtype is BOOL:
        return x.bare
    return _NOT_EQUAL(x.bare, scalar(0, x.dtype), incompatible_shape_error=True)


def truth(condition: Any, x1: Any, x2: Any) -> Any:
    """1 where the condition holds and 0 elsewhere, in the dtype and shape of an op of `x1` and `x2`."""
    a, b, d = pair(x1, x2)
    y = converted(asarray(condition), d)
    shapes = [y.shape, made(a, d).shape, made(b, d).shape]
    if all(map(is_static, shapes)):
        shape = np.broadcast_shapes(*shapes)
        return y if y.shape == shape else made(_BROADCAST(y.bare, ints(shape)), d, shape)
    whole = _BROADCAST_ARGS(_BROADCAST_ARGS(*map(shape_tensor, shapes[:2])), shape_tensor(shapes[2]))
    return made(_BROADCAST(y.bare, whole), d)


_BROADCAST, _BROADCAST_ARGS = calls.growing("BroadcastTo", 1), calls.two("BroadcastArgs")


# -- logic -----------------------------------------------------------------------------------------------
def _logic(run: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    def kernel(x1: Any, x2: Any) -> Any:
        return made(run(truths(x1), truths(x2)), BOOL)

    return kernel


logical_and, logical_or = _logic(_AND), _logic(_OR)
logical_xor = _logic(lambda a, b: _NOT_EQUAL(a, b, incompatible_shape_error=True))


def logical_not(x: Any) -> Any:
    return made(_NOT(truths(x)), BOOL)


def _bitwise(name: str, logic: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    run = calls.two(name)

    def kernel(x1: Any, x2: Any) -> Any:
        a, b, d = pair(x1, x2)
        if d is BOOL:
            return logic(made(a, d), made(b, d))
        if d.kind not in "ui":
            raise TypeError(f"expected integers or booleans, got {d}")
        return made(run(a, b), d)

    return kernel


bitwise_and = _bitwise("BitwiseAnd", logical_and)
bitwise_or = _bitwise("BitwiseOr", logical_or)
bitwise_xor = _bitwise("BitwiseXor", logical_xor)
_invert = calls.one("Invert")


def bitwise_invert(x: Any) -> Any:
    x = asarray(x)
    if x.dtype is BOOL:
        return logical_not(x)
    if x.dtype.kind not in "ui":
        raise TypeError(f"expected integers or booleans, got {x.dtype}")
    return made(_invert(x.bare), x.dtype, x._shape)


def _shifting(name: str) -> Callable[[Any, Any], Any]:
    """Shifts; by as many places as there are bits, or more, nothing but the sign is left."""
    run = calls.two(name)

    def kernel(x1: Any, x2: Any) -> Any:
        a, b, d = pair(x1, x2)
        if d is BOOL:
            d = calls.INT8
            a, b = cast(a, d), cast(b, d)
        if d.kind not in "ui":
            raise TypeError(f"expected integers, got {d}")
        x1, x2 = made(a, d), made(b, d)
        inside = less(x2, 8 * d.itemsize)
        if d.kind == "i":
            inside = logical_and(inside, greater_equal(x2, 0))
        y = made(run(a, where(inside, x2, 0).bare), d)
        left = where(less(x1, 0), made(scalar(-1, d), d, ()), 0) if name == "RightShift" and d.kind == "i" else 0
        return where(inside, y, left)

    return kernel


bitwise_left_shift, bitwise_right_shift = _shifting("LeftShift"), _shifting("RightShift")


# -- parts -----------------------------------------------------------------------------------------------
def part_dtype(d: Any) -> Any:
    """The dtype of the parts of a complex dtype."""
    return F32 if d is C64 else F64


def from_parts(a: Any, b: Any) -> Any:
    """The complex array of these parts."""
    d = np.result_type(a.dtype, C64)
    r = part_dtype(d)
    return made(_COMPLEX(converted(a, r).bare, converted(b, r).bare, Tout=calls.TF_OF[d]), d)


def real(x: Any) -> Any:
    x = asarray(x)
    if x.dtype.kind != "c":
        return x
    d = part_dtype(x.dtype)
    return made(_REAL(x.bare, Tout=calls.TF_OF[d]), d, x._shape)


def imag(x: Any) -> Any:
    x = asarray(x)
    if x.dtype.kind != "c":
        return made(calls.one("ZerosLike")(x.bare), x.dtype, x._shape)
    d = part_dtype(x.dtype)
    return made(_IMAG(x.bare, Tout=calls.TF_OF[d]), d, x._shape)


def conj(x: Any) -> Any:
    """The complex conjugate; a real array, or a Python number, as it is."""
    if type(x) in (int, float, complex):
        return x.conjugate()
    x = asarray(x)
    return made(_CONJ(x.bare), x.dtype, x._shape) if x.dtype.kind == "c" else x


def astype(x: Any, dtype: Any, *, copy: bool = True) -> Any:
    """Values as another dtype; of numbers as booleans, whether they are not zero."""
    x, dtype = asarray(x), np.dtype(dtype)
    if dtype == BOOL:
        return made(truths(x), BOOL, x._shape)
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = real(x)
    return converted(x, dtype)


def cast_to(x: Any, dtype: Any) -> Any:
    """Values in another floating dtype; the real part where it is real and they are complex."""
    x = asarray(x)
    if x.dtype.kind == "c" and dtype.kind != "c":
        x = real(x)
    return converted(x, np.dtype(dtype))


# -- kinds of numbers ------------------------------------------------------------------------------------
def _kind_of(name: str, *, of_integers: bool, all_parts: bool) -> Callable[[Any], Any]:
    run = calls.one(name)

    def kernel(x: Any) -> Any:
        x = asarray(x)
        kind = x.dtype.kind
        if kind in "fV":
            return made(run(x.bare), BOOL, x._shape)
        if kind == "c":
            parts = (run(real(x).bare), run(imag(x).bare))
            return made((_AND if all_parts else _OR)(*parts), BOOL, x._shape)
        return (equal if of_integers else not_equal)(x, x)

    return kernel


isnan = _kind_of("IsNan", of_integers=False, all_parts=False)
isinf = _kind_of("IsInf", of_integers=False, all_parts=False)
isfinite = _kind_of("IsFinite", of_integers=True, all_parts=True)


def bits(x: Any) -> Any:
    """The bits of floats, as signed integers."""
    d = BITS[x.dtype]
    return made(_BITCAST(x.bare, type=calls.TF_OF[d]), d, x._shape)


def from_bits(x: Any, dtype: Any) -> Any:
    """The floats of these bits."""
    return made(_BITCAST(x.bare, type=calls.TF_OF[dtype]), dtype, x._shape)


