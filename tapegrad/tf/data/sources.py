"""Where the elements of datasets come from; each gives a maker of iterations, a spec and a size for `Dataset`."""

from __future__ import annotations

import glob
import gzip
import io
import itertools
import os
import zlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from tapegrad import philox
from tapegrad.core import tensor as core
from tapegrad.tf import nest
from tapegrad.tf.convert import convert, host
from tapegrad.tf.data.elements import element, part, rows_of, spec, unbatched_spec
from tapegrad.tf.dtypes import as_dtype
from tapegrad.tf.errors import DataLossError, InvalidArgumentError, NotFoundError
from tapegrad.tf.random_functions import get_seed
from tapegrad.tf.shapes import TensorShape
from tapegrad.tf.specs import Composite, TensorSpec
from tapegrad.tf.tensor import made

Source = tuple[Any, Any, int]


def slices(tensors: Any) -> Source:
    """The rows of a structure of tensors."""
    whole = element(_columns(tensors))
    if any(isinstance(x, Composite) for x in nest.flatten(whole)):
        return _composite_slices(whole)
    leaves = [x.array for x in nest.flatten(whole)]
    if not leaves:
        raise ValueError("Invalid `tensors`. `tensors` should not be empty.")
    if any(not x.shape for x in leaves):
        raise ValueError("Unbatching a tensor is only supported for rank >= 1")
    n = leaves[0].shape[0]
    if any(x.shape[0] != n for x in leaves):
        raise ValueError(f"Dimensions {n} and {next(x.shape[0] for x in leaves if x.shape[0] != n)} are not compatible")
    known = nest.map_structure(lambda x: TensorSpec(x.array.shape[1:], as_dtype(x.array.dtype)), whole)
    if not nest.is_nested(whole):
        only = leaves[0]
        return (lambda: (made(part(only, i)) for i in range(n))), known, n
    if type(whole) is tuple and not any(nest.is_nested(x) for x in whole):
        return (lambda: (tuple([made(part(x, i)) for x in leaves]) for i in range(n))), known, n
    return (lambda: (nest.pack_sequence_as(whole, [made(part(x, i)) for x in leaves]) for i in range(n))), known, n


def _composite_slices(whole: Any) -> Source:
    """The same of a structure with sparse or ragged tensors."""
    counts = {x._count() if isinstance(x, Composite) else x.array.shape[0] for x in nest.flatten(whole)}
    if len(counts) > 1:
        raise ValueError("Dimensions {} and {} are not compatible".format(*sorted(counts)))
    return (lambda: rows_of(whole)), unbatched_spec(spec(whole)), counts.pop()


def _columns(tensors: Any) -> Any:
    """A table of pandas as a dict of its columns."""
    if type(tensors).__module__.startswith("pandas") and hasattr(tensors, "columns"):
        return {k: tensors[k].to_numpy() for k in tensors.columns}
    return tensors


def generated(generator: Any, types: Any, shapes: Any, args: Any, signature: Any) -> Source:
    """What a generator function yields."""
    if not callable(generator):
        raise TypeError("`generator` must be a Python callable.")
    if signature is None:
        if types is None:
            raise TypeError("Either `output_signature` or `output_types` must be specified")
        flat = nest.flatten(types)
        known: list[Any] = [None] * len(flat) if shapes is None else _given_shapes(types, shapes)
        signature = nest.pack_sequence_as(types, [TensorSpec(s, d) for s, d in zip(known, flat, strict=True)])
    wanted = nest.flatten(signature)
    given = [] if args is None else [convert(a).numpy() for a in args]

    def check(value: Any) -> Any:
        return _checked(value, signature, wanted)

    def run() -> Iterator[Any]:  # `map` goes on after an element that does not fit, as TensorFlow does
        return map(check, iter(generator(*given)))

    return run, signature, -2


def _given_shapes(types: Any, shapes: Any) -> list[Any]:
    if not nest.is_nested(types):
        return [shapes]
    if isinstance(types, dict):
        return [s for k in sorted(types) for s in _given_shapes(types[k], shapes[k])]
    return [s for t, w in zip(types, shapes, strict=True) for s in _given_shapes(t, w)]


def _checked(value: Any, signature: Any, wanted: list[Any]) -> Any:
    if not nest.is_nested(signature):
        parts = [value]
    elif isinstance(signature, dict):
        parts = _by_structure(signature, value)
    else:
        try:
            parts = _by_structure(signature, value)
        except (TypeError, ValueError):
            raise _yielded(
                f"an element that did not match the expected structure. The expected structure was "
                f"{nest.map_structure(lambda s: s.dtype, signature)}, but the yielded element was {value}."
            ) from None
    found = []
    for x, s in zip(parts, wanted, strict=True):
        try:
            t = convert(x, s.dtype.numpy, prefer=True)
        except (TypeError, ValueError) as error:
            raise _yielded(
                f"an element that could not be converted to the expected type. The expected type was "
                f"{s.dtype.name}, but the yielded element was {x}."
            ) from error
        if not s.shape.is_compatible_with(t.shape):
            raise _yielded(f"an element of shape {tuple(t.shape)} where an element of shape {s.shape} was expected.")
        found.append(element(t))
    return nest.pack_sequence_as(signature, found)


