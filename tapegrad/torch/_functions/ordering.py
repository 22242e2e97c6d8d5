"""Sorting, and what is picked by order: the largest, medians, modes and quantiles."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tapegrad.ops.statistics  # noqa: F401  declares its ops
from tapegrad.kernels.batched import Batched
from tapegrad.torch import _named as named
from tapegrad.torch._functions._build import define
from tapegrad.torch._functions._stacks import on_stacks
from tapegrad.torch._shapes import dimension
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor, wrap


def _order(x: Any, dim: int, descending: bool) -> Any:
    raw = _values_of(x)
    if not descending:
        return np.argsort(raw, axis=dim, kind="stable")
    if raw.dtype.kind == "f":
        nan = np.isnan(raw)  # NaN counts as larger than all numbers
        keys = np.where(nan, -np.inf, -raw)
        order = np.argsort(keys, axis=dim, kind="stable")
        if nan.any() and np.isposinf(raw).any():
            rank = np.where(nan, 0, 1)
            order = np.take_along_axis(
                np.argsort(keys, axis=dim, kind="stable"),
                np.argsort(np.take_along_axis(rank, order, axis=dim), axis=dim, kind="stable"),
                axis=dim,
            )
        return order
    turned = np.flip(np.argsort(np.flip(raw, axis=dim), axis=dim, kind="stable"), axis=dim)
    return raw.shape[dim] - 1 - turned


#: Of so many numbers along an axis a few are found without sorting all of them.
_MANY = 32


def _first_in_order(raw: Any, d: int, k: int, largest: bool) -> Any:
    """The places of the `k` largest, or smallest, numbers along an axis, in their order; NaN is larger than all."""
    n = raw.shape[d]
    if k == 1:
        one = np.expand_dims((np.argmax if largest else np.argmin)(raw, axis=d), d)
        if largest or raw.dtype.kind != "f" or not np.isnan(np.take_along_axis(raw, one, axis=d)).any():
            return one
    part = np.argpartition(raw, n - k if largest else k - 1, axis=d)
    some = np.sort(part[(*[slice(None)] * d, slice(n - k, n) if largest else slice(0, k))], axis=d)
    if largest:  # turned, sorted and turned again, so that of equal ones the first stays first
        some = np.flip(some, axis=d)
    order = np.argsort(np.take_along_axis(raw, some, axis=d), axis=d, kind="stable")
    return np.take_along_axis(some, np.flip(order, axis=d) if largest else order, axis=d)


def _one_in_order(raw: Any, d: int, k: int) -> Any:
    """Where the number is that has `k` others before it along an axis."""
    if raw.shape[d] < _MANY:
        return np.argsort(raw, axis=d, kind="stable")[(*[slice(None)] * d, slice(k, k + 1))]
    return np.argpartition(raw, k, axis=d)[(*[slice(None)] * d, slice(k, k + 1))]


def _values_of(x: Any) -> Any:
    """The bare values, of a dtype that NumPy sorts."""
    raw = np.asarray(x.read()[0])
    return raw.astype(np.float32) if raw.dtype.kind == "V" else raw


def _places_in_order(x: Any, d: int, descending: bool, part: slice = slice(None)) -> Any:
    """The places along an axis in the order of what is there, or those of the order that `part` picks."""
    if type(x.array) is not Batched:
        return wrap(np.ascontiguousarray(_order(x, d, descending)[(*[slice(None)] * d, part)]))
    index = S.argsort(wrap(x.array), axis=d, descending=descending, stable=True)
    return S.getitem(index, (*[slice(None)] * d, part))


def _median_of_batch(x: Any, d: int, skip: bool) -> Any:
    """Where the lower median is; NaN, which is sorted to the end, is it wherever there is any, or is skipped."""
    whole = wrap(x.array)
    nans = S.sum(S.astype(S.isnan(whole), np.int64), axis=d, keepdims=True)
    n = x.array.shape[d]
    lower = S.floor_divide(S.subtract(n - 1, nans), 2)
    k = S.maximum(lower, 0) if skip else S.where(S.greater(nans, 0), S.subtract(n, nans), (n - 1) // 2)
    return S.take_along_axis(_places_in_order(x, d, False), S.astype(k, np.int64), axis=d)


def _sort(x: Any, dim: int, descending: bool, stable: Any) -> Any:
    if x.array.dtype.kind == "c":
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    if not x.array.shape:
        return named.sort(x.clone(), wrap(np.int64(0)))
    d = dimension(dim, len(x.array.shape))
    index = _places_in_order(x, d, descending)
    return named.sort(S.take_along_axis(x, index, axis=d), index)


def _argsort(x: Any, dim: int, descending: bool, stable: Any) -> Any:
    return _sort(x.detach(), dim, descending, stable).indices


def _topk(x: Any, k: int, dim: int, largest: bool, sorted: bool) -> Any:
    if isinstance(k, float):
        raise TypeError("topk(): argument 'k' (position 1) must be int, not float")
    k = int(k)
    d = dimension(dim, len(x.array.shape))
    n = x.array.shape[d] if x.array.shape else 1
    if not 0 <= k <= n:
        raise RuntimeError("selected index k out of range")
    if not x.array.shape:
        return named.topk(x.clone(), wrap(np.int64(0)))
    if type(x.array) is not Batched and n >= _MANY and 0 < k <= n // 4:
        index = wrap(np.ascontiguousarray(_first_in_order(_values_of(x), d, k, largest)))
    else:
        index = _places_in_order(x, d, largest, slice(0, k))
    return named.topk(S.take_along_axis(x, index, axis=d), index)


def _kthvalue(x: Any, k: int, dim: int, keepdim: bool) -> Any:
    d = dimension(dim, len(x.array.shape))
    n = x.array.shape[d] if x.array.shape else 1
    if not 1 <= k <= n:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}")
    if not x.array.shape:
        return named.kthvalue(x.clone(), wrap(np.int64(0)))
    if type(x.array) is Batched:
        index = _places_in_order(x, d, False, slice(k - 1, k))
    else:
        index = wrap(np.ascontiguousarray(_one_in_order(_values_of(x), d, k - 1)))
    return _at(x, d, index, keepdim, named.kthvalue)


def _at(x: Any, d: int, index: Any, keepdim: bool, kind: Any) -> Any:
    y = S.take_along_axis(x, index, axis=d)
    return kind(y, index) if keepdim else kind(S.squeeze(y, d), S.squeeze(index, d))


def _with_ties(x: Any, y: Any) -> Any:
    """The median of all elements, of which those that are equal to it share the derivative equally."""
    equal = S.equal(wrap(x.array), wrap(y.array))
    number = S.sum(S.astype(equal, x.array.dtype))
    if type(number.array) is not Batched and number.array <= 1:  # of NaN none are
        return y
    return S.add(wrap(y.array), S.divide(S.sum(S.where(equal, S.subtract(x, wrap(y.array)), 0.0)), number))


def _median(x: Any, dim: Any, keepdim: bool, skip: bool = False) -> Any:
    kind = named.nanmedian if skip else named.median
    if dim is None:
        if not math.prod(x.array.shape):
            return S.multiply(S.sum(x), math.nan)
        y = _median(S.reshape(x, (-1,)), 0, False, skip).values
        return y if x.node is None else _with_ties(x, y)
    d = dimension(dim, len(x.array.shape))
    if not x.array.shape:
        return kind(x.clone(), wrap(np.int64(0)))
    n = x.array.shape[d]
    if type(x.array) is Batched:
        return _at(x, d, _median_of_batch(x, d, skip), keepdim, kind)
    raw = _values_of(x)
    if raw.dtype.kind != "f" or not np.isnan(raw).any():
        return _at(x, d, wrap(np.ascontiguousarray(_one_in_order(raw, d, (n - 1) // 2))), keepdim, kind)
    order = _order(x, d, False)
    nans = np.isnan(raw).sum(axis=d, keepdims=True)
    k = np.where(nans > 0, np.maximum((n - nans - 1) // 2, 0) if skip else n - nans, (n - 1) // 2)
    return _at(x, d, wrap(np.take_along_axis(order, k, axis=d)), keepdim, kind)


@on_stacks()
def _mode(x: Any, dim: int, keepdim: bool) -> Any:
    d = dimension(dim, len(x.array.shape))
    if not x.array.shape:
        return named.mode(x.clone(), wrap(np.int64(0)))
    raw = np.moveaxis(np.asarray(x.read()[0]), d, -1)
    found = np.empty(raw.shape[:-1], np.int64)
    for i in np.ndindex(*raw.shape[:-1]):
        values, counts = np.unique(raw[i], return_counts=True)
        best = values[counts.argmax()]
        found[i] = np.flatnonzero(raw[i] == best if not np.isnan(best) else np.isnan(raw[i]))[-1]  # NaN is not equal to itself
    return _at(x, d, wrap(np.expand_dims(found, d)), keepdim, named.mode)


def _quantile(op: Any, x: Any, q: Any, dim: Any, keepdim: bool, interpolation: str) -> Any:
    parts = q if isinstance(q, Tensor) else np.asarray(q, x.array.dtype)
    values = np.asarray(q.array if isinstance(q, Tensor) else parts)
    if ((values < 0) | (values > 1)).any():
        raise RuntimeError("quantile() q must be in the range [0, 1]")
    if interpolation not in ("linear", "lower", "higher", "midpoint", "nearest"):
        raise RuntimeError(
            "quantile() interpolation must be one of linear, lower, higher, midpoint or nearest, but got " + str(interpolation)
        )
    d = None if dim is None or not x.array.shape else dimension(dim, len(x.array.shape))
    if not isinstance(q, Tensor) or q.node is None:
        return op(x, parts, axis=d, keepdims=keepdim, method=interpolation)
    y = op(x, q.detach(), axis=d, keepdims=keepdim, method=interpolation)
    return y if interpolation != "linear" else S.add(y, _slope(op, x, q, d, keepdim))


def _slope(op: Any, x: Any, q: Any, d: int | None, keepdim: bool) -> Any:
    """Zeros, whose derivative for `q` is that of a quantile between two neighbours."""
    low, high = (op(x, q.detach(), axis=d, keepdims=keepdim, method=method) for method in ("lower", "higher"))
    count: Any = (math.prod(x.array.shape) if d is None else x.array.shape[d]) - 1
    if op is S.nanquantile:
        there = S.astype(S.logical_not(S.isnan(x)), x.array.dtype)
        count = S.subtract(S.sum(there, axis=d, keepdims=keepdim), 1)
    step = S.subtract(q, q.detach())
    step = S.reshape(step, (*q.array.shape, *[1] * (len(low.array.shape) - len(q.array.shape))))
    return S.multiply(S.multiply(step, count), S.subtract(high, low))


define(
    {
        "sort(input, dim=-1, descending=False, stable=None)": "_sort(input, dim, descending, stable)",
        "msort(input)": "_sort(input, 0, False, None).values",
        "argsort(input, dim=-1, descending=False, stable=None)": "_argsort(input, dim, descending, stable)",
        "topk(input, k, dim=-1, largest=True, sorted=True)": "_topk(input, k, dim, largest, sorted)",
        "kthvalue(input, k, dim=-1, keepdim=False)": "_kthvalue(input, k, dim, keepdim)",
        "median(input, dim=None, keepdim=False)": "_median(input, dim, keepdim)",
        "nanmedian(input, dim=None, keepdim=False)": "_median(input, dim, keepdim, True)",
        "mode(input, dim=-1, keepdim=False)": "_mode(input, dim, keepdim)",
        "quantile(input, q, dim=None, keepdim=False, *, interpolation='linear')":
            "_quantile(S.quantile, input, q, dim, keepdim, interpolation)",
        "nanquantile(input, q, dim=None, keepdim=False, *, interpolation='linear')":
            "_quantile(S.nanquantile, input, q, dim, keepdim, interpolation)",
    },
    {k: v for k, v in list(globals().items()) if callable(v)},
)  # fmt: skip
