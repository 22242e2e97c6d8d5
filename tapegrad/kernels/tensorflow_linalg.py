"""TensorFlow kernels of linear algebra: contractions, factorisations, solvers, determinants, functions of matrices.

Leading axes are batches.  Half precision is refused, as NumPy does.  What NumPy's kernels decide by looking at the numbers is
decided where they are: cofactors always come from singular values.
"""

from __future__ import annotations

import builtins
import math
from typing import Any

import numpy as np
import tensorflow as tf

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.numpy_products import down_to_two
from tapegrad.kernels.tensorflow_arithmetic import abs, divide, maximum, multiply
from tapegrad.kernels.tensorflow_array import TFArray, made, wrapped
from tapegrad.kernels.tensorflow_basics import conj, equal, greater, part_dtype, real, where
from tapegrad.kernels.tensorflow_calls import C64, F64, INT64, constant, number, scalar
from tapegrad.kernels.tensorflow_functions import exp, log2
from tapegrad.kernels.tensorflow_pick import getitem
from tapegrad.kernels.tensorflow_products import matmul
from tapegrad.kernels.tensorflow_promotion import able, asarray, common, converted, pair
from tapegrad.kernels.tensorflow_rounding import floor
from tapegrad.kernels.tensorflow_shape import (
    broadcast_to,
    concat,
    diagonal,
    expand_dims,
    flip,
    matrix_adjoint,
    matrix_transpose,
    ones,
    ones_beside,
    put_diagonal,
    squeeze,
    triu,
    zeros,
    zeros_beside,
)
from tapegrad.kernels.tensorflow_sums import cumulative_prod, max, sum

_EINSUM = calls.op("Einsum")
_CHOLESKY, _QR, _SVD = calls.one("Cholesky"), calls.op("Qr"), calls.op("Svd")
_EIGH, _EIG = calls.op("SelfAdjointEigV2"), calls.op("Eig")
_DET, _SLOGDET = calls.one("MatrixDeterminant"), calls.one("LogMatrixDeterminant")
_INVERSE, _SOLVE, _TRIANGULAR = calls.op("MatrixInverse"), calls.op("MatrixSolve"), calls.op("MatrixTriangularSolve")
_SET_DIAG = calls.op("MatrixSetDiagV3")


def _supported(x: Any) -> Any:
    """An array of single or double precision; integers become doubles."""
    x = asarray(x)
    if x.dtype.kind in "biu":
        return converted(x, F64)
    if x.dtype.itemsize == 2:
        raise TypeError(f"array type {x.dtype} is unsupported in linalg")
    return x


def _supported_pair(a: Any, b: Any) -> tuple[Any, Any]:
    a, b, d = pair(_supported(a), _supported(b))
    return made(a, d), made(b, d)


# -- contractions ----------------------------------------------------------------------------------------
def contract(arrays: Any, equation: str) -> Any:
    """The sum of products that an equation says, pairs of arrays at a time."""
    arrays = [asarray(a) for a in arrays]
    d = arrays[0].dtype
    for a in arrays[1:]:
        d = common(d, a.dtype)
    w = able("Einsum", d)

    def product(a: Any, b: Any, ta: str, tb: str, kept: str) -> Any:
        return made(_EINSUM([a.bare, b.bare], equation=f"{ta},{tb}->{kept}"), w)

    arrays, terms, output = down_to_two([converted(a, w) for a in arrays], equation, product)
    y = made(_EINSUM([a.bare for a in arrays], equation=f"{','.join(terms)}->{output}"), w)
    return converted(y, d)


# -- solving ---------------------------------------------------------------------------------------------
def _batched(a: Any, b: Any) -> tuple[Any, Any]:
    """Matrices with the same leading axes."""
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return broadcast_to(a, (*lead, *a.shape[-2:])), broadcast_to(b, (*lead, *b.shape[-2:]))