def _yielded(text: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, f"TypeError: `generator` yielded {text} [Op:PyFunc]")


def _by_structure(signature: Any, value: Any) -> list[Any]:
    if not nest.is_nested(signature):
        return [value]
    if isinstance(signature, dict):
        return [x for k in sorted(signature) for x in _by_structure(signature[k], value[k])]
    if isinstance(value, core.Tensor | np.ndarray | str | bytes) or len(value) != len(signature):
        raise TypeError("another structure")
    return [x for s, v in zip(signature, value, strict=True) for x in _by_structure(s, v)]


def seeds(seed: Any) -> tuple[int, int]:
    """The two numbers of a dataset's stream; from the operating system where there is no seed."""
    pair = get_seed(None if seed is None else int(seed))
    if pair is None:
        return int(np.random.default_rng().integers(2**63)), 0
    return pair


def random_numbers(seed: Any, *, again: bool = False) -> Source:
    """Random integers without end, the same ones in each iteration unless they are drawn again."""
    first, second = seeds(seed)
    epochs = itertools.count()

    def run() -> Iterator[Any]:
        epoch = next(epochs) if again else 0
        for number in philox.stream(first + epoch, second):
            yield made(np.int64(number))

    return run, TensorSpec([], np.int64), -1


def matching(pattern: Any) -> list[str]:
    """The names of files that match a pattern, or several."""
    given = pattern if isinstance(pattern, list | tuple) else np.atleast_1d(convert(pattern).numpy()).tolist()
    texts = [p.decode() if isinstance(p, bytes) else str(p) for p in given]
    found = sorted(name for text in texts for name in glob.glob(text))
    if not found:
        raise InvalidArgumentError(None, None, f"No files matched pattern: {', '.join(texts)}")
    return found


def lines(names: Any, compression: Any = None) -> Source:
    """The lines of text files, which may be compressed ("GZIP" or "ZLIB")."""

    def run() -> Iterator[Any]:
        for name in file_names(names):
            with opened(name, compression) as f:
                for line in f:
                    yield made(np.asarray(line.rstrip(b"\r\n"), object))

    return run, TensorSpec([], "string"), -2


def opened(name: str, compression: Any = None) -> Any:
    """A file to be read, whose bytes are those that were compressed."""
    kind = host(compression).item() if hasattr(compression, "dtype") else compression or ""
    kind = kind.decode() if isinstance(kind, bytes) else kind
    if kind not in ("", "NONE", "GZIP", "ZLIB"):
        raise InvalidArgumentError(None, None, f"Unsupported compression_type: {kind}. Use 'GZIP' or 'ZLIB', or none")
    try:
        if kind == "GZIP":
            return gzip.open(name, "rb")
        if kind == "ZLIB":
            with open(name, "rb") as f:
                return io.BytesIO(zlib.decompress(f.read()))
        return open(name, "rb")
    except FileNotFoundError:
        raise NotFoundError(None, None, f"{name}; No such file or directory") from None
    except zlib.error as error:
        raise DataLossError(None, None, f"{name}: {error}") from None


def file_names(names: Any) -> list[str]:
    """The names of files that a tensor, a list or a dataset of names has."""
    if hasattr(names, "_make_iterator"):
        return [x.numpy().decode() for x in names]
    names = [os.fspath(n) if isinstance(n, os.PathLike) else n for n in names] if isinstance(names, list | tuple) else names
    names = os.fspath(names) if isinstance(names, os.PathLike) else names
    return [n.decode() if isinstance(n, bytes) else str(n) for n in np.atleast_1d(convert(names).numpy()).tolist()]


def fixed_lengths(names: Any, size: Any, header: Any, footer: Any, compression: Any) -> Source:
    """The pieces of one length of binary files, between a header and a footer."""
    n, before, after = int(size), int(header or 0), int(footer or 0)
    if n <= 0:
        raise InvalidArgumentError(None, None, f"record_bytes must be greater than zero, got {n}")

    def run() -> Iterator[Any]:
        for name in file_names(names):
            with opened(name, compression) as f:
                data = f.read()
            body = len(data) - before - after
            if body < 0 or body % n:
                raise InvalidArgumentError(
                    None,
                    None,
                    f"Excluding the header ({before} bytes) and footer ({after} bytes), input file \"{name}\" has body length "
                    f"{body} bytes, which is not an exact multiple of the record length ({n} bytes).",
                )
            for k in range(before, before + body, n):
                yield made(np.asarray(data[k : k + n], object))

    return run, TensorSpec([], "string"), -2


def records(names: Any, compression: Any = None) -> Source:
    """The records of TFRecord files, which may be compressed."""
    from tapegrad.tf.records import read

    def run() -> Iterator[Any]:
        for name in file_names(names):
            for record in read(name, partial(opened, name, compression)):
                yield made(np.asarray(record, object))

    return run, TensorSpec(TensorShape([]), "string"), -2
