"""`cholesky_ex`, `inv_ex` and `solve_ex`: what is wrong with a matrix is told by a number beside the result, not by an error.

Programs try a factorisation so, and add to the diagonal where it failed.  Matrices of a batch with which all went well have
their results and their derivatives whatever the others are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.torch._linalg_errors import LinAlgError, _is_not_positive, _square, _zero_pivot
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import wrap

Numbers = np.ndarray[Any, Any]


def with_info(name: str, compute: Callable[[Any], Any], a: Any, check_errors: bool, others: Any = None) -> tuple[Any, Any]:
    """A result, and for each matrix 0, or the number of the minor or pivot that made it impossible.

    Where it was impossible the result is `others` of the matrix and that number, or NaN.
    """
    _square(name.removesuffix("_ex"), a)
    batch = a.array.shape[:-2]
    try:
        return compute(a), wrap(np.zeros(batch, np.int32))
    except LinAlgError:
        raw = np.asarray(a.read()[0])
        matrices = raw.reshape(-1, *raw.shape[-2:])
        fault = _minor if name == "cholesky_ex" else _pivot
        faults = [fault(m) for m in matrices]
        if check_errors or not any(faults):
            raise
    info = np.array(faults, np.int32).reshape(batch)
    value = compute(S.where(wrap(info[..., None, None] != 0), wrap(np.eye(raw.shape[-1], dtype=raw.dtype)), a))
    beyond = value.array.ndim - len(batch)
    if others is None:
        instead = np.full(value.array.shape, np.nan, raw.dtype)
    else:
        instead = np.stack([others(m, k) for m, k in zip(matrices, faults, strict=True)]).reshape(raw.shape)
    return S.where(wrap(info.reshape(*batch, *[1] * beyond) != 0), wrap(instead), value), wrap(info)


def begun(upper: bool) -> Callable[[Numbers, int], Numbers]:
    """How far a factorisation came: the columns of the largest positive definite minor, and what they leave of the others."""

    def factor(m: Numbers, order: int) -> Numbers:
        n = max(order - 1, 0)
        done = np.array(m)
        if n:
            top = np.linalg.cholesky(m[:n, :n])
            below = np.linalg.solve(top, m[n:, :n].conj().T).conj().T
            done[:n, :n], done[n:, :n] = top, below
            done[n:, n:] -= below @ below.conj().T
        done = np.tril(done)
        return done.conj().T if upper else done

    return factor


def _minor(m: Numbers) -> int:
    """The order of the smallest leading minor that is not positive definite, by halving; 0 if all are."""
    if not _is_not_positive(m):
        return 0
    low, high = 0, len(m)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _is_not_positive(m[:middle, :middle]) else (middle, high)
    return high


def _pivot(m: Numbers) -> int:
    """The number of the pivot that is zero, or 0."""
    try:
        np.linalg.inv(m)
    except np.linalg.LinAlgError:
        return _zero_pivot(m)
    return 0
