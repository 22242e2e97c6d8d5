"""NumPy's functions that are written in several of ours."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.core.tensor import Tensor
from tapegrad.errors import ArgumentError
from tapegrad.ops.convert import asarray
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


def public(name: str) -> Callable[..., Any]:
    """Our public function of this name."""
    found: Any = sys.modules["tapegrad"]
    for part in name.split("."):
        found = getattr(found, part, None)
    if found is None:
        raise ArgumentError(f"tapegrad.{name} is not there, so NumPy's function of that meaning cannot be recorded")
    return found


# -- universal functions -------------------------------------------------------------------------------
def read(x: Any, *, copy: bool | None = None) -> Any:
    """A tensor as it is, and anything else as NumPy reads it: Python floats in double precision."""
    return asarray(x if isinstance(x, Tensor) else np.asarray(x), copy=copy)


def values_of(x: Any) -> Any:
    """What NumPy reads, of a tensor its values: for places, counts and conditions."""
    return np.asarray(x.read()[0]) if isinstance(x, Tensor) else np.asarray(x)


def _fmax(x1: Any, x2: Any) -> Any:
    return F.where(F.isnan(x1), x2, F.where(F.isnan(x2), x1, F.maximum(x1, x2)))


def _fmin(x1: Any, x2: Any) -> Any:
    return F.where(F.isnan(x1), x2, F.where(F.isnan(x2), x1, F.minimum(x1, x2)))


def _logaddexp2(x1: Any, x2: Any) -> Any:
    return F.logaddexp(x1 * math.log(2), x2 * math.log(2)) / math.log(2)


def _heaviside(x1: Any, x2: Any) -> Any:
    x = read(x1)
    step = F.astype(F.greater(x, 0), np.result_type(x.dtype, np.float16))
    return F.where(F.isnan(x), x, F.where(F.equal(x, 0), x2, step))


def _scaled(x: Any, exponents: Any) -> Any:
    """x times powers of 2, in three steps, for one power may be too large for a number where the product is not."""
    kind = np.result_type(x.dtype, np.float16)
    limits = np.finfo(kind)
    left = np.clip(exponents, -(reach := limits.maxexp - limits.minexp + limits.nmant), reach)
    for parts in (3, 2, 1):
        step = left // parts
        x, left = x * read(np.ldexp(np.ones((), kind), step)), left - step
    return x


def _frexp(x: Any) -> Any:
    """The mantissa, which moves with x as long as the exponent stays, and the exponent."""
    exponents = np.frexp(values_of(x))[1]
    return _scaled(read(x), -exponents), read(exponents)


#: Ufuncs that are written in several ops.
UFUNC_COMPOSITIONS: dict[str, Callable[..., Any]] = {
    "deg2rad": lambda x: x * (math.pi / 180),
    "degrees": lambda x: x * (180 / math.pi),
    "divmod": lambda x1, x2: (F.floor_divide(x1, x2), F.remainder(x1, x2)),
    "exp2": lambda x: F.pow(2.0, x),
    "fmax": _fmax,
    "fmin": _fmin,
    "heaviside": _heaviside,
    "logaddexp2": _logaddexp2,
    "ldexp": lambda x1, x2: _scaled(read(x1), values_of(x2)),
    "frexp": _frexp,
    "modf": lambda x: (x - F.trunc(x), F.trunc(x)),
    "rad2deg": lambda x: x * (180 / math.pi),
    "radians": lambda x: x * (math.pi / 180),
    "matvec": lambda x1, x2: F.squeeze(F.matmul(x1, F.expand_dims(x2, axis=-1)), -1),
    "vecmat": lambda x1, x2: F.squeeze(F.matmul(F.expand_dims(F.conj(x1), axis=-2), x2), -2),
}


# -- other functions -------------------------------------------------------------------------------------
def _flat(x: Any) -> Any:
    return F.reshape(x, (-1,))


def _cumulative(name: str) -> Callable[..., Any]:
    def run(x: Any, /, *, axis: int | None = None, dtype: Any = None) -> Any:
        function = getattr(F, name)
        return function(_flat(x), axis=0, dtype=dtype) if axis is None else function(x, axis=axis, dtype=dtype)

    return run


def _diff(x: Any, /, *, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """NumPy takes a number, or anything that it reads as an array, to put before and behind."""
    index = axis % x.ndim if x.ndim else 0
    edge = tuple(1 if i == index else k for i, k in enumerate(x.shape))

    def end(v: Any) -> Any:
        if v is None:
            return None
        v = read(v)
        return F.broadcast_to(v, edge) if v.ndim == 0 else v

    return F.diff(x, axis=axis, n=n, prepend=end(prepend), append=end(append))


def _around(x: Any, /, *, decimals: int = 0) -> Any:
    if decimals == 0 or x.dtype.kind in "biu":
        return F.round(x)
    return F.round(x * 10.0**decimals) / 10.0**decimals


def _transpose(x: Any, /, *, axes: Any = None) -> Any:
    return F.permute_dims(x, tuple(range(x.ndim))[::-1] if axes is None else tuple(axes))


def _swapaxes(x: Any, /, *, axis1: int, axis2: int) -> Any:
    order = list(range(x.ndim))
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return F.permute_dims(x, tuple(order))


def _squeeze(x: Any, /, *, axis: Any = None) -> Any:
    return F.squeeze(x, tuple(i for i, n in enumerate(x.shape) if n == 1) if axis is None else axis)


def _at_least(rank: int) -> Callable[..., Any]:
    def one(x: Any) -> Any:
        x = read(x)
        if rank == 3 and x.ndim in (1, 2):
            return F.reshape(x, (1, *x.shape, 1) if x.ndim == 1 else (*x.shape, 1))
        return F.reshape(x, (1,) * (rank - x.ndim) + x.shape) if x.ndim < rank else x

    def run(*arrays: Any) -> Any:
        found = tuple(map(one, arrays))
        return found[0] if len(found) == 1 else found

    return run


def _vstack(arrays: Sequence[Any], /) -> Any:
    return F.concat([_at_least(2)(x) for x in arrays], axis=0)


def _hstack(arrays: Sequence[Any], /) -> Any:
    raised = [_at_least(1)(x) for x in arrays]
    return F.concat(raised, axis=0 if raised[0].ndim == 1 else 1)


def _dstack(arrays: Sequence[Any], /) -> Any:
    return F.concat([_at_least(3)(x) for x in arrays], axis=2)


def _column_stack(arrays: Sequence[Any], /) -> Any:
    columns = [read(x) for x in arrays]
    return F.concat([F.reshape(x, (-1, 1)) if x.ndim < 2 else x for x in columns], axis=1)


def _append(x: Any, values: Any, /, *, axis: int | None = None) -> Any:
    return F.concat([read(x), read(values)], axis=axis)


def _split(x: Any, sections: Any, /, *, axis: int = 0) -> list[Any]:
    return list(F.split(x, tuple(int(i) for i in sections) if hasattr(sections, "__iter__") else int(sections), axis=axis))


def _array_split(x: Any, sections: Any, /, *, axis: int = 0) -> list[Any]:
    if not hasattr(sections, "__iter__"):
        each, more = divmod(x.shape[axis], sections)
        sizes = [each + 1] * more + [each] * (sections - more)
        sections = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
    return _split(x, sections, axis=axis)


def _fliplr(x: Any, /) -> Any:
    return F.flip(x, axis=1)


def _flipud(x: Any, /) -> Any:
    return F.flip(x, axis=0)


def _diag(x: Any, /, *, k: int = 0) -> Any:
    x = read(x)
    return F.put_diagonal(x, offset=k) if x.ndim == 1 else F.diagonal(x, offset=k)


def _diagonal(x: Any, /, *, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    return F.diagonal(F.moveaxis(x, (axis1, axis2), (-2, -1)), offset=offset)


def _ptp(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return F.max(x, axis=axis, keepdims=keepdims) - F.min(x, axis=axis, keepdims=keepdims)


def _nan_to_num(
    x: Any, /, *, copy: bool = True, nan: float = 0.0, posinf: float | None = None, neginf: float | None = None
) -> Any:
    if not copy:
        raise ArgumentError("np.nan_to_num(copy=False): a tensor's array is not written to; leave copy out")
    info = np.finfo(x.dtype)
    y = F.where(F.isnan(x), nan, x)
    y = F.where(F.equal(y, math.inf), float(info.max) if posinf is None else posinf, y)
    return F.where(F.equal(y, -math.inf), float(info.min) if neginf is None else neginf, y)


def _dot(x1: Any, x2: Any, /) -> Any:
    a, b = read(x1), read(x2)
    if not a.ndim or not b.ndim:
        return a * b
    if b.ndim <= 2:
        return F.matmul(a, b)
    return F.tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 2,)))


def _inner(x1: Any, x2: Any, /) -> Any:
    a, b = read(x1), read(x2)
    return F.tensordot(a, b, axes=((a.ndim - 1,), (b.ndim - 1,))) if a.ndim and b.ndim else a * b


def _vdot(x1: Any, x2: Any, /) -> Any:
    return F.vecdot(_flat(x1), _flat(x2))


def _outer(x1: Any, x2: Any, /) -> Any:
    return F.expand_dims(_flat(x1), axis=-1) * _flat(x2)


def _norm(x: Any, /, *, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:  # noqa: A002
    """NumPy's one function for norms of vectors and of matrices."""
    if axis is None and ord is None:
        y = public("linalg.vector_norm")(_flat(x))
        return F.reshape(y, (1,) * x.ndim) if keepdims else y
    axes = tuple(range(x.ndim)) if axis is None else tuple(axis) if hasattr(axis, "__iter__") else (axis,)
    if len(axes) == 1:
        return public("linalg.vector_norm")(x, axis=axes[0], keepdims=keepdims, ord=2 if ord is None else ord)
    a, b = (i % x.ndim for i in axes)
    moved = F.moveaxis(x, (a, b), (-2, -1))
    y = public("linalg.matrix_norm")(moved, ord="fro" if ord is None else ord, keepdims=keepdims)
    return F.moveaxis(y, (-2, -1), (a, b)) if keepdims else y


