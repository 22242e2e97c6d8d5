"""Products of vectors, matrices and arrays; leading axes are batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.errors import ShapeError
from tapegrad.kernels.batched import Batched
from tapegrad.kernels.numpy_sums import is_seen_finite
from tapegrad.registry import composite, linear, multilinear
from tapegrad.registry.batch_rules import same
from tapegrad.registry.lengths import may_agree
from tapegrad.registry.places import at_hand


@multilinear(laws=lambda draw: draw.choice(
    (draw.array("n", 3), draw.array(3, "m")),
    (draw.array(3), draw.array(3)),
    (draw.array(2, "n", 3), draw.array(3)),
    (draw.array(3), draw.array(2, 3, "m")),
    (draw.array(2, 1, "n", 3), draw.array(4, 3, "m")),
))
def matmul(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The matrix product, (..., n, k), (..., k, m) -> (..., n, m); a 1-d array is a row on the left, a column on the right.

    Raises ShapeError where k differs, or for a 0-d array.
    """
    return xp.matmul(x1, x2)


def _matmul_left(F: Any, g: Any, x1: Any, x2: Any) -> Any:
    if len(g.shape) == 2 == len(x2.shape):
        return F.matmul_adjoint(g, x2)
    n1, n2 = len(x1.shape), len(x2.shape)
    if n2 == 1:
        left = F.expand_dims(g, axis=-1) * F.conj(x2)
        return F.sum_to(left, x1.shape) if n1 > 1 else left
    if n1 == 1:
        left = F.matmul(F.expand_dims(g, axis=-2), F.matrix_adjoint(x2))
        return F.sum_to(F.squeeze(left, axis=-2), x1.shape)
    return F.sum_to(F.matmul(g, F.matrix_adjoint(x2)), x1.shape)


def _matmul_right(F: Any, g: Any, x1: Any, x2: Any) -> Any:
    if len(g.shape) == 2 == len(x1.shape):
        return F.adjoint_matmul(x1, g)
    n1, n2 = len(x1.shape), len(x2.shape)
    if n1 == 1:
        right = F.expand_dims(F.conj(x1), axis=-1) * F.expand_dims(g, axis=-2) if n2 > 1 else F.conj(x1) * g
        return F.sum_to(right, x2.shape)
    if n1 == 2 and n2 == 1:  # batched cotangents are then the rows of one product of matrices
        return F.matmul(F.matrix_adjoint(x1), g)
    if n2 == 1:
        right = F.matmul(F.matrix_adjoint(x1), F.expand_dims(g, axis=-1))
        return F.sum_to(F.squeeze(right, axis=-1), x2.shape)
    return F.sum_to(F.matmul(F.matrix_adjoint(x1), g), x2.shape)


matmul.adjoint(x1=_matmul_left, x2=_matmul_right)


def _matmul_right_guarded(F: Any, g: Any, x1: Any, x2: Any) -> Any:
    """The same where a row of `x1` may hold NaN, as of data that are missing, and its product was not chosen."""
    c = _matmul_right(F, g, x1, x2)
    if len(x1.shape) < 2 or not holds_nan(c, x1):
        return c
    return _matmul_right(F, g, without_unheard(F, x1, F.expand_dims(g, axis=-1) if len(x2.shape) == 1 else g), x2)


def holds_nan(c: Any, x: Any) -> bool:
    """Whether a NaN is seen in a cotangent, a product with `x`, which may come from there; what is not at hand is not looked at."""
    values, factor = at_hand(c), at_hand(x)
    if values is None or factor is None:
        return False
    # `isnan` and `any` of the 784x256 that are a product of 16x784 take 18 us, a look at the factor 1.
    if any(map(is_seen_finite, (factor, values) if factor.size < values.size else (values, factor))):
        return False
    return bool(np.isnan(values).any())


def without_unheard(F: Any, x: Any, g: Any) -> Any:
    """`x` with zeros in rows that are not finite, where the row of the cotangent `g` is zero."""
    known = F.logical_or(F.any(F.not_equal(g, 0), axis=-1), F.all(F.isfinite(x), axis=-1))
    return F.where(F.expand_dims(known, axis=-1), x, 0)


matmul.guard(x2=_matmul_right_guarded)


