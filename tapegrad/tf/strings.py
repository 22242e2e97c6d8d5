"""`tf.strings`: functions of tensors of bytes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.dtypes import as_dtype, float32
from tapegrad.tf.errors import InvalidArgumentError, invalid
from tapegrad.tf.export import missing
from tapegrad.tf.ragged_dispatch import dispatched
from tapegrad.tf.ragged_pointwise import by_values
from tapegrad.tf.ragged_tensor import in_rows
from tapegrad.tf.tensor import Tensor, made
from tapegrad.tf.texts import texts
from tapegrad.tf.unicode import (  # noqa: F401  names of this module
    unicode_decode,
    unicode_decode_with_offsets,
    unicode_encode,
    unicode_split,
    unicode_split_with_offsets,
    unicode_transcode,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def each(f: Any, x: Any, dtype: Any = object) -> Any:
    if hasattr(x, "_map_values"):  # rows of different lengths stay such rows
        return x._map_values(lambda v: each(f, v, dtype))
    raw = texts(x)
    found = np.empty(raw.shape, object)
    found.ravel()[...] = 0 if dtype is not object else b""
    flat = found.reshape(-1)
    for k, b in enumerate(raw.reshape(-1).tolist()):
        flat[k] = f(b)
    if dtype is object:
        return made(flat.reshape(raw.shape))
    return fresh(flat.reshape(raw.shape).astype(dtype)[()])


def _case(how: Any, encoding: str) -> Any:
    return (lambda b: how(b.decode("utf-8")).encode()) if encoding else how


def lower(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Small letters."""
    return each(_case((lambda s: s.lower()), encoding), input)


def upper(input: Any, encoding: str = "", name: str | None = None) -> Tensor:
    """Capital letters."""
    return each(_case((lambda s: s.upper()), encoding), input)


def strip(input: Any, name: str | None = None) -> Tensor:
    """Without spaces around."""
    return each(bytes.strip, input)


def regex_replace(input: Any, pattern: Any, rewrite: Any, replace_global: bool = True, name: str | None = None) -> Tensor:
    """What a pattern matches, replaced; groups are named by a backslash and a number."""
    p, r = (texts(v).item() for v in (pattern, rewrite))
    compiled = re.compile(p)
    r = r.replace(b"\\0", b"\\g<0>")  # all that was matched; Python would take it for the character of number 0
    return each(lambda b: compiled.sub(r, b, 0 if replace_global else 1), input)


def regex_full_match(input: Any, pattern: Any, name: str | None = None) -> Tensor:
    """Whether a pattern matches all of each string."""
    compiled = re.compile(texts(pattern).item())
    return each(lambda b: compiled.fullmatch(b) is not None, input, np.bool_)


