"""`tf.SparseTensor`: the values of some elements, and where they are; all others are zero."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.dtypes import DType, as_dtype, float32
from tapegrad.tf.errors import NotDenseError, invalid
from tapegrad.tf.export import export
from tapegrad.tf.shapes import TensorShape
from tapegrad.tf.specs import Composite, CompositeSpec
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable


@export("SparseTensor", "sparse.SparseTensor")
class SparseTensor(Composite):
    """The `values` (n,) at the rows of `indices` (n, rank) of a tensor with the shape `dense_shape` (rank,).

    A derivative reaches `values`, which are an ordinary tensor; places and shape are constants.
    """

    __slots__ = ("__weakref__", "_dense_shape", "_indices", "_values")
    __array_priority__ = 101  # so that `array * sparse` and `tensor * sparse` are left to it

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        self._indices = convert(indices, np.dtype(np.int64), prefer=True)
        self._values = convert(values)
        self._dense_shape = convert(dense_shape, np.dtype(np.int64), prefer=True)
        where, count, shape = (tuple(x.array.shape) for x in (self._indices, self._values, self._dense_shape))
        if len(where) != 2:
            raise ValueError(f"Shape {where} must have rank 2: SparseTensor takes indices of shape (n, rank)")
        if len(count) != 1:
            raise ValueError(f"Shape {count} must have rank 1: SparseTensor takes values of shape (n,)")
        if len(shape) != 1:
            raise ValueError(f"Shape {shape} must have rank 1: SparseTensor takes a dense_shape of shape (rank,)")
        if where[0] != count[0]:
            raise ValueError(f"Dimensions {where[0]} and {count[0]} are not compatible: SparseTensor takes an index for each value")
        if where[1] != shape[0]:
            raise ValueError(f"Dimensions {where[1]} and {shape[0]} are not compatible: indices and dense_shape differ in rank")

    @classmethod
    def from_value(cls, sparse_tensor_value: Any) -> SparseTensor:
        """One of anything that has indices, values and a dense shape."""
        x = sparse_tensor_value
        return cls(x.indices, x.values, x.dense_shape)

    @property
    def indices(self) -> Tensor:
        """Where the values are: a row for each."""
        return self._indices

    @property
    def values(self) -> Tensor:
        """The values that are there."""
        return self._values

    @property
    def dense_shape(self) -> Tensor:
        """The shape of the whole."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The shape of the whole."""
        return TensorShape(self.lengths)

    def get_shape(self) -> TensorShape:
        """The shape of the whole."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Check the shape against one that may have unknown lengths."""
        if not self.shape.is_compatible_with(shape):
            raise ValueError(f"Tensor's shape {self.shape} is not compatible with supplied shape {TensorShape(shape)}.")

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self._values.dtype

    @property
    def lengths(self) -> tuple[int, ...]:
        """The shape of the whole, as numbers."""
        return tuple(int(n) for n in host(self._dense_shape))

    @property
    def places(self) -> Any:
        """The indices as an array of the host."""
        return host(self._indices)

    def numbers(self) -> Any:
        """The place of each value in the flattened whole; raises InvalidArgumentError for one that lies outside."""
        places, shape = self.places, self.lengths
        outside = ((places < 0) | (places >= np.asarray(shape, np.int64))).any(axis=1)
        if outside.any():
            k = int(np.flatnonzero(outside)[0])
            raise invalid(None, f"indices[{k}] = {places[k].tolist()} is out of bounds: need 0 <= index < {list(shape)}")
        return np.ravel_multi_index(tuple(places.T), shape) if shape else np.zeros(len(places), np.int64)

    def with_values(self, new_values: Any) -> SparseTensor:
        """Other values at the same places."""
        return SparseTensor(self._indices, new_values, self._dense_shape)

    # -- what stands for it where a tensor is asked for --------------------------------------------------
    def _map_values(self, f: Callable[[Tensor], Any]) -> SparseTensor:
        return self.with_values(f(self._values))

    def _components(self) -> list[Any]:
        return [self._indices, self._values, self._dense_shape]

    def _matmul(self, other: Any) -> Tensor:
        from tapegrad.tf.sparse_math import sparse_dense_matmul

        return sparse_dense_matmul(self, other)

    def _lengths(self, dtype: Any) -> Tensor:
        return fresh(np.asarray(self.lengths, dtype))

    def _size(self) -> int:
        return int(np.prod(self.lengths, dtype=np.int64))

    def _spec(self) -> SparseTensorSpec:
        return SparseTensorSpec(self.shape, self.dtype)

    def _count(self) -> int:
        return self.lengths[0]

    def _row(self, i: int) -> SparseTensor:
        inside = self.places[:, 0] == i
        return placed(self.places[inside, 1:], S.getitem(self._values, inside), self.lengths[1:])

    @classmethod
    def _stacked(cls, rows: list[Any]) -> SparseTensor:
        shapes = np.asarray([r.lengths for r in rows])
        places = np.concatenate([np.insert(r.places, 0, k, axis=1) for k, r in enumerate(rows)])
        return placed(places, S.concat([r.values for r in rows]), [len(rows), *shapes.max(axis=0)])

    def eval(self, feed_dict: Any = None, session: Any = None) -> NoReturn:
        """Raises NotImplementedError: there are no sessions."""
        raise NotImplementedError("eval is not supported when eager execution is enabled, is .values.numpy() what you're looking for?")

    def consumers(self) -> list[Any]:
        """Nothing: there is no graph."""
        return []

    def __tf_tensor__(self, dtype: Any = None) -> NoReturn:
        raise NotDenseError(
            f"Attempt to convert a value ({self!r}) with an unsupported type ({type(self)}) to a Tensor: write tf.sparse.to_dense(x), "
            "tf.sparse.map_values(f, x) for a function of each value, or another function of tf.sparse"
        )

    def _times(self, other: Any, op: Callable[[Any, Any], Tensor]) -> SparseTensor:
        """The values with those that a dense tensor, broadcast to this shape, has at the same places."""
        y = convert(other, self._values.array.dtype, prefer=True)
        shape = self.lengths
        if y.array.ndim:
            if len(y.array.shape) > len(shape) or any(m not in (1, n) for m, n in zip(y.array.shape[::-1], shape[::-1], strict=False)):
                raise invalid(
                    None, f"SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: {list(shape)} vs. "
                    f"{list(y.array.shape)}"
                )  # fmt: skip
            y = S.getitem(S.broadcast_to(y, shape), tuple(self.places.T))
        return self.with_values(op(self._values, y))

    def __mul__(self, other: Any) -> SparseTensor:
        return self._times(other, S.multiply)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> SparseTensor:
        return self._times(other, S.divide)

    def __repr__(self) -> str:
        return f"SparseTensor(indices={self._indices!s}, values={self._values!s}, dense_shape={self._dense_shape!s})"


