"""`tf.linalg`: diagonals and bands of matrices, read, written and made into matrices."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapegrad.tf.convert import convert, fresh
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.operators import mismatch_in, pair, shape_text
from tapegrad.tf.shapes import lengths
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor

_ALIGNMENTS = ("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT")


class _Band(NamedTuple):
    """Where each element of a band stands: in its matrix, and in the rows of its diagonals, the highest one first."""

    row: Any
    column: Any
    diagonal: Any
    place: Any
    longest: int


def _numbers(k: Any, name: str) -> tuple[int, int]:
    """The lowest and the highest diagonal."""
    given = lengths(k)
    if len(given) not in (1, 2):
        raise invalid(name, f"diag_index must be a scalar or vector with one or two elements, received {len(given)}")
    if given[0] > given[-1]:
        raise invalid(name, f"lower_diag_index must not be larger than upper_diag_index: {given[0]} > {given[-1]}")
    return given[0], given[-1]


def _band(rows: int, columns: int, low: int, high: int, align: str) -> _Band:
    """`align` says to which side shorter diagonals are moved: those above the main one, and those below it."""
    if align not in _ALIGNMENTS:
        raise ValueError(f"align must be one of {', '.join(_ALIGNMENTS)}, got {align!r}")
    longest = min(rows + min(high, 0), columns - max(low, 0))
    above, below = align.split("_")
    i, j = np.nonzero(np.tri(rows, columns, high, dtype=np.bool_) & ~np.tri(rows, columns, low - 1, dtype=np.bool_))
    d = j - i
    length = np.minimum(rows + np.minimum(d, 0), columns - np.maximum(d, 0))
    left = ((d >= 0) & (above == "LEFT")) | ((d <= 0) & (below == "LEFT"))
    return _Band(i, j, high - d, np.minimum(i, j) + np.where(left, 0, longest - length), longest)


def _inside(x: Tensor, low: int, high: int, name: str) -> tuple[int, int]:
    """The rows and columns of matrices that have these diagonals."""
    if x.array.ndim < 2:
        raise invalid(name, f"input must be at least 2-dim, received shape: {shape_text(x.array)}")
    rows, columns = x.array.shape[-2:]
    for which, k in (("lower", low), ("upper", high)):
        if not (-rows < k < columns or k == 0):
            raise invalid(
                name, f"{which}_diag_index is out of bound: {k}. It must be between {-rows} and {columns}, exclusive of both"
            )
    return rows, columns


def _filler(mask: Any, padding_value: Any, dtype: Any) -> Tensor:
    """The padding where the mask is true."""
    value = np.asarray(convert(padding_value).array).astype(dtype)
    return fresh(np.where(mask, value, np.zeros((), dtype)))


@export("linalg.diag")
def diag(
    diagonal: Any,
    name: str = "diag",
    k: Any = 0,
    num_rows: int = -1,
    num_cols: int = -1,
    padding_value: Any = 0,
    align: str = "RIGHT_LEFT",
) -> Tensor:
    """Matrices with these elements on diagonal k, or on the diagonals from k[0] to k[1], a row for each, the highest first.

    >>> import tapegrad.tf as tf
    >>> tf.linalg.diag(tf.constant([[0.5, 1.5, 0.0], [2.5, 3.5, 4.5]]), k=(-1, 0), align="LEFT_LEFT").numpy().shape
    (3, 3)
    """
    x = convert(diagonal)
    low, high = _numbers(k, "MatrixDiagV3")
    least = 1 if low == high else 2
    if x.array.ndim < least:
        raise invalid("MatrixDiagV3", f"diagonal must be at least {least}-dim, received shape: {shape_text(x.array)}")
    if least == 2 and x.array.shape[-2] != high - low + 1:
        raise invalid(
            "MatrixDiagV3",
            "The number of diagonals provided in the input does not match the lower_diag_index and upper_diag_index range: "
            f"{x.array.shape[-2]} rows for k from {low} to {high}",
        )
    n = x.array.shape[-1]
    rows, cols = _size(n, low, high, int(num_rows), int(num_cols))
    if low == high:
        y = S.put_diagonal(x, offset=low, shape=(rows, cols))
        covered = np.eye(rows, cols, k=low, dtype=np.bool_)
    else:
        band = _band(rows, cols, low, high, align)
        picked = S.getitem(x, (Ellipsis, band.diagonal, band.place))
        y = S.put_add(picked, (Ellipsis, band.row, band.column), (*x.array.shape[:-2], rows, cols))
        covered = np.zeros((rows, cols), np.bool_)
        covered[band.row, band.column] = True
    return S.add(y, _filler(~covered, padding_value, x.array.dtype)) if _counts(padding_value) else y


def _size(n: int, low: int, high: int, rows: int, cols: int) -> tuple[int, int]:
    """The size of matrices whose longest diagonal has n elements."""
    least_rows, least_cols = n - min(high, 0), n + max(low, 0)
    for what, given, least in (("rows", rows, least_rows), ("columns", cols, least_cols)):
        if given not in (-1,) and given < least:
            raise invalid("MatrixDiagV3", f"The number of {what} is too small: {given} for diagonals that need {least}")
    if rows == cols == -1:
        rows = cols = max(least_rows, least_cols)
    rows, cols = least_rows if rows == -1 else rows, least_cols if cols == -1 else cols
    if rows != least_rows and cols != least_cols:
        raise invalid(
            "MatrixDiagV3",
            f"The number of rows or columns is not consistent with the specified k and diagonal: {rows} x {cols}, "
            f"where the longest diagonal has {n} elements",
        )
    return rows, cols


def _counts(padding_value: Any) -> bool:
    return not (type(padding_value) in (int, float) and padding_value == 0)


@export("linalg.diag_part")
def diag_part(input: Any, name: str = "diag_part", k: Any = 0, padding_value: Any = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """The elements on diagonal k, or on the diagonals from k[0] to k[1], a row for each, shorter ones padded.

    >>> import tapegrad.tf as tf
    >>> tf.linalg.diag_part(tf.constant([[0.5, 1.5], [2.5, 3.5]]), k=(0, 1), padding_value=9).numpy().tolist()
    [[9.0, 1.5], [0.5, 3.5]]
    """
    x = convert(input)
    low, high = _numbers(k, "MatrixDiagPartV3")
    rows, cols = _inside(x, low, high, "MatrixDiagPartV3")
    if low == high:
        return S.diagonal(x, offset=low)
    band = _band(rows, cols, low, high, align)
    shape = (high - low + 1, band.longest)
    picked = S.getitem(x, (Ellipsis, band.row, band.column))
    y = S.put_add(picked, (Ellipsis, band.diagonal, band.place), (*x.array.shape[:-2], *shape))
    if not _counts(padding_value):
        return y
    empty = np.ones(shape, np.bool_)
    empty[band.diagonal, band.place] = False
    return S.add(y, _filler(empty, padding_value, x.array.dtype))


@export("linalg.set_diag")
def set_diag(input: Any, diagonal: Any, name: str = "set_diag", k: Any = 0, align: str = "RIGHT_LEFT") -> Tensor:
    """The matrices with other elements on diagonal k, or on the diagonals from k[0] to k[1]."""
    x, d = pair(input, diagonal)
    mismatch_in("MatrixSetDiagV3", [x, d])
    low, high = _numbers(k, "MatrixSetDiagV3")
    rows, cols = _inside(x, low, high, "MatrixSetDiagV3")
    band = _band(rows, cols, low, high, align)
    wanted = (*x.array.shape[:-2], *([] if low == high else [high - low + 1]), band.longest)
    if d.array.shape != wanted:
        raise invalid(
            "MatrixSetDiagV3",
            f"Expected diagonal to have the shape {list(wanted)} for input {shape_text(x.array)}, got {shape_text(d.array)}",
        )
    values = d if low == high else S.getitem(d, (Ellipsis, band.diagonal, band.place))
    return S.put(x, values, (Ellipsis, band.row, band.column))


@export("linalg.tensor_diag")
def tensor_diag(diagonal: Any, name: str | None = None) -> Tensor:
    """A tensor (*I, *I) with these elements where both halves of the index agree."""
    x = convert(diagonal)
    if not x.array.ndim:
        raise invalid("Diag", "Input must be at least rank 1, got 0")
    return S.reshape(S.put_diagonal(S.reshape(x, (-1,))), (*x.array.shape, *x.array.shape))


@export("linalg.tensor_diag_part")
def tensor_diag_part(input: Any, name: str | None = None) -> Tensor:
    """The elements of a tensor (*I, *I) where both halves of the index agree."""
    x = convert(input)
    rank = x.array.ndim
    half = x.array.shape[: rank // 2]
    if not rank or rank % 2:
        raise invalid("DiagPart", f"The rank of the tensor should be even and positive, got shape {shape_text(x.array)}")
    if half != x.array.shape[rank // 2 :]:
        raise invalid("DiagPart", f"Invalid shape {shape_text(x.array)}: both halves of the axes should agree")
    n = int(np.prod(half, dtype=int))
    return S.reshape(S.diagonal(S.reshape(x, (n, n))), half)
