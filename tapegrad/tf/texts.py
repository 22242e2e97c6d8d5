"""Names of files and bytes, out of tensors; bytes as tensors."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from tapegrad.tf.convert import convert, fresh
from tapegrad.tf.dtypes import as_dtype
from tapegrad.tf.errors import InvalidArgumentError
from tapegrad.tf.tensor import Tensor


def name_of(x: Any) -> str:
    """A file's name, as Python has it."""
    if isinstance(x, str | os.PathLike):
        return os.fspath(x)
    found = convert(x).numpy()
    return found.decode() if isinstance(found, bytes) else str(found)


def texts(x: Any) -> Any:
    """The array of a tensor of strings; what is no tensor has to be made of strings."""
    raw = convert(x).array
    if raw.dtype.kind == "O":
        return np.asarray(raw, object)
    if not hasattr(x, "dtype"):
        raise TypeError(f"Cannot convert {x!r} to EagerTensor of dtype string")
    raise InvalidArgumentError(None, None, f"expected a tensor of strings, got {as_dtype(raw.dtype).name}")


def bytes_of(x: Any) -> bytes:
    if isinstance(x, bytes):
        return x
    found = convert(x).numpy()
    if not isinstance(found, bytes):
        raise InvalidArgumentError(None, None, f"expected a tensor of one string, got {x!r}")
    return found


def string(x: bytes) -> Tensor:
    """Bytes as a tensor."""
    found = np.empty((), object)
    found[()] = x
    return fresh(found)
