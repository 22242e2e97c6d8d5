"""Functions of square matrices."""

from __future__ import annotations

from typing import Any

from tapegrad.errors import ShapeError
from tapegrad.ops import solvers  # noqa: F401  declares `inv`
from tapegrad.registry import composite, primitive
from tapegrad.registry.batch_rules import same


def _square(draw: Any) -> Any:
    n = draw.size("n")
    return (draw.array(*draw.choice((n, n), (2, n, n)), low=-1.5, high=1.5),)


@primitive(public=False, laws=_square)
def matrix_exp(xp: Any, x: Any, /) -> Any:
    """The sum of all powers of a square matrix, each divided by its factorial, (..., n, n).

    The derivative in direction t is the upper right block of the exponential of [[x, t], [0, x]]: Higham, "Functions of Matrices" (2008),
    equation 3.16; its adjoint the same with x^H.

    Raises MatrixError for a matrix that is not square.
    """
    return xp.matrix_exp(x)


matrix_exp.pullback(x=lambda F, g, x: F.matrix_exp_along(F.matrix_adjoint(x), g))
matrix_exp.pushforward(x=lambda F, t, x: F.matrix_exp_along(x, t))


def _square_and_direction(draw: Any) -> Any:
    (x,) = _square(draw)
    return x, draw.filled(x.shape)


@primitive(public=False, laws=_square_and_direction)
def matrix_exp_along(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The derivative of `matrix_exp` at `x1` in direction `x2`, (..., n, n), (..., n, n) -> (..., n, n)."""
    return xp.matrix_exp_along(x1, x2)


def _along_two(F: Any, x: Any, t: Any, s: Any) -> Any:
    """The second derivative in directions t and s, from the first one of matrices of twice the size."""
    n = x.shape[-1]
    found = F.matrix_exp_along(_blocks(F, x, t, x), _blocks(F, s, 0 * s, s))
    return F.getitem(found, (Ellipsis, slice(None, n), slice(n, None)))


def _blocks(F: Any, a: Any, b: Any, d: Any) -> Any:
    """[[a, b], [0, d]]."""
    return F.concat([F.concat([a, b], axis=-1), F.concat([0 * a, d], axis=-1)], axis=-2)


matrix_exp_along.pullback(
    x1=lambda F, g, x1, x2: _along_two(F, F.matrix_adjoint(x1), F.matrix_adjoint(x2), g),
    x2=lambda F, g, x1: F.matrix_exp_along(F.matrix_adjoint(x1), g),
)
matrix_exp_along.pushforward(
    x1=lambda F, t, x1, x2: _along_two(F, x1, x2, t), x2=lambda F, t, x1: F.matrix_exp_along(x1, t)
)

@composite(public=False, laws=lambda draw: (
    draw.well_conditioned(*draw.choice(("n",), (2, "n"))), {"n": draw.choice(0, 1, 2, 3, 5, -1, -2)}
))
def matrix_power(F: Any, x: Any, /, n: int) -> Any:
    """The product of `n` copies of square matrices, (..., k, k), by repeated squaring; of inverses where n is negative.

    Raises ShapeError for a matrix that is not square.
    """
    if len(x.shape) < 2 or x.shape[-1] != x.shape[-2]:
        raise ShapeError(f"matrix_power(x, n): expected square matrices, x.shape[-1] == x.shape[-2], got x {x.shape}")
    if n == 0:
        return F.broadcast_to(F.put_diagonal(F.ones(x.shape[-1:], dtype=x.dtype)), x.shape)
    if n < 0:
        x, n = F.inv(x), -n
    found = None
    while True:
        if n & 1:
            found = x if found is None else F.matmul(found, x)
        n >>= 1
        if not n:
            return F.positive(found)
        x = F.matmul(x, x)


for _op in (matrix_exp, matrix_exp_along):
    _op.batch(same(_op.name))
