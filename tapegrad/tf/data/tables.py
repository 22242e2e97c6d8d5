"""Datasets of CSV files: `tf.data.experimental.CsvDataset` and `make_csv_dataset`."""

from __future__ import annotations

import csv
import dataclasses
import itertools
from collections import OrderedDict
from collections.abc import Iterator
from typing import Any

import numpy as np

from tapegrad.tf.convert import convert
from tapegrad.tf.data.dataset import Dataset
from tapegrad.tf.data.sources import file_names, matching
from tapegrad.tf.dtypes import DType, as_dtype
from tapegrad.tf.errors import InvalidArgumentError, NotFoundError
from tapegrad.tf.specs import TensorSpec
from tapegrad.tf.tensor import Tensor, made


@dataclasses.dataclass(frozen=True)
class _Form:
    """How a file is read."""

    field_delim: str
    use_quote_delim: bool
    na_value: str
    header: bool

    def rows(self, name: str, *, skip: bool = True) -> Iterator[list[str]]:
        """The rows of a file, without its header unless that is asked for."""
        quoting: Any = csv.QUOTE_MINIMAL if self.use_quote_delim else csv.QUOTE_NONE
        try:
            with open(name, newline="") as f:
                rows = (row for row in csv.reader(f, delimiter=self.field_delim, quoting=quoting) if row)
                yield from itertools.islice(rows, int(self.header and skip), None)
        except FileNotFoundError:
            raise NotFoundError(None, None, f"{name}; No such file or directory") from None


class CsvDataset(Dataset):
    """The rows of CSV files: a tuple of numbers and strings for each."""

    def __init__(
        self,
        filenames: Any,
        record_defaults: Any,
        compression_type: Any = None,
        buffer_size: Any = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Any = None,
        exclude_cols: Any = None,
    ) -> None:
        """One default for each column: a dtype where a field is required, a value that stands for an empty field."""
        if compression_type:
            raise NotImplementedError(f"CsvDataset(compression_type={compression_type!r}): tapegrad reads files that are not compressed")
        if select_cols is not None and exclude_cols is not None:
            raise ValueError("Cannot specify both `select_cols` and `exclude_cols`")
        form = _Form(field_delim, use_quote_delim, na_value, header)
        columns = [_Column(d, na_value) for d in record_defaults]

        def run() -> Iterator[Any]:
            for name in file_names(filenames):
                for row in form.rows(name):
                    yield _record(row, columns, select_cols, exclude_cols)

        super().__init__(run, tuple(TensorSpec([], c.dtype) for c in columns), -2)


class _Column:
    """How a field of a column is read."""

    def __init__(self, default: Any, na_value: str) -> None:
        self.required = isinstance(default, type | DType | np.dtype)
        given = None if self.required else convert(default).array.reshape(-1)
        if given is not None and not given.size:
            self.required = True
        self.dtype = as_dtype(default) if given is None else as_dtype(given.dtype)
        self.default = None if self.required or given is None else given[0]
        self.na_value = na_value

    def read(self, field: str, place: int) -> Tensor:
        """The value of a field, or what stands for an empty one."""
        if field in ("", self.na_value):
            if self.required:
                raise InvalidArgumentError(None, None, f"Field {place} is required but missing in record!")
            return made(np.asarray(self.default, self.dtype.numpy)[()] if self.dtype.name != "string" else _text(self.default))
        if self.dtype.name == "string":
            return made(_text(field.encode()))
        try:
            return made(self.dtype.numpy.type(field))
        except (ValueError, OverflowError):
            raise InvalidArgumentError(
                None, None, f"Field {place} in record is not a valid {self.dtype.name}: {field}"
            ) from None


def _text(x: Any) -> Any:
    found = np.empty((), object)
    found[()] = x
    return found


def _record(row: list[str], columns: list[_Column], select: Any, exclude: Any) -> tuple[Tensor, ...]:
    """The fields that are asked for, in the order of the file."""
    places = [k for k in range(len(row)) if k not in (exclude or ())] if select is None else list(select)
    if len(places) != len(columns) or (places and places[-1] >= len(row)):
        raise InvalidArgumentError(None, None, f"Expect {len(columns)} fields but have {len(row)} in record")
    return tuple([c.read(row[k], k) for c, k in zip(columns, places, strict=True)])


