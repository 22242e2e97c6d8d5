"""Picking and placing by index."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.torch._dtypes import SCALAR_TYPES, dtype_of
from tapegrad.torch._functions._build import METHODS, define
from tapegrad.torch._functions._stacks import expanded, is_batched, on_stacks
from tapegrad.torch._functions.scatter import _scatter, check_bounds, check_dtype, flat, put_in_batch, raw_of
from tapegrad.torch._indices import mask_of_bytes
from tapegrad.torch._shapes import dimension
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor, wrap


@on_stacks()
def _gather(x: Any, dim: int, index: Any) -> Any:
    check_dtype("gather", index)
    n = len(x.array.shape)
    d = dimension(dim, n)
    if len(index.array.shape) != n and n and index.array.shape:
        raise RuntimeError("Index tensor must have the same number of dimensions as input tensor")
    if n == 1 and not index.array.shape:  # one place of an only axis
        return S.reshape(_gather(x, d, S.reshape(index, (1,))), ())
    i = raw_of(index)
    check_bounds("gather", i, x, d)
    if not n:
        return x.clone() if not i.ndim else S.broadcast_to(x, i.shape)
    shape = x.array.shape
    for k, (a, b) in enumerate(zip(i.shape, shape, strict=True)):
        if k != d and a > b:
            raise RuntimeError(
                f"Size does not match at dimension {k} expected index {list(i.shape)} to be no larger than self {list(shape)} "
                f"apart from dimension {d}"
            )
    if any(a != b for k, (a, b) in enumerate(zip(i.shape, shape, strict=True)) if k != d):
        x = S.getitem(x, tuple(slice(None) if k == d else slice(0, m) for k, m in enumerate(i.shape)))
    return S.take_along_axis(x, index, axis=d)


def _index_select(x: Any, dim: int, index: Any) -> Any:
    if is_batched(index) and x.array.shape:
        d = dimension(dim, len(x.array.shape))
        return _gather(x, d, S.astype(expanded(index, x.array.shape, d), "int64"))
    i = raw_of(index)
    if i.ndim > 1:
        raise IndexError("index_select(): Index is supposed to be a vector")
    if i.dtype not in (np.int64, np.int32):
        raise RuntimeError("index_select(): Expected dtype int32 or int64 for index")
    if not x.array.shape:
        return x.clone()
    d = dimension(dim, len(x.array.shape))
    if i.size and (i.max() >= x.array.shape[d] or i.min() < 0):
        raise IndexError("index out of range in self")
    return S.take(x, i.reshape(-1), axis=d)


def _of_one(function: Any) -> Any:
    """A function of a tensor, an axis, an index and values, for tensors without axes too: they are vectors of one element."""

    @functools.wraps(function)
    def run(x: Any, dim: int, index: Any, values: Any, *rest: Any) -> Any:
        if x.array.shape:
            return function(x, dim, index, values, *rest)
        dimension(dim, 0)
        return S.reshape(function(S.reshape(x, (1,)), 0, index.reshape(-1), flat(values), *rest), ())

    return run


def _along(d: int, i: Any) -> tuple[Any, ...]:
    return (*[slice(None)] * d, i.reshape(-1))


@_of_one
def _index_add(x: Any, dim: int, index: Any, source: Any, alpha: Any) -> Any:
    check_dtype("index_add", index)
    if is_batched(index):
        return _at_places(x, dim, index, source if alpha == 1 else S.multiply(source, alpha), "add")
    d, i = dimension(dim, len(x.array.shape)), raw_of(index)
    _index_bounded(i, x, d, "index_add")
    _same_but_for(x, d, source)
    if source.array.shape and i.size != source.array.shape[d]:
        raise RuntimeError(
            f"index_add_(): Number of indices ({i.size}) should be equal to source.size(dim): ({source.array.shape[d]}), for dim: {dim}"
        )
    v = source if alpha == 1 else S.multiply(source, alpha)
    return S.add(x, S.put_add(v, _along(d, i), x.array.shape))


def _same_but_for(x: Any, d: int, source: Any) -> None:
    """Refuse values whose shape is another than the tensor's, apart from an axis."""
    a, b = tuple(x.array.shape), tuple(source.array.shape)
    if len(a) != len(b) or any(m != n for k, (m, n) in enumerate(zip(a, b, strict=True)) if k != d):
        raise RuntimeError(
            "source tensor shape must match self tensor shape, excluding the specified dimension. Got self.shape = "
            f"{list(a)} source.shape = {list(b)}"
        )