def length(input: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """How many bytes, or characters, there are."""
    return each((lambda b: len(b.decode())) if unit == "UTF8_CHAR" else len, input, np.int32)


@dispatched()
def substr(input: Any, pos: Any, len: Any, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """A part of each string."""
    rows, first, many = texts(input), host(pos), host(len)
    if first.shape != many.shape:
        raise ValueError(f"pos and len must have the same shape, got {list(first.shape)} and {list(many.shape)}")
    try:
        rows, first, many = np.broadcast_arrays(rows, first, many)
    except ValueError:
        raise InvalidArgumentError(
            None, None, f"Incompatible shapes: {list(rows.shape)} vs. {list(first.shape)} [Op:Substr]"
        ) from None
    found = np.empty(rows.shape, object)
    for place in np.ndindex(*rows.shape):
        b: Any = rows[place]
        a, n = int(first[place]), int(many[place])
        whole: Any = b.decode() if unit == "UTF8_CHAR" else b
        size = whole.__len__()
        if not -size <= a <= size:
            raise InvalidArgumentError(None, None, f"pos {a} out of range for string b{b!r} [Op:Substr]")
        part = whole[a : a + n if a >= 0 or a + n < 0 else None]
        found[place] = part.encode() if unit == "UTF8_CHAR" else part
    return made(found)


def bytes_split(input: Any, name: str | None = None) -> Any:
    """The bytes of a string, each a string; of several strings as rows of a ragged tensor."""
    raw = texts(input)
    return _parts(raw.shape, [[bytes([b]) for b in text] for text in raw.reshape(-1).tolist()])


def _parts(shape: tuple[int, ...], rows: list[list[bytes]]) -> Any:
    """The parts of texts that stood in this shape."""
    flat = np.empty(sum(map(len, rows)), object)
    flat[:] = [part for r in rows for part in r]
    return in_rows(made(flat), shape, [len(r) for r in rows])


def ngrams(data: Any, ngram_width: Any, separator: str = " ", name: str | None = None, **words: Any) -> Any:
    """Each run of so many strings of the last axis, joined; with several widths, the runs of one after those of the other."""
    widths = [int(n) for n in np.ravel(ngram_width)]

    def runs(row: list[bytes]) -> list[bytes]:
        return [separator.encode().join(row[k : k + n]) for n in widths for k in range(len(row) - n + 1)]

    if hasattr(data, "_map_values") and data.shape.rank == 2:  # rows of different lengths
        rows = data.to_list()
        return _parts((len(rows),), [runs(row) for row in rows])
    raw = texts(data)
    found = [runs(raw[place].tolist()) for place in np.ndindex(raw.shape[:-1])]
    filled = np.empty((len(found), len(found[0]) if found else 0), object)
    filled[...] = found
    return made(filled.reshape(*raw.shape[:-1], filled.shape[-1]))


def _joined(inputs: Any, *args: Any, **kwargs: Any) -> Any:
    """The texts of ragged tensors one after the other."""
    return by_values(lambda *xs: join(xs, *args, **kwargs), *inputs)


@dispatched(_joined)
def join(inputs: Any, separator: str = "", name: str | None = None) -> Tensor:
    """Strings one after the other, element by element."""
    given = [texts(x) for x in inputs]
    if not given:
        return convert("")
    raws = np.broadcast_arrays(*given)
    found = np.empty(raws[0].shape, object)
    flat = found.reshape(-1)
    for k, parts in enumerate(zip(*(r.reshape(-1).tolist() for r in raws), strict=True)):
        flat[k] = separator.encode().join(parts)
    return made(flat.reshape(raws[0].shape))


def _rows_joined(inputs: Any, axis: Any = None, keepdims: bool = False, separator: str = "", name: str | None = None) -> Tensor:
    """Texts of each row joined, or all of them."""
    if axis is None:
        return reduce_join(inputs.flat_values, None, keepdims, separator)
    if keepdims or inputs.ragged_rank > 1 or int(np.atleast_1d(axis)[0]) % inputs.shape.rank != 1:
        raise NotImplementedError("tf.strings.reduce_join of a ragged tensor: along rows, without keepdims; or write x.to_tensor('')")
    return convert(np.asarray([separator.encode().join(row) for row in inputs.to_list()], object))


@dispatched(_rows_joined)
def reduce_join(inputs: Any, axis: Any = None, keepdims: bool = False, separator: str = "", name: str | None = None) -> Tensor:
    """The strings along axes joined to one."""
    raw = texts(inputs)
    axes = range(raw.ndim) if axis is None else [int(a) % raw.ndim for a in np.atleast_1d(axis)]
    kept = [k for k in range(raw.ndim) if k not in axes]
    many = int(np.prod([raw.shape[k] for k in axes], dtype=int))
    rows = raw.transpose(*kept, *axes).reshape(*(raw.shape[k] for k in kept), many)
    found = np.empty(rows.shape[:-1], object)
    for index in np.ndindex(*rows.shape[:-1]):
        found[index] = separator.encode().join(rows[index].tolist())
    if keepdims:
        found = found.reshape([1 if k in axes else n for k, n in enumerate(raw.shape)])
    return made(found)


def to_number(input: Any, out_type: Any = float32, name: str | None = None) -> Tensor:
    """The numbers that strings say."""
    wanted = as_dtype(out_type)

    def number(b: bytes) -> Any:
        try:
            return int(b) if wanted.is_integer else float(b)
        except ValueError:
            raise InvalidArgumentError(None, None, f"StringToNumberOp could not correctly convert string: {b.decode()}") from None

    return each(number, input, wanted.numpy)


@dispatched()
def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Numbers as strings."""
    raw = host(input)
    kind = raw.dtype.kind
    digits = f".{precision}" if precision >= 0 else ""
    form = f"{'0' if fill == '0' else ''}{width if width >= 0 else ''}"

    def text(v: Any) -> bytes:
        if kind == "O":
            return v.rjust(max(width, 0))
        if kind == "c":
            return f"({number(v.real)},{number(v.imag)})".encode()
        if kind == "b":
            return b"true" if v else b"false"
        if kind in "iu":
            return format(v, form + "d").encode()
        return number(v).encode()

    def number(v: Any) -> str:
        return format(float(v), form + (digits or ("" if shortest else ".6")) + ("e" if scientific else "g" if shortest else "f"))

    found = np.empty(raw.shape, object)
    flat = found.reshape(-1)
    for k, v in enumerate(raw.reshape(-1).tolist()):
        flat[k] = text(v)
    return fresh(flat.reshape(raw.shape))


def split(input: Any, sep: Any = None, maxsplit: int = -1, name: str | None = None) -> Any:
    """The parts of a string; of several strings as rows of a ragged tensor."""
    raw = texts(input)
    by = None if sep is None or sep == "" else sep.encode() if isinstance(sep, str) else sep
    rows = [b.split(by, maxsplit) for b in raw.reshape(-1).tolist()]
    return _parts(raw.shape, rows)


def format_(template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None) -> Tensor:
    """A text with tensors in the place of `{}`."""
    from tapegrad.tf.printing import formatted

    given = inputs if isinstance(inputs, list | tuple) else [inputs]
    parts = template.split(placeholder)
    if len(parts) - 1 != len(given):
        raise ValueError(
            f"The template expects {len(parts) - 1} tensors, but the inputs only has {len(given)}. Please ensure the number of "
            "placeholders in template matches inputs length."
        )
    text = parts[0]
    for x, rest in zip(given, parts[1:], strict=True):
        text += formatted(convert(x).numpy(), summarize) + rest
    return convert(text)


@dispatched()
def to_hash_bucket_fast(input: Any, num_buckets: int, name: str | None = None) -> Tensor:
    """The number of a bucket for each text, by its fingerprint: the same as TensorFlow's."""
    from tapegrad.tf.fingerprints import fingerprint

    return _in_buckets(input, num_buckets, fingerprint)


@dispatched()
def to_hash_bucket_strong(input: Any, num_buckets: int, key: Any, name: str | None = None) -> Tensor:
    """The number of a bucket for each text, by a hash with a key of two numbers: the same as TensorFlow's."""
    from tapegrad.tf.fingerprints import keyed

    if len(key) != 2:
        raise invalid("StringToHashBucketStrong", f"Key must have 2 elements, got {len(key)}")
    pair = int(key[0]), int(key[1])
    return _in_buckets(input, num_buckets, lambda text: keyed(text, pair))


def _in_buckets(input: Any, num_buckets: int, number: Callable[[bytes], int]) -> Tensor:
    n = int(num_buckets)
    if n < 1:
        raise ValueError(f"num_buckets must be at least 1, got {n}")
    raw = texts(input)
    found = np.asarray([number(text) % n for text in raw.ravel().tolist()], np.int64)
    return fresh(found.reshape(raw.shape)[()])


def unsorted_segment_join(
    inputs: Any, segment_ids: Any, num_segments: Any, separator: str = "", name: str | None = None
) -> Tensor:
    """The texts of each segment joined, in their order; those of a negative segment are left out."""
    raw, ids, n = texts(inputs), host(segment_ids), int(host(num_segments))
    if ids.shape != raw.shape[: ids.ndim]:
        raise invalid("UnsortedSegmentJoin", f"segment_ids.shape {list(ids.shape)} does not prefix inputs.shape {list(raw.shape)}")
    if ids.size and int(ids.max()) >= n:
        raise invalid("UnsortedSegmentJoin", f"segment_ids has {int(ids.max())}, which is not less than num_segments = {n}")
    rest = raw.shape[ids.ndim :]
    rows, flat = raw.reshape(ids.size, -1), ids.reshape(-1)
    by = separator.encode()
    found = np.empty((n, rows.shape[1]), object)
    for k in range(n):
        own = rows[flat == k]
        for j in range(rows.shape[1]):
            found[k, j] = by.join(own[:, j].tolist())
    return fresh(found.reshape(n, *rest))


def __getattr__(name: str) -> Any:
    if name == "format":
        return format_
    raise AttributeError(missing(__name__, name, globals()), name=name)
