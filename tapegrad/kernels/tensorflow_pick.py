"""TensorFlow kernels that pick elements, with every kind of index that NumPy has.

Slices, integers and new axes are a strided slice.  What arrays of integers pick is gathered: arrays of NumPy's are checked
and put together on the host, those of TensorFlow's where they are.  A mask is the integers of its true elements.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.tensorflow_array import TFArray, made
from tapegrad.kernels.tensorflow_basics import less, where
from tapegrad.kernels.tensorflow_calls import INT64, ints, number
from tapegrad.kernels.tensorflow_index import _SLICE, KNOWN, Single, basic, basic_of, is_mask, is_part, key_of, parts_of
from tapegrad.kernels.tensorflow_lengths import Size, is_static
from tapegrad.kernels.tensorflow_promotion import asarray, converted
from tapegrad.kernels.tensorflow_shape import broadcast_to, one_axis, reshape, stack, transposed
from tapegrad.kernels.tensorflow_stored import stored_rows

_GATHER, _GATHER_ND = calls.op("GatherV2"), calls.two("GatherNd")
_WHERE = calls.one("Where")
_SPLIT, _SPLIT_AT = calls.op("Split"), calls.op("SplitV")


def sliced(x: Any, parts: list[Any]) -> Any:
    """A basic index."""
    if all(type(p) is slice and p == slice(None) for p in parts):
        return x
    found = basic_of(parts, x.shape)
    return made(_SLICE(x.bare, *found.bounds, **found.masks), x.dtype)


def getitem(x: Any, index: Any) -> Any:
    x = asarray(x)
    found = KNOWN.get(key) if (key := key_of(index, x.shape)) is not None else None
    if found is not None:
        return found.picked(x)
    parts = parts_of(index, x.shape)
    if not all(map(is_part, parts)):
        return _picked(x, parts, divided=_is_divided(index))
    if all(type(p) is slice and p == slice(None) for p in parts):
        return x
    return basic(index, x.shape).picked(x)


def parts(x: Any, cuts: Any, axis: int) -> tuple[Any, ...]:
    sizes = [b - a for a, b in itertools.pairwise(cuts)]
    count = len(sizes)
    if len(set(sizes)) == 1:
        found = _SPLIT(number(axis), x.bare, num_split=count)
    else:
        found = _SPLIT_AT(x.bare, ints(tuple(sizes)), number(axis), num_split=count)
    return tuple([made(y, x.dtype) for y in found])


def _is_divided(index: Any) -> bool:
    """Whether `...` stands between arrays (or integers beside them), though it may stand for no axis: they are apart then."""
    given = index if type(index) is tuple else (index,)
    at = next((k for k, i in enumerate(given) if i is Ellipsis), None)
    if at is None:
        return False
    return all(any(i is not None and type(i) is not slice for i in side) for side in (given[:at], given[at + 1 :]))


def _picked(x: Any, parts: list[Any], *, divided: bool) -> Any:
    """An index with arrays: slices first, then the arrays, integers among them, together."""
    arrays: list[Any] = []
    places: list[int] = []  # of the arrays' axes, after the slices
    order: list[int] = []  # where in the index the arrays stand
    slices: list[Any] = []
    for k, part in enumerate(parts):
        if type(part) is slice or part is None:
            slices.append(part)
            continue
        order.append(k)
        if type(part) is Single:
            slices.append(None)
            arrays.append(_true_places(reshape_mask(part.mask))[0])
            places.append(len(slices) - 1)
        elif is_mask(part):
            shape = _result_shape(x.shape, slices, part.ndim)
            _check_mask(part, shape)
            for column in _true_places(part):
                arrays.append(column)
                places.append(len(slices))
                slices.append(slice(None))
        else:
            arrays.append(part if type(part) is TFArray else np.asarray(part))
            places.append(len(slices))
            slices.append(slice(None))
    x = sliced(x, slices)
    together = order[-1] - order[0] == len(order) - 1 and not divided
    return _gathered(x, arrays, places, together)


def _result_shape(shape: tuple[Any, ...], slices: list[Any], rank: int) -> tuple[Any, ...]:
    used = sum(1 for s in slices if s is not None)
    return shape[used : used + rank]


def _check_mask(mask: Any, shape: tuple[Any, ...]) -> None:
    for i, (a, b) in enumerate(zip(mask.shape, shape, strict=True)):
        if type(a) is not Size and type(b) is not Size and a not in (b, 0):  # NumPy takes an empty mask for any length
            raise IndexError(
                f"boolean index did not match indexed array along axis {i}; size of axis is {b} but size of corresponding "
                f"boolean axis is {a}"
            )


def reshape_mask(mask: Any) -> Any:
    return reshape(mask, (1,)) if type(mask) is TFArray else np.reshape(np.asarray(mask), (1,))


def _true_places(mask: Any) -> list[Any]:
    """The indices of the true elements, an array for each axis."""
    if type(mask) is not TFArray:
        return list(np.nonzero(mask))
    return list(nonzero(mask))


def nonzero(x: Any) -> Any:
    x = asarray(x)
    if x.ndim == 0:
        raise ValueError("expected x.ndim >= 1, got 0; write nonzero(reshape(x, (1,)))")
    found = made(_WHERE(x.bare), INT64)
    return tuple(sliced(found, [slice(None), i]) for i in range(x.ndim))


def _gathered(x: Any, arrays: list[Any], places: list[int], together: bool) -> Any:
    """What arrays of integers pick along these axes; their own axes stay where they are if `together`, else come first."""
    for a in arrays:
        if a.dtype.kind not in "ui":
            raise IndexError("arrays used as indices must be of integer (or boolean) type")
    if len(arrays) == 1:
        y = gathered(x, arrays[0], places[0])
        if together or not places[0]:
            return y
        return _moved_first(y, places[0], arrays[0].ndim)
    lengths = tuple(x.shape[p] for p in places)
    on_host = all(type(a) is not TFArray for a in arrays) and is_static(lengths)
    rest = [i for i in range(x.ndim) if i not in places]
    x = transposed(x, (*places, *rest))
    if on_host:
        flat = np.ravel_multi_index(_counted(arrays, lengths), lengths) if 0 not in lengths else _counted(arrays, lengths)[0]
        merged = reshape(x, (math.prod(lengths), *x.shape[len(places) :]))
        y, rank = gathered(merged, flat, 0), flat.ndim
    else:
        shape = _common_shape([tuple(a.shape) for a in arrays])
        columns = [broadcast_to(from_start(asarray(a), n), shape) for a, n in zip(arrays, lengths, strict=True)]
        y, rank = made(_GATHER_ND(x.bare, stack(columns, axis=-1).bare), x.dtype), len(shape)
    if together and places[0]:
        n = y.ndim - rank
        first = places[0]
        before = tuple(range(rank, rank + first))
        after = tuple(range(rank + first, rank + n))
        return transposed(y, (*before, *range(rank), *after))
    return y


def _moved_first(y: Any, place: int, rank: int) -> Any:
    inside = tuple(range(place, place + rank))
    return transposed(y, (*inside, *(i for i in range(y.ndim) if i not in inside)))


def _common_shape(shapes: list[tuple[Any, ...]]) -> tuple[Any, ...]:
    if all(map(is_static, shapes)):
        return np.broadcast_shapes(*shapes)
    widest = max(shapes, key=len)
    return tuple(
        next((s[i - len(widest)] for s in shapes if len(widest) - i <= len(s) and s[i - len(widest)] != 1), 1)
        for i in range(len(widest))
    )


def _counted(arrays: list[Any], lengths: tuple[int, ...]) -> tuple[Any, ...]:
    """Index arrays of NumPy's, of one shape, checked and counted from the start."""
    found = []
    for a, n in zip(arrays, lengths, strict=True):
        wide = a.astype(np.int64, copy=False)
        if wide.size and not (wide.min() >= -n and wide.max() < n):
            bad = wide[(wide < -n) | (wide >= n)].reshape(-1)[0]
            raise IndexError(f"index {bad} is out of bounds for an axis of size {n}")
        found.append(np.where(wide < 0, wide + n, wide))
    try:
        return np.broadcast_arrays(*found)
    except ValueError:
        shapes = " ".join(str(a.shape) for a in arrays)
        raise IndexError(f"shape mismatch: indexing arrays could not be broadcast together with shapes {shapes}") from None


