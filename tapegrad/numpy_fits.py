"""NumPy's functions that fit, count and rank: least squares, polynomials, weighted counts, condition numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.errors import ArgumentError
from tapegrad.kernels.batched import Batched
from tapegrad.numpy_compositions import public, read, values_of
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from collections.abc import Callable


def _lstsq(a: Any, b: Any, /, *, rcond: float | None = None) -> tuple[Any, Any, Any, Any]:
    """The solution, the sums of squared residuals (none unless the rank is full and rows are more), the rank, and singular values.

    Inside `vmap` the residuals are there for any rank, and NaN where it is not full.
    """
    a, b = read(a), read(b)
    rows, columns = a.shape
    rtol = np.finfo(a.dtype).eps if rcond == -1 else rcond
    x = public("linalg.lstsq")(a, b, rtol=rtol)
    sizes = public("linalg.svdvals")(a)
    limit = np.finfo(a.dtype).eps * max(rows, columns) if rtol is None else rtol
    rest = F.matmul(a, x) - b
    residuals = F.reshape(F.sum(F.real(rest * F.conj(rest)), axis=0), (-1,))
    if type(sizes.array) is Batched:  # of many at once: all have the same shapes, whatever their ranks
        rank = F.count_nonzero(sizes > limit * sizes[:1])
        residuals = F.where(rank == columns, residuals, math.nan) if rows > columns else F.zeros((0,), dtype=residuals.dtype)
        return x, residuals, rank, sizes
    found = values_of(sizes)
    rank = int(np.count_nonzero(found > limit * found.max(initial=0)))
    return x, residuals if rank == columns < rows else F.zeros((0,), dtype=residuals.dtype), rank, sizes


def _polyfit(x: Any, y: Any, deg: Any, /, *, w: Any = None) -> Any:
    """The coefficients, highest power first; columns are scaled to length 1 before they are solved for, as NumPy has it."""
    if np.ndim(deg) or int(deg) < 0:
        raise ArgumentError(f"np.polyfit(deg): expected one number >= 0, got {deg!r}")
    x, y = read(x), read(y)
    if x.dtype.kind in "biu":
        x = F.astype(x, np.dtype(np.float64))
    columns = F.stack([x**k for k in range(int(deg), -1, -1)], axis=1)
    if w is not None:
        w = F.expand_dims(read(w), axis=-1)
        columns = columns * w
        y = y * (w if y.ndim > 1 else F.squeeze(w, -1))
    scale = F.sqrt(F.sum(columns * columns, axis=0))
    found = public("linalg.lstsq")(columns / scale, y, rtol=len(values_of(x)) * float(np.finfo(x.dtype).eps))
    return found / (F.expand_dims(scale, axis=-1) if y.ndim > 1 else scale)


def _cond(x: Any, /, *, p: Any = None) -> Any:
    """The largest over the smallest singular value, or a norm of the matrix times that of its inverse."""
    if p in (None, 2, -2):
        sizes = public("linalg.svdvals")(x)
        most, least = sizes[..., 0], sizes[..., -1]
        return least / most if p == -2 else most / least
    norm = public("linalg.matrix_norm")
    return norm(x, ord=p) * norm(public("linalg.inv")(x), ord=p)


def _bincount(x: Any, weights: Any = None, /, *, minlength: int = 0) -> Any:
    """How often each number occurs, or the sum of its weights."""
    places = values_of(x)
    if weights is None:
        return read(np.bincount(places, minlength=minlength))
    if places.ndim != 1 or places.dtype.kind not in "biu" or places.min(initial=0) < 0:
        raise ArgumentError(f"np.bincount(x): expected integers >= 0 along one axis, got {places.dtype} {places.shape}")
    weights = read(weights)
    if weights.shape != places.shape:
        raise ArgumentError(f"np.bincount(x, weights): expected one weight for each of x, got shapes {places.shape} and {weights.shape}")
    size = max(int(places.max(initial=-1)) + 1, minlength)
    return F.put_add(F.astype(weights, np.dtype(np.float64)), index=(places,), shape=(size,))


def _partition(x: Any, kth: Any, /, *, axis: int | None = -1) -> Any:
    """Sorted whole, so that each place asked for holds what it should."""
    x = read(x)
    n = x.size if axis is None else x.shape[axis]
    if any(not -n <= int(k) < n for k in np.atleast_1d(values_of(kth))):
        raise ArgumentError(f"np.partition(kth): expected places among {n}, got {kth!r}")
    return F.sort(F.reshape(x, (-1,)), axis=0) if axis is None else F.sort(x, axis=axis)


def _resize(x: Any, new_shape: Any, /) -> Any:
    """The elements in a row, over and over, as many as the shape has."""
    x = F.reshape(read(x), (-1,))
    shape = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    n = math.prod(shape)
    if not x.size:
        return F.zeros(shape, dtype=x.dtype)
    return F.reshape(F.take(x, np.arange(n) % x.size, axis=0), shape)


FITS: dict[str, Callable[..., Any]] = {
    "lstsq": _lstsq,
    "polyfit": _polyfit,
    "cond": _cond,
    "bincount": _bincount,
    "partition": _partition,
    "resize": _resize,
}
