"""The dtypes: NumPy's own objects, which are hashable and comparable, and bfloat16 from ml_dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.errors import DTypeError

bool = np.dtype(np.bool_)  # noqa: A001
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
DEFAULTS: dict[type, np.dtype[Any]] = {__builtins__["bool"] if isinstance(__builtins__, dict) else __builtins__.bool: bool, int: int64, float: float32, complex: complex64}  # type: ignore[attr-defined]


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
    if isinstance(dtype, np.dtype):
        return dtype
    if dtype in DEFAULTS:
        return DEFAULTS[dtype]
    if dtype == "bfloat16":
        found: np.dtype[Any] = __getattr__("bfloat16")
        return found
    try:
        made = np.dtype(dtype)
    except TypeError:
        raise DTypeError(f"{dtype!r} is no dtype; write for example tapegrad.float32") from None
    if made.kind not in "biufcV" or made.hasobject:
        raise DTypeError(f"{dtype!r} is no numeric dtype; write for example tapegrad.float32")
    return made


def is_inexact(dtype: np.dtype[Any]) -> np.bool_ | Any:
    """Whether a dtype is real or complex floating point, and so can be differentiated."""
    return dtype.kind in "fc" or (dtype.kind == "V" and dtype.name == "bfloat16")
