"""Reductions and scans along axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.tf.convert import cast, convert, fresh, integer
from tapegrad.tf.dtypes import int64, numpy_dtype
from tapegrad.tf.elementwise import truncated
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.operators import shape_text
from tapegrad.tf.style import S, not_allowed
from tapegrad.tf.tensor import Tensor


def axes_of(axis: Any, rank: int) -> Any:
    """An axis, or several, as integers, checked; None for all."""
    if axis is None or (type(axis) is int and -rank <= axis < rank):
        return axis
    if isinstance(axis, core.Tensor | np.ndarray):
        axis = np.asarray(axis).tolist()
    found = tuple(map(integer, axis)) if isinstance(axis, list | tuple | range) else integer(axis)
    if isinstance(found, tuple) and len({a % max(rank, 1) for a in found}) < len(found):
        twice = next(a for k, a in enumerate(found) if a % max(rank, 1) in {b % max(rank, 1) for b in found[:k]})
        raise invalid(None, f"Invalid reduction arguments: Axes contains duplicate dimension: {twice}")
    for a in found if isinstance(found, tuple) else (found,):
        if not -max(rank, 1) <= a < max(rank, 1):
            raise invalid(None, f"Invalid reduction dimension ({a} for input with {rank} dimension(s)")
    if not rank:
        return None if found in (0, -1) else ()
    return tuple(a % rank for a in found) if isinstance(found, tuple) else found


def _input(x: Any, name: str, kinds: str) -> Tensor:
    if type(x) is not Tensor:
        x = convert(x)
    if x.array.dtype.kind not in kinds:
        raise not_allowed(name, x.array.dtype)
    return x


def _count(x: Any, axis: Any) -> int:
    if axis is None:
        return int(x.array.size)
    return int(np.prod([x.array.shape[a] for a in (axis if isinstance(axis, tuple) else (axis,))], dtype=int))


@export("math.reduce_sum", "reduce_sum")
def reduce_sum(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The sum along axes, or of all elements, in the dtype of the input."""
    if type(input_tensor) is not Tensor and hasattr(input_tensor, "_reduced"):
        return input_tensor._reduced("sum", axis, keepdims)
    x = input_tensor if type(input_tensor) is Tensor else convert(input_tensor)
    if axis is not None:
        axis = axes_of(axis, len(x.array.shape))
    dtype = x.array.dtype
    if dtype.kind in "iubO":
        if dtype.kind in "bO":
            raise not_allowed("Sum", dtype)
        return S.sum(x, axis=axis, dtype=dtype, keepdims=bool(keepdims))
    return S.sum(x, axis=axis, keepdims=bool(keepdims))


