"""Adding values at an index, where an element may be picked more than once: the adjoints of indexing."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.kernels.numpy_shape import along_axis

if TYPE_CHECKING:
    from collections.abc import Callable

_ALL = slice(None)
#: From so many occurrences of a row on, adding up sorted runs beats a pass for each occurrence.
_OFTEN = 10
#: Rows up to so long are added as elements, for which `np.add.at` is fast; it is not for rows.
_NARROW = 16


def is_basic(index: Any) -> bool:
    """Whether an index picks every element at most once: integers, slices, `...`, None."""
    if type(index) is int:
        return True
    for i in index if type(index) is tuple else (index,):
        if type(i) is not int and type(i) is not slice and i is not None and i is not Ellipsis:
            return False
    return True


def add_at(buffer: Any, index: Any, g: Any) -> None:
    """`buffer[index] += g` in place, adding up where an element is picked more than once."""
    if is_basic(index):
        view = buffer[index]
        if type(view) is np.ndarray:
            view += g
        else:
            buffer[index] = view + g
    else:
        _add_picked(buffer, index, g)


def _add_picked(buffer: Any, index: Any, g: Any) -> None:
    """The same for an index with arrays: whole rows where it can be seen as rows, NumPy's `add.at` elsewhere."""
    parts = index if type(index) is tuple else (index,)
    kinds = [p.dtype.kind if type(p) is np.ndarray else "" for p in parts]
    if kinds == ["b"]:
        buffer[parts[0]] += g  # a mask picks nothing twice
    elif all(k in ("i", "u") and k for k in kinds) and buffer.flags.c_contiguous:
        lengths = buffer.shape[: len(parts)]
        try:
            flat = in_rows(parts, lengths)
        except (IndexError, ValueError):  # out of range, or shapes that do not fit: let NumPy say it
            np.add.at(buffer, index, g)
            return
        rest = buffer.shape[len(parts) :]
        rows = buffer.reshape(math.prod(lengths), math.prod(rest))
        add_rows(rows, flat.reshape(-1), np.broadcast_to(g, (*flat.shape, *rest)).reshape(flat.size, rows.shape[1]))
    elif kinds[-1] in ("i", "u") and kinds[-1] and all(type(p) is slice and p == _ALL for p in parts[:-1]) and len(parts) <= buffer.ndim:
        _add_along(buffer, len(parts) - 1, parts[-1], g)
    else:
        np.add.at(buffer, index, g)


def _add_along(buffer: Any, axis: int, ids: Any, g: Any) -> None:
    """The same for integers along one axis, which comes first for as long as that takes.

    Measured for 4,096 rows of 32 that go back to 16, as when an image is made larger: 300 us, `add.at` 2,900.
    """
    n = buffer.shape[axis]
    flat = _from_start(ids, n).reshape(-1)
    index = (*(_ALL,) * axis, ids)
    place = np.empty(n, np.intp)
    here = np.arange(flat.size)
    place[flat] = here
    if (place[flat] == here).all():  # nothing is picked twice
        buffer[index] += g
    elif flat.size * 4 < n:  # few of many
        np.add.at(buffer, index, g)
    else:
        rest = (*buffer.shape[:axis], *buffer.shape[axis + 1 :])
        whole = np.broadcast_to(g, (*buffer.shape[:axis], *ids.shape, *buffer.shape[axis + 1 :]))
        rows = np.moveaxis(whole, range(axis, axis + ids.ndim), range(ids.ndim)).reshape(flat.size, math.prod(rest))
        sums = np.zeros((n, rows.shape[1]), buffer.dtype)
        add_rows(sums, flat, rows)
        buffer += np.moveaxis(sums.reshape(n, *rest), 0, axis)


def _from_start(ids: Any, n: int) -> Any:
    """Indices into an axis of this length, negative ones counted from the start; wide, for -1 + n may not fit an int8."""
    wide = ids.astype(np.intp, copy=False)
    if not wide.size:
        return wide
    if np.maximum.reduce(wide.view(np.uintp), axis=None) < n:
        return wide  # both bounds in one pass: without its sign a negative number is larger than any length
    low, high = wide.min(), wide.max()
    if low < -n or high >= n:
        raise IndexError(f"indices from {low} to {high} for an axis of length {n}")
    return np.where(wide < 0, wide + n, wide)


def in_rows(parts: Any, lengths: tuple[int, ...]) -> Any:
    """Where the places that index arrays name lie, in an array of these axes laid out in rows.

    Measured for 1,000 x 500 places, one axis counted up: 0.3 ms, `ravel_multi_index` of broadcast arrays 1.4.
    """
    places: Any = 0
    stride = 1
    for part, n in zip(reversed(parts), reversed(lengths), strict=True):
        at = _from_start(part, n)
        places = places + (at if stride == 1 else at * stride)
        stride *= n
    return places


