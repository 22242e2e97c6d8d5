"""What is said of arrays that do not fit together, or that an algorithm cannot take, the same by all kernels."""

from __future__ import annotations

from typing import Any


def no_product(x1: Any, x2: Any) -> str:
    """Why two arrays have no matrix product, and whether transposing one would help; nothing if they have one, or may have."""
    if not (x1.ndim and x2.ndim):
        return "expected at least one axis in each, got a 0-d array; multiply() takes numbers"
    axis = -2 if x2.ndim > 1 else -1
    n, m = x1.shape[-1], x2.shape[axis]
    if n == m or not (isinstance(n, int) and isinstance(m, int)):  # what only a running graph knows is no integer yet
        return ""
    text = f"expected x1.shape[-1] == x2.shape[{axis}], got {n} and {m}"
    if x2.ndim > 1 and x2.shape[-1] == n:
        return text + "; did you mean matmul(x1, x2.mT)?"
    if x1.ndim > 1 and x1.shape[-2] == m:
        return text + "; did you mean matmul(x1.mT, x2)?"
    return text


def no_solution(a: Any, b: Any) -> str:
    """Why equations `a @ x = b` have no solution by their shapes; nothing if they may have."""
    if a.ndim < 2 or not b.ndim:
        return f"expected matrices (..., n, n) and right sides (n,) or (..., n, k), got shapes {a.shape} and {b.shape}"
    axis = -1 if b.ndim == 1 else -2
    n, m = a.shape[-1], b.shape[axis]
    if n == m or not (isinstance(n, int) and isinstance(m, int)):
        return ""
    text = f"expected x1.shape[-1] == x2.shape[{axis}], got {n} and {m}"
    if b.ndim > 1 and b.shape[-1] == n:
        return text + "; for a batch of vectors write tapegrad.expand_dims(x2, axis=-1)"
    return text
