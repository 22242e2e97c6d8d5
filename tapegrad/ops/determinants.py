"""Determinants, whose derivatives exist at every matrix, singular ones too: a determinant is a polynomial."""

from __future__ import annotations

from typing import Any

from tapegrad.ops import solvers  # noqa: F401  declares `inv`
from tapegrad.registry import composite, constant, primitive
from tapegrad.registry.batch_rules import same


def _any_rank(draw: Any) -> Any:
    """Square matrices: regular, and of one rank too few.  (Where derivatives vanish: `tests/test_determinants.py`.)"""
    return _of_rank(draw, draw.size("n"))


def _of_rank(draw: Any, n: int) -> Any:
    kind = draw.choice("regular", "several", "singular")
    if kind == "regular" or n < 2:
        return (draw.well_conditioned(n),)
    if kind == "several":
        return (draw.well_conditioned(2, n),)
    x = draw.array(n, n, low=-2, high=2)
    x[..., 0] = 0.7 * x[..., 1:].sum(axis=-1)  # no cofactor vanishes
    return (x,)


@primitive(public=False, laws=_any_rank, tolerance=10)
def det(xp: Any, x: Any, /) -> Any:
    """The determinant of square matrices, (..., n, n) -> (...).

    The derivative is the matrix of cofactors, which exists, as do all further derivatives, at singular matrices.

    Raises MatrixError for a matrix that is not square.
    """
    return xp.det(x)


def _over_matrix(F: Any, g: Any) -> Any:
    """A number for each matrix, as a matrix of one element."""
    return F.reshape(g, (*g.shape, 1, 1))


det.pullback(x=lambda F, g, x: _over_matrix(F, g) * F.conj(F.cofactor(x)))
det.pushforward(x=lambda F, t, x: F.sum(t * F.cofactor(x), axis=(-2, -1)))


@primitive(public=False, laws=_any_rank, tolerance=10)
def cofactor(xp: Any, x: Any, /) -> Any:
    """The matrix of cofactors of square matrices, (..., n, n): the transposed adjugate; det(x) inv(x)^T where there is an inverse.

    Elsewhere, with the singular value decomposition x = U S V^H, it is det(U V^H) conj(U) S' V^T, where S' has on its diagonal the
    products of all other singular values.
    """
    return xp.cofactor(x)


cofactor.pullback(x=lambda F, g, x: F.conj(F.cofactor_along(x, F.conj(g))))
cofactor.pushforward(x=lambda F, t, x: F.cofactor_along(x, t))


def _any_rank_and_direction(draw: Any) -> Any:
    (x,) = _of_rank(draw, draw.choice(0, 1, 2, 4, 4))  # for 3, the fourth derivative is zero but for rounding
    return x, draw.filled(x.shape)


@primitive(public=False, laws=_any_rank_and_direction, tolerance=10)
def cofactor_along(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The derivative of `cofactor` at `x1` in direction `x2`: the second derivative of the determinant, (..., n, n), (..., n, n)."""
    return xp.cofactor_along(x1, x2)


cofactor_along.pullback(
    x1=lambda F, g, x1, x2: F.conj(F.cofactor_along_two(x1, x2, F.conj(g))),
    x2=lambda F, g, x1: F.conj(F.cofactor_along(x1, F.conj(g))),
)
cofactor_along.pushforward(
    x1=lambda F, t, x1, x2: F.cofactor_along_two(x1, x2, t),
    x2=lambda F, t, x1: F.cofactor_along(x1, t),
)


@constant(public=False, laws=lambda draw: (draw.array(2, "n", "n"),))
def around(xp: Any, x: Any, /) -> Any:
    """n complex matrices on a circle around 0, of about the size of `x`, (..., n, n) -> (..., n, n, n): a matrix that has
    nothing to do with `x`, times the n-th roots of unity, in steps of powers of two."""
    return xp.around_zero(x)


def _along_two(draw: Any) -> Any:
    (x,) = _of_rank(draw, draw.choice(2, 5, 5))
    return x, draw.filled(x.shape), draw.filled(x.shape)


@composite(public=False, laws=_along_two, tolerance=100)
def cofactor_along_two(F: Any, x1: Any, x2: Any, x3: Any, /) -> Any:
    """The second derivative of `cofactor` at `x1` in two directions: the third derivative of the determinant.

    A polynomial of degree below n has at 0 the mean of its values at the n-th roots of unity.  So the value at `x1` is
    the mean over matrices around it that have inverses, and all further derivatives are such means.
    """
    if x1.shape[-1] < 3:
        return 0 * x1 * x2 * x3
    kind, n = x1.dtype.kind, x1.shape[-1]
    x = F.expand_dims(x1, axis=-3) + F.around(x1)
    y, d = F.inv(x), F.det_of_regular(x)
    a, b = (F.matmul(y, F.expand_dims(t, axis=-3)) for t in (x2, x3))
    ab, ba = F.matmul(a, b), F.matmul(b, a)
    ta, tb, tab = (_over_matrix(F, F.sum(F.diagonal(m), axis=-1)) for m in (a, b, ab))
    middle = F.matmul(ab + ba - ta * b - tb * a, y) + (ta * tb - tab) * y
    found = F.matrix_transpose(F.sum(_over_matrix(F, d) * middle, axis=-3)) * (1 / n)
    return found if kind == "c" else F.real(found)


@primitive(public=False, laws=lambda draw: (draw.well_conditioned(*draw.choice(("n",), (2, "n"))),), tolerance=10)
def det_of_regular(xp: Any, x: Any, /) -> Any:
    """The determinant of matrices that have an inverse, (..., n, n) -> (...)."""
    return xp.det(x)


det_of_regular.pullback(x=lambda F, g, x, y: _over_matrix(F, g * F.conj(y)) * F.matrix_adjoint(F.inv(x)))


@primitive(
    public=False, outputs=("sign", "logabsdet"), laws=lambda draw: (draw.well_conditioned(*draw.choice(("n",), (2, "n"))),)
)
def slogdet(xp: Any, x: Any, /) -> Any:
    """The sign (for complex matrices the phase) of the determinant, and the logarithm of its absolute value, (..., n, n) -> (...), (...).

    Neither overflows.  At a singular matrix they are 0 and -inf, and the derivative is infinite.
    """
    return xp.slogdet(x)


def _slogdet_pullback(F: Any, g: Any, x: Any, y: Any) -> Any:
    """The inverse's adjoint times d log|det|, and for a phase, which turns by the imaginary part of tr(x^-1 dx), times i of its turn."""
    g_sign, weight = g
    if x.dtype.kind == "c":
        weight = F.cast(weight, x.dtype) + F.real(F.conj(g_sign) * y[0] * 1j) * 1j
    return F.mul_zero(_over_matrix(F, weight), F.matrix_adjoint(F.inv_or_inf(x)))


slogdet.pullback(x=_slogdet_pullback)


# -- batches ---------------------------------------------------------------------------------------------
for _op in (det, cofactor, cofactor_along, around, det_of_regular, slogdet):
    _op.batch(same(_op.name))
