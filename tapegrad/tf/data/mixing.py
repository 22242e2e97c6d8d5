"""Datasets made of several, or in another order."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad import philox
from tapegrad.tf import nest
from tapegrad.tf.convert import host
from tapegrad.tf.data.sources import seeds
from tapegrad.tf.errors import InvalidArgumentError

if TYPE_CHECKING:
    from tapegrad.tf.data.dataset import Dataset


def _dataset(make: Any, known: Any = None, size: int = -2) -> Dataset:
    from tapegrad.tf.data.dataset import Dataset

    return Dataset(make, known, size)


def _is_dataset(x: Any) -> bool:
    return hasattr(x, "_make_iterator")


def zipped(given: Any) -> Dataset:
    """The elements of several datasets side by side."""
    leaves = nest.flatten(tuple(given) if isinstance(given, list) else given)
    for d in leaves:
        if not _is_dataset(d):
            raise TypeError(f"Invalid `datasets`. `datasets` is expected to be a (nested) structure of datasets, got {type(d)}.")
    structure = tuple(given) if isinstance(given, list) else given

    def run() -> Iterator[Any]:
        for row in zip(*(d._make_iterator() for d in leaves), strict=False):
            yield _packed(structure, iter(row))

    sizes = [d._cardinality for d in leaves]
    finite = [s for s in sizes if s >= 0]
    size = -2 if -2 in sizes else min(finite) if finite else -1
    known: Any = lambda: _packed(structure, iter([d._spec for d in leaves]))  # noqa: E731  found out when somebody asks
    if all(d._known_spec is not None for d in leaves):
        known = known()
    return _dataset(run, known, size)


def _packed(structure: Any, parts: Iterator[Any]) -> Any:
    if isinstance(structure, dict):
        found = {k: _packed(structure[k], parts) for k in sorted(structure)}
        return {k: found[k] for k in structure}
    if isinstance(structure, tuple | list):
        return tuple(_packed(s, parts) for s in structure)
    return next(parts)


def chosen(datasets: Any, choice: Any, stop: bool) -> Dataset:
    """The next element of the dataset whose number comes next."""
    _alike(datasets)
    if not _is_dataset(choice):
        raise TypeError(f"Invalid `choice_dataset`. `choice_dataset` should be a `tf.data.Dataset`, got {type(choice)}.")
    known = choice._spec
    if nest.is_nested(known) or known.dtype.name != "int64" or known.shape.rank:
        raise TypeError(f"Invalid `choice_dataset`. Elements of `choice_dataset` must be scalar tensors of dtype tf.int64, got {known}.")

    def run() -> Iterator[Any]:
        rows = [d._make_iterator() for d in datasets]
        for k in choice._make_iterator():
            if not 0 <= int(k) < len(rows):
                raise InvalidArgumentError(None, None, f"Selector index out of range: {int(k)} >= {len(rows)}")
            try:
                yield next(rows[int(k)])
            except StopIteration:
                if stop:
                    return

    return _dataset(run, datasets[0]._kept_spec)


def sampled(datasets: Any, weights: Any, seed: Any, stop: bool, *, again: bool = False) -> Dataset:
    """The next element of a dataset that is drawn each time, with weights that may be a dataset of their own."""
    _alike(datasets)
    first, second = seeds(seed)
    n = len(datasets)
    if not _is_dataset(weights) and weights is not None:
        raw = host(weights)
        if raw.dtype.kind != "f":
            raise TypeError(f"Invalid `weights`. `weights` must be of type `tf.float32` or `tf.float64`, got {raw.dtype}.")
        if raw.shape != (n,):
            raise ValueError(f"Invalid `weights`. `weights` and `datasets` should have the same length, got {raw.shape} and {n}.")
    epochs = itertools.count()

    def run() -> Iterator[Any]:
        numbers = philox.stream(first + (next(epochs) if again else 0), second)
        rows = [d._make_iterator() for d in datasets]
        given = weights._make_iterator() if _is_dataset(weights) else itertools.repeat(np.ones(n) if weights is None else weights)
        left = np.ones(n)
        for row in given:
            share = host(row).astype(np.float64) * left
            while share.any():
                k = _drawn(share, next(numbers), next(numbers))
                try:
                    e = next(rows[k])
                except StopIteration:
                    if stop:
                        return
                    share[k] = left[k] = 0
                    continue
                yield e
                break
            else:
                return

    return _dataset(run, datasets[0]._kept_spec)


def _drawn(weights: Any, *seed: int) -> int:
    """One of several, as TensorFlow draws it: a categorical number of the logarithms of the weights, for a seed of two numbers."""
    with np.errstate(divide="ignore"):
        logits = np.log(weights)[None]
    unit = philox.uniform(*philox.scrambled(seed), 1, np.dtype(np.float64))
    return int(philox.categorical(logits, unit[None])[0, 0])


def _alike(datasets: Any) -> None:
    """Raise where there is no dataset among several, or where their elements are known to be of different kinds."""
    if not datasets:
        raise ValueError("Invalid `datasets`. `datasets` should not be empty.")
    known = [d._known_spec for d in datasets if d._known_spec is not None]
    for other in known[1:]:
        pairs = zip(nest.flatten(known[0]), nest.flatten(other), strict=False)
        alike = all(getattr(a, "dtype", 0) == getattr(b, "dtype", 0) for a, b in pairs)
        if len(nest.flatten(known[0])) != len(nest.flatten(other)) or not alike:
            raise TypeError(f"Invalid `datasets`. `datasets` must have compatible element specs, got {known[0]} and {other}.")


def windowed(source: Dataset, size: int, shift: int, stride: int, drop: bool) -> Dataset:
    """Datasets of neighbouring elements."""

    def run() -> Iterator[Any]:
        rows: Any = source._make_iterator()
        kept: list[Any] = []
        reach = (size - 1) * stride + 1
        ended = False
        while True:
            while not ended and len(kept) < reach:
                try:
                    kept.append(next(rows))
                except StopIteration:
                    ended = True
            if not kept or (drop and len(kept) < reach):
                return
            inside = kept[:reach:stride]
            yield _nested(inside, source)
            if shift > len(kept):
                for _ in range(shift - len(kept)):
                    next(rows, None)
            kept = kept[shift:]

    return _dataset(run)


def _nested(rows: list[Any], source: Dataset) -> Any:
    """Elements as a dataset, or a structure of datasets, one for each part."""
    known = source._known_spec
    if not nest.is_nested(rows[0]):
        return _dataset(lambda: iter(rows), known, len(rows))
    columns = list(zip(*(nest.flatten(r) for r in rows), strict=True))
    return nest.pack_sequence_as(rows[0], [_dataset(lambda c=c: iter(c), None, len(c)) for c in columns])


class _Starts(threading.local):
    """What shuffles of this thread do as they start."""

    in_order = False  # give the elements as they come, and draw nothing
    drawn: list[Any] | None = None  # draw, and give nothing
    given: list[Any] | None = None  # take what was drawn for them before


_starts = _Starts()
_any_shuffle = False


class _Drawn(Exception):
    """A shuffle has drawn, and has nothing to give."""


@contextlib.contextmanager
def _starting(**how: Any) -> Iterator[None]:
    before = {name: getattr(_starts, name) for name in how}
    vars(_starts).update(how)
    try:
        yield
    finally:
        vars(_starts).update(before)


def in_order() -> Any:
    """Let shuffles give their elements in order, and draw nothing: a look at an element must not change what comes later."""
    return _starting(in_order=True)


def started(dataset: Dataset) -> Iterator[Any]:
    """An iterator whose shuffles have drawn already: TensorFlow's have when they are made, even if nobody goes on with them."""
    drawn: list[Any] = []
    if _any_shuffle:
        with _starting(drawn=drawn), contextlib.suppress(_Drawn):
            next(dataset._make_iterator(), None)

    def run() -> Iterator[Any]:
        rows = dataset._make_iterator()
        with _starting(given=drawn):
            first = list(itertools.islice(rows, 1))
        yield from first
        yield from rows

    return run()


