"""`tf.nn`: losses."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.registry.places import has_values
from tapegrad.tf.convert import cast, convert, host
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.gathering import furthest
from tapegrad.tf.nn_functions import floating
from tapegrad.tf.operators import mismatch_in, pair, shape_text
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


def _check_broadcast(logits: Any, labels: Any) -> None:
    try:
        np.broadcast_shapes(labels.shape, logits.shape)
    except (ValueError, TypeError):  # a TypeError: lengths that are not known yet
        if has_values(logits) and has_values(labels):
            raise invalid(
                "SoftmaxCrossEntropyWithLogits",
                f"logits and labels must be broadcastable: logits_size={shape_text(logits)} labels_size={shape_text(labels)}",
            ) from None


@export("nn.softmax_cross_entropy_with_logits")
def softmax_cross_entropy_with_logits(labels: Any, logits: Any, axis: int = -1, name: str | None = None) -> Tensor:
    """-sum(labels * log(softmax(logits))) along an axis."""
    x = floating(logits, "SoftmaxCrossEntropyWithLogits")
    p = cast(convert(labels), x.dtype)
    if p.array.shape != x.array.shape:
        _check_broadcast(x.array, p.array)
    return S.negative(S.sum(S.multiply(p, S.log_softmax(x, axis=axis)), axis=axis))


@export("nn.sparse_softmax_cross_entropy_with_logits")
def sparse_softmax_cross_entropy_with_logits(labels: Any, logits: Any, name: str | None = None) -> Tensor:
    """-log(softmax(logits)) at integer labels of the last axis."""
    x, y = floating(logits, "SparseSoftmaxCrossEntropyWithLogits"), convert(labels)
    raw = y.array
    if raw.dtype.kind not in "iu":
        raise invalid(
            "SparseSoftmaxCrossEntropyWithLogits",
            f"Value for attr 'Tlabels' of {y.dtype.name} is not in the list of allowed values: int32, int64",
        )
    if raw.shape != x.array.shape[:-1]:
        raise ValueError(
            "`labels.shape` must equal `logits.shape` except for the last dimension. Received: "
            f"labels.shape={tuple(raw.shape)} and logits.shape={tuple(x.array.shape)}"
        )
    n = x.array.shape[-1]
    labels = np.asarray(raw) if has_values(raw) else None
    if labels is not None and labels.size and furthest(labels) >= n:
        worst = labels.max() if labels.max() >= n else labels.min()
        raise invalid(None, f"Received a label value of {worst} which is outside the valid range of [0, {n}).")
    picked = S.take_along_axis(S.log_softmax(x, axis=-1), S.expand_dims(y, axis=-1), axis=-1)
    return S.negative(S.squeeze(picked, (-1,)))


@export("nn.sigmoid_cross_entropy_with_logits")
def sigmoid_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None) -> Tensor:
    """log(1 + exp(x)) - x z for logits x and labels z."""
    x, z = pair(logits, labels)
    mismatch_in("Mul", [x, z])
    if x.array.shape != z.array.shape:
        raise ValueError(f"`logits` and `labels` must have the same shape, received ({x.shape} vs {z.shape}).")
    return _stable(x, z)


def _stable(x: Tensor, z: Tensor) -> Tensor:
    """softplus(x) - x z, which is the same and smooth at 0."""
    return S.subtract(S.softplus(x), S.multiply(x, z))


@export("nn.weighted_cross_entropy_with_logits")
def weighted_cross_entropy_with_logits(labels: Any, logits: Any, pos_weight: Any, name: str | None = None) -> Tensor:
    """The cross-entropy of sigmoids with positive examples weighted."""
    x, z = pair(logits, labels)
    q = convert(pos_weight, x.array.dtype, prefer=True)
    weight = S.add(S.multiply(S.subtract(q, 1), z), 1)
    return S.add(S.multiply(S.subtract(1, z), x), S.multiply(weight, S.softplus(S.negative(x))))


@export("nn.l2_loss")
def l2_loss(t: Any, name: str | None = None) -> Tensor:
    """Half the sum of squares."""
    return S.divide(S.sum(S.square(floating(t, "L2Loss"))), 2)


@export("nn.log_poisson_loss")
def log_poisson_loss(targets: Any, log_input: Any, compute_full_loss: bool = False, name: str | None = None) -> Tensor:
    """exp(c) - z c, and with `compute_full_loss` Stirling's approximation for z above 1."""
    c, z = pair(log_input, targets)
    loss = S.subtract(S.exp(c), S.multiply(z, c))
    if compute_full_loss:
        full = S.add(S.subtract(S.multiply(z, S.log(z)), z), S.multiply(0.5, S.log(S.multiply(2 * np.pi, z))))
        small = S.logical_and(S.greater_equal(z, 0), S.less_equal(z, 1))
        loss = S.add(loss, S.where(small, z.array.dtype.type(0), full))
    return loss


@export("nn.compute_average_loss")
def compute_average_loss(per_example_loss: Any, sample_weight: Any = None, global_batch_size: Any = None) -> Tensor:
    """The sum of losses divided by the size of the batch."""
    x = convert(per_example_loss)
    if not x.array.ndim:
        raise ValueError("Argument `per_example_loss` is expected to be an array of losses and not a scalar.")
    if sample_weight is not None:
        x = S.multiply(x, convert(sample_weight, x.array.dtype, prefer=True))
    size = host(x.array.shape[0] if global_batch_size is None else global_batch_size)
    if size.ndim:
        raise ValueError(f"global_batch_size must be scalar, got {global_batch_size}")
    if size.dtype.kind not in "iu":
        raise TypeError(f"global_batch_size must be an int, got {global_batch_size!r}")
    if size < 0:
        raise invalid(None, f"global_batch_size must be non-negative, got {global_batch_size}")
    total = S.sum(x)
    return S.divide(total, x.array.dtype.type(size)) if size else S.zeros_like(total)


@export("nn.scale_regularization_loss")
def scale_regularization_loss(regularization_loss: Any) -> Tensor:
    """The sum of losses; there is one replica."""
    return S.sum(convert(regularization_loss))