def solve(a: Any, b: Any) -> Any:
    """x with a @ x = b; `b` is a vector only if it has one axis."""
    a, b = _supported_pair(a, b)
    vector = b.ndim == 1
    if vector:
        b = expand_dims(b, axis=1)
    a, b = _batched(a, b)
    y = made(_SOLVE(a.bare, b.bare, adjoint=False), b.dtype)
    return squeeze(y, -1) if vector else y


def solve_triangular(
    a: Any, b: Any, *, lower: bool = False, unit_diagonal: bool = False, adjoint: bool = False
) -> Any:
    """x with a @ x = b for a triangular `a`."""
    a, b = _supported_pair(a, b)
    vector = b.ndim == 1
    if vector:
        b = expand_dims(b, axis=1)
    if unit_diagonal:
        a = made(_SET_DIAG(a.bare, ones(a.shape[:-1], dtype=a.dtype).bare, number(0), align="RIGHT_LEFT"), a.dtype)
    a, b = _batched(a, b)
    y = b if 0 in b.shape else made(_TRIANGULAR(a.bare, b.bare, lower=lower, adjoint=adjoint), b.dtype)
    return squeeze(y, -1) if vector else y


def inv(x: Any) -> Any:
    x = _supported(x)
    return made(_INVERSE(x.bare, adjoint=False), x.dtype, x._shape)


def inv_or_inf(x: Any) -> Any:
    """The inverse; infinities where a matrix is singular."""
    x = _supported(x)
    _, size = slogdet(x)
    singular = expand_dims(equal(size, -math.inf), axis=(-2, -1))
    n = x.shape[-1]
    regular = where(singular, wrapped(constant(np.eye(n, dtype=x.dtype))), x)
    return where(singular, math.inf, inv(regular))


def _limit(x: Any, s: Any, rtol: Any) -> Any:
    """What a singular value has to exceed to count."""
    if rtol is None:
        rtol = builtins.max(x.shape[-2:]) * np.finfo(x.dtype).eps
    elif not isinstance(rtol, int | float | TFArray):
        rtol = np.asarray(rtol)
    return multiply(max(s, axis=-1, keepdims=True), expand_dims(rtol, axis=-1) if np.ndim(rtol) else rtol)


def pinv(x: Any, *, rtol: Any = None) -> Any:
    x = _supported(x)
    if 0 in x.shape:
        return zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), dtype=x.dtype)
    u, s, vh = svd(x, full_matrices=False)
    kept = greater(s, _limit(x, s, rtol))
    s = where(kept, divide(1, where(kept, s, 1)), 0)
    return matmul(multiply(matrix_adjoint(vh), expand_dims(converted(s, x.dtype), axis=-2)), matrix_adjoint(u))


def matrix_rank(x: Any, *, rtol: Any = None) -> Any:
    x = _supported(x)
    if 0 in x.shape[-2:]:
        return zeros(x.shape[:-2], dtype=INT64)
    s = svdvals(x)
    return sum(converted(greater(s, _limit(x, s, rtol)), INT64), axis=-1)


# -- factorisations --------------------------------------------------------------------------------------
def cholesky(x: Any, *, upper: bool = False) -> Any:
    x = _supported(x)
    if upper:
        x = matrix_adjoint(x)  # so the upper triangle is read
    y = made(_CHOLESKY(x.bare), x.dtype, x._shape)
    return matrix_adjoint(y) if upper else y


def qr(x: Any, *, mode: Any = "reduced") -> Any:
    if mode not in ("reduced", "complete"):
        raise ValueError(f"expected mode in ('reduced', 'complete'), got {mode!r}")
    x = _supported(x)
    if 0 in x.shape:
        n, m = x.shape[-2:]
        k = n if mode == "complete" else builtins.min(n, m)
        eye = broadcast_to(wrapped(constant(np.eye(n, k, dtype=x.dtype))), (*x.shape[:-2], n, k))
        return eye, zeros((*x.shape[:-2], k, m), dtype=x.dtype)
    q, r = _QR(x.bare, full_matrices=mode == "complete")
    return made(q, x.dtype), made(r, x.dtype)


