"""The dtypes: NumPy's own objects, which are hashable and comparable, and bfloat16 from ml_dtypes; and what is said of them."""

from __future__ import annotations

import builtins
from typing import Any, final

import numpy as np

from tapegrad.errors import DTypeError

bool = np.dtype(np.bool_)
int8 = np.dtype(np.int8)
int16 = np.dtype(np.int16)
int32 = np.dtype(np.int32)
int64 = np.dtype(np.int64)
uint8 = np.dtype(np.uint8)
uint16 = np.dtype(np.uint16)
uint32 = np.dtype(np.uint32)
uint64 = np.dtype(np.uint64)
float16 = np.dtype(np.float16)
float32 = np.dtype(np.float32)
float64 = np.dtype(np.float64)
complex64 = np.dtype(np.complex64)
complex128 = np.dtype(np.complex128)

#: What a Python scalar becomes where nothing else says its dtype, by its type.
DEFAULTS: dict[type, np.dtype[Any]] = {builtins.bool: bool, int: int64, float: float32, complex: complex64}


def __getattr__(name: str) -> Any:
    if name == "bfloat16":
        import ml_dtypes

        globals()["bfloat16"] = found = np.dtype(ml_dtypes.bfloat16)
        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def as_dtype(dtype: Any) -> np.dtype[Any]:
    """The dtype object for what a user writes: a dtype, its name, a NumPy scalar type, or a Python type.

    Raises DTypeError for anything else.
    """
    if isinstance(dtype, np.dtype) and dtype.kind in "biufc" and dtype.isnative:
        return dtype
    if isinstance(dtype, type) and dtype in DEFAULTS:
        return DEFAULTS[dtype]
    if dtype == "bfloat16":
        found: np.dtype[Any] = __getattr__("bfloat16")
        return found
    try:
        made = np.dtype(dtype)
    except TypeError:
        raise DTypeError(f"{dtype!r} is no dtype; write for example tapegrad.float32") from None
    if made.kind not in "biufc" and made.name != "bfloat16":
        raise DTypeError(f"{dtype!r} is no numeric dtype; write for example tapegrad.float32")
    return made if made.isnative else made.newbyteorder("=")


def is_inexact(dtype: np.dtype[Any]) -> np.bool_ | Any:
    """Whether a dtype is real or complex floating point, and so can be differentiated."""
    return dtype.kind in "fc" or (dtype.kind == "V" and dtype.name == "bfloat16")


# -- questions about dtypes, as the array API asks them ------------------------------------------------
_SIGNED = (int8, int16, int32, int64)
_UNSIGNED = (uint8, uint16, uint32, uint64)
_REAL = (float16, float32, float64)
_COMPLEX = (complex64, complex128)

#: The dtypes of each kind; bfloat16, which takes an import, is added where it matters.
KINDS: dict[str, tuple[np.dtype[Any], ...]] = {
    "bool": (bool,),
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED + _UNSIGNED,
    "real floating": _REAL,
    "complex floating": _COMPLEX,
    "numeric": _SIGNED + _UNSIGNED + _REAL + _COMPLEX,
}


def _dtype_of(x: Any) -> np.dtype[Any]:
    """The dtype of an array, or a dtype itself."""
    return as_dtype(x if isinstance(x, type) else getattr(x, "dtype", x))


def isdtype(dtype: Any, kind: Any) -> builtins.bool:
    """Whether a dtype is of a kind: a dtype, one of the standard's names, or a tuple of these, any of which will do.

    The names: "bool", "signed integer", "unsigned integer", "integral", "real floating" (with float16 and bfloat16),
    "complex floating", "numeric".  Raises ValueError for another name.
    """
    dtype = as_dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if not isinstance(kind, str):
        return dtype == as_dtype(kind)
    if kind not in KINDS:
        raise ValueError(f"isdtype(dtype, kind): expected kind in {', '.join(map(repr, KINDS))}, got {kind!r}")
    return dtype in KINDS[kind] or (kind in ("real floating", "numeric") and dtype.name == "bfloat16")


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that arrays, dtypes and Python scalars have in common; a scalar takes that of the others.

    Raises DTypeError where there is none.

    >>> import tapegrad as tg
    >>> tg.result_type(tg.float32, 1.5, tg.asarray([True]))
    dtype('float32')
    """
    if not arrays_and_dtypes:
        raise DTypeError("result_type(*arrays_and_dtypes): expected at least one array, dtype or number")
    scalars = [x for x in arrays_and_dtypes if type(x) in DEFAULTS]
    dtypes = [_dtype_of(x) for x in arrays_and_dtypes if type(x) not in DEFAULTS]
    if not dtypes:
        return max((DEFAULTS[type(x)] for x in scalars), key=lambda d: "bifc".index(d.kind))
    try:
        return np.result_type(*dtypes, *scalars)
    except TypeError as error:
        names = ", ".join(map(str, [*dtypes, *map(repr, scalars)]))
        raise DTypeError(f"result_type: {names} have no common dtype: {error}") from None


def can_cast(from_: Any, to: Any, /) -> builtins.bool:
    """Whether promotion may turn a dtype, or that of an array, into another: all of its values have a place there."""
    return builtins.bool(np.can_cast(_dtype_of(from_), as_dtype(to)))


@final
class FloatInfo:
    """The limits of a floating dtype, as plain Python numbers; of a complex one, those of its parts."""

    __slots__ = ("bits", "dtype", "eps", "max", "min", "smallest_normal")

    def __init__(self, dtype: np.dtype[Any]) -> None:
        found: Any = np.finfo(dtype) if dtype.kind in "fc" else _finfo_of_ml_dtypes(dtype)
        self.bits = int(found.bits)
        self.eps = float(found.eps)
        self.max = float(found.max)
        self.min = float(found.min)
        self.smallest_normal = float(found.smallest_normal)
        #: The dtype of the numbers, real also for a complex one.
        self.dtype: np.dtype[Any] = np.dtype(found.dtype)

    def __repr__(self) -> str:
        return f"finfo({self.dtype}: bits={self.bits}, eps={self.eps!r}, max={self.max!r})"


def _finfo_of_ml_dtypes(dtype: np.dtype[Any]) -> Any:
    import ml_dtypes

    return ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]


@final
class IntegerInfo:
    """The limits of an integer dtype, as plain Python integers."""

    __slots__ = ("bits", "dtype", "max", "min")

    def __init__(self, dtype: np.dtype[Any]) -> None:
        self.bits = 8 * dtype.itemsize
        self.max = int(np.iinfo(dtype).max)
        self.min = int(np.iinfo(dtype).min)
        self.dtype = dtype

    def __repr__(self) -> str:
        return f"iinfo({self.dtype}: bits={self.bits}, min={self.min}, max={self.max})"


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a floating or complex dtype, or of that of an array; bfloat16 too.

    >>> import tapegrad as tg
    >>> tg.finfo(tg.float32).eps
    1.1920928955078125e-07
    """
    dtype = _dtype_of(type)
    if not is_inexact(dtype):
        raise DTypeError(f"finfo(type): expected a floating dtype, got {dtype}; tapegrad.iinfo tells of integers")
    return FloatInfo(dtype)


def iinfo(type: Any, /) -> IntegerInfo:
    """The limits of an integer dtype, or of that of an array."""
    dtype = _dtype_of(type)
    if dtype.kind not in "iu":
        raise DTypeError(f"iinfo(type): expected an integer dtype, got {dtype}; tapegrad.finfo tells of floats")
    return IntegerInfo(dtype)
