"""From a sampler's indices to a batch, in this process or in a worker."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from tapegrad.torch.utils.data.dataset import IterableDataset


def fetcher(dataset: Any, batched: bool, collate: Callable[[Any], Any], drop_last: bool) -> Callable[[Any], Any]:
    """A function from what the sampler gives to what the loader gives; it raises StopIteration after the last item."""
    if not isinstance(dataset, IterableDataset):
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


def _by_index(dataset: Any, indices: Any) -> list[Any]:
    if callable(several := getattr(dataset, "__getitems__", None)):
        return several(indices)
    return [dataset[i] for i in indices]