def shuffled(source: Dataset, buffer: int, seed: Any, again: bool) -> Dataset:
    """The elements in random order, drawn from a ring of that size as TensorFlow's kernel draws them."""
    if buffer <= 0:
        raise InvalidArgumentError(None, None, f"buffer_size must be greater than zero, got {buffer}")
    global _any_shuffle  # noqa: PLW0603  whether there is one at all
    _any_shuffle = True
    first, second = seeds(seed)
    starts = philox.stream(first, second)

    def run() -> Iterator[Any]:
        if _starts.in_order:
            yield from source._make_iterator()
            return
        own = _starts.given.pop(0) if _starts.given else (next(starts), next(starts)) if again else (first, second)
        if _starts.drawn is not None:
            _starts.drawn.append(own)
            next(source._make_iterator(), None)  # another shuffle before this one
            raise _Drawn
        numbers = philox.stream(*own)
        rows = source._make_iterator()
        size = buffer if source._cardinality < 0 else min(buffer, max(source._cardinality, 1))
        ring = list(itertools.islice(rows, size))
        start, count = 0, len(ring)
        if count < buffer:  # all of it fits: positions do not wrap
            while start < count:
                at = start + next(numbers) % (count - start)
                yield ring[at]
                ring[at] = ring[start]
                ring[start] = None
                start += 1
            return
        while count:
            at = (start + next(numbers) % count) % size
            yield ring[at]
            ring[at] = ring[start % size]
            try:
                ring[start % size] = next(rows)
            except StopIteration:
                count -= 1
            start += 1

    return _dataset(run, source._kept_spec, source._cardinality)


