"""`tf.linalg`: roots, logarithms and LU factors of matrices, and matrices of three diagonals, as compositions of ops."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapegrad.errors import SymbolicValueError
from tapegrad.registry.places import has_values
from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.errors import UnimplementedError, invalid
from tapegrad.tf.export import export
from tapegrad.tf.operators import matmul, shape_text
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor

#: After so many steps Newton's iteration has converged for every matrix that has a root: it needs 5 to 12.
_STEPS = 30
#: Points and weights of Gauss and Legendre on (0, 1): as exact as the Padé approximant of this order.
_POINTS, _WEIGHTS = (np.polynomial.legendre.leggauss(8)[k] / 2 + (0.5, 0)[k] for k in (0, 1))


def _square(x: Any, name: str) -> Tensor:
    x = convert(x)
    shape = x.array.shape
    if len(shape) < 2 or shape[-1] != shape[-2]:
        raise invalid(name, f"Input matrix must be square: expected input.shape[-1] == input.shape[-2], got {shape_text(x.array)}")
    return x


def _identity(x: Tensor) -> Any:
    return S.broadcast_to(fresh(np.eye(x.array.shape[-1], dtype=x.array.dtype)), x.array.shape)


def _root(a: Tensor) -> Tensor:
    """The square root by the product form of Denman and Beavers' iteration (Higham, "Functions of Matrices", equation 6.29)."""
    half, eye = a.array.dtype.type(0.5), _identity(a)
    m, x = a, a
    for _ in range(_STEPS):
        inverse = S.inv_or_inf(m)
        x = S.multiply(half, matmul(x, S.add(eye, inverse)))
        m = S.multiply(half, S.add(eye, S.multiply(half, S.add(m, inverse))))
        if has_values(m.array):
            apart = np.abs(np.asarray(m.array) - np.asarray(eye.array)).max(initial=0)
            if not apart > 4 * np.finfo(m.array.dtype).eps * m.array.shape[-1]:
                break
    return x


@export("linalg.sqrtm", "matrix_square_root")
def sqrtm(input: Any, name: str | None = None) -> Tensor:
    """The square root of square matrices whose eigenvalues lie off the negative axis; NaN where there is no such root.

    It is differentiated through Newton's iteration, so equal eigenvalues do no harm; a singular matrix is NaN.
    """
    x = _square(input, "MatrixSquareRoot")
    with np.errstate(all="ignore"):  # where there is no root the iteration runs away
        y = _root(x)
        back = S.max(S.abs(S.subtract(matmul(y, y), x)), axis=(-2, -1), keepdims=True)
    size = S.max(S.abs(x), axis=(-2, -1), keepdims=True)
    close = S.less_equal(back, S.multiply(size, size.array.dtype.type(np.sqrt(np.finfo(size.array.dtype).eps))))
    return S.where(close, y, x.array.dtype.type(np.nan))


@export("linalg.logm")
def logm(input: Any, name: str | None = None) -> Tensor:
    """The logarithm of complex square matrices: of a root so near to 1 that an integral gives it, doubled again."""
    x = _square(input, "MatrixLogarithm")
    if x.array.dtype.kind != "c":
        text = f"Value for attr 'T' of {x.dtype.name} is not in the list of allowed values: complex64, complex128"
        raise invalid("MatrixLogarithm", text)
    if not has_values(x.array):
        raise SymbolicValueError("tf.linalg.logm inside a function that is being traced: how many roots it takes depends on the values")
    eye, doubled = _identity(x), 0
    while np.abs(np.asarray(x.array) - np.asarray(eye.array)).sum(-1).max(initial=0) > 0.25 and doubled < 100:
        x, doubled = _root(x), doubled + 1
    rest = S.subtract(x, eye)
    terms = [
        S.multiply(x.array.dtype.type(w), S.solve(S.add(eye, S.multiply(x.array.dtype.type(t), rest)), rest))
        for t, w in zip(_POINTS, _WEIGHTS, strict=True)
    ]
    total = terms[0]
    for term in terms[1:]:
        total = S.add(total, term)
    return S.multiply(x.array.dtype.type(2.0**doubled), total)


# -- LU ---------------------------------------------------------------------------------------------------------
class Lu(NamedTuple):
    """Both triangles in one matrix, and where each of its rows was."""

    lu: Any
    p: Any


@export("linalg.lu")
def lu(input: Any, output_idx_type: Any = np.int32, name: str | None = None) -> Lu:
    """L and U in one matrix (the ones of L are not stored), and the rows p with input[p] = L U."""
    x = _square(input, "Lu")
    if not has_values(x.array):
        raise SymbolicValueError("tf.linalg.lu inside a function that is being traced: the order of the rows depends on the values")
    order = _pivots(np.asarray(x.array))
    index = np.broadcast_to(order[..., None], x.array.shape)
    done = _eliminated(S.take_along_axis(x, fresh(np.ascontiguousarray(index)), axis=-2))
    return Lu(done, fresh(order.astype(output_idx_type if not hasattr(output_idx_type, "numpy") else output_idx_type.numpy)))


