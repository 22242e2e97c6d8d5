"""Sums, means, extremes and what else takes axes away; running sums."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.torch import _named as named
from tapegrad.torch._dtypes import DEFAULT, SCALAR_TYPES, numpy_of
from tapegrad.torch._functions._build import define
from tapegrad.torch._functions._stacks import on_stacks
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


def _of_none(dim: Any) -> None:
    """The axes of a tensor without any: 0 and -1 are all that it takes."""
    for d in () if dim is None else dim if isinstance(dim, list | tuple) else (dim,):
        dimension(d, 0)


def _sum(x: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dtype is not None or x.array.dtype.kind in "bui":
        x = _counting(x, dtype)
    if dim is not None and not x.array.shape:
        _of_none(dim)
        dim = None
    axis = dim if dim is None or type(dim) is int else _axis(dim)
    return S.sum(x, axis=axis, keepdims=keepdim) if dtype is None else _kept(S.sum, x, axis=axis, keepdims=keepdim)


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
    if dtype is not None and not (dtype.is_floating_point or dtype.is_complex):
        raise RuntimeError(
            "mean(): could not infer output dtype. Optional dtype must be either a floating point or complex dtype. Got: "
            f"{SCALAR_TYPES[dtype]}"
        )
    if dtype is not None or x.array.dtype.kind in "bui":
        x = _floating(x, "mean", dtype)
    if not x.array.shape:
        _of_none(dim)
        return x.clone()
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
        return getattr(named, op)(x.clone(), wrap(np.int64(0)))
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
    return _kept(S.prod, _counting(x, dtype), axis=axis, keepdims=keepdim)


def _kept(op: Any, x: Any, **words: Any) -> Any:
    """A reduction in the dtype of what is reduced, where NumPy takes a wider one for small integers."""
    y = op(x, **words)
    return y if y.array.dtype == x.array.dtype else S.astype(y, x.array.dtype)


def _nansum(x: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if x.array.dtype.kind in "fVc":
        x = S.where(S.isnan(x), x.array.dtype.type(0), x)
    return _sum(x, dim, keepdim, dtype)


def _nanmean(x: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    x = _floating(x, "nanmean", dtype)
    n = _sum(S.logical_not(S.isnan(x)), dim, keepdim, None)
    return S.divide(_nansum(x, dim, keepdim, None), S.astype(n, x.array.dtype))


def _logsumexp(x: Any, dim: Any, keepdim: bool) -> Any:
    if x.array.dtype.kind in "bui":
        x = S.astype(x, DEFAULT[0].numpy)
    axis = _axis(dim)
    if not x.array.shape:
        _of_none(axis)
        axis = None
    return S.logsumexp(x, axis=axis, keepdims=keepdim)


def _running(op: Any, x: Any, dim: int, dtype: Any) -> Any:
    d = dimension(dim, len(x.array.shape))
    return _kept(op, _counting(x, dtype), axis=d) if x.array.shape else _counting(x, dtype).clone()


def _best_so_far(op: str, x: Any, dim: int) -> Any:
    return (_most_so_far if op == "max" else _least_so_far)(x, dim)


@on_stacks()
def _most_so_far(x: Any, dim: int) -> Any:
    return _so_far("max", x, dim)


@on_stacks()
def _least_so_far(x: Any, dim: int) -> Any:
    return _so_far("min", x, dim)


def _so_far(op: str, x: Any, dim: int) -> Any:
    """The running extreme and where it is: of several, the last."""
    d = dimension(dim, len(x.array.shape))
    raw = np.asarray(x.read()[0])
    if not raw.ndim:
        return getattr(named, f"cum{op}")(x.clone(), wrap(np.int64(0)))
    best = (np.maximum if op == "max" else np.minimum).accumulate(raw, axis=d)
    new = (raw == best) | np.isnan(raw) if raw.dtype.kind == "f" else raw == best
    place = np.arange(raw.shape[d]).reshape((-1, *[1] * (raw.ndim - 1 - d)))
    where = np.maximum.accumulate(np.where(new, place, 0), axis=d)
    index = wrap(where)
    return getattr(named, f"cum{op}")(S.take_along_axis(x, index, axis=d), index)


def _logcumsumexp(x: Any, dim: int) -> Any:
    """Each element joined with the one 1, 2, 4, ... places before: log2(n) steps, of which none can overflow."""
    d, y, step = dimension(dim, len(x.array.shape)), x, 1
    if not x.array.shape:
        return x.clone()
    while step < x.array.shape[d]:
        head, rest, before = (S.getitem(y, (*[slice(None)] * d, part)) for part in _shifted(step))
        y = S.concat([head, _log_of_both(rest, before)], axis=d)
        step *= 2
    return x.clone() if y is x else y


def _shifted(step: int) -> tuple[slice, slice, slice]:
    return slice(0, step), slice(step, None), slice(0, -step)


def _log_of_both(a: Any, b: Any) -> Any:
    """log(exp(a) + exp(b)); NumPy's logaddexp has no complex numbers."""
    return S.logsumexp(S.stack([a, b], axis=0), axis=0) if a.array.dtype.kind == "c" else S.logaddexp(a, b)


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
