"""`tf.nn.ctc_loss`: labels of sequences without their places."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.operators import shape_text
from tapegrad.tf.style import S, not_allowed
from tapegrad.tf.tensor import Tensor


@export("nn.ctc_loss")
def ctc_loss(
    labels: Any,
    logits: Any,
    label_length: Any,
    logit_length: Any,
    logits_time_major: bool = True,
    unique: Any = None,
    blank_index: int | None = None,
    name: str | None = None,
) -> Tensor:
    """-log(p(labels)) for each sequence: labels (n, l), logits (times, n, classes), and how much of them counts, each (n).

    A negative `blank_index` counts from the last class.

    >>> import tapegrad.tf as tf
    >>> float(tf.nn.ctc_loss([[1]], tf.zeros([2, 1, 3]), [1], [2])[0]) == float(tf.math.log(3.0))
    True
    """
    x = convert(logits)
    if x.array.dtype.kind not in "fV":
        raise not_allowed("CTCLossV2", x.array.dtype)
    if x.array.ndim != 3:
        raise invalid("CTCLossV2", f"inputs is not a 3-Tensor: got shape {shape_text(x.array)}")
    if logits_time_major:
        x = S.permute_dims(x, (1, 0, 2))
    n, times, classes = x.array.shape
    known, counts, steps = (host(v).astype(np.int64) for v in (labels, label_length, logit_length))
    if known.ndim != 2 or not known.shape[0] == counts.size == steps.size == n:
        raise invalid(
            "CTCLossV2",
            f"expected labels (n, l), label_length (n) and logit_length (n) for {n} sequences, got {list(known.shape)}, "
            f"{list(counts.shape)} and {list(steps.shape)}",
        )
    if steps.size and steps.max() > times:
        raise invalid("CTCLossV2", f"sequence_length(b) <= {times} is needed, got {int(steps.max())}")
    blank = 0 if blank_index is None else int(blank_index)
    blank += classes if blank < 0 else 0
    if not 0 <= blank < classes:
        raise ValueError(f"Argument `blank_index` must be >= {-classes} and < {classes}, got {blank_index}")
    inside = np.arange(known.shape[1]) < counts[:, None]
    if np.any(inside & ((known < 0) | (known >= classes))):
        raise invalid("CTCLossV2", f"Saw a label out of range: labels must be in [0, {classes}), got {known[inside].tolist()}")
    kept = np.where(inside, known, blank)
    arrays = [fresh(np.ascontiguousarray(v)) for v in (kept, counts.reshape(-1), steps.reshape(-1))]
    return S.ctc_loss(S.log_softmax(x, axis=-1), *arrays, blank=blank)


@export("nn.collapse_repeated")
def collapse_repeated(labels: Any, seq_length: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Labels without those that repeat the one before, filled up with zeros, and how many are left of each sequence."""
    rows, counts = host(labels), host(seq_length)
    kept = np.ones(rows.shape, np.bool_)
    kept[:, 1:] = rows[:, 1:] != rows[:, :-1]
    kept &= np.arange(rows.shape[1]) < counts[:, None]
    left = kept.sum(1)
    found = np.zeros((len(rows), int(left.max(initial=0))), rows.dtype)
    for row, own, keep in zip(found, rows, kept, strict=True):
        row[: keep.sum()] = own[keep]
    return fresh(found), fresh(left.astype(counts.dtype))


@export("nn.ctc_unique_labels")
def ctc_unique_labels(labels: Any, name: str | None = None) -> tuple[Tensor, Tensor]:
    """The different labels of each row in the order in which they come, filled up with zeros, and which of them each label is."""
    rows = host(labels)
    unique, index = np.zeros_like(rows), np.zeros(rows.shape, np.int64)
    for row, places, own in zip(unique, index, rows, strict=True):
        values, first, inverse = np.unique(own, return_index=True, return_inverse=True)
        order = np.argsort(first)
        row[: len(values)] = values[order]
        places[:] = np.argsort(order)[inverse]
    return fresh(unique), fresh(index)
