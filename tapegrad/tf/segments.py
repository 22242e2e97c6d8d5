"""Reductions of segments: rows that belong together by their numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.dtypes import finfo, is_inexact
from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.operators import shape_text
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


def _segmented(data: Any, segment_ids: Any, num_segments: Any) -> tuple[Tensor, Any, int]:
    """Rows that belong to a segment, to which one, and how many there are; negative ids are dropped."""
    x, ids = convert(data), host(segment_ids)
    n = int(num_segments)
    if x.array.shape[: ids.ndim] != ids.shape:
        raise invalid(None, f"data.shape = {shape_text(x.array)} does not start with segment_ids.shape = {shape_text(ids)}")
    rows = S.reshape(x, (ids.size, *x.array.shape[ids.ndim :]))
    flat = ids.reshape(-1)
    if flat.size and flat.max() >= n:
        raise invalid(None, f"segment_ids[{int(flat.argmax())}] = {flat.max()} is out of range [0, {n})")
    if flat.size and flat.min() < 0:
        rows, flat = S.getitem(rows, flat >= 0), flat[flat >= 0]
    return rows, flat, n


def _total(rows: Tensor, ids: Any, n: int) -> Tensor:
    return S.take_add(rows, fresh(ids), shape=(n, *rows.array.shape[1:]), axis=0)


def _counts(rows: Tensor, ids: Any, n: int) -> Any:
    count = np.maximum(np.bincount(ids, minlength=n), 1).astype(rows.array.dtype)
    return count.reshape((-1,) + (1,) * (rows.array.ndim - 1))


def _mean(rows: Tensor, ids: Any, n: int) -> Tensor:
    return S.divide(_total(rows, ids, n), fresh(_counts(rows, ids, n)))


def _sqrt_n(rows: Tensor, ids: Any, n: int) -> Tensor:
    return S.divide(_total(rows, ids, n), fresh(np.sqrt(_counts(rows, ids, n))))


def _best(at: Any, start: Any, empty: Any = None) -> Any:
    """The largest or smallest of each segment; `empty` gives what a segment without rows has, if it is not the start."""

    def best(rows: Tensor, ids: Any, n: int) -> Tensor:
        raw = np.asarray(rows.array)
        found = np.full((n, *raw.shape[1:]), start(raw.dtype), raw.dtype)
        at(found, ids, raw)
        if empty is not None:
            found[np.bincount(ids, minlength=n) == 0] = empty(raw.dtype)
        if raw.dtype.kind not in "fV":
            return fresh(found)
        hit = (raw == found[ids]).astype(raw.dtype)
        count = np.zeros_like(found)
        np.add.at(count, ids, hit)
        share = hit / np.maximum(count, 1)[ids]
        held = S.where(fresh(hit > 0), rows, raw.dtype.type(0))
        return S.where(fresh(count > 0), _total(S.multiply(held, fresh(share)), ids, n), fresh(found))

    return best


def _zero(dtype: np.dtype[Any]) -> Any:
    return dtype.type(0)


def _lowest(dtype: np.dtype[Any]) -> Any:
    return finfo(dtype).min if is_inexact(dtype) else np.iinfo(dtype).min


def _highest(dtype: np.dtype[Any]) -> Any:
    return finfo(dtype).max if is_inexact(dtype) else np.iinfo(dtype).max


def _product(rows: Tensor, ids: Any, n: int) -> Tensor:
    parts = [S.prod(S.getitem(rows, ids == k), axis=0, dtype=rows.array.dtype) for k in range(n)]
    return S.stack(parts) if parts else S.zeros((0, *rows.array.shape[1:]), dtype=rows.array.dtype)


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
        return how(*_segmented(data, segment_ids, num_segments))

    return _named(reduce, f"unsorted_segment_{name}")


def _named(f: Any, name: str) -> Any:
    f.__name__ = f.__qualname__ = name
    f.__doc__ = f"The {name.rpartition('_')[2]} of the rows of each segment."
    export(f"math.{name}")(f)
    return f


for _name, _how in {
    "sum": _total,
    "mean": _mean,
    "max": _best(np.maximum.at, _lowest),
    "min": _best(np.minimum.at, _highest),
    "prod": _product,
    "sqrt_n": _sqrt_n,
}.items():
    _unsorted(_how, _name)
for _name, _how in {
    "sum": _total,
    "mean": _mean,
    "max": _best(np.maximum.at, _lowest, _zero),
    "min": _best(np.minimum.at, _highest, _zero),
    "prod": _product,
}.items():
    _sorted(_how, _name)
