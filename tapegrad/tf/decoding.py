"""The texts of connectionist temporal classification: the best step by step, or by prefixes."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tapegrad.tf.convert import fresh, host
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.sparse_tensor import SparseTensor
from tapegrad.tf.tensor import Tensor


def _given(inputs: Any, sequence_length: Any, name: str) -> tuple[Any, Any]:
    scores, lengths = host(inputs), host(sequence_length)
    if scores.ndim != 3:
        raise invalid(name, f"inputs is not a 3-Tensor: expected (time, batch, classes), got shape {list(scores.shape)}")
    if lengths.shape != scores.shape[1:2]:
        raise invalid(name, f"len(sequence_length) != batch_size. len(sequence_length): {lengths.size} batch_size: {scores.shape[1]}")
    if lengths.size and int(lengths.max()) > len(scores):
        raise invalid(name, f"sequence_length({int(lengths.argmax())}) > {len(scores)}")
    return scores, lengths


def _sparse(rows: list[list[int]]) -> SparseTensor:
    places = [[i, k] for i, row in enumerate(rows) for k in range(len(row))]
    values = np.array([v for row in rows for v in row], np.int64)
    return SparseTensor(np.array(places, np.int64).reshape(-1, 2), fresh(values), [len(rows), max(map(len, rows), default=0)])


@export("nn.ctc_greedy_decoder")
def ctc_greedy_decoder(
    inputs: Any, sequence_length: Any, merge_repeated: bool = True, blank_index: Any = None
) -> tuple[list[SparseTensor], Tensor]:
    """The best class of each step, without repetitions and blanks; and less the sum of the scores.

    >>> import tapegrad.tf as tf
    >>> scores = tf.one_hot([[0], [0], [2], [0], [1]], 3)
    >>> decoded, _ = tf.nn.ctc_greedy_decoder(scores, [5])
    >>> decoded[0].values.numpy().tolist()
    [0, 0, 1]
    """
    scores, lengths = _given(inputs, sequence_length, "CTCGreedyDecoder")
    classes = scores.shape[2]
    blank = classes - 1 if blank_index is None else int(blank_index)
    blank += classes * (blank < 0)
    if not 0 <= blank < classes:
        raise invalid("CTCGreedyDecoder", f"blank_index expected to be between {-classes} and {classes - 1} but was {blank_index}")
    best, rows = scores.argmax(2), []
    for k, n in enumerate(lengths):
        path = best[:n, k].tolist()
        kept = [v for v, _ in itertools.groupby(path)] if merge_repeated else path
        rows.append([v for v in kept if v != blank])
    sums = [-scores[:n, k].max(1).sum() if n else 0.0 for k, n in enumerate(lengths)]
    return [_sparse(rows)], fresh(np.array(sums, scores.dtype).reshape(-1, 1))


@export("nn.ctc_beam_search_decoder")
def ctc_beam_search_decoder(
    inputs: Any, sequence_length: Any, beam_width: int = 100, top_paths: int = 1
) -> tuple[list[SparseTensor], Tensor]:
    """The most probable texts, each by all the ways that lead to it, among the `beam_width` best beginnings of each step.

    The last class is the blank.  The second value is the logarithm of their probabilities ``(batch, top_paths)``.
    """
    scores, lengths = _given(inputs, sequence_length, "CTCBeamSearchDecoder")
    if top_paths > beam_width:
        raise invalid("CTCBeamSearchDecoder", f"requested more paths than the beam width: {top_paths} > {beam_width}")
    shifted = scores.astype(np.float64) - scores.max(2, keepdims=True)
    logs = shifted - np.log(np.exp(shifted).sum(2, keepdims=True))
    found = [_prefixes(logs[:n, k], beam_width)[:top_paths] for k, n in enumerate(lengths)]
    if any(len(paths) < top_paths for paths in found):
        raise invalid("CTCBeamSearchDecoder", "Less leaves in the beam search than requested.")
    decoded = [_sparse([list(paths[p][0]) for paths in found]) for p in range(top_paths)]
    return decoded, fresh(np.array([[value for _, value in paths] for paths in found], scores.dtype))


def _prefixes(logs: Any, width: int) -> list[tuple[tuple[int, ...], float]]:
    """Texts and the logarithms of their probabilities, the best first."""
    blank, none = logs.shape[1] - 1, -np.inf
    beam: dict[tuple[int, ...], tuple[float, float]] = {(): (0.0, none)}  # of ways that end with a blank, and of others
    for row in logs.tolist():
        after: dict[tuple[int, ...], list[float]] = {}
        for text, (ended, open_) in beam.items():
            own = after.setdefault(text, [none, none])
            own[0] = np.logaddexp(own[0], np.logaddexp(ended, open_) + row[blank])
            if text:
                own[1] = np.logaddexp(own[1], open_ + row[text[-1]])
            for c in range(blank):
                before = ended if text and c == text[-1] else np.logaddexp(ended, open_)
                longer = after.setdefault((*text, c), [none, none])
                longer[1] = np.logaddexp(longer[1], before + row[c])
        whole = {text: float(np.logaddexp(ended, open_)) for text, (ended, open_) in after.items()}
        best = sorted(whole, key=lambda text: -whole[text])[:width]
        beam = {text: (after[text][0], after[text][1]) for text in best if whole[text] > none}
    total = [(text, float(np.logaddexp(ended, open_))) for text, (ended, open_) in beam.items()]
    return sorted(total, key=lambda kv: -kv[1])
