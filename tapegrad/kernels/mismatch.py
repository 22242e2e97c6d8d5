"""What is said of arrays that do not fit together, the same by all kernels."""

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
