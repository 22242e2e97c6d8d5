"""NumPy kernels of linear algebra: equations, factorisations, determinants.

Leading axes are batches.  NumPy refuses float16 in its factorisations, and takes bfloat16 as float64: that is refused too.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.kernels.mismatch import no_solution
from tapegrad.kernels.numpy_products import matrix_adjoint


def _supported(x: Any) -> Any:
    if x.dtype.kind == "V":
        raise TypeError(f"array type {x.dtype} is unsupported in linalg")
    return x


def _single_or_double(x: Any) -> Any:
    """SciPy takes float16 as float32: it is refused, as NumPy does."""
    if x.dtype.itemsize == 2:
        raise TypeError(f"array type {x.dtype} is unsupported in linalg")
    return x

# -- solving -----------------------------------------------------------------------------------------
def solve(a: Any, b: Any) -> Any:
    """x with a @ x = b; `b` is a vector only if it has one axis."""
    try:
        return np.linalg.solve(_supported(a), _supported(b))
    except ValueError as error:
        raise _explained(error, no_solution(a, b)) from error


def _explained(error: ValueError, mismatch: str = "") -> ValueError:
    """An error of NumPy's with what is wrong with the shapes, or what to do about a singular matrix."""
    if not isinstance(error, np.linalg.LinAlgError):
        return ValueError(mismatch or str(error))
    way = "; linalg.pinv and linalg.lstsq take those too" if "Singular" in str(error) else ""
    return np.linalg.LinAlgError(f"{mismatch or error}{way}")


def solve_triangular(
    a: Any, b: Any, *, lower: bool = False, unit_diagonal: bool = False, adjoint: bool = False
) -> Any:
    """x with a @ x = b for a triangular `a`.

    The general solver leaves an upper triangle as it is, so it loses no digit; LAPACK's triangular one pays for large
    matrices alone (for small ones its threads wait for each other: up to 4 ms measured, against 5 us).
    """
    _single_or_double(a), _single_or_double(b)
    if a.ndim == 2 and b.ndim <= 2 and len(a) > 128 and b.size:
        from scipy.linalg import solve_triangular

        return solve_triangular(
            a, b, lower=lower, unit_diagonal=unit_diagonal, trans="C" if adjoint else "N", check_finite=False
        )
    triangle = np.tril(a) if lower else np.triu(a)
    if unit_diagonal:
        k = np.arange(a.shape[-1])
        triangle[..., k, k] = 1
    if adjoint:
        triangle = matrix_adjoint(triangle)
    if lower is adjoint:
        return np.linalg.solve(triangle, b)
    if b.ndim == 1:
        return np.linalg.solve(triangle[..., ::-1, ::-1], b[::-1])[..., ::-1]
    return np.linalg.solve(triangle[..., ::-1, ::-1], b[..., ::-1, :])[..., ::-1, :]


def inv(x: Any) -> Any:
    try:
        return np.linalg.inv(_supported(x))
    except np.linalg.LinAlgError as error:
        raise _explained(error) from error


def inv_or_inf(x: Any) -> Any:
    """The inverse; infinities where a matrix is singular."""
    try:
        return np.linalg.inv(_supported(x))
    except np.linalg.LinAlgError:
        if x.ndim == 2:
            return np.full(x.shape, np.inf, x.dtype)
        return np.stack([inv_or_inf(m) for m in x])


def pinv(x: Any, *, rtol: Any = None) -> Any:
    _supported(x)
    if rtol is None:
        rtol = max(x.shape[-2:]) * np.finfo(x.dtype).eps
    return np.linalg.pinv(x, rtol=rtol)


def matrix_rank(x: Any, *, rtol: Any = None) -> Any:
    if not x.shape[-1] * x.shape[-2]:
        return np.zeros(x.shape[:-2], np.int64)[()]
    return np.linalg.matrix_rank(_supported(x), rtol=rtol)


# -- factorisations ----------------------------------------------------------------------------------
def cholesky(x: Any, *, upper: bool = False) -> Any:
    try:
        return np.linalg.cholesky(_supported(x), upper=upper)
    except np.linalg.LinAlgError as error:
        raise np.linalg.LinAlgError(_not_definite(x, upper) or str(error)) from error


