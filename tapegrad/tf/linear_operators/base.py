"""What every linear operator can do, by its product with matrices or by its dense form where it knows nothing better."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.tf import products
from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.dtypes import as_dtype
from tapegrad.tf.errors import invalid
from tapegrad.tf.module import Module
from tapegrad.tf.operators import shape_text
from tapegrad.tf.shapes import TensorShape
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


class Hints(NamedTuple):
    """What is known of an operator: True, False, or None for what nobody said."""

    is_non_singular: bool | None = None
    is_self_adjoint: bool | None = None
    is_positive_definite: bool | None = None
    is_square: bool | None = None


def adjoint_of(x: Tensor) -> Tensor:
    """The conjugate transpose of matrices."""
    y = S.matrix_transpose(x)
    return S.conj(y) if y.array.dtype.kind == "c" else y


def both(*known: bool | None) -> bool | None:
    """Whether all hold: None where one of them is not known."""
    return None if any(k is None for k in known) else all(known)


class LinearOperator(Module):
    """A batch of matrices of shape ``(..., m, n)`` that are known by what they do.

    A kind of its own says its `_shape` and either `_to_dense` or `_matmul`; it may know a better way to solve, or a determinant.
    What it is made of is kept as it was given, so that variables are read anew, and seen by tapes, at each use.
    """

    def __init__(
        self,
        dtype: Any,
        graph_parents: Any = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
        parameters: Any = None,
    ) -> None:
        super().__init__(name=name)
        if is_positive_definite and is_non_singular is False:
            raise ValueError("A positive definite matrix is always non-singular.")
        if is_self_adjoint and is_square is False:
            raise ValueError("A self-adjoint matrix is always square.")
        if is_positive_definite and is_square is False:
            raise ValueError("A positive definite matrix is always square.")
        if is_positive_definite:
            is_non_singular = is_square = True
        if is_self_adjoint:
            is_square = True
        self._dtype: Any = as_dtype(dtype)
        self._hints = Hints(is_non_singular, is_self_adjoint, is_positive_definite, is_square)
        self._parameters = dict(parameters or {})

    # -- what a kind says ---------------------------------------------------------------------------------
    def _shape(self) -> tuple[int, ...]:
        raise NotImplementedError(f"{type(self).__name__} has to say its shape by _shape")

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        a = self.to_dense()
        return products.matmul(adjoint_of(a) if adjoint else a, x)

    def _to_dense(self) -> Tensor:
        n = self._shape()[-1]
        return self._matmul(S.broadcast_to(S.eye(n, dtype=self._dtype.numpy), (*self._shape()[:-2], n, n)), False)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        a = self.to_dense()
        if self.is_positive_definite and self.is_self_adjoint:
            return products.cholesky_solve(along(products.cholesky(a), rhs), along(rhs, a))
        return products.solve(along(a, rhs), along(rhs, a), adjoint=adjoint)

    def _determinant(self) -> Tensor:
        return S.det(self.to_dense())

    def _log_abs_determinant(self) -> Tensor:
        return products.slogdet(self.to_dense())[1]

    def _diag_part(self) -> Tensor:
        return S.diagonal(self.to_dense())

    # -- what it is ---------------------------------------------------------------------------------------
    @property
    def dtype(self) -> Any:
        """The dtype of the matrices."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """What it was made of."""
        return dict(self._parameters)

    @property
    def graph_parents(self) -> list[Any]:
        """Empty: there are no graphs."""
        return []

    @property
    def shape(self) -> TensorShape:
        """``(..., m, n)``."""
        return TensorShape(self._shape())

    @property
    def batch_shape(self) -> TensorShape:
        """The shape without the last two axes."""
        return TensorShape(self._shape()[:-2])

    @property
    def domain_dimension(self) -> Any:
        """The number of columns."""
        return self._shape()[-1]

    @property
    def range_dimension(self) -> Any:
        """The number of rows."""
        return self._shape()[-2]

    @property
    def tensor_rank(self) -> int:
        """The number of axes."""
        return len(self._shape())

    def shape_tensor(self, name: str = "shape_tensor") -> Tensor:
        """The shape, as a tensor."""
        return fresh(np.asarray(self._shape(), np.int32))

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The shape without the last two axes, as a tensor."""
        return fresh(np.asarray(self._shape()[:-2], np.int32))

    def domain_dimension_tensor(self, name: str = "domain_dimension_tensor") -> Tensor:
        """The number of columns, as a tensor."""
        return fresh(np.asarray(self._shape()[-1], np.int32))

    def range_dimension_tensor(self, name: str = "range_dimension_tensor") -> Tensor:
        """The number of rows, as a tensor."""
        return fresh(np.asarray(self._shape()[-2], np.int32))

    def tensor_rank_tensor(self, name: str = "tensor_rank_tensor") -> Tensor:
        """The number of axes, as a tensor."""
        return fresh(np.asarray(len(self._shape()), np.int32))

    @property
    def is_non_singular(self) -> bool | None:
        """Whether it has an inverse, if that is known."""
        return self._hints.is_non_singular

    @property
    def is_self_adjoint(self) -> bool | None:
        """Whether it is its own adjoint, if that is known."""
        return self._hints.is_self_adjoint

    @property
    def is_positive_definite(self) -> bool | None:
        """Whether x^H A x is positive for every x, if that is known."""
        return self._hints.is_positive_definite

    @property
    def is_square(self) -> bool:
        """Whether it has as many rows as columns."""
        rows, columns = self._shape()[-2:]
        return rows == columns

    @property
    def H(self) -> LinearOperator:
        """The adjoint."""
        return self.adjoint()

    # -- what it does -------------------------------------------------------------------------------------
    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        """The product with matrices ``(..., n, r)``, or the composition with another operator."""
        if isinstance(x, LinearOperator):
            from tapegrad.tf.linear_operators.combined import LinearOperatorComposition

            left, right = self.adjoint() if adjoint else self, x.adjoint() if adjoint_arg else x
            if right.range_dimension != left.domain_dimension:
                raise ValueError(
                    f"Operators are incompatible. Expected `x` to have dimension {left.domain_dimension} but got {right.range_dimension}."
                )
            return LinearOperatorComposition([left, right])
        x = self._argument(x, "x")
        x = adjoint_of(x) if adjoint_arg else x
        self._check(x, -2, adjoint, "matmul")
        return self._matmul(x, adjoint)

    def matvec(self, x: Any, adjoint: bool = False, name: str = "matvec") -> Tensor:
        """The product with vectors ``(..., n)``."""
        x = self._argument(x, "x")
        self._check(x, -1, adjoint, "matvec")
        return S.squeeze(self._matmul(S.expand_dims(x, axis=-1), adjoint), (-1,))

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        """The solution of A x = rhs for matrices ``(..., n, r)``; A has to be square and not known to be singular."""
        self._can_solve()
        if isinstance(rhs, LinearOperator):
            inverse = (self.adjoint() if adjoint else self).inverse()
            return inverse.matmul(rhs, adjoint_arg=adjoint_arg)
        b = self._argument(rhs, "rhs")
        b = adjoint_of(b) if adjoint_arg else b
        self._check(b, -2, not adjoint, "solve")
        return self._solve(b, adjoint)

    def solvevec(self, rhs: Any, adjoint: bool = False, name: str = "solve") -> Tensor:
        """The solution of A x = rhs for vectors ``(..., n)``."""
        self._can_solve()
        b = self._argument(rhs, "rhs")
        self._check(b, -1, not adjoint, "solvevec")
        return S.squeeze(self._solve(S.expand_dims(b, axis=-1), adjoint), (-1,))

    def to_dense(self, name: str = "to_dense") -> Tensor:
        """The matrices written out."""
        return self._to_dense()

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The conjugate transpose, as an operator."""
        if self.is_self_adjoint:
            return self
        from tapegrad.tf.linear_operators.combined import LinearOperatorAdjoint

        return LinearOperatorAdjoint(self)

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The inverse, as an operator."""
        self._square_for("inverse")
        if self.is_non_singular is False:
            raise ValueError(f"Cannot take the Inverse: This operator represents a singular matrix: {self.name}")
        from tapegrad.tf.linear_operators.combined import LinearOperatorInversion

        return LinearOperatorInversion(self)

    def cholesky(self, name: str = "cholesky") -> LinearOperator:
        """The lower triangular L with L L^H = A, for an operator that is said to be positive definite and self-adjoint."""
        if not (self.is_positive_definite and self.is_self_adjoint):
            raise ValueError("Cannot take the Cholesky decomposition: Not a positive definite self adjoint matrix.")
        return self._cholesky()

    def _cholesky(self) -> LinearOperator:
        from tapegrad.tf.linear_operators.plain import LinearOperatorLowerTriangular

        return LinearOperatorLowerTriangular(products.cholesky(self.to_dense()), is_non_singular=True)

    def determinant(self, name: str = "det") -> Tensor:
        """The determinant of each matrix."""
        self._square_for("determinant")
        return self._determinant()

    def log_abs_determinant(self, name: str = "log_abs_det") -> Tensor:
        """The logarithm of the absolute value of the determinant."""
        self._square_for("log_abs_determinant")
        return self._log_abs_determinant()

    def diag_part(self, name: str = "diag_part") -> Tensor:
        """The diagonal of each matrix."""
        return self._diag_part()

    def trace(self, name: str = "trace") -> Tensor:
        """The sum of the diagonal."""
        return S.sum(self.diag_part(), axis=-1)

    def add_to_tensor(self, x: Any, name: str = "add_to_tensor") -> Tensor:
        """The matrices written out, plus x."""
        return S.add(self.to_dense(), self._argument(x, "x"))

    def eigvals(self, name: str = "eigvals") -> Tensor:
        """The eigenvalues of self-adjoint matrices, rising."""
        if not self.is_self_adjoint:
            raise NotImplementedError("Only self-adjoint matrices are supported.")
        return S.eigvalsh(self.to_dense())

    def cond(self, name: str = "cond") -> Tensor:
        """The largest singular value over the smallest."""
        self._square_for("cond")
        s = products.svd(self.to_dense(), compute_uv=False)
        return S.divide(S.max(s, axis=-1), S.min(s, axis=-1))

    def __matmul__(self, other: Any) -> Any:
        return self.matmul(other)

    def __getitem__(self, key: Any) -> LinearOperator:
        from tapegrad.tf.linear_operators.plain import LinearOperatorFullMatrix

        return LinearOperatorFullMatrix(self.to_dense()[key], **self._hints._asdict())

    # -- checks of values ---------------------------------------------------------------------------------
    def assert_non_singular(self, name: str = "assert_non_singular") -> None:
        """Raise InvalidArgumentError if the matrices are singular, as far as rounding lets one see."""
        worst = float(np.max(host(self.cond())))
        if not worst * np.finfo(self._dtype.numpy).eps < 1:
            raise invalid(None, f"Singular matrix up to precision epsilon: {self.name} has a condition number of {worst}")

    def assert_positive_definite(self, name: str = "assert_positive_definite") -> None:
        """Raise InvalidArgumentError if a matrix is not positive definite."""
        if not self.is_self_adjoint:
            raise NotImplementedError("assert_positive_definite is only implemented for self-adjoint operators")
        values = host(self.eigvals())
        if not np.all(values.real > 0):
            raise invalid(None, f"Operator was not positive definite: {self.name} has an eigenvalue of {np.min(values.real)}")

    def assert_self_adjoint(self, name: str = "assert_self_adjoint") -> None:
        """Raise InvalidArgumentError if a matrix differs from its adjoint."""
        a = host(self.to_dense())
        if not np.array_equal(a, np.conj(np.swapaxes(a, -1, -2))):
            raise invalid(None, f"Matrix was not equal to its adjoint: {self.name}")

    # -- arguments ----------------------------------------------------------------------------------------
    def _argument(self, x: Any, what: str) -> Tensor:
        y = convert(x) if isinstance(x, core.Tensor) else convert(x, self._dtype.numpy, prefer=True)
        if y.array.dtype != self._dtype.numpy:
            raise TypeError(f"Expected argument to have dtype {self._dtype!r}.  Found: {as_dtype(y.array.dtype)!r} in tensor {what}")
        return y

    def _check(self, x: Tensor, axis: int, turned: bool, what: str) -> None:
        wanted = self._shape()[-2 if turned else -1]
        if x.array.ndim < -axis or x.array.shape[axis] != wanted:
            raise ValueError(
                f"Dimensions must be equal: {self.name}.{what} of an operator {shape_text(self)} expects "
                f"{wanted} at axis {axis}, got {shape_text(x.array)}"
            )

    def _square_for(self, what: str) -> None:
        if not self.is_square:
            raise NotImplementedError(f"{what} is only implemented for square operators; {self.name} is {shape_text(self)}")

    def _can_solve(self) -> None:
        if self.is_non_singular is False:
            raise NotImplementedError("Exact solve not implemented for an operator that is expected to be singular.")
        if not self.is_square:
            raise NotImplementedError("Exact solve not implemented for an operator that is expected to not be square.")


def along(x: Tensor, other: Tensor) -> Tensor:
    """Matrices with the batch axes that both have together."""
    batch = np.broadcast_shapes(x.array.shape[:-2], other.array.shape[:-2])
    return x if x.array.shape[:-2] == batch else S.broadcast_to(x, (*batch, *x.array.shape[-2:]))




def inherited(given: dict[str, bool | None], found: Any) -> dict[str, bool | None]:
    """Hints: what was said of them, or else what is found."""
    return {hint: found(hint) if said is None else said for hint, said in given.items()}
