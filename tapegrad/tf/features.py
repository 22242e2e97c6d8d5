"""Features of examples in records: what is expected of each, and how they are parsed."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.composite_features import RaggedFeature, SparseFeature
from tapegrad.tf.convert import convert, fresh
from tapegrad.tf.dtypes import DType, as_dtype
from tapegrad.tf.errors import InvalidArgumentError
from tapegrad.tf.examples import Example, Feature
from tapegrad.tf.export import EXPORTS
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
        self.allow_missing = allow_missing


def parse_single_example(serialized: Any, features: Any, example_names: Any = None, name: str | None = None) -> dict[str, Any]:
    """The features of one example."""
    return features_of(Example.FromString(bytes_of(serialized)).features.feature, features)


def features_of(found: dict[str, Feature], features: Any) -> dict[str, Any]:
    """What is wanted of the features of an example, or of the whole of a sequence."""
    return {key: _feature(key, found, wanted) for key, wanted in features.items()}


def parse_example(serialized: Any, features: Any, example_names: Any = None, name: str | None = None) -> dict[str, Any]:
    """The features of several examples, stacked."""
    rows = [parse_single_example(string(b), features) for b in convert(serialized).array.ravel().tolist()]
    return {k: together([r[k] for r in rows], wanted) for k, wanted in features.items()}


def together(rows: list[Any], wanted: Any) -> Any:
    """A feature of several examples: stacked, or filled up to the longest."""
    if isinstance(wanted, RaggedFeature):
        return EXPORTS["ragged.stack"](rows).with_row_splits_dtype(wanted.row_splits_dtype)
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


def numbers_of(key: str, feature: Any, dtype: DType) -> Any:
    """The list of a feature as an array; empty where there is none."""
    kind = {"string": "bytes_list", "float32": "float_list", "int64": "int64_list"}.get(dtype.name)
    if kind is None:
        raise InvalidArgumentError(None, None, f"Key: {key}.  a feature is of tf.string, tf.float32 or tf.int64, not {dtype!r}")
    values = [] if feature is None else getattr(feature, kind).value
    if feature is not None and feature.WhichOneof("kind") not in (None, kind):
        raise InvalidArgumentError(None, None, f"Key: {key}.  Data types don't match. Expected type: {dtype.name}")
    flat = np.empty(len(values), dtype.numpy)
    flat[:] = values
    return flat


def _feature(key: str, found: dict[str, Feature], wanted: Any) -> Any:
    own = getattr(wanted, "value_key", None) or key
    flat = numbers_of(own, found.get(own), wanted.dtype)

    def list_of(name: str, dtype: DType) -> Any:
        return numbers_of(name, found.get(name), dtype)

    if isinstance(wanted, RaggedFeature):
        return wanted.rows(flat, list_of)
    if isinstance(wanted, SparseFeature):
        return wanted.tensor(key, flat, list_of)
    if isinstance(wanted, VarLenFeature):
        return placed(np.arange(len(flat))[:, None], fresh(flat), [len(flat)])
    size = int(np.prod(wanted.shape, dtype=int))
    if isinstance(wanted, FixedLenSequenceFeature):
        if not wanted.allow_missing:
            raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
        if size and len(flat) % size:
            raise InvalidArgumentError(
                None, None, f"Key: {key}.  Number of values must be a multiple of {size}, the size of {wanted.shape}, got {len(flat)}"
            )
        return fresh(flat.reshape(-1, *wanted.shape))
    if not flat.size and wanted.default_value is not None:
        return convert(np.broadcast_to(np.asarray(wanted.default_value, wanted.dtype.numpy), wanted.shape), wanted.dtype.numpy)
    if not flat.size and size:
        raise InvalidArgumentError(
            None, None, f"Feature: {key} (data type: {wanted.dtype.name}) is required but could not be found."
        )
    if len(flat) != size:
        raise InvalidArgumentError(
            None, None, f"Key: {key}.  Can't parse serialized Example: expected {size} values, got {len(flat)}"
        )
    whole = flat.reshape(wanted.shape)
    return fresh(whole if whole.shape or whole.dtype.kind == "O" else whole[()])
