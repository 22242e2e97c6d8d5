"""Linear algebra: `torch.linalg`."""

from __future__ import annotations

from typing import Any

import numpy as np

import tapegrad.linalg  # noqa: F401  declares its ops
from tapegrad.errors import TapegradError
from tapegrad.torch import _named as named
from tapegrad.torch._dtypes import numpy_of
from tapegrad.torch._functions._build import compiled
from tapegrad.torch._functions._stacks import on_stacks
from tapegrad.torch._tagged import name_all
from tapegrad.torch._tensor import OF_NUMPY, wrap
from tapegrad.torch._tensor import STYLE as S


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


def _cholesky(x: Any, upper: bool) -> Any:
    y = _guarded("cholesky", S.cholesky, x, upper=upper)
    raw = y.array
    # TensorFlow's kernel says nothing, and leaves NaN (2.21)
    if type(raw) not in OF_NUMPY and hasattr(getattr(raw, "bare", None), "numpy") and np.isnan(np.asarray(raw)).any():
        raise LinAlgError(_text("cholesky", ValueError("NaN"), x))
    return y


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
    place = next((_zero_pivot(m) for m in rows if np.linalg.matrix_rank(m) < m.shape[0]), 1)
    what = {"inv": "inversion"}.get(name, name)
    return (
        f"linalg.{name}: The diagonal element {place} is zero, the {what} could not be completed because the input matrix is singular."
    )


def _is_not_positive(m: Any) -> bool:
    try:
        np.linalg.cholesky(m)
    except np.linalg.LinAlgError:
        return True
    return False


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


def _axes(dim: Any) -> Any:
    if dim is None or isinstance(dim, int):
        return dim
    return tuple(int(d) for d in dim) or None


