"""Elements in batches: stacked, padded, sorted into buckets of like lengths, and batches of other sizes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.tf import nest
from tapegrad.tf.convert import convert, host
from tapegrad.tf.data import elements
from tapegrad.tf.data.elements import DatasetSpec, batched_spec, count_of, stacked
from tapegrad.tf.dtypes import as_dtype
from tapegrad.tf.errors import InvalidArgumentError
from tapegrad.tf.ragged_tensor import RaggedTensor
from tapegrad.tf.shapes import TensorShape
from tapegrad.tf.specs import TensorSpec
from tapegrad.tf.tensor import made

if TYPE_CHECKING:
    from tapegrad.tf.data.dataset import Dataset


def batched(source: Dataset, batch_size: Any, drop_remainder: Any, how: Any) -> Dataset:
    """`batch_size` elements at a time, made into one by a function."""
    from tapegrad.tf.data.dataset import Dataset

    n, make, drop = count_of(batch_size), source._make_iterator, bool(drop_remainder)
    if n <= 0:
        raise InvalidArgumentError(None, None, "Batch size must be greater than zero.")

    def run() -> Iterator[Any]:
        rows = make()
        while batch := list(itertools.islice(rows, n)):
            if len(batch) < n and drop:
                return
            yield how(batch)

    size = source._cardinality
    if size >= 0:
        size = size // n if drop else -(-size // n)
    return Dataset(run, _spec_of_batches(source, n if drop else None) if how is stacked else None, size)


def _spec_of_batches(source: Dataset, size: int | None) -> Any:
    known = source._known_spec
    return (lambda: batched_spec(source._spec, size)) if known is None else batched_spec(known, size)


def padded(source: Dataset, batch_size: Any, shapes: Any, values: Any, drop_remainder: Any) -> Dataset:
    """`batch_size` elements at a time, filled up to one shape and stacked."""
    known = source._known_spec
    if known is not None:
        _check_padding(known, shapes)
    return batched(source, batch_size, drop_remainder, lambda rows: elements.padded(rows, shapes, values))


def _check_padding(known: Any, shapes: Any) -> None:
    specs = nest.flatten(known)
    if any(isinstance(s, DatasetSpec) for s in specs):
        raise TypeError("`padded_batch` is not supported for datasets of datasets")
    if shapes is None:
        if any(isinstance(s, TensorSpec) and s.shape.rank is None for s in specs):
            raise ValueError(f"You must provide `padded_shapes`, for there are elements of unknown rank: {known}")
        return
    for s, wanted in zip(specs, elements.padded_shapes(known, shapes), strict=True):
        if s.shape.rank is None:
            continue
        fits = wanted.rank == s.shape.rank and all(
            w is None or n is None or w >= n for w, n in zip(tuple(wanted), tuple(s.shape), strict=True)
        )
        if not fits:
            raise ValueError(
                f"The padded shape {wanted} is not compatible with the shape {s.shape} of the corresponding input component."
            )


def in_ragged_rows(rows: list[Any], row_splits_dtype: Any) -> Any:
    """Elements as one batch: tensors as the rows of a ragged one, scalars stacked."""
    leaves = zip(*[nest.flatten(r) for r in rows], strict=True)

    def together(xs: tuple[Any, ...]) -> Any:
        if isinstance(xs[0], RaggedTensor):
            return RaggedTensor._stacked(list(xs))
        if not xs[0].array.ndim:
            return stacked(list(xs))
        values = made(np.concatenate([x.array for x in xs]))
        lengths = np.asarray([x.array.shape[0] for x in xs], as_dtype(row_splits_dtype).numpy)
        return RaggedTensor.from_row_lengths(values, lengths)

    return nest.pack_sequence_as(rows[0], [together(xs) for xs in leaves])


def rebatched(source: Dataset, batch_size: Any, drop_remainder: bool) -> Dataset:
    """The rows of all batches in batches of another size, or of sizes that follow each other in turn."""
    from tapegrad.tf.data.dataset import Dataset

    sizes = [int(n) for n in np.atleast_1d(host(batch_size))]
    if not sizes or any(n <= 0 and n != -1 for n in sizes):
        raise ValueError(f"rebatch: `batch_size` is a number, or a list of numbers, above zero, got {batch_size}")
    rows = source.unbatch()
    if len(sizes) == 1:
        return rows.batch(sizes[0], drop_remainder)

    def run() -> Iterator[Any]:
        left = rows._make_iterator()
        for n in itertools.cycle(sizes):
            batch = list(itertools.islice(left, n))
            if not batch or (len(batch) < n and drop_remainder):
                return
            yield stacked(batch)

    return Dataset(run)


def bucketed(
    source: Dataset,
    length_of: Any,
    boundaries: Any,
    sizes: Any,
    shapes: Any,
    values: Any,
    pad_to_bucket_boundary: bool,
    no_padding: bool,
    drop_remainder: bool,
) -> Dataset:
    """Batches of elements of like lengths: those below the first boundary, those between two, those above the last."""
    edges, counts = [int(b) for b in boundaries], [int(n) for n in sizes]
    if not edges:
        raise ValueError("Invalid `bucket_boundaries`. `bucket_boundaries` cannot be empty.")
    if len(counts) != len(edges) + 1:
        raise ValueError(
            "Invalid `bucket_batch_sizes`. `bucket_batch_sizes` must have one more element than `bucket_boundaries`: "
            f"expected {len(edges) + 1}, got {len(counts)}"
        )

    def key(*parts: Any) -> Any:
        return made(np.int64(np.searchsorted(edges, int(convert(length_of(*parts)).array), side="right")))

    def batch(k: Any, rows: Dataset) -> Dataset:
        n = counts[int(k)]
        if no_padding:
            return rows.batch(n, drop_remainder)
        return rows.padded_batch(n, _to_boundary(rows, int(k)) if pad_to_bucket_boundary else shapes, values, drop_remainder)

    def _to_boundary(rows: Dataset, k: int) -> Any:
        if k == len(edges):
            raise InvalidArgumentError(
                None, None, f"When pad_to_bucket_boundary=True, elements must have length < max(bucket_boundaries), {edges[-1]}"
            )
        known = source._spec
        given = [s.shape for s in nest.flatten(known)] if shapes is None else elements.padded_shapes(known, shapes)
        # lengths that differ are filled up to the longest that this bucket takes
        return nest.pack_sequence_as(known, [TensorShape([edges[k] - 1 if n is None else n for n in s]) for s in given])

    return source.group_by_window(key, batch, window_size_func=lambda k: counts[int(k)])
