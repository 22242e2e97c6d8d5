"""Stages of a pipeline that keep something from one element to the next."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tapegrad.tf import nest
from tapegrad.tf.data.elements import element
from tapegrad.tf.errors import OpError, OutOfRangeError
from tapegrad.tf.specs import TensorSpec

if TYPE_CHECKING:
    from tapegrad.tf.data.dataset import Dataset

INFINITE, UNKNOWN = -1, -2


def repeated(source: Dataset, n: int) -> Dataset:
    """The dataset n times, or without end for a negative number."""
    from tapegrad.tf.data.dataset import Dataset

    make = source._make_iterator

    def run() -> Iterator[Any]:
        for _ in itertools.count() if n < 0 else range(n):
            empty = True
            for e in make():
                empty = False
                yield e
            if empty:
                return

    size = source._cardinality
    size = (0 if size == 0 else INFINITE) if n < 0 else size * n if size >= 0 else 0 if n == 0 else size
    return Dataset(run, source._kept_spec, size)


def scanned(source: Dataset, initial_state: Any, function: Any) -> Dataset:
    """What a function of a state and an element gives besides the next state."""
    from tapegrad.tf.data.dataset import Dataset

    make = source._make_iterator

    def run() -> Iterator[Any]:
        state = element(initial_state)
        for e in make():
            new, out = function(state, e)
            state = element(new)
            yield element(out)

    return Dataset(run, None, source._cardinality)


def without_repeats(source: Dataset) -> Dataset:
    """Each element once."""
    from tapegrad.tf.data.dataset import Dataset

    make = source._make_iterator

    def run() -> Iterator[Any]:
        seen: set[Any] = set()
        for e in make():
            key = tuple((x.array.tobytes() if x.array.dtype.kind != "O" else repr(x.array)) for x in nest.flatten(e))
            if key not in seen:
                seen.add(key)
                yield e

    return Dataset(run, source._kept_spec)


def cached(source: Dataset) -> Dataset:
    """The elements, which are computed in the first whole iteration and then kept; whole is one that has read all that is known
    to come, though nobody has asked for the end."""
    from tapegrad.tf.data.dataset import Dataset

    make, size = source._make_iterator, source._cardinality
    kept: list[list[Any]] = []

    def run() -> Iterator[Any]:
        if kept:
            yield from kept[0]
            return
        rows = []
        for e in make():
            rows.append(e)
            if len(rows) == size and not kept:
                kept.append(rows)
            yield e
        if not kept:
            kept.append(rows)

    return Dataset(run, source._kept_spec, size)


def joined(first: Dataset, second: Dataset) -> Dataset:
    """One dataset, and then another, whose elements are alike."""
    from tapegrad.tf.data.dataset import Dataset

    known, other = first._known_spec, second._known_spec
    both = None
    if known is not None and other is not None:
        both = _in_common(known, other)
    makers = first._make_iterator, second._make_iterator
    sizes = first._cardinality, second._cardinality
    size = INFINITE if INFINITE in sizes else UNKNOWN if UNKNOWN in sizes else sum(sizes)
    return Dataset(lambda: itertools.chain(makers[0](), makers[1]()), both, size)


def _in_common(a: Any, b: Any) -> Any:
    """What is known of the elements of two datasets; raises TypeError where they are of different kinds."""
    try:
        nest.assert_same_structure(a, b)
    except (TypeError, ValueError) as error:
        raise TypeError(f"Incompatible dataset elements: {a} and {b} ({error})") from None
    found = []
    for x, y in zip(nest.flatten(a), nest.flatten(b), strict=True):
        if type(x) is not type(y) or getattr(x, "dtype", None) != getattr(y, "dtype", None):
            raise TypeError(f"Incompatible dataset elements: {x} and {y}")
        alike = isinstance(x, TensorSpec)
        found.append(TensorSpec(x.shape.most_specific_common_supertype([y.shape]), x.dtype) if alike else x)
    return nest.pack_sequence_as(a, found)


def failures_ignored(source: Dataset) -> Dataset:
    """The elements without those whose making failed: a stage that computes one by one (`map`, `filter`) goes on with the next."""
    from tapegrad.tf.data.dataset import Dataset

    make = source._make_iterator

    def run() -> Iterator[Any]:
        rows, failed = make(), None
        while True:
            try:
                e = next(rows)
            except StopIteration:
                if failed is not None:  # what failed was no stage that can go on: nothing is left out in silence
                    raise failed from None
                return
            except OutOfRangeError:
                return
            except (OpError, ArithmeticError, ValueError, TypeError, OSError) as error:
                failed = None if isinstance(rows, map | filter) else error
                continue
            failed = None
            yield e

    return Dataset(run, source._kept_spec)


def at(dataset: Dataset, index: Any) -> Any:
    """The element with a number; the elements before it are computed, too.  Raises OutOfRangeError where there is none."""
    n = int(index)
    if n < 0:
        raise OutOfRangeError(None, None, f"Index out of range [0, {dataset._cardinality}): {n}")
    for e in itertools.islice(dataset, n, n + 1):
        return e
    raise OutOfRangeError(None, None, f"Index out of range [0, {dataset._cardinality}): {n}")