def _vector_norm(x: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dtype is not None:
        x = S.astype(x, numpy_of(dtype))
    if x.array.dtype.kind not in "fcV":
        kind = str(x.dtype)[6:].capitalize()
        raise RuntimeError(f"linalg.vector_norm: Expected a floating point or complex tensor as input. Got {kind}")
    return S.vector_norm(x, axis=_axes(dim), keepdims=keepdim, ord=ord)


def _matrix_norm(x: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    if dtype is not None:
        x = S.astype(x, numpy_of(dtype))
    n = len(x.array.shape)
    if n < 2:
        raise RuntimeError("linalg.matrix_norm: The input tensor A must have at least 2 dimensions.")
    a, b = (d % n for d in dim)
    if (a, b) != (n - 2, n - 1):
        x = x.movedim((a, b), (-2, -1))
    y = S.matrix_norm(x, ord=ord)
    if keepdim:
        for d in sorted((a, b)):
            y = y.unsqueeze(d)
    return y


def _norm(x: Any, ord: Any, dim: Any, keepdim: bool, dtype: Any) -> Any:
    pair = isinstance(dim, (list, tuple)) and len(dim) == 2
    if ord is not None and (pair or (dim is None and len(x.array.shape) == 2)):
        return _matrix_norm(x, ord, dim or (-2, -1), keepdim, dtype)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: If dim is specified, it must be of length 1 or 2 for ord={ord}")
    return _vector_norm(x, 2 if ord is None else ord, dim, keepdim, dtype)


def _inv(x: Any) -> Any:
    return _guarded("inv", S.inv, x)


def _det(x: Any) -> Any:
    _square("det", x)
    return S.det(x)


def _solve(a: Any, b: Any, left: bool) -> Any:
    if not left:
        return _guarded("solve", S.solve, a.mT, b.mT).mT
    if len(b.array.shape) == len(a.array.shape) - 1 and b.array.shape == a.array.shape[:-1]:
        return _guarded("solve", S.solve, a, b.unsqueeze(-1)).squeeze(-1)
    return _guarded("solve", S.solve, a, b)


def _qr(x: Any, mode: str) -> Any:
    if mode == "r":
        q, r = S.qr(x, mode="reduced")
        return named.linalg_qr(q.new_empty(0), r)
    return named.linalg_qr(*S.qr(x, mode=mode))


@on_stacks(None)
def _eigh(x: Any, UPLO: str) -> Any:
    _square("eigh", x)
    return named.linalg_eigh(*S.eigh(_one_triangle(x, UPLO)))


def _one_triangle(x: Any, UPLO: str) -> Any:
    """The Hermitian matrix that one triangle says."""
    raw = np.asarray(x.read()[0])
    if np.array_equal(raw, np.conj(np.swapaxes(raw, -1, -2))):
        return x
    half = S.triu(x, k=1) if UPLO.upper() == "U" else S.tril(x, k=-1)
    middle = S.subtract(S.tril(x), S.tril(x, k=-1))
    return S.add(S.add(half, half.mH), middle)


def _lstsq(a: Any, b: Any, rcond: Any, driver: Any) -> Any:
    x = S.lstsq(a, b)
    m, n = a.array.shape[-2:]
    rank = S.matrix_rank(a.detach())
    d = S.subtract(S.matmul(a, x), b)
    residuals = S.sum(S.square(d), axis=-2) if m > n else a.new_empty(0)
    return named.linalg_lstsq(x, residuals, rank, a.new_empty(0))


def _cross(a: Any, b: Any, dim: int) -> Any:
    for x in (a, b):
        if x.array.shape[dim] != 3:
            raise RuntimeError(
                f"linalg.cross: inputs dimension {dim} must have length 3. Got {a.array.shape[dim]} and {b.array.shape[dim]}"
            )
    return S.cross(a, b, axis=dim)


def _multi_dot(tensors: Any) -> Any:
    found = list(tensors)
    return found[0] if len(found) == 1 else S.multi_dot(found)


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
    pivots = np.empty((*raw.shape[:-2], min(raw.shape[-2:])), np.int32)
    for i in np.ndindex(*raw.shape[:-2]):
        pivots[i] = scipy.linalg.lu_factor(raw[i])[1] + 1 if raw.shape[-1] == raw.shape[-2] else _exchanges(np.asarray(p.array)[i])
    n, m = raw.shape[-2:]
    whole = S.pad(S.tril(lower, k=-1), ((0, 0),) * (raw.ndim - 1) + ((0, max(m - n, 0)),))
    below = S.pad(upper, ((0, 0),) * (raw.ndim - 2) + ((0, max(n - m, 0)), (0, 0)))
    return named.linalg_lu_factor(S.add(whole, below), wrap(pivots))


def _exchanges(p: Any) -> Any:
    """The row exchanges, counted from 1, whose product is a permutation matrix."""
    order, found = np.argmax(p, axis=0), []
    rows = list(range(len(order)))
    for i in range(len(order)):
        j = rows.index(order[i])
        rows[i], rows[j] = rows[j], rows[i]
        found.append(j + 1)
    return found[: p.shape[-1]]


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


_NAMES = {k: v for k, v in list(globals().items()) if callable(v)} | {"named": named}
_TABLE = {
    "vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None)": "_vector_norm(x, ord, dim, keepdim, dtype)",
    "matrix_norm(A, ord='fro', dim=(-2, -1), keepdim=False, *, dtype=None)": "_matrix_norm(A, ord, dim, keepdim, dtype)",
    "norm(A, ord=None, dim=None, keepdim=False, *, dtype=None)": "_norm(A, ord, dim, keepdim, dtype)",
    "det(A)": "_det(A)",
    "slogdet(A)": "named.linalg_slogdet(*S.slogdet(A))",
    "inv(A)": "_inv(A)",
    "pinv(A, rtol=None, *, atol=None, hermitian=False)": "S.pinv(A, rtol=rtol)",
    "cholesky(A, *, upper=False)": "_cholesky(A, upper)",
    "solve(A, B, *, left=True)": "_solve(A, B, left)",
    "solve_triangular(A, B, *, upper, left=True, unitriangular=False)":
        "S.solve_triangular(A, B, lower=not upper, unit_diagonal=unitriangular) if left else "
        "S.solve_triangular(A.mT, B.mT, lower=upper, unit_diagonal=unitriangular).mT",
    "qr(A, mode='reduced')": "_qr(A, mode)",
    "svd(A, full_matrices=True, *, driver=None)": "named.linalg_svd(*S.svd(A, full_matrices=full_matrices))",
    "svdvals(A, *, driver=None)": "S.svdvals(A)",
    "eigh(A, UPLO='L')": "_eigh(A, UPLO)",
    "eigvalsh(A, UPLO='L')": "S.eigvalsh(_one_triangle(A, UPLO))",
    "eig(A)": "named.linalg_eig(*S.eig(A))",
    "eigvals(A)": "S.eigvals(A)",
    "matrix_power(A, n)": "S.matrix_power(A, n)",
    "matrix_exp(A)": "S.matrix_exp(A)",
    "matrix_rank(A, *, atol=None, rtol=None, hermitian=False)": "S.matrix_rank(A, rtol=rtol)",
    "cond(A, p=None)": "_cond(A, p)",
    "cross(input, other, *, dim=-1)": "_cross(input, other, dim)",
    "vecdot(x, y, *, dim=-1)": "S.vecdot(x, y, axis=dim)",
    "matmul(input, other)": "S.matmul(input, other)",
    "multi_dot(tensors)": "_multi_dot(tensors)",
    "lstsq(A, B, rcond=None, *, driver=None)": "_lstsq(A, B, rcond, driver)",
    "lu(A, *, pivot=True)": "_lu(A, pivot)",
    "lu_factor(A, *, pivot=True)": "_lu_factor(A, pivot)",
    "lu_factor_ex(A, *, pivot=True, check_errors=False)": "_lu_factor_ex(A, pivot, check_errors)",
    "lu_solve(LU, pivots, B, *, left=True, adjoint=False)": "_lu_solve(LU, pivots, B, left, adjoint)",
    "diagonal(A, *, offset=0, dim1=-2, dim2=-1)": "A.diagonal(offset, dim1, dim2)",
    "inv_ex(A, *, check_errors=False)": "named.linalg_inv_ex(_inv(A), A.new_zeros(A.shape[:-2]).int())",
    "cholesky_ex(A, *, upper=False, check_errors=False)":
        "named.linalg_cholesky_ex(S.cholesky(A, upper=upper), A.new_zeros(A.shape[:-2]).int())",
    "vander(x, *, N=None)": "_vander(x, N)",
}  # fmt: skip


def _cond(x: Any, p: Any) -> Any:
    if p in (None, 2, -2):
        s = S.svdvals(x)
        first, last = S.max(s, axis=-1), S.min(s, axis=-1)
        return S.divide(last, first) if p == -2 else S.divide(first, last)
    return S.multiply(S.matrix_norm(x, ord=p), S.matrix_norm(_inv(x), ord=p))


def _vander(x: Any, n: Any) -> Any:
    n = x.array.shape[-1] if n is None else n
    return S.stack([S.pow(x, float(i)) for i in range(n)], axis=-1)


_NAMES |= {"_cond": _cond, "_vander": _vander}
for _signature, _body in _TABLE.items():
    globals()[_signature.partition("(")[0]] = compiled(_signature, _body, _NAMES, where="torch.linalg")
__all__ = [name.partition("(")[0] for name in _TABLE] + ["LinAlgError"]
name_all(globals(), {"norm": None, "diagonal": None})


def __getattr__(name: str) -> Any:
    from tapegrad.torch._missing import refuse

    return refuse("torch.linalg", name, globals())
