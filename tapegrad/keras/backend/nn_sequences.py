"""The loss of connectionist temporal classification: labels in order, at times that nobody knows."""

from __future__ import annotations

from typing import Any

import numpy
from keras.src import backend

import tapegrad as tg
from tapegrad.keras.backend.core import convert_to_numpy, convert_to_tensor
from tapegrad.ops.convert import asarray
from tapegrad.ops.nn_alignment import ctc_loss as alignments

__all__ = ["ctc_loss"]

#: The logarithm of a probability that counts as zero: finite, so that no derivative is infinite minus infinite.
_NEVER = -1e5


def ctc_loss(
    target: Any, output: Any, target_length: Any, output_length: Any, mask_index: int = 0
) -> Any:
    """-log(p(labels)) for logits of each time, (n, labels), (n, times, classes) -> (n,); `mask_index` is the blank."""
    labels = convert_to_numpy(convert_to_tensor(target, "int32"))
    label_counts = convert_to_numpy(convert_to_tensor(target_length, "int32"))
    time_counts = convert_to_numpy(convert_to_tensor(output_length, "int32"))
    x = convert_to_tensor(output)
    x = convert_to_tensor(x, backend.result_type(x.dtype, "float32"))
    counts = [asarray(v.astype(numpy.int64)) for v in (labels, label_counts, time_counts)]
    return alignments(tg.nn.log_softmax(x), *counts, blank=mask_index, never=_NEVER)