# With these two, products of plain matrices are a family that is closed under differentiation: no transpose is recorded.
@multilinear(laws=lambda draw: (draw.array(3, "n"), draw.array(3, "m")), public=False)
def adjoint_matmul(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The product of the conjugate transpose of the first matrix with the second, (k, n), (k, m) -> (n, m)."""
    return xp.adjoint_matmul(x1, x2)


adjoint_matmul.adjoint(
    x1=lambda F, g, x2: F.matmul_adjoint(x2, g),
    x2=lambda F, g, x1: F.matmul(x1, g),
)


@multilinear(laws=lambda draw: (draw.array("n", 3), draw.array("m", 3)), public=False)
def matmul_adjoint(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The product of the first matrix with the conjugate transpose of the second, (n, k), (m, k) -> (n, m)."""
    return xp.matmul_adjoint(x1, x2)


matmul_adjoint.adjoint(
    x1=lambda F, g, x2: F.matmul(g, x2),
    x2=lambda F, g, x1: F.adjoint_matmul(g, x1),
)


@composite(laws=lambda draw: draw.choice(
    (draw.array("n", 3, 2), draw.array(2, 3, "m"), {"axes": ((1, 2), (1, 0))}),
    (draw.array("n", 3), draw.array(3, "m"), {"axes": 1}),
    (draw.array("n", 2, 3), draw.array(2, 3), {}),
    (draw.array("n"), draw.array("m"), {"axes": 0}),
    (draw.array("n", 3), draw.array("m", 3), {"axes": (-1, -1)}),
))
def tensordot(F: Any, x1: Any, x2: Any, /, *, axes: Any = 2) -> Any:
    """The sum of products over pairs of axes: the last `axes` of `x1` with the first of `x2`, or those listed.

    Raises ShapeError where the paired axes differ in length.
    """
    n1, n2 = len(x1.shape), len(x2.shape)
    if not hasattr(axes, "__iter__"):
        if not 0 <= axes <= min(n1, n2):
            raise ShapeError(f"tensordot(x1, x2): expected 0 <= axes <= min(x1.ndim, x2.ndim), got {axes}, {n1} and {n2}")
        first, second = list(range(n1 - axes, n1)), list(range(axes))
    else:
        first, second = (list(a) if hasattr(a, "__iter__") else [a] for a in axes)
    first, second = [a % n1 for a in first], [a % n2 for a in second]
    if not may_agree(tuple(x1.shape[a] for a in first), tuple(x2.shape[a] for a in second)):
        raise ShapeError(
            f"tensordot(x1, x2): expected equal lengths on axes {first} and {second}, got x1 {x1.shape}, x2 {x2.shape}"
        )
    rest1 = [i for i in range(n1) if i not in first]
    rest2 = [i for i in range(n2) if i not in second]
    k = 1
    for a in first:
        k *= x1.shape[a]
    shape1, shape2 = [x1.shape[i] for i in rest1], [x2.shape[i] for i in rest2]
    left = F.reshape(F.permute_dims(x1, (*rest1, *first)), (_product(shape1), k))
    right = F.reshape(F.permute_dims(x2, (*second, *rest2)), (k, _product(shape2)))
    return F.reshape(F.matmul(left, right), (*shape1, *shape2))


def _product(shape: Any) -> int:
    n = 1
    for k in shape:
        n *= k
    return n


@multilinear(public=False, laws=lambda draw: draw.choice(
    (draw.array("n", 3), draw.array(draw.choice(1, "n"), 3)), (draw.array("n"), draw.array("m", "n"))
))
def inner(xp: Any, x1: Any, x2: Any, /) -> Any:
    """The sum of conj(x1) * x2 over the last axis, (..., n), (..., n) -> (...)."""
    return xp.inner(x1, x2)


inner.adjoint(
    x1=lambda F, g, x1, x2: F.sum_to(F.expand_dims(F.conj(g), axis=-1) * x2, x1.shape),
    x2=lambda F, g, x1, x2: F.sum_to(F.expand_dims(g, axis=-1) * x1, x2.shape),
)


@composite(laws=lambda draw: draw.choice(
    (draw.array("n", 3), draw.array(draw.choice(1, "n"), 3), {"axis": -1}),
    (draw.array("n", 3), draw.array("n", 1), {"axis": -2}),
    (draw.array("n"), draw.array("m", "n"), {}),
))
def vecdot(F: Any, x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The sum of conj(x1) * x2 along an axis, (..., n), (..., n) -> (...).

    Raises ShapeError where the arrays differ in length there: it is not broadcast.
    """
    a1, a2 = _their_axis("vecdot", x1, x2, axis)
    if x1.shape[a1] != x2.shape[a2]:
        raise ShapeError(f"vecdot(x1, x2): expected equal lengths along axis {axis}, got x1 {x1.shape}, x2 {x2.shape}")
    return F.inner(_last(F, x1, a1), _last(F, x2, a2))


def _their_axis(name: str, x1: Any, x2: Any, axis: int) -> tuple[int, int]:
    """An axis of two arrays that broadcast, counted from the end in both."""
    rank = max(len(x1.shape), len(x2.shape))
    back = axis - rank if axis >= 0 else axis
    if not -min(len(x1.shape), len(x2.shape)) <= back < 0:
        raise ShapeError(f"{name}(x1, x2): expected an axis that both have, got {axis} for x1 {x1.shape}, x2 {x2.shape}")
    return back, back


def _last(F: Any, x: Any, axis: int) -> Any:
    return x if axis == -1 else F.moveaxis(x, axis, -1)


@composite(public=False, laws=lambda draw: (draw.array("n"), draw.array("m")))
def outer(F: Any, x1: Any, x2: Any, /) -> Any:
    """All products of the elements of two vectors, (n), (m) -> (n, m)."""
    if len(x1.shape) != 1 or len(x2.shape) != 1:
        raise ShapeError(f"outer(x1, x2): expected x1.ndim == x2.ndim == 1, got x1 {x1.shape}, x2 {x2.shape}")
    return F.multiply(F.expand_dims(x1, axis=1), x2)


@composite(public=False, laws=lambda draw: draw.choice(
    (draw.array("n", 3), draw.array(3), {}), (draw.array(3, "n"), draw.array(3, 1), {"axis": -2}),
))
def cross(F: Any, x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """The vector at right angles to two vectors of three elements along an axis, whose length is their area.

    Raises ShapeError where the axis has not three elements.
    """
    a1, a2 = _their_axis("cross", x1, x2, axis)
    if x1.shape[a1] != 3 or x2.shape[a2] != 3:
        raise ShapeError(f"cross(x1, x2): expected 3 elements along axis {axis}, got x1 {x1.shape}, x2 {x2.shape}")

    def turned(x: Any, by: int) -> Any:
        return F.roll(x, -by, axis=a1)

    return turned(x1, 1) * turned(x2, 2) - turned(x1, 2) * turned(x2, 1)


def _chained(draw: Any) -> Any:
    ends = draw.choice(((4,), (3,)), (("n", 4), (3, "m")), ((4,), (3, "m")))
    return ([draw.array(*ends[0]), draw.array(4, 2), draw.array(2, 3), draw.array(*ends[1])],)


@composite(variadic=True, public=False, laws=_chained)
def multi_dot(F: Any, arrays: Any, /) -> Any:
    """The matrix product of a sequence, in the order of fewest multiplications; the first and last may be vectors.

    Dynamic programming over all ways to set brackets: Cormen et al., "Introduction to Algorithms", chapter 15.2.
    """
    if len(arrays) == 1:
        return F.positive(arrays[0])
    lengths = [1 if len(arrays[0].shape) == 1 else arrays[0].shape[0], *(a.shape[0] for a in arrays[1:])]
    lengths.append(1 if len(arrays[-1].shape) == 1 else arrays[-1].shape[1])
    n = len(arrays)
    cost = {(i, i): (0, i) for i in range(n)}
    for span in range(1, n):
        for i in range(n - span):
            j = i + span
            cost[i, j] = min(
                (cost[i, k][0] + cost[k + 1, j][0] + lengths[i] * lengths[k + 1] * lengths[j + 1], k)
                for k in range(i, j)
            )

    def product(i: int, j: int) -> Any:
        if i == j:
            return arrays[i]
        k = cost[i, j][1]
        return F.matmul(product(i, k), product(k + 1, j))

    return product(0, n - 1)


# -- diagonals -------------------------------------------------------------------------------------------
@linear(public=False, laws=lambda draw: (draw.array(2, 4, 3), {"offset": draw.choice(0, 1, -1, 2, -2)}))
def diagonal(xp: Any, x: Any, /, *, offset: int = 0) -> Any:
    """The diagonals of the last two axes, (..., n, m) -> (..., k).

    Raises ShapeError for less than two axes.
    """
    return xp.diagonal(x, offset=offset)


diagonal.adjoint(x=lambda F, g, x, offset: F.put_diagonal(g, offset=offset, shape=x.shape[-2:]))


@linear(laws=lambda draw: (draw.array(2, 3), {"offset": draw.choice(0, 1, -1)}), public=False)
def put_diagonal(xp: Any, x: Any, /, *, offset: int = 0, shape: tuple[int, int] | None = None) -> Any:
    """Zero matrices with `x` on a diagonal, (..., k) -> (..., n, m); square and just large enough if no shape is given."""
    return xp.put_diagonal(x, offset=offset, shape=shape)


put_diagonal.adjoint(x=lambda F, g, offset: F.diagonal(g, offset=offset))


@composite(public=False, laws=lambda draw: (draw.array(2, "n", 3), {"offset": draw.choice(0, 1, -1)}))
def trace(F: Any, x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """The sum over a diagonal of the last two axes, (..., n, m) -> (...).

    Raises ShapeError for less than two axes.
    """
    return F.sum(F.diagonal(x, offset=offset), axis=-1, dtype=dtype)


# -- batches ---------------------------------------------------------------------------------------------
for _op in (diagonal, put_diagonal):
    _op.batch(same(_op.name))


@matmul.batch
def _matmul_batch(F: Any, has: Any, x1: Any, x2: Any) -> Any:
    n1, n2 = len(x1.shape) - has[0], len(x2.shape) - has[1]
    if not has[0] and n1 == 2 and has[1] and n2 == 1:  # one matrix, many vectors: one product of matrices
        return F.matmul(x2, F.matrix_transpose(x1))
    if has[0] and n1 <= 2 and not has[1] and n2 == 2:  # many rows, one matrix
        y = F.matmul(F.reshape(x1, (_product(x1.shape[:-1]), x1.shape[-1])), x2)
        return F.reshape(y, (*x1.shape[:-1], x2.shape[-1]))
    if n1 == 1:
        x1 = F.expand_dims(x1, axis=-2)
    if n2 == 1:
        x2 = F.expand_dims(x2, axis=-1)
    rank = max(n1, n2, 2)
    x1, x2 = (with_rank(F, x, b, rank) for x, b in zip((x1, x2), has, strict=True))
    y = F.matmul(x1, x2)
    if n1 == 1:
        y = F.squeeze(y, -2)
    return F.squeeze(y, -1) if n2 == 1 else y


@matmul.diagonal
def _matmul_diagonal(x1: Any, x2: Any) -> Any:
    """A plain matrix times the items of a diagonal: its columns, each by its own factor, and no product of matrices."""
    if type(x2) is not Batched or x2.diagonal is None or x1.ndim != 2 or x2.diagonal.ndim != 1:
        return None
    return Batched((x1 * x2.diagonal).T, x2.level)


@adjoint_matmul.batch
def _adjoint_matmul_batch(F: Any, has: Any, x1: Any, x2: Any) -> Any:
    return _matmul_batch(F, has, F.matrix_adjoint(x1), x2)


@matmul_adjoint.batch
def _matmul_adjoint_batch(F: Any, has: Any, x1: Any, x2: Any) -> Any:
    return _matmul_batch(F, has, x1, F.matrix_adjoint(x2))


def with_rank(F: Any, x: Any, batched: bool, rank: int) -> Any:
    """A batched array with axes of length 1 after the batch, so that one of its items has this rank."""
    missing = rank - (len(x.shape) - 1)
    return F.reshape(x, (x.shape[0], *(1,) * missing, *x.shape[1:])) if batched and missing > 0 else x


@inner.batch
def _inner_batch(F: Any, has: Any, x1: Any, x2: Any) -> Any:
    rank = max(len(x.shape) - b for x, b in zip((x1, x2), has, strict=True))
    return F.inner(*(with_rank(F, x, b, rank) for x, b in zip((x1, x2), has, strict=True)))
