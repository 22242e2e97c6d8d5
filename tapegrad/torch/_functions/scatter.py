"""Placing values where an index says, one for each: `scatter` and what is like it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.kernels.numpy_scatter import in_rows
from tapegrad.kernels.numpy_shape import along_axis
from tapegrad.torch._functions._build import define
from tapegrad.torch._functions._stacks import Places, expanded, on_stacks
from tapegrad.torch._shapes import dimension
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor, wrap


def raw_of(index: Any) -> Any:
    """An index as an array."""
    return np.asarray(index.read()[0]) if isinstance(index, Tensor) else np.asarray(index)


#: The dtypes of indices, and those of the same bits without a sign.
_UNSIGNED = {np.dtype(np.int64): np.dtype(np.uint64), np.dtype(np.int32): np.dtype(np.uint32)}


def check_dtype(name: str, index: Any) -> None:
    """Refuse an index of other integers than PyTorch takes."""
    if isinstance(index, Tensor) and index.array.dtype not in _UNSIGNED and math.prod(index.array.shape):
        raise RuntimeError(f"{name}(): Expected dtype int32/int64 for index")


def check_bounds(name: str, i: Any, x: Any, d: int) -> None:
    """Refuse an index that names places which an axis has not."""
    n = x.array.shape[d] if x.array.shape else 1
    unsigned = _UNSIGNED.get(i.dtype)
    if unsigned is not None and np.maximum.reduce(i.view(unsigned), axis=None, initial=0) < n:
        return  # both bounds in one pass: without its sign a negative number is larger than any length
    if i.size and (i.max() >= n or i.min() < 0):
        bad = int(i.max() if i.max() >= n else i.min())
        raise RuntimeError(f"index {bad} is out of bounds for dimension {d} with size {n}")


def places(i: Any, d: int) -> tuple[Any, ...]:
    """The full index of the places that `index` names along an axis."""
    return along_axis(i.shape, i, d)


def _values(x: Any, src: Any, shape: tuple[int, ...]) -> Any:
    """The values to be placed, cut to the index's shape."""
    if not isinstance(src, Tensor):
        return wrap(np.full(shape, src, x.array.dtype))
    if src.array.dtype != x.array.dtype:
        raise RuntimeError("scatter(): Expected self.dtype to be equal to src.dtype")
    if src.array.shape == shape:
        return src
    if any(a > b for a, b in zip(shape, src.array.shape, strict=True)):
        raise RuntimeError(
            f"Expected index {list(shape)} to be no larger than src {list(src.array.shape)} apart from dimension"
        )
    return S.getitem(src, tuple(slice(0, n) for n in shape))


def put_in_batch(x: Any, items: tuple[Any, ...], value: Any, accumulate: bool = False) -> Any:
    """A copy with values where tensors say, inside `vmap`; None and whole slices among them leave an axis as it is."""
    places = Places(x, tuple(i if isinstance(i, Tensor) else None for i in items))
    v = places.given(S.astype(value, x.array.dtype) if value.array.dtype != x.array.dtype else value)
    where = expanded(places.number, (places.count, v.array.shape[1]), 0)
    return places.unrows(_scatter(places.rows(x), 0, where, v, None, "add" if accumulate else None))


@on_stacks()
def _scatter(x: Any, dim: int, index: Any, src: Any, value: Any = None, reduce: Any = None) -> Any:
    check_dtype("scatter", index)
    src = value if src is None else src
    d, i = dimension(dim, len(x.array.shape)), raw_of(index)
    if not x.array.shape:
        return S.reshape(_scatter(S.reshape(x, (1,)), 0, index.reshape(-1), flat(src), None, reduce), ())
    if len(x.array.shape) == 1 and not i.ndim:  # one place of an only axis
        i, src = i.reshape(1), flat(src)
    check_bounds("scatter", i, x, d)
    where = places(i, d)
    if reduce is None and not isinstance(src, Tensor):
        return S.put(x, x.array.dtype.type(src), where)
    v = _values(x, src, i.shape)
    if reduce is None:
        return put_last(x, v, where)
    if reduce == "add":
        return S.add(x, S.put_add(v, where, x.array.shape))
    if reduce == "multiply":
        return _scatter_reduce(x, d, index, v, "prod", True)
    raise RuntimeError("reduce argument must be either add or multiply.")