def eigh(x: Any) -> Any:
    x = _supported(x)
    w, v = _EIGH(x.bare, compute_v=True)
    return real(made(w, x.dtype)), made(v, x.dtype)


def eigvalsh(x: Any) -> Any:
    x = _supported(x)
    w, _ = _EIGH(x.bare, compute_v=False)
    return real(made(w, x.dtype))


def eig(x: Any) -> Any:
    """Always complex: whether all eigenvalues are real should not change a dtype."""
    x = _supported(x)
    d = common(x.dtype, C64)
    w, v = _EIG(x.bare, Tout=calls.TF_OF[d], compute_v=True)
    return made(w, d), made(v, d)


def eigvals(x: Any) -> Any:
    x = _supported(x)
    d = common(x.dtype, C64)
    w, _ = _EIG(x.bare, Tout=calls.TF_OF[d], compute_v=False)
    return made(w, d)


def _singular(x: Any, *, vectors: bool, full: bool) -> Any:
    s, u, v = _SVD(x.bare, compute_uv=vectors, full_matrices=full)
    return made(u, x.dtype), real(made(s, calls.NUMPY_OF[s.dtype])), made(v, x.dtype)


def svd(x: Any, *, full_matrices: bool = True) -> Any:
    x = _supported(x)
    if 0 in x.shape:
        return _empty_svd(x, full_matrices)
    u, s, v = _singular(x, vectors=True, full=full_matrices)
    return u, s, matrix_adjoint(v)


def _empty_svd(x: Any, full: bool) -> Any:
    *lead, n, m = x.shape
    k = builtins.min(n, m)
    r = part_dtype(x.dtype) if x.dtype.kind == "c" else x.dtype

    def eye(a: int, b: int) -> Any:
        return broadcast_to(wrapped(constant(np.eye(a, b, dtype=x.dtype))), (*lead, a, b))

    return eye(n, n if full else k), zeros((*lead, k), dtype=r), eye(m if full else k, m)


def svdvals(x: Any) -> Any:
    x = _supported(x)
    if 0 in x.shape:
        return _empty_svd(x, False)[1]
    return _singular(x, vectors=False, full=False)[1]


# -- determinants ----------------------------------------------------------------------------------------
def det(x: Any) -> Any:
    x = _supported(x)
    if x.shape[-1] == 0:
        return ones(x.shape[:-2], dtype=x.dtype)
    return made(_DET(x.bare), x.dtype)


def slogdet(x: Any) -> Any:
    """Sign, and logarithm of the absolute value: 0 and -inf of a singular matrix."""
    x = _supported(x)
    r = part_dtype(x.dtype) if x.dtype.kind == "c" else x.dtype
    if x.shape[-1] == 0:
        return ones(x.shape[:-2], dtype=x.dtype), zeros(x.shape[:-2], dtype=r)
    sign, size = _SLOGDET(x.bare)
    sign, size = made(sign, x.dtype), real(made(size, x.dtype))
    return where(equal(size, -math.inf), 0, sign), size


def _over_matrix(v: Any) -> Any:
    return expand_dims(v, axis=(-2, -1))


def _rotations(x: Any) -> Any:
    """conj(U), S, conj(Vh) of the singular value decomposition, and the determinant of U @ Vh, (..., 1, 1)."""
    u, s, vh = svd(x)
    return conj(u), converted(s, x.dtype), conj(vh), _over_matrix(multiply(det(u), det(vh)))


def _before(s: Any) -> Any:
    """For each element of the last axis the product of those before it."""
    first = getitem(s, (Ellipsis, slice(None, 1)))
    first = ones_beside(first, first.dtype)
    return cumulative_prod(concat([first, getitem(s, (Ellipsis, slice(None, -1)))], axis=-1), axis=-1)


def _after(s: Any) -> Any:
    return flip(_before(flip(s, axis=-1)), axis=-1)


