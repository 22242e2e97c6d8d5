"""Python's operators of TensorFlow's arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.tensorflow_arithmetic import abs, add, divide, multiply, negative, positive, pow, subtract
from tapegrad.kernels.tensorflow_array import TFArray
from tapegrad.kernels.tensorflow_basics import (
    bitwise_and,
    bitwise_invert,
    bitwise_left_shift,
    bitwise_or,
    bitwise_right_shift,
    bitwise_xor,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    not_equal,
)
from tapegrad.kernels.tensorflow_calls import F32, F64, scalar
from tapegrad.kernels.tensorflow_devices import staying
from tapegrad.kernels.tensorflow_promotion import is_known
from tapegrad.kernels.tensorflow_rounding import floor_divide, remainder

if TYPE_CHECKING:
    from collections.abc import Callable


def _operator(kernel: Callable[[Any, Any], Any], name: str | None) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """An operator and its reflection; in the common floating dtypes TensorFlow's op `name`, without a detour."""
    if calls.MANY:
        kernel, name = staying(kernel), None

    def direct(first: Any, second: Any, d: Any, shape: Any) -> TFArray:
        try:
            bare = calls.fast(calls.CONTEXT, name, None, first, second)
        except Exception as error:
            bare = calls.again(str(name), error, (first, second), {})
        y = TFArray()
        y.bare = bare
        y.dtype = d
        y._shape = shape
        y._summands = None
        return y

    def operator(self: TFArray, other: Any) -> Any:
        kind = type(other)
        if name is not None and ((d := self.dtype) is F32 or d is F64):
            s = self._shape
            if kind is TFArray and d is other.dtype:  # as `direct` does it, without a call
                first, second = self.bare, other.bare
                y = TFArray()
                try:
                    y.bare = calls.fast(calls.CONTEXT, name, None, first, second)
                except Exception as error:
                    y.bare = calls.again(name, error, (first, second), {})
                y.dtype = d
                y._shape = s if s == other._shape else None
                y._summands = None
                return y
            if kind is float or kind is int:
                return direct(self.bare, scalar(other, d), d, s)
        return kernel(self, other) if is_known(kind) else NotImplemented

    def reflected(self: TFArray, other: Any) -> Any:
        kind = type(other)
        if name is not None and (kind is float or kind is int) and ((d := self.dtype) is F32 or d is F64):
            return direct(scalar(other, d), self.bare, d, self._shape)
        return kernel(other, self) if is_known(kind) else NotImplemented

    return operator, reflected


for _name, (_kernel, _op) in {
    "add": (add, "AddV2"),
    "sub": (subtract, "Sub"),
    "mul": (multiply, "Mul"),
    "truediv": (divide, "RealDiv"),
    "floordiv": (floor_divide, None),
    "mod": (remainder, None),
    "pow": (pow, None),
    "and": (bitwise_and, None),
    "or": (bitwise_or, None),
    "xor": (bitwise_xor, None),
    "lshift": (bitwise_left_shift, None),
    "rshift": (bitwise_right_shift, None),
}.items():
    for _place, _made in zip(("__{}__", "__r{}__"), _operator(_kernel, _op), strict=True):
        setattr(TFArray, _place.format(_name), _made)
for _name, _compare in {
    "lt": less,
    "le": less_equal,
    "gt": greater,
    "ge": greater_equal,
    "eq": equal,
    "ne": not_equal,
}.items():
    setattr(TFArray, f"__{_name}__", _operator(_compare, None)[0])


def _added(self: TFArray, other: Any) -> Any:
    """`x += y`: a new array, whose sum may be put off."""
    found = self.plus(other) if type(other) is TFArray else None
    return self + other if found is None else found


def _multiplied(self: TFArray, other: Any) -> Any:
    """`x *= y`, which only the engine writes: a new array, whose product may be put off."""
    found = self.times(other) if type(other) is TFArray else None
    return self * other if found is None else found


def _of_one(kernel: Callable[[Any], Any]) -> Callable[[TFArray], Any]:
    """An operator of one array; called as a method, a kernel that is no function would not be given it."""
    placed = staying(kernel) if calls.MANY else kernel
    return lambda self: placed(self)


for _name, _function in {"neg": negative, "abs": abs, "invert": bitwise_invert, "pos": positive}.items():
    setattr(TFArray, f"__{_name}__", _of_one(_function))
TFArray.__iadd__ = _added  # type: ignore[attr-defined]
TFArray.__imul__ = _multiplied  # type: ignore[attr-defined]
TFArray.__hash__ = object.__hash__  # type: ignore[method-assign, assignment]