def make_csv_dataset(
    file_pattern: Any,
    batch_size: int,
    column_names: Any = None,
    column_defaults: Any = None,
    label_name: str | None = None,
    select_columns: Any = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: Any = None,
    num_parallel_reads: Any = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: Any = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    """Batches of a table: a dict of columns, and the label apart where it is named.

    Names come from the header, types from the first rows: int32, int64, float32, float64 or string, the first that fits all.
    """
    try:
        names = sorted(matching(file_pattern))
    except InvalidArgumentError:
        raise ValueError(f"No files match `file_pattern` {file_pattern}.") from None
    form = _Form(field_delim, use_quote_delim, na_value, header)
    if column_names is None:
        if not header:
            raise ValueError("Expected `column_names` or `header` arguments to provide column names.")
        column_names = next(form.rows(names[0], skip=False))
    if len(column_names) != len(set(column_names)):
        raise ValueError("Cannot have duplicate column names.")
    places = _places(select_columns, list(column_names))
    if column_defaults is None:
        column_defaults = _inferred(names, len(column_names), places, form, num_rows_for_inference)
    elif places is not None and len(column_defaults) == len(column_names):
        column_defaults = [column_defaults[k] for k in places]
    if places is not None:
        column_names = [column_names[k] for k in places]
    if label_name is not None and label_name not in column_names:
        raise ValueError(f"`label_name` provided must be one of the columns: {column_names}. Received: {label_name}.")

    def read(name: Any) -> CsvDataset:
        return CsvDataset(
            name, column_defaults, compression_type, None, header, field_delim, use_quote_delim, na_value, select_cols=places
        )

    def by_name(*columns: Any) -> Any:
        features = OrderedDict(zip(column_names, columns, strict=True))
        return features if label_name is None else (features, features.pop(label_name))

    rows: Any = Dataset.from_tensor_slices(names)
    if shuffle:
        rows = rows.shuffle(len(names), shuffle_seed)
    rows = rows.interleave(read, cycle_length=max(1, num_parallel_reads or 1))
    if ignore_errors:
        rows = rows.ignore_errors()
    if shuffle:
        rows = rows.shuffle(shuffle_buffer_size, shuffle_seed)
    if num_epochs != 1:
        rows = rows.repeat(num_epochs)
    rows = rows.batch(batch_size, drop_remainder=num_epochs is None)
    named = rows.map(by_name)
    return Dataset(named._make_iterator, by_name(*rows.element_spec), -2)


def _places(select: Any, names: list[str]) -> list[int] | None:
    """The numbers of columns that are given by name or number."""
    if select is None:
        return None
    found = []
    for c in select:
        if c in names:
            found.append(names.index(c))
        elif isinstance(c, int) and 0 <= c < len(names):
            found.append(c)
        else:
            raise ValueError(f"Column {c!r} specified in `select_columns` must be one of the columns {names}, or its number.")
    if len(set(found)) != len(found):
        raise ValueError(f"The `select_columns` argument contains duplicate columns: {select}.")
    return sorted(found)


def _inferred(names: list[str], count: int, places: list[int] | None, form: _Form, limit: int | None) -> list[Any]:
    """A default for each column, of the narrowest type that holds what the first rows have."""
    wanted = list(range(count)) if places is None else places
    ranks = dict.fromkeys(wanted, -1)
    for row in itertools.islice((row for name in names for row in form.rows(name)), limit):
        if len(row) != count:
            raise ValueError(f"Problem inferring types: a row has {len(row)} fields, {count} were expected: {row}")
        for k in wanted:
            ranks[k] = max(ranks[k], _rank(row[k], form.na_value))
    return [[b""] if ranks[k] in (-1, len(_KINDS)) else np.zeros(1, _KINDS[ranks[k]]) for k in wanted]


#: The types of numbers in the order in which they are tried; a string is what is none of them.
_KINDS = ("int32", "int64", "float32", "float64")


def _rank(field: str, na_value: str) -> int:
    """The first of the types that holds a field; -1 for an empty one, which says nothing."""
    if field in ("", na_value):
        return -1
    for k, kind in enumerate(_KINDS):
        try:
            with np.errstate(over="ignore"):
                value = int(field) if k < 2 else np.dtype(kind).type(field)
        except ValueError:
            continue
        if (np.iinfo(kind).min <= value <= np.iinfo(kind).max) if k < 2 else value < np.inf:
            return k
    return len(_KINDS)
