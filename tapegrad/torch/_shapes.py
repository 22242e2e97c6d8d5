"""Views by shape: each shares the memory of its tensor and passes gradients and writes both ways."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.torch._size import Size
from tapegrad.torch._storage import owner
from tapegrad.torch._tensor import STYLE, wrap
from tapegrad.torch._views import putter, take


def dimension(d: Any, n: int) -> int:
    """An axis counted from the front, checked."""
    d = d.__index__()
    low = max(n, 1)
    if not -low <= d < low:
        raise IndexError(f"Dimension out of range (expected to be in range of [{-low}, {low - 1}], but got {d})")
    return d + low if d < 0 else d


def sizes(given: tuple[Any, ...]) -> tuple[int, ...]:
    """Lengths that are given one by one or as one sequence."""
    if len(given) == 1 and isinstance(given[0], Sequence):
        given = tuple(given[0])
    return tuple(n.__index__() for n in given)


def _filled(shape: tuple[int, ...], x: Any) -> tuple[int, ...]:
    """A shape with its -1 computed."""
    size = math.prod(x.array.shape)
    if -1 in shape:
        rest = math.prod(n for n in shape if n != -1)
        if shape.count(-1) > 1:
            raise RuntimeError("only one dimension can be inferred")
        if rest == 0 or size % rest:
            raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
        shape = tuple(size // rest if n == -1 else n for n in shape)
    if math.prod(shape) != size:
        raise RuntimeError(f"shape '{list(shape)}' is invalid for input of size {size}")
    return shape


def _reshaper(shape: tuple[int, ...]) -> Any:
    return lambda t: STYLE.reshape(t, shape)


def _unshape(parent: Any, new: Any) -> Any:
    return STYLE.reshape(new, parent.array.shape)


def reshape(x: Any, *shape: Any) -> Any:
    """The same elements in another shape: a view where the memory allows it, else a copy."""
    wanted = _filled(sizes(shape), x)
    return take(x, _reshaper(wanted), _unshape)


def view(x: Any, *shape: Any, dtype: Any = None) -> Any:
    """The same memory in another shape, or as another dtype of the same size."""
    if dtype is not None or (len(shape) == 1 and hasattr(shape[0], "numpy") and not isinstance(shape[0], int)):
        return _as_dtype(x, dtype or shape[0])
    wanted = _filled(sizes(shape), x)
    y = take(x, _reshaper(wanted), _unshape)
    raw = x.array
    if type(raw) is np.ndarray and raw.size and owner(y.array) is not owner(raw):
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead."
        )
    return y


def _as_dtype(x: Any, dtype: Any) -> Any:
    if dtype.numpy == x.array.dtype:
        return take(x, _reshaper(x.array.shape), _unshape)
    return take(x, lambda t: wrap(np.asarray(t.array).view(dtype.numpy)))


def view_as(x: Any, other: Any) -> Any:
    """`view` in the shape of another tensor."""
    return view(x, other.array.shape)


def reshape_as(x: Any, other: Any) -> Any:
    """`reshape` in the shape of another tensor."""
    return reshape(x, other.array.shape)


def permute(x: Any, *dims: Any) -> Any:
    """The axes in another order."""
    n = len(x.array.shape)
    given = sizes(dims)
    order = tuple(dimension(d, n) for d in given) if n else ()
    if sorted(order) != list(range(n)) and (n or given):
        raise RuntimeError("permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
                           f"ordering of dimensions i.e. input.dim() = {n} is not equal to len(dims) = {len(given)}"
                           if len(given) != n else "permute(): duplicate dims are not allowed.")  # fmt: skip
    return _permuted(x, order, None)


def _permuted(x: Any, order: tuple[int, ...], name: str | None) -> Any:
    inverse = tuple(int(i) for i in np.argsort(order))
    return take(
        x, lambda t: STYLE.permute_dims(t, order), lambda _, new: STYLE.permute_dims(new, inverse), name=name
    )


def transpose(x: Any, dim0: int, dim1: int) -> Any:
    """Two axes exchanged."""
    return _exchanged(x, dim0, dim1, "TransposeBackward0")


def _exchanged(x: Any, dim0: int, dim1: int, name: str) -> Any:
    n = len(x.array.shape)
    a, b = dimension(dim0, n), dimension(dim1, n)
    if not n:
        return take(x, _reshaper(()), _unshape)
    order = list(range(n))
    order[a], order[b] = b, a
    return _permuted(x, tuple(order), name)


def t(x: Any) -> Any:
    """A matrix transposed; fewer axes as they are."""
    n = len(x.array.shape)
    if n > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {n}D")
    return _exchanged(x, 0, n - 1, "TBackward0") if n else take(x, _reshaper(()), _unshape)


def movedim(x: Any, source: Any, destination: Any) -> Any:
    """Axes moved to other places."""
    n = len(x.array.shape)
    a = [dimension(d, n) for d in (source if isinstance(source, Sequence) else [source])]
    b = [dimension(d, n) for d in (destination if isinstance(destination, Sequence) else [destination])]
    order = [d for d in range(n) if d not in a]
    for to, frm in sorted(zip(b, a, strict=True)):
        order.insert(to, frm)
    return permute(x, order)


def unsqueeze(x: Any, dim: int) -> Any:
    """An axis of length 1 put in."""
    shape = x.array.shape
    d = dimension(dim, len(shape) + 1)
    return take(x, _reshaper((*shape[:d], 1, *shape[d:])), _unshape, name="UnsqueezeBackward0")


def squeeze(x: Any, dim: Any = None) -> Any:
    """Axes of length 1 left out."""
    shape = x.array.shape
    if dim is None:
        kept = tuple(n for n in shape if n != 1)
    else:
        dims = {dimension(d, len(shape)) for d in (dim if isinstance(dim, Sequence) else [dim])}
        kept = tuple(n for i, n in enumerate(shape) if n != 1 or i not in dims)
    return take(x, _reshaper(kept), _unshape, name="SqueezeBackward0" if dim is None else "SqueezeBackward1")


def flatten(x: Any, start_dim: int = 0, end_dim: int = -1) -> Any:
    """Axes from `start_dim` to `end_dim` as one; the tensor itself if that changes nothing."""
    shape = x.array.shape
    a, b = dimension(start_dim, len(shape)), dimension(end_dim, len(shape))
    if a > b:
        raise RuntimeError("flatten() has invalid args: start_dim cannot come after end_dim")
    if not shape:
        return reshape(x, (1,))
    return x if a == b else reshape(x, (*shape[:a], math.prod(shape[a : b + 1]), *shape[b + 1 :]))


def unflatten(x: Any, dim: int, sizes: Any) -> Any:
    """One axis as several."""
    shape = x.array.shape
    d = dimension(dim, len(shape))
    inner = list(sizes)
    if -1 in inner:
        inner[inner.index(-1)] = shape[d] // math.prod(n for n in inner if n != -1)
    return view(x, (*shape[:d], *inner, *shape[d + 1 :]))


def ravel(x: Any) -> Any:
    """One axis."""
    return reshape(x, -1) if len(x.array.shape) != 1 else x


def expand(x: Any, *shape: Any) -> Any:
    """Axes of length 1 repeated, without any copy; -1 keeps a length."""
    wanted, have = list(sizes(shape)), x.array.shape
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
        y = STYLE.broadcast_to(t, target)
        if type(t.array) is np.ndarray:
            raw, extra = t.array, len(target) - t.array.ndim
            steps = (0,) * extra + tuple(0 if n != m else s for n, m, s in zip(raw.shape, target[extra:], raw.strides, strict=True))
            y.array = _strided(raw, target, steps)
        return y

    return take(x, run)


def expand_as(x: Any, other: Any) -> Any:
    """`expand` to the shape of another tensor."""
    return expand(x, other.array.shape)


def _slicer(d: int, part: Any) -> Any:
    from tapegrad.torch._indexing import _picker

    return _picker((*[slice(None)] * d, part))


def _put_slice(d: int, part: Any) -> Any:
    return putter((*[slice(None)] * d, part))


def select(x: Any, dim: int, index: int) -> Any:
    """One place of an axis, without the axis."""
    n = len(x.array.shape)
    if not n:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    d, i = dimension(dim, n), int(index)
    length = x.array.shape[d]
    if not -length <= i < length:
        raise IndexError(f"select(): index {i} out of range for tensor of size {list(x.array.shape)} at dimension {d}")
    return take(x, _slicer(d, i), _put_slice(d, i))


def narrow(x: Any, dim: int, start: Any, length: int) -> Any:
    """`length` places of an axis from `start`."""
    d = dimension(dim, len(x.array.shape))
    size, a = x.array.shape[d], int(start)
    a += size if a < 0 else 0
    if length < 0:
        raise RuntimeError("narrow(): length must be non-negative.")
    if a + length > size:
        raise RuntimeError(f"start ({a}) + length ({length}) exceeds dimension size ({size}).")
    part = slice(a, a + length)
    return take(x, _slicer(d, part), _put_slice(d, part))


def _pieces(x: Any, d: int, parts: list[Any], name: str) -> tuple[Any, ...]:
    return tuple(take(x, _slicer(d, p), _put_slice(d, p), several=name, name=name) for p in parts)


def unbind(x: Any, dim: int = 0) -> tuple[Any, ...]:
    """Each place of an axis."""
    if not x.array.shape:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    d = dimension(dim, len(x.array.shape))
    return _pieces(x, d, list(range(x.array.shape[d])), "UnbindBackward0")


def split(x: Any, split_size_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Pieces of an axis, of one length or of those given."""
    d = dimension(dim, len(x.array.shape))
    size = x.array.shape[d]
    if isinstance(split_size_or_sections, Sequence):
        lengths = [int(n) for n in split_size_or_sections]
        if sum(lengths) != size:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {d}), but got "
                f"split_sizes={lengths}"
            )
        name = "SplitWithSizesBackward0"
    else:
        n = int(split_size_or_sections)
        if n <= 0 and size:
            raise RuntimeError(f"split expects split_size be positive, but got split_size={n}")
        lengths = [min(n, size - a) for a in range(0, size, n)] if size else [0]
        name = "SplitBackward0"
    starts = np.cumsum([0, *lengths]).tolist()
    return _pieces(x, d, [slice(a, b) for a, b in itertools.pairwise(starts)], name)


