"""Linear algebra: `torch.linalg`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tapegrad.linalg  # noqa: F401  declares its ops
from tapegrad.torch import _factors, _symmetric_factors
from tapegrad.torch import _named as named
from tapegrad.torch._dtypes import numpy_of
from tapegrad.torch._faults import begun, with_info
from tapegrad.torch._functions._build import compiled
from tapegrad.torch._functions._stacks import on_stacks
from tapegrad.torch._linalg_errors import LinAlgError, _guarded, _square, _text, converged
from tapegrad.torch._tagged import name_all
from tapegrad.torch._tensor import OF_NUMPY, Tensor, wrap
from tapegrad.torch._tensor import STYLE as S


def _cholesky(x: Any, upper: bool) -> Any:
    y = _guarded("cholesky", S.cholesky, x, upper=upper)
    raw = y.array
    if type(raw) in OF_NUMPY:
        if raw.size and np.isnan(raw[..., -1, -1]).any():  # where NaN comes to, wherever it was
            raise LinAlgError(_text("cholesky", ValueError("NaN"), x))
    # TensorFlow's kernel says nothing, and leaves NaN (2.21)
    elif hasattr(getattr(raw, "bare", None), "numpy") and np.isnan(np.asarray(raw)).any():
        raise LinAlgError(_text("cholesky", ValueError("NaN"), x))
    return y


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
    if raw.dtype.kind == "c":
        middle = S.astype(S.real(middle), raw.dtype)
    return S.add(S.add(half, half.mH), middle)


def _lstsq(a: Any, b: Any, rcond: Any, driver: Any) -> Any:
    driver = "gelsy" if driver is None else driver
    if driver not in ("gels", "gelsy", "gelsd", "gelss"):
        raise RuntimeError(f"torch.linalg.lstsq: parameter `driver` should be one of (gels, gelsy, gelsd, gelss), but is {driver}")
    vector = len(b.array.shape) == len(a.array.shape) - 1 and len(a.array.shape) > 1
    x = S.squeeze(S.lstsq(a, S.expand_dims(b, axis=-1)), -1) if vector else S.lstsq(a, b)
    m, n = a.array.shape[-2:]
    none = wrap(np.zeros(0, a.array.real.dtype))
    ranks = S.matrix_rank(a.detach(), rtol=rcond)
    residuals = none
    if m > n and driver != "gelsy" and (driver == "gels" or bool((np.asarray(ranks.array) == n).all())):
        d = S.subtract(S.squeeze(S.matmul(a, S.expand_dims(x, axis=-1)), -1) if vector else S.matmul(a, x), b)
        residuals = S.sum(S.square(S.abs(d)), axis=-1 if vector else -2, keepdims=vector)
    rank = wrap(np.zeros(0, np.int64)) if driver == "gels" else ranks
    return named.linalg_lstsq(x, residuals, rank, S.svdvals(a.detach()) if driver in ("gelsd", "gelss") else none)


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


def _cond(x: Any, p: Any) -> Any:
    if p in (None, 2, -2):
        s = S.svdvals(x)
        first, last = S.max(s, axis=-1), S.min(s, axis=-1)
        return S.divide(last, first) if p == -2 else S.divide(first, last)
    return S.multiply(S.matrix_norm(x, ord=p), S.matrix_norm(_inv(x), ord=p))


def _vander(x: Any, n: Any) -> Any:
    if n is not None and n <= 1:
        raise RuntimeError("N must be greater than 1.")
    if not x.array.shape:
        x = S.reshape(x, (1,))
    n = x.array.shape[-1] if n is None else n
    powers = [S.ones_like(x)]
    while len(powers) < n:
        powers.append(S.multiply(powers[-1], x))
    y = S.stack(powers[:n], axis=-1)
    return S.astype(y, np.dtype(np.int64)) if y.array.dtype.kind in "iub" else y


def _number_of(x: Any) -> Any:
    return np.asarray(x.read()[0]) if isinstance(x, Tensor) else x


def _limit(x: Any, s: Any, rtol: Any, atol: Any) -> Any:
    """Up to where a singular value counts as zero: the larger of `atol` and `rtol` times the largest."""
    size = max(x.array.shape[-2:], default=0)
    rtol, atol = _number_of(rtol), _number_of(atol)
    if rtol is None:
        rtol = np.where(0 if atol is None else np.asarray(atol) > 0, 0.0, size * np.finfo(s.dtype).eps)
    largest = s.max(axis=-1, keepdims=True, initial=0)
    one = np.asarray(rtol)[..., None] * largest
    return np.maximum(0 if atol is None else np.asarray(atol)[..., None], one)


def _sizes(x: Any, hermitian: bool) -> Any:
    """The singular values; of a matrix that is Hermitian, as its lower triangle says."""
    raw = np.asarray(x.read()[0])
    return np.abs(np.linalg.eigvalsh(raw)) if hermitian else np.linalg.svd(raw, compute_uv=False)


def _matrix_rank(x: Any, rtol: Any, atol: Any, hermitian: bool) -> Any:
    if atol is None and not hermitian and not isinstance(rtol, Tensor):
        return S.matrix_rank(x, rtol=rtol)
    s = _sizes(x, hermitian)
    return wrap(np.asarray((s > _limit(x, s, rtol, atol)).sum(axis=-1), np.int64))


def _pinv(x: Any, rtol: Any, atol: Any, hermitian: bool) -> Any:
    own = _one_triangle(x, "L") if hermitian else x
    if atol is None and not isinstance(rtol, Tensor):
        return S.pinv(own, rtol=rtol)
    s = _sizes(own, False)
    share = _limit(x, s, rtol, atol) / np.maximum(s.max(axis=-1, keepdims=True, initial=0), np.finfo(s.dtype).tiny)
    if share.size > 1 and np.ptp(share):
        raise NotImplementedError("linalg.pinv(A, atol, rtol): limits that differ from matrix to matrix are not implemented: one at a time")
    return S.pinv(own, rtol=float(share.reshape(-1)[0]) if share.size else None)


def _tensorinv(x: Any, ind: int) -> Any:
    if ind <= 0:
        raise RuntimeError("Expected a strictly positive integer for 'ind'")
    first, last = x.array.shape[:ind], x.array.shape[ind:]
    if math.prod(first) != math.prod(last):
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[ind:]) == prod(self.shape[:ind]), but got {math.prod(last)} != "
            f"{math.prod(first)}"
        )
    n = math.prod(first)
    return S.reshape(_inv(S.reshape(x, (n, n))), (*last, *first))


def _tensorsolve(a: Any, b: Any, dims: Any) -> Any:
    if dims is not None:
        n = len(a.array.shape)
        moved = [d % n for d in dims]
        a = S.permute_dims(a, axes=[k for k in range(n) if k not in moved] + moved)
    rest, n = a.array.shape[len(b.array.shape) :], math.prod(b.array.shape)
    if math.prod(rest) != n:
        raise RuntimeError(
            f"Expected self to satisfy the requirement prod(self.shape[other.ndim:]) == prod(self.shape[:other.ndim]), but got "
            f"{math.prod(rest)} != {n}"
        )
    return S.reshape(_solve(S.reshape(a, (n, n)), S.reshape(b, (n,)), True), rest)


_PARTS = (vars(_factors), vars(_symmetric_factors), dict(globals()))
_NAMES = {k: v for part in _PARTS for k, v in part.items() if callable(v)} | {
    "named": named, "converged": converged, "with_info": with_info, "begun": begun,
}  # fmt: skip
_TABLE = {
    "vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None)": "_vector_norm(x, ord, dim, keepdim, dtype)",
    "matrix_norm(A, ord='fro', dim=(-2, -1), keepdim=False, *, dtype=None)": "_matrix_norm(A, ord, dim, keepdim, dtype)",
    "norm(A, ord=None, dim=None, keepdim=False, *, dtype=None)": "_norm(A, ord, dim, keepdim, dtype)",
    "det(A)": "_det(A)",
    "slogdet(A)": "named.linalg_slogdet(*S.slogdet(A))",
    "inv(A)": "_inv(A)",
    "pinv(A, rtol=None, *, atol=None, hermitian=False)": "_pinv(A, rtol, atol, hermitian)",
    "cholesky(A, *, upper=False)": "_cholesky(A, upper)",
    "solve(A, B, *, left=True)": "_solve(A, B, left)",
    "solve_triangular(A, B, *, upper, left=True, unitriangular=False)":
        "S.solve_triangular(A, B, lower=not upper, unit_diagonal=unitriangular) if left else "
        "S.solve_triangular(A.mT, B.mT, lower=upper, unit_diagonal=unitriangular).mT",
    "qr(A, mode='reduced')": "_qr(A, mode)",
    "svd(A, full_matrices=True, *, driver=None)": "named.linalg_svd(*converged('svd', S.svd, A, full_matrices=full_matrices))",
    "svdvals(A, *, driver=None)": "converged('svd', S.svdvals, A)",
    "eigh(A, UPLO='L')": "_eigh(A, UPLO)",
    "eigvalsh(A, UPLO='L')": "S.eigvalsh(_one_triangle(A, UPLO))",
    "eig(A)": "named.linalg_eig(*S.eig(A))",
    "eigvals(A)": "S.eigvals(A)",
    "matrix_power(A, n)": "S.matrix_power(A, n)",
    "matrix_exp(A)": "S.matrix_exp(A)",
    "matrix_rank(A, *, atol=None, rtol=None, hermitian=False)": "_matrix_rank(A, rtol, atol, hermitian)",
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
    "ldl_factor(A, *, hermitian=False)": "named.linalg_ldl_factor(*_ldl_factor_ex(A, hermitian, True)[:2])",
    "ldl_factor_ex(A, *, hermitian=False, check_errors=False)": "_ldl_factor_ex(A, hermitian, check_errors)",
    "ldl_solve(LD, pivots, B, *, hermitian=False)": "_ldl_solve(LD, pivots, B, hermitian)",
    "diagonal(A, *, offset=0, dim1=-2, dim2=-1)": "A.diagonal(offset, dim1, dim2)",
    "inv_ex(A, *, check_errors=False)": "named.linalg_inv_ex(*with_info('inv_ex', _inv, A, check_errors))",
    "cholesky_ex(A, *, upper=False, check_errors=False)":
        "named.linalg_cholesky_ex(*with_info('cholesky_ex', lambda x: _cholesky(x, upper), A, check_errors, begun(upper)))",
    "solve_ex(A, B, *, left=True, check_errors=False)":
        "named.linalg_solve_ex(*with_info('solve_ex', lambda x: _solve(x, B, left), A, check_errors))",
    "tensorinv(A, ind=2)": "_tensorinv(A, ind)",
    "tensorsolve(A, B, dims=None)": "_tensorsolve(A, B, dims)",
    "householder_product(A, tau)": "_householder_product(A, tau)",
    "vander(x, *, N=None)": "_vander(x, N)",
}  # fmt: skip


for _signature, _body in _TABLE.items():
    globals()[_signature.partition("(")[0]] = compiled(_signature, _body, _NAMES, where="torch.linalg")
__all__ = [name.partition("(")[0] for name in _TABLE] + ["LinAlgError"]
name_all(globals(), {"norm": None, "diagonal": None})


def __getattr__(name: str) -> Any:
    from tapegrad.torch._missing import refuse

    return refuse("torch.linalg", name, globals())
