"""`tf.sparse`: sparse tensors of dense ones and back, and the same values at other places."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.dtypes import float32, numpy_dtype
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.sparse_tensor import SparseTensor, placed, sparse_of
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


# -- to and from dense ones ------------------------------------------------------------------------------
@export("sparse.from_dense")
def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """The values that are not zero (of text: not empty), and their places in row-major order."""
    x = convert(tensor)
    raw = np.asarray(x.array)
    there = raw != (b"" if raw.dtype.kind == "O" else 0)
    places = np.argwhere(there)
    values = S.getitem(x, tuple(places.T)) if raw.ndim else S.reshape(x, (1,))[: len(places)]
    return placed(places, values, raw.shape)


@export("sparse.to_dense")
def to_dense(sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None) -> Tensor:
    """The whole, with `default_value` where nothing is.

    Raises InvalidArgumentError for places that repeat or are not in row-major order, unless `validate_indices` is false: then the
    last of several values for one place stays.
    """
    x = sparse_of(sp_input, "tf.sparse.to_dense")
    shape, index = x.lengths, tuple(x.places.T)
    numbers = x.numbers()
    if validate_indices:
        _in_order(x, numbers, "SparseToDense")
    dtype = x.values.array.dtype
    if default_value is None:
        default_value = b"" if dtype.kind == "O" else dtype.type(0)
    if not shape:
        return S.reshape(x.values, ()) if len(numbers) else convert(default_value, dtype)
    if validate_indices and dtype.kind in "iufcV" and not np.any(host(default_value)):
        return S.put_add(x.values, index=index, shape=shape)
    whole = np.empty(shape, dtype)
    whole[...] = host(convert(default_value, dtype))
    if dtype.kind == "O":
        whole[index] = host(x.values)
        return fresh(whole)
    return S.put(fresh(whole), x.values, index=index)


def _in_order(x: SparseTensor, numbers: Any, op: str) -> None:
    steps = np.diff(numbers)
    if steps.size and steps.min() <= 0:
        k = int(np.flatnonzero(steps <= 0)[0]) + 1
        row = ",".join(map(str, x.places[k].tolist()))
        if not steps[k - 1]:
            raise invalid(op, f"indices[{k}] = [{row}] is repeated")
        raise invalid(
            op, f"indices[{k}] = [{row}] is out of order. Many sparse ops require sorted indices. Use `tf.sparse.reorder` to create "
            "a correctly ordered copy."
        )  # fmt: skip


@export("sparse.to_indicator")
def to_indicator(sp_input: Any, vocab_size: int, name: str | None = None) -> Tensor:
    """For each row of ids, which of `vocab_size` ids are there."""
    x = sparse_of(sp_input, "tf.sparse.to_indicator")
    ids = host(x.values)
    if ids.dtype.kind not in "iu":
        raise TypeError(f"tf.sparse.to_indicator takes whole numbers, got {x.dtype.name}")
    whole = np.zeros((*x.lengths[:-1], int(vocab_size)), bool)
    whole[(*x.places[:, :-1].T, ids)] = True
    return fresh(whole)


@export("sparse.eye")
def eye(num_rows: Any, num_columns: Any = None, dtype: Any = float32, name: str | None = None) -> SparseTensor:
    """Ones on the main diagonal."""
    rows = int(num_rows)
    columns = rows if num_columns is None else int(num_columns)
    k = np.arange(min(rows, columns))
    return placed(np.stack([k, k], 1), fresh(np.ones(len(k), numpy_dtype(dtype))), (rows, columns))


# -- the same values elsewhere ---------------------------------------------------------------------------
def _picked(x: SparseTensor, which: Any, places: Any, shape: Any) -> SparseTensor:
    """The values with these numbers, at new places."""
    return placed(places, S.getitem(x.values, np.asarray(which)), shape)


@export("sparse.reorder")
def reorder(sp_input: Any, name: str | None = None) -> SparseTensor:
    """The same in row-major order."""
    x = sparse_of(sp_input, "tf.sparse.reorder")
    order = np.argsort(x.numbers(), kind="stable")
    return _picked(x, order, x.places[order], x.lengths)


@export("sparse.transpose")
def transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """The axes in another order, by default the reverse."""
    x = sparse_of(sp_input, "tf.sparse.transpose")
    rank = len(x.lengths)
    axes = list(range(rank))[::-1] if perm is None else [int(k) for k in host(perm)]
    return reorder(placed(x.places[:, axes], x.values, [x.lengths[k] for k in axes]))


@export("sparse.reshape")
def reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """The same values in row-major order in another shape, of which one length may be -1."""
    x = sparse_of(sp_input, "tf.sparse.reshape")
    wanted = [int(n) for n in host(shape)]
    size = int(np.prod(x.lengths, dtype=np.int64))
    if wanted.count(-1) > 1:
        raise invalid("SparseReshape", f"only one output dimension may be -1, got {wanted}")
    if -1 in wanted:
        known = int(np.prod([n for n in wanted if n >= 0], dtype=np.int64))
        wanted[wanted.index(-1)] = size // max(known, 1)
    if int(np.prod(wanted, dtype=np.int64)) != size:
        raise invalid(
            "SparseReshape",
            f"Input to reshape is a tensor with {size} dense values, but the requested shape has {int(np.prod(wanted))}. "
            f"input_shape={list(x.lengths)} output_shape={wanted}",
        )
    return placed(np.stack(np.unravel_index(x.numbers(), wanted), 1) if wanted else x.places[:, :0], x.values, wanted)


@export("sparse.expand_dims")
def expand_dims(sp_input: Any, axis: Any = None, name: str | None = None) -> SparseTensor:
    """An axis of length 1 more, by default the last."""
    x = sparse_of(sp_input, "tf.sparse.expand_dims")
    rank = len(x.lengths)
    at = -1 if axis is None else int(axis)
    if not -rank - 1 <= at <= rank:
        raise ValueError(f"tf.sparse.expand_dims: axis {at} not in [{-rank - 1}, {rank}]")
    at %= rank + 1
    return placed(np.insert(x.places, at, 0, axis=1), x.values, [*x.lengths[:at], 1, *x.lengths[at:]])


@export("sparse.reset_shape")
def reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """The same values in a larger shape; without one, in the smallest that holds them."""
    x = sparse_of(sp_input, "tf.sparse.reset_shape")
    if new_shape is None:
        return placed(x.places, x.values, x.places.max(axis=0) + 1 if len(x.places) else np.zeros(len(x.lengths), int))
    wanted = [int(n) for n in host(new_shape)]
    if len(wanted) != len(x.lengths) or any(n < m for n, m in zip(wanted, x.lengths, strict=True)):
        raise ValueError(f"tf.sparse.reset_shape: new_shape {wanted} is not at least {list(x.lengths)} along each axis")
    return placed(x.places, x.values, wanted)


@export("sparse.retain")
def retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """The values for which `to_retain` (n,) is true."""
    x = sparse_of(sp_input, "tf.sparse.retain")
    kept = host(to_retain).astype(bool)
    if kept.shape != (len(x.places),):
        raise ValueError(f"Dimensions {len(x.places)} and {kept.shape} are not compatible: to_retain has one entry for each value")
    return _picked(x, kept, x.places[kept], x.lengths)


@export("sparse.slice")
def sparse_slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """What lies in a box; one that reaches beyond the end is cut there."""
    x = sparse_of(sp_input, "tf.sparse.slice")
    low, n = (np.asarray([int(k) for k in host(v)], np.int64) for v in (start, size))
    n = np.clip(np.minimum(n, np.asarray(x.lengths) - low), 0, None)
    inside = ((x.places >= low) & (x.places < low + n)).all(axis=1)
    return _picked(x, inside, x.places[inside] - low, n)


@export("sparse.split")
def split(sp_input: Any = None, num_split: Any = None, axis: Any = None, name: str | None = None) -> list[SparseTensor]:
    """Parts along an axis; the first ones are longer by one where it does not divide."""
    if sp_input is None or num_split is None or axis is None:
        raise ValueError("tf.sparse.split: sp_input, num_split and axis are required")
    x = sparse_of(sp_input, "tf.sparse.split")
    k, parts = int(axis) % len(x.lengths), int(num_split)
    each, more = divmod(x.lengths[k], parts)
    found, low = [], 0
    for part in range(parts):
        start, size = [0] * len(x.lengths), list(x.lengths)
        start[k], size[k] = low, each + (part < more)
        found.append(sparse_slice(x, start, size))
        low += size[k]
    return found


@export("sparse.concat")
def concat(axis: Any, sp_inputs: Any, expand_nonconcat_dims: bool = False, name: str | None = None) -> SparseTensor:
    """Several behind one another along an axis; with `expand_nonconcat_dims` the others may differ in length."""
    xs = [sparse_of(x, "tf.sparse.concat") for x in sp_inputs]
    if len(xs) == 1:
        return xs[0]
    shapes = np.asarray([x.lengths for x in xs])
    k = int(axis) % shapes.shape[1]
    whole = shapes.max(axis=0)
    if not expand_nonconcat_dims and (np.delete(shapes, k, 1) != np.delete(whole, k)).any():
        raise invalid("SparseConcat", f"All dimensions except {k} must match. Input shapes: {shapes.tolist()}")
    starts = np.cumsum([0, *shapes[:-1, k]])
    whole[k] = shapes[:, k].sum()
    places = np.concatenate([x.places + np.eye(len(whole), dtype=np.int64)[k] * start for x, start in zip(xs, starts, strict=True)])
    return reorder(placed(places, S.concat([x.values for x in xs]), whole))


@export("sparse.mask")
def mask(a: Any, mask_indices: Any, name: str | None = None) -> Any:
    """Slices without the rows of these numbers."""
    kept = ~np.isin(host(a.indices), host(mask_indices))
    return type(a)(S.getitem(convert(a.values), kept), fresh(host(a.indices)[kept]), a.dense_shape)


@export("sparse.fill_empty_rows")
def fill_empty_rows(sp_input: Any, default_value: Any, name: str | None = None) -> tuple[SparseTensor, Tensor]:
    """The same with `default_value` at the start of each empty row, and which rows were empty."""
    x = sparse_of(sp_input, "tf.sparse.fill_empty_rows")
    empty = np.ones(x.lengths[0], bool)
    empty[x.places[:, 0]] = False
    rows = np.flatnonzero(empty)
    new = np.zeros((len(rows), len(x.lengths)), np.int64)
    new[:, 0] = rows
    places = np.concatenate([x.places, new])
    fill = S.broadcast_to(convert(default_value, x.values.array.dtype), (len(rows),))
    order = np.argsort(places[:, 0], kind="stable")
    return placed(places[order], S.getitem(S.concat([x.values, fill]), order), x.lengths), fresh(empty)
