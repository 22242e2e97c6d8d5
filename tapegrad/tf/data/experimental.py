"""`tf.data.experimental`: functions for `apply`, most of which are methods of a dataset today."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.data import options, resampling, stages, tables
from tapegrad.tf.data.dataset import AUTOTUNE, Dataset
from tapegrad.tf.dtypes import int64
from tapegrad.tf.export import Namespace


def _method(name: str) -> Any:
    """A function for `apply` that calls a method of the dataset."""

    def function(*args: Any, **words: Any) -> Any:
        return lambda dataset: getattr(dataset, name)(*args, **words)

    function.__name__, function.__doc__ = name, f"For `apply`: `Dataset.{name}`."
    return function


def _same(*args: Any, **words: Any) -> Any:
    return lambda dataset: dataset


def _assert_cardinality(expected_cardinality: int) -> Any:
    def run(dataset: Dataset) -> Dataset:
        return Dataset(dataset._make_iterator, dataset._kept_spec, expected_cardinality)

    return run


def map_and_batch(
    map_func: Any, batch_size: Any, num_parallel_batches: Any = None, drop_remainder: bool = False, num_parallel_calls: Any = None
) -> Any:
    """For `apply`: a function of each element, and then batches."""
    return lambda dataset: dataset.map(map_func).batch(batch_size, drop_remainder)


def shuffle_and_repeat(buffer_size: Any, count: Any = None, seed: Any = None) -> Any:
    """For `apply`: shuffled anew in each of several rounds."""
    return lambda dataset: dataset.shuffle(buffer_size, seed).repeat(count)


def parallel_interleave(
    map_func: Any,
    cycle_length: int,
    block_length: int = 1,
    sloppy: Any = False,
    buffer_output_elements: Any = None,
    prefetch_input_elements: Any = None,
) -> Any:
    """For `apply`: the elements of several datasets by turns, in their order."""
    return lambda dataset: dataset.interleave(map_func, cycle_length, block_length)


def group_by_reducer(key_func: Any, reducer: resampling.Reducer) -> Any:
    """For `apply`: what a reducer makes of the elements of each key."""
    return lambda dataset: resampling.reduced_by_key(dataset, key_func, reducer)


def pad_to_cardinality(cardinality: int, mask_key: str = "valid") -> Any:
    """For `apply`: dictionaries, filled up with zeros to a number of elements, and whether each is an element."""

    def run(dataset: Dataset) -> Dataset:
        def rows() -> Any:
            count, last = 0, None
            for last in dataset._make_iterator():
                count += 1
                yield {**last, mask_key: True}
            for _ in range(cardinality - count):
                yield {**{k: np.zeros_like(np.asarray(v)) for k, v in (last or {}).items()}, mask_key: False}

        return Dataset(lambda: map(_as_element, rows()), None, cardinality)

    return run


def _as_element(x: Any) -> Any:
    from tapegrad.tf.data.elements import element

    return element(x)


experimental = Namespace("tapegrad.tf.data.experimental", "`tf.data.experimental`.")
vars(experimental).update(
    {name: _method(name) for name in (
        "bucket_by_sequence_length", "group_by_window", "ignore_errors", "rejection_resample", "scan", "snapshot",
        "take_while", "unbatch", "unique",
    )},
    AUTOTUNE=AUTOTUNE,
    INFINITE_CARDINALITY=-1,
    UNKNOWN_CARDINALITY=-2,
    SHARD_HINT=-1,
    AutoShardPolicy=options.AutoShardPolicy,
    AutotuneAlgorithm=options.AutotuneAlgorithm,
    AutotuneOptions=options.AutotuneOptions,
    DistributeOptions=options.DistributeOptions,
    ExternalStatePolicy=options.ExternalStatePolicy,
    OptimizationOptions=options.OptimizationOptions,
    ServiceOptions=options.ServiceOptions,
    ThreadingOptions=options.ThreadingOptions,
    Optional=resampling.Optional,
    Reducer=resampling.Reducer,
    Counter=lambda start=0, step=1, dtype=int64: Dataset.counter(start, step, dtype),
    RandomDataset=Dataset.random,
    CsvDataset=tables.CsvDataset,
    CsvDatasetV2=tables.CsvDataset,
    make_csv_dataset=tables.make_csv_dataset,
    assert_cardinality=_assert_cardinality,
    at=stages.at,
    cardinality=lambda dataset: dataset.cardinality(),
    choose_from_datasets=Dataset.choose_from_datasets,
    copy_to_device=_same,
    dense_to_ragged_batch=lambda batch_size, drop_remainder=False, row_splits_dtype=int64: (
        lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)
    ),
    enumerate_dataset=lambda start=0: lambda dataset: dataset.enumerate(start),
    from_list=lambda elements, name=None: Dataset.from_tensor_slices(
        {k: [e[k] for e in elements] for k in elements[0]} if isinstance(elements[0], dict)
        else tuple(map(list, zip(*elements, strict=True))) if isinstance(elements[0], tuple)
        else elements
    ),
    get_next_as_optional=resampling.next_or_none,
    get_single_element=lambda dataset: dataset.get_single_element(),
    get_structure=lambda dataset_or_iterator: dataset_or_iterator.element_spec,
    group_by_reducer=group_by_reducer,
    load=Dataset.load,
    map_and_batch=map_and_batch,
    pad_to_cardinality=pad_to_cardinality,
    parallel_interleave=parallel_interleave,
    prefetch_to_device=_same,
    sample_from_datasets=Dataset.sample_from_datasets,
    save=lambda dataset, path, compression=None, shard_func=None, checkpoint_args=None: dataset.save(path, compression),
    shuffle_and_repeat=shuffle_and_repeat,
)  # fmt: skip