def _not_definite(x: Any, upper: bool) -> str:
    """Why a matrix has no Cholesky factor, in terms of its values; nothing if its shape is wrong."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        return ""
    if not np.isfinite(x).all():
        return "expected a positive definite matrix, got one with entries that are NaN or infinite"
    spectrum = np.linalg.eigvalsh(x, UPLO="U" if upper else "L")
    least = int(np.argmin(spectrum[..., 0]))
    low, high = spectrum.reshape(-1, x.shape[-1])[least, [0, -1]]
    return (
        f"expected a positive definite matrix, got eigenvalues from {low:.3g} to {high:.3g}; if only rounding makes the smallest "
        "one negative, add a small multiple of tapegrad.eye(n)"
    )


def qr(x: Any, *, mode: Any = "reduced") -> Any:
    if mode not in ("reduced", "complete"):
        raise ValueError(f"expected mode in ('reduced', 'complete'), got {mode!r}")
    return tuple(np.linalg.qr(_supported(x), mode=mode))


def eigh(x: Any) -> Any:
    return tuple(np.linalg.eigh(_supported(x)))


def eigvalsh(x: Any) -> Any:
    return np.linalg.eigvalsh(_supported(x))


def eig(x: Any) -> Any:
    """Always complex: whether all eigenvalues are real should not change a dtype."""
    dtype = np.result_type(x.dtype, np.complex64)
    w, v = np.linalg.eig(_supported(x))
    return w.astype(dtype), v.astype(dtype)


def eigvals(x: Any) -> Any:
    return np.linalg.eigvals(_supported(x)).astype(np.result_type(x.dtype, np.complex64))


def svd(x: Any, *, full_matrices: bool = True) -> Any:
    return tuple(np.linalg.svd(_supported(x), full_matrices=full_matrices))


def svdvals(x: Any) -> Any:
    return np.linalg.svd(_supported(x), compute_uv=False)


# -- determinants ------------------------------------------------------------------------------------
def det(x: Any) -> Any:
    return np.linalg.det(_supported(x))


def slogdet(x: Any) -> Any:
    return tuple(np.linalg.slogdet(_supported(x)))


def _inverted(x: Any) -> Any:
    """Inverse and determinant, where both are known to half of the digits at least; else None."""
    try:
        y = np.linalg.inv(x)
    except np.linalg.LinAlgError:
        return None
    with np.errstate(all="ignore"):
        d = np.linalg.det(x)
        condition = np.abs(x).sum(-1).max(-1, initial=0) * np.abs(y).sum(-1).max(-1, initial=0)
        good = condition < np.finfo(x.dtype).eps ** -0.5
        normal = np.isfinite(d) & (np.abs(d) > np.finfo(x.dtype).tiny)
        return (y, np.asarray(d)[..., None, None]) if (good & normal).all() else None


def _rotations(x: Any) -> Any:
    """conj(U), S, conj(Vh) of the singular value decomposition, and the determinant of U @ Vh, (..., 1, 1)."""
    u, s, vh = np.linalg.svd(x)
    return u.conj(), s, vh.conj(), np.asarray(np.linalg.det(u) * np.linalg.det(vh))[..., None, None]


def _products_of_others(s: Any) -> Any:
    """For each element of the last axis the product of all others."""
    ones = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([ones, s[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([ones, s[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    return before * after


def _products_of_others_of_two(s: Any) -> Any:
    """For each two elements of the last axis the product of all others; 0 on the diagonal."""
    n = s.shape[-1]
    ones = np.ones_like(s[..., :1])
    before = np.cumprod(np.concatenate([ones, s[..., :-1]], axis=-1), axis=-1)
    after = np.cumprod(np.concatenate([ones, s[..., :0:-1]], axis=-1), axis=-1)[..., ::-1]
    later = np.where(np.triu(np.ones((n, n), bool), 1), s[..., None, :], np.ones((), s.dtype))
    between = np.ones_like(later)
    between[..., 1:] = np.cumprod(later, axis=-1)[..., :-1]
    upper = np.triu(before[..., :, None] * between * after[..., None, :], 1)
    return upper + upper.mT


def cofactor(x: Any) -> Any:
    """The matrix of cofactors, from the inverse, or where there is none from the singular values."""
    _supported(x)
    if not x.size:
        return x
    found = _inverted(x)
    if found is not None:
        y, d = found
        return d * y.mT
    u, s, vh, d = _rotations(x)
    return d * ((u * _products_of_others(s)[..., None, :]) @ vh)


def cofactor_along(x1: Any, x2: Any) -> Any:
    """The derivative of `cofactor` at `x1` in direction `x2`."""
    _supported(x1)
    if x1.shape[-1] < 2:
        return np.zeros_like(x1 + x2)
    found = _inverted(x1)
    if found is not None:
        y, d = found
        a = y @ x2
        return d * (np.trace(a, axis1=-2, axis2=-1)[..., None, None] * y - a @ y).mT
    u, s, vh, d = _rotations(x1)
    b = u.mT @ x2 @ vh.mT  # the direction, where x1 is diagonal
    others = _products_of_others_of_two(s)
    middle = -others * b.mT
    k = np.arange(s.shape[-1])
    middle[..., k, k] = (others @ np.diagonal(b, axis1=-2, axis2=-1)[..., None])[..., 0]
    return d * (u @ middle @ vh)


def _unit(x: Any) -> Any:
    """The largest absolute value of each matrix, (..., 1, 1); 1 where it is 0."""
    m = np.abs(x).max(axis=(-2, -1), keepdims=True, initial=0)
    return np.where(m > 0, m, np.ones((), m.dtype))


def around_zero(x: Any) -> Any:
    """n matrices on a circle around 0, of the size of each x: a random unitary one times the n-th roots of unity."""
    n = x.shape[-1]
    rng = np.random.default_rng(n)
    q, _ = np.linalg.qr(rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n)))
    roots = np.exp(2j * np.pi * np.arange(n) / max(n, 1))
    circle = n**0.5 * roots[:, None, None] * q
    size = np.exp2(np.floor(np.log2(_unit(x))))  # a power of two: a step function of x
    return (size[..., None, :, :] * circle).astype(np.result_type(x.dtype, np.complex64), copy=False)


# -- functions of matrices ---------------------------------------------------------------------------
def matrix_exp(x: Any) -> Any:
    _single_or_double(x)
    from scipy.linalg import expm

    if not x.size:
        return x
    return expm(x)


def matrix_exp_along(x1: Any, x2: Any) -> Any:
    """The derivative of `matrix_exp` at `x1` in direction `x2`: a block of the exponential of a larger matrix.

    The direction is brought to the size of `x1` first: a large one would cost squarings, and digits.
    """
    _single_or_double(x1)
    if not x1.size:
        return x1
    scale = np.maximum(_unit(x1), 1) / _unit(x2)
    zero = np.zeros_like(x1)
    block = np.concatenate(
        [np.concatenate([x1, x2 * scale], axis=-1), np.concatenate([zero, x1], axis=-1)], axis=-2
    )
    n = x1.shape[-1]
    return matrix_exp(block)[..., :n, n:] / scale


# -- norms -------------------------------------------------------------------------------------------
def power_norm(x: Any, *, axis: Any = None, keepdims: bool = False, ord: float) -> Any:
    """sum(abs(x)**ord)**(1 / ord), of elements relative to the largest (for a negative ord, the smallest)."""
    if x.dtype.itemsize == 2:
        return power_norm(x.astype(np.float32), axis=axis, keepdims=keepdims, ord=ord).astype(x.dtype)
    size = np.abs(x)
    extreme = np.maximum if ord > 0 else np.minimum
    m = extreme.reduce(size, axis=axis, keepdims=True, initial=0 if ord > 0 else np.inf)
    scale = np.where((m > 0) & np.isfinite(m), m, np.ones((), m.dtype))
    with np.errstate(divide="ignore", over="ignore"):
        y = np.sum((size / scale) ** ord, axis=axis, keepdims=True) ** (1 / ord) * scale
    return y if keepdims else y.reshape(np.add.reduce(size, axis=axis).shape)[()]
