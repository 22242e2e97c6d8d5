"""`tf.lookup`: tables from keys to values, which stay as they are."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import convert, fresh
from tapegrad.tf.dtypes import DType, numpy_dtype
from tapegrad.tf.export import export
from tapegrad.tf.specs import Composite
from tapegrad.tf.tensor import Tensor


@export("lookup.KeyValueTensorInitializer")
class KeyValueTensorInitializer:
    """Keys, and a value for each."""

    def __init__(
        self, keys: Any, values: Any, key_dtype: Any = None, value_dtype: Any = None, name: str | None = None
    ) -> None:
        self.keys, self.values = convert(keys, numpy_dtype(key_dtype)), convert(values, numpy_dtype(value_dtype))
        if self.keys.array.shape != self.values.array.shape:
            raise ValueError(f"keys and values must have one shape, got {tuple(self.keys.shape)} and {tuple(self.values.shape)}")


@export("lookup.StaticHashTable")
class StaticHashTable:
    """What stands for each key; `default_value` for what is no key."""

    def __init__(
        self, initializer: Any, default_value: Any, name: str | None = None, experimental_is_anonymous: bool = False
    ) -> None:
        if hasattr(initializer, "keys"):
            self._keys, self._values = initializer.keys, initializer.values
        else:  # one that has dtypes and no keys: the table is empty
            self._keys = convert([], numpy_dtype(initializer.key_dtype))
            self._values = convert([], numpy_dtype(initializer.value_dtype))
        keys, values = np.asarray(self._keys.array).ravel(), np.asarray(self._values.array).ravel()
        self._default = np.asarray(convert(default_value, values.dtype).array)[()]
        self._found: dict[Any, Any] = {}
        for k, v in zip(keys.tolist(), values, strict=True):
            if self._found.setdefault(k, v) != v:
                raise ValueError(f"StaticHashTable: the key {k!r} is there twice, with {self._found[k]!r} and {v!r}")

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys."""
        return self._keys.dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values."""
        return self._values.dtype

    def size(self, name: str | None = None) -> Tensor:
        """How many keys there are."""
        return fresh(np.asarray(len(self._found), np.int64)[()])

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """The value of each key."""
        if isinstance(keys, Composite):
            return keys._map_values(self.lookup)
        asked = convert(keys)
        if asked.dtype != self.key_dtype:
            raise TypeError(f"Dtype of argument `keys` must be {self.key_dtype}, received: {asked.dtype}")
        raw = np.asarray(asked.array)
        found = np.empty(raw.size, np.asarray(self._values.array).dtype)
        found[:] = [self._found.get(k, self._default) for k in raw.ravel().tolist()]
        return fresh(found.reshape(raw.shape))

    __getitem__ = lookup

    def export(self, name: str | None = None) -> tuple[Tensor, Tensor]:
        """All keys and all values."""
        return self._keys, self._values
