"""Losses: of class labels, of probabilities, of distances.

A `reduction` says what becomes of the losses of single elements: "mean", "sum", or "none", which leaves them as they are.
"""

from __future__ import annotations

import math
from typing import Any

from tapegrad.errors import ArgumentError
from tapegrad.registry import composite, constant, no_derivative, primitive
from tapegrad.registry.batch_rules import full_batch


def reduced(F: Any, loss: Any, reduction: str, weights: Any = None) -> Any:
    """The losses as the reduction says; a mean is over the sum of the weights, if there are any."""
    if reduction == "none":
        return loss
    if reduction == "sum":
        return F.sum(loss)
    if reduction != "mean":
        raise ArgumentError(f'reduction=...: expected "mean", "sum" or "none", got {reduction!r}')
    return F.mean(loss) if weights is None else F.sum(loss) / F.sum(weights)


def _reduction(draw: Any) -> str:
    found: str = draw.choice("mean", "sum", "none")
    return found


# -- class labels ----------------------------------------------------------------------------------------------
def _labelled(draw: Any) -> Any:
    n = draw.size("n", least=1)
    return draw.array("n", 4), draw.integers(n, low=0, high=4)


@primitive(real=True, laws=_labelled, public=False)
def cross_entropy_grad(xp: Any, x: Any, labels: Any, /) -> Any:
    """The derivative of `cross_entropy`: (softmax(x) - one_hot(labels)) / n."""
    return xp.cross_entropy_grad(x, labels)


def _softmax_step(F: Any, t: Any, x: Any) -> Any:
    y = F.softmax(x, axis=-1)
    return y * (t - F.sum(t * y, axis=-1, keepdims=True)) / x.shape[0]


cross_entropy_grad.pullback(x=_softmax_step, labels=no_derivative)
cross_entropy_grad.pushforward(x=_softmax_step)


@primitive(real=True, laws=_labelled)
def cross_entropy(xp: Any, x: Any, labels: Any, /) -> Any:
    """The mean over the batch of logsumexp(x) - x[label], for logits (n, k) and integer labels (n,)."""
    return xp.cross_entropy(x, labels)


cross_entropy.keeping(slope=cross_entropy_grad)
cross_entropy.pullback(x=lambda F, g, slope: slope * g, labels=no_derivative)
cross_entropy.pushforward(x=lambda F, t, slope: F.sum(t * slope))


@constant(laws=lambda draw: (draw.integers("n", low=0, high=4), {"depth": 5}))
def one_hot(xp: Any, x: Any, /, depth: int, *, dtype: Any = None) -> Any:
    """Rows of zeros with a one at each index, (...) -> (..., depth); an index out of range gives a row of zeros."""
    from tapegrad.dtypes import as_dtype, float32

    return xp.astype(xp.equal(xp.expand_dims(x, axis=-1), xp.arange(depth)), as_dtype(dtype or float32))


def _labels_laws(draw: Any) -> Any:
    n = draw.size("n", least=1)
    labels = draw.integers(n, 2, low=0, high=3)
    labels[0, 0] = 1
    if draw.boolean():
        labels[:, 1] = -1
    axis = draw.choice(1, -1)
    x = draw.array(n, 3, 2) if axis == 1 else draw.array(n, 2, 3)
    weight = draw.choice((), (draw.array(3, low=0.3, high=2, complex=False),))
    return x, labels, *weight, {"axis": axis, "ignore_index": -1, "reduction": _reduction(draw)}


def _cross_entropy_laws(draw: Any) -> Any:
    *arrays, params = _labels_laws(draw)
    return *arrays, {**params, "label_smoothing": draw.choice(0.0, 0.2)}


@composite(real=True, laws=_cross_entropy_laws, public=False)
def label_cross_entropy(
    F: Any,
    x: Any,
    labels: Any,
    weight: Any = None,
    /,
    *,
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
    axis: int = -1,
) -> Any:
    """-log(softmax(x)[label]) for logits with classes along `axis` and integer labels of the shape without it.

    With `label_smoothing` e the target is 1 - e for the label plus e / k for each of the k classes (C. Szegedy et al.,
    "Rethinking the inception architecture for computer vision", 2016, section 7).
    """
    logp = F.log_softmax(x, axis=axis)
    loss, weights = _picked_loss(F, logp, labels, weight, ignore_index, axis)
    if label_smoothing:
        k = x.shape[axis]
        if weight is not None:
            behind = len(x.shape) - 1 - axis % len(x.shape)
            logp = logp * F.reshape(weight, (k, *(1,) * behind))
        smooth = -F.sum(logp, axis=axis)
        if ignore_index is not None:
            smooth = F.where(labels == ignore_index, 0, smooth)
        loss = (1 - label_smoothing) * loss + (label_smoothing / k) * smooth
    return reduced(F, loss, reduction, weights)


