"""Sums, extremes and what is built on them.  `axis` is None (all axes), an integer or a tuple."""

from __future__ import annotations

from typing import Any

from tapegrad.dtypes import float32, float64
from tapegrad.registry import composite, constant, linear, primitive
from tapegrad.registry.batch_rules import flattening, over_axis


def reduction(draw: Any) -> Any:
    x = draw.array()
    return x, {"axis": draw.axes(x), "keepdims": draw.boolean()}


def _searched(draw: Any) -> Any:
    x = draw.array(draw.size("n", least=1), draw.size("m", least=1))
    return x, {"axis": draw.choice(None, draw.axis(x)), "keepdims": draw.boolean()}


def put_back(F: Any, v: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """A reduced value with the reduced axes put back, of length 1."""
    if keepdims:
        return v
    return F.reshape(v, kept_shape(x.shape, axis))


def kept_shape(shape: tuple[int, ...], axis: Any) -> tuple[int, ...]:
    """The shape that a reduction with keepdims gives."""
    if axis is None:
        return (1,) * len(shape)
    n = len(shape)
    axes = {a % n for a in (axis if isinstance(axis, tuple) else (axis,))} if n else set()
    return tuple(1 if i in axes else k for i, k in enumerate(shape))


@linear(laws=reduction)
def sum(xp: Any, x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum over axes; half precision is added up in float32, small integers in the default integer dtype.

    Raises BoundsError for an axis that `x` does not have.
    """
    return xp.sum(x, axis=axis, dtype=dtype, keepdims=keepdims)


def _sum_adjoint(F: Any, g: Any, x: Any, axis: Any, keepdims: bool, dtype: Any) -> Any:
    if dtype is not None:
        g = F.cast(g, x.dtype)
    if axis is not None and not keepdims:
        g = F.reshape(g, kept_shape(x.shape, axis))
    return F.broadcast_to(g, x.shape)


sum.adjoint(x=_sum_adjoint)


def _broadcast(draw: Any) -> Any:
    shape = draw.shape("n", "m")
    return draw.filled(shape), {"shape": draw.choice(shape, (1, shape[1]), (shape[0], 1), (shape[1],), (1,), ())}


@linear(laws=_broadcast, public=False)
def sum_to(xp: Any, x: Any, /, shape: Any) -> Any:
    """The sum over the axes along which an array of this shape was repeated: the adjoint of `broadcast_to`."""
    return xp.sum_to(x, shape)


sum_to.adjoint(x=lambda F, g, x: F.broadcast_to(g, x.shape))


def is_half(x: Any) -> bool:
    """Whether an array is float16 or bfloat16, in which a sum soon overflows, or a count is no number."""
    return bool(x.dtype.itemsize == 2 and x.dtype.kind in "fV")


@linear(laws=reduction)
def mean(xp: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The arithmetic mean over axes; NaN over no elements.  Half precision is computed in float32, integers in float64."""
    if x.dtype.kind in "iu":  # whose sum may not fit into 64 bits
        x = xp.cast(x, float64)
    elif is_half(x):
        return xp.cast(xp.mean(xp.cast(x, float32), axis=axis, keepdims=keepdims), x.dtype)
    return xp.sum(x, axis=axis, keepdims=keepdims) / count(x.shape, axis)


def _mean_adjoint(F: Any, g: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """An equal part for each: of half precision in float32, which has numbers above 65,504."""
    n = count(x.shape, axis)
    part = F.cast(F.cast(g, float32) / n, x.dtype) if is_half(x) else g / n
    return _sum_adjoint(F, part, x, axis, keepdims, None)


mean.adjoint(x=_mean_adjoint)


def count(shape: tuple[int, ...], axis: Any) -> int:
    """How many elements are reduced to one."""
    if axis is None:
        axis = range(len(shape))
    n = 1
    for a in axis if hasattr(axis, "__iter__") else (axis,):
        n *= shape[a]
    return n


# -- extremes ------------------------------------------------------------------------------------------
def _extreme_pullback(F: Any, g: Any, x: Any, y: Any, axis: Any, keepdims: bool) -> Any:
    """Equal shares for all elements that are equal to the extreme."""
    chosen = F.cast_like(F.equal(x, put_back(F, y, x, axis, keepdims)), x)
    number = F.sum(chosen, axis=axis, keepdims=True)
    return F.broadcast_to(put_back(F, g, x, axis, keepdims) / number, x.shape) * chosen


def _extreme_pushforward(F: Any, t: Any, x: Any, y: Any, axis: Any, keepdims: bool) -> Any:
    chosen = F.cast_like(F.equal(x, put_back(F, y, x, axis, keepdims)), x)
    number = F.sum(chosen, axis=axis, keepdims=keepdims)
    return F.sum(F.mul_zero(chosen, t), axis=axis, keepdims=keepdims) / number


def _extreme(draw: Any) -> Any:
    x = draw.array(draw.size("n", least=1), draw.size("m", least=1), distinct=True)
    return x, {"axis": draw.axes(x), "keepdims": draw.boolean()}


@primitive(real=True, laws=_extreme)
def max(xp: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest element over axes; elements that tie share the derivative equally.

    Raises ShapeError over no elements, BoundsError for an axis that `x` does not have.
    """
    return xp.max(x, axis=axis, keepdims=keepdims)


max.pullback(x=_extreme_pullback)
max.pushforward(x=_extreme_pushforward)


@primitive(real=True, laws=_extreme)
def min(xp: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest element over axes; elements that tie share the derivative equally.

    Raises ShapeError over no elements, BoundsError for an axis that `x` does not have.
    """
    return xp.min(x, axis=axis, keepdims=keepdims)


min.pullback(x=_extreme_pullback)
min.pushforward(x=_extreme_pushforward)


@constant(laws=lambda draw: (draw.array("n", 3) > 0, draw.array("n", 3)), public=False)
def cast_like(xp: Any, x: Any, like: Any, /) -> Any:
    """The array in the dtype of another one."""
    return xp.astype(x, like.dtype)


@constant(laws=_searched)
def argmax(xp: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The index of the largest element along an axis (of the flattened array if None); the first of several."""
    return xp.argmax(x, axis=axis, keepdims=keepdims)


@constant(laws=_searched)
def argmin(xp: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The index of the smallest element along an axis (of the flattened array if None); the first of several."""
    return xp.argmin(x, axis=axis, keepdims=keepdims)


@constant(laws=reduction)
def all(xp: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether all elements over axes are true."""
    return xp.all(x, axis=axis, keepdims=keepdims)


@constant(laws=reduction)
def any(xp: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """Whether one element over axes is true."""
    return xp.any(x, axis=axis, keepdims=keepdims)


@constant(laws=reduction)
def count_nonzero(xp: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """How many elements over axes are not zero."""
    return xp.count_nonzero(x, axis=axis, keepdims=keepdims)


# -- spread ----------------------------------------------------------------------------------------------
def _spread(draw: Any) -> Any:
    x, params = reduction(draw)
    return x, {**params, "correction": draw.choice(0.0, 0.0, 1.0)}


@composite(laws=_spread)
def var(F: Any, x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The variance over axes: the squared distance from the mean, summed, over the count less `correction`.

    The mean is rounded: of float32 whose mean is a million times their deviation, 3e-3 of the variance is lost, and 3e-7 at 10,000 times.
    """
    if is_half(x):
        return F.cast(F.var(F.cast(x, float32), axis=axis, correction=correction, keepdims=keepdims), x.dtype)
    d = x - F.mean(x, axis=axis, keepdims=True)
    if d.dtype.kind == "c":
        d = F.abs(d)
    return F.sum(d * d, axis=axis, keepdims=keepdims) / _at_least_zero(count(x.shape, axis) - correction)


def _at_least_zero(n: Any) -> Any:
    if isinstance(n, int | float):
        return n if n > 0 else 0.0
    return (n * 1.0 + abs(n * 1.0)) * 0.5  # a length that only the running graph knows


@composite(laws=_spread, domain=(-2, 2))
def std(F: Any, x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The standard deviation over axes; the derivative is 0 where all elements are equal."""
    if is_half(x):
        return F.cast(F.std(F.cast(x, float32), axis=axis, correction=correction, keepdims=keepdims), x.dtype)
    d = x - F.mean(x, axis=axis, keepdims=True)
    n = _at_least_zero(count(x.shape, axis) - correction)
    return F.norm2(d, axis=axis, keepdims=keepdims) / n**0.5


@primitive(laws=reduction, kinks=(0.0,), public=False)
def norm2(xp: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """sqrt(sum(abs(x)**2)) over axes, without overflow; at 0 the derivative is 0, the smallest subgradient, as are further ones.

    So the Hessian of norm2(x)**2 at 0 comes out as 0 and not as 2 I: it is the limit of g / y, where the cotangent g and the norm y
    are 0, and a rule knows their values alone.  `sum(x * x)` has no such point.
    """
    return xp.norm2(x, axis=axis, keepdims=keepdims)


def _direction(F: Any, x: Any, y: Any, axis: Any, keepdims: bool) -> Any:
    """x / y, with 0 / 0 = 0, whose derivatives are 0 too."""
    y = put_back(F, y, x, axis, keepdims)
    none = y == 0
    return F.where(none, F.zeros_like(y), x / F.where(none, F.ones_like(y), y))


norm2.pullback(
    x=lambda F, g, x, y, axis, keepdims: put_back(F, g, x, axis, keepdims) * _direction(F, x, y, axis, keepdims)
)
norm2.pushforward(
    x=lambda F, t, x, y, axis, keepdims: F.sum(
        F.real(t * F.conj(_direction(F, x, y, axis, keepdims))), axis=axis, keepdims=keepdims
    )
)


# -- batches ---------------------------------------------------------------------------------------------
for _op in (sum, mean, max, min, all, any, count_nonzero, norm2):
    _op.batch(over_axis(_op.name))
for _op in (argmax, argmin):
    _op.batch(flattening(_op.name))


@sum_to.batch
def _sum_to_batch(F: Any, has: Any, x: Any, *, shape: Any) -> Any:
    missing = len(x.shape) - 1 - len(shape)
    return F.reshape(F.sum_to(x, (x.shape[0], *(1,) * missing, *shape)), (x.shape[0], *shape))
