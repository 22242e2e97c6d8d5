"""Features of examples that several of their lists make: ragged and sparse ones."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapegrad.tf.convert import fresh, host
from tapegrad.tf.dtypes import as_dtype, int32, int64
from tapegrad.tf.errors import InvalidArgumentError
from tapegrad.tf.ragged_tensor import RaggedTensor
from tapegrad.tf.sparse_tensor import placed


class _RowLengths(NamedTuple):
    """Rows by how long each is."""

    key: str


class _RowSplits(NamedTuple):
    """Rows by where each begins and the last ends."""

    key: str


class _RowStarts(NamedTuple):
    """Rows by where each begins."""

    key: str


class _RowLimits(NamedTuple):
    """Rows by where each ends."""

    key: str


class _ValueRowIds(NamedTuple):
    """Rows by the row of each value."""

    key: str


class _UniformRowLength(NamedTuple):
    """Rows of one length."""

    length: int


_MAKERS = {
    _RowLengths: "from_row_lengths",
    _RowSplits: "from_row_splits",
    _RowStarts: "from_row_starts",
    _RowLimits: "from_row_limits",
    _ValueRowIds: "from_value_rowids",
}


class RaggedFeature:
    """A feature of any length, in rows of a ragged tensor; other features of the example say how the rows lie."""

    RowLengths, RowSplits, RowStarts, RowLimits = _RowLengths, _RowSplits, _RowStarts, _RowLimits
    ValueRowIds, UniformRowLength = _ValueRowIds, _UniformRowLength

    def __init__(
        self, dtype: Any, value_key: str | None = None, partitions: Any = (), row_splits_dtype: Any = int32, validate: bool = False
    ) -> None:
        for part in partitions:
            if type(part) not in (*_MAKERS, _UniformRowLength):
                raise TypeError(f"RaggedFeature: expected partitions such as RaggedFeature.RowLengths(key), got {part!r}")
        self.dtype, self.value_key, self.partitions = as_dtype(dtype), value_key, tuple(partitions)
        self.row_splits_dtype, self.validate = as_dtype(row_splits_dtype), validate

    def rows(self, flat: Any, list_of: Any) -> Any:
        """The values in their rows; `list_of(key, dtype)` gives the list of another feature."""
        found: Any = fresh(flat)
        for part in reversed(self.partitions):
            if isinstance(part, _UniformRowLength):
                n = int(part.length)
                is_plain = not isinstance(found, RaggedTensor)
                found = fresh(host(found).reshape(-1, n)) if is_plain else RaggedTensor.from_uniform_row_length(found, n)
            else:
                found = getattr(RaggedTensor, _MAKERS[type(part)])(found, list_of(part.key, int64))
        return found.with_row_splits_dtype(self.row_splits_dtype) if isinstance(found, RaggedTensor) else found


class SparseFeature:
    """A sparse tensor of a feature with its values and one (or several) with their indices."""

    def __init__(self, index_key: Any, value_key: str, dtype: Any, size: Any, already_sorted: bool = False) -> None:
        self.index_key, self.value_key, self.dtype = index_key, value_key, as_dtype(dtype)
        self.size, self.already_sorted = size, already_sorted

    def tensor(self, key: str, flat: Any, list_of: Any) -> Any:
        """The tensor, its indices in rising order."""
        keys = self.index_key if isinstance(self.index_key, list | tuple) else [self.index_key]
        sizes = self.size if isinstance(self.size, list | tuple) else [self.size]
        places = [list_of(k, int64) for k in keys]
        if any(len(p) != len(flat) for p in places):
            raise InvalidArgumentError(
                None, None, f"Key: {key}.  expected as many indices as values, got {[len(p) for p in places]} and {len(flat)}"
            )
        at = np.stack(places, axis=1) if flat.size else np.zeros((0, len(keys)), np.int64)
        if not self.already_sorted:
            order = np.lexsort(at.T[::-1])
            at, flat = at[order], flat[order]
        return placed(at, fresh(flat), [int(n) for n in sizes])
