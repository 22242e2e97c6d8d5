"""Into tensors and out of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core.tensor import Tensor, tensor
from tapegrad.dtypes import as_dtype
from tapegrad.errors import ArgumentError
from tapegrad.info import check_device
from tapegrad.registry.space import NUMPY, SPACES, F, space_of_type


def raw_of(x: Any) -> Any:
    """The raw array of a tensor, or a raw array itself."""
    return x.read()[0] if isinstance(x, Tensor) else x


def asarray(x: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None) -> Tensor:
    """A tensor of these values: a tensor, an array (whose memory is shared unless `copy`), a number, nested lists.

    Python floats become float32, Python integers int64, unless `dtype` says otherwise.  Nested lists may hold tensors,
    and what they give is recorded as those are.  An array must not be written to while its tensor is in use.  Raises
    ArgumentError for what is no array of numbers, ValueError where `copy` is False and a copy is needed.

    >>> import tapegrad as tg
    >>> tg.asarray([0.25, 0.5])
    Tensor([0.25, 0.5 ], dtype=float32)
    """
    check_device(device)
    if dtype is not None:
        dtype = as_dtype(dtype)
    if isinstance(x, Tensor):
        if dtype is not None and x.dtype != dtype:
            return _cast(x, dtype, copy)
        return F.astype(x, x.dtype) if copy or type(x) is not Tensor else x  # type: ignore[no-any-return]
    raw = x
    if type(x) not in SPACES or not hasattr(x, "dtype"):
        raw = _from_python(x, dtype)
        if isinstance(raw, Tensor):
            return raw if dtype is None or raw.dtype == dtype else _cast(raw, dtype, None)
        if copy is False and not _is_memory(x):
            raise ValueError(f"asarray(x, copy=False): a {type(x).__name__} has no array's memory to share")
    elif SPACES[type(x)] is not NUMPY or isinstance(x, np.ndarray | np.generic):
        raw = np.asarray(x) if isinstance(x, np.ndarray | np.generic) else x
    if dtype is not None and raw.dtype != dtype:
        if copy is False:
            raise ValueError(f"asarray(x, dtype={dtype}, copy=False): x is {raw.dtype}, so values have to be copied")
        raw = NUMPY.astype(raw, dtype)
    elif copy:
        raw = raw.copy()
    return tensor(raw[()] if type(raw) is np.ndarray and raw.shape == () and copy is not False else raw)


def _cast(x: Tensor, dtype: Any, copy: bool | None) -> Tensor:
    if copy is False:
        raise ValueError(f"asarray(x, dtype={dtype}, copy=False): x is {x.dtype}, so values have to be copied")
    found: Tensor = F.astype(x, dtype)
    return found


def _is_memory(x: Any) -> bool:
    """Whether an object is memory that NumPy reads as it lies, and not numbers or sequences of them."""
    return hasattr(x, "__array__") or hasattr(x, "__array_interface__") or isinstance(x, bytearray | memoryview)


def _from_python(x: Any, dtype: Any) -> Any:
    """An array from numbers, nested sequences (of tensors too), or an object that NumPy can read."""
    try:
        space_of_type(type(x))
        if hasattr(x, "dtype"):
            return x
    except ArgumentError:
        pass
    if _has_tensors(x):
        return _stacked(x)
    plain = x
    try:
        raw = np.asarray(plain, dtype=dtype if dtype is not None and dtype.kind != "V" else None)
    except (ValueError, TypeError, OverflowError) as error:
        raise ArgumentError(f"asarray(x): expected numbers or nested sequences of equal lengths: {error}") from error
    if raw.dtype.kind not in "biufcV" or raw.dtype.hasobject:
        raise ArgumentError(f"asarray(x): expected numbers, got {type(x).__name__} that NumPy reads as {raw.dtype}")
    if dtype is None and not hasattr(x, "dtype") and not _has_arrays(x):
        if raw.dtype == np.float64:
            return raw.astype(np.float32)
        if raw.dtype == np.complex128:
            return raw.astype(np.complex64)
    return raw


def _has_arrays(x: Any) -> bool:
    """Whether a nested sequence holds arrays, whose dtype then counts."""
    if isinstance(x, list | tuple):
        return any(_has_arrays(v) for v in x)
    return hasattr(x, "dtype")


def _has_tensors(x: Any) -> bool:
    if isinstance(x, list | tuple):
        return any(_has_tensors(v) for v in x)
    return isinstance(x, Tensor)


def _stacked(x: Any) -> Tensor:
    """Nested sequences with tensors in them as one, recorded where any of them is."""
    if isinstance(x, list | tuple):
        found: Tensor = F.stack([_stacked(v) for v in x])
        return found
    return asarray(x)
