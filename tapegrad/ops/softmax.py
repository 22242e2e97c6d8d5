"""The softmax family: exponentials that are normalised, without overflow."""

from __future__ import annotations

from typing import Any

from tapegrad.dtypes import float32
from tapegrad.ops.reductions import is_half, put_back, reduction
from tapegrad.registry import primitive
from tapegrad.registry.batch_rules import over_axis


def _over_axes(draw: Any) -> Any:
    x = draw.array("n", "m")
    return x, {"axis": draw.axes(x)}


@primitive(laws=_over_axes)
def softmax(xp: Any, x: Any, /, *, axis: Any = -1) -> Any:
    """exp(x) / sum(exp(x)) over axes, without overflow; zeros over a row that is all -inf.

    A row with +inf has none, for with several of them it depends on how they grow: NaN, and so are its derivatives.
    """
    return xp.softmax(x, axis=axis)


def _softmax_step(F: Any, t: Any, y: Any, axis: Any) -> Any:
    return y * (t - F.sum(t * y, axis=axis, keepdims=True))


softmax.pullback(x=lambda F, g, y, axis: _softmax_step(F, g, F.conj(y) if y.dtype.kind == "c" else y, axis))
softmax.pushforward(x=_softmax_step)


@primitive(laws=_over_axes, public=False)
def wide_softmax(xp: Any, x: Any, /, *, axis: Any = -1) -> Any:
    """The derivative of logsumexp: the softmax, of half precision in float32, whose digits shares of many need.

    Elements of +inf share alike in 1, as those of logaddexp do, and all others have 0: what the softmax tends to where they grow alike.
    """
    return xp.shares(xp.cast(x, float32) if is_half(x) else x, axis=axis)


def _narrowed(F: Any, c: Any, x: Any) -> Any:
    """What was computed in float32 where `x` has half precision, in that again."""
    return F.cast(c, x.dtype) if is_half(x) else c


def _wide_softmax_step(F: Any, t: Any, x: Any, y: Any, axis: Any) -> Any:
    return _narrowed(F, _softmax_step(F, t, y, axis), x)


wide_softmax.pullback(x=lambda F, g, x, y, axis: _wide_softmax_step(F, g, x, F.conj(y) if y.dtype.kind == "c" else y, axis))
wide_softmax.pushforward(x=lambda F, t, y, axis: _softmax_step(F, F.cast(t, y.dtype) if is_half(t) else t, y, axis))


@primitive(laws=reduction)
def logsumexp(xp: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))) over axes, without overflow; -inf over a row that is all -inf, with derivative 0.

    It is +inf over a row with +inf: the derivative there is 1, which several such elements share equally, and that for others is 0.
    Half precision is computed in float32: a sum of more than 65,504 ones is infinite in float16.
    """
    return xp.logsumexp(x, axis=axis, keepdims=keepdims)


def _logsumexp_back(F: Any, g: Any, x: Any, shares: Any, axis: Any, keepdims: bool) -> Any:
    return _narrowed(F, put_back(F, g, x, axis, keepdims) * (F.conj(shares) if x.dtype.kind == "c" else shares), x)


def _logsumexp_forward(F: Any, t: Any, x: Any, shares: Any, axis: Any, keepdims: bool) -> Any:
    return _narrowed(F, F.sum(t * shares, axis=axis, keepdims=keepdims), x)


logsumexp.keeping(shares=wide_softmax)
logsumexp.pullback(x=_logsumexp_back)
logsumexp.pushforward(x=_logsumexp_forward)


@primitive(laws=_over_axes)
def log_softmax(xp: Any, x: Any, /, *, axis: Any = -1) -> Any:
    """x - logsumexp(x) over axes; -inf over a row that is all -inf, with the derivative of x alone; NaN over a row with +inf."""
    return xp.log_softmax(x, axis=axis)


log_softmax.pullback(x=lambda F, g, y, axis: g - F.conj(F.exp(y)) * F.sum(g, axis=axis, keepdims=True))
log_softmax.pushforward(x=lambda F, t, y, axis: t - F.sum(t * F.exp(y), axis=axis, keepdims=True))


logsumexp.batch(over_axis("logsumexp"))
softmax.batch(lambda F, has, x, *, axis=-1: over_axis("softmax")(F, has, x, axis=axis))
wide_softmax.batch(lambda F, has, x, *, axis=-1: over_axis("wide_softmax")(F, has, x, axis=axis))
log_softmax.batch(lambda F, has, x, *, axis=-1: over_axis("log_softmax")(F, has, x, axis=axis))