def add_rows(out: Any, ids: Any, rows: Any) -> None:
    """`out[ids] += rows` for 1-d integer `ids`, which may repeat; many times as fast as `np.add.at` on rows.

    A pass adds one occurrence of every id, found without sorting: of those that write their place into a table, the last
    one stays.  Once most of what is left are repetitions, they are added up in sorted runs.
    """
    ids = ids.astype(np.intp, copy=False)
    width = out.shape[1]
    if width <= _NARROW and out.flags.c_contiguous:
        np.add.at(out.reshape(-1), (ids[:, None] * width + np.arange(width)).reshape(-1), rows.reshape(-1))
        return
    place = np.empty(len(out), np.int32)
    while n := len(ids):
        here = np.arange(n, dtype=np.int32)
        place[ids] = here
        chosen = place[ids] == here
        at = np.flatnonzero(chosen)
        if len(at) == n:
            out[ids] += rows
            return
        if len(at) * _OFTEN < n:
            _add_runs(out, ids, rows)
            return
        out[ids[at]] += rows.take(at, 0)
        rest = np.flatnonzero(~chosen)
        ids, rows = ids[rest], rows.take(rest, 0)


def _add_runs(out: Any, ids: Any, rows: Any) -> None:
    """The same for ids that repeat often: their rows are put one after the other, and added up."""
    order = np.argsort(ids, kind="stable")
    placed = ids[order]
    starts = np.flatnonzero(np.concatenate(([True], placed[1:] != placed[:-1])))
    out[placed[starts]] += np.add.reduceat(rows.take(order, 0), starts, axis=0)


class Scatter:
    """A cotangent that is zero but at an index: added in place into a buffer, or made dense."""

    __slots__ = ("g", "index", "shape")

    def __init__(self, g: Any, index: Any, shape: tuple[int, ...]) -> None:
        self.g = g
        self.index = index
        self.shape = shape

    def add_to(self, buffer: Any) -> None:
        add_at(buffer, self.index, self.g)

    def dense(self) -> Any:
        return put_add(self.g, self.index, self.shape)


#: What rows of arrays that are not NumPy's compute with, by the type of the array: the kernels `rows_add`, `rows_added`,
#: `concat`, `take` and `unique_index`.
ROW_KERNELS: dict[type, Any] = {}


class Rows:
    """A cotangent of a few rows of a table, which stays so where nothing else is added, and nobody computes with it."""

    __slots__ = ("g", "index", "shape")
    __array_ufunc__ = None  # `array + rows` is computed here

    def __init__(self, g: Any, index: Any, shape: tuple[int, ...]) -> None:
        self.g = g  # (n, ...)
        self.index = index  # (n,), not negative
        self.shape = shape

    @property
    def dtype(self) -> Any:
        return self.g.dtype

    def add_to(self, buffer: Any) -> None:
        add_rows(
            buffer.reshape(len(buffer), -1) if buffer.flags.c_contiguous else buffer,
            self.index,
            self.g.reshape(len(self.g), -1) if buffer.flags.c_contiguous and self.g.size else self.g,
        )

    @property
    def is_memory(self) -> bool:
        """Whether the rows are memory that can be added to a buffer in place."""
        return type(self.g) not in ROW_KERNELS

    def dense(self) -> Any:
        kernels = ROW_KERNELS.get(type(self.g))
        if kernels is not None:
            return kernels.rows_add(self.g, self.index, self.shape)
        out = np.zeros(self.shape, self.g.dtype)
        if self.g.size:
            self.add_to(out)
        return out

    copy = dense

    def added_to(self, x: Any) -> Any:
        """The sum with an array of the same kernels, where they write to no memory."""
        return ROW_KERNELS[type(self.g)].rows_added(x, self.index, self.g)

    def moved(self, to: Callable[[Any], Any]) -> Rows:
        """The same rows, where `to` puts arrays."""
        return Rows(to(self.g), to(self.index), self.shape)

    def scaled(self, factor: Any) -> Rows:
        return Rows((self.g * factor).astype(self.g.dtype, copy=False), self.index, self.shape)

    def divided(self, factor: Any) -> Rows:
        return Rows((self.g / factor).astype(self.g.dtype, copy=False), self.index, self.shape)

    def coalesced(self) -> Rows:
        kernels = ROW_KERNELS.get(type(self.g))
        if kernels is not None:
            first, inverse, _ = kernels.unique_index(self.index)
            index = kernels.take(self.index, first, axis=0)
            return Rows(kernels.rows_add(self.g, inverse, (index.shape[0], *self.g.shape[1:])), index, self.shape)
        index, inverse = np.unique(np.asarray(self.index), return_inverse=True)
        return Rows(Rows(self.g, inverse, (len(index), *self.g.shape[1:])).dense(), index, self.shape)

    def __add__(self, other: Any) -> Any:
        kernels = ROW_KERNELS.get(type(self.g))
        if type(other) is Rows:
            concat = np.concatenate if kernels is None else kernels.concat
            return Rows(concat([self.g, other.g]), concat([self.index, other.index]), self.shape)
        if kernels is not None:
            return other + self.dense()
        out = np.array(other)
        self.add_to(out)
        return out

    __radd__ = __add__


