"""Reductions of segments: rows that belong together by their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.dtypes import finfo, is_inexact
from tapegrad.tf.convert import at_hand, convert, host, integer
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.gathering import scattered
from tapegrad.tf.operators import shape_text
from tapegrad.tf.style import S, not_allowed
from tapegrad.tf.tensor import Tensor, made


def _segmented(data: Any, segment_ids: Any, num_segments: Any) -> tuple[Tensor, Any, int]:
    """Rows that belong to a segment, to which one, and how many there are; negative ids are dropped.

    Ids that are not on the host stay where they are: they are not looked at.
    """
    x, ids = convert(data), at_hand(segment_ids)
    if x.array.dtype.kind in "bO":
        raise not_allowed("UnsortedSegmentSum", x.array.dtype)
    n = integer(num_segments)
    if x.array.shape[: ids.ndim] != ids.shape:
        raise invalid(None, f"data.shape = {shape_text(x.array)} does not start with segment_ids.shape = {shape_text(ids)}")
    rows = S.reshape(x, (ids.size, *x.array.shape[ids.ndim :]))
    flat = ids.reshape(-1)
    if isinstance(flat, np.ndarray):
        if flat.size and flat.max() >= n:
            raise invalid(None, f"segment_ids[{int(flat.argmax())}] = {flat.max()} is out of range [0, {n})")
        if flat.size and flat.min() < 0:
            rows, flat = S.getitem(rows, flat >= 0), flat[flat >= 0]
    return rows, made(flat), n


def _total(rows: Tensor, ids: Tensor, n: int) -> Tensor:
    return S.take_add(rows, ids, shape=(n, *rows.array.shape[1:]), axis=0)


def _counts(rows: Tensor, ids: Tensor, n: int) -> Tensor:
    """How many rows each segment has, with axes of length 1 for theirs."""
    one = S.astype(S.ones_like(ids), rows.array.dtype)
    return S.reshape(S.take_add(one, ids, shape=(n,), axis=0), (n,) + (1,) * (rows.array.ndim - 1))


def _mean(rows: Tensor, ids: Tensor, n: int) -> Tensor:
    return S.divide(_total(rows, ids, n), S.maximum(_counts(rows, ids, n), 1))


def _sqrt_n(rows: Tensor, ids: Tensor, n: int) -> Tensor:
    return S.divide(_total(rows, ids, n), S.sqrt(S.maximum(_counts(rows, ids, n), 1)))


def _best(how: str, start: Any, empty: Any = None) -> Any:
    """The largest or smallest of each segment; `empty` gives what a segment without rows has, if it is not the start."""

    def best(rows: Tensor, ids: Tensor, n: int) -> Tensor:
        raw = rows.array
        dtype = raw.dtype
        begun = S.full((n, *raw.shape[1:]), start(dtype), dtype=dtype)
        found = made(scattered(begun.array, ids.array[..., None], raw, how))
        if empty is not None:
            found = S.where(S.equal(_counts(rows, ids, n), 0), empty(dtype), found)
        if dtype.kind not in "fV":
            return found
        hit = S.equal(made(raw), S.take(found, ids, axis=0))
        count = _total(S.astype(hit, dtype), ids, n)
        share = S.divide(S.astype(hit, dtype), S.take(S.maximum(count, 1), ids, axis=0))
        held = S.where(hit, rows, dtype.type(0))
        return S.where(S.greater(count, 0), _total(S.multiply(held, share), ids, n), found)

    return best


def _zero(dtype: np.dtype[Any]) -> Any:
    return dtype.type(0)


def _lowest(dtype: np.dtype[Any]) -> Any:
    return finfo(dtype).min if is_inexact(dtype) else np.iinfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    return finfo(dtype).max if is_inexact(dtype) else np.iinfo(dtype).max


def _product(rows: Tensor, ids: Tensor, n: int) -> Tensor:
    dtype = rows.array.dtype
    if isinstance(ids.array, np.ndarray):
        parts = [S.prod(S.getitem(rows, ids.array == k), axis=0, dtype=dtype) for k in range(n)]
    else:
        column = S.reshape(ids, (-1,) + (1,) * (rows.array.ndim - 1))
        parts = [S.prod(S.where(S.equal(column, k), rows, dtype.type(1)), axis=0, dtype=dtype) for k in range(n)]
    return S.stack(parts) if parts else S.zeros((0, *rows.array.shape[1:]), dtype=dtype)


def _sorted(how: Any, name: str) -> Any:
    def reduce(data: Any, segment_ids: Any, name: str | None = None) -> Tensor:
        ids = host(segment_ids)
        if not convert(data).array.ndim:
            raise invalid("Segment", "input must be at least rank 1")
        if ids.size and (np.any(np.diff(ids) < 0) or ids[0] < 0):
            raise invalid("Segment", "segment ids are not increasing")
        if convert(data).array.shape[:1] != ids.shape:
            raise invalid("Segment", "segment_ids should be the same size as dimension 0 of input.")
        return how(*_segmented(data, ids, int(ids[-1]) + 1 if ids.size else 0))

    return _named(reduce, f"segment_{name}")


def _unsorted(how: Any, name: str) -> Any:
    def reduce(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Tensor:
        rows, ids, n = _segmented(data, segment_ids, num_segments)
        if isinstance(ids.array, np.ndarray):
            return how(rows, ids, n)
        beyond = S.where(S.less(ids, 0), n, ids)  # those of negative ids are one segment more
        return S.getitem(how(rows, beyond, n + 1), slice(0, n))

    return _named(reduce, f"unsorted_segment_{name}")


def _named(f: Any, name: str) -> Any:
    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"The {name.rpartition('_')[2]} of the rows of each segment."
    export(f"math.{name}")(f)
    return f


for _name, _how in {
    "sum": _total,
    "mean": _mean,
    "max": _best("max", _lowest),
    "min": _best("min", _highest),
    "prod": _product,
    "sqrt_n": _sqrt_n,
}.items():
    _unsorted(_how, _name)
for _name, _how in {
    "sum": _total,
    "mean": _mean,
    "max": _best("max", _lowest, _zero),
    "min": _best("min", _highest, _zero),
    "prod": _product,
}.items():
    _sorted(_how, _name)