def chunk(x: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """At most so many pieces of an axis, of equal length but for the last."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    d = dimension(dim, len(x.array.shape))
    return split(x, max(-(-x.array.shape[d] // chunks), 1), d)


def tensor_split(x: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Pieces of an axis, of almost equal length or cut where it is said."""
    d = dimension(dim, len(x.array.shape))
    size = x.array.shape[d]
    if isinstance(indices_or_sections, int):
        n = indices_or_sections
        lengths = [size // n + (i < size % n) for i in range(n)]
        cuts = np.cumsum([0, *lengths]).tolist()
    else:
        cuts = [0, *(min(int(i), size) for i in indices_or_sections), size]
    return _pieces(x, d, [slice(a, max(a, b)) for a, b in itertools.pairwise(cuts)], "TensorSplitBackward0")


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
        moved = STYLE.permute_dims(t, (*order, a, b))
        i, j = np.arange(length) - min(offset, 0), np.arange(length) + max(offset, 0)
        y = STYLE.getitem(moved, (Ellipsis, i, j))
        if type(t.array) is np.ndarray:
            y.array = np.diagonal(t.array, offset, a, b)
            y.array = _writeable(t.array, y.array)
        return y

    return take(x, run, name="DiagonalBackward0")


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


def unfold(x: Any, dimension_: int, size: int, step: int) -> Any:
    """Windows over an axis, as a last axis."""
    shape = x.array.shape
    d = dimension(dimension_, len(shape))
    length = shape[d] if shape else 1
    if size > length:
        raise RuntimeError(f"maximum size for tensor at dimension {d} is {length} but size is {size}")
    if step <= 0:
        raise RuntimeError(f"step is {step} but must be > 0")
    starts = np.arange(0, length - size + 1, step)
    where = starts[:, None] + np.arange(size)

    def run(t: Any) -> Any:
        taken = STYLE.take(t, where, axis=d)
        y = STYLE.moveaxis(taken, d + 1, len(shape))
        if type(t.array) is np.ndarray:
            steps = t.array.strides
            inner = steps[d] if steps else t.array.itemsize
            y.array = _strided(t.array, y.array.shape, (*steps[:d], inner * step, *steps[d + 1 :], inner))
        return y

    return take(x, run)


def as_strided(x: Any, size: Any, stride: Any, storage_offset: int | None = None) -> Any:
    """The memory of a tensor in any shape and strides, counted in elements."""
    shape, steps = tuple(size), tuple(stride)
    raw = np.asarray(x.array)
    item = raw.itemsize
    offset = _offset_of(raw) if storage_offset is None else storage_offset
    memory = owner(raw)
    last = offset + sum((n - 1) * s for n, s in zip(shape, steps, strict=True)) if all(shape) else 0
    if last >= memory.size:
        raise RuntimeError(
            f"setStorage: sizes {list(shape)}, strides {list(steps)}, storage offset {offset}, and itemsize {item} requiring a "
            f"storage size of {(last + 1) * item} are out of bounds for storage of size {memory.nbytes}"
        )
    where = np.full(shape, offset)
    for i, (n, s) in enumerate(zip(shape, steps, strict=True)):
        where = where + np.reshape(np.arange(n) * s, (n, *[1] * (len(shape) - 1 - i)))
    from tapegrad.torch._views import view_of

    info = view_of(x)
    base = x if info is None or info.cut else info.base
    if np.asarray(base.array).flags.c_contiguous and np.asarray(base.array).size == memory.size:
        x = base

    def run(t: Any) -> Any:
        y = STYLE.take(STYLE.reshape(t, (-1,)), where, axis=0)
        if type(t.array) is np.ndarray and t.array.flags.c_contiguous:
            start = t.array.reshape(-1)[offset:]
            y.array = _strided(start, shape, tuple(s * item for s in steps))
        return y

    return take(x, run)


def _offset_of(raw: Any) -> int:
    memory = owner(raw)
    start = memory.__array_interface__["data"][0]
    return int((raw.__array_interface__["data"][0] - start) // raw.itemsize)


def storage_offset(x: Any) -> int:
    """Where in its memory a tensor begins, in elements."""
    return _offset_of(np.asarray(x.array)) if np.asarray(x.array).ndim else 0


def stride(x: Any, dim: int | None = None) -> Any:
    """Steps in memory along each axis, in elements."""
    raw = np.asarray(x.array)
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


def size(x: Any, dim: int | None = None) -> Any:
    """The shape, or the length of one axis."""
    shape = x.array.shape
    return Size(shape) if dim is None else shape[dimension(dim, len(shape))]


VIEWS: dict[str, Any] = {
    f.__name__: f
    for f in (
        reshape, view, view_as, reshape_as, permute, transpose, t, movedim, unsqueeze, squeeze, flatten, unflatten, ravel, expand,
        expand_as, select, narrow, unbind, split, chunk, tensor_split, diagonal, unfold, as_strided, storage_offset, stride, size,
    )
}  # fmt: skip