def _index_bounded(i: Any, x: Any, d: int, name: str) -> None:
    if i.size and (i.max() >= x.array.shape[d] or i.min() < -x.array.shape[d]):
        raise IndexError("index out of range in self")


def _at_places(x: Any, dim: int, index: Any, source: Any, reduce: Any = None) -> Any:
    """Values written, or added, along an axis inside `vmap`."""
    d = dimension(dim, len(x.array.shape))
    where = S.astype(expanded(index, x.array.shape, d), "int64")
    return _scatter(x, d, where, source, None, reduce)


@_of_one
def _index_copy(x: Any, dim: int, index: Any, source: Any) -> Any:
    check_dtype("index_copy", index)
    if is_batched(index):
        return _at_places(x, dim, index, source)
    d, i = dimension(dim, len(x.array.shape)), raw_of(index)
    _index_bounded(i, x, d, "index_copy")
    if source.array.dtype != x.array.dtype:
        raise RuntimeError("index_copy_(): self and source expected to have the same dtype")
    return S.put(x, source, _along(d, i))


@_of_one
def _index_fill(x: Any, dim: int, index: Any, value: Any) -> Any:
    if is_batched(index):
        wide = expanded(index, x.array.shape, dimension(dim, len(x.array.shape)))
        number = S.astype(value, x.array.dtype) if isinstance(value, Tensor) else wrap(x.array.dtype.type(value))
        return _at_places(x, dim, index, S.broadcast_to(number, wide.array.shape))
    d, i = dimension(dim, len(x.array.shape)), raw_of(index)
    _index_bounded(i, x, d, "index_fill")
    return S.put(x, S.astype(value, x.array.dtype) if isinstance(value, Tensor) else x.array.dtype.type(value), _along(d, i))


def _index_put(x: Any, indices: Any, values: Any, accumulate: bool) -> Any:
    if any(map(is_batched, indices)):
        return put_in_batch(x, tuple(indices), values, accumulate)
    where = tuple(slice(None) if i is None else _place(i) for i in indices)
    v = S.astype(values, x.array.dtype) if values.array.dtype != x.array.dtype else values
    if not accumulate:
        return S.put(x, v, where)
    shape = np.broadcast_to(np.int8(0), x.array.shape)[where].shape
    return S.add(x, S.put_add(S.broadcast_to(v, shape), where, x.array.shape))


def _place(i: Any) -> Any:
    """An index among several: a mask of bytes stands for one of bools."""
    raw = raw_of(i)
    if raw.dtype.kind not in "iub":
        raise IndexError("tensors used as indices must be long, int, byte or bool tensors")
    return mask_of_bytes(raw) if raw.dtype == np.uint8 else raw


def _mask(mask: Any, name: str) -> Any:
    if not isinstance(mask, Tensor):
        raise TypeError(f"{name}(): argument 'mask' (position 1) must be Tensor, not {type(mask).__name__}")
    if mask.array.dtype == np.uint8:
        return S.astype(mask, np.dtype(np.bool_))
    if mask.array.dtype != np.bool_:
        raise RuntimeError(f"{name} only supports boolean masks, but got mask with dtype {str(mask.dtype)[6:]}")
    return mask


