"""TensorFlow kernels of the softmax family, and of cross entropy."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.tensorflow_arithmetic import add, divide, multiply, square, subtract
from tapegrad.kernels.tensorflow_array import made
from tapegrad.kernels.tensorflow_basics import equal, from_parts, imag, isfinite, real, where
from tapegrad.kernels.tensorflow_calls import F32, INT32, INT64, cast
from tapegrad.kernels.tensorflow_functions import exp, log
from tapegrad.kernels.tensorflow_promotion import asarray, converted
from tapegrad.kernels.tensorflow_shape import axes_of
from tapegrad.kernels.tensorflow_sums import dropped, largest, sum

_SOFTMAX, _LOG_SOFTMAX = calls.one("Softmax"), calls.one("LogSoftmax")


def _exponentials(x: Any, axis: Any) -> tuple[Any, Any, Any]:
    """Of each row less its largest element, or less 0 where that is infinite; their sum; and what was taken off."""
    m = largest(real(x), axis)
    m = converted(where(isfinite(m), m, 0), x.dtype)
    e = exp(subtract(x, m))
    return e, sum(e, axis=axis, keepdims=True), m


def logsumexp(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))); half precision is computed in float32."""
    x = asarray(x)
    if x.dtype.itemsize == 2 and x.dtype.kind in "fV":
        return converted(logsumexp(converted(x, F32), axis=axis, keepdims=keepdims), x.dtype)
    _, s, m = _exponentials(x, axis)
    y = add(log(s), m)
    return y if keepdims else dropped(y, axis)


def logsumexp_keeping(x: Any, *, axis: Any = None, keepdims: bool = False) -> tuple[Any, Any]:
    """That, and its derivative, of half precision in float32."""
    x = asarray(x)
    if x.dtype.itemsize == 2 and x.dtype.kind in "fV":
        y, parts = logsumexp_keeping(converted(x, F32), axis=axis, keepdims=keepdims)
        return converted(y, x.dtype), parts
    if x.dtype.kind != "f":
        return logsumexp(x, axis=axis, keepdims=keepdims), softmax(x, axis=axis)
    e, s, top = _limits(x, axis)
    y = add(log(s), top)
    return y if keepdims else dropped(y, axis), divide(e, where(equal(s, 0), 1, s))


def shares(x: Any, *, axis: Any = -1) -> Any:
    """The derivative of logsumexp: the softmax, and where some elements are +inf what it tends to: they share alike in 1."""
    x = asarray(x)
    if x.dtype.kind != "f":
        return softmax(x, axis=axis)
    e, s, _ = _limits(x, axis)
    return divide(e, where(equal(s, 0), 1, s))


def _limits(x: Any, axis: Any) -> tuple[Any, Any, Any]:
    """Of each row less its largest element, 1 where that is +inf; their sum; and the largest element itself."""
    top = largest(x, axis)
    lowered = subtract(x, where(equal(top, -math.inf), 0, top))
    e = exp(where(equal(x, math.inf), 0, lowered))
    return e, sum(e, axis=axis, keepdims=True), top


def _lowered(x: Any, axis: Any) -> Any:
    """Each row less its largest element; a row of -inf stays so, and one with +inf has no softmax: NaN."""
    m = largest(real(x), axis)
    return subtract(x, converted(where(equal(m, -math.inf), 0, m), x.dtype))


def _is_last(x: Any, axis: Any) -> bool:
    return x.ndim > 0 and x.dtype.kind in "fV" and axes_of(axis, x.ndim) == (x.ndim - 1,)


def softmax(x: Any, *, axis: Any = -1) -> Any:
    """exp(x) / sum(exp(x)); a row of -inf gives zeros.  Half precision is computed in float32."""
    x = asarray(x)
    if x.dtype.itemsize == 2 and x.dtype.kind in "fV":
        return converted(softmax(converted(x, F32), axis=axis), x.dtype)
    if _is_last(x, axis):
        top = largest(x, axis)
        return where(equal(top, -math.inf), 0, made(_SOFTMAX(x.bare), x.dtype, x._shape))
    e = exp(_lowered(x, axis))
    s = sum(e, axis=axis, keepdims=True)
    s = where(equal(s, 0), 1, s)
    return divide(e, s) if x.dtype.kind != "c" else _complex_share(e, s)


def _complex_share(e: Any, s: Any) -> Any:
    """e / s part by part, which is exactly 1 where they are equal, so that a row of one element has the derivative 0.

    No element of `e` is larger than 1 and `s` is their sum, so their products do not overflow.
    """
    (a, b), (p, q) = ((real(z), imag(z)) for z in (e, s))
    size = add(square(p), square(q))
    return from_parts(
        divide(add(multiply(a, p), multiply(b, q)), size), divide(subtract(multiply(b, p), multiply(a, q)), size)
    )


def log_softmax(x: Any, *, axis: Any = -1) -> Any:
    """x - logsumexp(x); a row of -inf gives -inf.  Half precision is computed in float32: its sums would overflow."""
    x = asarray(x)
    if x.dtype.itemsize == 2 and x.dtype.kind in "fV":
        return converted(log_softmax(converted(x, F32), axis=axis), x.dtype)
    if _is_last(x, axis):
        top = largest(x, axis)
        return where(equal(top, -math.inf), x, made(_LOG_SOFTMAX(x.bare), x.dtype, x._shape))
    z = _lowered(x, axis)
    s = sum(exp(z), axis=axis, keepdims=True)
    return subtract(z, log(where(equal(s, 0), 1, s)))


_CROSS_ENTROPY = calls.two("SparseSoftmaxCrossEntropyWithLogits")


def _labels(labels: Any) -> Any:
    y = asarray(labels)
    return y.bare if y.dtype in (INT32, INT64) else cast(y.bare, INT64)


def cross_entropy(x: Any, labels: Any) -> Any:
    """The mean of logsumexp(x) - x[label] over rows."""
    x = asarray(x)
    loss, _ = _CROSS_ENTROPY(x.bare, _labels(labels))
    return divide(sum(made(loss, x.dtype)), x.shape[0])


def cross_entropy_grad(x: Any, labels: Any) -> Any:
    """(softmax(x) - one_hot(labels)) / n."""
    x = asarray(x)
    _, g = _CROSS_ENTROPY(x.bare, _labels(labels))
    return divide(made(g, x.dtype, x._shape), x.shape[0])


def cross_entropy_keeping(x: Any, labels: Any) -> tuple[Any, Any]:
    """Both, by one of TensorFlow's ops."""
    x = asarray(x)
    loss, g = _CROSS_ENTROPY(x.bare, _labels(labels))
    n = x.shape[0]
    return divide(sum(made(loss, x.dtype)), n), divide(made(g, x.dtype, x._shape), n)
