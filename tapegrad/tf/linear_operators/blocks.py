"""Operators that are made of blocks, and Kronecker's product."""

from __future__ import annotations

import itertools
from functools import reduce
from typing import Any

import numpy as np

from tapegrad.tf.linear_operators.base import LinearOperator, adjoint_of, both, inherited
from tapegrad.tf.linear_operators.combined import listed
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


class _Blocks(LinearOperator):
    """Products and solutions of a list of blocks, or of a matrix that is cut into them."""

    _operators: Any

    def _heights(self) -> list[int]:
        raise NotImplementedError

    def _widths(self) -> list[int]:
        raise NotImplementedError

    def matmul(self, x: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "matmul") -> Any:
        """The product: a list of blocks for a list of blocks."""
        if isinstance(x, list | tuple) and x and hasattr(x[0], "shape"):
            return self._cut(super().matmul(self._joined(x, adjoint_arg), adjoint), self._widths() if adjoint else self._heights())
        return super().matmul(x, adjoint, adjoint_arg)

    def solve(self, rhs: Any, adjoint: bool = False, adjoint_arg: bool = False, name: str = "solve") -> Any:
        """The solution: a list of blocks for a list of blocks."""
        if isinstance(rhs, list | tuple) and rhs and hasattr(rhs[0], "shape"):
            return self._cut(super().solve(self._joined(rhs, adjoint_arg), adjoint), self._heights() if adjoint else self._widths())
        return super().solve(rhs, adjoint, adjoint_arg)

    def _joined(self, blocks: Any, adjoint_arg: bool) -> Tensor:
        xs = [self._argument(b, "x") for b in blocks]
        batch = np.broadcast_shapes(*(x.array.shape[:-2] for x in xs))
        xs = [S.broadcast_to(x, (*batch, *x.array.shape[-2:])) for x in xs]
        if adjoint_arg:
            xs = [adjoint_of(x) for x in xs]
        return S.concat(xs, axis=-2)

    @staticmethod
    def _cut(x: Any, lengths: list[int]) -> list[Any]:
        ends = np.cumsum([0, *lengths])
        return [x[..., int(a) : int(b), :] for a, b in itertools.pairwise(ends)]


def _batched(parts: list[Tensor], axis: int) -> Tensor:
    """Blocks beside each other, with the batch axes of all."""
    batch = np.broadcast_shapes(*(p.array.shape[:-2] for p in parts))
    return S.concat([S.broadcast_to(p, (*batch, *p.array.shape[-2:])) for p in parts], axis=axis)


