"""TFRecord files, and tensors as messages, with TensorFlow's dtypes and errors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapegrad.events import wire
from tapegrad.events.wire import fields, varints
from tapegrad.tf.dtypes import as_dtype
from tapegrad.tf.errors import DataLossError, NotFoundError


def read(name: str, opening: Callable[[], Any] | None = None) -> Iterator[bytes]:
    """The records of a file; their lengths are checked, their contents only for being all there."""
    try:
        f = open(name, "rb") if opening is None else opening()  # noqa: SIM115  closed below, also when the iteration is dropped
    except FileNotFoundError:
        raise NotFoundError(None, None, f"{name}; No such file or directory") from None
    with f:
        try:
            yield from wire.records(f)
        except wire.DamagedError as error:
            raise DataLossError(None, None, f"{error} in {name}") from None


def tensor_bytes(raw: Any) -> bytes:
    """An array as a TensorProto."""
    raw = np.asarray(raw)
    return wire.tensor_bytes(raw, as_dtype(raw.dtype).as_datatype_enum)


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
