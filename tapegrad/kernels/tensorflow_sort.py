"""TensorFlow kernels that sort and search, and repeat elements, which is a search too.

TensorFlow's only stable sort is that of `TopKV2`, falling; it knows neither NaN's place nor that zeros are equal.  So numbers are
sorted by integers that are in NumPy's order: NaN last, and -0.0 where 0.0 is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.tensorflow_arithmetic import add
from tapegrad.kernels.tensorflow_array import TFArray, made
from tapegrad.kernels.tensorflow_basics import (
    BITS,
    bits,
    bitwise_invert,
    bitwise_xor,
    imag,
    isnan,
    less,
    not_equal,
    real,
    where,
)
from tapegrad.kernels.tensorflow_calls import F32, INT32, INT64, UINT32, UINT64, scalar
from tapegrad.kernels.tensorflow_pick import last, nonzero, restored, take, take_along_axis
from tapegrad.kernels.tensorflow_promotion import asarray, converted, pair
from tapegrad.kernels.tensorflow_shape import arange, broadcast_to, concat, expand_dims, full, one_axis, reshape
from tapegrad.kernels.tensorflow_sums import cumulative_sum

_TOP = calls.op("TopKV2")
_LOWER, _UPPER = calls.op("LowerBound"), calls.op("UpperBound")
_BITCAST = calls.op("Bitcast")


def _ranked(x: Any) -> Any:
    """Signed integers, of 32 or 64 bits, in the order of real numbers."""
    d = x.dtype
    if d.kind in "fV":
        x = converted(x, F32) if d.itemsize == 2 else x
        x = where(isnan(x), math.nan, add(x, 0.0))  # -0.0 + 0.0 is 0.0
        b = bits(x)
        lowest = made(scalar((1 << (8 * x.dtype.itemsize - 1)) - 1, BITS[x.dtype]), BITS[x.dtype], ())
        return where(less(b, 0), bitwise_xor(b, lowest), b)
    if d is UINT64:
        lowest = made(scalar(-(1 << 63), INT64), INT64, ())
        return bitwise_xor(made(_BITCAST(x.bare, type=calls.TF_OF[INT64]), INT64, x._shape), lowest)
    return converted(x, INT64 if d in (INT64, UINT32) else INT32)


def argsort(x: Any, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    x = asarray(x)
    if x.ndim == 0:
        return made(scalar(0, INT64), INT64, ())
    axis = one_axis(axis, x.ndim)
    x = last(x, axis)
    return restored(_order(x, descending), axis)


def _order(x: Any, descending: bool) -> Any:
    """The order along the last axis; equal elements stay in theirs."""
    if x.dtype.kind == "c":  # by the real parts, and where these are equal by the imaginary ones
        first = _order(imag(x), descending)
        second = _order(take_along_axis(real(x), first), descending)
        return take_along_axis(first, second)
    key = _ranked(x)
    if not descending:
        key = bitwise_invert(key)
    n = x.shape[-1]
    count = calls.number(n) if type(n) is int else n.bare
    _, order = _TOP(key.bare, count, sorted=True, index_type=calls.TF_OF[INT64])
    return made(order, INT64)


def insertion_index(x1: Any, x2: Any, side: Any) -> Any:
    a, b, d = pair(x1, x2)
    if d.kind == "c":
        raise TypeError("searchsorted of complex numbers: they have no order")
    x1, x2 = _ranked(made(a, d)), _ranked(made(b, d))
    if x1.ndim != 1:
        raise ValueError("object too deep for desired array")
    flat = reshape(x2, (1, -1))
    run = _LOWER if side == "left" else _UPPER
    found = made(run(reshape(x1, (1, -1)).bare, flat.bare, out_type=calls.TF_OF[INT64]), INT64)
    return reshape(found, x2.shape)


def unique_index(x: Any) -> Any:
    """Of the distinct elements, rising: where each first stands, which of them each element is, how many are equal."""
    x = asarray(x)
    flat = reshape(x, (-1,))
    order = _order(flat, False)
    s = take(flat, order, axis=0)
    n = flat.shape[0]
    if type(n) is int and n == 0:
        return order, reshape(order, x.shape), order
    new = concat([full((1,), True), not_equal(s[1:], s[:-1])], axis=0)
    starts = nonzero(new)[0]
    group = cumulative_sum(converted(new, INT64)) - 1
    inverse = take(group, _order(order, False), axis=0)
    ends = concat([starts[1:], converted(full((1,), n), INT64)], axis=0)
    return take(order, starts, axis=0), reshape(inverse, x.shape), ends - starts


def repeat(x: Any, repeats: Any, *, axis: int | None = None) -> Any:
    """Each element as often as `repeats` says."""
    x = asarray(x)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    axis = one_axis(axis, x.ndim)
    n = x.shape[axis]
    if not np.shape(repeats) or (np.shape(repeats) == (1,) and n != 1):
        count = reshape(repeats, ()) if type(repeats) is TFArray else int(np.reshape(repeats, ()))
        if type(count) is int:
            if count < 0:
                raise ValueError("repeats may not contain negative values")
            apart = expand_dims(x, axis=axis + 1)
            shape = (*x.shape[: axis + 1], count, *x.shape[axis + 1 :])
            return reshape(broadcast_to(apart, shape), (*x.shape[:axis], n * count, *x.shape[axis + 1 :]))
        repeats = broadcast_to(count, (n,))
    if type(repeats) is not TFArray:
        if len(repeats) != n:
            raise ValueError(f"operands could not be broadcast together with shape ({n},) ({len(repeats)},)")
        return take(x, np.repeat(np.arange(n), repeats), axis=axis)
    ends = cumulative_sum(converted(repeats, INT64))
    places = arange(0, ends[-1], 1, dtype=INT64) if n else ends
    return take(x, insertion_index(ends, places, "right"), axis=axis)
