"""Operators that are made of others: products, adjoints, inverses, changes of low rank."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from tapegrad.tf import products
from tapegrad.tf.linear_operators.base import LinearOperator, adjoint_of, along, inherited
from tapegrad.tf.linear_operators.plain import LinearOperatorDiag, LinearOperatorIdentity
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


def listed(operators: Any) -> list[LinearOperator]:
    """Operators of one dtype, at least one."""
    found = list(operators)
    if not found:
        raise ValueError(f"Argument `operators` must be a list of >=1 operators. Found: {operators}.")
    for op in found:
        if op.dtype != found[0].dtype:
            kinds = ", ".join(f"{o.name}: {o.dtype.name}" for o in found)
            raise TypeError(f"Expected all operators to have the same dtype. Found {kinds}.")
    return found


class LinearOperatorComposition(LinearOperator):
    """The product of operators: the last is applied first."""

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._operators = listed(operators)
        if is_non_singular is None and all(op.is_non_singular for op in self._operators):
            is_non_singular = True
        name = name or "_o_".join(op.name for op in self._operators)
        super().__init__(
            self._operators[0].dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name,
            {"operators": operators},
        )  # fmt: skip
        for left, right in zip(self._operators, self._operators[1:], strict=False):
            if left.domain_dimension != right.range_dimension:
                raise ValueError(
                    f"Argument `operators` must be composable: {left.name} takes {left.domain_dimension} rows, "
                    f"{right.name} gives {right.range_dimension}"
                )

    @property
    def operators(self) -> list[LinearOperator]:
        """The factors."""
        return self._operators

    def _shape(self) -> tuple[int, ...]:
        batch = np.broadcast_shapes(*(op._shape()[:-2] for op in self._operators))
        return (*batch, self._operators[0]._shape()[-2], self._operators[-1]._shape()[-1])

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        for op in self._operators if adjoint else self._operators[::-1]:
            x = op._matmul(x, adjoint)
        return x

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        for op in self._operators[::-1] if adjoint else self._operators:
            rhs = op.solve(rhs, adjoint=adjoint)
        return rhs

    def _to_dense(self) -> Tensor:
        dense = self._operators[-1].to_dense()
        for op in self._operators[-2::-1]:
            dense = op._matmul(dense, False)
        return dense

    def _determinant(self) -> Tensor:
        if not all(op.is_square for op in self._operators):
            return super()._determinant()
        return reduce(S.multiply, (op.determinant() for op in self._operators))

    def _log_abs_determinant(self) -> Tensor:
        if not all(op.is_square for op in self._operators):
            return super()._log_abs_determinant()
        return reduce(S.add, (op.log_abs_determinant() for op in self._operators))


class LinearOperatorAdjoint(LinearOperator):
    """The conjugate transpose of an operator."""

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        self._operator = operator
        given = {"is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint, "is_positive_definite": is_positive_definite}
        hints = inherited(given, lambda hint: getattr(operator, hint))
        super().__init__(
            operator.dtype,
            is_square=operator.is_square,
            name=name or f"{operator.name}_adjoint",
            parameters={"operator": operator},
            **hints,
        )

    @property
    def operator(self) -> LinearOperator:
        """The operator whose adjoint it is."""
        return self._operator

    def adjoint(self, name: str = "adjoint") -> LinearOperator:
        """The operator itself."""
        return self._operator

    def _shape(self) -> tuple[int, ...]:
        *batch, rows, columns = self._operator._shape()
        return (*batch, columns, rows)

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return self._operator._matmul(x, not adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._operator._solve(rhs, not adjoint)

    def _to_dense(self) -> Tensor:
        return adjoint_of(self._operator.to_dense())

    def _determinant(self) -> Tensor:
        found = self._operator.determinant()
        return S.conj(found) if found.array.dtype.kind == "c" else found

    def _log_abs_determinant(self) -> Tensor:
        return self._operator.log_abs_determinant()


class LinearOperatorInversion(LinearOperator):
    """The inverse of an operator: its product solves, and its solution multiplies."""

    def __init__(
        self,
        operator: LinearOperator,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str | None = None,
    ) -> None:
        if operator.is_non_singular is False or is_non_singular is False:
            raise ValueError(f"operator and is_non_singular: an inverse is never singular, and neither is what has one: {operator.name}")
        self._operator = operator
        given = {"is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint, "is_positive_definite": is_positive_definite}
        super().__init__(
            operator.dtype,
            is_square=True,
            name=name or f"{operator.name}_inv",
            parameters={"operator": operator},
            **inherited(given, lambda hint: getattr(operator, hint)),
        )

    @property
    def operator(self) -> LinearOperator:
        """The operator whose inverse it is."""
        return self._operator

    def inverse(self, name: str = "inverse") -> LinearOperator:
        """The operator itself."""
        return self._operator

    def _shape(self) -> tuple[int, ...]:
        return self._operator._shape()

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        return self._operator.solve(x, adjoint=adjoint)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        return self._operator._matmul(rhs, adjoint)

    def _determinant(self) -> Tensor:
        return S.reciprocal(self._operator.determinant())

    def _log_abs_determinant(self) -> Tensor:
        return S.negative(self._operator.log_abs_determinant())


class LinearOperatorLowRankUpdate(LinearOperator):
    """L + U D V^H: an operator and a product of narrow matrices, solved by Woodbury's identity.

    A determinant is one of a small matrix (the matrix determinant lemma).
    """

    def __init__(
        self,
        base_operator: LinearOperator,
        u: Any,
        diag_update: Any = None,
        v: Any = None,
        is_diag_update_positive: bool | None = None,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorLowRankUpdate",
    ) -> None:
        self._base = base_operator
        self._u_given, self._v_given, self._d_given = u, v, diag_update
        self._positive = True if diag_update is None else bool(is_diag_update_positive)
        if v is None and base_operator.is_self_adjoint:
            is_self_adjoint = True
            if self._positive and base_operator.is_positive_definite:
                is_positive_definite = True
        super().__init__(
            base_operator.dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, is_square, name,
            {"base_operator": base_operator, "u": u, "diag_update": diag_update, "v": v},
        )  # fmt: skip

    @property
    def base_operator(self) -> LinearOperator:
        """L."""
        return self._base

    @property
    def u(self) -> Tensor:
        """U, of shape ``(..., m, k)``."""
        return self._argument(self._u_given, "u")

    @property
    def v(self) -> Tensor:
        """V, of shape ``(..., n, k)``: U where none was given."""
        return self.u if self._v_given is None else self._argument(self._v_given, "v")

    @property
    def diag_update(self) -> Any:
        """The diagonal of D, if it was given."""
        return self._d_given

    @property
    def is_diag_update_positive(self) -> bool:
        """Whether D is known to be positive definite."""
        return self._positive

    @property
    def diag_operator(self) -> LinearOperator:
        """D."""
        if self._d_given is None:
            return LinearOperatorIdentity(int(self.u.array.shape[-1]), dtype=self.dtype)
        return LinearOperatorDiag(self._d_given, is_positive_definite=self._positive or None)

    def _shape(self) -> tuple[int, ...]:
        base = self._base._shape()
        batch = np.broadcast_shapes(base[:-2], tuple(self.u.array.shape[:-2]), tuple(self.v.array.shape[:-2]))
        return (*batch, *base[-2:])

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        small = self.diag_operator._matmul(products.matmul(adjoint_of(right), x), adjoint)
        return S.add(self._base._matmul(x, adjoint), products.matmul(left, small))

    def _capacitance(self, adjoint: bool) -> Tensor:
        """D^-1 + V^H L^-1 U, or its adjoint."""
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        inner = products.matmul(adjoint_of(right), self._base.solve(left, adjoint=adjoint))
        inverse = self.diag_operator.inverse().to_dense()
        return S.add(adjoint_of(inverse) if adjoint else inverse, inner)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        left, right = (self.v, self.u) if adjoint else (self.u, self.v)
        first = self._base.solve(rhs, adjoint=adjoint)
        small, inner = products.matmul(adjoint_of(right), first), self._capacitance(adjoint)
        middle = products.solve(along(inner, small), along(small, inner))
        return S.subtract(first, self._base.solve(products.matmul(left, middle), adjoint=adjoint))

    def _determinant(self) -> Tensor:
        parts = S.det(self._capacitance(False)), self.diag_operator.determinant(), self._base.determinant()
        return S.multiply(S.multiply(parts[0], parts[1]), parts[2])

    def _log_abs_determinant(self) -> Tensor:
        small = products.slogdet(self._capacitance(False))[1]
        return S.add(S.add(small, self.diag_operator.log_abs_determinant()), self._base.log_abs_determinant())

    def _diag_part(self) -> Tensor:
        v = self.v
        scaled = adjoint_of(self.diag_operator._matmul(adjoint_of(v), False))
        across = S.multiply(self.u, S.conj(scaled) if scaled.array.dtype.kind == "c" else scaled)
        return S.add(self._base.diag_part(), S.sum(across, axis=-1))


