"""Losses of differences and similarities: regression, margins, pairs and triplets."""

from __future__ import annotations

from typing import Any

from tapegrad.ops import nn_activation  # noqa: F401  declares hardtanh
from tapegrad.ops.nn_loss import reduced
from tapegrad.ops.nn_norm import _norm as norm
from tapegrad.registry import composite, elementwise


def _pair(draw: Any, **params: Any) -> Any:
    shape = draw.shape("n", 3)
    drawn = {k: draw.choice(*v) for k, v in params.items()}
    return draw.filled(shape), draw.filled(shape), {**drawn, "reduction": draw.choice("mean", "sum", "none")}


# -- regression ------------------------------------------------------------------------------------------------
@composite(real=True, laws=_pair, public=False)
def mse_loss(F: Any, x: Any, target: Any, /, *, reduction: str = "mean") -> Any:
    """(x - target)**2."""
    d = x - target
    return reduced(F, d * d, reduction)


@composite(real=True, laws=_pair, public=False)
def l1_loss(F: Any, x: Any, target: Any, /, *, reduction: str = "mean") -> Any:
    """abs(x - target); the derivative is 0 where both are equal."""
    return reduced(F, F.abs(x - target), reduction)


def _bent(draw: Any, **params: Any) -> Any:
    """Pairs whose difference is away from where a second derivative jumps."""
    shape = draw.shape("n", 3)
    x = draw.filled(shape)
    draw.kinks = (-1.0, -0.3, 0.3, 1.0)
    drawn = {k: draw.choice(*v) for k, v in params.items()}
    return x, x - draw.filled(shape), {**drawn, "reduction": draw.choice("mean", "sum", "none")}


def _alone(draw: Any) -> Any:
    draw.kinks = (-1.0, -0.3, 0.3, 1.0)  # of the first derivative
    return draw.array("n", 3), {"delta": draw.choice(1.0, 0.3)}


@elementwise(real=True, laws=_alone, public=False)
def huber(xp: Any, x: Any, /, *, delta: float) -> Any:
    """x**2 / 2 where abs(x) is at most delta, and delta (abs(x) - delta / 2) elsewhere; the derivative is x between the bounds.

    P. Huber, "Robust estimation of a location parameter", 1964, section 1.
    """
    kept = xp.hardtanh(x, low=-delta, high=delta)
    return kept * (x - xp.own_number(x, 0.5) * kept)


huber.partials(x=lambda F, x, delta: F.hardtanh(x, low=-delta, high=delta))


@composite(real=True, laws=lambda draw: _bent(draw, beta=(1.0, 0.3)), public=False)
def smooth_l1_loss(F: Any, x: Any, target: Any, /, *, beta: float = 1.0, reduction: str = "mean") -> Any:
    """d**2 / (2 beta) where d = abs(x - target) is below beta, and d - beta / 2 elsewhere.

    R. Girshick, "Fast R-CNN", 2015, equation 3, where beta is 1.
    """
    if beta == 0:
        return F.l1_loss(x, target, reduction=reduction)
    loss = F.huber(x - target, delta=beta)
    return reduced(F, loss if beta == 1 else loss / beta, reduction)


@composite(real=True, laws=lambda draw: _bent(draw, delta=(1.0, 0.3)), public=False)
def huber_loss(F: Any, x: Any, target: Any, /, *, delta: float = 1.0, reduction: str = "mean") -> Any:
    """d**2 / 2 where d = abs(x - target) is at most delta, and delta (d - delta / 2) elsewhere.

    P. Huber, "Robust estimation of a location parameter", 1964, section 1.
    """
    return reduced(F, F.huber(x - target, delta=delta), reduction)


# -- margins: y is 1 or -1 ---------------------------------------------------------------------------------------
def _signs(draw: Any, *shape: int) -> Any:
    return 2 * draw.integers(*shape, low=0, high=2) - 1


def _signed(draw: Any) -> Any:
    shape = draw.shape("n", 3)
    return draw.filled(shape), _signs(draw, *shape), {"reduction": draw.choice("mean", "sum", "none")}


def _hinged(draw: Any) -> Any:
    shape = draw.shape("n", 3)
    x = draw.filled(shape, low=-2, high=0.9) if draw.boolean() else draw.filled(shape, low=1.1, high=3)
    return x, _signs(draw, *shape), {"reduction": draw.choice("mean", "sum", "none")}


@composite(real=True, laws=_signed, public=False)
def soft_margin_loss(F: Any, x: Any, labels: Any, /, *, reduction: str = "mean") -> Any:
    """log(1 + exp(-y x)) for labels y of 1 and -1, without overflow."""
    return reduced(F, F.softplus(-x * F.cast_like(labels, x)), reduction)


@composite(real=True, laws=_hinged, public=False)
def hinge_embedding_loss(F: Any, x: Any, labels: Any, /, *, margin: float = 1.0, reduction: str = "mean") -> Any:
    """`x` for label 1, and max(0, margin - x) for label -1."""
    loss = F.where(labels == 1, x, F.where(labels == -1, F.relu(margin - x), 0))
    return reduced(F, loss, reduction)


