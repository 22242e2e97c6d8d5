"""`tf.train.SequenceExample`, an example with lists of features, and how its features are parsed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from tapegrad.events.wire import field, fields
from tapegrad.tf.composite_features import RaggedFeature
from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.errors import invalid
from tapegrad.tf.examples import Feature, Features, Message, block, quoted
from tapegrad.tf.export import EXPORTS
from tapegrad.tf.features import FixedLenSequenceFeature, VarLenFeature, features_of, numbers_of, together
from tapegrad.tf.sparse_tensor import SparseTensor, placed
from tapegrad.tf.texts import bytes_of


class FeatureList(Message):
    """Features one after the other: the steps of a sequence."""

    def __init__(self, feature: Any = None) -> None:
        self.feature: list[Feature] = list(feature or [])

    def _data(self) -> bytes:
        return b"".join(field(1, f._data()) for f in self.feature)

    def _read(self, data: bytes) -> None:
        self.feature = [Feature.FromString(value) for number, value in fields(data) if number == 1]

    def _lines(self) -> Iterator[str]:
        for feature in self.feature:
            yield from block("feature", feature)


class FeatureLists(Message):
    """Lists of features by their names."""

    def __init__(self, feature_list: Any = None) -> None:
        self.feature_list: dict[str, FeatureList] = dict(feature_list or {})

    def _data(self) -> bytes:
        return b"".join(field(1, field(1, k) + field(2, v._data())) for k, v in sorted(self.feature_list.items()))

    def _read(self, data: bytes) -> None:
        self.feature_list = {}
        for number, entry in fields(data):
            if number == 1:
                parts = dict(fields(entry))
                self.feature_list[parts.get(1, b"").decode()] = FeatureList.FromString(parts.get(2, b""))

    def _lines(self) -> Iterator[str]:
        for name, features in sorted(self.feature_list.items()):
            yield "feature_list {"
            yield f"  key: {quoted(name.encode())}"
            for line in block("value", features):
                yield f"  {line}"
            yield "}"


class SequenceExample(Message):
    """An example with features of the whole, and lists of features of its steps."""

    def __init__(self, context: Any = None, feature_lists: Any = None) -> None:
        self.context, self.feature_lists = context or Features(), feature_lists or FeatureLists()

    def _data(self) -> bytes:
        parts = ((1, self.context._data()), (2, self.feature_lists._data()))
        return b"".join(field(number, data) for number, data in parts if data)

    def _read(self, data: bytes) -> None:
        self.context, self.feature_lists = Features(), FeatureLists()
        for number, value in fields(data):
            if number == 1:
                self.context = Features.FromString(value)
            elif number == 2:
                self.feature_lists = FeatureLists.FromString(value)

    def _lines(self) -> Iterator[str]:
        for name, part in (("context", self.context), ("feature_lists", self.feature_lists)):
            if part._data():
                yield from block(name, part)


def parse_single_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_name: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The features of the whole and those of the steps, of one sequence."""
    _check(context_features, sequence_features)
    context, steps = _parsed(bytes_of(serialized), context_features or {}, sequence_features or {})
    return context, {k: _sparse(v) if isinstance(v, _Rows) else v for k, v in steps.items()}


def parse_sequence_example(
    serialized: Any,
    context_features: Any = None,
    sequence_features: Any = None,
    example_names: Any = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The features of several sequences, filled up to the longest, and how long each is where its steps have one shape."""
    _check(context_features, sequence_features)
    wholes, wanted = context_features or {}, sequence_features or {}
    rows = [_parsed(b, wholes, wanted) for b in convert(serialized).array.ravel().tolist()]
    context = {k: together([c[k] for c, _ in rows], w) for k, w in wholes.items()}
    steps: dict[str, Any] = {}
    lengths: dict[str, Any] = {}
    for key, w in wanted.items():
        found = [s[key] for _, s in rows]
        if isinstance(w, VarLenFeature):
            steps[key] = SparseTensor._stacked([_sparse(v) for v in found])
        elif isinstance(w, RaggedFeature):
            steps[key] = EXPORTS["ragged.stack"](found)
        else:
            steps[key] = together(found, w)
            lengths[key] = fresh(np.array([len(host(v)) for v in found], np.int64))
    return context, steps, lengths


class _Rows(list[Any]):
    """The values of each step, as arrays."""


def _check(context: Any, sequence: Any) -> None:
    if not context and not sequence:
        raise ValueError("Both `context_features` and `sequence_features` are empty: at least one should have features.")
    for key, wanted in (sequence or {}).items():
        if not isinstance(wanted, FixedLenSequenceFeature | VarLenFeature | RaggedFeature):
            raise ValueError(f"Unsupported {type(wanted).__name__} for the steps {key!r}: a FixedLenSequenceFeature is one of each step")


def _parsed(data: bytes, context: Any, wanted: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    try:
        example = SequenceExample.FromString(data)
    except (ValueError, IndexError) as error:
        raise invalid("ParseSequenceExampleV2", f"Could not parse example input, value: {data[:50]!r}: {error}") from None
    lists = example.feature_lists.feature_list
    return features_of(example.context.feature, context), {k: _steps(k, lists, w) for k, w in wanted.items()}


def _steps(key: str, lists: dict[str, FeatureList], wanted: Any) -> Any:
    """The steps of a list of features, as what is wanted of them."""
    own = getattr(wanted, "value_key", None) or key
    if own not in lists and isinstance(wanted, FixedLenSequenceFeature) and not wanted.allow_missing:
        raise invalid(
            "ParseSequenceExampleV2", f"Feature list: {key} (data type: {wanted.dtype.name}) is required but could not be found."
        )
    features = lists.get(own, FeatureList()).feature
    rows = _Rows(numbers_of(f"{key}, Index: {k}", f, wanted.dtype) for k, f in enumerate(features))
    if isinstance(wanted, VarLenFeature):
        return rows
    empty = np.empty(0, wanted.dtype.numpy)
    if isinstance(wanted, RaggedFeature):
        if wanted.partitions:
            raise NotImplementedError(f"RaggedFeature {key!r}: steps of sequences are rows themselves; partitions are for examples")
        flat = fresh(np.concatenate([empty, *rows]))
        made = EXPORTS["RaggedTensor"].from_row_lengths(flat, np.array([len(r) for r in rows], np.int64))
        return made.with_row_splits_dtype(wanted.row_splits_dtype)
    size = int(np.prod(wanted.shape, dtype=int))
    for k, row in enumerate(rows):
        if len(row) != size:
            raise invalid("ParseSequenceExampleV2", f"Key: {key}, Index: {k}.  Number of values != expected: {len(row)} and {size}")
    return fresh(np.concatenate([empty, *rows]).reshape(len(rows), *wanted.shape))


def _sparse(rows: _Rows) -> SparseTensor:
    """Steps of any length as a sparse matrix, a row for each."""
    at = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    flat = np.concatenate(rows) if rows else np.empty(0, np.float32)
    return placed(np.array(at, np.int64).reshape(-1, 2), fresh(flat), [len(rows), max(map(len, rows), default=0)])