def from_start(indices: TFArray, n: Any) -> TFArray:
    """Integers of 64 bits, negative ones counted from the end."""
    wide = converted(indices, INT64)
    if indices.dtype.kind == "u":
        return wide
    return where(less(wide, 0), wide + n, wide)


def place_of(indices: Any, n: Any) -> TFArray:
    """Indices along an axis of length n, counted from the start: those of NumPy's are checked on the host."""
    if type(indices) is not TFArray and type(n) is not Size:
        return asarray(_counted([np.asarray(indices)], (n,))[0])
    return from_start(asarray(indices), n)


def gathered(x: Any, indices: Any, axis: int) -> Any:
    """Elements at indices along an axis."""
    at = place_of(indices, x.shape[axis])
    if axis == 0 and x._summands is not None and (rows := stored_rows(x, at.bare)) is not None:
        return made(rows, x.dtype)
    return made(_GATHER(x.bare, at.bare, number(axis), batch_dims=0), x.dtype)


def take(x: Any, indices: Any, *, axis: int | None = None) -> Any:
    x = asarray(x)
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    if not hasattr(indices, "dtype"):
        indices = np.asarray(indices, np.int64)
    return gathered(x, indices, one_axis(axis, x.ndim))


def take_along_axis(x: Any, indices: Any, *, axis: int = -1) -> Any:
    x = asarray(x)
    rank = x.ndim
    axis = one_axis(axis, rank)
    if len(indices.shape) != rank:
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    at = place_of(indices, x.shape[axis])
    x, at = last(x, axis), last(at, axis)
    lead = _common_shape([x.shape[:-1], at.shape[:-1]])
    x, at = broadcast_to(x, (*lead, x.shape[-1])), broadcast_to(at, (*lead, at.shape[-1]))
    y = made(_GATHER(x.bare, at.bare, number(rank - 1), batch_dims=rank - 1), x.dtype)
    return restored(y, axis)


def last(x: Any, axis: int) -> Any:
    n = x.ndim
    return transposed(x, (*(i for i in range(n) if i != axis), axis))


def restored(y: Any, axis: int) -> Any:
    n = y.ndim
    order = list(range(n - 1))
    order.insert(axis, n - 1)
    return transposed(y, tuple(order))
