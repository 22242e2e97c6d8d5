"""Tensors put together, cut, turned and repeated."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.core.tensor import Tensor as Core
from tapegrad.torch._functions._build import define, function
from tapegrad.torch._functions.create import lengths
from tapegrad.torch._promotion import join
from tapegrad.torch._shapes import dimension
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor, wrap


def _one_dtype(tensors: Any) -> list[Any]:
    found = list(tensors)
    kinds = {t.array.dtype for t in found}
    if len(kinds) > 1:
        common = found[0].array.dtype
        for k in kinds:
            common = join(common, k)
        found = [S.astype(t, common) if t.array.dtype != common else t for t in found]
    return found


def _cat(tensors: Any, dim: int) -> Any:
    if isinstance(tensors, Tensor):
        raise TypeError("cat(): argument 'tensors' (position 1) must be tuple of Tensors, not Tensor")
    found = list(tensors)
    if not found:
        raise ValueError("torch.cat(): expected a non-empty list of Tensors")
    for i, t in enumerate(found):
        if not isinstance(t, Core):  # those of other styles join too, as in other functions
            raise TypeError(f"expected Tensor as element {i} in argument 0, but got {type(t).__name__}")
    found = _one_dtype(found)
    full = [t for t in found if t.array.shape != (0,)] or found[:1]
    shape = full[0].array.shape
    if not shape:
        raise RuntimeError("zero-dimensional tensor (at position 0) cannot be concatenated")
    d = dimension(dim, len(shape))
    for i, t in enumerate(full):
        other = t.array.shape
        if other == shape:
            continue
        if len(other) != len(shape):
            raise RuntimeError(f"Tensors must have same number of dimensions: got {len(shape)} and {len(other)}")
        for j, (a, b) in enumerate(zip(shape, other, strict=True)):
            if j != d and a != b:
                raise RuntimeError(
                    f"Sizes of tensors must match except in dimension {d}. Expected size {a} but got size {b} for tensor number "
                    f"{i} in the list."
                )
    return S.concat(full, axis=d)


def _stack(tensors: Any, dim: int) -> Any:
    found = list(tensors)
    if not found:
        raise RuntimeError("stack expects a non-empty TensorList")
    shape = found[0].array.shape
    for i, t in enumerate(found):
        if t.array.shape != shape:
            raise RuntimeError(
                f"stack expects each tensor to be equal size, but got {list(shape)} at entry 0 and {list(t.array.shape)} at entry {i}"
            )
    return S.stack(_one_dtype(found), axis=dimension(dim, len(shape) + 1))


def _at_least(x: Any, n: int) -> Any:
    shape = x.array.shape
    if len(shape) >= n:
        return x
    new = {1: (1,), 2: (1, *shape) if shape else (1, 1), 3: {0: (1, 1, 1), 1: (1, *shape, 1), 2: (*shape, 1)}.get(len(shape))}[n]
    return x.reshape(new)


def _at_least_all(tensors: Any, n: int) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    if len(tensors) == 1:
        return _at_least(tensors[0], n)
    return tuple(_at_least(t, n) for t in tensors)


def _hstack(tensors: Any) -> Any:
    found = [_at_least(t, 1) for t in tensors]
    return _cat(found, 0 if len(found[0].array.shape) == 1 else 1)


def _column_stack(tensors: Any) -> Any:
    return _cat([t.reshape(-1, 1) if len(t.array.shape) < 2 else t for t in tensors], 1)


def _flip(x: Any, dims: Any) -> Any:
    n = len(x.array.shape)
    axes = lengths_of(dims)
    if len({dimension(d, n) for d in axes}) < len(axes):
        raise RuntimeError(f"dim {axes[0]} appears multiple times in the list of dims")
    return S.flip(x, axis=tuple(dimension(d, n) for d in axes)) if n and axes else x.clone()


def _of_rank(x: Any, n: int) -> Any:
    if len(x.array.shape) < n:
        raise RuntimeError(f"Input must be >= {n}-d.")
    return x


def lengths_of(given: tuple[Any, ...]) -> tuple[int, ...]:
    """Integers that are given one by one or as one sequence."""
    if len(given) == 1 and isinstance(given[0], (list, tuple)):
        given = tuple(given[0])
    return tuple(int(d) for d in given)


def _roll(x: Any, shifts: Any, dims: Any) -> Any:
    if dims is None or (isinstance(dims, (list, tuple)) and not len(dims)):
        if isinstance(shifts, (list, tuple)):
            if len(shifts) != 1:
                raise RuntimeError("shifts and dimensions must align")
            shifts = shifts[0]
        return S.reshape(S.roll(S.reshape(x, (-1,)), int(shifts), axis=0), x.array.shape)
    shifts = tuple(map(int, shifts)) if isinstance(shifts, (list, tuple)) else (int(shifts),)
    dims = tuple(dims) if isinstance(dims, (list, tuple)) else (dims,)
    if len(shifts) != len(dims):
        raise RuntimeError(f"shifts and dimensions must align. shifts: {len(shifts)}, dims:{len(dims)}")
    return S.roll(x, shifts, axis=tuple(dimension(d, len(x.array.shape)) for d in dims))


def _repeat(x: Any, sizes: tuple[Any, ...]) -> Any:
    times = lengths(sizes)
    if len(times) < len(x.array.shape):
        raise RuntimeError(
            "Number of dimensions of repeat dims can not be smaller than number of dimensions of tensor"
        )
    return S.tile(x, times) if times else x.clone()


def _tile(x: Any, dims: tuple[Any, ...]) -> Any:
    times = lengths(dims)
    return _repeat(x, ((1,) * (len(x.array.shape) - len(times)) + times,))


def _repeat_interleave(x: Any, repeats: Any, dim: Any, output_size: Any) -> Any:
    if repeats is None:  # counts alone: which index each place comes from
        return wrap(np.repeat(np.arange(x.array.shape[0]), np.asarray(x.array)))
    if dim is None:
        x, dim = S.reshape(x, (-1,)), 0
    d = dimension(dim, len(x.array.shape))
    if isinstance(repeats, Tensor):
        repeats = np.asarray(repeats.read()[0])
        repeats = int(repeats.reshape(())) if repeats.size == 1 else repeats
    if np.ndim(repeats) > 1:
        raise RuntimeError("repeats must be 0-dim or 1-dim tensor")
    if np.min(repeats, initial=0) < 0:
        raise RuntimeError("repeats can not be negative")
    if not np.ndim(repeats):
        return S.repeat(x, int(repeats), axis=d)
    if len(repeats) != x.array.shape[d]:
        raise RuntimeError("repeats must have the same size as input along dim")
    return S.take(x, np.repeat(np.arange(x.array.shape[d]), repeats), axis=d)


def _meshgrid(tensors: Any, indexing: Any) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    n = len(tensors)
    if not n:
        raise RuntimeError("meshgrid expects a non-empty TensorList")
    for t in tensors:
        if len(t.array.shape) > 1:
            raise RuntimeError(f"torch.meshgrid: Expected 0D or 1D tensor in the tensor list but got: {list(t.array.shape)}")
        if t.array.dtype != tensors[0].array.dtype:
            raise RuntimeError("torch.meshgrid expects all tensors to have the same dtype")
    if indexing not in (None, "xy", "ij"):
        raise RuntimeError(f'torch.meshgrid: indexing must be one of "xy" or "ij", but received: {indexing}')
    order = [1, 0, *range(2, n)] if indexing == "xy" and n > 1 else list(range(n))
    shape = [math.prod(tensors[i].array.shape) for i in order]
    found = []
    for i, t in enumerate(tensors):
        at = order.index(i)
        view = t.reshape([-1 if j == at else 1 for j in range(n)])
        found.append(view.expand(*shape))
    return tuple(found)


def _tri(op: Any, x: Any, diagonal: int) -> Any:
    if len(x.array.shape) < 2:
        raise RuntimeError(f"{op.__name__}: input tensor must have at least 2 dimensions")
    return op(x, k=int(diagonal))


def _diag(x: Any, diagonal: int) -> Any:
    n = len(x.array.shape)
    if n == 1:
        return _diag_embed(x, diagonal, -2, -1)
    if n == 2:
        return x.diagonal(diagonal).clone()
    raise RuntimeError(f"diag(): Supports 1D or 2D tensors. Got {n}D")


def _diag_embed(x: Any, offset: int, dim1: int, dim2: int) -> Any:
    n = len(x.array.shape) + 1
    a, b = dimension(dim1, n), dimension(dim2, n)
    length = x.array.shape[-1]
    m = length + abs(offset)
    i = np.arange(length)
    index = (Ellipsis, i + max(-offset, 0), i + max(offset, 0))
    y = S.put_add(x, index, (*x.array.shape[:-1], m, m))
    return y.movedim((-2, -1), (a, b)) if (a, b) != (n - 2, n - 1) else y


def _diagflat(x: Any, offset: int) -> Any:
    return _diag_embed(x.reshape(-1), offset, -2, -1)


def _diff(x: Any, n: int, dim: int, prepend: Any, append: Any) -> Any:
    return S.diff(x, axis=dim, n=n, prepend=prepend, append=append) if n else x.clone()


def _broadcast_tensors(tensors: Any) -> Any:
    if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)):
        tensors = tensors[0]
    shape = broadcast_shapes(*(t.array.shape for t in tensors))
    return tuple(t.expand(*shape) for t in tensors)


@function
def broadcast_shapes(*shapes: Any) -> Any:
    """The shape that these broadcast to."""
    from tapegrad.torch._size import Size

    try:
        return Size(np.broadcast_shapes(*((s,) if isinstance(s, int) else tuple(s) for s in shapes)))
    except ValueError:
        raise RuntimeError("Shape mismatch: objects cannot be broadcast to a single shape") from None


def _cartesian(tensors: Any) -> Any:
    if len(tensors) == 1:
        return tensors[0]
    return _stack([t.reshape(-1) for t in _meshgrid(tensors, "ij")], 1)


def _combinations(x: Any, r: int, with_replacement: bool) -> Any:
    import itertools

    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    if len(x.array.shape) != 1:
        raise RuntimeError(f"Expect a 1D vector, but got shape {list(x.array.shape)}")
    if r < 0:
        raise RuntimeError(f"Expect a non-negative number, but got {r}")
    if not r:
        return S.getitem(x, slice(0, 0))
    index = np.array(list(pick(range(x.array.shape[0]), r)), np.int64).reshape(-1, r)
    return S.take(x, index, axis=0)


def _unbound_split(x: Any, indices_or_sections: Any, dim: int) -> Any:
    return x.tensor_split(indices_or_sections, dim)


_NAMES = {k: v for k, v in list(globals().items()) if callable(v)}
define(
    {
        "flip(input, *axes, dims=None)": "_flip(input, axes if dims is None else (dims,))",
        "repeat(input, *sizes, repeats=None)": "_repeat(input, sizes if repeats is None else (repeats,))",
        "tile(input, *sizes, dims=None)": "_tile(input, sizes if dims is None else (dims,))",
    },
    _NAMES,
    functions=False,
    out=False,
)
define(
    {
        "roll(input, shifts, dims=None)": "_roll(input, shifts, dims)",
        "fliplr(input)": "_flip(_of_rank(input, 2), (1,))",
        "flipud(input)": "_flip(_of_rank(input, 1), (0,))",
        "rot90(input, k=1, dims=(0, 1))": "S.rot90(input, k=k, axes=tuple(dims)) if k % 4 else input.clone()",
        "repeat_interleave(input, repeats=None, dim=None, *, output_size=None)":
            "_repeat_interleave(input, repeats, dim, output_size)",
        "diag_embed(input, offset=0, dim1=-2, dim2=-1)": "_diag_embed(input, offset, dim1, dim2)",
        "diagflat(input, offset=0)": "_diagflat(input, offset)",
        "diff(input, n=1, dim=-1, prepend=None, append=None)": "_diff(input, n, dim, prepend, append)",
        "hsplit(input, indices_or_sections)":
            "_unbound_split(input, indices_or_sections, 0 if input.dim() == 1 else 1)",
        "vsplit(input, indices_or_sections)": "_unbound_split(input, indices_or_sections, 0)",
        "dsplit(input, indices_or_sections)": "_unbound_split(input, indices_or_sections, 2)",
    },
    _NAMES,
    out=False,
)  # fmt: skip
define(
    {
        "tril(input, diagonal=0)": "_tri(S.tril, input, diagonal)",
        "triu(input, diagonal=0)": "_tri(S.triu, input, diagonal)",
    },
    _NAMES,
    inplace=True,
)
define({"diag(input, diagonal=0)": "_diag(input, diagonal)"}, _NAMES)
define(
    {
        "cat|concat|concatenate(tensors, dim=0)": "_cat(tensors, dim)",
        "stack(tensors, dim=0)": "_stack(tensors, dim)",
        "hstack(tensors)": "_hstack(tensors)",
        "vstack|row_stack(tensors)": "_cat([_at_least(t, 2) for t in tensors], 0)",
        "dstack(tensors)": "_cat([_at_least(t, 3) for t in tensors], 2)",
        "column_stack(tensors)": "_column_stack(tensors)",
    },
    _NAMES,
    methods=False,
)
define(
    {
        "flip(input, dims)": "_flip(input, (dims,) if isinstance(dims, int) else dims)",
        "tile(input, dims)": "_tile(input, (dims,))",
        "meshgrid(*tensors, indexing=None)": "_meshgrid(tensors, indexing)",
        "broadcast_tensors(*tensors)": "_broadcast_tensors(tensors)",
        "cartesian_prod(*tensors)": "_cartesian(tensors)",
        "combinations(input, r=2, with_replacement=False)": "_combinations(input, r, with_replacement)",
        "atleast_1d(*tensors)": "_at_least_all(tensors, 1)",
        "atleast_2d(*tensors)": "_at_least_all(tensors, 2)",
        "atleast_3d(*tensors)": "_at_least_all(tensors, 3)",
        "block_diag(*tensors)": "_block_diag(tensors)",
        "split_with_sizes(input, split_sizes, dim=0)": "input.split(split_sizes, dim)",
        "broadcast_to(input, size)": "input.expand(*size)",
    },
    {**_NAMES, "_block_diag": lambda tensors: _block_diag(tensors)},
    methods=False,
    out=False,
)


def _block_diag(tensors: Any) -> Any:
    found = [_at_least(t, 2) for t in tensors]
    width = sum(t.array.shape[1] for t in found)
    rows, at = [], 0
    for t in found:
        m = t.array.shape[1]
        rows.append(S.pad(t, ((0, 0), (at, width - at - m))))
        at += m
    return _cat(rows, 0)
