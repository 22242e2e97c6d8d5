"""Features of examples in records: what is expected of each, and how they are parsed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import convert, fresh
from tapegrad.tf.dtypes import as_dtype
from tapegrad.tf.errors import InvalidArgumentError
from tapegrad.tf.examples import Example
from tapegrad.tf.shapes import lengths
from tapegrad.tf.sparse_tensor import SparseTensor, placed
from tapegrad.tf.texts import bytes_of, string


class FixedLenFeature:
    """A feature of a fixed shape."""

    def __init__(self, shape: Any, dtype: Any, default_value: Any = None) -> None:
        self.shape, self.dtype, self.default_value = lengths(shape), as_dtype(dtype), default_value


class VarLenFeature:
    """A feature of any length: a sparse vector of one example, a sparse matrix of several."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = as_dtype(dtype)


class FixedLenSequenceFeature:
    """A feature of any number of values of a fixed shape; several examples are filled up to the longest."""

    def __init__(self, shape: Any, dtype: Any, allow_missing: bool = False, default_value: Any = None) -> None:
        self.shape, self.dtype, self.default_value = lengths(shape), as_dtype(dtype), default_value
        if not allow_missing:
            raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")


def parse_single_example(serialized: Any, features: Any, example_names: Any = None, name: str | None = None) -> dict[str, Any]:
    """The features of one example."""
    found = Example.FromString(bytes_of(serialized)).features.feature
    return {key: _feature(key, found.get(key), wanted) for key, wanted in features.items()}


def parse_example(serialized: Any, features: Any, example_names: Any = None, name: str | None = None) -> dict[str, Any]:
    """The features of several examples, stacked."""
    rows = [parse_single_example(string(b), features) for b in convert(serialized).array.ravel().tolist()]
    return {k: _together([r[k] for r in rows], wanted) for k, wanted in features.items()}


def _together(rows: list[Any], wanted: Any) -> Any:
    if isinstance(rows[0], SparseTensor):
        return SparseTensor._stacked(rows)
    raws = [np.asarray(r.array) for r in rows]
    if isinstance(wanted, FixedLenSequenceFeature):
        fill = (b"" if raws[0].dtype.kind == "O" else 0) if wanted.default_value is None else wanted.default_value
        whole = np.full((len(raws), max(map(len, raws)), *raws[0].shape[1:]), fill, raws[0].dtype)
        for place, raw in zip(whole, raws, strict=True):
            place[: len(raw)] = raw
        return fresh(whole)
    return fresh(np.stack(raws))


def _feature(key: str, feature: Any, wanted: Any) -> Any:
    kind = {"string": "bytes_list", "float32": "float_list", "int64": "int64_list"}.get(wanted.dtype.name)
    if kind is None:
        raise InvalidArgumentError(
            None, None, f"Key: {key}.  a feature is of tf.string, tf.float32 or tf.int64, not {wanted.dtype!r}"
        )
    values = [] if feature is None else getattr(feature, kind).value
    if feature is not None and feature.WhichOneof("kind") not in (None, kind):
        raise InvalidArgumentError(None, None, f"Key: {key}.  Data types don't match. Expected type: {wanted.dtype.name}")
    flat = np.empty(len(values), wanted.dtype.numpy)
    flat[:] = values
    if isinstance(wanted, VarLenFeature):
        return placed(np.arange(len(flat))[:, None], fresh(flat), [len(flat)])
    size = int(np.prod(wanted.shape, dtype=int))
    if isinstance(wanted, FixedLenSequenceFeature):
        if size and len(flat) % size:
            raise InvalidArgumentError(
                None, None, f"Key: {key}.  Number of values must be a multiple of {size}, the size of {wanted.shape}, got {len(flat)}"
            )
        return fresh(flat.reshape(-1, *wanted.shape))
    if not values and wanted.default_value is not None:
        return convert(np.broadcast_to(np.asarray(wanted.default_value, wanted.dtype.numpy), wanted.shape), wanted.dtype.numpy)
    if not values and size:
        raise InvalidArgumentError(
            None, None, f"Feature: {key} (data type: {wanted.dtype.name}) is required but could not be found."
        )
    if len(values) != size:
        raise InvalidArgumentError(
            None, None, f"Key: {key}.  Can't parse serialized Example: expected {size} values, got {len(values)}"
        )
    found = flat.reshape(wanted.shape)
    return fresh(found if found.shape or found.dtype.kind == "O" else found[()])
