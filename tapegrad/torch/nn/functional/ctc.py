"""Connectionist temporal classification."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor
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
    """-log of the probability of all alignments of a target with a sequence."""
    single = len(log_probs.array.shape) == 2
    logp = log_probs.unsqueeze(1) if single else log_probs
    steps = np.asarray(targets.array)
    times, whole = _lengths("input_lengths", input_lengths), _lengths("target_lengths", target_lengths)
    _check(logp.array.shape, steps, times, whole, blank)
    labels = np.zeros((len(whole), max(whole, default=0)), np.int64)
    at = 0
    for b, n in enumerate(whole):
        if steps.ndim == 1 and not (single and len(whole) == 1):
            labels[b, :n], at = steps[at : at + n], at + n
        else:
            labels[b, :n] = np.atleast_2d(steps)[b][:n]
    found = S.ctc_loss(S.permute_dims(logp, (1, 0, 2)), labels, np.array(whole), np.array(times), blank=blank)
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
