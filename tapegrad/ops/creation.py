"""Making arrays.  A new float is float32 and a new integer int64 unless a dtype is given."""

from __future__ import annotations

from typing import Any

from tapegrad.dtypes import as_dtype, float32
from tapegrad.errors import ArgumentError
from tapegrad.registry import constant
from tapegrad.registry.places import making

# Every function takes `device`, as the array API has it: "cpu" for NumPy kernels, or one of TensorFlow's such as "GPU:0".
# `backend` says only which kernels make the array, "numpy" or "tensorflow".  If neither is given, that is where the context
# `tapegrad.device` says, and else `set_default_backend`; for those that are like an array, where that is.


@constant(laws=lambda draw: ({"shape": (draw.size("n"), 2)},))
def zeros(xp: Any, /, shape: Any, *, dtype: Any = None, device: Any = None, backend: Any = None) -> Any:
    """An array of zeros."""
    xp = making(xp, device, backend, shape)
    return xp.zeros(shape, dtype=as_dtype(dtype or float32))


@constant(laws=lambda draw: ({"shape": (draw.size("n"), 2)},))
def ones(xp: Any, /, shape: Any, *, dtype: Any = None, device: Any = None, backend: Any = None) -> Any:
    """An array of ones."""
    xp = making(xp, device, backend, shape)
    return xp.ones(shape, dtype=as_dtype(dtype or float32))


@constant(laws=lambda draw: ({"shape": (draw.size("n"), 2)},))
def empty(xp: Any, /, shape: Any, *, dtype: Any = None, device: Any = None, backend: Any = None) -> Any:
    """An array whose elements mean nothing."""
    xp = making(xp, device, backend, shape)
    return xp.zeros(shape, dtype=as_dtype(dtype or float32))


@constant(laws=lambda draw: ({"shape": (draw.size("n"), 2), "fill_value": 2.5},))
def full(xp: Any, /, shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None, backend: Any = None) -> Any:
    """An array of one value, whose type decides the dtype if none is given."""
    xp = making(xp, device, backend, shape)
    return xp.full(shape, fill_value, dtype=as_dtype(dtype or type(fill_value)))


@constant(laws=lambda draw: (draw.array("n", 2),))
def zeros_like(xp: Any, x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Zeros in the shape, and unless said otherwise the dtype, of `x`."""
    dtype = as_dtype(dtype or x.dtype)
    return xp.zeros_beside(x, dtype) if device is None else making(xp, device).zeros(x.shape, dtype=dtype)


@constant(laws=lambda draw: (draw.array("n", 2),))
def ones_like(xp: Any, x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """Ones in the shape, and unless said otherwise the dtype, of `x`."""
    dtype = as_dtype(dtype or x.dtype)
    return xp.ones_beside(x, dtype) if device is None else making(xp, device).ones(x.shape, dtype=dtype)


ones_like.batch(lambda F, has, x, **params: F.ones_like(x, **params))


@constant(laws=lambda draw: (draw.array("n", 2),))
def empty_like(xp: Any, x: Any, /, *, dtype: Any = None, device: Any = None) -> Any:
    """An array in the shape and dtype of `x`, whose elements mean nothing."""
    dtype = as_dtype(dtype or x.dtype)
    return xp.zeros_beside(x, dtype) if device is None else making(xp, device).zeros(x.shape, dtype=dtype)


@constant(laws=lambda draw: (draw.array("n", 2), {"fill_value": 2.5}))
def full_like(xp: Any, x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Any:
    """One value in the shape, and unless said otherwise the dtype, of `x`."""
    xp = making(xp, device)
    return xp.full(x.shape, fill_value, dtype=as_dtype(dtype or x.dtype))


@constant(laws=lambda draw: ({"start": 1, "stop": 7, "step": 2},))
def arange(
    xp: Any, /, start: Any, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None, backend: Any = None
) -> Any:
    """Numbers from `start` up to, but not including, `stop`; from 0 to `start` if no stop is given.

    Raises ArgumentError for a `step` of 0.
    """
    if isinstance(step, int | float) and step == 0:
        raise ArgumentError(f"arange(start, stop, step): expected step != 0, got {step}")
    xp = making(xp, device, backend, (start, stop, step))
    if stop is None:
        start, stop = 0, start
    if dtype is None:
        dtype = float32 if any(isinstance(v, float) for v in (start, stop, step)) else int
    return xp.arange(start, stop, step, dtype=as_dtype(dtype))


@constant(laws=lambda draw: ({"start": 0.5, "stop": 2.0, "num": 4},))
def linspace(
    xp: Any, /, start: Any, stop: Any, num: int, *, dtype: Any = None, device: Any = None, backend: Any = None, endpoint: bool = True
) -> Any:
    """`num` evenly spaced numbers from `start` to `stop`, which is left out if not `endpoint`."""
    xp = making(xp, device, backend, num)
    return xp.linspace(start, stop, num, dtype=as_dtype(dtype or float32), endpoint=endpoint)


@constant(laws=lambda draw: ({"n_rows": 3, "n_cols": 4, "k": draw.choice(0, 1, -1)},))
def eye(
    xp: Any, /, n_rows: int, n_cols: int | None = None, *, k: int = 0, dtype: Any = None, device: Any = None, backend: Any = None
) -> Any:
    """A matrix with ones on diagonal `k` and zeros elsewhere."""
    xp = making(xp, device, backend, (n_rows, n_cols))
    return xp.eye(n_rows, n_cols, k=k, dtype=as_dtype(dtype or float32))
