"""NumPy kernels that change shapes, and that read elements by index."""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import numpy as np


def reshape(x: Any, shape: Any, *, copy: bool | None = None) -> Any:
    return x.reshape(shape) if copy is None else np.reshape(x, shape, copy=copy)  # the method takes a third of the time


def broadcast_to(x: Any, shape: Any) -> Any:
    """The array repeated: small ones as a copy (measured: 0.7 us; NumPy's view takes 6), others as a read-only view."""
    if type(shape) is not tuple:
        return np.broadcast_to(x, shape)
    if math.prod(shape) <= 4096:
        out = np.empty(shape, x.dtype)
        out[...] = x
        return out
    if x.shape != ():
        return np.broadcast_to(x, shape)
    view = np.ndarray(shape, x.dtype, np.asarray(x), 0, (0,) * len(shape))
    view.flags.writeable = False
    return view


def zeros_beside(x: Any, dtype: Any) -> Any:
    """Zeros in the shape of `x`, where that is."""
    return np.zeros(x.shape, dtype)


def ones_beside(x: Any, dtype: Any) -> Any:
    """Ones in the shape of `x`, where that is."""
    if type(x) is not np.ndarray:
        return dtype.type(1)
    out = np.empty(x.shape, dtype)
    out.fill(1)
    return out


def eye(n_rows: int, n_cols: int | None = None, *, k: int = 0, dtype: Any = None) -> Any:
    """NumPy's function, which takes three times as long for the usual matrix of ones on the main diagonal."""
    if k or n_cols is not None:
        return np.eye(n_rows, n_cols, k, dtype)
    out = np.zeros((n_rows, n_rows), dtype)
    out.reshape(-1)[:: n_rows + 1] = 1
    return out


def flip(x: Any, *, axis: Any = None) -> Any:
    return np.flip(x, axis)


def diagonal(x: Any, *, offset: int = 0) -> Any:
    return np.diagonal(x, offset, -2, -1)


def put_diagonal(x: Any, *, offset: int = 0, shape: tuple[int, int] | None = None) -> Any:
    k = x.shape[-1]
    rows = np.arange(k) + (-offset if offset < 0 else 0)
    columns = np.arange(k) + (offset if offset > 0 else 0)
    if shape is None:
        shape = (k + (-offset if offset < 0 else offset),) * 2
    out = np.zeros((*x.shape[:-1], *shape), x.dtype)
    out[..., rows, columns] = x
    return out


def permute_dims(x: Any, axes: tuple[int, ...]) -> Any:
    return x.transpose(axes)


def expand_dims(x: Any, *, axis: Any = 0) -> Any:
    if type(axis) is int and type(x) is np.ndarray:  # NumPy's function takes 3 us, this 0.4
        rank = x.ndim
        if -rank - 1 <= axis <= rank:
            return x[(*(slice(None),) * (axis if axis >= 0 else axis + rank + 1), None)]
    return np.expand_dims(x, axis)


def squeeze(x: Any, axis: Any) -> Any:
    return x.squeeze(axis) if type(x) is np.ndarray else np.squeeze(x, axis)


def concat(arrays: Any, *, axis: int | None = 0) -> Any:
    return np.concatenate(arrays, axis=axis)


def stack(arrays: Any, *, axis: int = 0) -> Any:
    return np.stack(arrays, axis=axis)


# -- indexing ----------------------------------------------------------------------------------------
def getitem(x: Any, index: Any) -> Any:
    return x[index]


def parts(x: Any, cuts: tuple[int, ...], axis: int) -> tuple[Any, ...]:
    return tuple([x[index] for index in _between(cuts, axis)])


@functools.lru_cache(maxsize=256)
def _between(cuts: tuple[int, ...], axis: int) -> list[tuple[slice, ...]]:
    before = (slice(None),) * axis
    return [(*before, slice(a, b)) for a, b in itertools.pairwise(cuts)]


def take(x: Any, indices: Any, *, axis: int | None = None) -> Any:
    return np.take(x, indices, axis=axis)


def take_along_axis(x: Any, indices: Any, *, axis: int = -1) -> Any:
    if type(x) is not np.ndarray or type(indices) is not np.ndarray or indices.ndim != x.ndim or indices.dtype.kind not in "iu":
        return np.take_along_axis(x, indices, axis=axis)  # which says what is wrong
    return x[along_axis(x.shape, indices, axis % x.ndim)]


def along_axis(shape: tuple[int, ...], indices: Any, axis: int) -> tuple[Any, ...]:
    """The index of the places that `indices` name along an axis; NumPy takes four times as long to make it."""
    rank = len(shape)
    return tuple([indices if k == axis else numbers(n, rank - k - 1) for k, n in enumerate(shape)])


def numbers(n: int, after: int = 0) -> Any:
    """The numbers below `n` along an axis with so many of length 1 after it; nobody writes to them."""
    return _few(n, after) if n <= 1024 else np.arange(n).reshape((n, *(1,) * after))


@functools.lru_cache(64)
def _few(n: int, after: int) -> Any:
    found = np.arange(n).reshape((n, *(1,) * after))
    found.flags.writeable = False
    return found