def _products_of_others_of_two(s: Any) -> Any:
    """For each two elements of the last axis the product of all others; 0 on the diagonal."""
    n = s.shape[-1]
    one = made(scalar(1, s.dtype), s.dtype, ())
    later = where(np.triu(np.ones((n, n), bool), 1), expand_dims(s, axis=-2), one)
    between = _before(later)
    upper = triu(expand_dims(_before(s), axis=-1) * between * expand_dims(_after(s), axis=-2), k=1)
    return upper + matrix_transpose(upper)


def cofactor(x: Any) -> Any:
    """The matrix of cofactors, from the singular values."""
    x = _supported(x)
    if 0 in x.shape:
        return x
    u, s, vh, d = _rotations(x)
    return d * matmul(u * expand_dims(_before(s) * _after(s), axis=-2), vh)


def cofactor_along(x1: Any, x2: Any) -> Any:
    """The derivative of `cofactor` at `x1` in direction `x2`."""
    x1, x2 = _supported_pair(x1, x2)
    if x1.shape[-1] < 2 or 0 in x1.shape:
        return zeros_beside(x1, common(x1.dtype, x2.dtype))
    u, s, vh, d = _rotations(x1)
    b = matmul(matmul(matrix_transpose(u), x2), matrix_transpose(vh))  # the direction, where x1 is diagonal
    others = _products_of_others_of_two(s)
    middle = -others * matrix_transpose(b)
    along = squeeze(matmul(others, expand_dims(diagonal(b), axis=-1)), -1)
    middle = middle + put_diagonal(along)
    return d * matmul(matmul(u, middle), vh)


def _unit(x: Any) -> Any:
    """The largest absolute value of each matrix, (..., 1, 1); 1 where it is 0."""
    if 0 in x.shape[-2:]:
        return ones((*x.shape[:-2], 1, 1), dtype=part_dtype(x.dtype) if x.dtype.kind == "c" else x.dtype)
    m = max(abs(x), axis=(-2, -1), keepdims=True)
    return where(greater(m, 0), m, 1)


def around_zero(x: Any) -> Any:
    """n matrices on a circle around 0, of the size of each x: a random unitary one times the n-th roots of unity."""
    x = _supported(x)
    n = x.shape[-1]
    rng = np.random.default_rng(n)
    q, _ = np.linalg.qr(rng.standard_normal((n, n)) + 1j * rng.standard_normal((n, n)))
    roots = np.exp(2j * np.pi * np.arange(n) / builtins.max(n, 1))
    circle = n**0.5 * roots[:, None, None] * q
    d = common(x.dtype, C64)
    size = multiply(1.0, converted(_power_of_two(_unit(x)), d))
    return expand_dims(size, axis=-3) * wrapped(constant(circle.astype(d)))


def _power_of_two(m: Any) -> Any:
    """The largest power of two that is not above m: a step function."""
    return exp(floor(log2(m)) * math.log(2))


# -- functions of matrices -------------------------------------------------------------------------------
def matrix_exp(x: Any) -> Any:
    """By Pade's approximants, scaling and squaring; how often is squared the host has to know."""
    x = _supported(x)
    if 0 in x.shape:
        return x
    return made(tf.linalg.expm(x.bare), x.dtype, x._shape)


def matrix_exp_along(x1: Any, x2: Any) -> Any:
    """The derivative of `matrix_exp` at `x1` in direction `x2`: a block of the exponential of a larger matrix."""
    x1, x2 = _supported_pair(x1, x2)
    if 0 in x1.shape:
        return x1
    scale = converted(divide(maximum(_unit(x1), 1), _unit(x2)), x1.dtype)
    block = concat(
        [concat([x1, x2 * scale], axis=-1), concat([zeros_beside(x1, x1.dtype), x1], axis=-1)],
        axis=-2,
    )
    n = x1.shape[-1]
    found = getitem(matrix_exp(block), (Ellipsis, slice(None, n), slice(n, None)))
    return found / scale
