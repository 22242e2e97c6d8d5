"""Making tensors: constants, ranges, grids, rows with a one."""

from __future__ import annotations

from builtins import range as builtin_range
from typing import Any

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.tf.convert import convert, fresh, host, integer, tensors_of
from tapegrad.tf.dtypes import as_dtype, float32, numpy_dtype
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.operators import shape_text
from tapegrad.tf.shapes import lengths
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor, made

FLOAT = float32


def _filled(shape: Any, dtype: Any, value: int) -> Tensor:
    wanted, size = as_dtype(dtype), lengths(shape)
    if any(n < 0 for n in size):
        raise invalid("Fill", f"Dimension {min(size)} must be >= 0")
    if wanted.name == "string":
        return fresh(np.full(size, b"", object))
    raw = np.full(size, value, wanted.numpy)
    return fresh(raw if raw.shape else raw[()])


@export("zeros")
def zeros(shape: Any, dtype: Any = FLOAT, name: str | None = None, layout: Any = None) -> Tensor:
    """Zeros of a shape."""
    return _filled(shape, dtype, 0)


@export("ones")
def ones(shape: Any, dtype: Any = FLOAT, name: str | None = None, layout: Any = None) -> Tensor:
    """Ones of a shape."""
    return _filled(shape, dtype, 1)


@export("zeros_like")
def zeros_like(input: Any, dtype: Any = None, name: str | None = None, layout: Any = None) -> Tensor:
    """Zeros in the shape and dtype of a tensor."""
    return _filled_like(input, dtype, 0)


@export("ones_like")
def ones_like(input: Any, dtype: Any = None, name: str | None = None, layout: Any = None) -> Tensor:
    """Ones in the shape and dtype of a tensor."""
    return _filled_like(input, dtype, 1)


def _filled_like(input: Any, dtype: Any, value: int) -> Tensor:
    x = convert(input)
    raw = x.array
    if all(isinstance(n, int) for n in raw.shape):
        return _filled(raw.shape, dtype or raw.dtype, value)
    wanted = as_dtype(dtype or raw.dtype).numpy  # while a function is traced a length may be open
    found: Tensor = S.full_like(x, value, dtype=wanted)
    return found


@export("fill")
def fill(dims: Any, value: Any, name: str | None = None, layout: Any = None) -> Tensor:
    """One value in a shape."""
    x = convert(value)
    if x.array.size != 1:
        raise invalid("Fill", f"value must represent a scalar, got shape {shape_text(x.array)}")
    x = S.reshape(x, ()) if x.array.shape else x
    shape = lengths(dims)
    if any(n < 0 for n in shape if isinstance(n, int)):
        raise invalid("Fill", f"Dimension {min(shape)} must be >= 0")
    return S.broadcast_to(x, shape)


@export("eye", "linalg.eye")
def eye(num_rows: Any, num_columns: Any = None, batch_shape: Any = None, dtype: Any = FLOAT, name: str | None = None) -> Tensor:
    """Matrices with ones on the diagonal."""
    columns = num_rows if num_columns is None else num_columns
    if any(np.ndim(n) or not hasattr(n, "__index__") for n in (num_rows, columns)):
        raise TypeError(
            "Arguments `num_rows` and `num_columns` must be positive integer values. "
            f"Received: num_rows={num_rows}, num_columns={num_columns}"
        )
    found = np.eye(int(num_rows), int(columns), dtype=numpy_dtype(dtype))
    return fresh(found if batch_shape is None else np.tile(found, (*lengths(batch_shape), 1, 1)))