def _masked_fill(x: Any, mask: Any, value: Any) -> Any:
    if isinstance(value, Tensor):
        if value.array.shape:
            raise RuntimeError(
                "masked_fill_ only supports a 0-dimensional value tensor, but got tensor with "
                f"{len(value.array.shape)} dimension(s)."
            )
        value = S.astype(value, x.array.dtype)
    else:
        value = x.array.dtype.type(value)
    return S.where(_mask(mask, "masked_fill"), value, x)


def _masked_select(x: Any, mask: Any) -> Any:
    m = _mask(mask, "masked_select")
    shape = np.broadcast_shapes(x.array.shape, m.array.shape)
    wide = x if x.array.shape == shape else S.broadcast_to(x, shape)
    return S.getitem(wide, np.broadcast_to(raw_of(m), shape))


def _masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    m = raw_of(_mask(mask, "masked_scatter"))
    shape = np.broadcast_shapes(x.array.shape, m.shape)
    x, m = x if x.array.shape == shape else S.broadcast_to(x, shape), np.broadcast_to(m, shape)
    n = int(m.sum())
    return S.put(x, S.getitem(S.reshape(source, (-1,)), slice(0, n)), m)


def _take(x: Any, index: Any) -> Any:
    if is_batched(index):
        return S.reshape(_gather(S.reshape(x, (-1,)), 0, S.reshape(index, (-1,))), tuple(index.array.shape))
    i = raw_of(index)
    size = int(np.prod(x.array.shape))
    if i.size and (i.max() >= size or i.min() < -size):
        raise IndexError(f"out of range: tried to access index {int(i.max())} on a tensor of {size} elements.")
    return S.take(S.reshape(x, (-1,)), i, axis=0)


def _put(x: Any, index: Any, source: Any, accumulate: bool) -> Any:
    i, flat = raw_of(index).reshape(-1), S.reshape(x, (-1,))
    v = S.reshape(source, (-1,))
    y = S.add(flat, S.put_add(v, (i,), flat.array.shape)) if accumulate else S.put(flat, v, (i,))
    return S.reshape(y, x.array.shape)


def _alike(x: Any, dim: int, indices: Any) -> tuple[Any, int, Any]:
    """A tensor and an index, each as wide as the other but for the axis."""
    a, b = x.array.shape, indices.array.shape
    d = dimension(dim, len(a))
    wide = [np.broadcast_shapes((m,), (n,))[0] if k != d else 0 for k, (m, n) in enumerate(zip(a, b, strict=True))]
    x, indices = (S.broadcast_to(t, (*wide[:d], n, *wide[d + 1 :])) for t, n in ((x, a[d]), (indices, b[d])))
    return x, d, indices


def _take_along_dim(x: Any, indices: Any, dim: Any) -> Any:
    if dim is None and is_batched(indices):
        return _take(x, S.reshape(indices, (-1,)))
    if is_batched(indices):
        return _gather(*_alike(x, dim, indices))
    if dim is None:
        return S.take(S.reshape(x, (-1,)), raw_of(indices).reshape(-1), axis=0)
    n, m = len(x.array.shape), len(indices.array.shape)
    if n != m:
        raise RuntimeError(
            f"torch.take_along_dim(): input and indices should have the same number of dimensions, but got {n} dimensions for input, and "
            f"{m} dimensions for indices"
        )
    if str(indices.array.dtype) != "int64":
        raise RuntimeError(
            f"torch.take_along_dim(): dtype of indices should be Long but got {SCALAR_TYPES[dtype_of(indices.array.dtype)]}"
        )
    x, d, indices = _alike(x, dim, indices)
    return S.take_along_axis(x, indices, axis=d)


