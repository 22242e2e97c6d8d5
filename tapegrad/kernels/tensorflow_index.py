"""What an index of NumPy's kinds says, as TensorFlow takes it: its parts, strided slices, and those met before."""

from __future__ import annotations

from typing import Any, final

import numpy as np

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.tensorflow_array import made
from tapegrad.kernels.tensorflow_calls import BOOL, ints
from tapegrad.kernels.tensorflow_lengths import Size, shape_tensor

_SLICE, _WINDOW = calls.op("StridedSlice"), calls.op("Slice")
_PACK = calls.op("Pack")


@final
class Basic:
    """A strided slice, as TensorFlow takes it."""

    __slots__ = ("begin", "begin_mask", "end", "end_mask", "new_axis_mask", "shrink_axis_mask", "strides")

    def __init__(self) -> None:
        self.begin: list[Any] = []
        self.end: list[Any] = []
        self.strides: list[int] = []
        self.begin_mask = self.end_mask = self.new_axis_mask = self.shrink_axis_mask = 0

    def add(self, part: Any, n: Any) -> None:
        """Take in the index of an axis of length n, or None, a new axis."""
        bit = 1 << len(self.begin)
        begin: Any = 0
        end: Any = 0
        step = 1
        if part is None:
            self.new_axis_mask |= bit
        elif type(part) is slice:
            begin, end, step = self._slice(part, n, bit)
        else:
            if type(part) is not Size:  # of one that the running graph computes, the op itself checks where it lies
                part = int(part)
                if type(n) is not Size and not -n <= part < n:
                    raise IndexError(f"index {part} is out of bounds for an axis of size {n}")
            self.shrink_axis_mask |= bit
            begin, end = part, part + 1
            if type(part) is int and part == -1:
                self.end_mask |= bit
        self.begin.append(begin)
        self.end.append(end)
        self.strides.append(step)

    def _slice(self, part: slice, n: Any, bit: int) -> tuple[Any, Any, int]:
        known = all(type(v) is not Size for v in (part.start, part.stop, n))
        if known:
            begin, end, step = part.indices(n)
            if step < 0:
                if begin < 0:  # nothing is there
                    return 0, 0, 1
                if end < 0:
                    self.end_mask |= bit
            return begin, end, step
        if part.start is None:
            self.begin_mask |= bit
        if part.stop is None:
            self.end_mask |= bit
        return part.start or 0, part.stop or 0, part.step or 1

    @property
    def masks(self) -> dict[str, int]:
        """Those that are not 0, which they are if not given: each takes time (measured: 0.4 us, of 9)."""
        given = {
            "begin_mask": self.begin_mask,
            "end_mask": self.end_mask,
            "new_axis_mask": self.new_axis_mask,
            "shrink_axis_mask": self.shrink_axis_mask,
        }
        return {name: bits for name, bits in given.items() if bits}

    @property
    def bounds(self) -> tuple[Any, Any, Any]:
        return shape_tensor(self.begin), shape_tensor(self.end), ints(tuple(self.strides))


def parts_of(index: Any, shape: tuple[Any, ...]) -> list[Any]:
    """The parts of an index, one for each axis and each new one: `...` and what is left out are written out.

    A mask of one truth value becomes a new axis and a mask along it.
    """
    given: list[Any] = []
    for i in index if type(index) is tuple else (index,):
        if _is_truth(i):
            given.append(Single(i))
        else:
            given.append(np.asarray(i) if isinstance(i, list) else i)
    used = sum(_axes_used(i) for i in given)
    if sum(1 for i in given if i is Ellipsis) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if used > len(shape):
        raise IndexError(f"too many indices: the array has {len(shape)} axes, but {used} were indexed")
    rest = [slice(None)] * (len(shape) - used)
    if Ellipsis in [i if i is Ellipsis else None for i in given]:
        at = next(k for k, i in enumerate(given) if i is Ellipsis)
        return given[:at] + rest + given[at + 1 :]
    return given + rest


@final
class Single:
    """A mask that is one truth value: it stands for a new axis of length 1 and a mask along it."""

    __slots__ = ("mask",)
    ndim = 0

    def __init__(self, mask: Any) -> None:
        self.mask = mask