@composite(real=True, laws=_labels_laws, public=False)
def nll_loss(
    F: Any,
    x: Any,
    labels: Any,
    weight: Any = None,
    /,
    *,
    ignore_index: int | None = None,
    reduction: str = "mean",
    axis: int = -1,
) -> Any:
    """-x[label] for log-probabilities with classes along `axis` and integer labels of the shape without it.

    `weight` has one factor for each class, and the mean is over the sum of those that were used; a label that is
    `ignore_index` has loss and weight 0.
    """
    loss, weights = _picked_loss(F, x, labels, weight, ignore_index, axis)
    return reduced(F, loss, reduction, weights)


def _picked_loss(
    F: Any, logp: Any, labels: Any, weight: Any, ignore_index: int | None, axis: int
) -> tuple[Any, Any]:
    """The loss of each label, and its weight; None where all weigh the same."""
    used = None
    if ignore_index is not None:
        used = labels != ignore_index
        labels = F.where(used, labels, 0)
    loss = -F.squeeze(F.take_along_axis(logp, F.expand_dims(labels, axis=axis), axis=axis), axis)
    weights = None
    if weight is not None:
        weights = F.take(weight, labels, axis=0)
        loss = loss * weights
    if used is not None:
        loss = F.where(used, loss, 0)
        weights = F.cast_like(used, logp) if weights is None else F.where(used, weights, 0)
    return loss, weights


def _probabilities(draw: Any) -> Any:
    n = draw.size("n", least=1)
    weight = draw.choice((), (draw.array(3, low=0.3, high=2),))
    params = {"label_smoothing": draw.choice(0.0, 0.2), "reduction": _reduction(draw)}
    return draw.array(n, 3), draw.array(n, 3, low=0.1, high=1), *weight, params


@composite(real=True, laws=_probabilities, public=False)
def soft_cross_entropy(
    F: Any,
    x: Any,
    target: Any,
    weight: Any = None,
    /,
    *,
    label_smoothing: float = 0.0,
    reduction: str = "mean",
    axis: int = -1,
) -> Any:
    """-sum(target * log(softmax(x))) over classes along `axis`, for logits and probabilities of one shape.

    The mean is over the number of distributions.
    """
    if label_smoothing:
        target = target * (1 - label_smoothing) + label_smoothing / x.shape[axis]
    if weight is not None:
        behind = len(x.shape) - 1 - axis % len(x.shape)
        target = target * F.reshape(weight, (*weight.shape, *(1,) * behind))
    logp = F.log_softmax(x, axis=axis)
    logp = F.where((target == 0) & (logp == -math.inf), 0, logp)  # what cannot be and is not asked for costs nothing
    return reduced(F, -F.sum(target * logp, axis=axis), reduction)


# -- probabilities ---------------------------------------------------------------------------------------------
def _binary(draw: Any, *, logits: bool) -> Any:
    shape = draw.shape("n", 3)
    x = draw.filled(shape) if logits else draw.filled(shape, low=0.05, high=0.95)
    target = draw.filled(shape, low=0.05, high=0.95)
    weight = draw.choice((), (draw.array(3, low=0.3, high=2),))
    if logits and weight:
        weight = (*weight, draw.array(3, low=0.3, high=2))
    return x, target, *weight, {"reduction": _reduction(draw)}


@composite(real=True, laws=lambda draw: _binary(draw, logits=False), public=False)
def binary_cross_entropy(
    F: Any, x: Any, target: Any, weight: Any = None, /, *, reduction: str = "mean"
) -> Any:
    """-(target log(x) + (1 - target) log(1 - x)) for probabilities; a logarithm counts as -100 at least."""
    loss = -(target * F.at_least(F.log(x), -100.0) + (1 - target) * F.at_least(F.log1p(-x), -100.0))
    return reduced(F, loss if weight is None else loss * weight, reduction)


