"""Sums, means, extremes and what else takes axes away; running sums; sorting."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.torch import _named as named
from tapegrad.torch._dtypes import DEFAULT, numpy_of
from tapegrad.torch._functions._build import define
from tapegrad.torch._shapes import dimension
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor, wrap

_I64 = np.dtype(np.int64)


def _axis(dim: Any) -> Any:
    """`dim` as an op takes it: None for all, an integer, or a tuple."""
    if dim is None or type(dim) is int:
        return dim
    if isinstance(dim, (list, tuple)):
        return tuple(int(d) for d in dim) if len(dim) else None
    return dim.__index__()


def _cast(x: Any, dtype: Any) -> Any:
    return S.astype(x, numpy_of(dtype))


def _counting(x: Any, dtype: Any) -> Any:
    """Integers and truth values are added up in int64."""
    if dtype is not None:
        return _cast(x, dtype)
    return S.astype(x, _I64) if x.array.dtype.kind in "bui" and x.array.dtype != _I64 else x


def _sum(x: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dtype is not None or x.array.dtype.kind in "bui":
        x = _counting(x, dtype)
    return S.sum(x, axis=dim if dim is None or type(dim) is int else _axis(dim), keepdims=keepdim)


def _floating(x: Any, name: str, dtype: Any = None) -> Any:
    if dtype is not None:
        return _cast(x, dtype)
    if x.array.dtype.kind in "bui":
        kind = {"b": "Bool"}.get(x.array.dtype.kind) or _scalar(x)
        raise RuntimeError(
            f"{name}(): could not infer output dtype. Input dtype must be either a floating point or complex dtype. Got: {kind}"
        )
    return x


def _scalar(x: Any) -> str:
    from tapegrad.torch._dtypes import SCALAR_TYPES

    return SCALAR_TYPES[x.dtype]


def _mean(x: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dtype is not None or x.array.dtype.kind in "bui":
        x = _floating(x, "mean", dtype)
    if not x.array.shape and dim is None:
        return S.positive(x)
    if not math.prod(x.array.shape):
        return S.divide(S.sum(x, axis=_axis(dim), keepdims=keepdim), 0.0)
    return S.mean(x, axis=dim if dim is None or type(dim) is int else _axis(dim), keepdims=keepdim)


def _correction(unbiased: Any, correction: Any) -> float:
    if unbiased is not None and correction is None:
        return 1.0 if unbiased else 0.0
    return 1.0 if correction is None else float(correction)


def _spread(op: str, x: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> Any:
    if isinstance(dim, bool):  # var(unbiased), by position
        dim, unbiased = None, dim
    x = _floating(x, op)
    ddof = _correction(unbiased, correction)
    axis = _axis(dim)
    n = _count(x, axis)
    if n - ddof <= 0:
        kept = S.sum(x, axis=axis, keepdims=keepdim)
        return S.multiply(kept, math.nan) if n <= ddof else kept
    return getattr(S, op)(x, axis=axis, correction=ddof, keepdims=keepdim)


def _count(x: Any, axis: Any) -> int:
    shape = x.array.shape
    if axis is None:
        return math.prod(shape)
    axes = axis if isinstance(axis, tuple) else (axis,)
    return math.prod(shape[dimension(d, len(shape))] for d in axes) if shape else 1


def _std_mean(op: str, x: Any, dim: Any, unbiased: Any, keepdim: bool, correction: Any) -> Any:
    if isinstance(dim, bool):
        dim, unbiased = None, dim
    return _spread(op, x, dim, unbiased, keepdim, correction), S.mean(x, axis=_axis(dim), keepdims=keepdim)


def _extreme(op: str, x: Any, dim: Any, keepdim: Any) -> Any:
    """`max` in its three forms: of all, along an axis with indices, of two tensors."""
    if isinstance(dim, Tensor):
        return (S.maximum if op == "max" else S.minimum)(x, dim)
    if x.array.dtype.kind == "c":
        raise NotImplementedError(f"\"{op}_{'all' if dim is None else 'values_cpu'}\" not implemented for '{_scalar(x)}'")
    if dim is None:
        if not math.prod(x.array.shape):
            raise RuntimeError(
                f"{op}(): Expected reduction dim to be specified for input.numel() == 0. Specify the reduction dim with the "
                "'dim' argument."
            )
        return _shared_extreme(op, x, None, False)
    d = _checked(x, dim, op)
    if not x.array.shape:
        return getattr(named, op)(S.positive(x), wrap(np.int64(0)))
    where = (S.argmax if op == "max" else S.argmin)(x, axis=d, keepdims=True)
    y = S.take_along_axis(x, where, axis=d)
    if not keepdim:
        y, where = S.squeeze(y, d), S.squeeze(where, d)
    return getattr(named, op)(y, where)


def _shared_extreme(op: str, x: Any, axis: Any, keepdim: bool) -> Any:
    if x.array.dtype.kind == "b":
        return (S.any if op == "max" else S.all)(x, axis=axis, keepdims=keepdim)
    return getattr(S, op)(x, axis=axis, keepdims=keepdim)


def _checked(x: Any, dim: Any, name: str) -> int:
    n = len(x.array.shape)
    d = dimension(dim, n)
    if n and not x.array.shape[d]:
        raise IndexError(f"{name}(): Expected reduction dim {d} to have non-zero size.")
    return d


def _arg(op: Any, name: str, x: Any, dim: Any, keepdim: bool) -> Any:
    if x.array.dtype.kind == "c":
        raise RuntimeError(f"{name}(): does not support complex input")
    if dim is None:
        if not math.prod(x.array.shape):
            raise IndexError(f"{name}(): Expected reduction dim to be specified for input.numel() == 0.")
        y = op(S.reshape(x, (-1,)), axis=0)
        return S.reshape(y, (1,) * len(x.array.shape)) if keepdim else y
    d = _checked(x, dim, name)
    return op(x, axis=d, keepdims=keepdim) if x.array.shape else wrap(np.int64(0))


def _any(op: Any, x: Any, dim: Any, keepdim: bool) -> Any:
    y = op(x, axis=_axis(dim), keepdims=keepdim)
    return S.astype(y, x.array.dtype) if x.array.dtype == np.uint8 else y


def _prod(x: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    axis = _axis(dim)
    if not x.array.shape and type(axis) is int:
        dimension(axis, 0)  # 0 and -1 are all that a tensor without axes takes
        axis = None
    return S.prod(_counting(x, dtype), axis=axis, keepdims=keepdim)


def _nansum(x: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if x.array.dtype.kind in "fVc":
        x = S.where(S.isnan(x), 0.0, x)
    return _sum(x, dim, keepdim, dtype)


def _nanmean(x: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    x = _floating(x, "nanmean", dtype)
    n = _sum(S.logical_not(S.isnan(x)), dim, keepdim, None)
    return S.divide(_nansum(x, dim, keepdim, None), S.astype(n, x.array.dtype))


def _logsumexp(x: Any, dim: Any, keepdim: bool) -> Any:
    if x.array.dtype.kind in "bui":
        x = S.astype(x, DEFAULT[0].numpy)
    return S.logsumexp(x, axis=_axis(dim), keepdims=keepdim)


def _running(op: Any, x: Any, dim: int, dtype: Any) -> Any:
    d = dimension(dim, len(x.array.shape))
    return op(_counting(x, dtype), axis=d) if x.array.shape else _counting(x, dtype).clone()


def _best_so_far(op: str, x: Any, dim: int) -> Any:
    """The running extreme and where it is: of several, the last."""
    d = dimension(dim, len(x.array.shape))
    raw = np.asarray(x.read()[0])
    if not raw.ndim:
        return getattr(named, f"cum{op}")(S.positive(x), wrap(np.int64(0)))
    best = (np.maximum if op == "max" else np.minimum).accumulate(raw, axis=d)
    new = (raw == best) | np.isnan(raw) if raw.dtype.kind == "f" else raw == best
    place = np.arange(raw.shape[d]).reshape((-1, *[1] * (raw.ndim - 1 - d)))
    where = np.maximum.accumulate(np.where(new, place, 0), axis=d)
    index = wrap(where)
    return getattr(named, f"cum{op}")(S.take_along_axis(x, index, axis=d), index)


def _logcumsumexp(x: Any, dim: int) -> Any:
    d = dimension(dim, len(x.array.shape))
    top = wrap(np.maximum.accumulate(np.asarray(x.read()[0]), axis=d))  # any shift gives the same value
    n = x.array.shape[d]
    rows = [
        S.logsumexp(S.getitem(x, (*[slice(None)] * d, slice(0, i + 1))), axis=d, keepdims=True) for i in range(n)
    ]
    return S.concat(rows, axis=d) if rows else S.add(x, top)


# -- sorting ---------------------------------------------------------------------------------------------------
def _order(x: Any, dim: int, descending: bool) -> Any:
    raw = np.asarray(x.read()[0])
    if raw.dtype.kind == "V":
        raw = raw.astype(np.float32)
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


def _sort(x: Any, dim: int, descending: bool, stable: Any) -> Any:
    if x.array.dtype.kind == "c":
        raise RuntimeError(" Sort does not support complex dtypes on CPU")
    if not x.array.shape:
        return named.sort(S.positive(x), wrap(np.int64(0)))
    d = dimension(dim, len(x.array.shape))
    index = wrap(_order(x, d, descending))
    return named.sort(S.take_along_axis(x, index, axis=d), index)


def _argsort(x: Any, dim: int, descending: bool, stable: Any) -> Any:
    return _sort(x.detach(), dim, descending, stable).indices


def _topk(x: Any, k: int, dim: int, largest: bool, sorted: bool) -> Any:
    k = int(k)
    d = dimension(dim, len(x.array.shape))
    n = x.array.shape[d] if x.array.shape else 1
    if not 0 <= k <= n:
        raise RuntimeError("selected index k out of range")
    if not x.array.shape:
        return named.topk(S.positive(x), wrap(np.int64(0)))
    order = _order(x, d, largest)
    index = wrap(np.ascontiguousarray(order[(*[slice(None)] * d, slice(0, k))]))
    return named.topk(S.take_along_axis(x, index, axis=d), index)


def _kthvalue(x: Any, k: int, dim: int, keepdim: bool) -> Any:
    d = dimension(dim, len(x.array.shape))
    n = x.array.shape[d] if x.array.shape else 1
    if not 1 <= k <= n:
        raise RuntimeError(f"kthvalue(): selected number k out of range for dimension {d}")
    return _at(x, d, wrap(_order(x, d, False)[(*[slice(None)] * d, slice(k - 1, k))]), keepdim, named.kthvalue)


def _at(x: Any, d: int, index: Any, keepdim: bool, kind: Any) -> Any:
    y = S.take_along_axis(x, index, axis=d)
    return kind(y, index) if keepdim else kind(S.squeeze(y, d), S.squeeze(index, d))


def _median(x: Any, dim: Any, keepdim: bool, skip: bool = False) -> Any:
    kind = named.nanmedian if skip else named.median
    if dim is None:
        if not math.prod(x.array.shape):
            return S.multiply(S.sum(x), math.nan)
        return _median(S.reshape(x, (-1,)), 0, False, skip).values
    d = dimension(dim, len(x.array.shape))
    if not x.array.shape:
        return kind(S.positive(x), wrap(np.int64(0)))
    raw = np.asarray(x.read()[0])
    order = _order(x, d, False)
    n = raw.shape[d]
    k = np.full((*raw.shape[:d], 1, *raw.shape[d + 1 :]), (n - 1) // 2)
    if raw.dtype.kind == "f":
        nans = np.isnan(raw).sum(axis=d, keepdims=True)
        k = np.where(nans > 0, np.maximum((n - nans - 1) // 2, 0) if skip else n - nans, k)
    return _at(x, d, wrap(np.take_along_axis(order, k, axis=d)), keepdim, kind)


def _mode(x: Any, dim: int, keepdim: bool) -> Any:
    d = dimension(dim, len(x.array.shape))
    if not x.array.shape:
        return named.mode(S.positive(x), wrap(np.int64(0)))
    raw = np.moveaxis(np.asarray(x.read()[0]), d, -1)
    found = np.empty(raw.shape[:-1], np.int64)
    for i in np.ndindex(*raw.shape[:-1]):
        values, counts = np.unique(raw[i], return_counts=True)
        found[i] = np.flatnonzero(raw[i] == values[counts.argmax()])[-1]
    return _at(x, d, wrap(np.expand_dims(found, d)), keepdim, named.mode)


def _quantile(x: Any, q: Any, dim: Any, keepdim: bool, interpolation: str, skip: bool = False) -> Any:
    raw = q.array if isinstance(q, Tensor) else np.asarray(q, x.array.dtype)
    parts = np.atleast_1d(np.asarray(raw, np.float64))
    if ((parts < 0) | (parts > 1)).any():
        raise RuntimeError("quantile() q must be in the range [0, 1]")
    y = S.reshape(x, (-1,)) if dim is None else x
    d = 0 if dim is None else dimension(dim, len(x.array.shape))
    sorted_ = _sort(y, d, False, None).values
    n = y.array.shape[d]
    found = []
    for p in parts:
        at = p * (n - 1)
        low, high = math.floor(at), math.ceil(at)
        part = {"lower": 0.0, "higher": 1.0, "midpoint": 0.5, "nearest": float(round(at) == high)}.get(
            interpolation, at - low
        )
        a, b = (S.getitem(sorted_, (*[slice(None)] * d, slice(i, i + 1))) for i in (low, high))
        found.append(a if low == high else _between(a, b, part))
    keep = [v if keepdim else S.squeeze(v, d) for v in found]
    if keepdim and dim is None:
        keep = [S.reshape(v, (1,) * len(x.array.shape)) for v in keep]
    return keep[0] if np.ndim(raw) == 0 else S.stack(keep, axis=0)


def _nanquantile(x: Any, q: Any, dim: Any, keepdim: bool, interpolation: str) -> Any:
    """The quantile of those of each row that are not NaN."""
    d = 0 if dim is None else dimension(dim, len(x.array.shape))
    rows = S.reshape(x, (-1,)) if dim is None else S.moveaxis(x, d, -1)
    flat = S.reshape(rows, (-1, rows.array.shape[-1]))
    found = []
    for i in range(flat.array.shape[0]):
        row = S.getitem(flat, i)
        kept = np.flatnonzero(~np.isnan(np.asarray(row.array)))
        found.append(_quantile(S.take(row, kept, axis=0) if len(kept) else S.getitem(row, slice(0, 1)), q, None, False, interpolation))
    many = len(found[0].array.shape)
    y = S.stack(found, axis=-1)
    shape = rows.array.shape[:-1]
    y = S.reshape(y, (*y.array.shape[:many], *shape))
    if keepdim:
        at = [1] * len(x.array.shape) if dim is None else [*x.array.shape[:d], 1, *x.array.shape[d + 1 :]]
        y = S.reshape(y, (*y.array.shape[:many], *at))
    return y


def _between(a: Any, b: Any, part: float) -> Any:
    return S.add(a, S.multiply(S.subtract(b, a), part))


def _norm(x: Any, p: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    from tapegrad.torch.linalg import matrix_norm, vector_norm

    if dtype is not None:
        x = _cast(x, dtype)
    if p in ("fro", None):
        return vector_norm(x, 2, dim, keepdim)
    if p == "nuc":
        return matrix_norm(x, "nuc", (-2, -1) if dim is None else dim, keepdim)
    return vector_norm(x, p, dim, keepdim)


def _aminmax(x: Any, dim: Any, keepdim: bool) -> Any:
    return named.aminmax(_shared_extreme("min", x, _axis(dim), keepdim), _shared_extreme("max", x, _axis(dim), keepdim))


_BOTH = {
    "sum(input, dim=None, keepdim=False, *, dtype=None)": "_sum(input, dim, keepdim, dtype)",
    "mean(input, dim=None, keepdim=False, *, dtype=None)": "_mean(input, dim, keepdim, dtype)",
    "prod(input, dim=None, keepdim=False, *, dtype=None)": "_prod(input, dim, keepdim, dtype)",
    "nansum(input, dim=None, keepdim=False, *, dtype=None)": "_nansum(input, dim, keepdim, dtype)",
    "nanmean(input, dim=None, keepdim=False, *, dtype=None)": "_nanmean(input, dim, keepdim, dtype)",
    "std(input, dim=None, unbiased=None, keepdim=False, *, correction=None)":
        "_spread('std', input, dim, unbiased, keepdim, correction)",
    "var(input, dim=None, unbiased=None, keepdim=False, *, correction=None)":
        "_spread('var', input, dim, unbiased, keepdim, correction)",
    "max(input, dim=None, keepdim=False)": "_extreme('max', input, dim, keepdim)",
    "min(input, dim=None, keepdim=False)": "_extreme('min', input, dim, keepdim)",
    "amax(input, dim=(), keepdim=False)": "_shared_extreme('max', input, _axis(dim), keepdim)",
    "amin(input, dim=(), keepdim=False)": "_shared_extreme('min', input, _axis(dim), keepdim)",
    "aminmax(input, *, dim=None, keepdim=False)": "_aminmax(input, dim, keepdim)",
    "argmax(input, dim=None, keepdim=False)": "_arg(S.argmax, 'argmax', input, dim, keepdim)",
    "argmin(input, dim=None, keepdim=False)": "_arg(S.argmin, 'argmin', input, dim, keepdim)",
    "all(input, dim=None, keepdim=False)": "_any(S.all, input, dim, keepdim)",
    "any(input, dim=None, keepdim=False)": "_any(S.any, input, dim, keepdim)",
    "logsumexp(input, dim, keepdim=False)": "_logsumexp(input, dim, keepdim)",
    "cumsum(input, dim, *, dtype=None)": "_running(S.cumulative_sum, input, dim, dtype)",
    "cumprod(input, dim, *, dtype=None)": "_running(S.cumulative_prod, input, dim, dtype)",
    "cummax(input, dim)": "_best_so_far('max', input, dim)",
    "cummin(input, dim)": "_best_so_far('min', input, dim)",
    "logcumsumexp(input, dim)": "_logcumsumexp(input, dim)",
    "sort(input, dim=-1, descending=False, stable=None)": "_sort(input, dim, descending, stable)",
    "msort(input)": "_sort(input, 0, False, None).values",
    "argsort(input, dim=-1, descending=False, stable=None)": "_argsort(input, dim, descending, stable)",
    "topk(input, k, dim=-1, largest=True, sorted=True)": "_topk(input, k, dim, largest, sorted)",
    "kthvalue(input, k, dim=-1, keepdim=False)": "_kthvalue(input, k, dim, keepdim)",
    "median(input, dim=None, keepdim=False)": "_median(input, dim, keepdim)",
    "nanmedian(input, dim=None, keepdim=False)": "_median(input, dim, keepdim, True)",
    "mode(input, dim=-1, keepdim=False)": "_mode(input, dim, keepdim)",
    "quantile(input, q, dim=None, keepdim=False, *, interpolation='linear')":
        "_quantile(input, q, dim, keepdim, interpolation)",
    "nanquantile(input, q, dim=None, keepdim=False, *, interpolation='linear')":
        "_nanquantile(input, q, dim, keepdim, interpolation)",
    "count_nonzero(input, dim=None)": "S.count_nonzero(input, axis=_axis(dim))",
    "norm(input, p='fro', dim=None, keepdim=False, dtype=None)": "_norm(input, p, dim, keepdim, dtype)",
}  # fmt: skip
_FUNCTIONS_ONLY = {
    "std_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None)":
        "_std_mean('std', input, dim, unbiased, keepdim, correction)",
    "var_mean(input, dim=None, unbiased=None, keepdim=False, *, correction=None)":
        "_std_mean('var', input, dim, unbiased, keepdim, correction)",
}  # fmt: skip
_NAMES = {k: v for k, v in list(globals().items()) if callable(v)}
define(_BOTH, _NAMES)
define({k: _BOTH[k] for k in _BOTH if k.startswith(("cumsum(", "cumprod("))}, _NAMES, functions=False, methods=False, inplace=True)
define(_FUNCTIONS_ONLY, _NAMES, methods=False)
