"""Records with their checksums, and the wire format of protocol buffers, as far as events, tensors and examples need it."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

import numpy as np

from tapegrad.errors import TapegradError


class DamagedError(TapegradError, ValueError):
    """A file of records, or a message in one, that ends too early or was changed."""


# -- checksums and records -------------------------------------------------------------------------------
def _table() -> list[int]:
    found = []
    for n in range(256):
        c = n
        for _ in range(8):
            c = (c >> 1) ^ 0x82F63B78 if c & 1 else c >> 1
        found.append(c)
    return found


_CRC = _table()


def masked_crc(data: bytes) -> int:
    """The CRC-32C of bytes, rotated and shifted as record files have it."""
    c = 0xFFFFFFFF
    table = _CRC
    for b in data:
        c = table[(c ^ b) & 0xFF] ^ (c >> 8)
    c ^= 0xFFFFFFFF
    return (((c >> 15) | (c << 17)) + 0xA282EAD8) & 0xFFFFFFFF


def framed(data: bytes) -> bytes:
    """A record as it stands in a file."""
    length = struct.pack("<Q", len(data))
    return length + struct.pack("<I", masked_crc(length)) + data + struct.pack("<I", masked_crc(data))


def records(file: BinaryIO) -> Iterator[bytes]:
    """The records of a file; their lengths are checked, their contents only for being all there.

    Raises DamagedError where the file is no file of records, or ends inside one.
    """
    while head := file.read(12):
        if len(head) < 12 or masked_crc(head[:8]) != struct.unpack("<I", head[8:])[0]:
            raise DamagedError(f"corrupted record at {file.tell() - len(head)}")
        (n,) = struct.unpack("<Q", head[:8])
        data, end = file.read(n), file.read(4)
        if len(data) < n or len(end) < 4:
            raise DamagedError("truncated record")
        yield data


# -- messages -----------------------------------------------------------------------------------------------
def varint(n: int) -> bytes:
    """An integer of up to 64 bits."""
    n &= 2**64 - 1
    found = bytearray()
    while n > 0x7F:
        found.append(n & 0x7F | 0x80)
        n >>= 7
    found.append(n)
    return bytes(found)


def field(number: int, value: Any) -> bytes:
    """A field: bytes (messages, text), an integer, or a float, which is a double."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else bytes(value)
    return varint(number << 3 | 2) + varint(len(data)) + data


def single(number: int, value: float) -> bytes:
    """A field that is a float of 32 bits; what is too large for one is infinite."""
    with np.errstate(over="ignore"):
        return varint(number << 3 | 5) + np.float32(value).tobytes()


def doubles(number: int, values: Iterable[float]) -> bytes:
    """A field that is a packed list of doubles."""
    return field(number, np.asarray(values, "<f8").tobytes())


def fields(data: bytes) -> Iterator[tuple[int, Any]]:
    """The numbers and values of the fields of a message: integers, or bytes."""
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = _read_varint(data, at)
            yield key >> 3, value
            continue
        size = {1: 8, 5: 4}.get(kind)
        if size is None:
            if kind != 2:
                raise DamagedError(f"a message with a field of kind {kind}")
            size, at = _read_varint(data, at)
        yield key >> 3, data[at : at + size]
        at += size


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
        if at >= len(data):
            raise DamagedError("a message that ends inside a number")
        b = data[at]
        at += 1
        found |= (b & 0x7F) << shift
        if b < 0x80:
            return found, at
        shift += 7


def varints(data: Any) -> list[int]:
    """Packed integers, signed."""
    if isinstance(data, int):
        return [data - 2**64 if data >= 2**63 else data]
    found, at = [], 0
    while at < len(data):
        n, at = _read_varint(data, at)
        found.append(n - 2**64 if n >= 2**63 else n)
    return found


# -- tensors ------------------------------------------------------------------------------------------------
#: What tensors of text are called in a message.
STRING = 7


def tensor_bytes(raw: Any, kind: int) -> bytes:
    """An array as a TensorProto; `kind` is its dtype's number there, STRING for an array of bytes or text."""
    raw = np.asarray(raw)
    shape = b"".join(field(2, field(1, int(n)) if n else b"") for n in raw.shape)
    head = field(1, kind) + field(2, shape)
    if kind == STRING:
        return head + b"".join(field(8, x) for x in raw.ravel().tolist())
    return head + field(4, np.ascontiguousarray(raw).tobytes())
