"""`tf.linalg`, and the products of matrices and tensors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.ops.einsum import einsum as core_einsum
from tapegrad.tf.convert import cast, convert, fresh, host, integer, tensors_of
from tapegrad.tf.errors import InvalidArgumentError, invalid
from tapegrad.tf.export import export, table
from tapegrad.tf.operators import matmul as product
from tapegrad.tf.operators import mismatch_in, pair, shape_text
from tapegrad.tf.reducing import reduce_sum
from tapegrad.tf.style import S, failed, mismatch
from tapegrad.tf.tensor import Tensor


def _turned(x: Tensor, transpose: bool, adjoint: bool) -> Tensor:
    if transpose and adjoint:
        raise ValueError("Only one of `transpose_a` and `adjoint_a` can be True.")
    if not transpose and not adjoint:
        return x
    if x.array.ndim < 2:
        return x
    y = S.matrix_transpose(x)
    return S.conj(y) if adjoint and y.array.dtype.kind == "c" else y


@export("linalg.matmul", "matmul")
def matmul(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    transpose_b: bool = False,
    adjoint_a: bool = False,
    adjoint_b: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    output_type: Any = None,
    grad_a: bool = False,
    grad_b: bool = False,
    name: str | None = None,
) -> Tensor:
    """The matrix product of the last two axes, each transposed first if asked for."""
    if output_type is None and not (transpose_a or transpose_b or adjoint_a or adjoint_b):
        return product(a, b)
    x1, x2 = pair(a, b)
    if output_type is not None:  # what is narrow is summed in the dtype that is asked for
        x1, x2 = cast(x1, output_type), cast(x2, output_type)
    return product(_turned(x1, transpose_a, adjoint_a), _turned(x2, transpose_b, adjoint_b))


@export("linalg.matvec")
def matvec(
    a: Any,
    b: Any,
    transpose_a: bool = False,
    adjoint_a: bool = False,
    a_is_sparse: bool = False,
    b_is_sparse: bool = False,
    name: str | None = None,
) -> Tensor:
    """Matrices times vectors."""
    x, v = pair(a, b)
    return S.squeeze(product(_turned(x, transpose_a, adjoint_a), S.expand_dims(v, axis=-1)), (-1,))


@export("tensordot", "linalg.tensordot")
def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """The sum of products over axes: that many last and first ones, or lists of them for each."""
    x, y = pair(a, b)
    mismatch_in("MatMul", [x, y])
    axes = np.asarray(axes).tolist() if isinstance(axes, core.Tensor | np.ndarray) else axes
    if not isinstance(axes, int):
        first, second = ([int(k) for k in (part if isinstance(part, list | tuple) else [part])] for part in axes)
        axes = (first, second)
        if len(first) != len(second):
            raise ValueError(f"Different number of contraction axes `a` and `b`, {len(first)} != {len(second)}.")
        for v, own in ((x, first), (y, second)):
            if any(not -v.array.ndim <= k < v.array.ndim for k in own):
                raise IndexError(f"tf.tensordot: axes {own} are out of range for shape {shape_text(v.array)}")
    elif not 0 <= axes <= min(x.array.ndim, y.array.ndim):
        raise ValueError(f"`axes` must be an integer from 0 to {min(x.array.ndim, y.array.ndim)}, the smaller rank, got {axes}")
    return S.tensordot(x, y, axes=axes)


@export("einsum", "linalg.einsum")
def einsum(equation: str, *inputs: Any, **kwargs: Any) -> Tensor:
    """The sum of products that the equation says, in Einstein's notation."""
    xs = tensors_of(inputs)
    mismatch_in("Einsum", xs)
    try:
        return S.adopt(core_einsum(equation, *xs))
    except (TypeError, ValueError, RuntimeError) as error:
        raise invalid("Einsum", str(error)) from error


@export("norm", "linalg.norm")
def norm(tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: bool = False, name: str | None = None) -> Tensor:
    """The norm of a vector, of all elements, or with two axes of matrices."""
    x = convert(tensor)
    if x.array.dtype.kind not in "fcV":
        raise invalid(None, f"tf.norm: expected a floating tensor, got {x.dtype.name}")
    if isinstance(axis, list | tuple) and not (
        len(axis) in (1, 2) and all(isinstance(a, int | np.integer) for a in axis) and len({a % x.array.ndim for a in axis}) == len(axis)
    ):
        raise ValueError(f"'axis' must be None, an integer, or a tuple of 2 unique integers, got {axis}")
    if isinstance(axis, list | tuple) and len(axis) == 2:
        return _matrix_norm(x, ord, tuple(int(a) for a in axis), keepdims)
    if isinstance(axis, list | tuple):
        axis = axis[0]
    if ord in ("euclidean", 2):
        return S.norm2(x, axis=axis, keepdims=keepdims)
    if isinstance(ord, str) or (ord != np.inf and ord <= 0):
        raise ValueError(f"'ord' must be a supported vector norm, got {ord}")
    if axis is None:
        flat = S.vector_norm(S.reshape(x, (-1,)), axis=0, ord=ord)
        return S.reshape(flat, (1,) * x.array.ndim) if keepdims else flat
    return S.vector_norm(x, axis=int(axis), keepdims=keepdims, ord=ord)