@export("math.reduce_mean", "reduce_mean")
def reduce_mean(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The mean along axes, or of all elements; of integers an integer, rounded towards zero."""
    if type(input_tensor) is not Tensor and hasattr(input_tensor, "_reduced"):
        return input_tensor._reduced("mean", axis, keepdims)
    x = input_tensor if type(input_tensor) is Tensor else convert(input_tensor)
    if axis is not None:
        axis = axes_of(axis, len(x.array.shape))
    kind = x.array.dtype.kind
    if kind in "iub":
        if kind == "b":
            raise not_allowed("Mean", x.array.dtype)
        count, most = _count(x, axis), np.iinfo(x.array.dtype).max
        if count <= most:
            return truncated(reduce_sum(x, axis, keepdims), x.array.dtype.type(count), rest=False)
        total = S.sum(x, axis=axis, dtype=np.dtype(np.int64), keepdims=bool(keepdims))  # the number of elements does not fit
        return S.convert(truncated(total, np.int64(count), rest=False), x.array.dtype)
    return S.mean(x, axis=axis, keepdims=bool(keepdims))


def _extreme(x: Any, axis: Any, keepdims: Any, name: str) -> Tensor:
    if type(x) is not Tensor and hasattr(x, "_reduced"):
        return x._reduced(name, axis, keepdims)
    x = _input(x, name.capitalize(), "iufV")
    axis = axes_of(axis, x.array.ndim)
    if not x.array.size and not _count(x, axis):
        dtype = x.array.dtype
        worst = (
            (-np.inf if name == "max" else np.inf)
            if dtype.kind in "fV"
            else getattr(np.iinfo(dtype), "min" if name == "max" else "max")
        )
        nothing = S.sum(x, axis=axis, dtype=dtype, keepdims=bool(keepdims))
        return S.add(nothing, dtype.type(worst))
    return getattr(S, name)(x, axis=axis, keepdims=bool(keepdims))


@export("math.reduce_max", "reduce_max")
def reduce_max(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The largest element along axes; equal ones share the derivative."""
    return _extreme(input_tensor, axis, keepdims, "max")


@export("math.reduce_min", "reduce_min")
def reduce_min(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The smallest element along axes; equal ones share the derivative."""
    return _extreme(input_tensor, axis, keepdims, "min")


@export("math.reduce_prod", "reduce_prod")
def reduce_prod(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The product along axes."""
    x = _input(input_tensor, "Prod", "iufcV")
    return S.prod(x, axis=axes_of(axis, len(x.array.shape)), dtype=x.array.dtype, keepdims=bool(keepdims))


def _booleans(x: Any, name: str) -> Tensor:
    return _input(x, name, "b") if hasattr(x, "dtype") else convert(x, np.dtype(np.bool_))


@export("math.reduce_all", "reduce_all")
def reduce_all(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Whether all booleans along axes are true."""
    x = _booleans(input_tensor, "All")
    return S.all(x, axis=axes_of(axis, len(x.array.shape)), keepdims=bool(keepdims))


@export("math.reduce_any", "reduce_any")
def reduce_any(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """Whether any boolean along axes is true."""
    x = _booleans(input_tensor, "Any")
    return S.any(x, axis=axes_of(axis, len(x.array.shape)), keepdims=bool(keepdims))


@export("math.reduce_logsumexp", "reduce_logsumexp")
def reduce_logsumexp(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """log(sum(exp(x))) along axes, without overflow."""
    x = _input(input_tensor, "Exp", "fcV")
    return S.logsumexp(x, axis=axes_of(axis, len(x.array.shape)), keepdims=bool(keepdims))


@export("math.reduce_variance")
def reduce_variance(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The variance along axes, divided by the number of elements."""
    x = _statistics(input_tensor)
    if x.array.dtype.kind == "c":
        off = S.subtract(x, S.mean(x, axis=axes_of(axis, len(x.array.shape)), keepdims=True))
        return reduce_mean(S.square(S.abs(off)), axis, keepdims)
    return S.var(x, axis=axes_of(axis, len(x.array.shape)), keepdims=bool(keepdims))


@export("math.reduce_std")
def reduce_std(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The standard deviation along axes, divided by the number of elements."""
    x = _statistics(input_tensor)
    if x.array.dtype.kind == "c":
        return S.sqrt(reduce_variance(x, axis, keepdims))
    return S.std(x, axis=axes_of(axis, len(x.array.shape)), keepdims=bool(keepdims))


def _statistics(x: Any) -> Tensor:
    x = convert(x)
    if x.array.dtype.kind in "iub":
        raise TypeError(f"Input must be either real or complex. Received integer type {x.dtype}.")
    return x


@export("math.reduce_euclidean_norm")
def reduce_euclidean_norm(input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The square root of the sum of squares along axes."""
    x = convert(input_tensor)
    if x.array.dtype.kind in "iu":
        return cast(S.norm2(cast(x, np.float64), axis=axes_of(axis, len(x.array.shape)), keepdims=bool(keepdims)), x.dtype)
    return S.norm2(x, axis=axes_of(axis, len(x.array.shape)), keepdims=bool(keepdims))


@export("math.count_nonzero")
def count_nonzero(
    input: Any, axis: Any = None, keepdims: bool | None = None, dtype: Any = int64, name: str | None = None
) -> Tensor:
    """How many elements along axes are not zero."""
    x = convert(input)
    axes = axes_of(axis, len(x.array.shape))
    if x.array.dtype.kind == "O":
        found = np.count_nonzero(x.array != b"", axis=axes, keepdims=bool(keepdims))
        return fresh(np.asarray(found).astype(numpy_dtype(dtype))[()])
    there = S.not_equal(x, x.array.dtype.type(0))
    return S.sum(S.convert(there, numpy_dtype(dtype)), axis=axes, dtype=numpy_dtype(dtype), keepdims=bool(keepdims))


@export("math.zero_fraction", "nn.zero_fraction")
def zero_fraction(value: Any, name: str | None = None) -> Tensor:
    """The share of elements that are zero."""
    x = convert(value)
    return S.mean(S.convert(S.equal(x, x.array.dtype.type(0)), np.dtype(np.float32)))


@export("math.argmax", "argmax")
def argmax(input: Any, axis: Any = None, output_type: Any = int64, name: str | None = None) -> Tensor:
    """The index of the largest element along an axis, the first of equal ones."""
    return _arg(input, axis, output_type, S.argmax)


@export("math.argmin", "argmin")
def argmin(input: Any, axis: Any = None, output_type: Any = int64, name: str | None = None) -> Tensor:
    """The index of the smallest element along an axis, the first of equal ones."""
    return _arg(input, axis, output_type, S.argmin)


def _arg(x: Any, axis: Any, output_type: Any, op: Any) -> Tensor:
    x = _input(x, "ArgMax" if op is S.argmax else "ArgMin", "biufV")
    axis = 0 if axis is None else integer(axis)
    rank = len(x.array.shape)
    if not -rank <= axis < rank:
        raise invalid("ArgMax", f"Expected dimension in the range [{-rank}, {rank}), but got {axis}")
    if not x.array.shape[axis] and not x.array.size:
        raise invalid("ArgMax", f"Reduction axis {axis} is empty in shape {shape_text(x.array)}")
    found = op(x, axis=axis)
    wanted = numpy_dtype(output_type)
    return found if found.array.dtype == wanted else cast(found, output_type)


def _axis(axis: Any, rank: int, name: str) -> int:
    if np.ndim(axis):
        raise invalid(name, f"ScanOp: axis must be a scalar, not [{','.join(map(str, np.shape(axis)))}]")
    axis = integer(axis)
    if not -rank <= axis < rank:
        raise invalid(None, f"{name}: Expected scan axis in the range [{-rank}, {rank}), but got {axis}")
    return axis % rank


def _scanned(x: Any, axis: Any, exclusive: bool, reverse: bool, op: Any, name: str) -> Tensor:
    x = _input(x, name, "iufcV")
    axis = _axis(axis, len(x.array.shape), name)
    n = x.array.shape[axis]
    y = S.flip(x, axis=axis) if reverse else x
    y = op(y, axis=axis, dtype=x.array.dtype, include_initial=bool(exclusive))
    if exclusive:
        y = S.getitem(y, (slice(None),) * axis + (slice(0, n),))
    return S.flip(y, axis=axis) if reverse else y


@export("math.cumsum", "cumsum")
def cumsum(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """Sums of the elements up to each, without itself if `exclusive`, from the other end if `reverse`."""
    return _scanned(x, axis, exclusive, reverse, S.cumulative_sum, "Cumsum")


@export("math.cumprod")
def cumprod(x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None) -> Tensor:
    """Products of the elements up to each, without itself if `exclusive`, from the other end if `reverse`."""
    return _scanned(x, axis, exclusive, reverse, S.cumulative_prod, "Cumprod")


@export("math.cumulative_logsumexp")
def cumulative_logsumexp(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """log(sum(exp(x))) of the elements up to each, without overflow: log2(n) steps that double the reach."""
    x = _input(x, "CumulativeLogsumexp", "fV")
    axis = _axis(axis, len(x.array.shape), "CumulativeLogsumexp")
    y = S.flip(x, axis=axis) if reverse else x
    n = x.array.shape[axis]
    before = (slice(None),) * axis
    shape = list(x.array.shape)

    def shifted(y: Any, by: int) -> Any:
        shape[axis] = min(by, n)
        nothing = S.full(tuple(shape), -np.inf, dtype=x.array.dtype)
        return S.concat([nothing, S.getitem(y, (*before, slice(0, n - min(by, n))))], axis=axis)

    if exclusive:
        y = shifted(y, 1)
    reach = 1
    while reach < n:
        y = S.logaddexp(y, shifted(y, reach))
        reach *= 2
    return S.flip(y, axis=axis) if reverse else y
