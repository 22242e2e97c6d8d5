"""Views that are a matter of memory, with steps of their own; and what tensors say about their memory.

Arrays that cannot be written to have no steps: a view of one has those that it would have on NumPy's memory.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.torch import _pieces, _shapes
from tapegrad.torch._shapes import dimension, sizes
from tapegrad.torch._storage import owner
from tapegrad.torch._tensor import STYLE, wrap
from tapegrad.torch._views import give_memory, laid_out, take, view_of


def _strided(raw: Any, shape: tuple[int, ...], steps: tuple[int, ...]) -> Any:
    """The memory of an array, from where it begins, in a shape and with steps in bytes."""
    memory = owner(raw)
    if not memory.flags.c_contiguous or not raw.size:
        return np.lib.stride_tricks.as_strided(raw, shape, steps, writeable=raw.flags.writeable)
    start = raw.__array_interface__["data"][0] - memory.__array_interface__["data"][0]
    found: Any = np.ndarray(shape, raw.dtype, memory, start, steps)
    if not raw.flags.writeable:
        found.flags.writeable = False
    return found


def _writeable(raw: Any, found: Any) -> Any:
    """NumPy marks some views read-only."""
    if raw.flags.writeable and not found.flags.writeable:
        found.flags.writeable = True
    return found


def expand(x: Any, *shape: Any, size: Any = None, implicit: bool = False) -> Any:
    """Axes of length 1 repeated, without any copy; -1 keeps a length."""
    wanted, have = list(sizes(shape if size is None else (size,))), x.array.shape
    if len(wanted) < len(have):
        raise RuntimeError(
            f"expand(torch.FloatTensor{{{list(have)}}}, size={wanted}): the number of sizes provided ({len(wanted)}) must be greater "
            f"or equal to the number of dimensions in the tensor ({len(have)})"
        )
    extra = len(wanted) - len(have)
    for i, n in enumerate(wanted):
        own = have[i - extra] if i >= extra else None
        if n == -1 and own is not None:
            wanted[i] = own
        elif own is None and n < 0:
            raise RuntimeError(f"The expanded size of the tensor ({n}) isn't allowed in a leading, non-existing dimension {i}")
        elif own is not None and own not in (1, n):
            raise RuntimeError(
                f"The expanded size of the tensor ({n}) must match the existing size ({own}) at non-singleton dimension {i}.  "
                f"Target sizes: {list(wanted)}.  Tensor sizes: {list(have)}"
            )
    target = tuple(wanted)

    def run(t: Any) -> Any:
        if type(t.array) is not np.ndarray:
            return STYLE.broadcast_to(t, target)
        raw, extra = t.array, len(target) - t.array.ndim
        steps = (0,) * extra + tuple(0 if n != m else s for n, m, s in zip(raw.shape, target[extra:], raw.strides, strict=True))
        seen = _strided(raw, target, steps)
        if t.node is None:
            return wrap(seen)
        y = STYLE.broadcast_to(t, target)
        y.array = seen
        return y

    return take(x, run)


def expand_as(x: Any, other: Any) -> Any:
    """`expand` to the shape of another tensor."""
    return expand(x, other.array.shape)


def diagonal(x: Any, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Any:
    """The diagonals of two axes, as a last axis."""
    n = len(x.array.shape)
    a, b = dimension(dim1, n), dimension(dim2, n)
    if a == b:
        raise RuntimeError(f"diagonal dimensions cannot be identical {dim1}, {dim2}")
    rows, cols = x.array.shape[a], x.array.shape[b]
    length = max(min(rows, cols - offset) if offset >= 0 else min(rows + offset, cols), 0)
    order = [d for d in range(n) if d not in (a, b)]

    def run(t: Any) -> Any:
        plain = type(t.array) is np.ndarray
        seen = _writeable(t.array, t.array.diagonal(offset, a, b)) if plain else None
        if plain and t.node is None:
            return wrap(seen)
        moved = t if (a, b) == (n - 2, n - 1) else STYLE.permute_dims(t, (*order, a, b))
        i, j = np.arange(length) - min(offset, 0), np.arange(length) + max(offset, 0)
        y = STYLE.getitem(moved, (Ellipsis, i, j))
        if plain:
            y.array = seen
        return y

    return take(x, run, name="Diagonal0")


def unfold(x: Any, dimension: int, size: int, step: int) -> Any:
    """Windows over an axis, as a last axis."""
    shape = x.array.shape
    d = _shapes.dimension(dimension, len(shape))
    length = shape[d] if shape else 1
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    starts = np.arange(0, length - size + 1, step)
    where = starts[:, None] + np.arange(size)

    def run(t: Any) -> Any:
        if not shape:  # one number is one window of one, or of none
            y = STYLE.getitem(STYLE.reshape(t, (1,)), slice(0, size))
        else:
            y = STYLE.moveaxis(STYLE.take(t, where, axis=d), d + 1, len(shape))
        if type(t.array) is np.ndarray:
            steps = t.array.strides
            inner = steps[d] if steps else t.array.itemsize
            y.array = _strided(t.array, y.array.shape, (*steps[:d], inner * step, *steps[d + 1 :], inner) if steps else (inner,))
        return y

    return take(x, run)


def as_strided(x: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """The memory of a tensor in any shape and strides, counted in elements."""
    shape, steps = tuple(size), tuple(stride)
    raw = laid_out(x)
    item = raw.itemsize
    offset = _offset_of(raw) if storage_offset is None else storage_offset
    memory = owner(raw)
    last = offset + sum((n - 1) * s for n, s in zip(shape, steps, strict=True)) if all(shape) else 0
    if all(shape) and last >= memory.size:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(steps)}, storage offset {offset}, and itemsize {item} requiring a "
            f"storage size of {(last + 1) * item} are out of bounds for storage of size {memory.nbytes}"
        )
    where = np.full(shape, offset)
    for i, (n, s) in enumerate(zip(shape, steps, strict=True)):
        where = where + np.reshape(np.arange(n) * s, (n, *[1] * (len(shape) - 1 - i)))
    # Memory that the tensor itself does not reach (a slice, asked for what lies beside it) has values, but no derivative.
    elements, beyond = _elements(raw, memory.size, where)
    if beyond and type(x.array) is not np.ndarray:
        x = _base_of(x)
        raw = laid_out(x)
        elements, beyond = _elements(raw, memory.size, where)
    strides, begins = raw.strides, _offset_of(raw)

    def run(t: Any) -> Any:
        flat = STYLE.reshape(t, (-1,))
        y = STYLE.take(STYLE.concat([flat, np.zeros(1, t.array.dtype)]) if beyond else flat, elements, axis=0)
        if type(t.array) is np.ndarray and t.array.strides == strides and _offset_of(t.array) == begins:
            start = owner(t.array).ravel(order="K")[offset:]
            y.array = _strided(start, shape, tuple(s * item for s in steps))
            if math.prod(shape):
                y.array.flags.writeable = t.array.flags.writeable
        return y

    return take(x, run)


def _elements(raw: Any, memory: int, places: Any) -> tuple[Any, bool]:
    """Which elements of an array lie at these places of its memory; its size, where it has none there, and whether that happens."""
    own = np.full(raw.shape, _offset_of(raw))
    for i, (n, s) in enumerate(zip(raw.shape, raw.strides, strict=True)):
        own += np.reshape(np.arange(n) * (s // raw.itemsize), (n, *[1] * (raw.ndim - 1 - i)))
    element = np.full(memory, raw.size)
    element[own] = np.arange(raw.size).reshape(raw.shape)
    found = element[places]
    return found, bool((found == raw.size).any())


def _base_of(x: Any) -> Any:
    info = view_of(x)
    while info is not None:
        x = info.base
        info = view_of(x)
    return x


def _offset_of(raw: Any) -> int:
    memory = owner(raw)
    start = memory.__array_interface__["data"][0]
    return int((raw.__array_interface__["data"][0] - start) // raw.itemsize)


def storage_offset(x: Any) -> int:
    """Where in its memory a tensor begins, in elements."""
    raw = laid_out(x)
    return _offset_of(raw) if raw.ndim else 0


def data_ptr(x: Any) -> int:
    """The address of the first element; 0 if there is none."""
    if not math.prod(x.array.shape):
        return 0
    give_memory(x)
    if type(x.array) is np.ndarray:
        found: int = x.array.__array_interface__["data"][0]
        return found
    raw = laid_out(x)
    start: int = np.asarray(_base_of(x).array).__array_interface__["data"][0]
    return start + _offset_of(raw) * raw.itemsize


def stride(x: Any, dim: int | None = None) -> Any:
    """Steps in memory along each axis, in elements."""
    raw = laid_out(x)
    steps = tuple(s // raw.itemsize for s in raw.strides)
    if 0 in raw.shape or 1 in raw.shape:
        steps = tuple(_usual(raw) if raw.flags.c_contiguous else steps)
    return steps if dim is None else steps[dimension(dim, raw.ndim)]


def _usual(raw: Any) -> list[int]:
    steps, k = [], 1
    for n in reversed(raw.shape):
        steps.append(k)
        k *= max(n, 1)
    return steps[::-1]


#: The views of a tensor, by name, as functions and methods.
VIEWS: dict[str, Any] = {
    **_shapes.VIEWS,
    **_pieces.VIEWS,
    **{f.__name__: f for f in (expand, expand_as, diagonal, unfold, as_strided, storage_offset, stride, data_ptr)},
}