def _pivots(raw: Any) -> Any:
    """The order of rows in which the largest element of what is left of a column comes first."""
    a = np.array(raw)
    n = a.shape[-1]
    order = np.broadcast_to(np.arange(n), a.shape[:-1]).copy()
    for place in np.ndindex(*a.shape[:-2]):
        m, p = a[place], order[place]
        for k in range(n):
            best = k + int(np.abs(m[k:, k]).argmax())
            if not m[best, k]:
                raise invalid("Lu", "Input is not invertible.")
            m[[k, best]], p[[k, best]] = m[[best, k]], p[[best, k]]
            m[k + 1 :, k] /= m[k, k]
            m[k + 1 :, k + 1 :] -= np.outer(m[k + 1 :, k], m[k, k + 1 :])
    return order


def _eliminated(a: Tensor) -> Tensor:
    """Gauss's elimination without exchanges, a row of U and a column of L at a time."""
    n = a.array.shape[-1]
    if n < 2:
        return S.positive(a)
    top, left = S.getitem(a, (..., slice(0, 1), slice(1, None))), S.getitem(a, (..., slice(1, None), slice(0, 1)))
    pivot, rest = S.getitem(a, (..., slice(0, 1), slice(0, 1))), S.getitem(a, (..., slice(1, None), slice(1, None)))
    factor = S.divide(left, pivot)
    below = S.concat([factor, _eliminated(S.subtract(rest, S.multiply(factor, top)))], axis=-1)
    return S.concat([S.concat([pivot, top], axis=-1), below], axis=-2)


def _triangles(lower_upper: Any) -> tuple[Tensor, Tensor]:
    x = convert(lower_upper)
    return S.add(S.tril(x, k=-1), _identity(x)), S.triu(x)


def _places(perm: Any, *, back: bool) -> Any:
    p = host(perm)
    return fresh(np.ascontiguousarray((np.argsort(p, -1) if back else p)[..., None].astype(np.int64)))


@export("linalg.lu_reconstruct")
def lu_reconstruct(lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The matrices that these are the LU factors of."""
    lower, upper = _triangles(lower_upper)
    made = matmul(lower, upper)
    place = _places(perm, back=True)
    return S.take_along_axis(made, S.broadcast_to(place, made.array.shape), axis=-2)


@export("linalg.lu_solve")
def lu_solve(lower_upper: Any, perm: Any, rhs: Any, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The solution of A x = rhs for a matrix whose LU factors these are."""
    lower, upper = _triangles(lower_upper)
    b = convert(rhs, lower.array.dtype, prefer=True)
    if b.array.ndim < 2:
        raise ValueError(f"Argument `rhs` must have at least 2 dimensions, got {shape_text(b.array)}")
    shape = (*np.broadcast_shapes(b.array.shape[:-2], lower.array.shape[:-2]), *b.array.shape[-2:])
    b = S.broadcast_to(b, shape)
    b = S.take_along_axis(b, S.broadcast_to(_places(perm, back=False), shape), axis=-2)
    return S.solve_triangular(upper, S.solve_triangular(lower, b, lower=True), lower=False)


@export("linalg.lu_matrix_inverse")
def lu_matrix_inverse(lower_upper: Any, perm: Any, validate_args: bool = False, name: str | None = None) -> Tensor:
    """The inverse of a matrix whose LU factors these are."""
    x = convert(lower_upper)
    return lu_solve(x, perm, _identity(x))


# -- three diagonals ----------------------------------------------------------------------------------------------

@export("linalg.eigh_tridiagonal")
def eigh_tridiagonal(
    alpha: Any,
    beta: Any,
    eigvals_only: bool = True,
    select: str = "a",
    select_range: Any = None,
    tol: Any = None,
    name: str | None = None,
) -> Any:
    """The eigenvalues (and eigenvectors) of hermitian matrices with `alpha` on the diagonal and `beta` beside it."""
    if select != "a":
        raise UnimplementedError(None, None, f"tf.linalg.eigh_tridiagonal: select={select!r} is not here; take all ('a')")
    a = convert(alpha)
    b = convert(beta, a.array.dtype, prefer=True)
    n = a.array.shape[-1]
    rows = np.arange(n - 1)
    shape = (*a.array.shape, n)
    beside = S.put_add(b, (..., rows, rows + 1), shape)
    whole = S.add(S.put_add(a, (..., np.arange(n), np.arange(n)), shape), S.add(beside, S.conj(S.matrix_transpose(beside))))
    return S.eigvalsh(whole) if eigvals_only else tuple(S.eigh(whole))
