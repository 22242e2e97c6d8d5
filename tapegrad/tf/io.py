"""`tf.io`: files, images in files, bytes and lines as numbers, records."""

from __future__ import annotations

import glob as _glob
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from tapegrad.events.wire import framed
from tapegrad.tf import pictures
from tapegrad.tf import records as _records
from tapegrad.tf.composite_features import RaggedFeature, SparseFeature  # noqa: F401  public here
from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.dtypes import as_dtype, uint8
from tapegrad.tf.errors import InvalidArgumentError, NotFoundError
from tapegrad.tf.export import missing
from tapegrad.tf.features import (  # noqa: F401  public here
    FixedLenFeature,
    FixedLenSequenceFeature,
    VarLenFeature,
    parse_example,
    parse_single_example,
)
from tapegrad.tf.gfile import GFile, gfile  # noqa: F401  public here
from tapegrad.tf.sequence_examples import parse_sequence_example, parse_single_sequence_example  # noqa: F401  public here
from tapegrad.tf.strings import each
from tapegrad.tf.tensor import Tensor
from tapegrad.tf.texts import bytes_of, name_of, string


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """The bytes of a file."""
    try:
        return string(Path(name_of(filename)).read_bytes())
    except FileNotFoundError:
        raise NotFoundError(None, None, f"{name_of(filename)}; No such file or directory [Op:ReadFile]") from None