@composite(real=True, laws=lambda draw: _binary(draw, logits=True), public=False)
def binary_cross_entropy_with_logits(
    F: Any, x: Any, target: Any, weight: Any = None, positive_weight: Any = None, /, *, reduction: str = "mean"
) -> Any:
    """The binary cross entropy of sigmoid(x), without overflow; `positive_weight` multiplies the part of `target`.

    Without that, a logit of -inf, as masks have it, and the target 0 have the loss 0.
    """
    if positive_weight is None:
        loss = F.softplus(x) - F.mul_zero(target, x)
    else:
        loss = (1 - target) * x + (1 + (positive_weight - 1) * target) * F.softplus(-x)
    return reduced(F, loss if weight is None else loss * weight, reduction)


def _divergence(draw: Any) -> Any:
    shape = draw.shape("n", 3)
    params = {"log_target": draw.boolean(), "reduction": draw.choice("mean", "sum", "none", "batchmean")}
    if params["reduction"] == "batchmean":
        shape = (max(shape[0], 1), 3)
    return draw.filled(shape), draw.filled(shape, low=0.1, high=1), params


@composite(real=True, laws=_divergence, public=False)
def kl_div_loss(F: Any, x: Any, target: Any, /, *, log_target: bool = False, reduction: str = "mean") -> Any:
    """target (log(target) - x) for log-probabilities `x`, 0 at target 0; `target` is a logarithm too with `log_target`.

    Reduction "batchmean" gives the divergence as it is defined: the sum over the length of the first axis.
    """
    known = target if log_target else F.log(F.where(target == 0, 1, target))
    loss = (F.exp(target) if log_target else target) * (known - x)
    if reduction == "batchmean":
        return F.sum(loss) / x.shape[0]
    return reduced(F, loss, reduction)


def _positive_target(draw: Any) -> Any:
    shape = draw.shape("n", 3)
    params = {"log_input": True, "full": draw.boolean(), "reduction": _reduction(draw)}
    return draw.filled(shape), draw.filled(shape, low=1.2, high=3), params


@composite(real=True, laws=_positive_target, public=False)
def poisson_nll_loss(
    F: Any,
    x: Any,
    target: Any,
    /,
    *,
    log_input: bool = True,
    full: bool = False,
    epsilon: float = 1e-8,
    reduction: str = "mean",
) -> Any:
    """exp(x) - target x, for the logarithm of a Poisson rate (or the rate itself: x - target log(x + epsilon)).

    With `full`, log(target!) is added by Stirling's formula where the target is above 1.
    """
    loss = F.exp(x) - target * x if log_input else x - target * F.log(x + epsilon)
    if full:
        above = target > 1
        t = F.where(above, target, 1)
        loss = loss + F.where(above, t * F.log(t) - t + 0.5 * F.log(2 * math.pi * t), 0)
    return reduced(F, loss, reduction)


def _with_variance(draw: Any) -> Any:
    shape = draw.shape("n", 3)
    params = {"full": draw.boolean(), "reduction": _reduction(draw)}
    return draw.filled(shape), draw.filled(shape), draw.filled(shape, low=0.3, high=2), params


@composite(real=True, laws=_with_variance, public=False)
def gaussian_nll_loss(
    F: Any,
    x: Any,
    target: Any,
    variance: Any,
    /,
    *,
    full: bool = False,
    epsilon: float = 1e-6,
    reduction: str = "mean",
) -> Any:
    """(log(variance) + (x - target)**2 / variance) / 2, with a variance of `epsilon` at least; plus log(2 pi) / 2 if `full`."""
    v = F.at_least(variance, epsilon)
    d = x - target
    loss = 0.5 * (F.log(v) + d * d / v)
    return reduced(F, loss + 0.5 * math.log(2 * math.pi) if full else loss, reduction)


# -- batches ---------------------------------------------------------------------------------------------------
@cross_entropy.batch
def _cross_entropy_batch(F: Any, has: Any, x: Any, labels: Any) -> Any:
    x, labels = full_batch(F, has, (x, labels))
    picked = F.squeeze(F.take_along_axis(x, F.expand_dims(labels, axis=-1), axis=-1), -1)
    return F.mean(F.logsumexp(x, axis=-1) - picked, axis=-1)


@cross_entropy_grad.batch
def _cross_entropy_grad_batch(F: Any, has: Any, x: Any, labels: Any) -> Any:
    x, labels = full_batch(F, has, (x, labels))
    return (F.softmax(x, axis=-1) - F.one_hot(labels, x.shape[-1], dtype=x.dtype)) / x.shape[-2]