def flat(v: Any) -> Any:
    return v.reshape(-1) if isinstance(v, Tensor) else v


def put_last(x: Any, v: Any, where: Any) -> Any:
    """Of several values for one place the last stays, and it alone has the derivative."""
    shape = x.array.shape
    flat = in_rows(where, shape).reshape(-1)
    order = np.arange(flat.size)
    last = np.empty(math.prod(shape), np.intp)
    last[flat] = order
    keep = np.flatnonzero(last[flat] == order)
    if keep.size == flat.size:
        return S.put(x, v, where)
    picked = S.take(S.reshape(v, (-1,)), keep, axis=0)
    return S.reshape(S.put(S.reshape(x, (-1,)), picked, flat[keep]), shape)


def _scatter_add(x: Any, dim: int, index: Any, src: Any) -> Any:
    return _scatter(x, dim, index, src, None, "add")


@on_stacks()
def _scatter_reduce(x: Any, dim: int, index: Any, src: Any, reduce: str, include_self: bool) -> Any:
    d, i = dimension(dim, len(x.array.shape)), raw_of(index)
    if not x.array.shape:
        one = _scatter_reduce(S.reshape(x, (1,)), 0, index.reshape(-1), flat(src), reduce, include_self)
        return S.reshape(one, ())
    check_bounds("scatter", i, x, d)
    v = _values(x, src, i.shape)
    where, shape = places(i, d), x.array.shape
    if include_self and reduce == "sum":
        return S.add(x, S.put_add(v, where, shape))
    hit = np.bincount(in_rows(where, shape).reshape(-1), minlength=math.prod(shape)).reshape(shape)
    first = x if include_self else S.where(hit > 0, _neutral(x, reduce), x)
    if reduce == "sum":
        return S.add(first, S.put_add(v, where, shape))
    if reduce == "mean":
        total = S.add(first, S.put_add(v, where, shape))
        n = np.maximum(hit + (1 if include_self else 0), 1).astype(x.array.dtype)
        y = S.divide(total, n)
        return y if x.array.dtype.kind in "fVc" else S.astype(S.floor(y), x.array.dtype)
    return _by_rank(first, v, where, shape, reduce, hit)


def _neutral(x: Any, reduce: str) -> Any:
    kind = x.array.dtype
    if reduce in ("sum", "mean"):
        return kind.type(0)
    if reduce == "prod" or kind == np.bool_:
        return kind.type(reduce != "amax")
    if kind.kind in "fV":  # bfloat16 is of NumPy's kind V
        return kind.type(-np.inf if reduce == "amax" else np.inf)
    info = np.iinfo(kind)
    return kind.type(info.min if reduce == "amax" else info.max)


def _by_rank(first: Any, v: Any, where: Any, shape: Any, reduce: str, hit: Any) -> Any:
    """Products and extremes: the values of one place as a column, reduced by an op that has a derivative."""
    if reduce not in ("prod", "amax", "amin"):
        raise RuntimeError(
            f"reduce argument must be either sum, prod, mean, amax or amin, got {reduce}."
        )
    flat = in_rows(where, shape).reshape(-1)
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    rank = np.arange(len(flat)) - np.searchsorted(ordered, ordered)
    depth = int(hit.max()) if hit.size else 0
    size = int(np.prod(shape))
    columns = wrap(np.full((size, depth), _neutral(first, reduce)))
    columns = S.put(columns, S.take(S.reshape(v, (-1,)), order, axis=0), (ordered, rank))
    full = S.concat([S.reshape(first, (size, 1)), columns], axis=1)
    truths = first.array.dtype == np.bool_
    op = {"prod": S.all if truths else S.prod, "amax": S.any if truths else S.max, "amin": S.all if truths else S.min}[reduce]
    y = S.reshape(op(full, axis=1), shape)
    return y if y.array.dtype == first.array.dtype else S.astype(y, first.array.dtype)