def rows_add(g: Any, ids: Any, shape: tuple[int, ...]) -> Any:
    """Zeros of this shape, with rows added at these ids."""
    return put_add(g, ids, shape)


def rows_add_later(g: Any, ids: Any, shape: tuple[int, ...]) -> Any:
    """The rows as they are, with ids counted from the start."""
    ids = np.asarray(ids).reshape(-1)
    if ids.size and ids.min() < 0:
        ids = np.where(ids < 0, ids + shape[0], ids)
    return Rows(np.reshape(g, (ids.size, *shape[1:])), ids, shape)


def put_add(g: Any, index: Any, shape: tuple[int, ...]) -> Any:
    """Zeros of this shape, with `g` added at the index."""
    out = np.zeros(shape, g.dtype)
    if is_basic(index):
        out[index] = g
    else:
        _add_picked(out, index, g)
    return out if shape else out[()]


def put_add_later(g: Any, index: Any, shape: tuple[int, ...]) -> Any:
    return Scatter(g, index, shape) if shape else put_add(g, index, shape)


def take_add(g: Any, indices: Any, shape: tuple[int, ...], axis: int) -> Any:
    """Zeros of this shape, with `g` added where `take` would take."""
    return put_add(g, (*(slice(None),) * axis, indices), shape)


def take_add_later(g: Any, indices: Any, shape: tuple[int, ...], axis: int) -> Any:
    return Scatter(g, (*(slice(None),) * axis, indices), shape)


def put_along_axis_add(g: Any, indices: Any, shape: tuple[int, ...], axis: int) -> Any:
    """Zeros of this shape, with `g` added where `take_along_axis` would take."""
    out = np.zeros(shape, g.dtype)
    axis %= len(shape)
    if indices.shape != g.shape:
        indices = np.broadcast_to(indices, g.shape)
    if g.shape[axis] == 1:  # as for the labels of a batch: nothing is picked twice
        out[along_axis(g.shape, indices, axis)] = g
    elif g.size:
        places = in_rows(along_axis(g.shape, indices, axis), shape)  # NumPy adds there as fast as it can
        np.add.at(out.reshape(-1), places.reshape(-1), g.reshape(-1))
    return out


# -- overwriting ---------------------------------------------------------------------------------------
def picks_once(index: Any) -> bool:
    """Whether an index can pick no element twice: basic ones, and a mask by itself."""
    return is_basic(index) or getattr(index, "dtype", None) == np.bool_


def _places(index: Any, shape: tuple[int, ...]) -> Any:
    """Where each pick of an index lies in the flattened array."""
    parts = index if type(index) is tuple else (index,)
    if 0 < len(parts) == len(shape) and all(type(p) is np.ndarray and p.dtype.kind in "iu" for p in parts):
        return in_rows(parts, shape)
    return np.arange(math.prod(shape)).reshape(shape)[index]


def put(x: Any, value: Any, index: Any) -> Any:
    """A copy of `x` with `value` at the index; of several values for one element the last one stays."""
    out = x.copy() if type(x) is np.ndarray else np.array(x)  # np.array(x, order="C") takes 0.2 us more
    if picks_once(index) or not np.ndim(value):
        out[index] = value
    else:  # in row-major order of the picks; NumPy's own order depends on the memory layout of index arrays
        places = _places(index, out.shape)
        out.reshape(-1)[places.reshape(-1)] = np.broadcast_to(_fitted(value, places.ndim), places.shape).reshape(-1)
    return out if out.shape else out[()]


def _fitted(value: Any, rank: int) -> Any:
    """A value without the leading axes of length 1 that it has too many."""
    extra = np.ndim(value) - rank
    return value.reshape(value.shape[extra:]) if extra > 0 and value.shape[:extra] == (1,) * extra else value


def last_picks(x: Any, index: Any) -> Any:
    """Which picks of an index into `x` are the last of their element."""
    places, shape = _places(index, x.shape), x.shape
    flat = places.reshape(-1)
    order = np.arange(flat.size)
    last = np.empty(math.prod(shape), np.intp)
    last[flat] = order
    return (last[flat] == order).reshape(places.shape)


#: How a value is written to places of an array, one after the other.
WRITES: dict[str, Callable[[Any, Any, Any], None]] = {
    "update": np.ndarray.__setitem__,
    "add": np.add.at,
    "sub": np.subtract.at,
    "mul": np.multiply.at,
    "div": np.divide.at,
    "max": np.maximum.at,
    "min": np.minimum.at,
}


def scattered(x: Any, at: Any, value: Any, how: str) -> Any:
    """A copy of `x` with values written at index tuples, the last axis of `at`, one after the other: a key of `WRITES`.

    Raises IndexError for a place that is not there, ValueError for values that do not fit.
    """
    found = np.array(x)
    WRITES[how](found, tuple(np.moveaxis(np.asarray(at), -1, 0)), value)
    return found if found.shape else found[()]
