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
    steps = np.asarray(targets.array)
    times, whole = _lengths("input_lengths", input_lengths), _lengths("target_lengths", target_lengths)
    _check(logp.array.shape, steps, times, whole, blank)
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


def _lengths(name: str, x: Any) -> list[int]:
    found = np.atleast_1d(_numbers(x))
    if found.dtype.kind not in "iub" and found.size:
        raise RuntimeError(f"{name} must be integral, got {found.dtype}")
    return [int(n) for n in found]


def _check(shape: Any, targets: Any, times: list[int], whole: list[int], blank: int) -> None:
    """Refuse lengths that the values don't have."""
    t, n, k = shape
    if not 0 <= blank < k:
        raise RuntimeError(f"blank must be in label range, from 0 to {k - 1}, got {blank}")
    for name, lengths in (("input_lengths", times), ("target_lengths", whole)):
        if len(lengths) != n:
            raise RuntimeError(f"{name} must be of size batch_size: expected {n}, got {len(lengths)}")
        if any(m < 0 for m in lengths):
            raise RuntimeError(f"Expected {name} to have value at least 0, but got value {min(lengths)}")
    if any(m > t for m in times):
        raise RuntimeError(f"Expected input_lengths to have value at most {t}, but got value {max(times)}")
    if targets.ndim == 2 and whole and max(whole) > targets.shape[1]:
        raise RuntimeError(
            f"Expected tensor to have size at least {max(whole)} at dimension 1, but got size {targets.shape[1]} for argument #2 "
            "'targets' (while checking arguments for ctc_loss)"
        )
    if targets.ndim == 1 and sum(whole) > targets.size:
        raise RuntimeError(
            f"Expected tensor to have size {sum(whole)} at dimension 0, but got size {targets.size} for argument #2 'targets' "
            "(while checking arguments for ctc_loss)"
        )


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
