"""TFRecord files, and the wire format of protocol buffers, as far as examples, tensors and summaries need it."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapegrad.tf.dtypes import as_dtype
from tapegrad.tf.errors import DataLossError, NotFoundError


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
    """The CRC-32C of bytes, rotated and shifted as TFRecord files have it."""
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


def read(name: str) -> Iterator[bytes]:
    """The records of a file; their lengths are checked, their contents only for being all there."""
    try:
        f = open(name, "rb")  # noqa: SIM115  closed below, also when the iteration is dropped
    except FileNotFoundError:
        raise NotFoundError(None, None, f"{name}; No such file or directory") from None
    with f:
        while head := f.read(12):
            if len(head) < 12 or masked_crc(head[:8]) != struct.unpack("<I", head[8:])[0]:
                raise DataLossError(None, None, f"corrupted record at {f.tell() - len(head)} in {name}")
            (n,) = struct.unpack("<Q", head[:8])
            data, end = f.read(n), f.read(4)
            if len(data) < n or len(end) < 4:
                raise DataLossError(None, None, f"truncated record in {name}")
            yield data


# -- the wire format ----------------------------------------------------------------------------------------
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
                raise DataLossError(None, None, f"a message with a field of kind {kind}")
            size, at = _read_varint(data, at)
        yield key >> 3, data[at : at + size]
        at += size


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    found = shift = 0
    while True:
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
def tensor_bytes(raw: Any) -> bytes:
    """An array as a TensorProto."""
    raw = np.asarray(raw)
    dtype = as_dtype(raw.dtype)
    shape = b"".join(field(2, field(1, int(n)) if n else b"") for n in raw.shape)
    head = field(1, dtype.as_datatype_enum) + field(2, shape)
    if dtype.name == "string":
        return head + b"".join(field(8, x) for x in raw.ravel().tolist())
    return head + field(4, np.ascontiguousarray(raw).tobytes())


def tensor_of(data: bytes) -> np.ndarray[Any, Any]:
    """The array of a TensorProto."""
    kind, shape, content, texts, numbers = 1, [], b"", [], []
    for number, value in fields(data):
        if number == 1:
            kind = value
        elif number == 2:
            shape = [next((v for k, v in fields(dim) if k == 1), 0) for n, dim in fields(value) if n == 2]
        elif number == 4:
            content = value
        elif number == 8:
            texts.append(value)
        elif number in (5, 6):
            numbers.append(np.frombuffer(value, np.float32 if number == 5 else np.float64) if isinstance(value, bytes) else value)
        elif number in (7, 10, 11):
            numbers.append(np.asarray(varints(value)))
    dtype = as_dtype(kind).numpy
    if texts:
        found = np.empty(len(texts), object)
        found[:] = texts
        return found.reshape(shape)
    if content:
        return np.frombuffer(content, dtype).reshape(shape).copy()
    flat = np.concatenate(numbers).astype(dtype) if numbers else np.zeros(0, dtype)
    return np.resize(flat, int(np.prod(shape, dtype=int))).reshape(shape) if flat.size else np.zeros(shape, dtype)
