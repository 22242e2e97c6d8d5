"""Functions of orders and arrays, for any kernels' arrays: one order at a time, in double precision, in blocks."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.errors import DTypeError

#: So many values are computed at a time, each from some 200 points.
_BLOCK = 1 << 14


def of_orders(function: Any, xp: Any, orders: tuple[Any, ...], arrays: tuple[Any, ...]) -> Any:
    """The value of `function(xp, *orders, *arrays)`, computed in double precision, in the dtype of the arrays.

    Orders are integers, or arrays of them that are NumPy's.
    """
    dtype = np.result_type(*(x.dtype if hasattr(x, "dtype") else x for x in arrays))
    if dtype.kind == "c":
        raise DTypeError(f"{function.__name__.replace('_', ' ')}: expected real numbers, got {dtype}")
    dtype = dtype if dtype.kind in "fV" else np.dtype(np.float64)
    wide = [xp.astype(x, np.dtype(np.float64)) if hasattr(x, "dtype") else np.float64(x) for x in arrays]
    if all(np.ndim(n) == 0 for n in orders):
        return xp.astype(_in_blocks(function, xp, [int(n) for n in orders], wide), dtype)
    y: Any = math.nan
    orders = np.broadcast_arrays(*orders)
    for some in {tuple(map(int, row)) for row in zip(*(n.reshape(-1) for n in orders), strict=True)}:
        these = np.logical_and.reduce([n == k for n, k in zip(orders, some, strict=True)])
        y = xp.where(these, _in_blocks(function, xp, list(some), wide), y)
    return xp.astype(y, dtype)


def _in_blocks(function: Any, xp: Any, orders: list[int], arrays: list[Any]) -> Any:
    """The function of arrays, of NumPy's in blocks that bound what it needs of memory."""
    if not all(isinstance(x, np.ndarray | np.generic) for x in arrays):
        return function(xp, *orders, *arrays)
    whole = np.broadcast_arrays(*arrays)
    if whole[0].size <= _BLOCK:
        return function(xp, *orders, *arrays)
    flat = [x.reshape(-1) for x in whole]
    parts = [function(xp, *orders, *(x[i : i + _BLOCK] for x in flat)) for i in range(0, flat[0].size, _BLOCK)]
    return np.concatenate(parts).reshape(whole[0].shape)
