"""Functions of neural networks."""

from __future__ import annotations

from typing import Any

from tapegrad.ops import nn_conv, nn_pool  # noqa: F401
from tapegrad.registry import constant, elementwise, no_derivative, primitive
from tapegrad.registry.batching import full_batch


@elementwise(real=True, kinks=(0.0,))
def relu(xp: Any, x: Any, /) -> Any:
    """The larger of `x` and 0; at 0 the derivative is 0."""
    return xp.relu(x)


relu.partials(x=lambda F, y: F.step(y))


@constant(pointwise=True, laws=lambda draw: (draw.array("n", 3),), public=False)
def step(xp: Any, x: Any, /) -> Any:
    """1 where an element is above 0 and 0 elsewhere, in its dtype: the derivative of `relu`."""
    return xp.step(x)


@elementwise
def sigmoid(xp: Any, x: Any, /) -> Any:
    """1 / (1 + exp(-x)), without overflow."""
    return xp.sigmoid(x)


sigmoid.partials(x=lambda F, y: y * (1 - y))


@elementwise(real=True)
def softplus(xp: Any, x: Any, /) -> Any:
    """log(1 + exp(x)), without overflow."""
    return xp.softplus(x)


softplus.partials(x=lambda F, x: F.sigmoid(x))


def _labelled(draw: Any) -> Any:
    n = draw.size("n", least=1)
    return draw.array("n", 4), draw.integers(n, low=0, high=4)


@primitive(real=True, laws=_labelled)
def cross_entropy(xp: Any, x: Any, labels: Any, /) -> Any:
    """The mean over the batch of logsumexp(x) - x[label], for logits (n, k) and integer labels (n,)."""
    return xp.cross_entropy(x, labels)


cross_entropy.pullback(x=lambda F, g, x, labels: F.cross_entropy_grad(x, labels) * g, labels=no_derivative)
cross_entropy.pushforward(x=lambda F, t, x, labels: F.sum(t * F.cross_entropy_grad(x, labels)))


@primitive(real=True, laws=_labelled, public=False)
def cross_entropy_grad(xp: Any, x: Any, labels: Any, /) -> Any:
    """The derivative of `cross_entropy`: (softmax(x) - one_hot(labels)) / n."""
    return xp.cross_entropy_grad(x, labels)


def _softmax_step(F: Any, t: Any, x: Any) -> Any:
    y = F.softmax(x, axis=-1)
    return y * (t - F.sum(t * y, axis=-1, keepdims=True)) / x.shape[0]


cross_entropy_grad.pullback(x=_softmax_step, labels=no_derivative)
cross_entropy_grad.pushforward(x=_softmax_step)


@constant(laws=lambda draw: (draw.integers("n", low=0, high=4), {"depth": 5}))
def one_hot(xp: Any, x: Any, /, depth: int, *, dtype: Any = None) -> Any:
    """Rows of zeros with a one at each index, (...) -> (..., depth); an index out of range gives a row of zeros."""
    from tapegrad.dtypes import as_dtype, float32

    return xp.astype(xp.equal(xp.expand_dims(x, axis=-1), xp.arange(depth)), as_dtype(dtype or float32))


# -- batches ---------------------------------------------------------------------------------------------
@cross_entropy.batch
def _cross_entropy_batch(F: Any, has: Any, x: Any, labels: Any) -> Any:
    x, labels = full_batch(F, has, (x, labels))
    picked = F.squeeze(F.take_along_axis(x, F.expand_dims(labels, axis=-1), axis=-1), -1)
    return F.mean(F.logsumexp(x, axis=-1) - picked, axis=-1)


@cross_entropy_grad.batch
def _cross_entropy_grad_batch(F: Any, has: Any, x: Any, labels: Any) -> Any:
    x, labels = full_batch(F, has, (x, labels))
    return (F.softmax(x, axis=-1) - F.one_hot(labels, x.shape[-1], dtype=x.dtype)) / x.shape[-2]
