"""What is asked of matrices before LAPACK has them, and what is said of those that it cannot take."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.errors import TapegradError


class LinAlgError(RuntimeError):
    """A matrix is not what an algorithm needs: it is singular, or not positive definite."""


def _guarded(name: str, f: Any, *args: Any, **words: Any) -> Any:
    """The result, with what LAPACK complains about as PyTorch words it."""
    x = args[0]
    _square(name, x)
    try:
        return f(*args, **words)
    except (TapegradError, np.linalg.LinAlgError, RuntimeError, ValueError) as error:
        raise LinAlgError(_text(name, error, x)) from error


def converged(name: str, f: Any, x: Any, **words: Any) -> Any:
    """The result of an iteration, with what PyTorch says of one that comes to no end."""
    try:
        return f(x, **words)
    except (TapegradError, np.linalg.LinAlgError, RuntimeError) as error:
        if "converge" not in str(error):
            raise
        raw = np.asarray(x.array)
        finite = np.isfinite(raw).all(axis=(-2, -1))
        why = "is ill-conditioned or has too many repeated values" if finite.all() else "contained non-finite values"
        where = f"(Batch element {int(np.argmin(finite.reshape(-1)))}): " if raw.ndim > 2 else ""
        raise LinAlgError(f"linalg.{name}: {where}The algorithm failed to converge because the input matrix {why}.") from error


def _text(name: str, error: Exception, x: Any) -> str:
    raw = np.asarray(x.array)
    rows = raw.reshape(-1, *raw.shape[-2:])
    if name == "cholesky":
        found = ((i, n) for i, m in enumerate(rows) for n in range(1, m.shape[0] + 1) if _is_not_positive(m[:n, :n]))
        batch, order = next(found, (0, 1))
        where = f"(Batch element {batch}): " if raw.ndim > 2 else ""
        return (
            f"linalg.cholesky: {where}The factorization could not be completed because the input is not positive-definite (the leading "
            f"minor of order {order} is not positive-definite)."
        )
    if name == "solve":
        singular = next((i for i, m in enumerate(rows) if np.linalg.matrix_rank(m) < m.shape[0]), 0)
        where = f"(Batch element {singular}): " if raw.ndim > 2 else ""
        return f"torch.linalg.solve: {where}The solver failed because the input matrix is singular."
    place = next((_zero_pivot(m) for m in rows if np.linalg.matrix_rank(m) < m.shape[0]), 1)
    what = {"inv": "inversion"}.get(name, name)
    return (
        f"linalg.{name}: The diagonal element {place} is zero, the {what} could not be completed because the input matrix is singular."
    )


def _is_not_positive(m: Any) -> bool:
    try:
        return not (np.diagonal(np.linalg.cholesky(m)).real > 0).all()
    except np.linalg.LinAlgError:
        return True


def _zero_pivot(m: Any) -> int:
    """The number, from 1, of the first pivot of an elimination that is zero."""
    u = np.array(m)
    for k in range(len(u)):
        best = k + int(np.argmax(np.abs(u[k:, k])))
        u[[k, best]] = u[[best, k]]
        if u[k, k] == 0:
            return k + 1
        u[k + 1 :] -= u[k + 1 :, k : k + 1] / u[k, k] * u[k]
    return len(u)


def _square(name: str, x: Any) -> None:
    shape = x.array.shape
    if len(shape) < 2:
        raise RuntimeError(
            f"linalg.{name}: The input tensor A must have at least 2 dimensions."
        )
    if shape[-1] != shape[-2]:
        raise RuntimeError(f"linalg.{name}: A must be batches of square matrices, but they are {shape[-2]} by {shape[-1]} matrices")
    if x.array.dtype.kind not in "fcV":
        kind = str(x.dtype)[6:].capitalize()
        raise RuntimeError(f"linalg.{name}: Expected a floating point or complex tensor as input. Got {kind}")
