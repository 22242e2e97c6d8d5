"""`tf.RaggedTensor`: rows of different lengths, as their values one behind the other and where each row ends."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.dtypes import DType, as_dtype, int64
from tapegrad.tf.errors import NotDenseError, invalid
from tapegrad.tf.export import export
from tapegrad.tf.ragged_spec import RaggedTensorSpec
from tapegrad.tf.shapes import TensorShape
from tapegrad.tf.sparse_tensor import SparseTensor, placed, sparse_of
from tapegrad.tf.specs import Composite
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable


@export("RaggedTensor")
class RaggedTensor(Composite):
    """The `values` between each two of the `row_splits`, (rows + 1,), are a row; the values may be ragged themselves.

    Made by the methods `from_...`, by `tf.ragged.constant` and by functions of texts.  A derivative reaches `flat_values`.
    """

    __slots__ = ("__weakref__", "_splits", "_values")

    def __init__(self, values: Any, row_splits: Any) -> None:
        self._values = values if isinstance(values, RaggedTensor) else convert(values)
        self._splits = np.asarray(row_splits)
        ends, n = self._splits, _length(self._values)
        if ends.ndim != 1 or not len(ends) or ends[0] != 0 or (np.diff(ends) < 0).any() or ends[-1] != n:
            raise invalid(None, f"row_splits must rise from 0 to the number of values, {n}, got {ends.tolist()}")

    # -- made of -----------------------------------------------------------------------------------------
    @classmethod
    def from_row_splits(cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Rows by where they end, with a 0 before."""
        return cls(values, _whole(row_splits))

    @classmethod
    def from_row_lengths(cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Rows by their lengths."""
        lengths = _whole(row_lengths)
        return cls(values, np.concatenate([[0], np.cumsum(lengths)]).astype(lengths.dtype))

    @classmethod
    def from_row_starts(cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Rows by where they begin."""
        starts = _whole(row_starts)
        return cls(values, np.append(starts, _length(values if isinstance(values, RaggedTensor) else convert(values))).astype(starts.dtype))

    @classmethod
    def from_row_limits(cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True) -> RaggedTensor:
        """Rows by where they end."""
        limits = _whole(row_limits)
        return cls(values, np.concatenate([[0], limits]).astype(limits.dtype))

    @classmethod
    def from_value_rowids(
        cls, values: Any, value_rowids: Any, nrows: Any = None, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Rows by the number of the row of each value, which rise."""
        ids = _whole(value_rowids)
        count = (int(ids[-1]) + 1 if len(ids) else 0) if nrows is None else int(nrows)
        if len(ids) and ((np.diff(ids) < 0).any() or ids[0] < 0 or ids[-1] >= count):
            raise invalid(None, f"value_rowids must rise, from 0 on, below nrows = {count}, got {ids.tolist()}")
        return cls(values, np.concatenate([[0], np.cumsum(np.bincount(ids, minlength=count))]).astype(ids.dtype))

    @classmethod
    def from_uniform_row_length(
        cls, values: Any, uniform_row_length: Any, nrows: Any = None, validate: bool = True, name: str | None = None
    ) -> RaggedTensor:
        """Rows of one length."""
        n = int(uniform_row_length)
        count = int(nrows) if nrows is not None else _length(values if isinstance(values, RaggedTensor) else convert(values)) // max(n, 1)
        return cls(values, np.arange(count + 1) * n)

    @classmethod
    def from_nested_row_splits(
        cls, flat_values: Any, nested_row_splits: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Rows in rows, the outermost first."""
        return functools.reduce(cls.from_row_splits, reversed(list(nested_row_splits)), flat_values)

    @classmethod
    def from_nested_row_lengths(
        cls, flat_values: Any, nested_row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> Any:
        """Rows in rows by their lengths, the outermost first."""
        return functools.reduce(cls.from_row_lengths, reversed(list(nested_row_lengths)), flat_values)

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = int64,
    ) -> RaggedTensor:
        """The rows of a dense tensor: whole, up to a length each, or without what is padding at their ends."""
        x = convert(tensor)
        if ragged_rank != 1:
            raise NotImplementedError("tf.RaggedTensor.from_tensor: ragged_rank above 1; write from_nested_row_lengths")
        if x.array.ndim < 2:
            raise ValueError(f"Shape {x.shape} must have rank at least 2")
        count, width = x.array.shape[:2]
        if lengths is not None and padding is not None:
            raise ValueError("Specify argument `lengths` or `padding`, but not both.")
        if padding is not None:
            raw = np.asarray(x.array)
            there = (raw != host(convert(padding, raw.dtype))).reshape(count, width, -1).any(axis=2)
            sizes = np.where(there.any(axis=1), width - np.argmax(there[:, ::-1], axis=1), 0)
        else:
            sizes = np.full(count, width) if lengths is None else np.clip(_whole(lengths), 0, width)
        kept = np.arange(width) < sizes[:, None]
        return cls(S.getitem(x, kept), _ends(sizes, row_splits_dtype))

    @classmethod
    def from_sparse(cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = int64) -> RaggedTensor:
        """The rows of a sparse matrix whose values stand at their beginnings."""
        x = sparse_of(st_input, "tf.RaggedTensor.from_sparse")
        if len(x.lengths) != 2:
            raise ValueError(f"rank(st_input) must be 2, got {len(x.lengths)}")
        rows, columns = x.places.T
        sizes = np.bincount(rows, minlength=x.lengths[0])
        if not np.array_equal(columns, np.arange(len(rows)) - np.repeat(np.cumsum(sizes) - sizes, sizes)):
            raise invalid(None, "SparseTensor is not right-ragged")
        return cls(x.values, _ends(sizes, row_splits_dtype))

    # -- what it is -----------------------------------------------------------------------------------------
    @property
    def values(self) -> Any:
        """The rows' values, one behind the other."""
        return self._values

    @property
    def flat_values(self) -> Tensor:
        """The innermost values."""
        return self._values.flat_values if isinstance(self._values, RaggedTensor) else self._values

    @property
    def row_splits(self) -> Tensor:
        """Where the rows end, with a 0 before."""
        return fresh(self._splits)

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """Where rows end, the outermost first."""
        inner = self._values.nested_row_splits if isinstance(self._values, RaggedTensor) else ()
        return (self.row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        """How many axes have rows of different lengths."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> DType:
        """The type of the values."""
        return self.flat_values.dtype

    @property
    def shape(self) -> TensorShape:
        """The lengths of the axes; None where rows differ."""
        return TensorShape([len(self._splits) - 1, None, *tuple(self._values.shape)[1:]])

    def get_shape(self) -> TensorShape:
        """The same."""
        return self.shape

    @property
    def uniform_row_length(self) -> None:
        """Unknown."""
        return

    def nrows(self, out_type: Any = None, name: str | None = None) -> Tensor:
        """The number of rows."""
        return fresh(np.asarray(len(self._splits) - 1, self._splits.dtype if out_type is None else as_dtype(out_type).numpy)[()])

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """The lengths of the rows; along a deeper axis, those of the rows in them."""
        if axis > 1 and isinstance(self._values, RaggedTensor):
            return RaggedTensor(self._values.row_lengths(axis - 1), self._splits)
        return fresh(np.diff(self._splits).astype(self._splits.dtype))

    def nested_row_lengths(self, name: str | None = None) -> tuple[Tensor, ...]:
        """The lengths of rows, the outermost first."""
        return tuple(fresh(np.diff(host(s))) for s in self.nested_row_splits)

    def row_starts(self, name: str | None = None) -> Tensor:
        """Where rows begin."""
        return fresh(self._splits[:-1])

    def row_limits(self, name: str | None = None) -> Tensor:
        """Where rows end."""
        return fresh(self._splits[1:])

    def value_rowids(self, name: str | None = None) -> Tensor:
        """The number of the row of each value."""
        return fresh(self._rowids().astype(self._splits.dtype))

    def _rowids(self) -> Any:
        return np.repeat(np.arange(len(self._splits) - 1), np.diff(self._splits))

    def bounding_shape(self, axis: Any = None, name: str | None = None, out_type: Any = None) -> Tensor:
        """The smallest dense shape that holds all."""
        whole = np.asarray(self._bounds(), self._splits.dtype if out_type is None else as_dtype(out_type).numpy)
        return fresh(whole if axis is None else whole[axis])

    def _bounds(self) -> list[int]:
        inner = self._values._bounds() if isinstance(self._values, RaggedTensor) else list(self._values.array.shape)
        return [len(self._splits) - 1, int(np.diff(self._splits).max(initial=0)), *inner[1:]]

    # -- other forms -----------------------------------------------------------------------------------------
    def with_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of other values."""
        return RaggedTensor(new_values, self._splits)

    def with_flat_values(self, new_values: Any) -> RaggedTensor:
        """The same rows of other innermost values."""
        inner = self._values.with_flat_values(new_values) if isinstance(self._values, RaggedTensor) else new_values
        return RaggedTensor(inner, self._splits)

    def with_row_splits_dtype(self, dtype: Any) -> RaggedTensor:
        """The same rows, whose ends are of another dtype."""
        inner = self._values.with_row_splits_dtype(dtype) if isinstance(self._values, RaggedTensor) else self._values
        return RaggedTensor(inner, self._splits.astype(as_dtype(dtype).numpy))

    def to_tensor(self, default_value: Any = None, name: str | None = None, shape: Any = None) -> Tensor:
        """A dense tensor: each row filled up to the longest, or cut and filled to a shape, with a value, by default 0 or ""."""
        if isinstance(self._values, RaggedTensor):
            inner = self._values.to_tensor(default_value, shape=None if shape is None else [None, *list(shape)[2:]])
            return RaggedTensor(inner, self._splits).to_tensor(default_value, shape=None if shape is None else list(shape)[:2])
        x = self._values
        wanted = [] if shape is None else [None if n in (None, -1) else int(n) for n in TensorShape(shape).as_list() or []]
        rows, width = (w if w is not None else n for n, w in zip(self._bounds()[:2], [*wanted[:2], None, None][:2], strict=True))
        ids = self._rowids()
        columns = np.arange(len(ids)) - np.repeat(self._splits[:-1], np.diff(self._splits))
        kept = (ids < rows) & (columns < width)
        dtype = x.array.dtype
        fill = (b"" if dtype.kind == "O" else dtype.type(0)) if default_value is None else host(convert(default_value, dtype))
        whole = np.empty((rows, width, *x.array.shape[1:]), dtype)
        whole[...] = fill
        if dtype.kind == "O":
            whole[ids[kept], columns[kept]] = host(x)[kept]
            return fresh(whole)
        return S.put(fresh(whole), S.getitem(x, kept), index=(ids[kept], columns[kept]))

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """The values as those of a sparse tensor."""
        if isinstance(self._values, RaggedTensor) or self._values.array.ndim > 1:
            raise NotImplementedError("tf.RaggedTensor.to_sparse: of one axis of rows alone; write to_tensor and tf.sparse.from_dense")
        ids = self._rowids()
        columns = np.arange(len(ids)) - np.repeat(self._splits[:-1], np.diff(self._splits))
        return placed(np.stack([ids, columns], 1), self._values, self._bounds())

    def to_list(self) -> list[Any]:
        """Lists of Python's."""
        inner = self._values.to_list() if isinstance(self._values, RaggedTensor) else host(self._values).tolist()
        return [inner[a:b] for a, b in zip(self._splits[:-1].tolist(), self._splits[1:].tolist(), strict=True)]

    def numpy(self) -> Any:
        """An array: of arrays where rows differ in length."""
        rows = [self[i].numpy() for i in range(len(self._splits) - 1)]
        if len({getattr(r, "shape", None) for r in rows}) == 1:
            return np.stack(rows)
        found = np.empty(len(rows), object)
        for i, row in enumerate(rows):
            found[i] = row
        return found

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """The rows of two axes that follow each other, put together."""
        if outer_axis == inner_axis:
            return self
        if (outer_axis, inner_axis) == (0, 1):
            return self._values
        if (outer_axis, inner_axis) == (1, 2) and isinstance(self._values, RaggedTensor):
            return RaggedTensor(self._values.values, self._values._splits[self._splits])
        raise NotImplementedError(f"tf.RaggedTensor.merge_dims({outer_axis}, {inner_axis}): only of axes 0 and 1, or ragged 1 and 2")

    # -- parts -----------------------------------------------------------------------------------------------
    def __len__(self) -> int:
        return len(self._splits) - 1

    def __bool__(self) -> NoReturn:
        raise TypeError("RaggedTensor may not be used as a boolean.")

    def consumers(self) -> list[Any]:
        """Nothing: there is no graph."""
        return []

    def __iter__(self) -> Any:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, key: Any) -> Any:
        """A row by its number, or rows by a slice; behind it, what is asked of each row."""
        first, *rest = key if isinstance(key, tuple) else (key,)
        if first is None:
            whole = RaggedTensor(self, _ends([len(self)], self._splits.dtype))
            return whole[(slice(None), *rest)] if rest else whole
        if first is Ellipsis:
            return self[(*[slice(None)] * ((self.shape.rank or 2) - len(rest)), *rest)]
        if isinstance(first, slice):
            chosen = range(len(self))[first]
            return self._chosen(list(chosen)) if not rest else self._chosen(list(chosen))._inside(rest)
        i = int(first)
        if not -len(self) <= i < len(self):
            raise IndexError(f"slice index {i} of dimension 0 out of bounds: there are {len(self)} rows")
        a, b = self._splits[i % len(self)], self._splits[i % len(self) + 1]
        row = self._values[int(a) : int(b)]
        return row[tuple(rest)] if rest else row

    def _chosen(self, rows: list[int]) -> RaggedTensor:
        sizes = np.diff(self._splits)[rows]
        index = np.concatenate([np.arange(self._splits[r], self._splits[r + 1]) for r in rows]) if rows else np.zeros(0, int)
        return RaggedTensor(picked(self._values, index), _ends(sizes, self._splits.dtype))

    def _inside(self, rest: list[Any]) -> RaggedTensor:
        """A slice of each row."""
        if not isinstance(rest[0], slice):
            raise ValueError("Cannot index into an inner ragged dimension.")
        kept = [range(int(a), int(b))[rest[0]] for a, b in zip(self._splits[:-1], self._splits[1:], strict=True)]
        index = np.asarray([k for r in kept for k in r], int)
        found = RaggedTensor(picked(self._values, index), _ends([len(r) for r in kept], self._splits.dtype))
        return found if len(rest) == 1 else found.with_values(found.values[(slice(None), *rest[1:])])

    # -- what stands for it where a tensor is asked for --------------------------------------------------------
    def _map_values(self, f: Callable[[Tensor], Any]) -> RaggedTensor:
        return self.with_flat_values(f(self.flat_values))

    def _components(self) -> list[Any]:
        return [self.flat_values, *self.nested_row_splits]

    def _lengths(self, dtype: Any) -> NoReturn:
        raise NotImplementedError("tf.shape of a ragged tensor: write x.bounding_shape() or x.row_lengths()")

    def _size(self) -> int:
        return int(np.prod(self.flat_values.array.shape, dtype=np.int64))

    def _spec(self) -> RaggedTensorSpec:
        return RaggedTensorSpec(self.shape, self.dtype, self.ragged_rank, as_dtype(self._splits.dtype))

    def _count(self) -> int:
        return len(self)

    def _row(self, i: int) -> Any:
        return self[i]

    @classmethod
    def _stacked(cls, rows: list[Any]) -> RaggedTensor:
        inner = cls(
            S.concat([r.values for r in rows]) if not isinstance(rows[0].values, RaggedTensor) else _behind([r.values for r in rows]),
            _ends(np.concatenate([np.diff(r._splits) for r in rows]), rows[0]._splits.dtype),
        )
        return cls(inner, _ends([len(r) for r in rows], rows[0]._splits.dtype))

    def __tf_tensor__(self, dtype: Any = None) -> NoReturn:
        raise NotDenseError(
            f"TypeError: object of type 'RaggedTensor' ({self.shape}) is no Tensor: write x.to_tensor(), or "
            "tf.ragged.map_flat_values(f, x) for a function of each value"
        )

    def __repr__(self) -> str:
        return f"<tf.RaggedTensor {self.to_list()}>"


def picked(values: Any, index: Any) -> Any:
    """Rows of values, which may be ragged themselves, or texts, which the host holds."""
    at = np.asarray(index, np.int64)
    if isinstance(values, RaggedTensor):
        return values._chosen(at.tolist())
    return fresh(host(values)[at]) if values.array.dtype.hasobject else S.take(values, fresh(at), axis=0)


def _behind(parts: list[Any]) -> Any:
    """Ragged tensors of one kind, one behind the other."""
    sizes = np.concatenate([np.diff(p._splits) for p in parts])
    inner = [p.values for p in parts]
    values = _behind(inner) if isinstance(inner[0], RaggedTensor) else S.concat(inner)
    return RaggedTensor(values, _ends(sizes, parts[0]._splits.dtype))


def _length(values: Any) -> int:
    return len(values) if isinstance(values, RaggedTensor) else int(values.array.shape[0])


def _whole(x: Any) -> Any:
    raw = host(x)
    if raw.dtype not in (np.int32, np.int64) or raw.ndim != 1:
        raise ValueError(f"rows are given by a vector of int32 or int64, got {raw.dtype} of shape {raw.shape}")
    return raw if not isinstance(x, list | tuple | range) else raw.astype(np.int64)


def _ends(sizes: Any, dtype: Any) -> Any:
    kind = dtype.numpy if isinstance(dtype, DType) else np.dtype(dtype)
    return np.concatenate([[0], np.cumsum(sizes)]).astype(kind)


def in_rows(values: Tensor, shape: tuple[int, ...], sizes: list[int]) -> Any:
    """Values in rows of these sizes, which stand in this shape; without axes it has one row, which are the values themselves."""
    found: Any = values
    if shape:
        outer = ([n] * int(np.prod(shape[:k])) for k, n in reversed(list(enumerate(shape))[1:]))
        for lengths in (sizes, *outer):
            found = RaggedTensor(found, _ends(lengths, np.int64))
    return found
