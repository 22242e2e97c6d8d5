"""The loader: batches of a dataset in a sampler's order, fetched here or by worker processes."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.context import BaseContext
from typing import Any

from tapegrad.torch.utils.data import _workers
from tapegrad.torch.utils.data._collate import default_collate, default_convert
from tapegrad.torch.utils.data._fetch import fetcher
from tapegrad.torch.utils.data._iterators import (
    _BaseDataLoaderIter,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)
from tapegrad.torch.utils.data.dataset import IterableDataset
from tapegrad.torch.utils.data.sampler import BatchSampler, RandomSampler, SequentialSampler, drawn_seed

__all__ = ["DataLoader", "default_collate", "default_convert", "get_worker_info"]

get_worker_info = _workers.get_worker_info

_FIXED = frozenset(["batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers"])


class _Endless:
    """Stands for the sampler of a dataset that has no indices."""

    def __iter__(self) -> Iterator[None]:
        return itertools.repeat(None)


class DataLoader:
    """Batches of a dataset; iterating it is a pass over the dataset.

    With `num_workers=0` batches are fetched in this process.  `pin_memory` is accepted and changes nothing.
    """

    _ready = False

    def __init__(
        self,
        dataset: Any,
        batch_size: int | None = 1,
        shuffle: bool | None = None,
        sampler: Any = None,
        batch_sampler: Any = None,
        num_workers: int = 0,
        collate_fn: Callable[[Any], Any] | None = None,
        pin_memory: bool = False,
        drop_last: bool = False,
        timeout: float = 0,
        worker_init_fn: Callable[[int], None] | None = None,
        multiprocessing_context: Any = None,
        generator: Any = None,
        *,
        prefetch_factor: int | None = None,
        persistent_workers: bool = False,
        pin_memory_device: str = "",
        in_order: bool = True,
    ) -> None:
        _check_workers(num_workers, timeout, prefetch_factor, persistent_workers, multiprocessing_context)
        if isinstance(dataset, IterableDataset):
            for name, given in [("shuffle", shuffle or None), ("sampler", sampler), ("batch_sampler", batch_sampler)]:
                if given is not None:
                    raise ValueError(
                        f"DataLoader with IterableDataset: expected unspecified {name} option, but got {name}={given}"
                    )
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError("batch_size=None option disables auto-batching and is mutually exclusive with drop_last")
        if sampler is None:
            if isinstance(dataset, IterableDataset):
                sampler = _Endless()
            else:
                sampler = RandomSampler(dataset, generator=generator) if shuffle else SequentialSampler(dataset)
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.dataset = dataset
        self.batch_size = batch_size
        self.sampler = sampler
        self.batch_sampler = batch_sampler
        self.num_workers = num_workers
        self.collate_fn = collate_fn or (default_convert if batch_sampler is None else default_collate)
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.drop_last = drop_last
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.generator = generator
        self.prefetch_factor = 2 if prefetch_factor is None and num_workers else prefetch_factor
        self.persistent_workers = persistent_workers
        self.in_order = in_order
        self.length_told: int | None = None  # by __len__; an iterable dataset may turn out to be longer
        self._workers: _workers.Workers | None = None
        self._ready = True

    def __setattr__(self, name: str, value: Any) -> None:
        if self._ready and name in _FIXED:
            raise ValueError(f"{name} attribute should not be set after {type(self).__name__} is initialized")
        super().__setattr__(name, value)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_workers": None}  # a worker has no workers

    @property
    def _auto_collation(self) -> bool:
        return self.batch_sampler is not None

    @property
    def _index_sampler(self) -> Any:
        return self.sampler if self.batch_sampler is None else self.batch_sampler

    def make_fetcher(self) -> Callable[[Any], Any]:
        """What fetches the batch for what the sampler gives; an iterable dataset starts anew."""
        return fetcher(self.dataset, self._auto_collation, self.collate_fn, self.drop_last)

    def __iter__(self) -> _BaseDataLoaderIter:
        indices: Iterator[Any] = iter(self._index_sampler)
        base_seed = drawn_seed(self.generator)  # before the sampler draws, and without workers too
        if not self.num_workers:
            return _SingleProcessDataLoaderIter(self, indices)
        if self._workers is None:
            workers = _workers.Workers(self, base_seed)
            self._workers = workers if self.persistent_workers else None
        else:
            workers = self._workers
            workers.again()
        return _MultiProcessingDataLoaderIter(self, indices, workers)

    def __len__(self) -> int:
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        n = self.length_told = len(self.dataset)  # type: ignore[arg-type]
        if self.batch_size is None:
            return n
        return n // self.batch_size if self.drop_last else -(-n // self.batch_size)


def _check_workers(
    num_workers: int, timeout: float, prefetch_factor: int | None, persistent_workers: bool, context: Any
) -> None:
    if num_workers < 0:
        raise ValueError("num_workers option should be non-negative; use num_workers=0 to disable multiprocessing.")
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if num_workers == 0:
        if prefetch_factor is not None:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing."
                "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to None."
            )
        if persistent_workers:
            raise ValueError("persistent_workers option needs num_workers > 0")
        if context is not None:
            raise ValueError(
                "multiprocessing_context can only be used with multi-process loading (num_workers > 0), "
                f"but got num_workers={num_workers}"
            )
        return
    if prefetch_factor is not None and prefetch_factor < 0:
        raise ValueError("prefetch_factor option should be non-negative")
    methods = multiprocessing.get_all_start_methods()
    if isinstance(context, str):
        if context not in methods:
            raise ValueError(
                f"multiprocessing_context option should specify a valid start method in {methods!r}, but got "
                f"multiprocessing_context={context!r}"
            )
    elif context is not None and not isinstance(context, BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string specifying the start method, but got "
            f"multiprocessing_context={context}"
        )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or num_workers
    if num_workers > cores:
        warnings.warn(
            f"This DataLoader will create {num_workers} worker processes in total, on a system of {cores}: excessive worker creation "
            "might get DataLoader running slow or even freeze; lower num_workers to avoid that.",
            stacklevel=3,
        )