def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Write bytes to a file; its directories are made."""
    path = Path(name_of(filename))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes_of(contents))


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """The names of files that match a pattern."""
    return convert(sorted(_glob.glob(name_of(pattern))))


# -- images ---------------------------------------------------------------------------------------------------
def _decoded(contents: Any, channels: Any, dtype: Any) -> Tensor:
    pixels = pictures.decode(bytes_of(contents), int(channels or 0))
    wanted = as_dtype(dtype)
    if wanted.numpy != pixels.dtype:
        if wanted.is_floating:
            return fresh((pixels / np.iinfo(pixels.dtype).max).astype(wanted.numpy))
        pixels = (pixels >> 8 if pixels.dtype == np.uint16 else pixels.astype(np.uint16) * 257).astype(wanted.numpy)
    return fresh(pixels)


def decode_png(contents: Any, channels: Any = 0, dtype: Any = uint8, name: str | None = None) -> Tensor:
    """The pixels of a PNG file."""
    return _decoded(contents, channels, dtype)


def decode_jpeg(
    contents: Any,
    channels: Any = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Tensor:
    """The pixels of a JPEG file."""
    if ratio != 1:
        raise NotImplementedError("decode_jpeg(ratio=...): decode the whole image and resize it")
    return _decoded(contents, channels, uint8)


def decode_image(
    contents: Any, channels: Any = None, dtype: Any = uint8, name: str | None = None, expand_animations: bool = True
) -> Tensor:
    """The pixels of an image file; of an animated one the first frame."""
    return _decoded(contents, channels, dtype)


def decode_bmp(contents: Any, channels: Any = 0, name: str | None = None) -> Tensor:
    """The pixels of a BMP file."""
    return _decoded(contents, channels, uint8)


def encode_png(image: Any, compression: int = -1, name: str | None = None) -> Tensor:
    """A PNG file of pixels."""
    return string(pictures.encode_png(host(image), compression))


def encode_jpeg(image: Any, format: str = "", quality: int = 95, **words: Any) -> Tensor:
    """A JPEG file of pixels."""
    return string(pictures.encode_jpeg(host(image), quality))


def is_jpeg(contents: Any, name: str | None = None) -> Tensor:
    """Whether bytes begin as a JPEG file does."""
    return fresh(np.bool_(bytes_of(contents).startswith(b"\xff\xd8\xff")))


# -- bytes ----------------------------------------------------------------------------------------------------
def decode_raw(
    input_bytes: Any, out_type: Any, little_endian: bool = True, fixed_length: Any = None, name: str | None = None
) -> Tensor:
    """The numbers that bytes hold."""
    raw = convert(input_bytes).array
    dtype = as_dtype(out_type).numpy
    read = dtype.newbyteorder("<" if little_endian else ">")
    sizes = [len(b) for b in raw.ravel().tolist()]
    if fixed_length is None and len(set(sizes)) > 1:
        k = next(k for k, n in enumerate(sizes) if n != sizes[0])
        text = f"DecodeRaw requires input strings to all be the same size, but element {k} has size {sizes[k]} != {sizes[0]}"
        raise InvalidArgumentError(None, None, f"{text} [Op:DecodeRaw]")
    whole = fixed_length if fixed_length is not None else sizes[0] if sizes else 0
    if whole % dtype.itemsize:
        size = f"{dtype.itemsize}, the size of {as_dtype(dtype).name}"
        text = f"Input to DecodeRaw has length {whole}, which must be a multiple of {size}: it is not a multiple of {dtype.itemsize}"
        raise InvalidArgumentError(None, None, f"{text} [Op:DecodeRaw]")
    rows = [
        np.frombuffer(b if fixed_length is None else b[:fixed_length].ljust(fixed_length, b"\0"), read)
        for b in raw.ravel().tolist()
    ]
    return fresh(np.asarray(rows).astype(dtype).reshape((*raw.shape, whole // dtype.itemsize)))


def serialize_tensor(tensor: Any, name: str | None = None) -> Tensor:
    """A tensor as bytes."""
    return string(_records.tensor_bytes(convert(tensor).array))


def parse_tensor(serialized: Any, out_type: Any, name: str | None = None) -> Tensor:
    """The tensor that bytes hold."""
    found = _records.tensor_of(bytes_of(serialized))
    if found.dtype != as_dtype(out_type).numpy:
        own, wanted = as_dtype(found.dtype).name, as_dtype(out_type).name
        raise InvalidArgumentError(None, None, f"Type mismatch between parsed tensor ({own}) and dtype ({wanted})")
    return fresh(found if found.shape or found.dtype.kind == "O" else found[()])


class TFRecordOptions:
    """Options of record files: how they are compressed ("GZIP", "ZLIB" or not at all), and how hard it is tried."""

    def __init__(self, compression_type: Any = None, compression_level: Any = None, **words: Any) -> None:
        if compression_type not in (None, "", "GZIP", "ZLIB"):
            raise ValueError(f"compression_type is 'GZIP', 'ZLIB', '' or None, got {compression_type!r}")
        self.compression_type = compression_type or ""
        self.compression_level = -1 if compression_level is None else int(compression_level)


class _Compressed:
    """A file of compressed bytes."""

    def __init__(self, file: Any, how: TFRecordOptions) -> None:
        bits = zlib.MAX_WBITS + 16 * (how.compression_type == "GZIP")  # 16 more: with gzip's header
        self._file, self._packer = file, zlib.compressobj(how.compression_level, wbits=bits)

    def write(self, data: bytes) -> None:
        self._file.write(self._packer.compress(data))

    def flush(self) -> None:
        self._file.write(self._packer.flush(zlib.Z_SYNC_FLUSH))
        self._file.flush()

    def close(self) -> None:
        if not self._file.closed:
            self._file.write(self._packer.flush())
            self._file.close()


class TFRecordWriter:
    """Writes records to a file."""

    def __init__(self, path: Any, options: Any = None) -> None:
        how = options if isinstance(options, TFRecordOptions) else TFRecordOptions(options)
        self._file: Any = open(name_of(path), "wb")  # noqa: SIM115  closed by close()
        if how.compression_type:
            self._file = _Compressed(self._file, how)

    def write(self, record: Any) -> None:
        """Write one record."""
        self._file.write(framed(bytes_of(record)))

    def flush(self) -> None:
        """Write out what is buffered."""
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> TFRecordWriter:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def encode_base64(input: Any, pad: bool = False, name: str | None = None) -> Any:
    """Bytes as letters that may stand in an address."""
    import base64

    def encoded(b: bytes) -> bytes:
        found = base64.urlsafe_b64encode(b)
        return found if pad else found.rstrip(b"=")

    return each(encoded, input)


def decode_base64(input: Any, name: str | None = None) -> Any:
    """The bytes that such letters stand for."""
    import base64

    return each(lambda b: base64.urlsafe_b64decode(b + b"=" * (-len(b) % 4)), input)


def decode_csv(
    records: Any,
    record_defaults: Any,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Any = None,
    name: str | None = None,
) -> list[Any]:
    """The fields of lines, a tensor for each column, of the dtype of its default, which stands for an empty field."""
    import csv

    lines = [b.decode() for b in np.asarray(convert(records).array, object).reshape(-1).tolist()]
    shape = convert(records).array.shape
    quoting: Any = csv.QUOTE_MINIMAL if use_quote_delim else csv.QUOTE_NONE
    rows = [next(csv.reader([line], delimiter=field_delim, quoting=quoting), []) for line in lines]
    defaults = [convert(d) for d in record_defaults]
    columns = list(range(len(defaults))) if select_cols is None else list(select_cols)
    found = []
    for default, column in zip(defaults, columns, strict=True):
        kind, values = default.array.dtype, []
        for k, row in enumerate(rows):
            if select_cols is None and len(row) != len(defaults):
                raise InvalidArgumentError(None, None, f"Expect {len(defaults)} fields but have {len(row)} in record {k}")
            field = row[column]
            if field == na_value:
                if not default.array.size:
                    raise InvalidArgumentError(None, None, f"Field {column} is required but missing in record {k}!")
                values.append(default.array.reshape(-1)[0])
                continue
            try:
                values.append(field.encode() if kind.kind == "O" else kind.type(field))
            except ValueError:
                text = f"Field {column} in record {k} is not a valid {default.dtype.name}: {field}"
                raise InvalidArgumentError(None, None, text) from None
        column_of = np.empty(len(values), object)
        column_of[:] = values
        found.append(fresh(column_of.reshape(shape) if kind.kind == "O" else column_of.astype(kind).reshape(shape)[()]))
    return found


def __getattr__(name: str) -> Any:
    raise AttributeError(missing(__name__, name, globals()), name=name)
