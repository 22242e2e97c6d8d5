"""`torch.dtype` and its objects, each standing for one of NumPy's; what is said of them, and the default."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from tapegrad import dtypes as core


@final
class dtype:
    """What kind of number a tensor holds.  There is one object for each; `numpy` is NumPy's."""

    __slots__ = ("_name", "_short", "is_complex", "is_floating_point", "is_signed", "itemsize", "numpy")

    def __init__(self, name: str, numpy: np.dtype[Any]) -> None:
        self._name = name
        self.numpy = numpy
        self.is_complex = numpy.kind == "c"
        self.is_floating_point = numpy.kind in "fV"
        self.is_signed = numpy.kind not in "ub"
        self.itemsize = numpy.itemsize
        self._short = name

    def __repr__(self) -> str:
        return f"torch.{self._name}"

    def __reduce__(self) -> Any:
        return dtype_of, (self.numpy.name,)

    def to_real(self) -> dtype:
        """The dtype of the real part."""
        return {complex64: float32, complex128: float64}.get(self, self)

    def to_complex(self) -> dtype:
        """The complex dtype of this precision."""
        return {float32: complex64, float64: complex128, float16: complex64, bfloat16: complex64}.get(self, self)


_FOUND: dict[Any, dtype] = {}


def _make(name: str, numpy: np.dtype[Any]) -> dtype:
    made = _FOUND[numpy] = dtype(name, numpy)
    return made


bool_ = _make("bool", core.bool)
uint8 = _make("uint8", core.uint8)
int8 = _make("int8", core.int8)
int16 = _make("int16", core.int16)
int32 = _make("int32", core.int32)
int64 = _make("int64", core.int64)
uint16 = _make("uint16", core.uint16)
uint32 = _make("uint32", core.uint32)
uint64 = _make("uint64", core.uint64)
float16 = _make("float16", core.float16)
float32 = _make("float32", core.float32)
float64 = _make("float64", core.float64)
complex64 = _make("complex64", core.complex64)
complex128 = _make("complex128", core.complex128)
bfloat16 = _make("bfloat16", core.bfloat16)

#: All names under which `torch` has dtypes.
NAMES: dict[str, dtype] = {
    "bool": bool_,
    "uint8": uint8,
    "int8": int8,
    "int16": int16,
    "short": int16,
    "int32": int32,
    "int": int32,
    "int64": int64,
    "long": int64,
    "uint16": uint16,
    "uint32": uint32,
    "uint64": uint64,
    "float16": float16,
    "half": float16,
    "float32": float32,
    "float": float32,
    "float64": float64,
    "double": float64,
    "bfloat16": bfloat16,
    "complex64": complex64,
    "cfloat": complex64,
    "complex128": complex128,
    "cdouble": complex128,
}
#: How C++ calls them, for messages.
SCALAR_TYPES = {
    bool_: "Bool", uint8: "Byte", int8: "Char", int16: "Short", int32: "Int", int64: "Long", float16: "Half",
    float32: "Float", float64: "Double", complex64: "ComplexFloat", complex128: "ComplexDouble", bfloat16: "BFloat16",
    uint16: "UInt16", uint32: "UInt32", uint64: "UInt64",
}  # fmt: skip


def dtype_of(numpy: Any) -> dtype:
    """The object for a dtype of NumPy's, or its name."""
    try:
        return _FOUND[numpy]
    except KeyError:
        found = _FOUND.get(core.as_dtype(numpy))
    if found is None:
        raise TypeError(f"{numpy!r} is no dtype that torch has")
    return found


def numpy_of(given: Any) -> np.dtype[Any]:
    """NumPy's dtype for what a caller wrote: a `torch.dtype`, or Python's `float`, `int`, `bool`, `complex`."""
    if type(given) is dtype:
        return given.numpy
    if given is float:
        return core.float64
    if given in (int, bool, complex):
        return {int: core.int64, bool: core.bool, complex: core.complex128}[given]
    if isinstance(given, np.dtype):
        return given
    raise TypeError(f"dtype must be a torch.dtype, not {type(given).__name__}")


# -- the default -------------------------------------------------------------------------------------
#: What Python's floats and complex numbers become: a list of one, so that it can be looked at fast.
DEFAULT: list[dtype] = [float32]


def set_default_dtype(d: Any, /) -> None:
    """Let new tensors of Python floats be of this dtype."""
    if type(d) is not dtype or not d.is_floating_point:
        raise TypeError("only floating-point types are supported as the default type")
    DEFAULT[0] = d


def get_default_dtype() -> dtype:
    """The dtype of new tensors of Python floats."""
    return DEFAULT[0]


def default_of(kind: type) -> np.dtype[Any]:
    """NumPy's dtype for a Python number of this type."""
    if kind is bool:
        return core.bool
    if kind is int:
        return core.int64
    return DEFAULT[0].numpy if kind is float else DEFAULT[0].to_complex().numpy


class finfo:
    """Limits of a floating dtype."""

    def __init__(self, type: dtype | None = None) -> None:
        given = DEFAULT[0] if type is None else type
        if not (given.is_floating_point or given.is_complex):
            raise TypeError("torch.finfo() requires a floating point input type. Use torch.iinfo to handle 'torch.iinfo'")
        found = core.finfo(given.to_real().numpy)
        self.bits = int(found.bits)
        self.eps = float(found.eps)
        self.max = float(found.max)
        self.min = float(found.min)
        self.smallest_normal = self.tiny = float(found.smallest_normal)
        self.resolution = float(10.0 ** -int(np.floor(-np.log10(self.eps))))
        self.dtype = given.to_real()._name

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integer dtype."""

    def __init__(self, type: dtype) -> None:
        if type.numpy.kind not in "iu":
            raise TypeError("torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.finfo'")
        found = np.iinfo(type.numpy)
        self.bits, self.max, self.min = int(found.bits), int(found.max), int(found.min)
        self.dtype = type._name

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
