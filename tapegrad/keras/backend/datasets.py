"""Data as `fit`, `evaluate` and `predict` take it: what yields batches each time that it is iterated over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
from keras.src import tree
from keras.src.trainers import data_adapters
from keras.src.trainers.data_adapters import array_data_adapter, array_slicing, data_adapter, data_adapter_utils
from keras.src.trainers.epoch_iterator import EpochIterator

from tapegrad.keras import look

if TYPE_CHECKING:
    from collections.abc import Iterator


class DatasetAdapter(data_adapter.DataAdapter):  # type: ignore[misc]  # Keras has no type hints
    """A dataset in the style of `tf.data`, batch after batch."""

    def __init__(self, dataset: Any, class_weight: Any = None) -> None:
        self._dataset = dataset
        self._class_weight = class_weight
        count = getattr(dataset, "cardinality", None)
        found = -1 if count is None else int(count())
        self._count = found if found >= 0 else None  # negative: infinite, or nobody knows

    def get_numpy_iterator(self) -> Iterator[Any]:
        """The batches of one epoch; their tensors stay tensors."""
        start = getattr(self._dataset, "started", None) if self._count is not None else None
        return self._batches(iter(self._dataset) if start is None else start())

    def _batches(self, rows: Iterator[Any]) -> Iterator[Any]:
        for batch in rows:
            if self._class_weight is None:
                yield batch if isinstance(batch, tuple) else (batch,)
                continue
            x, y, weight = data_adapter_utils.unpack_x_y_sample_weight(batch)
            if weight is not None:
                raise ValueError("`class_weight` is not for a dataset that has sample weights of its own.")
            yield x, y, data_adapter_utils.class_weight_to_sample_weights(y, self._class_weight)

    @property
    def num_batches(self) -> int | None:
        """How many batches there are, if it is known."""
        return self._count

    @property
    def batch_size(self) -> None:
        """Unknown: batches may differ."""
        return

    @property
    def has_partial_batch(self) -> None:
        """Unknown."""
        return

    @property
    def partial_batch_size(self) -> None:
        """Unknown."""
        return


def adapted(x: Any, y: Any = None, sample_weight: Any = None, class_weight: Any = None) -> Any:
    """Such a dataset in the form in which Keras takes it; anything else as it is, for Keras to look at."""
    kind = type(x)
    if not (hasattr(x, "element_spec") and hasattr(x, "__iter__")) or kind.__module__.startswith("tensorflow."):
        return x
    for name, value, what in (("y", y, "targets"), ("sample_weight", sample_weight, "sample weights")):
        if value is not None:
            data_adapters.raise_unsupported_arg(name, what, kind.__name__)
    return DatasetAdapter(x, class_weight)


def epochs(**words: Any) -> Any:
    """Keras's iterator over the batches of epochs; arrays are shuffled in the order that is asked for."""
    found = EpochIterator(**words)
    adapter = found.data_adapter
    if isinstance(adapter, array_data_adapter.ArrayDataAdapter):
        adapter.get_numpy_iterator = lambda: _slices(adapter)
    return found


def _slices(adapter: Any) -> Iterator[Any]:
    """The batches of one epoch; shuffled as `shuffle` says, all samples or those of each batch."""
    rows = array_slicing.convert_to_sliceable(adapter._inputs, target_backend="numpy")
    count, size, shuffle = adapter._num_samples, adapter._batch_size, adapter._shuffle
    order = look.order(count) if shuffle and shuffle != "batch" else None
    if shuffle and order is None and shuffle != "batch":
        order = numpy.random.permutation(count)
    for start in range(0, count, size):
        stop = min(start + size, count)
        if shuffle == "batch":
            taken: Any = numpy.random.permutation(stop - start) + start
        else:
            taken = slice(start, stop) if order is None else order[start:stop]
        yield tree.map_structure(lambda x, taken=taken: x.convert_to_numpy(x[taken]), rows, none_is_leaf=False)
