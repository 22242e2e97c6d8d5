"""Views by shape: each shares the memory of its tensor and passes gradients and writes both ways."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.torch._dtypes import SCALAR_TYPES, dtype_of
from tapegrad.torch._node_names import tag
from tapegrad.torch._size import Size
from tapegrad.torch._storage import owner
from tapegrad.torch._tensor import STYLE, wrap
from tapegrad.torch._views import laid_anew, laid_out, take, view_of


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
    for i, n in enumerate(shape):
        if n < -1:
            raise RuntimeError(f"invalid shape dimension {n} at index {i} of shape {list(shape)}")
    if -1 in shape:
        rest = math.prod(n for n in shape if n != -1)
        if shape.count(-1) > 1:
            raise RuntimeError("only one dimension can be inferred")
        if rest == 0 and not size:
            raise RuntimeError(
                f"cannot reshape tensor of 0 elements into shape {list(shape)} because the unspecified dimension size -1 can be any "
                "value and is ambiguous"
            )
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


def reshape(x: Any, *sizes_: Any, shape: Any = None) -> Any:
    """The same elements in another shape: a view where the memory allows it, else a copy."""
    wanted = _filled(sizes(sizes_ if shape is None else (shape,)), x)
    copied = type(x.array) is not np.ndarray and _is_copied(x, wanted)
    y = STYLE.reshape(x, wanted) if copied else take(x, _reshaper(wanted), _unshape)
    if y.node is not None:
        if getattr(y, "_view", None) is None:
            tag(y.node, "UnsafeView0(Clone0)")
        elif (type(x.array) is np.ndarray or view_of(x) is not None) and not laid_out(x).flags.c_contiguous:
            tag(y.node, "ReshapeAlias0")
    return y


def _is_copied(x: Any, shape: tuple[int, ...]) -> bool:
    """Whether a view, whose array cannot be written to, would have to be copied to have this shape."""
    info = view_of(x)
    if info is None or info.cut:
        return False
    raw = laid_out(x)
    return bool(raw.size) and owner(raw.reshape(shape)) is not owner(raw)


def view(x: Any, *shape: Any, dtype: Any = None, size: Any = None) -> Any:
    """The same memory in another shape, or as another dtype of the same size."""
    if size is not None:
        shape = (size,)
    if dtype is not None or (len(shape) == 1 and hasattr(shape[0], "numpy") and not isinstance(shape[0], int)):
        return _as_dtype(x, dtype or shape[0])
    wanted = _filled(sizes(shape), x)
    raw = x.array
    copied = type(raw) is not np.ndarray and _is_copied(x, wanted)
    y = take(x, _reshaper(wanted), _unshape)
    if copied or (type(raw) is np.ndarray and raw.size and owner(y.array) is not owner(raw)):
        if not copied and laid_anew(x):
            return take(x, _reshaper(wanted), _unshape)
        raise RuntimeError(
            "view size is not compatible with input tensor's size and stride (at least one dimension spans across two contiguous "
            "subspaces). Use .reshape(...) instead."
        )
    return y


def _as_dtype(x: Any, dtype: Any) -> Any:
    if dtype.numpy == x.array.dtype:
        return take(x, _reshaper(x.array.shape), _unshape)
    _check_dtype_of_view(x, dtype)
    return take(x, lambda t: wrap(np.asarray(t.array).view(dtype.numpy)))


def _check_dtype_of_view(x: Any, dtype: Any) -> None:
    """Refuse memory that does not divide into elements of another size."""
    have, want = x.array.dtype.itemsize, dtype.numpy.itemsize
    if have == want:
        return
    a, b = SCALAR_TYPES[dtype_of(x.array.dtype)], SCALAR_TYPES[dtype]
    view = f"to view {a} as {b} (different element sizes)"
    if not x.array.shape:
        raise RuntimeError(f"self.dim() cannot be 0 {view}")
    if type(x.array) is not np.ndarray:
        return
    steps = [s // have for s in x.array.strides]
    if steps[-1] != 1 and x.array.shape[-1] > 1:
        raise RuntimeError(f"self.stride(-1) must be 1 {view}, but got {steps[-1]}")
    if have > want:
        return
    ratio = want // have
    memory = owner(x.array)
    offset = (x.array.__array_interface__["data"][0] - memory.__array_interface__["data"][0]) // have
    parts = [("self.size(-1)", x.array.shape[-1]), ("self.storage_offset()", offset)]
    for what, n in [*parts, *((f"self.stride({i})", step) for i, step in enumerate(steps[:-1]))]:
        if n % ratio:
            raise RuntimeError(f"{what} must be divisible by {ratio} {view}, but got {n}")


def view_as(x: Any, other: Any) -> Any:
    """`view` in the shape of another tensor."""
    return view(x, other.array.shape)


def reshape_as(x: Any, other: Any) -> Any:
    """`reshape` in the shape of another tensor."""
    return reshape(x, other.array.shape)


def permute(x: Any, *axes: Any, dims: Any = None) -> Any:
    """The axes in another order."""
    n = len(x.array.shape)
    given = sizes(axes if dims is None else (dims,))
    order = tuple(dimension(d, n) for d in given) if n == len(given) else ()
    if sorted(order) != list(range(n)) and (n or given):
        raise RuntimeError("permute(sparse_coo): number of dimensions in the tensor input does not match the length of the desired "
                           f"ordering of dimensions i.e. input.dim() = {n} is not equal to len(dims) = {len(given)}"
                           if len(given) != n else "permute(): duplicate dims are not allowed.")  # fmt: skip
    return _permuted(x, order, None)


def _permuted(x: Any, order: tuple[int, ...], name: str | None) -> Any:
    inverse = tuple(map(order.index, range(len(order))))
    return take(
        x, lambda t: STYLE.permute_dims(t, order), lambda _, new: STYLE.permute_dims(new, inverse), name=name
    )


def transpose(x: Any, dim0: int, dim1: int) -> Any:
    """Two axes exchanged."""
    return _exchanged(x, dim0, dim1, "Transpose0")


def _exchanged(x: Any, dim0: int, dim1: int, name: str) -> Any:
    n = len(x.array.shape)
    a, b = dimension(dim0, n), dimension(dim1, n)
    if not n:
        return take(x, _reshaper(()), _unshape, name=name)
    order = list(range(n))
    order[a], order[b] = b, a
    return _permuted(x, tuple(order), name)


def t(x: Any) -> Any:
    """A matrix transposed; fewer axes as they are."""
    n = len(x.array.shape)
    if n > 2:
        raise RuntimeError(f"t() expects a tensor with <= 2 dimensions, but self is {n}D")
    return _exchanged(x, 0, n - 1, "T0") if n else take(x, _reshaper(()), _unshape)


def movedim(x: Any, source: Any, destination: Any) -> Any:
    """Axes moved to other places."""
    n = len(x.array.shape)
    a = [dimension(d, n) for d in (source if isinstance(source, Sequence) else [source])]
    b = [dimension(d, n) for d in (destination if isinstance(destination, Sequence) else [destination])]
    if len(a) != len(b):
        raise RuntimeError(
            f"movedim: Invalid source or destination dims: source ({a} dims) should contain the same number of dims as destination "
            f"({b} dims)"
        )
    for word, dims in (("source", a), ("destination", b)):
        if len(set(dims)) < len(dims):
            raise RuntimeError(f"movedim: repeated dim in `{word}` ({dims})")
    order = [d for d in range(n) if d not in a]
    for to, frm in sorted(zip(b, a, strict=True)):
        order.insert(to, frm)
    return permute(x, order)


def unsqueeze(x: Any, dim: int) -> Any:
    """An axis of length 1 put in."""
    shape = x.array.shape
    d = dimension(dim, len(shape) + 1)
    return take(x, _reshaper((*shape[:d], 1, *shape[d:])), _unshape, name="Unsqueeze0")


def squeeze(x: Any, dim: Any = None) -> Any:
    """Axes of length 1 left out."""
    shape = x.array.shape
    if dim is None:
        kept = tuple(n for n in shape if n != 1)
    else:
        dims = {dimension(d, len(shape)) for d in (dim if isinstance(dim, Sequence) else [dim])}
        kept = tuple(n for i, n in enumerate(shape) if n != 1 or i not in dims)
    return take(x, _reshaper(kept), _unshape, name="Squeeze0" if dim is None else "Squeeze1")


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
    if math.prod(inner) != shape[d]:
        raise RuntimeError(
            f"unflatten: Provided sizes {list(sizes)} don't multiply up to the size of dim {d} ({shape[d]}) in the input tensor"
        )
    return view(x, (*shape[:d], *inner, *shape[d + 1 :]))


def ravel(x: Any) -> Any:
    """One axis."""
    return reshape(x, -1) if len(x.array.shape) != 1 else x


def size(x: Any, dim: int | None = None) -> Any:
    """The shape, or the length of one axis."""
    shape = x.array.shape
    return Size(shape) if dim is None else shape[dimension(dim, len(shape))]


VIEWS: dict[str, Any] = {
    f.__name__: f
    for f in (
        reshape, view, view_as, reshape_as, permute, transpose, t, movedim, unsqueeze, squeeze, flatten, unflatten, ravel, size,
    )
}  # fmt: skip
