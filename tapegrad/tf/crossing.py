"""Crosses of features, as text or hashed: `tf.sparse.cross` and `tf.ragged.cross`."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.fingerprints import fingerprint
from tapegrad.tf.ragged_tensor import RaggedTensor
from tapegrad.tf.sparse_tensor import SparseTensor

_ALL = (1 << 64) - 1
_FACTOR = 0xC6A4A7935BD1E995
#: The hash with which TensorFlow begins, unless it is told another.
FIRST = 0xDECAFCAFFE


def _folded(x: int) -> int:
    return x ^ (x >> 47)


def _with(before: int, feature: int) -> int:
    """A hash with one more feature in it."""
    found = before ^ _FACTOR ^ (_folded(feature * _FACTOR & _ALL) * _FACTOR & _ALL)
    found = _folded(found * _FACTOR & _ALL) * _FACTOR & _ALL
    return _folded(found)


def _rows(x: Any, what: str) -> list[list[Any]]:
    """The features of each row of a ragged, sparse or dense tensor: bytes or integers."""
    if isinstance(x, RaggedTensor):
        if x.ragged_rank > 1:
            raise ValueError(f"{what}: expected ragged tensors of two axes, got one of {x.shape}")
        flat, splits = host(x.flat_values).tolist(), host(x.row_splits)
        return [flat[a:b] for a, b in itertools.pairwise(splits)]
    if isinstance(x, SparseTensor):
        rows: list[list[Any]] = [[] for _ in range(int(x.lengths[0]))]
        for place, value in zip(host(x.indices), host(x.values).tolist(), strict=True):
            rows[int(place[0])].append(value)
        return rows
    raw = host(convert(x))
    if raw.ndim != 2:
        raise ValueError(f"{what}: expected tensors of two axes, got one of shape {raw.shape}")
    found: list[list[Any]] = raw.tolist()
    return found


def _crossed(inputs: Any, what: str, join: Any) -> list[list[Any]]:
    if not isinstance(inputs, list | tuple):
        raise TypeError(f"{what}: expected a list of tensors as inputs, got {type(inputs).__name__}")
    if not inputs:
        raise ValueError(f"{what}: expected at least one tensor in inputs")
    columns = [_rows(x, what) for x in inputs]
    if len({len(c) for c in columns}) > 1:
        raise invalid(None, f"{what}: inputs must have as many rows each, got {[len(c) for c in columns]}")
    return [[join(parts) for parts in itertools.product(*row)] for row in zip(*columns, strict=True)]


def _joined(separator: bytes) -> Any:
    return lambda parts: separator.join(p if isinstance(p, bytes) else str(p).encode() for p in parts)


def _hashed(num_buckets: Any, hash_key: Any) -> Any:
    buckets, first = int(num_buckets), FIRST if hash_key is None else int(hash_key)
    if buckets < 0:
        raise ValueError(f"num_buckets must be >= 0, got {buckets}")

    def join(parts: Any) -> int:
        found = first & _ALL
        for p in parts:
            found = _with(found, fingerprint(p) if isinstance(p, bytes) else int(p) & _ALL)
        return found % (buckets or 2**63 - 1)

    return join


def _sparse(rows: list[list[Any]], dtype: Any) -> SparseTensor:
    places = [[i, k] for i, row in enumerate(rows) for k in range(len(row))]
    values = np.array([v for row in rows for v in row], dtype)
    widest = max((len(row) for row in rows), default=0)
    return SparseTensor(np.array(places, np.int64).reshape(-1, 2), fresh(values), [len(rows), widest])


def _ragged(rows: list[list[Any]], dtype: Any) -> RaggedTensor:
    return RaggedTensor.from_row_lengths(fresh(np.array([v for row in rows for v in row], dtype)), [len(row) for row in rows])


@export("sparse.cross")
def cross(inputs: Any, name: str | None = None, separator: Any = None) -> SparseTensor:
    """All combinations of a feature of each input, row by row, as text joined by `separator` ("_X_")."""
    between = "_X_" if separator is None else separator
    return _sparse(_crossed(inputs, "tf.sparse.cross", _joined(between.encode() if isinstance(between, str) else between)), object)


@export("sparse.cross_hashed")
def cross_hashed(inputs: Any, num_buckets: Any = 0, hash_key: Any = None, name: str | None = None) -> SparseTensor:
    """All combinations of a feature of each input, row by row, as the numbers of buckets."""
    return _sparse(_crossed(inputs, "tf.sparse.cross_hashed", _hashed(num_buckets, hash_key)), np.int64)


@export("ragged.cross")
def ragged_cross(inputs: Any, name: str | None = None) -> RaggedTensor:
    """All combinations of a feature of each input, row by row, as text joined by "_X_".

    >>> import tapegrad.tf as tf
    >>> tf.ragged.cross([tf.ragged.constant([["a"], ["b", "c"]]), tf.ragged.constant([["d"], ["e"]])]).to_list()
    [[b'a_X_d'], [b'b_X_e', b'c_X_e']]
    """
    return _ragged(_crossed(inputs, "tf.ragged.cross", _joined(b"_X_")), object)


@export("ragged.cross_hashed")
def ragged_cross_hashed(inputs: Any, num_buckets: Any = 0, hash_key: Any = None, name: str | None = None) -> RaggedTensor:
    """All combinations of a feature of each input, row by row, as the numbers of buckets."""
    return _ragged(_crossed(inputs, "tf.ragged.cross_hashed", _hashed(num_buckets, hash_key)), np.int64)
