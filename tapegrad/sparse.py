"""Gradients of a few rows of a large table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.core.recorder import state
from tapegrad.core.tensor import WRAPPERS, Tensor, tensor
from tapegrad.errors import ShapeError
from tapegrad.kernels.numpy_scatter import Rows
from tapegrad.ops.convert import asarray, raw_of

if TYPE_CHECKING:
    from tapegrad.core.node import Node


@final
class SparseRows(Tensor):
    """A tensor that is zero but in a few rows: what `embedding(..., sparse=True)` has as its gradient.

    * `indices`: which rows, (n,), not negative; one that is there several times counts several times.
    * `values`: these rows, (n, ...).
    * `shape`: of the whole.

    Sums of them, and products with numbers, stay sparse, and a `Variable` adds or subtracts one row by row, in compiled
    functions too.  Everything else takes it as the dense tensor that it stands for, which is made when it is first needed.

    >>> import tapegrad as tg
    >>> g = tg.SparseRows([2, 0, 2], [[0.5, 1.0], [1.5, 2.0], [0.25, 0.0]], (4, 2))
    >>> (2 * g).coalesce().values
    Tensor([[3. , 4. ],
            [1.5, 2. ]], dtype=float32)
    >>> g.to_dense()[2]
    Tensor([0.75, 1.  ], dtype=float32)
    """

    __slots__ = ("_dense", "rows")

    rows: Rows

    def __init__(self, indices: Any, values: Any, shape: Any) -> None:
        ids, rows = raw_of(asarray(indices)), raw_of(asarray(values))
        shape = tuple(shape)
        if ids.dtype.kind not in "iu" or ids.ndim != 1 or rows.shape != (*ids.shape, *shape[1:]):
            raise ShapeError(
                f"SparseRows(indices, values, shape): expected integers (n,) and values (n, *shape[1:]), "
                f"got {ids.dtype} {ids.shape}, {rows.shape} and shape {shape}"
            )
        at = np.empty(0, int) if getattr(ids, "symbolic", False) else np.asarray(ids)  # a graph knows no values yet
        if at.size and not (at.min() >= 0 and at.max() < shape[0]):
            raise ShapeError(
                f"SparseRows(indices, values, shape): expected 0 <= indices < {shape[0]}, got {at.min()} to {at.max()}"
            )
        self._take(Rows(rows, ids, shape))

    def _take(self, rows: Rows) -> None:
        self.rows = rows
        self._dense: Any = None
        self.node = None
        self.like = None

    # -- what a Tensor is --------------------------------------------------------------------------
    @property
    def array(self) -> Any:
        """The dense array."""
        if self._dense is None:
            self._dense = self.rows.dense()
        return self._dense

    def read(self) -> tuple[Any, Node | None]:
        """The dense array, of which nothing is recorded."""
        return self.array, self.node

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis of the whole."""
        return self.rows.shape

    @property
    def dtype(self) -> Any:
        """The dtype of the values."""
        return self.rows.g.dtype

    @property
    def ndim(self) -> int:
        """The number of axes of the whole."""
        return len(self.rows.shape)

    # -- what it is beyond that ----------------------------------------------------------------------
    @property
    def dense_shape(self) -> tuple[int, ...]:
        """The shape of the whole."""
        return self.rows.shape

    @property
    def indices(self) -> Tensor:
        """Which rows there are."""
        return tensor(self.rows.index)

    @property
    def values(self) -> Tensor:
        """The rows."""
        return tensor(self.rows.g)

    def to_dense(self) -> Tensor:
        """The whole, as a plain tensor."""
        return tensor(self.rows.dense())

    def coalesce(self) -> SparseRows:
        """The same with each row once, in rising order: what was there several times is added up."""
        return sparse_rows(self.rows.coalesced())

    def __add__(self, other: Any) -> Any:
        if isinstance(other, SparseRows):
            if other.shape != self.shape:
                raise ShapeError(f"SparseRows + SparseRows: expected equal shapes, got {self.shape} and {other.shape}")
            return sparse_rows(self.rows + other.rows)
        return Tensor.__add__(self, other)

    def __sub__(self, other: Any) -> Any:
        return self + -other if isinstance(other, SparseRows) else Tensor.__sub__(self, other)

    def __neg__(self) -> SparseRows:
        return sparse_rows(self.rows.scaled(-1))

    def __mul__(self, other: Any) -> Any:
        factor = _number(other)
        return Tensor.__mul__(self, other) if factor is None else sparse_rows(self.rows.scaled(factor))

    def __rmul__(self, other: Any) -> Any:
        factor = _number(other)
        return Tensor.__rmul__(self, other) if factor is None else sparse_rows(self.rows.scaled(factor))

    def __truediv__(self, other: Any) -> Any:
        factor = _number(other)
        return Tensor.__truediv__(self, other) if factor is None else sparse_rows(self.rows.divided(factor))

    __hash__ = object.__hash__

    def __repr__(self) -> str:
        n = self.rows.index.shape[0]
        return f"SparseRows({n} rows of {self.shape}, dtype={self.dtype})"


def _number(x: Any) -> Any:
    """A number, or a 0-d tensor that nobody records, as a raw value; None for all else."""
    if type(x) in (int, float):
        return x
    if isinstance(x, Tensor):
        if x.shape != ():
            return None
        raw, node = x.read()
        return raw if node is None or node.owners.recorders.isdisjoint(state.active.recorders) else None
    return x if isinstance(x, np.number | np.ndarray) and x.shape == () else None


def sparse_rows(rows: Rows) -> SparseRows:
    """What the engine has found, as a tensor."""
    made = SparseRows.__new__(SparseRows)
    made._take(rows)
    return made


WRAPPERS[Rows] = sparse_rows
