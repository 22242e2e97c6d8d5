"""TensorFlow kernels that put values at an index: added up, or the last of several; nothing is written in place."""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np
import tensorflow as tf

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.numpy_scatter import Rows
from tapegrad.kernels.tensorflow_arithmetic import divide, maximum, multiply
from tapegrad.kernels.tensorflow_array import TFArray, made, put_off
from tapegrad.kernels.tensorflow_basics import equal, greater_equal, where
from tapegrad.kernels.tensorflow_calls import BOOL, F32, F64, INT64, cast
from tapegrad.kernels.tensorflow_graphs import function_graph
from tapegrad.kernels.tensorflow_index import KNOWN, basic, basic_of, is_basic, key_of, parts_of
from tapegrad.kernels.tensorflow_later import Piece, most
from tapegrad.kernels.tensorflow_lengths import Size, shape_tensor
from tapegrad.kernels.tensorflow_pick import from_start, getitem, place_of
from tapegrad.kernels.tensorflow_promotion import able, asarray, common, converted
from tapegrad.kernels.tensorflow_rounding import floor_divide
from tapegrad.kernels.tensorflow_shape import arange, broadcast_to, expand_dims, moveaxis, one_axis, reshape, zeros

_SLICE_GRAD, _SLICE_UPDATE = calls.op("StridedSliceGrad"), calls.op("TensorStridedSliceUpdate")
_SCATTER = calls.op("ScatterNd")
_SEGMENT_MAX = calls.op("UnsortedSegmentMax")
_GATHER = calls.op("GatherV2")


def put_add(g: Any, index: Any, shape: Any) -> Any:
    """Zeros of this shape, with `g` added at the index."""
    g, shape = asarray(g), tuple(shape)
    found = KNOWN.get(key) if (key := key_of(index, shape)) is not None else None
    if found is None and is_basic(index):
        found = basic(index, shape)
    if found is not None:

        def whole() -> Any:
            return _SLICE_GRAD(shape_tensor(shape), *found.bounds, g.bare, **found.masks)

        d = g.dtype
        if (along := found.along) is not None and (d is F32 or d is F64) and (room := most(shape)):
            return put_off([Piece(*along, g.bare, whole)], d, shape, room)
        return made(whole(), d, shape)
    if _is_rows(index):
        return take_add(g, index[0] if type(index) is tuple else index, shape, 0)
    places = places_of(index, shape)
    y = _added(reshape(places, (-1,)), reshape(g, (-1,)), (math.prod(shape),))
    return reshape(y, shape)


def _is_rows(index: Any) -> bool:
    """Whether an index is one array of integers, for the first axis."""
    parts = index if type(index) is tuple else (index,)
    return len(parts) == 1 and getattr(parts[0], "dtype", BOOL).kind in "ui"


def places_of(index: Any, shape: tuple[Any, ...]) -> Any:
    """Where each pick of an index lies in the flattened array: on the host, if all of the index is there."""
    parts = index if type(index) is tuple else (index,)
    if any(type(p) in (TFArray, Size) for p in parts) or any(type(n) is Size for n in shape):
        return getitem(reshape(arange(0, math.prod(shape), dtype=INT64), shape), index)
    return np.arange(math.prod(shape)).reshape(shape)[index]


def _added(ids: Any, rows: Any, shape: tuple[Any, ...]) -> Any:
    """Zeros of this shape with rows added at 1-d ids."""
    at = expand_dims(converted(asarray(ids), INT64), axis=1)
    if rows.dtype is BOOL:
        raise TypeError("booleans cannot be added up")
    if 0 in shape:
        return zeros(shape, dtype=rows.dtype)
    target = shape_tensor(shape)
    return made(_SCATTER(at.bare, rows.bare, cast(target, INT64)), rows.dtype, shape)


def take_add(g: Any, indices: Any, shape: Any, axis: int) -> Any:
    """Zeros of this shape, with `g` added where `take` would take."""
    g, shape = asarray(g), tuple(shape)
    axis = one_axis(axis, len(shape))
    at = place_of(indices, shape[axis])
    rank = at.ndim
    places = tuple(range(rank))
    g = moveaxis(g, tuple(p + axis for p in places), places) if axis else g
    rest = (*shape[:axis], *shape[axis + 1 :])
    y = _added(reshape(at, (-1,)), reshape(g, (math.prod(at.shape), *rest)), (shape[axis], *rest))
    return moveaxis(y, 0, axis) if axis else y


#: Graphs in which rows of a table have been made dense.
MADE_DENSE: weakref.WeakSet[Any] = weakref.WeakSet()


def rows_add(g: Any, ids: Any, shape: Any) -> Any:
    """Zeros of this shape, with rows added at these ids."""
    if not calls.HERE.is_eager:
        MADE_DENSE.add(function_graph())
    return take_add(g, ids, shape, 0)


def rows_add_later(g: Any, ids: Any, shape: Any) -> Any:
    """The rows as they are, with ids counted from the start, in the ids' own dtype."""
    at = converted(reshape(place_of(ids, shape[0]), (-1,)), asarray(ids).dtype)
    return Rows(reshape(g, (at.shape[0], *shape[1:])), at, shape)


def put_along_axis_add(g: Any, indices: Any, shape: Any, axis: int) -> Any:
    """Zeros of this shape, with `g` added where `take_along_axis` would take."""
    g, shape = asarray(g), tuple(shape)
    axis = one_axis(axis, len(shape))
    n = shape[axis]
    at = broadcast_to(from_start(asarray(indices), n), g.shape)
    g, at = moveaxis(g, axis, -1), moveaxis(at, axis, -1)
    rest = tuple(k for i, k in enumerate(shape) if i != axis)
    lead = g.shape[:-1]
    if lead != rest:  # the picks were broadcast over axes of length 1
        from tapegrad.kernels.tensorflow_sums import sum_to

        grown = tuple(k if k != 1 else m for k, m in zip(rest, lead, strict=True))
        return moveaxis(sum_to(_along_last(g, at, (*grown, n)), (*rest, n)), -1, axis)
    return moveaxis(_along_last(g, at, (*rest, n)), -1, axis)


