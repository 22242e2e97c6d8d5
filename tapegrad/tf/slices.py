"""`tf.IndexedSlices`: rows of a large table, as the gradient of a gather gives them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.sparse import SparseRows
from tapegrad.tf.convert import convert, fresh
from tapegrad.tf.dtypes import DType
from tapegrad.tf.shapes import TensorShape
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


class IndexedSlices:
    """The rows `values` at `indices` of a tensor that is zero elsewhere; a row that is there twice counts twice."""

    __slots__ = ("_dense_shape", "_indices", "_values")

    def __init__(self, values: Any, indices: Any, dense_shape: Any = None) -> None:
        self._values = convert(values)
        self._indices = convert(indices)
        self._dense_shape = None if dense_shape is None else convert(dense_shape)

    @property
    def values(self) -> Tensor:
        """The rows."""
        return self._values

    @property
    def indices(self) -> Tensor:
        """Where they are."""
        return self._indices

    @property
    def dense_shape(self) -> Tensor | None:
        """The shape of the whole, if it is known."""
        return self._dense_shape

    @property
    def dtype(self) -> DType:
        """The type of the elements."""
        return self._values.dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole; it is unknown where no `dense_shape` was given."""
        if self._dense_shape is None:
            return TensorShape(None)
        return TensorShape(self._dense_shape.numpy())

    @property
    def name(self) -> str:
        """There are no names in eager mode."""
        raise AttributeError("IndexedSlices.name is undefined when eager execution is enabled.")

    @property
    def device(self) -> str:
        """Where the values are."""
        return self._values.device

    def consumers(self) -> list[Any]:
        """Nothing: there is no graph."""
        return []

    def _as_dense(self) -> Tensor:
        if self._dense_shape is None:
            raise ValueError(f"Tensor conversion requested for IndexedSlices without dense_shape: {self}")
        shape = tuple(int(n) for n in self._dense_shape.array)
        index = S.reshape(self._indices, (-1,))
        values = S.reshape(self._values, (index.array.shape[0], *shape[1:]))
        return S.take_add(values, index, shape=shape, axis=0)

    def __tf_tensor__(self, dtype: Any = None) -> Tensor:
        return self._as_dense()

    def __neg__(self) -> IndexedSlices:
        return IndexedSlices(-self._values, self._indices, self._dense_shape)

    def _scaled(self, factor: Any) -> IndexedSlices:
        return IndexedSlices(self._values * factor, self._indices, self._dense_shape)

    def __mul__(self, other: Any) -> Any:
        return self._as_dense() * other

    def __rmul__(self, other: Any) -> Any:
        return other * self._as_dense()

    def __add__(self, other: Any) -> Any:
        return self._as_dense() + convert(other)

    def __radd__(self, other: Any) -> Any:
        return convert(other) + self._as_dense()

    def __sub__(self, other: Any) -> Any:
        return self._as_dense() - convert(other)

    def __rsub__(self, other: Any) -> Any:
        return convert(other) - self._as_dense()

    def __truediv__(self, other: Any) -> Any:
        return self._as_dense() / other

    def __repr__(self) -> str:
        return f"IndexedSlices(indices={self._indices!r}, values={self._values!r}, dense_shape={self._dense_shape!r})"

    def __str__(self) -> str:
        shape = "" if self._dense_shape is None else f", dense_shape={self._dense_shape!s}"
        return f"IndexedSlices(indices={self._indices!s}, values={self._values!s}{shape})"

    def _map_values(self, f: Any) -> IndexedSlices:
        return IndexedSlices(f(self._values), self._indices, self._dense_shape)

    def _components(self) -> list[Any]:
        return [x for x in (self._values, self._indices, self._dense_shape) if x is not None]


def slices_of(rows: SparseRows) -> IndexedSlices:
    """What the engine has found, as TensorFlow gives it."""
    index = rows.rows.index
    return IndexedSlices(fresh(rows.rows.g), fresh(index), fresh(np.asarray(rows.shape, np.int32)))