def _is_truth(i: Any) -> bool:
    return type(i) is bool or (getattr(i, "dtype", None) == BOOL and i.ndim == 0)


def is_mask(i: Any) -> bool:
    return getattr(i, "dtype", None) == BOOL


def _axes_used(i: Any) -> int:
    if i is None or i is Ellipsis or type(i) is Single:
        return 0
    return i.ndim if is_mask(i) else 1


def is_part(i: Any) -> bool:
    return i is None or type(i) in (int, slice, Size) or isinstance(i, np.integer)


def basic_of(parts: list[Any], shape: tuple[Any, ...]) -> Basic:
    found = Basic()
    axis = 0
    for part in parts:
        found.add(part, None if part is None else shape[axis])
        axis += part is not None
    return found


@final
class Slices:
    """A basic index of arrays of one shape, as TensorFlow takes it.

    * `bounds`, `masks`: of a strided slice.
    * `along`: (axis, start, stop) if it is one plain slice, and `window`: where that begins, and how large it is.
    * `shape`: of what it picks; None where that is not known before.
    """

    __slots__ = ("along", "bounds", "masks", "shape", "window")

    def __init__(self, index: Any, shape: tuple[Any, ...], *, known: bool) -> None:
        parts = parts_of(index, shape)
        found = basic_of(parts, shape)
        self.bounds, self.masks, self.along = found.bounds, found.masks, _plain(parts, shape)
        self.shape = np.broadcast_to(np.zeros(()), shape)[index].shape if known else None
        self.window: tuple[Any, Any] | None = None
        if known and self.along is not None:
            axis, start, _ = self.along
            begin = tuple(start if i == axis else 0 for i in range(len(shape)))
            self.window = ints(begin), shape_tensor(self.shape)

    def picked(self, x: Any) -> Any:
        """What it picks."""
        if self.window is not None:  # three quarters of the time of a strided slice
            return made(_WINDOW(x.bare, *self.window), x.dtype, self.shape)
        return made(_SLICE(x.bare, *self.bounds, **self.masks), x.dtype, self.shape)


KNOWN: dict[Any, Slices] = {}


def basic(index: Any, shape: tuple[Any, ...]) -> Slices:
    """A basic index; one of Python's integers is worked out once (measured: 4 us, of 15 for the op itself)."""
    key = key_of(index, shape)
    found = KNOWN.get(key) if key is not None else None
    if found is None:
        found = Slices(index, shape, known=key is not None)
        if key is not None:
            if len(KNOWN) >= 4096:
                KNOWN.clear()
            KNOWN[key] = found
    return found


def key_of(index: Any, shape: tuple[Any, ...]) -> Any:
    """What is the same for indices that mean the same; None if they are not all Python's integers, or devices have constants."""
    if calls.MANY:
        return None
    key: list[Any] = []
    for i in index if type(index) is tuple else (index,):
        kind = type(i)
        if kind is slice:
            a, b, c = i.start, i.stop, i.step
            if not ((a is None or type(a) is int) and (b is None or type(b) is int) and (c is None or type(c) is int)):
                return None
            key.append((a, b, c))
        elif kind is int or i is None or i is Ellipsis:
            key.append(i)
        else:
            return None
    for n in shape:
        if type(n) is Size:
            return None
    key.append(shape)
    return tuple(key)


def _plain(parts: list[Any], shape: tuple[Any, ...]) -> tuple[int, int, int] | None:
    """The axis, start and stop of an index that is one slice in steps of 1, and takes all of the other axes."""
    found = None
    for axis, part in enumerate(parts):
        if type(part) is not slice or type(shape[axis]) is Size or any(type(v) is Size for v in (part.start, part.stop)):
            return None
        start, stop, step = part.indices(shape[axis])
        if (start, stop, step) != (0, shape[axis], 1):
            if found is not None or step != 1 or stop <= start:
                return None
            found = axis, start, stop
    return found


def is_basic(index: Any) -> bool:
    """Whether an index picks every element at most once, by slices, integers and new axes alone."""
    return all(i is Ellipsis or is_part(i) for i in (index if type(index) is tuple else (index,)))
