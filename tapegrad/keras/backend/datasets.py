"""Datasets as `fit`, `evaluate` and `predict` take them: what yields batches each time that it is iterated over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from keras.src.trainers import data_adapters
from keras.src.trainers.data_adapters import data_adapter, data_adapter_utils

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
        for batch in self._dataset:
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
