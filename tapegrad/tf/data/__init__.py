"""`tf.data` for eager scripts."""

from __future__ import annotations

from typing import Any

from tapegrad.tf.data import sources
from tapegrad.tf.data.dataset import AUTOTUNE, Dataset
from tapegrad.tf.data.elements import DatasetSpec
from tapegrad.tf.data.iteration import OwnedIterator
from tapegrad.tf.data.options import Options, ThreadingOptions
from tapegrad.tf.export import missing

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2
DatasetV2 = Dataset
Iterator = NumpyIterator = OwnedIterator


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


def __getattr__(name: str) -> Any:
    raise AttributeError(missing(__name__, name, globals()), name=name)


from tapegrad.tf.data.experimental import experimental  # noqa: E402  which names what stands above

__all__ = [
    "AUTOTUNE",
    "Dataset",
    "DatasetSpec",
    "Iterator",
    "Options",
    "TFRecordDataset",
    "TextLineDataset",
    "ThreadingOptions",
    "experimental",
]
