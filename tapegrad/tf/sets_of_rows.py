"""`tf.sets`, of what stands along the last axis; and how far two sequences are from each other."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.sparse_tensor import SparseTensor
from tapegrad.tf.tensor import Tensor

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "string")


def _rows(x: Any, what: str) -> tuple[dict[tuple[int, ...], list[Any]], tuple[int, ...], Any]:
    """What stands in each row, by the place of the row; the shape without the last axis; the dtype."""
    if isinstance(x, SparseTensor):
        if len(x.lengths) < 2:
            raise ValueError(f"{what}: expected two axes or more, got a sparse tensor of shape {list(x.lengths)}")
        rows: dict[tuple[int, ...], list[Any]] = {}
        places = host(x.indices)
        if len(places) and (places < 0).any() | (places >= np.asarray(x.lengths)).any():
            raise invalid(what, f"indices out of bounds of the shape {list(x.lengths)}")
        for place, value in zip(places.tolist(), host(x.values).tolist(), strict=True):
            rows.setdefault(tuple(place[:-1]), []).append(value)
        return rows, tuple(x.lengths[:-1]), x.dtype
    y = convert(x)
    raw = host(y)
    if raw.ndim < 2:
        raise ValueError(f"{what}: expected two axes or more, got a tensor of shape {list(raw.shape)}")
    return {p: raw[p].tolist() for p in np.ndindex(*raw.shape[:-1])}, raw.shape[:-1], y.dtype


def _combined(a: Any, b: Any, what: str, combine: Any) -> SparseTensor:
    (left, shape, dtype), (right, other, dtype2) = _rows(a, what), _rows(b, what)
    if dtype != dtype2:
        raise TypeError(f"{what}: expected a and b of one dtype, got {dtype.name} and {dtype2.name}")
    if dtype.name not in _INTEGERS:
        raise TypeError(f"{what}: expected integers or strings, got {dtype.name}")
    if shape != other:
        raise invalid(what, f"Mismatched group shapes: {list(shape)} vs. {list(other)}")
    places, values, widest = [], [], 0
    for row in sorted({*left, *right}):
        found = sorted(combine(set(left.get(row, ())), set(right.get(row, ()))))
        places += [(*row, k) for k in range(len(found))]
        values += found
        widest = max(widest, len(found))
    raw = np.array(values, object if dtype.name == "string" else dtype.as_numpy_dtype)
    return SparseTensor(np.array(places, np.int64).reshape(-1, len(shape) + 1), fresh(raw), [*shape, widest])


@export("sets.intersection")
def intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """What is in both sets of each row, sorted."""
    return _combined(a, b, "tf.sets.intersection", set.intersection)


@export("sets.union")
def union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """What is in either set of each row, sorted.

    >>> import tapegrad.tf as tf
    >>> tf.sparse.to_dense(tf.sets.union([[1, 3, 3]], [[2, 3, 1]])).numpy().tolist()
    [[1, 2, 3]]
    """
    return _combined(a, b, "tf.sets.union", set.union)


@export("sets.difference")
def difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """What is in the one set of each row and not in the other, sorted."""
    if aminusb:
        return _combined(a, b, "tf.sets.difference", set.difference)
    return _combined(a, b, "tf.sets.difference", lambda x, y: y - x)


@export("sets.size")
def size(a: Any, validate_indices: bool = True) -> Tensor:
    """How many different values each row of a sparse tensor has."""
    if not isinstance(a, SparseTensor):
        raise TypeError(f"Expected `SparseTensor`, got {a}.")
    rows, shape, _ = _rows(a, "tf.sets.size")
    found = np.zeros(shape, np.int32)
    for place, values in rows.items():
        found[place] = len(set(values))
    return fresh(found)


@export("edit_distance")
def edit_distance(hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance") -> Tensor:
    """The least number of insertions, removals and exchanges between sequences, over the length of the true one if normalised."""
    for what, x in (("Hypothesis", hypothesis), ("Truth", truth)):
        if not isinstance(x, SparseTensor):
            raise TypeError(f"{what} must be a SparseTensor.")
    (found, shape, _), (wanted, other, _) = _rows(hypothesis, "EditDistance"), _rows(truth, "EditDistance")
    if len(shape) != len(other):
        raise ValueError(f"truth and hypothesis should have same rank, got {len(other) + 1} and {len(shape) + 1}")
    shape = tuple(np.maximum(shape, other))
    y = np.zeros(shape, np.float32)
    for place in np.ndindex(*shape):
        a, b = found.get(place, []), wanted.get(place, [])
        steps = _steps(a, b)
        y[place] = steps if not normalize else steps / len(b) if b else np.inf if steps else 0.0
    return fresh(y)


def _steps(a: list[Any], b: list[Any]) -> int:
    above = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for k, y in enumerate(b, 1):
            row.append(min(above[k] + 1, row[-1] + 1, above[k - 1] + (x != y)))
        above = row
    return above[-1]
