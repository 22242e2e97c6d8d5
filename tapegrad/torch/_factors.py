"""Factors of matrices: by elimination, and by reflections."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.torch import _named as named
from tapegrad.torch._linalg_errors import LinAlgError, _square
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import wrap


# -- by elimination ------------------------------------------------------------------------------------------------
def _lu(x: Any, pivot: bool) -> Any:
    """x = P L U by what has a derivative: L and U solve triangular systems once the order of the rows is known."""
    import scipy.linalg

    raw = np.asarray(x.read()[0])
    n, m = raw.shape[-2:]
    k = min(n, m)
    order = np.empty(raw.shape[:-1], np.int64)
    for i in np.ndindex(*raw.shape[:-2]):
        order[i] = scipy.linalg.lu(raw[i], p_indices=True)[0]
    p = np.zeros((*raw.shape[:-2], n, n), raw.dtype)
    np.put_along_axis(p, np.expand_dims(order, -1), 1, -1)
    rows = S.matmul(wrap(np.swapaxes(p, -1, -2).copy()), x)
    lower, upper = _without_pivots(rows, k)
    return named.linalg_lu(wrap(p), lower, upper)


def _lu_factor(x: Any, pivot: bool) -> Any:
    """L and U in one matrix, and the row exchanges, counted from 1."""
    import scipy.linalg

    p, lower, upper = _lu(x, pivot)
    raw = np.asarray(x.read()[0])
    k = min(raw.shape[-2:])
    pivots = np.empty((*raw.shape[:-2], k), np.int32)
    for i in np.ndindex(*raw.shape[:-2]):
        pivots[i] = scipy.linalg.lu_factor(raw[i])[1] + 1 if raw.shape[-1] == raw.shape[-2] else _exchanges(np.asarray(p.array)[i], k)
    n, m = raw.shape[-2:]
    whole = S.pad(S.tril(lower, k=-1), ((0, 0),) * (raw.ndim - 1) + ((0, max(m - n, 0)),))
    below = S.pad(upper, ((0, 0),) * (raw.ndim - 2) + ((0, max(n - m, 0)), (0, 0)))
    return named.linalg_lu_factor(S.add(whole, below), wrap(pivots))


def _exchanges(p: Any, k: int) -> Any:
    """The first `k` row exchanges, counted from 1, whose product is a permutation matrix."""
    order, found = np.argmax(p, axis=0), []
    rows = list(range(len(order)))
    for i in range(len(order)):
        j = rows.index(order[i])
        rows[i], rows[j] = rows[j], rows[i]
        found.append(j + 1)
    return found[:k]


def _lu_unpack(data: Any, pivots: Any, unpack_data: bool = True, unpack_pivots: bool = True) -> Any:
    n, m = data.array.shape[-2:]
    k = min(n, m)
    lower = S.add(S.tril(S.getitem(data, (Ellipsis, slice(None), slice(0, k))), k=-1), wrap(np.eye(n, k, dtype=data.array.dtype)))
    upper = S.triu(S.getitem(data, (Ellipsis, slice(0, k), slice(None))))
    swaps = np.asarray(pivots.array)
    p = np.zeros((*swaps.shape[:-1], n, n), data.array.dtype)
    for i in np.ndindex(*swaps.shape[:-1]):
        rows = list(range(n))
        for a, b in enumerate(swaps[i]):
            rows[a], rows[b - 1] = rows[b - 1], rows[a]
        p[i][rows, np.arange(n)] = 1
    return named.lu_unpack(wrap(p), lower, upper)


def _lu_factor_ex(x: Any, pivot: bool, check_errors: bool) -> Any:
    """`lu_factor`, and the place of the first zero on the diagonal of U, counted from 1, or 0."""
    data, pivots = _lu_factor(x, pivot)
    zero = np.diagonal(np.asarray(data.read()[0]), axis1=-2, axis2=-1) == 0
    info = np.where(zero.any(-1), zero.argmax(-1) + 1, 0).astype(np.int32)
    if check_errors and info.any():
        raise LinAlgError(f"linalg.lu_factor: the diagonal element {info.max()} of U is zero, so that the factors do not solve systems")
    return named.linalg_lu_factor_ex(data, pivots, wrap(info))


def _lu_solve(data: Any, pivots: Any, b: Any, left: bool, adjoint: bool) -> Any:
    """What solves A @ X = B, X @ A = B or the same with A^H, from the factors of A = P @ L @ U."""
    _square("lu_solve", data)
    if not left:
        return _lu_solve(data, pivots, b.mH, True, not adjoint).mH
    p, lower, upper = _lu_unpack(data, pivots)
    if adjoint:
        y = S.solve_triangular(upper.mH, b, lower=True, unit_diagonal=False)
        return S.matmul(p, S.solve_triangular(lower.mH, y, lower=False, unit_diagonal=True))
    y = S.solve_triangular(lower, S.matmul(p.mT, b), lower=True, unit_diagonal=True)
    return S.solve_triangular(upper, y, lower=False, unit_diagonal=False)


def _without_pivots(x: Any, k: int) -> tuple[Any, Any]:
    """L and U of a matrix whose rows are in order, one column after the other."""
    columns, rows, rest = [], [], x
    for i in range(k):
        row = S.getitem(rest, (Ellipsis, slice(i, i + 1), slice(None)))
        pivot = S.getitem(row, (Ellipsis, slice(None), slice(i, i + 1)))
        column = S.divide(S.getitem(rest, (Ellipsis, slice(None), slice(i, i + 1))), pivot)
        keep = (np.arange(x.array.shape[-2]) >= i).astype(x.array.dtype).reshape(-1, 1)
        column = S.multiply(column, wrap(keep))
        columns.append(column)
        rows.append(S.multiply(row, wrap((np.arange(x.array.shape[-1]) >= i).astype(x.array.dtype))))
        rest = S.subtract(rest, S.multiply(column, row))
    return S.concat(columns, axis=-1), S.concat(rows, axis=-2)


# -- products of reflections -------------------------------------------------------------------------------------
def _reflected(a: Any, tau: Any, i: int) -> tuple[Any, Any]:
    """Column `i` below its 1, and its weight: the reflection I - weight column column^H."""
    n = a.array.shape[-2]
    below = (np.arange(n) > i).astype(a.array.dtype)
    column = S.add(S.multiply(S.getitem(a, (Ellipsis, slice(None), i)), below), (np.arange(n) == i).astype(a.array.dtype))
    return S.expand_dims(column, axis=-1), S.getitem(tau, (Ellipsis, slice(i, i + 1), None))


def _householder_product(a: Any, tau: Any) -> Any:
    """The first columns of the product of reflections that `geqrf` gives."""
    n, m = a.array.shape[-2:]
    if n < m or tau.array.shape[-1] > m:
        raise RuntimeError("torch.linalg.householder_product: input.shape[-2] must be greater than or equal to input.shape[-1], which must "
                           f"be greater than or equal to tau.shape[-1], but got {n}, {m} and {tau.array.shape[-1]}")  # fmt: skip
    q = wrap(np.broadcast_to(np.eye(n, m, dtype=a.array.dtype), a.array.shape).copy())
    return _all_reflected(a, tau, q, reversed(range(tau.array.shape[-1])), adjoint=False)


def _all_reflected(a: Any, tau: Any, y: Any, order: Any, *, adjoint: bool) -> Any:
    for i in order:
        column, weight = _reflected(a, tau, i)
        y = S.subtract(y, S.multiply(weight.conj() if adjoint else weight, S.matmul(column, S.matmul(column.mH, y))))
    return y


def _ormqr(a: Any, tau: Any, other: Any, left: bool, transpose: bool) -> Any:
    """Q @ other, other @ Q, or the same with Q^H, for the whole Q of the reflections that `geqrf` gives."""
    if not left:
        return _ormqr(a, tau, other.mH, True, not transpose).mH
    order = range(tau.array.shape[-1])
    return _all_reflected(a, tau, other, order if transpose else reversed(order), adjoint=transpose)


def _geqrf(x: Any) -> Any:
    """R above the diagonal, below it the columns of the reflections whose product is Q, and their weights: LAPACK's."""
    import scipy.linalg

    raw = np.asarray(x.read()[0])
    data = np.empty_like(raw)
    tau = np.empty((*raw.shape[:-2], min(raw.shape[-2:])), raw.dtype)
    for i in np.ndindex(*raw.shape[:-2]):
        (data[i], tau[i]), _ = scipy.linalg.qr(raw[i], mode="raw") if raw[i].size else ((raw[i], tau[i]), None)
    return named.geqrf(wrap(data), wrap(tau))
