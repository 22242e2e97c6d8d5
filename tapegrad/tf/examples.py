"""`tf.train.Example` and its parts: named lists of bytes, floats or integers, as TFRecord files hold them."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from tapegrad.events.wire import field, fields, varint, varints


class Message:
    """What is written as bytes, read from them, and shown as text."""

    def _data(self) -> bytes:
        raise NotImplementedError

    def _read(self, data: bytes) -> None:
        raise NotImplementedError

    def _lines(self) -> Iterator[str]:
        raise NotImplementedError

    def SerializeToString(self) -> bytes:
        """The message as bytes."""
        return self._data()

    def ParseFromString(self, data: bytes) -> int:
        """Read the message from bytes; gives their number."""
        self._read(data)
        return len(data)

    @classmethod
    def FromString(cls, data: bytes) -> Self:
        """The message that bytes hold."""
        made = cls()
        made._read(data)
        return made

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._data() == self._data()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return "".join(f"{line}\n" for line in self._lines())


def block(name: str, inner: Message) -> Iterator[str]:
    """The lines of a message inside another."""
    yield f"{name} {{"
    for line in inner._lines():
        yield f"  {line}"
    yield "}"


def quoted(text: bytes) -> str:
    """Bytes in quotes, with escapes for what is not plain ASCII."""
    plain = {10: r"\n", 13: r"\r", 9: r"\t", 34: r"\"", 39: r"\'", 92: r"\\"}
    return '"' + "".join(plain.get(b) or (chr(b) if 32 <= b < 127 else f"\\{b:03o}") for b in text) + '"'


class _List(Message):
    """A list of values of one kind."""

    number = 0

    def __init__(self, value: Any = ()) -> None:
        self.value = list(value)

    def _shown(self, x: Any) -> str:
        return str(int(x))

    def _lines(self) -> Iterator[str]:
        for x in self.value:
            yield f"value: {self._shown(x)}"


class BytesList(_List):
    """A list of bytes."""

    number = 1

    def _shown(self, x: Any) -> str:
        return quoted(x)

    def _data(self) -> bytes:
        return b"".join(field(1, v) for v in self.value)

    def _read(self, data: bytes) -> None:
        self.value = [v for n, v in fields(data) if n == 1]


class FloatList(_List):
    """A list of floats."""

    number = 2

    def _shown(self, x: Any) -> str:
        text = f"{np.float32(x):.6g}"  # six digits if they tell it from its neighbours, else the nine that always do
        return text if np.isnan(x) or np.float32(text) == np.float32(x) else f"{np.float32(x):.9g}"

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


class Feature(Message):
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

    def _read(self, data: bytes) -> None:
        self.__init__()  # type: ignore[misc]  # as a new one
        for number, value in fields(data):
            for name, kind in _KINDS.items():
                if kind.number == number:
                    found = kind()
                    found._read(value)
                    setattr(self, name, found)
                    self._kind = name

    def _lines(self) -> Iterator[str]:
        if self._kind is not None:
            yield from block(self._kind, getattr(self, self._kind))


class Features(Message):
    """Features by their names."""

    def __init__(self, feature: Any = None) -> None:
        self.feature: dict[str, Feature] = dict(feature or {})

    def _data(self) -> bytes:
        return b"".join(field(1, field(1, k) + field(2, v._data())) for k, v in sorted(self.feature.items()))

    def _read(self, data: bytes) -> None:
        self.feature = {}
        for number, entry in fields(data):
            if number == 1:
                parts = dict(fields(entry))
                self.feature[parts.get(1, b"").decode()] = Feature.FromString(parts.get(2, b""))

    def _lines(self) -> Iterator[str]:
        for name, feature in sorted(self.feature.items()):
            yield "feature {"
            yield f"  key: {quoted(name.encode())}"
            for line in block("value", feature):
                yield f"  {line}"
            yield "}"


class Example(Message):
    """One example of a data set."""

    def __init__(self, features: Any = None) -> None:
        self.features = features or Features()

    def _data(self) -> bytes:
        return field(1, self.features._data())

    def _read(self, data: bytes) -> None:
        self.features = Features()
        for number, value in fields(data):
            if number == 1:
                self.features = Features.FromString(value)

    def _lines(self) -> Iterator[str]:
        return block("features", self.features)