def sparse_of(x: Any, name: str) -> SparseTensor:
    """What has to be a sparse tensor; raises TypeError for anything else."""
    if isinstance(x, SparseTensor):
        return x
    if all(hasattr(x, part) for part in ("indices", "values", "dense_shape")) and not hasattr(x, "consumers"):
        return SparseTensor.from_value(x)
    raise TypeError(f"Input must be a SparseTensor: {name} got {type(x).__name__}; write tf.sparse.from_dense(x)")


def placed(places: Any, values: Any, shape: Any) -> SparseTensor:
    """A sparse tensor of arrays of the host and a tensor of values."""
    lengths = np.asarray(shape, np.int64).reshape(-1)
    rows = np.ascontiguousarray(np.asarray(places, np.int64).reshape(-1, len(lengths)))
    return SparseTensor(fresh(rows), values, fresh(lengths))


@export("SparseTensorSpec")
class SparseTensorSpec(CompositeSpec):
    """Shape, with None for unknown lengths, and dtype of a sparse tensor."""

    __slots__ = ("_dtype", "_shape")

    def __init__(self, shape: Any = None, dtype: Any = float32) -> None:
        self._shape, self._dtype = TensorShape(shape), as_dtype(dtype)

    @classmethod
    def from_value(cls, value: Any) -> SparseTensorSpec:
        """What a sparse tensor is."""
        return cls(value.shape, value.dtype)

    @property
    def value_type(self) -> type[SparseTensor]:
        """The class of what it describes."""
        return SparseTensor

    def _batched(self, size: int | None) -> SparseTensorSpec:
        return SparseTensorSpec(TensorShape([size, *self._shape]) if self._shape.rank is not None else None, self._dtype)

    def _unbatched(self) -> SparseTensorSpec:
        return SparseTensorSpec(self._shape[1:], self._dtype)

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Whether a sparse tensor, or another spec, fits."""
        x = spec_or_value
        return isinstance(x, SparseTensor | SparseTensorSpec) and self._dtype == x.dtype and self._shape.is_compatible_with(x.shape)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SparseTensorSpec):
            return NotImplemented
        return self._shape == other._shape and self._dtype == other._dtype

    def __hash__(self) -> int:
        return hash((self._shape, self._dtype))

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self._shape!r}, {self._dtype!r})"