class LinearOperatorBlockDiag(_Blocks):
    """Operators along the diagonal, and zeros elsewhere."""

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = True,
        name: str | None = None,
    ) -> None:
        self._operators = listed(operators)
        ops = self._operators
        given = {"is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint, "is_positive_definite": is_positive_definite}
        square = all(op.is_square for op in ops)
        super().__init__(
            ops[0].dtype,
            is_square=square,
            name=name or "_ds_".join(op.name for op in ops),
            parameters={"operators": operators},
            **(inherited(given, lambda hint: both(*(getattr(op, hint) for op in ops))) if square else {}),
        )

    @property
    def operators(self) -> list[LinearOperator]:
        """The blocks."""
        return self._operators

    def _heights(self) -> list[int]:
        return [op._shape()[-2] for op in self._operators]

    def _widths(self) -> list[int]:
        return [op._shape()[-1] for op in self._operators]

    def _shape(self) -> tuple[int, ...]:
        batch = np.broadcast_shapes(*(op._shape()[:-2] for op in self._operators))
        return (*batch, sum(self._heights()), sum(self._widths()))

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        parts = self._cut(x, self._heights() if adjoint else self._widths())
        return _batched([op._matmul(p, adjoint) for op, p in zip(self._operators, parts, strict=True)], -2)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        parts = self._cut(rhs, self._heights())
        return _batched([op.solve(p, adjoint=adjoint) for op, p in zip(self._operators, parts, strict=True)], -2)

    def _diag_part(self) -> Tensor:
        if not all(op.is_square for op in self._operators):
            return super()._diag_part()
        parts = [op.diag_part()[..., None] for op in self._operators]
        return S.squeeze(_batched(parts, -2), (-1,))

    def _determinant(self) -> Tensor:
        return reduce(S.multiply, (op.determinant() for op in self._operators))

    def _log_abs_determinant(self) -> Tensor:
        return reduce(S.add, (op.log_abs_determinant() for op in self._operators))

    def _cholesky(self) -> LinearOperator:
        return LinearOperatorBlockDiag([op.cholesky() for op in self._operators], is_non_singular=True)


class LinearOperatorBlockLowerTriangular(_Blocks):
    """Rows of operators up to the diagonal, and zeros above: solved a row at a time."""

    def __init__(
        self,
        operators: Any,
        is_non_singular: bool | None = None,
        is_self_adjoint: bool | None = None,
        is_positive_definite: bool | None = None,
        is_square: bool | None = None,
        name: str = "LinearOperatorBlockLowerTriangular",
    ) -> None:
        rows = [list(row) for row in operators]
        for k, row in enumerate(rows):
            if len(row) != k + 1:
                raise ValueError(f"Argument `operators[{k}]` must contain `{k + 1}` blocks. Found: {len(row)} blocks.")
            if not row[-1].is_square:
                raise ValueError(f"Diagonal blocks of a `LinearOperatorBlockLowerTriangular` must be square; operators[{k}][{k}] is not.")
        listed([op for row in rows for op in row])
        self._operators = rows
        if is_non_singular is None:
            is_non_singular = both(*(row[-1].is_non_singular for row in rows))
        super().__init__(
            rows[0][0].dtype, None, is_non_singular, is_self_adjoint, is_positive_definite, True, name, {"operators": operators}
        )

    @property
    def operators(self) -> list[list[LinearOperator]]:
        """The rows of blocks."""
        return self._operators

    def _heights(self) -> list[int]:
        return [row[-1]._shape()[-2] for row in self._operators]

    _widths = _heights

    def _shape(self) -> tuple[int, ...]:
        batch = np.broadcast_shapes(*(op._shape()[:-2] for row in self._operators for op in row))
        return (*batch, sum(self._heights()), sum(self._heights()))

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        parts, rows, n = self._cut(x, self._heights()), self._operators, len(self._operators)
        made = []
        for k in range(n):
            blocks = [(rows[i][k], parts[i]) for i in range(k, n)] if adjoint else list(zip(rows[k], parts, strict=False))
            total = blocks[0][0]._matmul(blocks[0][1], adjoint)
            for op, part in blocks[1:]:
                total = S.add(total, op._matmul(part, adjoint))
            made.append(total)
        return _batched(made, -2)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        parts, rows, n = self._cut(rhs, self._heights()), self._operators, len(self._operators)
        done: dict[int, Tensor] = {}
        for k in range(n)[::-1] if adjoint else range(n):
            left = parts[k]
            for i, x in done.items():
                op = rows[i][k] if adjoint else rows[k][i]
                left = S.subtract(left, op._matmul(x, adjoint))
            done[k] = rows[k][k].solve(left, adjoint=adjoint)
        return _batched([done[k] for k in range(n)], -2)

    def _determinant(self) -> Tensor:
        return LinearOperatorBlockDiag([row[-1] for row in self._operators])._determinant()

    def _log_abs_determinant(self) -> Tensor:
        return LinearOperatorBlockDiag([row[-1] for row in self._operators])._log_abs_determinant()

    def _diag_part(self) -> Tensor:
        return LinearOperatorBlockDiag([row[-1] for row in self._operators])._diag_part()


class LinearOperatorKronecker(LinearOperator):
    """Kronecker's product of operators, which is never written out to multiply or to solve."""

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
        ops = self._operators
        given = {"is_non_singular": is_non_singular, "is_self_adjoint": is_self_adjoint, "is_positive_definite": is_positive_definite}
        super().__init__(
            ops[0].dtype,
            is_square=is_square,
            name=name or "_x_".join(op.name for op in ops),
            parameters={"operators": operators},
            **inherited(given, lambda hint: True if all(getattr(op, hint) for op in ops) else None),
        )

    @property
    def operators(self) -> list[LinearOperator]:
        """The factors."""
        return self._operators

    def _shape(self) -> tuple[int, ...]:
        batch = np.broadcast_shapes(*(op._shape()[:-2] for op in self._operators))
        rows, columns = (int(np.prod([op._shape()[k] for op in self._operators])) for k in (-2, -1))
        return (*batch, rows, columns)

    def _each(self, x: Tensor, apply: Any, lengths: list[int]) -> Tensor:
        """One factor after the other, each on the first axis that is left, which then goes to the end."""
        columns = int(x.array.shape[-1])
        axes = [*lengths, columns]
        batch = tuple(x.array.shape[:-2])
        for op in self._operators:
            first, *rest = axes
            y = apply(op, S.reshape(x, (*batch, first, int(np.prod(rest)))))
            batch = tuple(y.array.shape[:-2])
            axes = [*rest, int(y.array.shape[-2])]
            x = S.matrix_transpose(y)
        found = S.reshape(x, (*batch, columns, int(np.prod(axes[1:]))))
        return S.matrix_transpose(found)

    def _matmul(self, x: Tensor, adjoint: bool) -> Tensor:
        lengths = [op._shape()[-2 if adjoint else -1] for op in self._operators]
        return self._each(x, lambda op, part: op._matmul(part, adjoint), lengths)

    def _solve(self, rhs: Tensor, adjoint: bool) -> Tensor:
        if not all(op.is_square for op in self._operators):
            return super()._solve(rhs, adjoint)
        lengths = [op._shape()[-1] for op in self._operators]
        return self._each(rhs, lambda op, part: op.solve(part, adjoint=adjoint), lengths)

    def _to_dense(self) -> Tensor:
        total = self._operators[0].to_dense()
        for op in self._operators[1:]:
            a = op.to_dense()
            made = S.multiply(total[..., :, None, :, None], a[..., None, :, None, :])
            *batch, m, p, n, q = made.array.shape
            total = S.reshape(made, (*batch, m * p, n * q))
        return total

    def _log_abs_determinant(self) -> Tensor:
        if not all(op.is_square for op in self._operators):
            return super()._log_abs_determinant()
        n = self._shape()[-1]
        return reduce(S.add, (S.multiply(op.log_abs_determinant(), float(n // op._shape()[-1])) for op in self._operators))

    def _determinant(self) -> Tensor:
        if not all(op.is_square for op in self._operators):
            return super()._determinant()
        n = self._shape()[-1]
        return reduce(S.multiply, (S.pow(op.determinant(), n // op._shape()[-1]) for op in self._operators))

    def _cholesky(self) -> LinearOperator:
        return LinearOperatorKronecker([op.cholesky() for op in self._operators], is_non_singular=True)
