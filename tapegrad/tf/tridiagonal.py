"""`tf.linalg`: matrices of three diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import convert, tensors_of
from tapegrad.tf.errors import UnimplementedError
from tapegrad.tf.export import export
from tapegrad.tf.operators import shape_text
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


def _three(diagonals: Any, layout: str, name: str) -> list[Tensor]:
    """The diagonals above, on and below the main one, each (..., n); the last of the first and the first of the last count nothing."""
    if layout == "sequence":
        if not isinstance(diagonals, list | tuple) or len(diagonals) != 3:
            raise ValueError(f"{name}: expected diagonals to be a sequence of length 3, got {diagonals}")
        above, main, below = tensors_of(diagonals)
        n = main.array.shape[-1]
        nothing = S.zeros((*main.array.shape[:-1], 1), dtype=main.array.dtype)
        short = {"above": above, "below": below}
        for k, v in short.items():  # a diagonal may come without the place that counts nothing
            if v.array.shape[-1] not in (n, n - 1):
                raise ValueError(f"{name}: expected {n - 1} or {n} elements {k} the main diagonal of {n}, got {shape_text(v.array)}")
        above = S.concat([above, nothing], axis=-1) if above.array.shape[-1] == n - 1 else above
        below = S.concat([nothing, below], axis=-1) if below.array.shape[-1] == n - 1 else below
        return [above, main, below]
    d = convert(diagonals)
    if layout == "matrix":
        if d.array.ndim < 2 or d.array.shape[-1] != d.array.shape[-2]:
            raise ValueError(f"{name}: expected a square matrix (..., n, n), got {shape_text(d.array)}")
        nothing = S.zeros((*d.array.shape[:-2], 1), dtype=d.array.dtype)
        if d.array.shape[-1] < 2:
            main = S.diagonal(d)
            return [S.zeros_like(main), main, S.zeros_like(main)]
        above, below = S.diagonal(d, offset=1), S.diagonal(d, offset=-1)
        return [S.concat([above, nothing], axis=-1), S.diagonal(d), S.concat([nothing, below], axis=-1)]
    if layout != "compact":
        raise ValueError(f"{name}: diagonals_format is 'compact', 'matrix' or 'sequence', got {layout!r}")
    if d.array.ndim < 2 or d.array.shape[-2] != 3:
        raise ValueError(f"{name}: expected diagonals (..., 3, n), got {shape_text(d.array)}")
    return [S.getitem(d, (..., k, slice(None))) for k in range(3)]


@export("linalg.tridiagonal_matmul")
def tridiagonal_matmul(diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None) -> Tensor:
    """A matrix of three diagonals (above, main, below) times another one."""
    above, main, below = _three(diagonals, diagonals_format, "tridiagonal_matmul")
    x = convert(rhs, main.array.dtype, prefer=True)
    nothing = S.zeros((*x.array.shape[:-2], 1, x.array.shape[-1]), dtype=x.array.dtype)
    up = S.concat([S.getitem(x, (..., slice(1, None), slice(None))), nothing], axis=-2)
    down = S.concat([nothing, S.getitem(x, (..., slice(0, -1), slice(None)))], axis=-2)
    parts = [S.multiply(S.expand_dims(v, axis=-1), w) for v, w in ((above, up), (main, x), (below, down))]
    return S.add(S.add(parts[0], parts[1]), parts[2])


@export("linalg.tridiagonal_solve")
def tridiagonal_solve(
    diagonals: Any,
    rhs: Any,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Tensor:
    """The x with A x = rhs for a matrix of three diagonals (above, main, below); it is solved as a whole matrix, with pivots.

    >>> import tapegrad.tf as tf
    >>> tf.linalg.tridiagonal_solve([[1.5, 0.0], [2.0, 4.0], [0.0, 1.0]], [3.5, 5.0]).numpy().tolist()
    [1.0, 1.0]
    """
    if perturb_singular:
        raise UnimplementedError(None, None, "tf.linalg.tridiagonal_solve: perturb_singular=True is not here; add to the diagonal")
    above, main, below = _three(diagonals, diagonals_format, "tridiagonal_solve")
    b = convert(rhs, main.array.dtype, prefer=True)
    rank, n = main.array.ndim, main.array.shape[-1]
    if b.array.ndim not in (rank, rank + 1):
        raise ValueError(f"tridiagonal_solve: expected rhs of {rank} or {rank + 1} axes beside diagonals, got {shape_text(b.array)}")
    vector = b.array.ndim == rank
    if vector:
        b = S.expand_dims(b, axis=-1)
    elif transpose_rhs:
        b = S.matrix_transpose(b)
    if conjugate_rhs and b.array.dtype.kind == "c":
        b = S.conj(b)
    if b.array.shape[:-1] != main.array.shape:
        raise ValueError(f"tridiagonal_solve: diagonals of shape {shape_text(main.array)} do not fit rhs {shape_text(b.array)}")
    if not n:
        return S.squeeze(b, (-1,)) if vector else b
    rows, shape = np.arange(n), (*main.array.shape, n)
    whole = S.put_add(main, (..., rows, rows), shape)
    if n > 1:
        inner = S.getitem(above, (..., slice(0, n - 1))), S.getitem(below, (..., slice(1, n)))
        whole = S.add(whole, S.put_add(inner[0], (..., rows[:-1], rows[1:]), shape))
        whole = S.add(whole, S.put_add(inner[1], (..., rows[1:], rows[:-1]), shape))
    x = S.solve(whole, b)
    return S.squeeze(x, (-1,)) if vector else x
