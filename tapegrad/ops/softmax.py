"""The softmax family: exponentials that are normalised, without overflow."""

from __future__ import annotations

from typing import Any

from tapegrad.dtypes import float32
from tapegrad.ops.reductions import kept_shape, reduced_shape, reduction
from tapegrad.registry import composite, constant, elementwise, primitive
from tapegrad.registry.batch_rules import over_axis, shifted


@composite(laws=reduction)
def logsumexp(F: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) over axes, without overflow; -inf over a row that is all -inf, with derivative 0.

    Half precision is computed in float32: a sum of more than 65,504 ones is infinite in float16.
    """
    if x.dtype.itemsize == 2 and x.dtype.kind in "fV":
        return F.cast(F.logsumexp(F.cast(x, float32), axis=axis, keepdims=keepdims), x.dtype)
    shift = F.shift_of(x, axis=axis)
    y = F.log_of_sum(F.sum(F.exp_less(x, shift), axis=axis, keepdims=True)) + shift
    return y if keepdims else F.reshape(y, reduced_shape(x.shape, axis))


@constant(laws="the value of logsumexp does not depend on it: the laws of logsumexp", public=False)
def shift_of(xp: Any, x: Any, /, *, axis: Any) -> Any:
    """What is taken off before an exponential: the largest element over axes, or 0 where that is infinite or does no harm."""
    m = xp.max(x, axis=axis, keepdims=True)
    return xp.where(xp.isfinite(m), m, 0)


@elementwise(public=False)
def exp_less(xp: Any, x1: Any, x2: Any, /) -> Any:
    """exp(x1 - x2), element by element."""
    return xp.exp(x1 - x2)


exp_less.partials(x1="y", x2=lambda F, y: -y)


@elementwise(domain=(0.1, 9), public=False)
def log_of_sum(xp: Any, x: Any, /) -> Any:
    """The natural logarithm of a sum of exponentials: -inf at 0, where all of them are 0, with derivative 0."""
    return xp.log_of_sum(x)


log_of_sum.partials(x=lambda F, x: F.where(x == 0, 0, 1 / x))


def _over_axes(draw: Any) -> Any:
    x = draw.array("n", "m")
    return x, {"axis": draw.axes(x)}


@primitive(laws=_over_axes)
def softmax(xp: Any, x: Any, /, *, axis: Any = -1) -> Any:
    """exp(x) / sum(exp(x)) over axes, without overflow; zeros over a row that is all -inf."""
    return xp.softmax(x, axis=axis)


def _softmax_step(F: Any, t: Any, y: Any, axis: Any) -> Any:
    return y * (t - F.sum(t * y, axis=axis, keepdims=True))


softmax.pullback(x=lambda F, g, y, axis: _softmax_step(F, g, F.conj(y) if y.dtype.kind == "c" else y, axis))
softmax.pushforward(x=_softmax_step)


@primitive(laws=_over_axes)
def log_softmax(xp: Any, x: Any, /, *, axis: Any = -1) -> Any:
    """x - logsumexp(x) over axes; -inf over a row that is all -inf, with derivative 0."""
    return xp.log_softmax(x, axis=axis)


log_softmax.pullback(x=lambda F, g, y, axis: g - F.conj(F.exp(y)) * F.sum(g, axis=axis, keepdims=True))
log_softmax.pushforward(x=lambda F, t, y, axis: t - F.sum(t * F.exp(y), axis=axis, keepdims=True))


@shift_of.batch
def _shift_of_batch(F: Any, has: Any, x: Any, *, axis: Any) -> Any:
    axis = tuple(range(1, len(x.shape))) if axis is None else shifted(axis, len(x.shape) - 1)
    return F.broadcast_to(F.shift_of(x, axis=axis), kept_shape(x.shape, axis))


softmax.batch(lambda F, has, x, *, axis=-1: over_axis("softmax")(F, has, x, axis=axis))
log_softmax.batch(lambda F, has, x, *, axis=-1: over_axis("log_softmax")(F, has, x, axis=axis))