def _argwhere(x: Any, /) -> Any:
    return F.stack(F.nonzero(x), axis=-1)


def _flatnonzero(x: Any, /) -> Any:
    return F.nonzero(_flat(x))[0]


def _isclose(x1: Any, x2: Any, /, *, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Any:
    values = [np.asarray(x.array) if isinstance(x, Tensor) else x for x in (x1, x2)]
    bounds = [np.asarray(v.array) if isinstance(v, Tensor) else v for v in (rtol, atol)]
    return read(np.isclose(values[0], values[1], rtol=bounds[0], atol=bounds[1], equal_nan=equal_nan))


def _allclose(*args: Any, **words: Any) -> bool:
    return bool(np.all(_isclose(*args, **words).array))


def _array_equal(x1: Any, x2: Any, /, *, equal_nan: bool = False) -> bool:
    values = [np.asarray(x.array) if isinstance(x, Tensor) else x for x in (x1, x2)]
    return np.array_equal(values[0], values[1], equal_nan=equal_nan)


def _where(condition: Any, x1: Any = None, x2: Any = None, /) -> Any:
    return F.nonzero(condition) if x1 is None else F.where(condition, x1, x2)


def _text(x: Any, /, **_: Any) -> str:
    return repr(x)


def _copy(x: Any, /) -> Any:
    return read(x, copy=True)


def _like(name: str) -> Callable[..., Any]:
    def run(x: Any, *value: Any, dtype: Any = None, shape: Any = None, device: Any = None) -> Any:
        x = read(x)
        if shape is None:
            return getattr(F, f"{name}_like")(x, *value, dtype=dtype, device=device)
        return getattr(F, name)(shape, *value, dtype=dtype or x.dtype, device=device)

    return run


def _reading(name: str) -> Callable[..., Any]:
    """Our function on whatever NumPy reads as arrays."""

    def run(*arrays: Any, **words: Any) -> Any:
        return public(name)(*(x if x is None else read(x) for x in arrays), **words)

    return run


def _quantiles(name: str, whole: int) -> Callable[..., Any]:
    """Our function, for parts of a whole of 1 or of 100."""

    def run(x: Any, q: Any, /, **words: Any) -> Any:
        parts = q if isinstance(q, Tensor) else np.asarray(q)
        return public(name)(read(x), parts / whole, **words)

    return run


def _cov(
    x: Any,
    y: Any = None,
    /,
    *,
    rowvar: bool = True,
    bias: bool = False,
    ddof: float | None = None,
    fweights: Any = None,
    aweights: Any = None,
) -> Any:
    weights = {k: None if w is None else read(w) for k, w in (("fweights", fweights), ("aweights", aweights))}
    correction = (0 if bias else 1) if ddof is None else ddof
    return public("cov")(read(x), None if y is None else read(y), rowvar=rowvar, correction=correction, **weights)


COMPOSITIONS: dict[str, Callable[..., Any]] = {
    name.removeprefix("_"): function
    for name, function in list(globals().items())
    if name.startswith("_") and callable(function) and getattr(function, "__module__", "") == __name__
}
_READING = (
    *("convolve", "corrcoef", "correlate", "interp", "kron", "tensordot", "median", "nanmax", "nanmean", "nanmedian", "nanmin", "nanprod"),
    *("nanstd", "nansum", "nanvar", "polyval", "trapezoid"),
)
COMPOSITIONS.update({name: _reading(name) for name in _READING})
COMPOSITIONS.update(
    quantile=_quantiles("quantile", 1),
    percentile=_quantiles("quantile", 100),
    nanquantile=_quantiles("nanquantile", 1),
    nanpercentile=_quantiles("nanquantile", 100),
    cumsum=_cumulative("cumulative_sum"),
    cumprod=_cumulative("cumulative_prod"),
    atleast_1d=_at_least(1),
    atleast_2d=_at_least(2),
    atleast_3d=_at_least(3),
    zeros_like=_like("zeros"),
    ones_like=_like("ones"),
    empty_like=_like("empty"),
    full_like=_like("full"),
    ndim=lambda x, /: read(x).ndim,
    shape=lambda x, /: read(x).shape,
    iscomplexobj=lambda x, /: read(x).dtype.kind == "c",
    isrealobj=lambda x, /: read(x).dtype.kind != "c",
)
