"""Connectionist temporal classification."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor, wrap
from tapegrad.torch.nn.functional.loss import reduced

__all__ = ["ctc_loss"]


def ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Any:
    """-log of the probability of all alignments of a target with a sequence.

    A. Graves et al., "Connectionist temporal classification", 2006, equations 6 and 7, on logarithms.
    """
    single = len(log_probs.array.shape) == 2
    logp = log_probs.unsqueeze(1) if single else log_probs
    steps, whole = np.asarray(targets.array), [int(n) for n in np.atleast_1d(_numbers(target_lengths))]
    times = [int(n) for n in np.atleast_1d(_numbers(input_lengths))]
    losses: list[Any] = []
    at: Any = 0
    for b, (t, n) in enumerate(zip(times, whole, strict=True)):
        if steps.ndim == 1 and not (single and len(whole) == 1):
            label, at = steps[at : at + n], at + n
        else:
            label = np.atleast_2d(steps)[b][:n]
        losses.append(_aligned(S.getitem(logp, (slice(0, t), b)), label, blank))
    found = S.stack(losses)
    if zero_infinity:
        found = S.where(S.equal(found, math.inf), 0.0, found)
    if reduction == "mean":
        return S.mean(S.divide(found, np.maximum(np.array(whole), 1).astype(logp.array.dtype)))
    return reduced(found.squeeze(0) if single and reduction == "none" else found, reduction)


def _numbers(x: Any) -> Any:
    return np.asarray(x.array if isinstance(x, Tensor) else x)


def _aligned(logp: Any, label: Any, blank: int) -> Any:
    """-log of the sum over alignments for one sequence, (t, k), by the forward recursion."""
    path = np.full(2 * len(label) + 1, blank)
    path[1::2] = label
    n = len(path)
    jump = np.zeros(n, bool)
    jump[2:] = (path[2:] != blank) & (path[2:] != path[:-2])
    none = wrap(np.array(-np.inf, logp.array.dtype)[()])
    emitted = S.take(logp, path, axis=1)
    start = wrap(np.arange(n) < 2)
    alpha = S.where(start, S.getitem(emitted, 0), none)
    empty = S.broadcast_to(S.reshape(none, (1,)), (2,))
    for t in range(1, logp.array.shape[0]):
        padded = S.concat([empty, alpha], axis=0)
        ways = S.stack(
            [alpha, S.getitem(padded, slice(1, n + 1)), S.where(wrap(jump), S.getitem(padded, slice(0, n)), none)]
        )
        alpha = S.add(S.logsumexp(ways, axis=0), S.getitem(emitted, t))
    return S.negative(S.logsumexp(S.getitem(alpha, slice(max(n - 2, 0), n)), axis=0))
