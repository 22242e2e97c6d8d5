"""From a sampler's indices to a batch, in this process or in a worker."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.torch import _arrays
from tapegrad.torch._tensor import Tensor
from tapegrad.torch.utils.data._collate import default_collate
from tapegrad.torch.utils.data.dataset import IterableDataset, Subset, TensorDataset


def fetcher(dataset: Any, batched: bool, collate: Callable[[Any], Any], drop_last: bool) -> Callable[[Any], Any]:
    """A function from what the sampler gives to what the loader gives; it raises StopIteration after the last item."""
    if not isinstance(dataset, IterableDataset):
        if batched and collate is default_collate and type(_innermost(dataset)) is TensorDataset:
            return lambda index: _rows(dataset, index) or collate(_by_index(dataset, index))
        return lambda index: collate(_by_index(dataset, index) if batched else dataset[index])
    items = iter(dataset)

    def next_ones(places: Any) -> Any:
        if not batched:
            return collate(next(items))
        batch = list(itertools.islice(items, len(places)))
        if not batch or (drop_last and len(batch) < len(places)):
            raise StopIteration
        return collate(batch)

    return next_ones


def _innermost(dataset: Any) -> Any:
    while type(dataset) is Subset:
        dataset = dataset.dataset
    return dataset


def _rows(dataset: Any, indices: Any) -> list[Any] | None:
    """What `default_collate` makes of the items of a `TensorDataset`, taken from each tensor at once (a tenth of the time).

    None where that could be told from items that are stacked: tensors with a history, of a class of their own, or not on NumPy
    kernels, and indices that are no numbers, or out of range.
    """
    if type(indices) is not list or not indices or not all(type(i) is int for i in indices):
        return None
    try:
        while type(dataset) is Subset:
            dataset, indices = dataset.dataset, [dataset.indices[i] for i in indices]
        tensors = dataset.tensors
        if not all(type(t) is Tensor and type(t.array) is np.ndarray and t.node is None for t in tensors):
            return None
        places = np.array(indices)
        if places.dtype.kind != "i" or places.ndim != 1:
            return None
        return [_arrays.made(t.array[places]) for t in tensors]
    except IndexError:
        return None  # said by the dataset


def _by_index(dataset: Any, indices: Any) -> list[Any]:
    if callable(several := getattr(dataset, "__getitems__", None)):
        return several(indices)
    return [dataset[i] for i in indices]
