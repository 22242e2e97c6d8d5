"""`tf.ragged`: ragged tensors of lists, and functions of their values."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.dtypes import int64, numpy_dtype
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.operators import power
from tapegrad.tf.ragged_dispatch import joined
from tapegrad.tf.ragged_pointwise import by_values
from tapegrad.tf.ragged_reducing import reduced
from tapegrad.tf.ragged_tensor import RaggedTensor, _ends
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor, give


@export("ragged.constant")
def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = int64,
) -> Any:
    """A ragged tensor of lists in lists; of one list a plain one."""
    depth = _depth(pylist)
    inner = 0 if inner_shape is None else len(inner_shape)
    rank = depth - 1 - inner if ragged_rank is None else int(ragged_rank)
    if not 0 <= rank < max(depth, 1):
        raise ValueError(f"Invalid pylist={pylist}: nested scalars have depth {depth}, but ragged_rank={rank}")
    rows, sizes = pylist, []
    for _ in range(rank):
        if not all(isinstance(r, list | tuple | np.ndarray) for r in rows):
            raise ValueError(f"all scalar values must have the same nesting depth: {pylist}")
        sizes.append([len(r) for r in rows])
        rows = [x for r in rows for x in r]
    if any(isinstance(r, list | tuple) for r in rows) and depth - rank <= 1:
        raise ValueError(f"all scalar values must have the same nesting depth: {pylist}")
    wanted = numpy_dtype(dtype)
    found: Any = convert(rows, wanted) if list(rows) else fresh(np.zeros((0, *(inner_shape or ())), wanted or np.float32))
    for lengths in reversed(sizes):
        found = RaggedTensor(found, _ends(lengths, row_splits_dtype))
    return found


def _depth(x: Any) -> int:
    if isinstance(x, list | tuple | np.ndarray):
        return 1 + max((_depth(v) for v in x), default=0)
    return 0


@export("ragged.map_flat_values")
def map_flat_values(op: Any, *args: Any, **kwargs: Any) -> Any:
    """A function of the innermost values; among its arguments are ragged tensors with the same rows."""
    given = [x for x in (*args, *kwargs.values()) if isinstance(x, RaggedTensor)]
    if not given:
        return op(*args, **kwargs)
    first = given[0]
    for other in given[1:]:
        splits = zip(first.nested_row_splits, other.nested_row_splits, strict=False)
        if other.ragged_rank != first.ragged_rank or not all(np.array_equal(host(a), host(b)) for a, b in splits):
            raise invalid(None, "Inputs must have identical ragged splits")
    flat = [x.flat_values if isinstance(x, RaggedTensor) else x for x in args]
    return first.with_flat_values(op(*flat, **{k: x.flat_values if isinstance(x, RaggedTensor) else x for k, x in kwargs.items()}))


@export("ragged.range")
def ragged_range(
    starts: Any, limits: Any = None, deltas: Any = 1, dtype: Any = None, name: str | None = None, row_splits_dtype: Any = int64
) -> RaggedTensor:
    """A row of rising numbers for each pair of bounds."""
    first, last = (0, starts) if limits is None else (starts, limits)
    a, b, step = np.broadcast_arrays(*(np.atleast_1d(host(convert(v, numpy_dtype(dtype)))) for v in (first, last, deltas)))
    rows = [np.arange(*each, dtype=b.dtype) for each in zip(a, b, step, strict=True)]
    values = np.concatenate(rows) if rows else np.zeros(0, b.dtype)
    return RaggedTensor(fresh(values), _ends([len(r) for r in rows], row_splits_dtype))


@export("ragged.stack")
def stack(values: Any, axis: int = 0, name: str | None = None) -> RaggedTensor:
    """Tensors, whose first axes may differ in length, as the rows of one."""
    if axis != 0:
        raise NotImplementedError("tf.ragged.stack: along axis 0 alone")
    rows = list(values)
    if any(isinstance(r, RaggedTensor) for r in rows):
        return RaggedTensor._stacked(rows)
    tensors = [convert(r) for r in rows]
    return RaggedTensor(S.concat(tensors), _ends([t.array.shape[0] for t in tensors], np.int32))


@export("ragged.boolean_mask")
def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """What is kept of each row."""
    if isinstance(mask, RaggedTensor):
        kept = host(mask.flat_values)
        if not isinstance(data, RaggedTensor) or mask.ragged_rank != data.ragged_rank or mask.ragged_rank != 1:
            raise NotImplementedError("tf.ragged.boolean_mask: data and mask are ragged along one axis both")
        sizes = np.add.reduceat(np.append(kept, False).astype(int), data._splits[:-1]) * (np.diff(data._splits) > 0)
        return RaggedTensor(S.getitem(data.flat_values, kept), _ends(sizes, data._splits.dtype))
    chosen = host(mask).astype(bool)
    if chosen.ndim == 1:
        if isinstance(data, RaggedTensor):
            return data._chosen(np.flatnonzero(chosen).tolist())
        return S.getitem(convert(data), chosen)
    return RaggedTensor(S.getitem(convert(data), chosen), _ends(chosen.sum(axis=1), int64))


def _integers(x: Any) -> Any:
    """Integers of the host; of a list they are int64."""
    return host(x) if hasattr(x, "dtype") else np.asarray(x, np.int64)


@export("ragged.row_splits_to_segment_ids")
def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Tensor:
    """The number of the row of each value."""
    ends = _integers(splits)
    return fresh(np.repeat(np.arange(len(ends) - 1), np.diff(ends)).astype(numpy_dtype(out_type) or ends.dtype))


@export("ragged.segment_ids_to_row_splits")
def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: str | None = None
) -> Tensor:
    """Where rows end, of the number of the row of each value."""
    ids = _integers(segment_ids)
    count = (int(ids[-1]) + 1 if len(ids) else 0) if num_segments is None else int(num_segments)
    return fresh(_ends(np.bincount(ids, minlength=count), numpy_dtype(out_type) or ids.dtype))


# -- operators and reductions --------------------------------------------------------------------------------
def _by_flat_values(op: Any) -> Any:
    def operate(x: Any, y: Any) -> Any:
        return by_values(op, x, y)

    return operate


def _swapped(op: Any) -> Any:
    return lambda x, y: op(y, x)


def _operators() -> dict[str, Any]:
    both = {"add": S.add, "sub": S.subtract, "mul": S.multiply, "truediv": S.divide, "floordiv": S.floor_divide, "mod": S.remainder}
    both |= {"pow": power, "and": S.bitwise_and, "or": S.bitwise_or, "xor": S.bitwise_xor}
    members: dict[str, Any] = {}
    for name, op in both.items():
        operate = _by_flat_values(op)
        members |= {f"__{name}__": operate, f"__r{name}__": _swapped(operate)}
    for name, op in {"lt": S.less, "le": S.less_equal, "gt": S.greater, "ge": S.greater_equal}.items():
        members[f"__{name}__"] = _by_flat_values(op)
    members["__neg__"] = lambda x: map_flat_values(S.negative, x)
    members["__invert__"] = lambda x: map_flat_values(S.bitwise_invert, x)
    members["__abs__"] = lambda x: map_flat_values(S.abs, x)
    return members


def _is_equal(op: Any) -> Any:
    def operate(x: Any, y: Any) -> Any:
        return NotImplemented if y is None or isinstance(y, str) else by_values(op, x, y)

    return operate


members = _operators()
members |= {"__eq__": _is_equal(S.equal), "__ne__": _is_equal(S.not_equal), "__hash__": object.__hash__}
give(RaggedTensor, {**members, "_reduced": reduced, "_joined": staticmethod(joined)})
