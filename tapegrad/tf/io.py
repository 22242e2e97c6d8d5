"""`tf.io`: files, images in files, records and examples."""

from __future__ import annotations

import glob as _glob
import os
import shutil
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from tapegrad.events.wire import framed
from tapegrad.tf import pictures
from tapegrad.tf import records as _records
from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.dtypes import as_dtype, uint8
from tapegrad.tf.errors import InvalidArgumentError, NotFoundError
from tapegrad.tf.examples import Example
from tapegrad.tf.export import Namespace, missing
from tapegrad.tf.shapes import lengths
from tapegrad.tf.sparse_tensor import SparseTensor, placed
from tapegrad.tf.strings import each
from tapegrad.tf.tensor import Tensor


def _text(x: Any) -> str:
    """A file's name, as Python has it."""
    if isinstance(x, str | os.PathLike):
        return os.fspath(x)
    found = convert(x).numpy()
    return found.decode() if isinstance(found, bytes) else str(found)


def _bytes(x: Any) -> bytes:
    if isinstance(x, bytes):
        return x
    found = convert(x).numpy()
    if not isinstance(found, bytes):
        raise InvalidArgumentError(None, None, f"expected a tensor of one string, got {x!r}")
    return found


def string(x: bytes) -> Tensor:
    """Bytes as a tensor."""
    found = np.empty((), object)
    found[()] = x
    return fresh(found)


def read_file(filename: Any, name: str | None = None) -> Tensor:
    """The bytes of a file."""
    try:
        return string(Path(_text(filename)).read_bytes())
    except FileNotFoundError:
        raise NotFoundError(None, None, f"{_text(filename)}; No such file or directory [Op:ReadFile]") from None


def write_file(filename: Any, contents: Any, name: str | None = None) -> None:
    """Write bytes to a file; its directories are made."""
    path = Path(_text(filename))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(_bytes(contents))


def matching_files(pattern: Any, name: str | None = None) -> Tensor:
    """The names of files that match a pattern."""
    return convert(sorted(_glob.glob(_text(pattern))))


# -- images ---------------------------------------------------------------------------------------------------
def _decoded(contents: Any, channels: Any, dtype: Any) -> Tensor:
    pixels = pictures.decode(_bytes(contents), int(channels or 0))
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
    return fresh(np.bool_(_bytes(contents).startswith(b"\xff\xd8\xff")))


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
    found = _records.tensor_of(_bytes(serialized))
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
        self._file: Any = open(_text(path), "wb")  # noqa: SIM115  closed by close()
        if how.compression_type:
            self._file = _Compressed(self._file, how)

    def write(self, record: Any) -> None:
        """Write one record."""
        self._file.write(framed(_bytes(record)))

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


# -- examples ---------------------------------------------------------------------------------------------------
class FixedLenFeature:
    """A feature of a fixed shape."""

    def __init__(self, shape: Any, dtype: Any, default_value: Any = None) -> None:
        self.shape, self.dtype, self.default_value = lengths(shape), as_dtype(dtype), default_value


