"""Operators of few numbers with a pattern: a reflection, an order, equal diagonals, three diagonals."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf import diagonals, products
from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.linear_operators.base import LinearOperator, adjoint_of
from tapegrad.tf.linear_operators.plain import _kept
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


class LinearOperatorHouseholder(LinearOperator):
    """Reflections: I - 2 v v^H / (v^H v) for each axis v ``(..., n)``."""

    def __init__(
        self,
        reflection_axis: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorHouseholder",
    ) -> None:
        for text, said, truth in (
            ("A Householder operator is always self adjoint.", is_self_adjoint, True),
            ("A Householder operator is always non-definite.", is_positive_definite, False),
            ("A Householder operator is always square.", is_square, True),
        ):
            if said is (not truth):
                raise ValueError(text)
        self._axis = _kept(reflection_axis)
        super().__init__(self._axis.dtype, None, is_non_singular, True, False, True, name, {"reflection_axis": reflection_axis})

    @property
    def reflection_axis(self) -> Any:
        """The axes, of any length."""
        return self._axis

    def _shape(self) -> tuple[int, ...]:
        return (*self._axis.shape, self._axis.shape[-1])

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        v = S.expand_dims(convert(self._axis), axis=-1)
        across = adjoint_of(v)
        share = S.divide(products.matmul(across, x), products.matmul(across, v))
        return S.subtract(x, S.multiply(S.multiply(v, 2), share))

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._matmul(rhs, adjoint)

    def _determinant(self) -> Tensor:
        return S.negative(S.ones(self._shape()[:-2], dtype=self._dtype.numpy))

    def _log_abs_determinant(self) -> Tensor:
        return S.zeros(self._shape()[:-2], dtype=self._dtype.numpy)


class LinearOperatorPermutation(LinearOperator):
    """Orders of rows: row i of the product is row ``perm[i]`` of what it multiplies."""

    def __init__(
        self,
        perm: Any,
        dtype: Any = np.float32,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorPermutation",
    ) -> None:
        if is_non_singular is False:
            raise ValueError(f"A Permutation operator is always non-singular. Got {is_non_singular=}")
        if is_square is False:
            raise ValueError(f"A Permutation operator is always square. Got {is_square=}")
        order = host(perm)
        if order.dtype.kind not in "iu" or not order.ndim:
            raise ValueError(f"Argument `perm` must be a vector of integers. Found: {perm}.")
        if not np.array_equal(np.sort(order, -1), np.broadcast_to(np.arange(order.shape[-1]), order.shape)):
            raise ValueError(f"Argument `perm` must be a vector of unique integers from 0 to {order.shape[-1] - 1}.")
        self._order = order
        super().__init__(dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, {"perm": perm, "dtype": dtype})

    @property
    def perm(self) -> Tensor:
        """The order of the rows."""
        return fresh(self._order)

    def _shape(self) -> tuple[int, ...]:
        return (*self._order.shape, self._order.shape[-1])

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        order = np.argsort(self._order, -1) if adjoint else self._order
        shape = (*np.broadcast_shapes(order.shape[:-1], x.array.shape[:-2]), *x.array.shape[-2:])
        place = fresh(np.ascontiguousarray(np.broadcast_to(order[..., None], shape)))
        return S.take_along_axis(S.broadcast_to(x, shape), place, axis=-2)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._matmul(rhs, not adjoint)

    def _log_abs_determinant(self) -> Tensor:
        return S.zeros(self._shape()[:-2], dtype=self._dtype.numpy)


class LinearOperatorToeplitz(LinearOperator):
    """Matrices whose diagonals are constant, by their first columns and rows ``(..., n)``."""

    def __init__(
        self,
        col: Any,
        row: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorToeplitz",
    ) -> None:
        self._col, self._row = _kept(col), _kept(row)
        if is_square is False:
            raise ValueError("Only square Toeplitz operators currently supported.")
        super().__init__(
            self._row.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, {"col": col, "row": row}
        )

    @property
    def col(self) -> Any:
        """The first columns."""
        return self._col

    @property
    def row(self) -> Any:
        """The first rows."""
        return self._row

    def _shape(self) -> tuple[int, ...]:
        batch = np.broadcast_shapes(tuple(self._col.shape[:-1]), tuple(self._row.shape[:-1]))
        return (*batch, self._row.shape[-1], self._row.shape[-1])

    def _to_dense(self) -> Tensor:
        *batch, n, _ = self._shape()
        col, row = (S.broadcast_to(convert(x), (*batch, n)) for x in (self._col, self._row))
        falling = S.concat([S.flip(col, axis=-1), row[..., 1:]], axis=-1)  # from the lowest diagonal to the highest
        place = np.arange(n)[None, :] - np.arange(n)[:, None] + n - 1
        return S.take(falling, fresh(place), axis=-1)


class LinearOperatorTridiag(LinearOperator):
    """Matrices of three diagonals: ``compact`` (..., 3, n), a ``sequence`` of them, or a full ``matrix``."""

    def __init__(
        self,
        diagonals: Any,
        diagonals_format: str = "compact",
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorTridiag",
    ) -> None:
        if diagonals_format not in ("compact", "matrix", "sequence"):
            raise ValueError(
                f"Argument `diagonals_format` must be one of compact, matrix, or sequence. Found : {diagonals_format}."
            )
        self._form = diagonals_format
        self._diagonals: Any = [_kept(d) for d in diagonals] if diagonals_format == "sequence" else _kept(diagonals)
        first: Any = self._diagonals[0] if diagonals_format == "sequence" else self._diagonals
        super().__init__(
            first.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name,
            {"diagonals": diagonals, "diagonals_format": diagonals_format},
        )  # fmt: skip

    @property
    def diagonals(self) -> Any:
        """The diagonals as they were given: above, on and below the main one."""
        return self._diagonals

    @property
    def diagonals_format(self) -> str:
        """How they were given."""
        return self._form

    def _parts(self) -> tuple[Any, ...]:
        if self._form == "compact":
            x = convert(self._diagonals)
            upper, middle, lower = (x[..., k, :] for k in range(3))
        elif self._form == "sequence":
            upper, middle, lower = (convert(d) for d in self._diagonals)
        else:
            x = convert(self._diagonals)
            return tuple(S.diagonal(x, offset=k) for k in (1, 0, -1))
        n = middle.array.shape[-1]
        upper = upper if upper.array.shape[-1] == n - 1 else upper[..., : n - 1]
        lower = lower if lower.array.shape[-1] == n - 1 else lower[..., 1:]
        return upper, middle, lower

    def _shape(self) -> tuple[int, ...]:
        if self._form == "matrix":
            return tuple(self._diagonals.shape)
        if self._form == "compact":
            *batch, _, n = self._diagonals.shape
        else:
            n = self._diagonals[1].shape[-1]
            batch = list(np.broadcast_shapes(*(tuple(d.shape[:-1]) for d in self._diagonals)))
        return (*batch, n, n)

    def _to_dense(self) -> Tensor:
        if self._form == "matrix":
            return convert(self._diagonals)
        shape = self._shape()
        total = S.zeros(shape, dtype=self._dtype.numpy)
        for k, part in zip((1, 0, -1), self._parts(), strict=True):
            total = S.add(total, S.broadcast_to(diagonals.diag(part, k=k), shape))
        return total

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        if adjoint:
            return super()._matmul(x, adjoint)
        upper, middle, lower = (part[..., None] for part in self._parts())
        y = S.multiply(middle, x)
        empty = y[..., :1, :] * 0
        above = S.concat([S.multiply(upper, x[..., 1:, :]), S.broadcast_to(empty, empty.array.shape)], axis=-2)
        below = S.concat([S.broadcast_to(empty, empty.array.shape), S.multiply(lower, x[..., :-1, :])], axis=-2)
        return S.add(y, S.add(above, below))

    def _diag_part(self) -> Tensor:
        return self._parts()[1]