def _put(x: Any, src: Any, index: Any) -> Any:
    """A copy with what an index picks replaced."""
    if tuple(src.array.shape) != np.empty(x.array.shape, np.int8)[index].shape:
        raise RuntimeError(
            f"expected src to have a size equal to the slice of self. src size = {list(src.array.shape)}, slice size = "
            f"{list(np.empty(x.array.shape, np.int8)[index].shape)}"
        )
    return S.put(x, src, index)


def _select_scatter(x: Any, src: Any, dim: int, index: int) -> Any:
    return _put(x, src, (*[slice(None)] * dimension(dim, len(x.array.shape)), int(index)))


def _slice_scatter(x: Any, src: Any, dim: int, start: Any, end: Any, step: int) -> Any:
    return _put(x, src, (*[slice(None)] * dimension(dim, len(x.array.shape)), slice(start, end, step)))


def _diagonal_scatter(x: Any, src: Any, offset: int, dim1: int, dim2: int) -> Any:
    shape = x.array.shape
    where = wrap(np.arange(x.array.size).reshape(shape)).diagonal(offset, dim1, dim2)
    if tuple(where.array.shape) != tuple(src.array.shape):
        raise RuntimeError("expected src to have a size equal to the slice of self. src size = "
                           f"{list(src.array.shape)}, slice size = {list(where.array.shape)}")  # fmt: skip
    flat = S.put(S.reshape(x, (-1,)), S.reshape(src, (-1,)), np.asarray(where.array).reshape(-1))
    return S.reshape(flat, shape)


def _as_strided_scatter(x: Any, src: Any, size: Any, stride: Any, storage_offset: Any) -> Any:
    """A copy with what `as_strided` shows of it replaced."""
    y = x.clone()
    y.as_strided(size, stride, storage_offset).copy_(src)
    return y


def _index_reduce(x: Any, dim: int, index: Any, source: Any, reduce: str, include_self: bool) -> Any:
    d = dimension(dim, len(x.array.shape))
    if not x.array.shape:
        return _scatter_reduce(x, d, index, source, reduce, include_self)
    wide = wrap(raw_of(index).reshape([-1 if k == d else 1 for k in range(len(source.array.shape))]))
    return _scatter_reduce(x, d, wide.expand(*source.array.shape), source, reduce, include_self)


_NAMES = {k: v for k, v in list(globals().items()) if callable(v)}
define(
    {
        "select_scatter(input, src, dim, index)": "_select_scatter(input, src, dim, index)",
        "slice_scatter(input, src, dim=0, start=None, end=None, step=1)": "_slice_scatter(input, src, dim, start, end, step)",
        "as_strided_scatter(input, src, size, stride, storage_offset=None)":
            "_as_strided_scatter(input, src, size, stride, storage_offset)",
        "diagonal_scatter(input, src, offset=0, dim1=0, dim2=1)": "_diagonal_scatter(input, src, offset, dim1, dim2)",
    },
    _NAMES,
)
define(
    {
        "scatter(input, dim, index, src=None, *, value=None, reduce=None)": "_scatter(input, dim, index, src, value, reduce)",
        "scatter_add(input, dim, index, src)": "_scatter_add(input, dim, index, src)",
        "scatter_reduce(input, dim, index, src, reduce, *, include_self=True)":
            "_scatter_reduce(input, dim, index, src, reduce, include_self)",
        "index_reduce(input, dim, index, source, reduce, *, include_self=True)":
            "_index_reduce(input, dim, index, source, reduce, include_self)",
    },
    _NAMES,
    inplace=True,
)  # fmt: skip
