"""Passes over a loader: what `iter(loader)` gives."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from tapegrad.torch.utils.data._workers import Pass, Workers
from tapegrad.torch.utils.data.dataset import IterableDataset


class _BaseDataLoaderIter:
    """One pass.  What an error interrupts goes on with the next batch when it is asked again."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader
        self._given = 0
        self._length = loader.length_told if isinstance(loader.dataset, IterableDataset) else None

    def __iter__(self) -> Iterator[Any]:
        return self

    def _next_data(self) -> Any:
        raise NotImplementedError

    def __next__(self) -> Any:
        found = self._next_data()
        self._given += 1
        if self._length is not None and self._given > self._length:
            self._warn()
        return found

    def _warn(self) -> None:
        loader = self._loader
        text = (
            f"Length of IterableDataset {loader.dataset} was reported to be {self._length} (when accessing len(dataloader)), but "
            f"{self._given} samples have been fetched. "
        )
        if loader.num_workers:
            text += (
                "For multiprocessing data-loading, this could be caused by each worker giving all items: configure the replica "
                "of each by torch.utils.data.get_worker_info()."
            )
        warnings.warn(text, stacklevel=3)

    def __len__(self) -> int:
        return len(self._loader)

    def __getstate__(self) -> Any:
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled", type(self).__name__)


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """A pass whose batches are fetched in this process."""

    def __init__(self, loader: Any, indices: Iterator[Any]) -> None:
        super().__init__(loader)
        self._indices = indices
        self._fetch = loader.make_fetcher()

    def _next_data(self) -> Any:
        return self._fetch(next(self._indices))


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """A pass whose batches worker processes fetch; they end with it, unless they are the loader's own for all passes."""

    def __init__(self, loader: Any, indices: Iterator[Any], workers: Workers) -> None:
        super().__init__(loader)
        self._all = workers
        self._workers = workers.processes
        self._pass = Pass(workers, indices)

    def _next_data(self) -> Any:
        try:
            return next(self._pass)
        except StopIteration:
            if not self._loader.persistent_workers:
                self._all.stop()
            raise
