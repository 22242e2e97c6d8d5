"""TensorFlow kernels of reductions: sums, extremes, places of extremes, running sums, norms."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.tensorflow_arithmetic import abs, divide, multiply, square
from tapegrad.kernels.tensorflow_array import made, put_off
from tapegrad.kernels.tensorflow_basics import astype, equal, isfinite, isnan, logical_and, logical_or, truths, where
from tapegrad.kernels.tensorflow_calls import BOOL, F32, F64, INT32, INT64, UINT64, cast, ints, number
from tapegrad.kernels.tensorflow_functions import sqrt
from tapegrad.kernels.tensorflow_later import Reduced, most
from tapegrad.kernels.tensorflow_lengths import Size, is_static, shape_tensor
from tapegrad.kernels.tensorflow_promotion import asarray, converted
from tapegrad.kernels.tensorflow_shape import axes_of, concat, one_axis, ones, reshape, zeros

if TYPE_CHECKING:
    from collections.abc import Callable

_SUM, _PROD, _MAX, _MIN = (calls.op(n) for n in ("Sum", "Prod", "Max", "Min"))
#: The sum over all axes but the last, of arrays of this many.  Measured for 256x512: 10 us, `Sum` 41; for 32x28x28x6 91 and 126.
_SUM_OF_ROWS, _PLANES = calls.op("BiasAddGrad"), range(2, 6)
_ALL, _ANY = calls.op("All"), calls.op("Any")
_ARGMAX, _ARGMIN = calls.op("ArgMax"), calls.op("ArgMin")
_CUMSUM, _CUMPROD = calls.op("Cumsum"), calls.op("Cumprod")
_GRADIENT_AXES = calls.two("BroadcastGradientArgs")
_RESHAPE = calls.two("Reshape")


# -- sums and products -----------------------------------------------------------------------------------
def _total_dtype(d: Any) -> Any:
    """In what NumPy adds up or multiplies: small integers in 64 bits."""
    if d.kind in "bi":
        return INT64
    return UINT64 if d.kind == "u" else d


def sum(x: Any, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum; half precision is added up in float32, small integers in 64 bits."""
    x = asarray(x)
    d = x.dtype
    if dtype is not None:
        return astype(sum(astype(x, dtype), axis=axis, keepdims=keepdims), dtype)
    axes = axes_of(axis, x.ndim)
    if d is not F32 and d is not F64:
        d = _total_dtype(d)
        x = converted(x, F32 if d.itemsize == 2 else d)
    elif not keepdims and len(axes) == x.ndim - 1 and x.ndim in _PLANES and x.ndim - 1 not in axes:
        return made(_SUM_OF_ROWS(x.bare, data_format="NHWC"), d)
    y = made(_SUM(x.bare, ints(axes), keep_dims=keepdims), x.dtype)
    return converted(y, d)


def sum_to(x: Any, shape: Any) -> Any:
    """Undo a broadcast: the sum over all axes along which `shape` was repeated to give the shape of `x`."""
    x = asarray(x)
    shape = tuple(shape)
    here = x.shape
    extra = len(here) - len(shape)
    if extra > 0 and here[extra:] == shape and (x.dtype is F32 or x.dtype is F64) and (room := most(here)) and not x.symbolic:
        return put_off([Reduced(x.bare, here)], x.dtype, shape, room)  # the cotangent of a bias: often a summand
    if not is_static(shape) or not is_static(here):
        return _sum_to_in_graph(x, shape)
    axes = (*range(extra), *(i + extra for i, n in enumerate(shape) if n == 1 and here[i + extra] != 1))
    if not axes:
        return x
    y = sum(x, axis=axes, keepdims=bool(extra < len(axes)))
    return y if extra == len(axes) or not extra else reshape(y, shape)


def _sum_to_in_graph(x: Any, shape: tuple[Any, ...]) -> Any:
    """The same where lengths are known to the running graph alone."""
    target = shape_tensor(shape)
    axes, _ = _GRADIENT_AXES(target, shape_tensor(x.shape))
    y = x if x.dtype.itemsize > 2 else converted(x, F32)
    y = made(_RESHAPE(_SUM(y.bare, axes, keep_dims=False), target), y.dtype, shape)
    return converted(y, x.dtype)


