"""Operators that are made of numbers: a matrix, a diagonal, a triangle, a multiple of the identity, zeros."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf import diagonals, products
from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.dtypes import as_dtype, numpy_dtype
from tapegrad.tf.linear_operators.base import LinearOperator, along
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


def _kept(x: Any) -> Any:
    """A variable as it is, so that each use reads it; all else as a tensor."""
    return x if hasattr(x, "assign") else convert(x)


def _is_real(dtype: Any) -> bool:
    return not as_dtype(dtype).is_complex


class LinearOperatorFullMatrix(LinearOperator):
    """The matrices that are given."""

    def __init__(
        self,
        matrix: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorFullMatrix",
    ) -> None:
        self._matrix = _kept(matrix)
        if len(self._matrix.shape) < 2:
            raise ValueError(f"Argument `matrix` must have at least 2 dimensions. Found: {self._matrix}.")
        super().__init__(
            self._matrix.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name, {"matrix": matrix}
        )

    @property
    def matrix(self) -> Any:
        """The matrices."""
        return self._matrix

    def _shape(self) -> tuple[int, ...]:
        return tuple(self._matrix.shape)

    def _to_dense(self) -> Tensor:
        return convert(self._matrix)


class LinearOperatorDiag(LinearOperator):
    """Diagonal matrices, by their diagonals ``(..., n)``."""

    def __init__(
        self,
        diag: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorDiag",
    ) -> None:
        self._diag = _kept(diag)
        if not len(self._diag.shape):
            raise ValueError(f"Argument `diag` must have at least 1 dimension. Found: {self._diag}.")
        if is_square is False:
            raise ValueError("Only square diagonal operators currently supported.")
        if _is_real(self._diag.dtype):
            if is_self_adjoint is False:
                raise ValueError("A real diagonal operator is always self adjoint.")
            is_self_adjoint = True
        super().__init__(
            self._diag.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, {"diag": diag}
        )

    @property
    def diag(self) -> Any:
        """The diagonals."""
        return self._diag

    def _shape(self) -> tuple[int, ...]:
        return (*self._diag.shape, self._diag.shape[-1])

    def _column(self, adjoint: bool) -> Tensor:
        d = convert(self._diag)
        return S.expand_dims(S.conj(d) if adjoint and d.array.dtype.kind == "c" else d, axis=-1)

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return S.multiply(self._column(adjoint), x)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return S.divide(rhs, self._column(adjoint))

    def _to_dense(self) -> Tensor:
        return diagonals.diag(self._diag)

    def _diag_part(self) -> Tensor:
        return convert(self._diag)

    def _determinant(self) -> Tensor:
        return S.prod(convert(self._diag), axis=-1)

    def _log_abs_determinant(self) -> Tensor:
        return S.sum(S.log(S.abs(convert(self._diag))), axis=-1)

    def _cholesky(self) -> LinearOperator:
        return LinearOperatorDiag(S.sqrt(convert(self._diag)), is_non_singular=True)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The operator of the reciprocals."""
        if self.is_non_singular is False:
            return super().inverse()  # which says that there is none
        return LinearOperatorDiag(
            S.reciprocal(convert(self._diag)), True, self.is_self_adjoint, self.is_positive_definite, True
        )


class LinearOperatorLowerTriangular(LinearOperator):
    """The lower triangles of the matrices that are given; what is above them is not read."""

    def __init__(
        self,
        tril: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowerTriangular",
    ) -> None:
        self._tril = _kept(tril)
        if len(self._tril.shape) < 2:
            raise ValueError(f"Argument `tril` must have at least 2 dimensions. Found: {self._tril}.")
        if is_square is False:
            raise ValueError("Only square lower triangular operators supported at this time.")
        super().__init__(
            self._tril.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, {"tril": tril}
        )

    @property
    def tril(self) -> Any:
        """The matrices whose lower triangles it is."""
        return self._tril

    def _shape(self) -> tuple[int, ...]:
        return tuple(self._tril.shape)

    def _to_dense(self) -> Tensor:
        return S.tril(convert(self._tril))

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        a = self.to_dense()
        return products.triangular_solve(along(a, rhs), along(rhs, a), lower=True, adjoint=adjoint)

    def _diag_part(self) -> Tensor:
        return S.diagonal(convert(self._tril))

    def _determinant(self) -> Tensor:
        return S.prod(self._diag_part(), axis=-1)

    def _log_abs_determinant(self) -> Tensor:
        return S.sum(S.log(S.abs(self._diag_part())), axis=-1)


