"""`tf.lookup`: tables that change, tables from files, and tables with buckets for what they do not know."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.dtypes import DType, as_dtype, int64, numpy_dtype, string
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.fingerprints import fingerprint
from tapegrad.tf.lookup import StaticHashTable
from tapegrad.tf.specs import Composite
from tapegrad.tf.tensor import Tensor


@export("lookup.experimental.MutableHashTable")
class MutableHashTable:
    """What stands for each key, and can be inserted and removed; `default_value`, whose shape is that of a value, for others."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        self.key_dtype: DType = as_dtype(key_dtype)
        self.value_dtype: DType = as_dtype(value_dtype)
        self.name = name
        self._default = np.asarray(host(convert(default_value, numpy_dtype(value_dtype), prefer=True)))
        self._found: dict[Any, Any] = {}

    def size(self, name: str | None = None) -> Tensor:
        """How many keys there are."""
        return fresh(np.asarray(len(self._found), np.int64)[()])

    def _keys(self, keys: Any) -> Any:
        return host(convert(keys, numpy_dtype(self.key_dtype), prefer=True))

    def insert(self, keys: Any, values: Any, name: str | None = None) -> None:
        """Put a value for each key, in the place of one that is there."""
        k = self._keys(keys)
        v = np.asarray(host(convert(values, numpy_dtype(self.value_dtype), prefer=True)))
        if v.shape != k.shape + self._default.shape:
            raise invalid("LookupTableInsertV2", f"Expected shape {list(k.shape + self._default.shape)} for value, got {list(v.shape)}")
        self._check(k)
        rows = v.reshape(k.size, *self._default.shape)
        self._found.update((key, rows[i]) for i, key in enumerate(k.ravel().tolist()))

    def _check(self, keys: Any) -> None:
        """Raise InvalidArgumentError for a key that cannot be inserted."""

    def remove(self, keys: Any, name: str | None = None) -> None:
        """Take keys out; one that is not there is left alone.  Raises TypeError for keys of another dtype."""
        asked = convert(keys)
        if asked.dtype != self.key_dtype:
            raise TypeError(f"Dtype of argument `keys` must be {self.key_dtype}, received: {asked.dtype}")
        for key in host(asked).ravel().tolist():
            self._found.pop(key, None)

    erase = remove

    def lookup(self, keys: Any, dynamic_default_values: Any = None, name: str | None = None) -> Any:
        """The value of each key; of one that is not there its `dynamic_default_values`, or the default of the table."""
        if isinstance(keys, Composite):
            return keys._map_values(lambda k: self.lookup(k, dynamic_default_values))
        k = self._keys(keys)
        shape = self._default.shape
        found = np.empty((k.size, *shape), numpy_dtype(self.value_dtype))
        if dynamic_default_values is None:
            found[...] = self._default
        else:
            given = np.asarray(host(convert(dynamic_default_values, numpy_dtype(self.value_dtype))))
            found[...] = np.broadcast_to(given, k.shape + shape).reshape(found.shape)
        for i, key in enumerate(k.ravel().tolist()):
            if key in self._found:
                found[i] = self._found[key]
        return fresh(found.reshape(k.shape + shape)[()] if found.dtype.kind != "O" else found.reshape(k.shape + shape))

    __getitem__ = lookup

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and all values, in the order in which the keys were first inserted."""
        keys = np.empty(len(self._found), numpy_dtype(self.key_dtype))
        values = np.empty((len(self._found), *self._default.shape), numpy_dtype(self.value_dtype))
        for i, (key, value) in enumerate(self._found.items()):
            keys[i], values[i] = key, value
        return fresh(keys), fresh(values)


@export("lookup.experimental.DenseHashTable")
class DenseHashTable(MutableHashTable):
    """The same with two keys that are never inserted.  Its `export` gives what is there, and no empty places."""

    def __init__(
        self,
        key_dtype: Any,
        value_dtype: Any,
        default_value: Any,
        empty_key: Any,
        deleted_key: Any,
        initial_num_buckets: Any = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, name, checkpoint, experimental_is_anonymous)
        self._kept = {"empty_key": self._keys(empty_key).item(), "deleted_key": self._keys(deleted_key).item()}
        if len(set(self._kept.values())) == 1:
            raise invalid("MutableDenseHashTableV2", "Empty and deleted keys cannot be equal")

    def _check(self, keys: Any) -> None:
        for key in keys.ravel().tolist():
            for name, kept in self._kept.items():
                if key == kept:
                    raise invalid("LookupTableInsertV2", f"Using the {name} as a table key is not allowed")


@export("lookup.TextFileIndex")
class TextFileIndex:
    """Which part of a line is meant: its whole text, its number, or, from 0 on, one of its columns."""

    WHOLE_LINE = -2
    LINE_NUMBER = -1


@export("lookup.TextFileInitializer")
class TextFileInitializer:
    """Keys and values from the lines of a file."""

    def __init__(
        self,
        filename: Any,
        key_dtype: Any,
        key_index: Any,
        value_dtype: Any,
        value_index: Any,
        vocab_size: Any = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        path = filename if isinstance(filename, str) else host(filename).item().decode()
        with open(path, encoding="utf-8") as file:
            lines = file.read().splitlines()
        if vocab_size is not None and len(lines) < int(vocab_size):
            raise invalid(None, f"Invalid vocab_size in {path}: expected {int(vocab_size)} but got {len(lines)}")
        lines = lines if vocab_size is None else lines[: int(vocab_size)]
        self.keys = _column(lines, key_index, key_dtype, delimiter, 0)
        self.values = _column(lines, value_index, value_dtype, delimiter, value_index_offset)


def _column(lines: list[str], index: int, dtype: Any, delimiter: str, offset: int) -> Tensor:
    wanted = as_dtype(dtype)
    if index == TextFileIndex.LINE_NUMBER:
        if wanted != int64:
            raise ValueError(f"a line number is of tf.int64, got {wanted}")
        return convert(np.arange(offset, offset + len(lines), dtype=np.int64))
    if index == TextFileIndex.WHOLE_LINE:
        if wanted != string:
            raise ValueError(f"a whole line is of tf.string, got {wanted}")
        return convert(np.asarray([line.encode() for line in lines], object))
    if index < 0:
        raise ValueError(f"Invalid index {index}: TextFileIndex.WHOLE_LINE, LINE_NUMBER, or the number of a column")
    parts = [line.split(delimiter) for line in lines]
    for number, found in enumerate(parts):
        if len(found) <= index:
            raise invalid(None, f"Invalid number of columns in line {number}: expected {index + 1} but got {len(found)}")
    texts = [found[index] for found in parts]
    if wanted == string:
        return convert(np.asarray([t.encode() for t in texts], object))
    return convert(np.asarray([float(t) if wanted.is_floating else int(t) for t in texts], wanted.numpy))


@export("lookup.StaticVocabularyTable")
class StaticVocabularyTable:
    """The number of each key of a vocabulary; others are put by their fingerprint into buckets behind it."""

    def __init__(
        self,
        initializer: Any,
        num_oov_buckets: int,
        lookup_key_dtype: Any = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if int(num_oov_buckets) <= 0:
            raise ValueError("`oov_buckets` must be > 0; use StaticHashTable for a table without")
        self._buckets = int(num_oov_buckets)
        self._table = None if initializer is None else StaticHashTable(initializer, -1)
        if self._table is not None and self._table.value_dtype != int64:
            raise TypeError(f"Invalid `value_dtype`, expected {int64} but got {self._table.value_dtype}.")
        given = None if lookup_key_dtype is None else as_dtype(lookup_key_dtype)
        self.key_dtype: DType = given or (string if self._table is None else self._table.key_dtype)
        self.value_dtype: DType = int64

    def size(self, name: str | None = None) -> Tensor:
        """The length of the vocabulary and the number of buckets together."""
        return fresh(np.asarray(self._known() + self._buckets, np.int64)[()])

    def _known(self) -> int:
        return 0 if self._table is None else int(self._table.size())

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The number of each key."""
        if isinstance(keys, Composite):
            return keys._map_values(self.lookup)
        asked = convert(keys)
        if asked.dtype != self.key_dtype:
            raise TypeError(f"Dtype of argument `keys` must be {self.key_dtype}, received: {asked.dtype}")
        raw = host(asked)
        found = np.full(raw.shape, -1, np.int64) if self._table is None else np.array(host(self._table.lookup(asked)))
        start, flat = self._known(), found.reshape(-1)
        for i, key in enumerate(raw.ravel().tolist()):
            if flat[i] < 0:
                text = key if isinstance(key, bytes) else str(key).encode()
                flat[i] = start + fingerprint(text) % self._buckets
        return fresh(flat.reshape(raw.shape) if raw.shape else flat[0])

    __getitem__ = lookup
