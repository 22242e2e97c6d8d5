"""`tf.train.Example` and its parts: named lists of bytes, floats or integers, as TFRecord files hold them."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np

from tapegrad.events.wire import field, fields, varint, varints


class _List:
    """A list of values of one kind."""

    number = 0

    def __init__(self, value: Any = ()) -> None:
        self.value = list(value)

    def _data(self) -> bytes:
        raise NotImplementedError

    def _read(self, data: bytes) -> None:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.value == self.value

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}(value={self.value!r})"


class BytesList(_List):
    """A list of bytes."""

    number = 1

    def _data(self) -> bytes:
        return b"".join(field(1, v) for v in self.value)

    def _read(self, data: bytes) -> None:
        self.value = [v for n, v in fields(data) if n == 1]


class FloatList(_List):
    """A list of floats."""

    number = 2

    def _data(self) -> bytes:
        values = [float(v) for v in np.ravel(self.value)]
        return field(1, struct.pack(f"<{len(values)}f", *values))

    def _read(self, data: bytes) -> None:
        found = [np.frombuffer(v, "<f4") for n, v in fields(data) if n == 1]
        self.value = np.concatenate(found).tolist() if found else []


class Int64List(_List):
    """A list of integers."""

    number = 3

    def _data(self) -> bytes:
        return field(1, b"".join(varint(int(v)) for v in np.ravel(self.value)))

    def _read(self, data: bytes) -> None:
        self.value = [x for n, v in fields(data) if n == 1 for x in varints(v)]


_KINDS = {"bytes_list": BytesList, "float_list": FloatList, "int64_list": Int64List}


class Feature:
    """One of three lists."""

    def __init__(self, bytes_list: Any = None, float_list: Any = None, int64_list: Any = None) -> None:
        self.bytes_list = bytes_list or BytesList()
        self.float_list = float_list or FloatList()
        self.int64_list = int64_list or Int64List()
        given = {"bytes_list": bytes_list, "float_list": float_list, "int64_list": int64_list}
        self._kind = next((k for k, v in given.items() if v is not None), None)

    def WhichOneof(self, name: str) -> str | None:
        """The name of the list that is there."""
        return self._kind

    def _data(self) -> bytes:
        if self._kind is None:
            return b""
        chosen = getattr(self, self._kind)
        return field(chosen.number, chosen._data())

    @classmethod
    def _of(cls, data: bytes) -> Feature:
        made = cls()
        for number, value in fields(data):
            for name, kind in _KINDS.items():
                if kind.number == number:
                    found = kind()
                    found._read(value)
                    setattr(made, name, found)
                    made._kind = name
        return made

    def __repr__(self) -> str:
        return f"Feature({self._kind}={getattr(self, self._kind) if self._kind else None})"


class Features:
    """Features by their names."""

    def __init__(self, feature: Any = None) -> None:
        self.feature: dict[str, Feature] = dict(feature or {})

    def _data(self) -> bytes:
        return b"".join(field(1, field(1, k) + field(2, v._data())) for k, v in sorted(self.feature.items()))

    @classmethod
    def _of(cls, data: bytes) -> Features:
        made = cls()
        for number, entry in fields(data):
            if number == 1:
                parts = dict(fields(entry))
                made.feature[parts.get(1, b"").decode()] = Feature._of(parts.get(2, b""))
        return made

    def __repr__(self) -> str:
        return f"Features({self.feature!r})"


class Example:
    """One example of a data set."""

    def __init__(self, features: Any = None) -> None:
        self.features = features or Features()

    def SerializeToString(self) -> bytes:
        """The example as bytes."""
        return field(1, self.features._data())

    def ParseFromString(self, data: bytes) -> int:
        """Read the example from bytes; gives their number."""
        self.features = Features()
        for number, value in fields(data):
            if number == 1:
                self.features = Features._of(value)
        return len(data)

    @classmethod
    def FromString(cls, data: bytes) -> Example:
        """The example that bytes hold."""
        made = cls()
        made.ParseFromString(data)
        return made

    def __repr__(self) -> str:
        return f"Example({self.features!r})"