def interleaved(source: Dataset, function: Any, cycle: int, block: int) -> Dataset:
    """The elements of several datasets in turn."""
    from tapegrad.tf.data.dataset import applied

    def run() -> Iterator[Any]:
        inputs: Any = source._make_iterator()
        slots: list[Any] = [None] * cycle
        ended = False
        k = 0
        while not ended or any(s is not None for s in slots):
            if slots[k] is None and not ended:
                try:
                    slots[k] = applied(function, next(inputs))._make_iterator()
                except StopIteration:
                    ended = True
            if slots[k] is not None:
                for _ in range(block):
                    try:
                        yield next(slots[k])
                    except StopIteration:
                        slots[k] = None
                        break
                else:
                    k = (k + 1) % cycle
                    continue
                if not ended:
                    k = (k + 1) % cycle
                    continue
            k = (k + 1) % cycle

    return _dataset(run, inner_spec(source, function))


def inner_spec(source: Dataset, function: Any) -> Any:
    """What is known of the elements of the datasets that a function makes, from the first of them."""
    from tapegrad.tf.data.dataset import applied

    def look() -> Any:
        with in_order():
            first = next(source._make_iterator(), None)
        return () if first is None else applied(function, first)._spec

    return look


def grouped(source: Dataset, key: Any, reduce: Any, size: Any, size_of: Any) -> Dataset:
    """What a function makes of datasets of elements with one key."""
    from tapegrad.tf.data.dataset import applied
    from tapegrad.tf.tensor import made

    def run() -> Iterator[Any]:
        open_groups: dict[int, list[Any]] = {}
        for e in source._make_iterator():
            k = int(applied(key, e))
            rows = open_groups.setdefault(k, [])
            rows.append(e)
            limit = int(size_of(made(np.int64(k)))) if size_of is not None else int(size)
            if limit <= 0:
                raise InvalidArgumentError(None, None, f"Window size must be greater than zero, but got {limit}.")
            if len(rows) >= limit:
                del open_groups[k]
                yield from _reduced(reduce, k, rows, source)
        for k, rows in sorted(open_groups.items()):
            yield from _reduced(reduce, k, rows, source)

    return _dataset(run)


def _reduced(reduce: Any, k: int, rows: list[Any], source: Dataset) -> Iterator[Any]:
    from tapegrad.tf.tensor import made

    inside = _dataset(lambda: iter(rows), source._known_spec, len(rows))
    yield from reduce(made(np.int64(k)), inside)._make_iterator()
