"""`tf.data` for eager scripts."""

from __future__ import annotations

from typing import Any

from tapegrad.tf.data import sources, stages, tables
from tapegrad.tf.data.dataset import AUTOTUNE, Dataset
from tapegrad.tf.data.elements import DatasetSpec
from tapegrad.tf.data.iteration import OwnedIterator
from tapegrad.tf.dtypes import int64
from tapegrad.tf.export import Namespace, missing

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2
DatasetV2 = Dataset
Iterator = OwnedIterator


class Options:
    """Options of a dataset: any can be set, none has an effect."""

    def __init__(self) -> None:
        self.__dict__["_set"] = {}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__["_set"].setdefault(name, Options())

    def __setattr__(self, name: str, value: Any) -> None:
        self.__dict__["_set"][name] = value


class TextLineDataset(Dataset):
    """The lines of text files."""

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(*sources.lines(filenames, compression_type))


class TFRecordDataset(Dataset):
    """The records of TFRecord files."""

    def __init__(
        self,
        filenames: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(*sources.records(filenames, compression_type))


class FixedLengthRecordDataset(Dataset):
    """The pieces of one length of binary files."""

    def __init__(
        self,
        filenames: Any,
        record_bytes: Any,
        header_bytes: Any = None,
        footer_bytes: Any = None,
        buffer_size: Any = None,
        compression_type: Any = None,
        num_parallel_reads: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(*sources.fixed_lengths(filenames, record_bytes, header_bytes, footer_bytes, compression_type))


def _same(*args: Any, **words: Any) -> Any:
    return lambda dataset: dataset


experimental = Namespace("tapegrad.tf.data.experimental", "`tf.data.experimental`.")
vars(experimental).update(
    AUTOTUNE=AUTOTUNE,
    INFINITE_CARDINALITY=INFINITE_CARDINALITY,
    UNKNOWN_CARDINALITY=UNKNOWN_CARDINALITY,
    cardinality=lambda dataset: dataset.cardinality(),
    get_single_element=lambda dataset: dataset.get_single_element(),
    dense_to_ragged_batch=lambda batch_size, drop_remainder=False, row_splits_dtype=int64: (
        lambda dataset: dataset.ragged_batch(batch_size, drop_remainder, row_splits_dtype)
    ),
    unbatch=lambda: lambda dataset: dataset.unbatch(),
    prefetch_to_device=_same,
    copy_to_device=_same,
    ignore_errors=lambda log_warning=False: lambda dataset: dataset.ignore_errors(log_warning),
    assert_cardinality=_same,
    at=stages.at,
    Counter=lambda start=0, step=1, dtype=int64: Dataset.counter(start, step, dtype),
    CsvDataset=tables.CsvDataset,
    CsvDatasetV2=tables.CsvDataset,
    make_csv_dataset=tables.make_csv_dataset,
)


def __getattr__(name: str) -> Any:
    raise AttributeError(missing(__name__, name, globals()), name=name)


__all__ = ["AUTOTUNE", "Dataset", "DatasetSpec", "Iterator", "Options", "TFRecordDataset", "TextLineDataset", "experimental"]
