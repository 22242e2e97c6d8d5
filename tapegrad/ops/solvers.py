"""Linear equations: inverses and solutions; leading axes are batches."""

from __future__ import annotations

from typing import Any

from tapegrad.errors import ShapeError
from tapegrad.ops.products import with_rank
from tapegrad.registry import composite, constant, primitive
from tapegrad.registry.batch_rules import same
from tapegrad.registry.lengths import may_agree


def _equations(draw: Any) -> Any:
    return draw.choice(
        (draw.well_conditioned("n"), draw.array("n")),
        (draw.well_conditioned("n"), draw.array("n", 2)),
        (draw.well_conditioned(2, "n"), draw.array(2, "n", 1)),
        (draw.well_conditioned(2, "n"), draw.array("n", 2)),
        (draw.well_conditioned("n"), draw.array(2, "n", "m")),
        (draw.well_conditioned(2, "n"), draw.array("n")),
    )


@primitive(public=False, laws=_equations)
def solve(xp: Any, x1: Any, x2: Any, /) -> Any:
    """x with x1 @ x = x2, for square matrices, (..., n, n), (..., n, k) -> (..., n, k); `x2` is a vector only if it has one axis.

    Formula: Giles, "Collected matrix derivative results for forward and reverse mode algorithmic differentiation" (2008), 2.3.1.

    Raises MatrixError for a singular `x1`, or one that is not square; ShapeError where n differs.
    """
    return xp.solve(x1, x2)


def _solved_back(F: Any, solver: Any, g: Any, x2: Any) -> Any:
    """The solution for a cotangent; that of one vector for a batch of matrices is a batch of vectors."""
    if len(x2.shape) == 1 and len(g.shape) > 1:
        return F.squeeze(solver(F.expand_dims(g, axis=-1)), -1)
    return solver(g)


def _adjoint_solution(F: Any, g: Any, x1: Any, x2: Any) -> Any:
    return _solved_back(F, lambda c: F.solve(F.matrix_adjoint(x1), c), g, x2)


def _with_columns(F: Any, vector: bool, *arrays: Any) -> tuple[Any, ...]:
    """Vectors as matrices of one column."""
    return tuple(F.expand_dims(a, axis=-1) for a in arrays) if vector else arrays


def _solve_matrix(F: Any, g: Any, x1: Any, x2: Any, y: Any) -> Any:
    b, y = _with_columns(F, len(x2.shape) == 1, _adjoint_solution(F, g, x1, x2), y)
    return F.sum_to(-F.matmul(b, F.matrix_adjoint(y)), x1.shape)


solve.pullback(x1=_solve_matrix, x2=lambda F, g, x1, x2: F.sum_to(_adjoint_solution(F, g, x1, x2), x2.shape))


def _triangular(draw: Any) -> Any:
    params = {"lower": draw.boolean(), "unit_diagonal": draw.boolean(), "adjoint": draw.boolean()}
    return (*_equations(draw), params)


@primitive(public=False, laws=_triangular)
def solve_triangular(
    xp: Any, x1: Any, x2: Any, /, *, lower: bool = False, unit_diagonal: bool = False, adjoint: bool = False
) -> Any:
    """x with x1 @ x = x2 (x1^H @ x = x2 if `adjoint`), for triangular matrices, (..., n, n), (..., n, k) -> (..., n, k).

    Only the upper triangle of `x1` is read, or the lower if `lower`; its diagonal is taken as 1 if `unit_diagonal`.
    What is not read has the derivative 0.  `x2` is a vector only if it has one axis.

    Raises MatrixError for a zero on the diagonal; ShapeError where n differs.
    """
    return xp.solve_triangular(x1, x2, lower=lower, unit_diagonal=unit_diagonal, adjoint=adjoint)


def _triangular_back(F: Any, g: Any, x1: Any, x2: Any, **how: Any) -> Any:
    how["adjoint"] = not how["adjoint"]
    return _solved_back(F, lambda c: F.solve_triangular(x1, c, **how), g, x2)


def _triangular_right(F: Any, g: Any, x1: Any, x2: Any, lower: bool, unit_diagonal: bool, adjoint: bool) -> Any:
    found = _triangular_back(F, g, x1, x2, lower=lower, unit_diagonal=unit_diagonal, adjoint=adjoint)
    return F.sum_to(found, x2.shape)


def _triangular_left(
    F: Any, g: Any, x1: Any, x2: Any, y: Any, lower: bool, unit_diagonal: bool, adjoint: bool
) -> Any:
    b = _triangular_back(F, g, x1, x2, lower=lower, unit_diagonal=unit_diagonal, adjoint=adjoint)
    b, y = _with_columns(F, len(x2.shape) == 1, b, y)
    c = F.matmul(y, F.matrix_adjoint(b)) if adjoint else F.matmul(b, F.matrix_adjoint(y))
    k = 1 if unit_diagonal else 0
    return F.sum_to(-(F.tril(c, k=-k) if lower else F.triu(c, k=k)), x1.shape)


solve_triangular.pullback(x1=_triangular_left, x2=_triangular_right)


def _factor(draw: Any) -> Any:
    return (*_equations(draw), {"upper": draw.boolean()})