@composite(
    real=True,
    laws=lambda draw: (draw.array("n"), draw.array("n"), _signs(draw, "n"), {"margin": 0.3}),  # type: ignore[arg-type]
    public=False,
)
def margin_ranking_loss(
    F: Any, x1: Any, x2: Any, labels: Any, /, *, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    """max(0, margin - y (x1 - x2)) for labels y of 1 and -1."""
    return reduced(F, F.relu(margin - F.cast_like(labels, x1) * (x1 - x2)), reduction)


def _classes(draw: Any) -> Any:
    n = draw.size("n")
    weight = draw.choice((), (draw.array(3, low=0.3, high=2),))
    return draw.array(n, 3), draw.integers(n, low=0, high=3), *weight, {"margin": 0.7, "p": draw.choice(1, 2)}


@composite(real=True, laws=_classes, public=False)
def multi_margin_loss(
    F: Any,
    x: Any,
    labels: Any,
    weight: Any = None,
    /,
    *,
    p: int = 1,
    margin: float = 1.0,
    reduction: str = "mean",
) -> Any:
    """sum(max(0, margin - x[label] + x[k])**p) / K over the other classes, (N, K), (N,) -> (N,).

    K. Crammer, Y. Singer, "On the algorithmic implementation of multiclass kernel-based vector machines", 2001, section 3.
    """
    picked = F.expand_dims(labels, axis=-1)
    own = F.take_along_axis(x, picked, axis=-1)
    others = F.one_hot(labels, x.shape[-1]) == 0
    gap = F.where(others, F.relu(margin - own + x), 0)
    if p == 2:
        gap = gap * gap
    if weight is not None:
        gap = gap * F.expand_dims(F.take(weight, labels, axis=0), axis=-1)
    return reduced(F, F.sum(gap, axis=-1) / x.shape[-1], reduction)


def _several_labels(draw: Any) -> Any:
    n = draw.size("n")
    return draw.array(n, 3), draw.array(n, 3, low=0, high=1), {"reduction": draw.choice("mean", "sum", "none")}


@composite(real=True, laws=_several_labels, public=False)
def multilabel_soft_margin_loss(
    F: Any, x: Any, target: Any, weight: Any = None, /, *, reduction: str = "mean"
) -> Any:
    """The binary cross entropy of sigmoid(x), averaged over the classes, (N, K), (N, K) -> (N,)."""
    loss = F.softplus(x) - target * x
    return reduced(F, F.mean(loss if weight is None else loss * weight, axis=-1), reduction)


# -- similarities ------------------------------------------------------------------------------------------------
def _vectors(draw: Any) -> Any:
    shape = draw.shape("n", 3)
    return draw.filled(shape, low=0.2, high=2), draw.filled(shape, low=0.2, high=2)


@composite(real=True, laws=_vectors, public=False)
def cosine_similarity(F: Any, x1: Any, x2: Any, /, *, axis: int = -1, epsilon: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along an axis, with norms of `epsilon` at least."""
    a = F.at_least(F.norm2(x1, axis=axis, keepdims=True), epsilon)
    b = F.at_least(F.norm2(x2, axis=axis, keepdims=True), epsilon)
    return F.sum((x1 / a) * (x2 / b), axis=axis)


@composite(
    real=True,
    laws=lambda draw: (*_vectors(draw), _signs(draw, "n"), {"margin": 0.3}),  # type: ignore[arg-type]
    public=False,
)
def cosine_embedding_loss(
    F: Any, x1: Any, x2: Any, labels: Any, /, *, margin: float = 0.0, reduction: str = "mean"
) -> Any:
    """1 - cos(x1, x2) for label 1, and max(0, cos(x1, x2) - margin) for label -1, (..., n), (..., n), (...) -> (...)."""
    c = F.cosine_similarity(x1, x2)
    return reduced(F, F.where(labels == 1, 1 - c, F.relu(c - margin)), reduction)


@composite(real=True, laws=lambda draw: (*_vectors(draw), {"p": draw.choice(2.0, 1.0, 3.0)}), public=False)
def pairwise_distance(
    F: Any, x1: Any, x2: Any, /, *, p: float = 2.0, epsilon: float = 1e-6, keepdims: bool = False
) -> Any:
    """The p-norm of x1 - x2 + epsilon along the last axis."""
    d = norm(F, x1 - x2 + epsilon, p, -1)
    return d if keepdims else F.squeeze(d, -1)


def _triplet(draw: Any) -> Any:
    shape = draw.shape("n", 3)
    params = {"margin": 0.7, "p": draw.choice(2.0, 3.0), "swap": draw.boolean()}
    return draw.filled(shape), draw.filled(shape), draw.filled(shape), params


@composite(real=True, laws=_triplet, public=False)
def triplet_margin_loss(
    F: Any,
    anchor: Any,
    positive: Any,
    negative: Any,
    /,
    *,
    margin: float = 1.0,
    p: float = 2.0,
    epsilon: float = 1e-6,
    swap: bool = False,
    reduction: str = "mean",
) -> Any:
    """max(0, d(anchor, positive) - d(anchor, negative) + margin), with the `pairwise_distance` d, (..., n) -> (...).

    With `swap` the negative counts from the positive where that is nearer (V. Balntas et al., "Learning local feature
    descriptors with triplets and shallow convolutional neural networks", 2016, section 3.3).
    """
    far = F.pairwise_distance(anchor, negative, p=p, epsilon=epsilon)
    if swap:
        far = F.minimum(far, F.pairwise_distance(positive, negative, p=p, epsilon=epsilon))
    near = F.pairwise_distance(anchor, positive, p=p, epsilon=epsilon)
    return reduced(F, F.relu(near - far + margin), reduction)