@export("range")
def range(start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range") -> Tensor:
    """Numbers from `start` (or 0) up to, but not including, `limit`."""
    if limit is None:
        start, limit = 0, start
    wanted = numpy_dtype(dtype)
    parts = [host(convert(v, None if isinstance(v, Tensor) else wanted, prefer=True)) for v in (start, limit, delta)]
    if wanted is not None:
        parts = [p.astype(wanted) for p in parts]  # a tensor may be of another dtype than the one that is asked for
    else:
        order = [np.dtype(d) for d in (np.int32, np.int64, np.float32, np.float64)]
        wanted = max((p.dtype for p in parts), key=lambda d: order.index(d) if d in order else -1)
    for what, p in zip(("start", "limit", "delta"), parts, strict=True):
        if p.shape:
            raise invalid("Range", f"{what} must be a scalar, not shape {shape_text(p)}")
    if not parts[2]:
        raise invalid("Range", "Requires delta != 0: 0")
    first, last, step = (p.item() for p in parts)
    if (first > last and step > 0) or (first < last and step < 0):
        raise invalid("Range", f"Requires start <= limit when delta > 0: {first}/{last}")
    return fresh(np.arange(first, last, step).astype(wanted))


@export("linspace", "lin_space")
def linspace(start: Any, stop: Any, num: Any, name: str | None = None, axis: int = 0) -> Tensor:
    """`num` evenly spaced numbers from `start` to `stop`, both included."""
    a = convert(start)
    b = convert(stop, None if isinstance(stop, core.Tensor) else a.array.dtype, prefer=True)
    if a.array.dtype != b.array.dtype:
        raise ValueError(f"tf.linspace: start and stop must have the same dtype, got {a.dtype.name} and {b.dtype.name}")
    if a.array.dtype.kind in "iu":
        a, b = (fresh(np.asarray(v.array, np.float64)[()]) for v in (a, b))
    n = integer(num)
    if n < 0:
        raise invalid("LinSpace", f"Requires num >= 0: {n}")
    steps = np.linspace(0, 1, n).astype(a.array.dtype) if n > 1 else np.zeros(n, a.array.dtype)
    rank = len(np.broadcast_shapes(a.array.shape, b.array.shape))
    axis = axis % (rank + 1)
    a, b = (S.expand_dims(S.broadcast_to(v, np.broadcast_shapes(a.array.shape, b.array.shape)), axis=axis) for v in (a, b))
    part = fresh(steps.reshape((-1,) + (1,) * (rank - axis)))
    found = S.add(a, S.multiply(part, S.subtract(b, a)))
    if n < 2:
        return found
    head = S.getitem(found, (slice(None),) * axis + (slice(0, n - 1),))
    return S.concat([head, b], axis=axis)  # the last is the end itself


@export("one_hot")
def one_hot(
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: Any = None,
    name: str | None = None,
) -> Tensor:
    """A one (or `on_value`) at each index along a new axis, zeros elsewhere; all zeros for an index out of range."""
    x = convert(indices)
    index = x.array
    if index.dtype.kind not in "iu":
        raise invalid("OneHot", f"Value for attr 'TI' of {as_dtype(index.dtype).name} is not in the list of allowed values")
    depth = integer(depth)
    if depth < 0:
        raise invalid("OneHot", f"depth must be non-negative, got: {depth}")
    given = {n: convert(v).dtype for n, v in (("on_value", on_value), ("off_value", off_value)) if hasattr(v, "dtype")}
    if dtype is None:
        plain = (convert(v).dtype for v in (on_value, off_value) if v is not None)
        dtype = next(iter(given.values()), None) or next(plain, FLOAT)
    wanted = numpy_dtype(dtype)
    for n, of in given.items():
        if of != as_dtype(dtype):
            other = "dtype" if len(set(given.values())) == 1 else "off_value" if n == "on_value" else "on_value"
            raise TypeError(f"one_hot: dtype {of.name} of {n} does not match {as_dtype(dtype).name} of {other}")
    rank = index.ndim
    axis = rank if axis is None or axis == -1 else axis
    if index.dtype.itemsize < 4:
        x = S.convert(x, np.dtype(np.int64))
    places = np.arange(depth, dtype=x.array.dtype).reshape((-1,) + (1,) * (rank - axis))
    if type(x.array) is np.ndarray and on_value is None and off_value is None and -1 <= axis <= rank:
        return made(np.equal(np.expand_dims(x.array, axis), places).astype(wanted))
    hit = S.equal(S.expand_dims(x, axis=axis), made(places))
    if on_value is None and off_value is None:
        return S.convert(hit, wanted)
    on, off = (convert(d if v is None else v, wanted, prefer=True) for v, d in ((on_value, 1), (off_value, 0)))
    return S.where(hit, on, off)


@export("sequence_mask")
def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = np.bool_, name: str | None = None) -> Tensor:
    """For each length, a row that is true as far as it reaches."""
    raw = host(lengths)
    if maxlen is not None and host(maxlen).ndim:
        raise ValueError(f"Argument `maxlen` must be scalar for sequence_mask, received `maxlen` = {maxlen}")
    n = int(raw.max(initial=0)) if maxlen is None else integer(maxlen)
    if n < 0:
        raise invalid("Range", f"sequence_mask: expected maxlen >= 0, got {n}")
    return fresh((np.arange(n) < raw[..., None]).astype(numpy_dtype(dtype)))


@export("meshgrid")
def meshgrid(*args: Any, **kwargs: Any) -> list[Tensor]:
    """Coordinates of a grid, one tensor for each axis; the first two are exchanged for indexing="xy"."""
    indexing = kwargs.pop("indexing", "xy")
    kwargs.pop("name", None)
    if kwargs:
        raise TypeError(f"'{next(iter(kwargs))}' is an invalid keyword argument for this function")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Argument `indexing` parameter must be either 'xy' or 'ij', got '{indexing}'")
    xs = [S.reshape(x, (-1,)) for x in tensors_of(args)]
    order = list(builtin_range(len(xs)))
    if indexing == "xy" and len(xs) > 1:
        order[0], order[1] = 1, 0
    shape = [0] * len(xs)
    for k, x in zip(order, xs, strict=True):
        shape[k] = x.array.size
    return [
        S.broadcast_to(S.reshape(x, tuple(-1 if i == k else 1 for i in builtin_range(len(xs)))), tuple(shape))
        for k, x in zip(order, xs, strict=True)
    ]
