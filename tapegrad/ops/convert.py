"""Into tensors and out of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core.foreign import STANDING
from tapegrad.core.tensor import Tensor, standing_for, tensor
from tapegrad.dtypes import as_dtype
from tapegrad.errors import ArgumentError, DTypeError
from tapegrad.registry.backends import backend_of
from tapegrad.registry.call import plain
from tapegrad.registry.places import Place, at, is_at, place, place_of
from tapegrad.registry.space import ADOPTERS, NUMPY, SCALARS, SPACES, F, adopted, default_space, space_of_type


def raw_of(x: Any) -> Any:
    """The raw array of a tensor, or a raw array itself."""
    return x.read()[0] if isinstance(x, Tensor) else x


def asarray(
    x: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None, backend: str | None = None
) -> Tensor:
    """A tensor of these values: a tensor, an array (whose memory is shared unless `copy`), a number, nested lists.

    * `device`: "cpu" for NumPy's kernels, "GPU:0" and the like for TensorFlow's; `backend`: "numpy" or "tensorflow".  That
      is where the values are to be; if neither is given, arrays of TensorFlow's and tensors stay where they are, and all else
      goes where new arrays are made (`tapegrad.device`, `set_default_backend`).

    Python floats become float32, Python integers int64, unless `dtype` says otherwise.  Nested lists may hold tensors,
    and what they give is recorded as those are.  An array must not be written to while its tensor is in use.  Raises
    ArgumentError for what is no array of numbers, ValueError where `copy` is False and a copy is needed.

    >>> import tapegrad as tg
    >>> tg.asarray([0.25, 0.5])
    Tensor([0.25, 0.5 ], dtype=float32)
    """
    if dtype is not None:
        dtype = as_dtype(dtype)
    where = None if device is None and backend is None else place(device, backend)
    if hasattr(type(x), "__tapegrad_tensor__") or type(x) in STANDING:
        x = standing_for(x)
    if isinstance(x, Tensor):
        if where is not None:
            x = _transferred(x, where, copy)
        own = x.array.dtype
        if dtype is not None and own != dtype:
            return _cast(x, dtype, copy)
        return F.astype(x, own) if copy or type(x) is not Tensor else x
    raw = x
    if type(x) not in SPACES or not hasattr(x, "dtype"):
        raw = _from_python(x, dtype)
        if isinstance(raw, Tensor):
            return raw if dtype is None or raw.dtype == dtype else _cast(raw, dtype, None)
        if copy is False and not _is_memory(x):
            raise ValueError(f"asarray(x, copy=False): a {type(x).__name__} has no array's memory to share")
    elif SPACES[type(x)] is not NUMPY or type(x) in ADOPTERS or isinstance(x, np.ndarray | np.generic):
        raw = np.asarray(x) if isinstance(x, np.ndarray | np.generic) else adopted(x)
    if type(raw) is np.ndarray:
        raw = _native(raw, x, copy)
    if dtype is not None and raw.dtype != dtype:
        if copy is False:
            raise ValueError(f"asarray(x, dtype={dtype}, copy=False): x is {raw.dtype}, so values have to be copied")
        if dtype.kind != "c" and raw.dtype.kind == "c":
            raise _not_real(dtype, raw.dtype)
        raw = space_of_type(type(raw)).astype(raw, dtype)
    elif copy:
        raw = raw.copy()
    if where is not None or default_space() is not NUMPY:
        raw = _moved(raw, where, copy)
    return tensor(raw[()] if type(raw) is np.ndarray and raw.shape == () and copy is not False else raw)


def _not_real(dtype: Any, kind: Any) -> DTypeError:
    return DTypeError(f"asarray(x, dtype={dtype}): x is {kind}; write asarray(tapegrad.real(x), ...)")


def _moved(raw: Any, where: Place | None, copy: bool | None) -> Any:
    """A raw value where it is asked for, or where new arrays are made."""
    if where is None:
        if backend_of(raw) != "numpy":
            return raw
        where = place()
    if is_at(raw, where):
        return raw
    if copy is False:
        raise ValueError(f"asarray(x, copy=False): x is not on {_named(where)}, so values have to be copied")
    return at(raw, where)


def _transferred(x: Tensor, where: Place, copy: bool | None) -> Tensor:
    if is_at(x.array, where):
        return x
    if copy is False:
        raise ValueError(f"asarray(x, copy=False): x is not on {_named(where)}, so values have to be copied")
    found: Tensor = F.transfer(x, where.name, place_of(x.array))
    return found


def _named(where: Place) -> str:
    return f"the device {where.name!r}" if where.name else "TensorFlow's kernels"


def _cast(x: Tensor, dtype: Any, copy: bool | None) -> Tensor:
    if copy is False:
        raise ValueError(f"asarray(x, dtype={dtype}, copy=False): x is {x.dtype}, so values have to be copied")
    found: Tensor = F.astype(x, dtype)
    return found


def _is_memory(x: Any) -> bool:
    """Whether an object is memory that NumPy reads as it lies, and not numbers or sequences of them."""
    if hasattr(x, "__array__") or hasattr(x, "__array_interface__"):
        return True
    try:
        memoryview(x)
    except TypeError:
        return False
    return True


def _from_python(x: Any, dtype: Any) -> Any:
    """An array from numbers, nested sequences (of tensors too), or an object that NumPy can read."""
    try:
        space_of_type(type(x))
        if hasattr(x, "dtype"):
            return np.asarray(x) if isinstance(x, np.ndarray | np.generic) else adopted(x)
    except ArgumentError:
        pass
    kinds: set[Any] = set()
    _collect_kinds(x, kinds)
    for kind in (type(None), str, bytes):
        if kind in kinds:  # where a dtype is given, NumPy would make None NaN, and read numbers out of text
            raise ArgumentError(f"asarray(x): expected numbers or nested sequences of them, got {kind.__name__}")
    if dtype is None:
        dtype = _common(kinds)
    elif complex in kinds and dtype.kind != "c":
        raise _not_real(dtype, "complex")
    if Tensor in kinds:
        return _stacked(x, dtype)
    try:
        raw = np.asarray(x, dtype=dtype if dtype is not None and dtype.kind != "V" else None)
    except (ValueError, TypeError, OverflowError) as error:
        raise ArgumentError(f"asarray(x): expected numbers or nested sequences of equal lengths: {error}") from error
    if dtype is None and not _is_memory(x):
        if raw.dtype == np.float64:
            return raw.astype(np.float32)
        if raw.dtype == np.complex128:
            return raw.astype(np.complex64)
    return raw


def _native(raw: np.ndarray[Any, Any], x: Any, copy: bool | None) -> np.ndarray[Any, Any]:
    """An array of NumPy's, checked to hold numbers, in this machine's byte order."""
    if isinstance(x, np.ndarray) and type(x) is not np.ndarray:
        plain("asarray(x)", x)
    dtype = raw.dtype
    if dtype.kind not in "biufc" and dtype.name != "bfloat16":
        raise ArgumentError(f"asarray(x): expected numbers, got {type(x).__name__} that NumPy reads as {dtype}")
    if dtype.isnative:
        return raw
    if copy is False:
        raise ValueError(f"asarray(x, copy=False): x is {dtype}, whose bytes have to be swapped")
    return raw.astype(dtype.newbyteorder("="))


def _collect_kinds(x: Any, found: set[Any]) -> None:
    """Into `found`: dtypes of the arrays in a nested sequence, types of the rest, and `Tensor` if there is any."""
    for v in x if isinstance(x, list | tuple) else (x,):
        if isinstance(v, list | tuple):
            _collect_kinds(v, found)
        elif hasattr(v, "dtype"):
            found.add(v.dtype)
            if isinstance(v, Tensor):
                found.add(Tensor)
        else:
            found.add(type(v))


def _common(kinds: set[Any]) -> Any:
    """The dtype of arrays among Python scalars, which are weak; None if there are no arrays of NumPy's dtypes."""
    dtypes = [k for k in kinds if isinstance(k, np.dtype)]
    if not dtypes or not all(d.kind in "biufc" or d.name == "bfloat16" for d in dtypes):
        return None
    try:
        common = np.result_type(*dtypes)
        if common.name == "bfloat16" and complex not in kinds:  # NumPy would make it float64
            return common
        return np.result_type(common, *(k() for k in kinds if k in SCALARS))
    except TypeError as error:
        raise DTypeError(f"asarray(x): {', '.join(map(str, dtypes))} have no common dtype: {error}") from None


def _stacked(x: Any, dtype: Any) -> Tensor:
    """Nested sequences with tensors in them as one, recorded where any of them is."""
    if isinstance(x, list | tuple):
        parts = [_stacked(v, dtype) for v in x]
        if len({p.shape for p in parts}) != 1:
            raise ArgumentError(
                f"asarray(x): expected nested sequences of equal lengths, got shapes {', '.join(str(p.shape) for p in parts)}"
            )
        found: Tensor = F.stack(parts)
        return found
    return asarray(x, dtype=dtype)
