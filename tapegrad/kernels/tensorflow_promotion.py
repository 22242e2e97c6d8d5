"""Dtypes of TensorFlow kernels: NumPy's promotion, and in what is computed where TensorFlow lacks an op for a dtype."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import tensorflow as tf

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.tensorflow_array import TFArray, made, wrapped
from tapegrad.kernels.tensorflow_calls import BF16, F32, F64, NUMPY_OF, cast, constant, scalar
from tapegrad.kernels.tensorflow_lengths import SYMBOLIC, Ratio, Size

_WEAK = frozenset([int, float, complex, bool])


@functools.lru_cache(None)
def common(d1: np.dtype[Any], d2: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that two have in common, by NumPy's rules."""
    return np.result_type(d1, d2)


@functools.lru_cache(None)
def common_with(dtype: np.dtype[Any], kind: type) -> np.dtype[Any]:
    """The dtype of an array with a Python scalar, which is weak."""
    if dtype is BF16 and kind is not complex:
        return dtype
    return np.result_type(dtype, kind(0))


def asarray(x: Any) -> TFArray:
    """Whatever kernels are given, as an array of TensorFlow's: a NumPy array moves there."""
    kind = type(x)
    if kind is TFArray:
        return x
    if kind is Size:
        return made(cast(x.bare, calls.INT64), calls.INT64, ())
    if kind is Ratio:
        return made(x.bare, F64, ())
    if isinstance(x, np.ndarray | np.generic):
        if x.shape == () and x.dtype in NUMPY_OF.values():
            return made(scalar(np.asarray(x).item() if x.dtype is not BF16 else float(x), x.dtype), x.dtype, ())
        return wrapped(constant(np.asarray(x)))
    if kind in _WEAK:
        dtype = np.result_type(x)
        return made(scalar(x, dtype), dtype, ())
    return wrapped(x)


def is_known(kind: type) -> bool:
    """Whether arrays of this type, or such numbers, move to TensorFlow by themselves."""
    return kind is TFArray or kind in _WEAK or kind in SYMBOLIC or issubclass(kind, np.ndarray | np.generic | tf.Tensor | tf.Variable)


def converted(x: TFArray, dtype: np.dtype[Any]) -> TFArray:
    """An array in another dtype, by TensorFlow's cast."""
    return x if x.dtype is dtype or x.dtype == dtype else made(cast(x.bare, dtype), dtype, x._shape)


def pair(x1: Any, x2: Any) -> tuple[Any, Any, np.dtype[Any]]:
    """Two arguments as bare tensors of one dtype, by NumPy's promotion; Python scalars are weak."""
    k1, k2 = type(x1), type(x2)
    if k1 in _WEAK or k1 in SYMBOLIC:
        if k2 in _WEAK or k2 in SYMBOLIC:
            return pair(asarray(x1), x2)
        b, a, dtype = _with_scalar(x2 if k2 is TFArray else asarray(x2), x1)
        return a, b, dtype
    if k1 is not TFArray:
        x1 = asarray(x1)
    if k2 in _WEAK or k2 in SYMBOLIC:
        return _with_scalar(x1, x2)
    if k2 is not TFArray:
        x2 = asarray(x2)
    d1, d2 = x1.dtype, x2.dtype
    if d1 is d2 or d1 == d2:
        return x1.bare, x2.bare, d1
    dtype = common(d1, d2)
    return (
        x1.bare if d1 is dtype else cast(x1.bare, dtype),
        x2.bare if d2 is dtype else cast(x2.bare, dtype),
        dtype,
    )


def _with_scalar(x: TFArray, value: Any) -> tuple[Any, Any, np.dtype[Any]]:
    if type(value) in SYMBOLIC:
        dtype = common_with(x.dtype, int if type(value) is Size else float)
        return x.bare if dtype is x.dtype else cast(x.bare, dtype), cast(value.bare, dtype), dtype
    kind: type = type(value)
    dtype = common_with(x.dtype, kind)
    return x.bare if dtype is x.dtype else cast(x.bare, dtype), scalar(value, dtype), dtype


@functools.lru_cache(None)
def inexact(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which NumPy computes a function such as the sine: floats as they are, integers by their size."""
    if dtype.kind in "fcV":
        return dtype
    return np.dtype(np.sin(np.ones((), dtype)).dtype)


#: In what an op is computed that TensorFlow lacks for a dtype; integers wrap around as they are cast back.
WIDER: dict[Any, np.dtype[Any]] = {
    calls.BOOL: calls.INT32,
    calls.INT8: calls.INT32,
    calls.INT16: calls.INT32,
    calls.UINT8: calls.INT32,
    calls.UINT16: calls.INT32,
    calls.UINT32: calls.INT64,
    calls.UINT64: calls.INT64,
    calls.F16: F32,
    BF16: F32,
}


def able(name: str, dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype in which TensorFlow has this op, for arguments of a dtype."""
    if dtype is F32 or dtype is F64 or calls.supports(name, dtype):
        return dtype
    wider = WIDER.get(dtype)
    if wider is None or not calls.supports(name, wider):
        raise TypeError(f"TensorFlow has no kernel of {name} for {dtype}")
    return wider