def _along_last(g: Any, at: Any, shape: tuple[Any, ...]) -> Any:
    rows, n = math.prod(shape[:-1]), shape[-1]
    start = reshape(arange(0, rows, dtype=INT64), (*shape[:-1], 1)) * n
    flat = reshape(at + start, (-1,))
    return reshape(_added(flat, reshape(g, (-1,)), (rows * n,)), shape)


# -- overwriting -----------------------------------------------------------------------------------------
def put(x: Any, value: Any, index: Any) -> Any:
    """A copy of `x` with `value` at the index; of several values for one element the last one stays."""
    x, value = asarray(x), asarray(value)
    d = common(x.dtype, value.dtype)
    x, value = converted(x, d), converted(value, d)
    shape = x.shape
    if is_basic(index):
        return _put_slice(x, value, index)
    places = asarray(places_of(index, shape))
    value = broadcast_to(_fitted(value, places.ndim), places.shape)
    return reshape(_overwritten(reshape(x, (-1,)), reshape(places, (-1,)), reshape(value, (-1,))), shape)


def _put_slice(x: Any, value: Any, index: Any) -> Any:
    shape = x.shape
    if not shape:
        return broadcast_to(_fitted(value, 0), ()) if getitem(x, index).ndim == 0 else reshape(_fitted(value, 1), ())
    found = basic_of(parts_of(index, shape), shape)
    picked = getitem(x, index)
    value = broadcast_to(_fitted(value, picked.ndim), picked.shape)
    if 0 in picked.shape:
        return x
    begin, end, strides = found.bounds
    return made(_SLICE_UPDATE(x.bare, begin, end, strides, value.bare, **found.masks), x.dtype, shape)


def _overwritten(x: Any, places: Any, value: Any) -> Any:
    """The last value for each element, or where there is none what was there."""
    if 0 in x.shape or 0 in value.shape:
        return x
    last = _last_picks(places, x.shape[0])
    chosen = made(_GATHER(value.bare, maximum(last, 0).bare, calls.number(0), batch_dims=0), x.dtype)
    return where(greater_equal(last, 0), chosen, x)


def _last_picks(places: Any, n: Any) -> Any:
    """For each of n elements, which pick of it is the last; a negative number where there is none."""
    order = arange(0, places.shape[0], dtype=INT64)
    count = shape_tensor((n,))
    return made(_SEGMENT_MAX(order.bare, converted(places, INT64).bare, reshape(made(count, calls.INT32), ()).bare), INT64)


def _fitted(value: Any, rank: int) -> Any:
    """A value without the leading axes of length 1 that it has too many."""
    extra = value.ndim - rank
    return reshape(value, value.shape[extra:]) if extra > 0 and value.shape[:extra] == (1,) * extra else value


def last_picks(x: Any, index: Any) -> Any:
    """Which picks of an index are the last of their element."""
    places = asarray(places_of(index, x.shape))
    flat = reshape(places, (-1,))
    if 0 in flat.shape:
        return made(cast(places.bare, BOOL), BOOL)
    last = _last_picks(flat, math.prod(x.shape))
    there = made(_GATHER(last.bare, converted(flat, INT64).bare, calls.number(0), batch_dims=0), INT64)
    return reshape(equal(there, arange(0, flat.shape[0], dtype=INT64)), places.shape)


_WRITES = {how: calls.op(f"TensorScatter{how.capitalize()}") for how in ("update", "add", "sub", "max", "min")}
_SEGMENT_PROD = calls.op("UnsortedSegmentProd")


def scattered(x: Any, at: Any, value: Any, how: str) -> Any:
    """A copy of `x` with values written at index tuples, the last axis of `at`, one after the other.

    * `how`: "update", "add", "sub", "max", "min"; for whole rows "mul" and "div" too.

    Raises IndexError for a place that is not there, where TensorFlow looks: on CPUs, and as a graph runs.
    """
    x, at = asarray(x), asarray(at)
    value = converted(asarray(value), x.dtype)
    depth, outer = at.shape[-1], at.shape[:-1]
    if at.dtype not in (calls.INT32, INT64):
        at = converted(at, INT64)
    value = broadcast_to(value, (*outer, *x.shape[depth:]))
    if how in ("mul", "div"):
        return _scaled_rows(x, reshape(at, (-1,)), reshape(value, (math.prod(outer), *x.shape[1:])), how)
    d = x.dtype
    w = d if how == "update" else able(f"TensorScatter{how.capitalize()}", d)
    try:
        bare = _WRITES[how](converted(x, w).bare, at.bare, converted(value, w).bare)
    except tf.errors.InvalidArgumentError as error:
        raise IndexError(error.message) from error
    return converted(made(bare, w, x._shape), d)


def _scaled_rows(x: Any, ids: Any, value: Any, how: str) -> Any:
    """Rows times, or by, the product of all values for each."""
    d = x.dtype
    w = able("UnsortedSegmentProd", d)
    count = shape_tensor(x.shape[:1])
    total = _SEGMENT_PROD(converted(value, w).bare, ids.bare, reshape(made(count, calls.INT32), ()).bare)
    factors = converted(made(total, w, x._shape), d)
    if how == "mul":
        return multiply(x, factors)
    return divide(x, factors) if d.kind in "fcV" else floor_divide(x, factors)


__all__ = ["last_picks", "put", "put_add", "put_along_axis_add", "rows_add", "scattered", "take_add"]