def _matrix_norm(x: Tensor, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Tensor:
    if ord in ("euclidean", "fro"):
        return S.norm2(x, axis=axes, keepdims=keepdims)
    if ord not in (1, 2, np.inf):
        raise ValueError(f"'ord' must be a supported matrix norm in ['euclidean', 'fro', 1, 2, inf], got {ord}")
    found = S.matrix_norm(S.moveaxis(x, axes, (-2, -1)), ord=ord)
    if not keepdims:
        return found
    rank = x.array.ndim
    for a in sorted(a % rank for a in axes):
        found = S.expand_dims(found, axis=a)
    return found


# -- factorisations ------------------------------------------------------------------------------------------
class Svd(NamedTuple):
    """Singular values and vectors."""

    s: Tensor
    u: Tensor
    v: Tensor


class Qr(NamedTuple):
    """An orthonormal and a triangular factor."""

    q: Tensor
    r: Tensor


@export("linalg.svd")
def svd(tensor: Any, full_matrices: bool = False, compute_uv: bool = True, name: str | None = None) -> Any:
    """Singular values, and unless told otherwise the vectors: s, u, v with x = u diag(s) v^H."""
    x = _matrix(tensor, "Svd")
    if not compute_uv:
        return S.svdvals(x)
    u, s, vh = S.svd(x, full_matrices=full_matrices)
    v = S.matrix_transpose(vh)
    return Svd(s, u, S.conj(v) if v.array.dtype.kind == "c" else v)


@export("linalg.qr")
def qr(input: Any, full_matrices: bool = False, name: str | None = None) -> Qr:
    """An orthonormal and an upper triangular factor."""
    return Qr(*S.qr(_matrix(input, "Qr"), mode="complete" if full_matrices else "reduced"))


@export("linalg.eigh")
def eigh(tensor: Any, name: str | None = None) -> Any:
    """Eigenvalues in rising order and eigenvectors of symmetric matrices, of which the lower triangle is read."""
    return tuple(S.eigh(_lower(_matrix(tensor, "SelfAdjointEigV2"))))


def _lower(x: Tensor) -> Tensor:
    """The symmetric matrix of a lower triangle, which alone has a derivative."""
    n = x.array.shape[-1]
    other = S.matrix_transpose(x)
    return S.where(fresh(np.tri(n, dtype=np.bool_)), x, S.conj(other) if x.array.dtype.kind == "c" else other)


@export("linalg.eig")
def eig(tensor: Any, name: str | None = None) -> Any:
    """Complex eigenvalues and eigenvectors."""
    return tuple(S.eig(_matrix(tensor, "Eig")))


@export("linalg.cholesky")
def cholesky(input: Any, name: str | None = None) -> Tensor:
    """The lower triangular factor of positive definite matrices."""
    try:
        return S.cholesky(_matrix(input, "Cholesky"))
    except InvalidArgumentError as error:
        raise invalid(None, f"Cholesky decomposition was not successful. {error}") from error


@export("linalg.inv")
def inv(input: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The inverse of matrices."""
    return S.inv(_turned(_matrix(input, "MatrixInverse"), False, adjoint))


@export("linalg.solve")
def solve(matrix: Any, rhs: Any, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The x with matrix x = rhs, whose columns are right-hand sides."""
    a, b = _system(matrix, rhs, "MatrixSolve")
    return S.solve(_turned(a, False, adjoint), b)


def _system(matrix: Any, rhs: Any, name: str) -> tuple[Tensor, Tensor]:
    a, b = pair(matrix, rhs)
    mismatch_in(name, [a, b])
    _matrix(a, name)
    if b.array.ndim < 2 or a.array.shape[-2] != b.array.shape[-2]:
        raise invalid(f"{name}", f"Input matrix and rhs are incompatible: {shape_text(a.array)} and {shape_text(b.array)}")
    return a, b


@export("linalg.triangular_solve")
def triangular_solve(matrix: Any, rhs: Any, lower: bool = True, adjoint: bool = False, name: str | None = None) -> Tensor:
    """The x with matrix x = rhs for a triangular matrix."""
    a, b = _system(matrix, rhs, "MatrixTriangularSolve")
    return S.solve_triangular(a, b, lower=lower, adjoint=adjoint)


@export("linalg.cholesky_solve")
def cholesky_solve(chol: Any, rhs: Any, name: str | None = None) -> Tensor:
    """The x with chol chol^H x = rhs."""
    a, b = _system(chol, rhs, "CholeskySolve")
    return S.solve_triangular(a, S.solve_triangular(a, b, lower=True), lower=True, adjoint=True)


@export("linalg.lstsq")
def lstsq(matrix: Any, rhs: Any, l2_regularizer: float = 0.0, fast: bool = True, name: str | None = None) -> Tensor:
    """The x that minimises |matrix x - rhs|^2 + l2_regularizer |x|^2."""
    a, b = _system(matrix, rhs, "MatrixSolveLs")
    if l2_regularizer:
        n = a.array.shape[-1]
        eye = fresh(np.eye(n, dtype=a.array.dtype) * l2_regularizer)
        h = S.conj(S.matrix_transpose(a))
        return S.solve(S.add(S.matmul(h, a), eye), S.matmul(h, b))
    return S.matmul(S.pinv(a), b)


@export("linalg.slogdet")
def slogdet(input: Any, name: str | None = None) -> Any:
    """Sign and logarithm of the absolute value of determinants."""
    return S.slogdet(_matrix(input, "LogMatrixDeterminant"))


@export("linalg.logdet")
def logdet(matrix: Any, name: str | None = None) -> Tensor:
    """The logarithm of the determinant of positive definite matrices."""
    lower = cholesky(matrix)
    return S.multiply(2.0, S.sum(S.log(S.real(S.diagonal(lower))), axis=-1))


def _matrix(x: Any, name: str) -> Tensor:
    x = convert(x)
    if x.array.dtype.kind not in "fc":
        raise invalid(f"{name}", f"Value for attr 'T' of {x.dtype.name} is not in the list of allowed values")
    if x.array.ndim < 2:
        raise invalid(f"{name}", f"Input must have rank >= 2, got {x.array.ndim}")
    return x


# -- bands and traces -------------------------------------------------------------------------------------------
@export("linalg.band_part")
def band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """The matrices with zeros outside of a band; -1 keeps a whole triangle."""
    x = convert(input)
    low, high = integer(num_lower), integer(num_upper)
    for what, n, length in (("num_lower", low, x.array.shape[-2]), ("num_upper", high, x.array.shape[-1])):
        if n > length:
            raise invalid("MatrixBandPart", f"{what} must be negative or less or equal to number of its axis ({length}) got: {n}")
    if low >= 0:
        x = S.triu(x, k=-low)
    return S.tril(x, k=high) if high >= 0 else x


@export("linalg.trace")
def trace(x: Any, name: str | None = None) -> Tensor:
    """The sum of the diagonal."""
    return reduce_sum(S.diagonal(convert(x)), axis=-1)


@export("linalg.cross")
def cross(a: Any, b: Any, name: str | None = None) -> Tensor:
    """The cross product of vectors of three elements."""
    x, y = pair(a, b)
    mismatch_in("Cross", [x, y])
    if x.array.shape != y.array.shape:
        raise invalid("Cross", f"Both inputs must be of same shape: {shape_text(x.array)} vs. {shape_text(y.array)}")
    return S.cross(x, y)


@export("linalg.pinv")
def pinv(a: Any, rcond: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The pseudo-inverse."""
    return S.pinv(_matrix(a, "pinv"), rtol=None if rcond is None else float(rcond))


@export("linalg.matrix_rank")
def matrix_rank(a: Any, tol: Any = None, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The number of singular values that count."""
    raw = host(a)
    return fresh(np.asarray(np.linalg.matrix_rank(raw, tol=tol)).astype(np.int32)[()])


table(
    """
linalg.det | input, name=None | S.det(_matrix(input, "MatrixDeterminant"))
linalg.eigvals | tensor, name=None | S.eigvals(_matrix(tensor, "Eig"))
linalg.eigvalsh | tensor, name=None | S.eigvalsh(_lower(_matrix(tensor, "SelfAdjointEigV2")))
linalg.expm | input, name=None | S.matrix_exp(_matrix(input, "MatrixExponential"))
""",
    S=S,
    C=convert,
    _lower=_lower,
    _matrix=_matrix,
)

__all__ = ["failed", "mismatch"]
