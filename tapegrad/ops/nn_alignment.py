"""Connectionist temporal classification: how probable it is that a sequence is aligned with labels in any way."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.registry import composite


def _drawn(draw: Any) -> Any:
    n, times, many = draw.size("n", least=1), 5, 2
    logs = draw.array(n, times, 4, low=-2.0, high=0.0)
    labels = draw.integers(n, many, low=1, high=4)
    return logs, labels, draw.integers(n, low=0, high=many + 1), draw.integers(n, low=4, high=times + 1), {"blank": 0}


@composite(real=True, laws=_drawn, public=False)
def ctc_loss(
    F: Any, x: Any, labels: Any, label_counts: Any, time_counts: Any, /, *, blank: int = 0, never: float = -math.inf
) -> Any:
    """-log(p(labels)) for log-probabilities of each time, (n, t, k), (n, l), (n), (n) -> (n).

    A path visits blank, label, blank, label, ..., blank: at each time it stays, goes on, or jumps over a blank between
    two labels that differ; no time at all is the path of no labels. `never` is the logarithm of a probability that
    counts as zero. A. Graves et al., "Connectionist temporal classification", 2006, equations 5 to 8, in logarithms.
    """
    n, times, _ = x.shape
    many = labels.shape[1]
    size = 2 * many + 1
    blanks = labels * 0 + blank
    pairs = F.reshape(F.stack([blanks, labels], axis=-1), (n, 2 * many))
    states = F.concat([pairs, F.reshape(label_counts * 0 + blank, (n, 1))], axis=1)
    emitted = F.take_along_axis(x, F.broadcast_to(F.reshape(states, (n, 1, size)), (n, times, size)), axis=-1)
    nothing = F.zeros_like(F.getitem(emitted, (slice(None), 0))) + never
    places = F.arange(size)
    alpha = F.where(places < 2, F.getitem(emitted, (slice(None), 0)), nothing)
    alpha = F.where(F.reshape(time_counts < 1, (n, 1)), F.where(places < 1, F.zeros_like(nothing), nothing), alpha)
    before_last = F.concat([F.getitem(states, (slice(None), slice(0, 2))), F.getitem(states, (slice(None), slice(0, size - 2)))], axis=1)
    is_label = F.logical_and(places % 2 == 1, places > 2)
    jumps = F.logical_and(is_label, states != F.getitem(before_last, (slice(None), slice(0, size))))
    for t in range(1, times):
        one = _moved(F, alpha, nothing, 1, size)
        two = F.where(jumps, _moved(F, alpha, nothing, 2, size), nothing)
        reached = F.logsumexp(F.stack([alpha, one, two], axis=0), axis=0) + F.getitem(emitted, (slice(None), t))
        alpha = F.where(F.reshape(t < time_counts, (n, 1)), reached, alpha)
    last = F.reshape(2 * label_counts, (n, 1))
    ends = F.logical_or(places == last, places == last - 1)
    return -F.logsumexp(F.where(ends, alpha, nothing), axis=1)


def _moved(F: Any, alpha: Any, nothing: Any, k: int, size: int) -> Any:
    """The states moved on by k places."""
    front = F.getitem(nothing, (slice(None), slice(0, min(k, size))))
    return F.concat([front, F.getitem(alpha, (slice(None), slice(0, max(size - k, 0))))], axis=1)
