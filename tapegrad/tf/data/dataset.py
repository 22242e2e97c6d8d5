"""`tf.data.Dataset` for eager scripts: a recipe for an iteration, started anew by each `for`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tapegrad.tf import nest
from tapegrad.tf.convert import fresh
from tapegrad.tf.data import batching, elements, kept, mixing, resampling, sources, stages
from tapegrad.tf.data.elements import called, count_of, element, placed, spec, stacked, unbatched_spec
from tapegrad.tf.data.iteration import OwnedIterator
from tapegrad.tf.data.options import Options, inherited, keep_options
from tapegrad.tf.dtypes import as_dtype, int64
from tapegrad.tf.errors import InvalidArgumentError
from tapegrad.tf.specs import TensorSpec
from tapegrad.tf.tensor import Tensor, made

AUTOTUNE = -1
INFINITE, UNKNOWN = -1, -2


class Dataset:
    """A sequence of elements, which are tensors or structures of them."""

    def __init__(self, make: Callable[[], Iterator[Any]], element_spec: Any = None, cardinality: int = UNKNOWN) -> None:
        self._make_iterator = make
        self._given = element_spec  # a function, where it is found out when somebody asks
        self._cardinality = cardinality
        self._options: Options | None = None

    # -- reading ---------------------------------------------------------------------------------------------
    def __iter__(self) -> OwnedIterator:
        return OwnedIterator(self)

    def started(self) -> OwnedIterator:
        """An iteration whose shuffles have drawn already, as Keras makes one more than it uses."""
        return OwnedIterator(self, mixing.started(self))

    def __len__(self) -> int:
        if self._cardinality == INFINITE:
            raise TypeError("The dataset is infinite.")
        if self._cardinality == UNKNOWN:
            raise TypeError("The dataset length is unknown.")
        return self._cardinality

    def __bool__(self) -> bool:
        return True

    __nonzero__ = __bool__

    @property
    def _known_spec(self) -> Any:
        """What is known of the elements already; None if that takes a look at one."""
        return None if callable(self._given) else self._given

    @property
    def _kept_spec(self) -> Any:
        """What a stage knows whose elements are some of these: looked for here, where there may be elements though it has none."""
        return (lambda: self._spec) if self._given is None else self._given

    @property
    def _spec(self) -> Any:
        """What is known of the elements; the first one is looked at where nobody has said it."""
        if callable(self._given):
            self._given = self._given()
        if self._given is None:
            with mixing.in_order():
                first = next(self._make_iterator(), None)
            self._given = () if first is None else spec(first)
        return self._given

    @property
    def element_spec(self) -> Any:
        """Shapes and dtypes of the elements."""
        return self._spec

    def as_numpy_iterator(self) -> Iterator[Any]:
        """The elements as arrays of NumPy's."""
        if any(isinstance(s, elements.DatasetSpec) for s in nest.flatten(self._known_spec)):
            raise TypeError(f"`tf.data.Dataset.as_numpy_iterator()` is not supported for datasets that produce datasets: {self._spec}")
        return (nest.map_structure(lambda x: x.numpy() if isinstance(x, Tensor) else x, e) for e in self._make_iterator())

    def get_single_element(self, name: str | None = None) -> Any:
        """The only element; raises InvalidArgumentError where there is none, or another."""
        found = list(itertools.islice(self._make_iterator(), 2))
        if len(found) != 1:
            raise InvalidArgumentError(None, None, "Dataset was empty." if not found else "Dataset had more than one element.")
        return placed(found[0])

    def cardinality(self, name: str | None = None) -> Tensor:
        """How many elements there are; -1 for infinitely many, -2 where it is unknown."""
        return fresh(np.int64(self._cardinality))

    def reduce(self, initial_state: Any, reduce_func: Any, name: str | None = None) -> Any:
        """The last value of a state that takes in the elements one by one."""
        state = element(initial_state)
        for e in self._make_iterator():
            state = element(reduce_func(state, e))
        return placed(state)

    # -- where elements come from ----------------------------------------------------------------------------
    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """The rows of tensors, or of a structure of them."""
        return Dataset(*sources.slices(tensors))

    @staticmethod
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """One element."""
        only = element(tensors)
        return Dataset(lambda: iter([only]), spec(only), 1)

    @staticmethod
    def from_generator(
        generator: Any,
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """What a generator function yields, checked against a signature."""
        return Dataset(*sources.generated(generator, output_types, output_shapes, args, output_signature))

    @staticmethod
    def range(*args: Any, output_type: Any = np.int64, name: str | None = None) -> Dataset:
        """Integers, as Python's `range`."""
        parts = [count_of(a) for a in args]
        if len(parts) == 3 and not parts[2]:
            raise InvalidArgumentError(None, None, "step must be non-zero.")
        numbers = range(*parts)
        kind = as_dtype(output_type).numpy
        return Dataset(lambda: (made(kind.type(k)) for k in numbers), TensorSpec([], kind), len(numbers))

    @staticmethod
    def counter(start: Any = 0, step: Any = 1, dtype: Any = np.int64, name: str | None = None) -> Dataset:
        """Numbers from `start` on, without end."""
        kind = as_dtype(dtype).numpy
        return Dataset(lambda: (made(kind.type(start + k * step)) for k in itertools.count()), TensorSpec([], kind), -1)

    @staticmethod
    def random(seed: Any = None, rerandomize_each_iteration: Any = None, name: str | None = None) -> Dataset:
        """Random integers without end."""
        return Dataset(*sources.random_numbers(seed, again=bool(rerandomize_each_iteration)))

    @staticmethod
    def list_files(file_pattern: Any, shuffle: Any = None, seed: Any = None, name: str | None = None) -> Dataset:
        """The names of files that match patterns, in random order unless told otherwise."""
        names = sources.matching(file_pattern)
        found = Dataset.from_tensor_slices(np.asarray(names, object))
        return found if shuffle is False or not names else found.shuffle(len(names), seed=seed)

    @staticmethod
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """The elements of several datasets side by side, until one of them ends."""
        if args and datasets is not None:
            raise TypeError("Both `*args` and `datasets` cannot be set.")
        if not args and datasets is None:
            raise TypeError("Must pass at least one dataset to `zip`.")
        given = datasets if datasets is not None else args[0] if len(args) == 1 else args
        return inherited(mixing.zipped(given), nest.flatten(given))

    @staticmethod
    def choose_from_datasets(datasets: Any, choice_dataset: Any, stop_on_empty_dataset: bool = True) -> Dataset:
        """The next element of the dataset whose number comes next."""
        return mixing.chosen(datasets, choice_dataset, stop_on_empty_dataset)

    @staticmethod
    def sample_from_datasets(
        datasets: Any,
        weights: Any = None,
        seed: Any = None,
        stop_on_empty_dataset: bool = False,
        rerandomize_each_iteration: Any = None,
    ) -> Dataset:
        """The next element of a dataset that is drawn each time."""
        return mixing.sampled(datasets, weights, seed, stop_on_empty_dataset, again=bool(rerandomize_each_iteration))

    # -- one by one ---------------------------------------------------------------------------------------------
    def map(
        self,
        map_func: Any,
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        synchronous: Any = None,
        use_unbounded_threadpool: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """The function of each element, which is called with the parts of a tuple as its arguments."""
        make, _ = self._make_iterator, called(map_func)
        return Dataset(lambda: map(lambda e: element(applied(map_func, e)), make()), None, self._cardinality)  # noqa: C417

    def filter(self, predicate: Any, name: str | None = None) -> Dataset:
        """The elements for which the predicate is true."""
        make, _ = self._make_iterator, called(predicate)
        return Dataset(lambda: filter(lambda e: holds(predicate, e), make()), self._kept_spec)

    def enumerate(self, start: int = 0, name: str | None = None) -> Dataset:
        """Pairs of a number and an element."""
        make = self._make_iterator
        return Dataset(lambda: ((made(np.int64(i)), e) for i, e in enumerate(make(), start)), None, self._cardinality)

    def scan(self, initial_state: Any, scan_func: Any, name: str | None = None) -> Dataset:
        """What a function of a state and an element gives besides the next state."""
        return stages.scanned(self, initial_state, scan_func)

    def take_while(self, predicate: Any, name: str | None = None) -> Dataset:
        """The elements up to the first for which the predicate is false."""
        make, _ = self._make_iterator, called(predicate)
        return Dataset(lambda: itertools.takewhile(lambda e: holds(predicate, e), make()), self._kept_spec)

    def unique(self, name: str | None = None) -> Dataset:
        """Each element once."""
        return stages.without_repeats(self)

    def apply(self, transformation_func: Any) -> Any:
        """What a function makes of the dataset."""
        found = transformation_func(self)
        if not isinstance(found, Dataset):
            raise TypeError(f"`transformation_func` must return a `tf.data.Dataset` object. Got {type(found)}.")
        return found

    # -- how many ---------------------------------------------------------------------------------------------
    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first elements; all of them if `count` is -1."""
        make, n = self._make_iterator, count_of(count)
        if n < 0:
            return Dataset(make, self._kept_spec, self._cardinality)
        size = n if self._cardinality == INFINITE else min(n, self._cardinality) if self._cardinality >= 0 else UNKNOWN
        return Dataset(lambda: itertools.islice(make(), n), self._kept_spec, size)

    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """All but the first elements."""
        make, n = self._make_iterator, count_of(count)
        if n < 0:
            return Dataset(lambda: iter(()), self._kept_spec, 0)
        size = max(self._cardinality - n, 0) if self._cardinality >= 0 else self._cardinality
        return Dataset(lambda: itertools.islice(make(), n, None), self._kept_spec, size)

    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """The dataset several times, or without end."""
        return stages.repeated(self, -1 if count is None else count_of(count))

    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Every `num_shards`-th element, from `index` on."""
        n, k, make = count_of(num_shards), count_of(index), self._make_iterator
        if not 0 <= k < n:
            raise InvalidArgumentError(None, None, f"index must be in [0, {n}), got {k}")
        size = max((self._cardinality - k + n - 1) // n, 0) if self._cardinality >= 0 else self._cardinality
        return Dataset(lambda: itertools.islice(make(), k, None, n), self._kept_spec, size)

    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """This dataset, and then another."""
        return stages.joined(self, dataset)

    # -- batches ---------------------------------------------------------------------------------------------
    def batch(
        self,
        batch_size: Any,
        drop_remainder: bool = False,
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Elements stacked, `batch_size` at a time; what is left at the end is a smaller batch, or dropped."""
        return batching.batched(self, batch_size, drop_remainder, stacked)

    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Elements filled up to one shape and stacked."""
        return batching.padded(self, batch_size, padded_shapes, padding_values, drop_remainder)

    def ragged_batch(
        self, batch_size: Any, drop_remainder: bool = False, row_splits_dtype: Any = int64, name: str | None = None
    ) -> Dataset:
        """Elements of different lengths as the rows of ragged tensors; scalars are stacked."""
        return batching.batched(self, batch_size, drop_remainder, lambda rows: batching.in_ragged_rows(rows, row_splits_dtype))

    def unbatch(self, name: str | None = None) -> Dataset:
        """The rows of each element."""
        make = self._make_iterator
        known = None if self._known_spec is None else unbatched_spec(self._known_spec)
        return Dataset(lambda: itertools.chain.from_iterable(map(elements.rows_of, make())), known)

    def rebatch(self, batch_size: Any, drop_remainder: bool = False, name: str | None = None) -> Dataset:
        """The rows of all batches in batches of another size."""
        return batching.rebatched(self, batch_size, drop_remainder)

    def window(
        self, size: Any, shift: Any = None, stride: Any = 1, drop_remainder: bool = False, name: str | None = None
    ) -> Dataset:
        """Datasets of neighbouring elements."""
        return mixing.windowed(self, count_of(size), count_of(shift or size), count_of(stride), bool(drop_remainder))

    # -- order ---------------------------------------------------------------------------------------------
    def shuffle(
        self, buffer_size: Any, seed: Any = None, reshuffle_each_iteration: bool | None = None, name: str | None = None
    ) -> Dataset:
        """The elements in random order, each drawn from a buffer of that size; in TensorFlow's order for a seed."""
        return mixing.shuffled(self, count_of(buffer_size), seed, reshuffle_each_iteration is not False)

    def flat_map(self, map_func: Any, name: str | None = None) -> Dataset:
        """The elements of the datasets that a function makes of each element, one dataset after the other."""
        make, _ = self._make_iterator, called(map_func)
        return Dataset(lambda: (x for e in make() for x in applied(map_func, e)._make_iterator()), mixing.inner_spec(self, map_func))

    def interleave(
        self,
        map_func: Any,
        cycle_length: Any = None,
        block_length: Any = None,
        num_parallel_calls: Any = None,
        deterministic: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements of several datasets in turn, which a function makes of the elements."""
        cycle = 10 if cycle_length is None or count_of(cycle_length) < 0 else count_of(cycle_length)
        return mixing.interleaved(self, called(map_func), cycle, count_of(block_length or 1))

    def cache(self, filename: str = "", name: str | None = None) -> Dataset:
        """The elements, which are computed in the first whole iteration and then kept (in memory, even with a file's name)."""
        return stages.cached(self)

    def _same(self) -> Dataset:
        return Dataset(self._make_iterator, self._kept_spec, self._cardinality)

    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """The same elements; nothing is computed ahead."""
        return self._same()

    def with_options(self, options: Any, name: str | None = None) -> Dataset:
        """The same elements, with options that have no effect; what is set goes before what was set."""
        made = self._same()
        made._options = self.options().merge(options)
        return made

    def options(self) -> Options:
        """The options that were set, which have no effect."""
        return self._options or Options()

    def group_by_window(
        self, key_func: Any, reduce_func: Any, window_size: Any = None, window_size_func: Any = None, name: str | None = None
    ) -> Dataset:
        """What a function makes of datasets of elements with one key."""
        return mixing.grouped(self, key_func, reduce_func, window_size, window_size_func)

    def bucket_by_sequence_length(
        self,
        element_length_func: Any,
        bucket_boundaries: Any,
        bucket_batch_sizes: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """Batches of elements of like lengths, padded."""
        return batching.bucketed(
            self,
            element_length_func,
            bucket_boundaries,
            bucket_batch_sizes,
            padded_shapes,
            padding_values,
            pad_to_bucket_boundary,
            no_padding,
            drop_remainder,
        )

    def rejection_resample(
        self, class_func: Any, target_dist: Any, initial_dist: Any = None, seed: Any = None, name: str | None = None
    ) -> Dataset:
        """Pairs of class and element, of which some are left out so that the classes come as often as `target_dist` says."""
        return resampling.resampled(self, class_func, target_dist, initial_dist, seed)

    def save(self, path: Any, compression: Any = None, shard_func: Any = None, checkpoint_args: Any = None) -> None:
        """Write the elements to a directory, from which `load` reads them."""
        kept.save(self, path, compression)

    @staticmethod
    def load(path: Any, element_spec: Any = None, compression: Any = None, reader_func: Any = None, wait: bool = False) -> Dataset:
        """The elements that `save` has written."""
        return kept.load(path, element_spec)

    def snapshot(
        self, path: Any, compression: Any = "AUTO", reader_func: Any = None, shard_func: Any = None, name: str | None = None
    ) -> Dataset:
        """The elements, which are written to a directory the first time, and read from there from then on."""
        return kept.snapshot(self, path)

    def ignore_errors(self, log_warning: bool = False, name: str | None = None) -> Dataset:
        """The elements without those whose making failed."""
        return stages.failures_ignored(self)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} element_spec={self._spec!r}>"


_STAGES = """
    batch bucket_by_sequence_length cache concatenate enumerate filter flat_map group_by_window ignore_errors interleave map
    padded_batch prefetch ragged_batch rebatch rejection_resample repeat scan shard shuffle skip snapshot take take_while unbatch
    unique window
"""
keep_options(Dataset, *_STAGES.split())


def holds(predicate: Any, e: Any) -> bool:
    """Whether an element satisfies a predicate; raises ValueError where that gives something else than a truth value."""
    found = applied(predicate, e)
    shape, dtype = getattr(found, "shape", ()), getattr(found, "dtype", type(found))
    if tuple(shape) or as_dtype(dtype) is not as_dtype(bool):
        raise ValueError(f"Invalid `predicate`. `predicate` must return a `tf.bool` scalar tensor, but it returned {found!r}.")
    return bool(found)


def applied(function: Any, e: Any) -> Any:
    """A function called with an element: the parts of a plain tuple are its arguments, a list that it gives is a tuple."""
    found = function(*e) if type(e) is tuple else function(e)
    return tuple(found) if type(found) is list else found