class LinearOperatorScaledIdentity(LinearOperator):
    """Multiples of the identity: a number for each matrix of the batch."""

    def __init__(
        self,
        num_rows: Any,
        multiplier: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorScaledIdentity",
    ) -> None:
        self._multiplier = _kept(multiplier)
        self._num_rows = _count(num_rows, "num_rows")
        if is_square is False:
            raise ValueError("A ScaledIdentity operator is always square.")
        if _is_real(self._multiplier.dtype):
            is_self_adjoint = True
        super().__init__(
            self._multiplier.dtype,
            None,
            is_non_singular,
            is_self_adjoint,
            is_positive_definite,
            True,
            name,
            {"num_rows": num_rows, "multiplier": multiplier},
        )

    @property
    def multiplier(self) -> Any:
        """The number for each matrix."""
        return self._multiplier

    def _shape(self) -> tuple[int, ...]:
        return (*self._multiplier.shape, self._num_rows, self._num_rows)

    def _factor(self, adjoint: bool) -> Tensor:
        m: Any = convert(self._multiplier)
        return (S.conj(m) if adjoint and m.array.dtype.kind == "c" else m)[..., None, None]

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return S.multiply(self._factor(adjoint), x)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return S.divide(rhs, self._factor(adjoint))

    def _diag_part(self) -> Tensor:
        return S.broadcast_to(convert(self._multiplier)[..., None], self._shape()[:-1])

    def _determinant(self) -> Tensor:
        return S.prod(self._diag_part(), axis=-1)

    def _log_abs_determinant(self) -> Tensor:
        return S.multiply(S.log(S.abs(convert(self._multiplier))), float(self._num_rows))

    def _cholesky(self) -> LinearOperator:
        return LinearOperatorScaledIdentity(self._num_rows, S.sqrt(convert(self._multiplier)), is_non_singular=True)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The operator of the reciprocals."""
        if self.is_non_singular is False:
            return super().inverse()  # which says that there is none
        return LinearOperatorScaledIdentity(
            self._num_rows, S.reciprocal(convert(self._multiplier)), True, self.is_self_adjoint, self.is_positive_definite
        )


class LinearOperatorIdentity(LinearOperatorScaledIdentity):
    """The identity, in batches if asked for."""

    def __init__(
        self,
        num_rows: Any,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = True,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = True,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorIdentity",
    ) -> None:
        for what, said in (
            ("self adjoint", is_self_adjoint),
            ("square", is_square),
            ("non-singular", is_non_singular),
            ("positive-definite", is_positive_definite),
        ):
            if said is False:
                raise ValueError(f"An identity operator is always {what}.")
        batch = () if batch_shape is None else tuple(int(n) for n in host(batch_shape))
        one = fresh(np.ones(batch, numpy_dtype(dtype or np.float32)))
        super().__init__(num_rows, one, True, True, True, True, assert_proper_shapes, name)
        self._parameters = {"num_rows": num_rows, "batch_shape": batch_shape, "dtype": dtype}

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """Itself."""
        return self

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """Itself."""
        return self

    def _cholesky(self) -> LinearOperator:
        return self


class LinearOperatorZeros(LinearOperator):
    """Matrices of zeros."""

    def __init__(
        self,
        num_rows: Any,
        num_columns: Any = None,
        batch_shape: Any = None,
        dtype: Any = None,
        is_non_singular: bool | None = False,
        is_self_adjoint: bool | None = True,
        is_positive_definite: bool | None = False,
        is_square: bool | None = True,
        assert_proper_shapes: bool = False,
        name: str = "LinearOperatorZeros",
    ) -> None:
        if is_non_singular:
            raise ValueError("A zero operator is always singular.")
        if is_positive_definite:
            raise ValueError("A zero operator is not positive-definite.")
        rows = _count(num_rows, "num_rows")
        columns = rows if num_columns is None else _count(num_columns, "num_columns")
        batch = () if batch_shape is None else tuple(int(n) for n in host(batch_shape))
        self._size = (*batch, rows, columns)
        if rows != columns:
            is_square = is_self_adjoint = False
        super().__init__(
            numpy_dtype(dtype or np.float32),
            None,
            False,
            is_self_adjoint,
            False,
            is_square,
            name,
            {"num_rows": num_rows, "num_columns": num_columns, "batch_shape": batch_shape, "dtype": dtype},
        )

    def _shape(self) -> tuple[int, ...]:
        return self._size

    def _to_dense(self) -> Tensor:
        return S.zeros(self._size, dtype=self._dtype.numpy)


def _count(n: Any, what: str) -> int:
    """A number of rows or columns."""
    found = host(n)
    if found.dtype.kind not in "iu":
        raise TypeError(f"Argument `{what}` must be integer type. Found: {n}.")
    if found.ndim:
        raise ValueError(f"Argument `{what}` must be a 0-D Tensor. Found: {n}.")
    if found < 0:
        raise ValueError(f"Argument `{what}` must be non-negative. Found: {n}.")
    return int(found)