@composite(public=False, laws=_factor)
def cholesky_solve(F: Any, x1: Any, x2: Any, /, *, upper: bool = False) -> Any:
    """x with L @ L^H @ x = x2, given the factor L = x1 of `cholesky` (or L^H if `upper`), (..., n, n), (..., n, k) -> (..., n, k)."""
    vector = len(x2.shape) == 1
    (x2,) = _with_columns(F, vector, x2)
    half = F.solve_triangular(x1, x2, lower=not upper, adjoint=upper)
    found = F.solve_triangular(x1, half, lower=not upper, adjoint=not upper)
    return F.squeeze(found, -1) if vector else found


@primitive(public=False, laws=lambda draw: (draw.well_conditioned(*draw.choice(("n",), (2, "n"))),))
def inv(xp: Any, x: Any, /) -> Any:
    """The inverse of square matrices, (..., n, n); to solve equations, `solve` is faster and loses fewer digits.

    Formula: Giles (2008), 2.2.3.

    Raises MatrixError for a singular matrix, or one that is not square.
    """
    return xp.inv(x)


def _inverse_pullback(F: Any, g: Any, y: Any) -> Any:
    back = F.matrix_adjoint(y)
    return -F.matmul(F.matmul(back, g), back)


inv.pullback(x=_inverse_pullback)
inv.pushforward(x=lambda F, t, y: -F.matmul(F.matmul(y, t), y))


@primitive(public=False, laws=lambda draw: (draw.well_conditioned(*draw.choice(("n",), (2, "n"))),))
def inv_or_inf(xp: Any, x: Any, /) -> Any:
    """The inverse of square matrices, (..., n, n); infinities in the place of one that does not exist."""
    return xp.inv_or_inf(x)


inv_or_inf.pullback(x=_inverse_pullback)
inv_or_inf.pushforward(x=lambda F, t, y: -F.matmul(F.matmul(y, t), y))


@primitive(public=False, laws=lambda draw: (draw.spread(*draw.choice(("n", "m"), (2, "n", 3), (3, 2), (2, 3))),))
def pinv(xp: Any, x: Any, /, *, rtol: float | None = None) -> Any:
    """The Moore-Penrose pseudo-inverse, (..., n, m) -> (..., m, n): solves in the sense of least squares.

    Singular values up to `rtol` times the largest (max(n, m) times the rounding unit if None) are taken as 0.  The derivative is that
    among matrices of the same rank; where the rank changes there is none.  Formula: Golub and Pereyra, "The
    differentiation of pseudo-inverses and nonlinear least squares problems whose variables separate" (1973), equation 4.12.
    """
    return xp.pinv(x, rtol=rtol)


def _pinv_pullback(F: Any, g: Any, x: Any, y: Any) -> Any:
    back, gh = F.matrix_adjoint(y), F.matrix_adjoint(g)
    found = -F.matmul(F.matmul(back, g), back)
    left = F.matmul(F.matmul(gh, y), back)  # (I - x y) g^H y y^H
    right = F.matmul(F.matmul(back, y), gh)  # y^H y g^H (I - y x)
    return found + (left - F.matmul(x, F.matmul(y, left))) + (right - F.matmul(F.matmul(right, y), x))


pinv.pullback(x=_pinv_pullback)


@composite(public=False, laws=lambda draw: draw.choice(
    (draw.spread("n", 2), draw.array("n")), (draw.spread(2, "n", 3), draw.array("n", 2)), (draw.spread(3, "m"), draw.array(3)),
))
def lstsq(F: Any, x1: Any, x2: Any, /, *, rtol: float | None = None) -> Any:
    """The x of smallest norm for which the norm of x1 @ x - x2 is smallest, (..., n, m), (..., n, k) -> (..., m, k).

    `x2` is a vector only if it has one axis.  `rtol`, and the derivative, are as for `pinv`.

    Raises ShapeError where n differs.
    """
    rows, given = x1.shape[-2:-1], x2.shape[-2:-1] if len(x2.shape) > 1 else x2.shape
    if rows and given and not may_agree(rows, given):
        raise ShapeError(f"lstsq(x1, x2): expected as many rows of x2 as of x1, {rows[0]}, got shapes {x1.shape} and {x2.shape}")
    return F.matmul(F.pinv(x1, rtol=rtol), x2)


@constant(public=False, laws=lambda draw: (draw.array(2, "n", 3),))
def matrix_rank(xp: Any, x: Any, /, *, rtol: float | None = None) -> Any:
    """How many singular values are larger than `rtol` times the largest (max(n, m) times the rounding unit if None)."""
    return xp.matrix_rank(x, rtol=rtol)


# -- batches ---------------------------------------------------------------------------------------------
for _op in (inv, inv_or_inf, pinv, matrix_rank):
    _op.batch(same(_op.name))


def _batched_solver(name: str) -> Any:
    def rule(F: Any, has: Any, x1: Any, x2: Any, **params: Any) -> Any:
        vector = len(x2.shape) - has[1] == 1
        if vector:
            x2 = F.expand_dims(x2, axis=-1)
        rank = max(len(x1.shape) - has[0], len(x2.shape) - has[1])
        x1, x2 = (with_rank(F, x, b, rank) for x, b in zip((x1, x2), has, strict=True))
        y = getattr(F, name)(x1, x2, **params)
        return F.squeeze(y, -1) if vector else y

    return rule


solve.batch(_batched_solver("solve"))
solve_triangular.batch(_batched_solver("solve_triangular"))
