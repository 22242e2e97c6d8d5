"""The loss of connectionist temporal classification: labels in order, at times that nobody knows."""

from __future__ import annotations

from typing import Any

import numpy
from keras.src import backend

import tapegrad as tg
from tapegrad.keras.backend.core import convert_to_numpy, convert_to_tensor
from tapegrad.ops.convert import asarray
from tapegrad.registry.space import F

__all__ = ["ctc_loss"]

#: The logarithm of a probability that counts as zero: finite, so that no derivative is infinite minus infinite.
_NEVER = -1e5


def ctc_loss(
    target: Any, output: Any, target_length: Any, output_length: Any, mask_index: int = 0
) -> Any:
    """-log(p(labels)) for logits of each time, (n, labels), (n, times, classes) -> (n,); `mask_index` is the blank.

    A. Graves et al., "Connectionist temporal classification", 2006, equations 5 to 8, in logarithms.
    """
    labels = convert_to_numpy(convert_to_tensor(target, "int32"))
    label_counts = convert_to_numpy(convert_to_tensor(target_length, "int32"))
    time_counts = convert_to_numpy(convert_to_tensor(output_length, "int32"))
    x = convert_to_tensor(output)
    x = convert_to_tensor(x, backend.result_type(x.dtype, "float32"))
    n, times, _ = x.shape
    # A path visits blank, label, blank, label, ..., blank: it stays, goes on, or jumps over a blank between two labels
    # that differ.
    states = numpy.full((n, 2 * labels.shape[1] + 1), mask_index, numpy.int64)
    states[:, 1::2] = labels
    jumps = numpy.zeros(states.shape, bool)
    jumps[:, 3::2] = states[:, 3::2] != states[:, 1:-2:2]
    never = asarray(numpy.full(states.shape, _NEVER, x.array.dtype))
    logs = tg.nn.log_softmax(x)
    emitted = F.unstack(
        F.take_along_axis(logs, asarray(numpy.broadcast_to(states[:, None], (n, times, states.shape[1]))), axis=-1), axis=1
    )
    first = numpy.arange(states.shape[1]) < 2
    alpha = F.where(first, emitted[0], never)
    for t in range(1, times):
        before = F.concat([never[:, :1], alpha[:, :-1]], axis=1)
        jumped = F.where(jumps, F.concat([never[:, :2], alpha[:, :-2]], axis=1)[:, : states.shape[1]], never)
        reached = tg.nn.logsumexp(F.stack([alpha, before, jumped]), axis=0) + emitted[t]
        alpha = F.where((t < time_counts)[:, None], reached, alpha)
    last = 2 * label_counts[:, None]
    ends = F.take_along_axis(alpha, asarray(numpy.concatenate([last, numpy.maximum(last - 1, 0)], axis=1)), axis=1)
    counted = numpy.concatenate([last >= 0, last >= 1], axis=1)
    return -tg.nn.logsumexp(F.where(counted, ends, never[:, :2]), axis=1)
