"""Parts of an axis as views: one place, a stretch, all pieces."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from tapegrad.core.tensor import Tensor as Core
from tapegrad.torch._dtypes import SCALAR_TYPES, dtype_of
from tapegrad.torch._node_names import tag
from tapegrad.torch._shapes import dimension
from tapegrad.torch._tensor import STYLE, Tensor
from tapegrad.torch._views import join, putter, take


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


def _rows(x: Any, name: str) -> tuple[Any, ...]:
    """All rows, as loops take them: their steps are known."""
    from tapegrad.torch._indexing import row_step

    found = []
    for i in range(len(x.array)):
        y = STYLE.getitem(x, i)
        if y.node is not None:
            tag(y.node, name)
        found.append(join(x, y, row_step(i), (name[:-1], i)))
    return _in_turn(found)


def _in_turn(pieces: list[Any]) -> tuple[Any, ...]:
    """Pieces of one tensor: a sweep comes to them in their order, as to the outputs of one step."""
    nodes = [y.node for y in pieces]
    if len(nodes) > 1 and None not in nodes:
        for node, seq in zip(nodes, [n.seq for n in reversed(nodes)], strict=True):
            node.seq = seq
    return tuple(pieces)


def _pieces(x: Any, d: int, parts: list[Any], name: str) -> tuple[Any, ...]:
    several = None if name == "Slice0" else name[:-1]  # what PyTorch takes one by one may be written to
    raw = x.array
    if d == 0 and name == "Unbind0" and type(x) is Tensor and type(raw) is np.ndarray and raw.ndim > 1:
        return _rows(x, name)
    found = [
        take(x, _slicer(d, p), _put_slice(d, p), several=None if several is None else (several, i), name=name)
        for i, p in enumerate(parts)
    ]
    return tuple(found) if several is None else _in_turn(found)


def unbind(x: Any, dim: int = 0) -> tuple[Any, ...]:
    """Each place of an axis."""
    if not x.array.shape:
        raise IndexError("Dimension specified as 0 but tensor has no dimensions")
    d = dimension(dim, len(x.array.shape))
    return _pieces(x, d, list(range(x.array.shape[d])), "Unbind0")


def split(x: Any, split_size_or_sections: Any = None, dim: int = 0, *, split_size: Any = None) -> tuple[Any, ...]:
    """Pieces of an axis, of one length or of those given."""
    if split_size_or_sections is None:
        split_size_or_sections = split_size
    if not x.array.shape:
        raise RuntimeError("split expects at least a 1-dimensional tensor")
    d = dimension(dim, len(x.array.shape))
    size = x.array.shape[d]
    if isinstance(split_size_or_sections, Sequence):
        lengths = [int(n) for n in split_size_or_sections]
        if sum(lengths) != size:
            raise RuntimeError(
                f"split_with_sizes expects split_sizes to sum exactly to {size} (input tensor's size at dimension {d}), but got "
                f"split_sizes={lengths}"
            )
        name = "SplitWithSizes0"
    else:
        n = int(split_size_or_sections)
        if n < 0:
            raise RuntimeError(f"split expects split_size be non-negative, but got split_size={n}")
        if n == 0 and size:
            raise RuntimeError(f"split_size can only be 0 if dimension size is 0, but got dimension size of {size}")
        lengths = [min(n, size - a) for a in range(0, size, n)] if size else [0]
        name = "Split0"
    starts = itertools.accumulate(lengths, initial=0)
    return _pieces(x, d, [slice(a, b) for a, b in itertools.pairwise(starts)], name)


def chunk(x: Any, chunks: int, dim: int = 0) -> tuple[Any, ...]:
    """At most so many pieces of an axis, of equal length but for the last."""
    if chunks <= 0:
        raise RuntimeError(f"chunk expects `chunks` to be greater than 0, got: {chunks}")
    if not x.array.shape:
        raise RuntimeError("chunk expects at least a 1-dimensional tensor")
    d = dimension(dim, len(x.array.shape))
    return split(x, max(-(-x.array.shape[d] // chunks), 1), d)


def tensor_split(x: Any, indices_or_sections: Any, dim: int = 0) -> tuple[Any, ...]:
    """Pieces of an axis, of almost equal length or cut where it is said."""
    if not x.array.shape:
        raise RuntimeError("tensor_split expected at least a 1-dimensional tensor, but got a tensor with 0 dims")
    d = dimension(dim, len(x.array.shape))
    size = x.array.shape[d]
    where = _where_to_cut(indices_or_sections)
    if isinstance(where, int):
        if where <= 0:
            raise RuntimeError(f"number of sections must be larger than 0, got {where}")
        lengths = [size // where + (i < size % where) for i in range(where)]
        cuts = list(itertools.accumulate(lengths, initial=0))
    else:
        cuts = [0, *(slice(int(i), None).indices(size)[0] for i in where), size]
    return _pieces(x, d, [slice(a, max(a, b)) for a, b in itertools.pairwise(cuts)], "Slice0")


def _where_to_cut(given: Any) -> Any:
    """The number of pieces, or the places between them."""
    if not isinstance(given, Core):
        return given
    raw = given.read()[0]
    if str(raw.dtype) != "int64":
        raise RuntimeError(
            f"tensor_split expected tensor_indices_or_sections to have dtype of long, but got {SCALAR_TYPES[dtype_of(raw.dtype)]}"
        )
    if len(raw.shape) > 1:
        raise RuntimeError(
            "tensor_split expected tensor_indices_or_sections to be a zero-dimensional or one-dimensional tensor, but got a tensor "
            f"with {len(raw.shape)} dims"
        )
    return np.asarray(raw).tolist()


VIEWS: dict[str, Any] = {f.__name__: f for f in (select, narrow, unbind, split, chunk, tensor_split)}
