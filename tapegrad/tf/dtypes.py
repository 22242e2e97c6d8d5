"""`tf.DType`: dtypes as TensorFlow shows them, around those of NumPy."""

from __future__ import annotations

import builtins
from typing import Any, final

import numpy as np


@final
class DType:
    """The type of the elements of a tensor.  There is one object for each; they compare equal to their names too."""

    __slots__ = ("_enum", "_name", "_numpy")

    def __init__(self, name: str, numpy: Any, enum: int) -> None:
        self._name = name
        self._numpy = numpy
        self._enum = enum

    @property
    def name(self) -> str:
        """For example "float32"."""
        return self._name

    @property
    def numpy(self) -> np.dtype[Any]:
        """The dtype object of NumPy."""
        if self._name == "bfloat16" and self._numpy is None:
            import ml_dtypes

            self._numpy = np.dtype(ml_dtypes.bfloat16)
        if self._numpy is None:
            raise TypeError(f"tf.{self._name}: NumPy has no such dtype, and neither has this facade")
        return self._numpy

    @property
    def as_numpy_dtype(self) -> Any:
        """NumPy's scalar type, for example `np.float32`."""
        return np.object_ if self._name == "string" else self.numpy.type

    @property
    def as_datatype_enum(self) -> int:
        """TensorFlow's number for it."""
        return self._enum

    @property
    def base_dtype(self) -> DType:
        """The dtype itself: there are no reference dtypes."""
        return self

    @property
    def real_dtype(self) -> DType:
        """The dtype of the parts of a complex one."""
        return {"complex64": float32, "complex128": float64}.get(self._name, self)

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return 1 if self._name in ("string", "resource", "variant") else self.numpy.itemsize

    @property
    def is_floating(self) -> builtins.bool:
        """Whether it is a real floating dtype."""
        return self._name in ("float16", "bfloat16", "float32", "float64")

    @property
    def is_integer(self) -> builtins.bool:
        """Whether it is an integer dtype, signed or not."""
        return self._name.startswith(("int", "uint"))

    @property
    def is_unsigned(self) -> builtins.bool:
        """Whether it is an unsigned integer dtype."""
        return self._name.startswith("uint")

    @property
    def is_complex(self) -> builtins.bool:
        """Whether it is complex."""
        return self._name.startswith("complex")

    @property
    def is_bool(self) -> builtins.bool:
        """Whether it is boolean."""
        return self._name == "bool"

    @property
    def is_numeric(self) -> builtins.bool:
        """Whether its elements are numbers."""
        return self.is_floating or self.is_complex or self.is_integer

    @property
    def is_numpy_compatible(self) -> builtins.bool:
        """Whether NumPy can hold it."""
        return self._name not in ("resource", "variant")

    @property
    def is_quantized(self) -> builtins.bool:
        """False: there are no quantised dtypes."""
        return False

    @property
    def min(self) -> Any:
        """The smallest number."""
        return self._limits()[0]

    @property
    def max(self) -> Any:
        """The largest number."""
        return self._limits()[1]

    @property
    def limits(self) -> tuple[Any, Any]:
        """Where images of this dtype have black and white."""
        if self.is_integer:
            return int(np.iinfo(self.numpy).min), int(np.iinfo(self.numpy).max)
        if self.is_bool:
            return False, True
        return 0, 1

    def _limits(self) -> tuple[Any, Any]:
        if self.is_integer:
            return int(np.iinfo(self.numpy).min), int(np.iinfo(self.numpy).max)
        if self.is_bool:
            return False, True
        if not self.is_floating:
            raise TypeError(f"Cannot find minimum value of {self!r}.")
        if self._name == "bfloat16":
            import ml_dtypes

            found: Any = ml_dtypes.finfo(self.numpy)  # type: ignore[no-untyped-call]
            return float(found.min), float(found.max)
        info = np.finfo(self.numpy)
        return info.min, info.max

    def is_compatible_with(self, other: Any) -> builtins.bool:
        """Whether a tensor of the other dtype may stand here: it is the same."""
        return self is as_dtype(other)

    def __eq__(self, other: object) -> builtins.bool:
        if self is other:
            return True
        if other is None:
            return False
        try:
            return self is as_dtype(other)
        except TypeError:
            return False

    def __hash__(self) -> int:
        return hash(self._name)

    def __reduce__(self) -> Any:
        return as_dtype, (self._name,)

    def __int__(self) -> int:
        return self._enum

    def __str__(self) -> str:
        return f"<dtype: {self._name!r}>"

    def __repr__(self) -> str:
        return f"tf.{self._name}"


def _numeric(name: str, enum: int) -> DType:
    return DType(name, np.dtype(name), enum)


float16 = half = _numeric("float16", 19)
float32 = _numeric("float32", 1)
float64 = double = _numeric("float64", 2)
bfloat16 = DType("bfloat16", None, 14)
complex64 = _numeric("complex64", 8)
complex128 = _numeric("complex128", 18)
int8 = _numeric("int8", 6)
int16 = _numeric("int16", 5)
int32 = _numeric("int32", 3)
int64 = _numeric("int64", 9)
uint8 = _numeric("uint8", 4)
uint16 = _numeric("uint16", 17)
uint32 = _numeric("uint32", 22)
uint64 = _numeric("uint64", 23)
bool = _numeric("bool", 10)
string = DType("string", np.dtype(object), 7)
resource = DType("resource", None, 20)
variant = DType("variant", None, 21)

ALL = (
    *(float16, float32, float64, bfloat16, complex64, complex128, bool, string),
    *(int8, int16, int32, int64, uint8, uint16, uint32, uint64, resource, variant),
)
_KNOWN: dict[Any, DType] = {d.name: d for d in ALL}
_KNOWN.update({d._numpy: d for d in ALL if d._numpy is not None})
_KNOWN.update({d._numpy.type: d for d in ALL if d._numpy is not None})
_KNOWN.update({d.as_datatype_enum: d for d in ALL})
_KNOWN.update({float: float32, builtins.bool: bool, object: string, str: string, bytes: string, "half": half, "float": float32})
_KNOWN["double"] = double


def as_dtype(type_value: Any) -> DType:
    """The dtype that is meant by a dtype, its name, or a dtype or scalar type of NumPy's.

    Raises TypeError for anything else.
    """
    if type(type_value) is DType:
        return type_value
    try:
        found = _KNOWN.get(type_value)
    except TypeError:
        found = None
    if found is not None:
        return found
    return _looked_up(type_value)


def _looked_up(type_value: Any) -> DType:
    try:
        made = None if type_value is None else np.dtype(getattr(type_value, "dtype", type_value))  # None is float64 to NumPy
    except TypeError:
        made = None
    if made is not None and type_value not in (int, complex):
        if made.kind in "SU":
            return string
        found = _KNOWN.get(made.newbyteorder("=") if not made.isnative else made)
        if found is None and made.name == "bfloat16":
            bfloat16._numpy = made
            found = _KNOWN[made] = bfloat16
        if found is not None:
            return found
    raise TypeError(f"Cannot convert the argument `type_value`: {type_value!r} to a TensorFlow DType.")


def numpy_dtype(dtype: Any) -> np.dtype[Any] | None:
    """The dtype of NumPy for what a user gives as `dtype=`; None stays None."""
    return None if dtype is None else as_dtype(dtype).numpy
