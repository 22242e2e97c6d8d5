"""`tf.data` for eager scripts."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.data import sources
from tapegrad.tf.data.dataset import AUTOTUNE, Dataset
from tapegrad.tf.data.elements import DatasetSpec
from tapegrad.tf.data.iteration import OwnedIterator
from tapegrad.tf.data.options import Options, ThreadingOptions
from tapegrad.tf.export import missing

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2
DatasetV2 = Dataset


def _of_files(read: Any, filenames: Any, side_by_side: Any) -> Any:
    """What `read` makes of files: one after the other, or one element of each in turn of so many `side_by_side`."""
    if side_by_side is None:
        return read(filenames)
    files = filenames if isinstance(filenames, Dataset) else Dataset(*sources.slices(np.reshape(filenames, -1)))
    rows = files.interleave(lambda file: Dataset(*read(file)), cycle_length=side_by_side, block_length=1)
    return rows._make_iterator, rows._given, rows._cardinality


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
        super().__init__(*_of_files(lambda files: sources.lines(files, compression_type), filenames, num_parallel_reads))


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
        super().__init__(*_of_files(lambda files: sources.records(files, compression_type), filenames, num_parallel_reads))


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
        def read(files: Any) -> Any:
            return sources.fixed_lengths(files, record_bytes, header_bytes, footer_bytes, compression_type)

        super().__init__(*_of_files(read, filenames, num_parallel_reads))


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