def prod(x: Any, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    x = asarray(x)
    if dtype is not None:
        x = astype(x, dtype)
    d = _total_dtype(x.dtype) if dtype is None else x.dtype
    w = F32 if d.itemsize == 2 and d.kind in "fV" else d
    y = made(_PROD(converted(x, w).bare, ints(axes_of(axis, x.ndim)), keep_dims=keepdims), w)
    return converted(y, d)


# -- extremes --------------------------------------------------------------------------------------------
def _extreme(name: str, logic: Any) -> Callable[..., Any]:
    run = calls.op(name)

    def kernel(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        x = asarray(x)
        axes = axes_of(axis, x.ndim)
        if any(type(x.shape[a]) is not Size and x.shape[a] == 0 for a in axes) and not _is_empty(x, axes):
            raise ValueError(f"zero-size array to reduction operation {name.lower()}imum which has no identity")
        if x.dtype is BOOL:
            return made(logic(x.bare, ints(axes), keep_dims=keepdims), BOOL)
        if x.dtype.kind == "c":
            raise TypeError(f"{name.lower()} of complex numbers: they have no order")
        return made(run(x.bare, ints(axes), keep_dims=keepdims), x.dtype)

    return kernel


def _is_empty(x: Any, axes: tuple[int, ...]) -> bool:
    """Whether nothing is left when these axes are reduced."""
    return any(type(n) is not Size and n == 0 for i, n in enumerate(x.shape) if i not in axes)


max, min = _extreme("Max", _ANY), _extreme("Min", _ALL)


def all(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    x = asarray(x)
    return made(_ALL(truths(x), ints(axes_of(axis, x.ndim)), keep_dims=keepdims), BOOL)


def any_(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    x = asarray(x)
    return made(_ANY(truths(x), ints(axes_of(axis, x.ndim)), keep_dims=keepdims), BOOL)


def count_nonzero(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    x = asarray(x)
    return sum(made(cast(truths(x), INT64), INT64, x._shape), axis=axis, keepdims=keepdims)


def _place_of(name: str) -> Callable[..., Any]:
    run = calls.op(name)

    def kernel(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
        """The first place of the extreme; NaN counts as such."""
        x = asarray(x)
        if axis is None:
            found = kernel(reshape(x, (-1,)), axis=0)
            return reshape(found, (1,) * x.ndim) if keepdims else found
        axis = one_axis(axis, x.ndim)
        if type(x.shape[axis]) is not Size and x.shape[axis] == 0:
            raise ValueError(f"attempt to get {name.lower()} of an empty sequence")
        if x.dtype.kind == "c":
            raise TypeError(f"{name.lower()} of complex numbers: they have no order")
        y = _first(x, axis)
        if x.dtype.kind in "fV":
            nan = isnan(x)
            y = where(any_(nan, axis=axis), made(_ARGMAX(nan.bare, number(axis), output_type=calls.TF_OF[INT64]), INT64), y)
        shape = tuple(1 if i == axis else n for i, n in enumerate(x.shape))
        return reshape(y, shape) if keepdims else y

    def _first(x: Any, axis: int) -> Any:
        if x.dtype is BOOL:
            x = converted(x, INT32)
        return made(run(x.bare, number(axis), output_type=calls.TF_OF[INT64]), INT64)

    return kernel


argmax, argmin = _place_of("ArgMax"), _place_of("ArgMin")


# -- cumulative ------------------------------------------------------------------------------------------
def _cumulative(run: Callable[..., Any], first: Any) -> Callable[..., Any]:
    def kernel(x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False) -> Any:
        x = asarray(x)
        if x.ndim == 0:
            x = reshape(x, (1,))
        if axis is None:
            if x.ndim > 1:
                raise ValueError("For arrays which have more than one dimension ``axis`` argument is required.")
            axis = 0
        axis = one_axis(axis, x.ndim)
        d = np.dtype(dtype) if dtype is not None else _total_dtype(x.dtype)
        x = astype(x, d)
        w = F32 if d.itemsize == 2 and d.kind in "fV" else d
        y = converted(made(run(converted(x, w).bare, number(axis), exclusive=False, reverse=False), w, x._shape), d)
        if include_initial:
            shape = tuple(1 if i == axis else n for i, n in enumerate(x.shape))
            y = concat([first(shape, dtype=d), y], axis=axis)
        return y

    return kernel


cumulative_sum, cumulative_prod = _cumulative(_CUMSUM, zeros), _cumulative(_CUMPROD, ones)


# -- norms -----------------------------------------------------------------------------------------------
def norm2(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """sqrt(sum(abs(x)**2)), of elements relative to the largest."""
    x = asarray(x)
    d = x.dtype
    if d.itemsize == 2:
        return converted(norm2(converted(x, F32), axis=axis, keepdims=keepdims), d)
    size = abs(x)
    m = largest(size, axis)
    m = where(logical_or(equal(m, 0), equal(isfinite(m), False)), 1, m)
    y = multiply(m, sqrt(sum(square(divide(size, m)), axis=axis, keepdims=True)))
    return y if keepdims else dropped(y, axis)


def largest(x: Any, axis: Any) -> Any:
    """The largest element over axes, which are kept; -inf (or the lowest) where there is none."""
    return made(_MAX(x.bare, ints(axes_of(axis, x.ndim)), keep_dims=True), x.dtype)


def _smallest(x: Any, axis: Any) -> Any:
    return made(_MIN(x.bare, ints(axes_of(axis, x.ndim)), keep_dims=True), x.dtype)


def dropped(y: Any, axis: Any) -> Any:
    """Without the axes of length 1 that a reduction has kept."""
    axes = axes_of(axis, y.ndim)
    return reshape(y, tuple(n for i, n in enumerate(y.shape) if i not in axes))


def power_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: float) -> Any:
    """sum(abs(x)**ord)**(1 / ord), of elements relative to the largest (for a negative ord, the smallest)."""
    x = asarray(x)
    if x.dtype.itemsize == 2:
        return converted(power_norm(converted(x, F32), axis=axis, keepdims=keepdims, ord=ord), x.dtype)
    size = abs(x)
    m = (largest if ord > 0 else _smallest)(size, axis)
    m = where(equal(m, -math.inf) if ord > 0 else equal(m, math.inf), 0 if ord > 0 else m, m)
    scale = where(logical_and(m > 0, isfinite(m)), m, 1)
    y = sum((size / scale) ** ord, axis=axis, keepdims=True) ** (1 / ord) * scale
    return y if keepdims else dropped(y, axis)