def _unravel_index(indices: Any, shape: Any) -> tuple[Any, ...]:
    raw = raw_of(indices)
    if raw.dtype.kind not in "iu":
        raise TypeError(f"expected 'indices' to be integer dtype, but got {indices.dtype}")
    if not isinstance(shape, int | Sequence):
        raise TypeError(f"expected 'shape' to be int or sequence of ints, but got {type(shape)}")
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    for n in sizes:
        if not isinstance(n, int):
            raise TypeError(f"expected 'shape' sequence to only contain ints, but got {type(n)}")
    if any(n < 0 for n in sizes):
        raise ValueError(f"'shape' cannot have negative values, but got {sizes}")
    steps = [math.prod(sizes[k + 1 :]) for k in range(len(sizes))]
    raw = raw.astype(np.int64)  # a byte has no room for the lengths
    return tuple(wrap(raw // step % n) for step, n in zip(steps, sizes, strict=True))


def _where(condition: Any, x: Any, other: Any) -> Any:
    if x is None and other is None:
        return _nonzero(condition, True)
    if condition.array.dtype.kind != "b" and condition.array.dtype.name != "uint8":
        kind = SCALAR_TYPES[dtype_of(condition.array.dtype)]
        raise RuntimeError(f"where expected condition to be a boolean tensor, but got a tensor with dtype {kind}")
    if not isinstance(x, Tensor) and not isinstance(other, Tensor):
        from tapegrad.torch._construct import tensor
        from tapegrad.torch._dtypes import DEFAULT

        floats = any(isinstance(v, float) for v in (x, other))
        x = tensor(x, dtype=DEFAULT[0] if floats else None)
    return S.where(condition, x, other)


def _nonzero(x: Any, as_tuple: bool) -> Any:
    raw = raw_of(x)
    if as_tuple:
        return tuple(map(wrap, np.nonzero(np.atleast_1d(raw))))
    return wrap(np.argwhere(raw))


def _searchsorted(sorted_sequence: Any, input: Any, out_int32: bool, right: bool, side: Any, sorter: Any = None) -> Any:
    if is_batched(sorted_sequence) or is_batched(input):
        return _count_below(sorted_sequence, input, out_int32, side or ("right" if right else "left"), sorter)
    a, v = raw_of(sorted_sequence), raw_of(input)
    if sorter is not None:
        order = raw_of(sorter)
        if order.shape != a.shape:
            raise RuntimeError(
                f"torch.searchsorted(): boundary and sorter must have the same size, but got boundary tensor {list(a.shape)} and got "
                f"sorter tensor {list(order.shape)}"
            )
        a = np.take_along_axis(a, order, -1)
    side = side or ("right" if right else "left")
    kind = np.int32 if out_int32 else np.int64
    if a.ndim == 1:
        return wrap(np.asarray(np.searchsorted(a, v, side)).astype(kind)[()])
    if not v.size:
        return wrap(np.zeros(v.shape, kind))
    rows = [np.searchsorted(r, w, side) for r, w in zip(a.reshape(-1, a.shape[-1]), v.reshape(-1, v.shape[-1]), strict=True)]
    return wrap(np.array(rows, kind).reshape(v.shape))


def _count_below(edges: Any, v: Any, out_int32: bool, side: str, sorter: Any) -> Any:
    """Where values belong among sorted ones, inside `vmap`: how many of those are below."""
    if sorter is not None:
        edges = _gather(edges, -1, sorter)
    if len(edges.array.shape) > 1:
        edges = S.expand_dims(edges, axis=-2)
    below = (S.less_equal if side == "right" else S.less)(edges, S.expand_dims(v, axis=-1))
    return S.sum(S.astype(below, "int32" if out_int32 else "int64"), axis=-1)


def _unique(x: Any, sorted: bool, return_inverse: bool, return_counts: bool, dim: Any) -> Any:
    _, first, inverse, counts = np.unique(raw_of(x), return_index=True, return_inverse=True, return_counts=True, axis=dim)
    inverse = inverse.reshape(x.array.shape if dim is None else -1)
    return _with_extras(_picked(x, first, dim), inverse if return_inverse else None, counts if return_counts else None)


def _picked(x: Any, first: Any, dim: Any) -> Any:
    """Of equal values the first one, which has their derivative (PyTorch refuses to differentiate here)."""
    return S.take(S.reshape(x, (-1,)), first, axis=0) if dim is None else S.take(x, first, axis=dim)


def _with_extras(values: Any, *extras: Any) -> Any:
    made = (values, *(wrap(v) for v in extras if v is not None))
    return made[0] if len(made) == 1 else made


def _unique_consecutive(x: Any, return_inverse: bool, return_counts: bool, dim: Any) -> Any:
    raw = raw_of(x)
    rows = raw.reshape(-1) if dim is None else np.moveaxis(raw, dim, 0).reshape(raw.shape[dim], raw.size // max(raw.shape[dim], 1))
    changed = rows[1:] != rows[:-1]
    new = np.concatenate([[True], changed if changed.ndim == 1 else changed.any(axis=1)]) if len(rows) else np.zeros(0, bool)
    first = np.flatnonzero(new)
    inverse = np.cumsum(new) - 1
    inverse = inverse.reshape(raw.shape) if dim is None else inverse
    counts = np.diff([*first, len(rows)])
    return _with_extras(_picked(x, first, dim), inverse if return_inverse else None, counts if return_counts else None)


def _isin(elements: Any, test_elements: Any, assume_unique: bool, invert: bool) -> Any:
    return wrap(np.isin(raw_of(elements), raw_of(test_elements), assume_unique, invert))


_NAMES = {k: v for k, v in list(globals().items()) if callable(v)}
define(
    {
        "index_add(input, dim, index, source, *, alpha=1)": "_index_add(input, dim, index, source, alpha)",
        "index_copy(input, dim, index, source)": "_index_copy(input, dim, index, source)",
        "index_fill(input, dim, index, value)": "_index_fill(input, dim, index, value)",
        "index_put(input, indices, values, accumulate=False)": "_index_put(input, indices, values, accumulate)",
        "masked_fill(input, mask, value)": "_masked_fill(input, mask, value)",
        "masked_scatter(input, mask, source)": "_masked_scatter(input, mask, source)",
        "put(input, index, source, accumulate=False)": "_put(input, index, source, accumulate)",
    },
    _NAMES,
    inplace=True,
)  # fmt: skip
define(
    {
        "gather(input, dim, index, *, sparse_grad=False)": "_gather(input, dim, index)",
        "index_select(input, dim, index)": "_index_select(input, dim, index)",
        "masked_select(input, mask)": "_masked_select(input, mask)",
        "take(input, index)": "_take(input, index)",
        "take_along_dim(input, indices, dim=None)": "_take_along_dim(input, indices, dim)",
        "nonzero(input, *, as_tuple=False)": "_nonzero(input, as_tuple)",
        "argwhere(input)": "_nonzero(input, False)",
        "unique(input, sorted=True, return_inverse=False, return_counts=False, dim=None)":
            "_unique(input, sorted, return_inverse, return_counts, dim)",
        "unique_consecutive(input, return_inverse=False, return_counts=False, dim=None)":
            "_unique_consecutive(input, return_inverse, return_counts, dim)",
    },
    _NAMES,
)  # fmt: skip
define(
    {
        "unravel_index(indices, shape)": "_unravel_index(indices, shape)",
        "where(condition, input=None, other=None)": "_where(condition, input, other)",
        "isin(elements, test_elements, *, assume_unique=False, invert=False)":
            "_isin(elements, test_elements, assume_unique, invert)",
        "searchsorted(sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None)":
            "_searchsorted(sorted_sequence, input, out_int32, right, side, sorter)",
        "bucketize(input, boundaries, *, out_int32=False, right=False)":
            "_searchsorted(boundaries, input, out_int32, right, None)",
    },
    _NAMES,
    methods=False,
)  # fmt: skip
METHODS["where"] = lambda self, condition, other: _where(condition, self, other)
