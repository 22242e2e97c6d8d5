"""Losses over a few classes of many: `tf.nn.sampled_softmax_loss` and `tf.nn.nce_loss`."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.candidates import compute_accidental_hits, log_uniform_candidate_sampler
from tapegrad.tf.convert import convert
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import EXPORTS
from tapegrad.tf.gradients import stop_gradient
from tapegrad.tf.nn_losses import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


def _rows(table: Any, ids: Tensor) -> Tensor:
    """The rows of a table, or of several that share the rows in blocks: the first ones have one more where it does not come out even."""
    if not isinstance(table, list | tuple):
        return EXPORTS["nn.embedding_lookup"](table, ids)
    return EXPORTS["nn.embedding_lookup"](S.concat([convert(part) for part in table], axis=0), ids)


def _logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: Any,
    num_classes: Any,
    num_true: Any,
    sampled_values: Any,
    remove_accidental_hits: Any,
    seed: Any = None,
) -> tuple[Tensor, Tensor]:
    """Logits of the true classes and of those drawn, less the logarithm of how often they are expected; and labels: (batch, *)."""
    x = convert(inputs)
    y = convert(labels)
    if y.array.ndim != 2 or y.array.shape[1] != int(num_true) or x.array.ndim != 2:
        raise invalid(
            None,
            f"expected inputs (batch, dim) and labels (batch, num_true) with num_true={num_true}, "
            f"got {tuple(x.array.shape)} and {tuple(y.array.shape)}",
        )
    y = S.astype(y, np.dtype(np.int64))
    if sampled_values is None:
        sampled_values = log_uniform_candidate_sampler(y, num_true, num_sampled, unique=True, range_max=num_classes, seed=seed)
    drawn, true_count, drawn_count = (stop_gradient(v) for v in sampled_values)
    drawn = S.astype(drawn, np.dtype(np.int64))
    n, dim = y.array.shape[0] * int(num_true), x.array.shape[1]
    ids = S.concat([S.reshape(y, (-1,)), drawn], axis=0)
    w, b = _rows(weights, ids), _rows(biases, ids)
    true_w = S.reshape(w[:n], (-1, int(num_true), dim))
    true_logits = S.add(S.sum(S.multiply(S.expand_dims(x, axis=1), true_w), axis=2), S.reshape(b[:n], (-1, int(num_true))))
    drawn_logits = S.add(S.matmul(x, S.matrix_transpose(w[n:])), b[n:])
    if remove_accidental_hits:
        rows, places, lowest = compute_accidental_hits(y, drawn, num_true)
        at = S.stack([S.astype(rows, np.dtype(np.int64)), places], axis=1)
        hidden = EXPORTS["scatter_nd"](at, S.astype(lowest, drawn_logits.array.dtype), drawn_logits.array.shape)
        drawn_logits = S.add(drawn_logits, hidden)
    dtype = x.array.dtype
    true_logits = S.subtract(true_logits, S.astype(S.log(true_count), dtype))
    drawn_logits = S.subtract(drawn_logits, S.astype(S.log(drawn_count), dtype))
    ones, zeros = np.full(true_logits.array.shape, 1 / int(num_true)), np.zeros(drawn_logits.array.shape)
    return S.concat([true_logits, drawn_logits], axis=1), convert(np.concatenate([ones, zeros], axis=1).astype(dtype))


def nce_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: Any,
    num_classes: Any,
    num_true: Any = 1,
    sampled_values: Any = None,
    remove_accidental_hits: Any = False,
    name: str | None = "nce_loss",
) -> Tensor:
    """Noise-contrastive estimation: the logistic losses of the true classes and of classes that are drawn, for each row.

    Inputs are (batch, dim), labels (batch, num_true), weights (num_classes, dim), biases (num_classes,).
    """
    logits, wanted = _logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, remove_accidental_hits
    )
    return S.sum(sigmoid_cross_entropy_with_logits(labels=wanted, logits=logits), axis=1)


def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: Any,
    num_classes: Any,
    num_true: Any = 1,
    sampled_values: Any = None,
    remove_accidental_hits: Any = True,
    seed: Any = None,
    name: str | None = "sampled_softmax_loss",
) -> Tensor:
    """The softmax loss over the true classes and classes that are drawn, for each row: to train with, not to evaluate.

    Inputs are (batch, dim), labels (batch, num_true), weights (num_classes, dim), biases (num_classes,).
    """
    logits, wanted = _logits(
        weights, biases, labels, inputs, num_sampled, num_classes, num_true, sampled_values, remove_accidental_hits, seed
    )
    return softmax_cross_entropy_with_logits(labels=wanted, logits=logits)