class VarLenFeature:
    """A feature of any length: a sparse vector of one example, a sparse matrix of several."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = as_dtype(dtype)


class FixedLenSequenceFeature:
    """A feature of any number of values of a fixed shape; several examples are filled up to the longest."""

    def __init__(self, shape: Any, dtype: Any, allow_missing: bool = False, default_value: Any = None) -> None:
        self.shape, self.dtype, self.default_value = lengths(shape), as_dtype(dtype), default_value
        if not allow_missing:
            raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")


def parse_single_example(serialized: Any, features: Any, example_names: Any = None, name: str | None = None) -> dict[str, Any]:
    """The features of one example."""
    found = Example.FromString(_bytes(serialized)).features.feature
    return {key: _feature(key, found.get(key), wanted) for key, wanted in features.items()}


def parse_example(serialized: Any, features: Any, example_names: Any = None, name: str | None = None) -> dict[str, Any]:
    """The features of several examples, stacked."""
    rows = [parse_single_example(string(b), features) for b in convert(serialized).array.ravel().tolist()]
    return {k: _together([r[k] for r in rows], wanted) for k, wanted in features.items()}


def _together(rows: list[Any], wanted: Any) -> Any:
    if isinstance(rows[0], SparseTensor):
        return SparseTensor._stacked(rows)
    raws = [np.asarray(r.array) for r in rows]
    if isinstance(wanted, FixedLenSequenceFeature):
        fill = (b"" if raws[0].dtype.kind == "O" else 0) if wanted.default_value is None else wanted.default_value
        whole = np.full((len(raws), max(map(len, raws)), *raws[0].shape[1:]), fill, raws[0].dtype)
        for place, raw in zip(whole, raws, strict=True):
            place[: len(raw)] = raw
        return fresh(whole)
    return fresh(np.stack(raws))


def _feature(key: str, feature: Any, wanted: Any) -> Any:
    kind = {"string": "bytes_list", "float32": "float_list", "int64": "int64_list"}.get(wanted.dtype.name)
    if kind is None:
        raise InvalidArgumentError(
            None, None, f"Key: {key}.  a feature is of tf.string, tf.float32 or tf.int64, not {wanted.dtype!r}"
        )
    values = [] if feature is None else getattr(feature, kind).value
    if feature is not None and feature.WhichOneof("kind") not in (None, kind):
        raise InvalidArgumentError(None, None, f"Key: {key}.  Data types don't match. Expected type: {wanted.dtype.name}")
    flat = np.empty(len(values), wanted.dtype.numpy)
    flat[:] = values
    if isinstance(wanted, VarLenFeature):
        return placed(np.arange(len(flat))[:, None], fresh(flat), [len(flat)])
    size = int(np.prod(wanted.shape, dtype=int))
    if isinstance(wanted, FixedLenSequenceFeature):
        if size and len(flat) % size:
            raise InvalidArgumentError(
                None, None, f"Key: {key}.  Number of values must be a multiple of {size}, the size of {wanted.shape}, got {len(flat)}"
            )
        return fresh(flat.reshape(-1, *wanted.shape))
    if not values and wanted.default_value is not None:
        return convert(np.broadcast_to(np.asarray(wanted.default_value, wanted.dtype.numpy), wanted.shape), wanted.dtype.numpy)
    if not values and size:
        raise InvalidArgumentError(
            None, None, f"Feature: {key} (data type: {wanted.dtype.name}) is required but could not be found."
        )
    if len(values) != size:
        raise InvalidArgumentError(
            None, None, f"Key: {key}.  Can't parse serialized Example: expected {size} values, got {len(values)}"
        )
    found = flat.reshape(wanted.shape)
    return fresh(found if found.shape or found.dtype.kind == "O" else found[()])


# -- gfile --------------------------------------------------------------------------------------------------
class GFile:
    """A file, as Python opens it."""

    def __init__(self, name: Any, mode: str = "r") -> None:
        self._file = open(_text(name), mode, encoding=None if "b" in mode else "utf-8")  # noqa: SIM115  closed by close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def __iter__(self) -> Any:
        return iter(self._file)

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def size(self) -> int:
        """The bytes of the file."""
        return os.fstat(self._file.fileno()).st_size


def _glob_all(pattern: Any) -> list[str]:
    patterns = pattern if isinstance(pattern, list | tuple) else [pattern]
    return sorted(f for p in patterns for f in _glob.glob(_text(p)))


def _copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    if not overwrite and os.path.exists(_text(dst)):
        from tapegrad.tf.errors import AlreadyExistsError

        raise AlreadyExistsError(None, None, f"file already exists: {_text(dst)}")
    shutil.copy(_text(src), _text(dst))


gfile = Namespace("tapegrad.tf.io.gfile", "`tf.io.gfile`.")
vars(gfile).update(
    GFile=GFile,
    exists=lambda path: os.path.exists(_text(path)),
    isdir=lambda path: os.path.isdir(_text(path)),
    listdir=lambda path: os.listdir(_text(path)),
    makedirs=lambda path: os.makedirs(_text(path), exist_ok=True),
    mkdir=lambda path: os.makedirs(_text(path), exist_ok=True),
    remove=lambda path: os.remove(_text(path)),
    rmtree=lambda path: shutil.rmtree(_text(path)),
    rename=lambda src, dst, overwrite=False: shutil.move(_text(src), _text(dst)),
    copy=_copy,
    glob=_glob_all,
    join=lambda path, *paths: os.path.join(_text(path), *map(_text, paths)),
    walk=lambda top, topdown=True, onerror=None: os.walk(_text(top), topdown, onerror),
    stat=lambda path: os.stat(_text(path)),
)


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
