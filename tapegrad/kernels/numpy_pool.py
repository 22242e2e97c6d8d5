"""Pooling on NumPy arrays: strided slices, one for each element of a window, never a copy of the windows.

Arrays are (N, *S, C) in any memory order, which the results keep.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.kernels.numpy_conv import output_size
from tapegrad.kernels.numpy_sums import HALVES

if TYPE_CHECKING:
    from collections.abc import Iterator

    Ints = tuple[int, ...]
    Pairs = tuple[tuple[int, int], ...]

_BITS = {2: np.int16, 4: np.int32, 8: np.int64}


def window_max(x: Any, *, window: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Any:
    """The largest element of each window, one axis after the other; nothing of the padding is ever the largest."""
    out = output_size(x.shape[1:-1], window, stride, padding, dilation)
    x = _padded(x, padding, _lowest(x.dtype))
    for axis, (k, s, d, p) in enumerate(zip(window, stride, dilation, out, strict=True), 1):
        if k == 1 and s == 1:
            continue
        y = None
        for i in range(k):
            part = x[_along(axis, i * d, p, s)]
            if y is None:
                y = part if k > 1 else part.copy("K")
            elif i == 1:
                y = np.maximum(y, part)
            else:
                np.maximum(y, part, out=y)
        x = y
    return x if any(k > 1 or s > 1 for k, s in zip(window, stride, strict=True)) else x.copy("K")


def window_put(v: Any, x: Any, y: Any, *, window: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Any:
    """Zeros like `x`, with `v` added where the first element of each window is that equals its largest, `y`."""
    shape = x.shape
    apart = all(k <= s for k, s in zip(window, stride, strict=True)) and all(d == 1 for d in dilation)
    x = _padded(x, padding, _outside(x, y))
    g = np.zeros_like(x, v.dtype)
    places = y.shape[1:-1]
    for tap, chosen in _chosen(x, y, _windows(window, places, stride, dilation)):
        if apart:
            _masked(v, chosen, g[tap])
        else:
            part = np.empty_like(v)
            _masked(v, chosen, part)
            g[tap] += part
    return _cropped(g, shape[1:-1], padding)


def window_take(v: Any, x: Any, y: Any, *, window: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Any:
    """The element of `v` for each window where `x` first has the largest of the window, `y`: the transpose of `window_put`."""
    x = _padded(x, padding, _outside(x, y))
    v = _padded(v, padding, 0)
    out = np.zeros_like(y, v.dtype)
    for tap, chosen in _chosen(x, y, _windows(window, y.shape[1:-1], stride, dilation)):
        np.copyto(out, v[tap], where=chosen)
    return out


def window_argmax(x: Any, y: Any, *, window: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Any:
    """Where the first largest element of each window lies, as a place in the flattened spatial axes of `x`."""
    size, places = x.shape[1:-1], y.shape[1:-1]
    x = _padded(x, padding, _outside(x, y))
    out = np.zeros(y.shape, np.int64)
    taps = itertools.product(*map(range, window))
    for tap, (at, chosen) in zip(taps, _chosen(x, y, _windows(window, places, stride, dilation)), strict=True):
        place = np.zeros((), np.int64)
        for n, i, d, s, p, (lo, _) in zip(size, tap, dilation, stride, places, padding, strict=True):
            place = place[..., None] * n + (np.arange(p) * s + i * d - lo)
        np.copyto(out, place[..., None], where=chosen)
        del at
    return out


def window_sum(x: Any, *, window: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Any:
    """The sum over each window, one axis after the other."""
    dtype = x.dtype
    out = output_size(x.shape[1:-1], window, stride, padding, dilation)
    x = _padded(x.astype(np.float32) if _is_half(dtype) else x, padding, 0)
    fresh = False
    for axis, (k, s, d, p) in enumerate(zip(window, stride, dilation, out, strict=True), 1):
        if k == 1 and s == 1:
            continue
        y = x[_along(axis, 0, p, s)]
        fresh = k > 1
        for i in range(1, k):
            part = x[_along(axis, i * d, p, s)]
            y = y + part if i == 1 else np.add(y, part, out=y)
        x = y
    return x.astype(dtype, order="K", copy=not fresh)


def window_spread(
    v: Any, *, size: Ints, window: Ints, stride: Ints, padding: Pairs, dilation: Ints
) -> Any:
    """Each element added to all places of its window: the transpose of `window_sum`."""
    dtype = v.dtype
    x = v.astype(np.float32) if _is_half(dtype) else v
    for axis, (k, s, d, n, (lo, hi)) in enumerate(zip(window, stride, dilation, size, padding, strict=True), 1):
        if k == 1 and s == 1 and not lo and not hi:
            continue
        p = x.shape[axis]
        order = _axes_by_stride(x)
        shape = [x.shape[a] for a in order]
        shape[order.index(axis)] = n + lo + hi
        y = np.zeros(shape, x.dtype).transpose(np.argsort(order))
        for i in range(k):
            at = _along(axis, i * d, p, s)
            if k <= s and d == 1:
                y[at] = x
            else:
                y[at] += x
        x = y[(slice(None),) * axis + (slice(lo, lo + n),)]
    return x.astype(dtype, order="K", copy=x is v)


def _axes_by_stride(x: Any) -> list[int]:
    """The axes from the outermost in memory to the innermost."""
    return sorted(range(x.ndim), key=lambda a: -abs(x.strides[a]))


def _is_half(dtype: Any) -> bool:
    return dtype.itemsize == 2 and dtype.name in HALVES


def _lowest(dtype: Any) -> Any:
    """What no element is below."""
    if dtype.kind in "iu":
        return np.iinfo(dtype).min
    return False if dtype.kind == "b" else -math.inf


def _outside(x: Any, y: Any) -> Any:
    """What is put around `x`, and not taken for the largest element then: not even where that is -inf."""
    return math.nan if x.dtype.kind in "fV" and not _has_nan(y) else _lowest(x.dtype)


def _has_nan(y: Any) -> bool:
    """Whether there may be a NaN: the sum shows it."""
    return y.dtype.kind in "fV" and y.size > 0 and bool(np.isnan(np.add.reduce(y, axis=None)))


def _padded(x: Any, padding: Pairs, value: Any) -> Any:
    if not any(lo or hi for lo, hi in padding):
        return x
    shape = [n + lo + hi for n, (lo, hi) in zip(x.shape[1:-1], padding, strict=True)]
    order = _axes_by_stride(x)
    whole = (x.shape[0], *shape, x.shape[-1])
    out = np.full([whole[a] for a in order], value, x.dtype).transpose(np.argsort(order))
    out[(slice(None), *(slice(lo, lo + n) for n, (lo, _) in zip(x.shape[1:-1], padding, strict=True)))] = x
    return out


def _cropped(x: Any, size: Ints, padding: Pairs) -> Any:
    if not any(lo or hi for lo, hi in padding):
        return x
    return x[(slice(None), *(slice(lo, lo + n) for n, (lo, _) in zip(size, padding, strict=True)))]


def _along(axis: int, begin: int, count: int, step: int) -> tuple[slice, ...]:
    """A slice of `count` elements along one axis."""
    return (slice(None),) * axis + (_slice(begin, count, step),)


def _slice(begin: int, count: int, step: int) -> slice:
    return slice(begin, begin + (count - 1) * step + 1 if count else begin, step)


def _windows(window: Ints, places: Ints, stride: Ints, dilation: Ints) -> Iterator[tuple[slice, ...]]:
    """For each element of a window, where it lies for all places of the window."""
    for tap in itertools.product(*map(range, window)):
        yield (
            slice(None),
            *(_slice(i * d, p, s) for i, d, p, s in zip(tap, dilation, places, stride, strict=True)),
        )


def _chosen(x: Any, y: Any, taps: Iterator[tuple[slice, ...]]) -> Iterator[tuple[tuple[slice, ...], Any]]:
    """For each element of a window, whether it is the first that equals the largest; NaN counts as the largest."""
    unordered = _has_nan(y)
    before = None
    for tap in taps:
        part = x[tap]
        chosen = part == y
        if unordered:
            chosen |= np.isnan(part)
        if before is None:
            before = chosen.copy("K")
        else:
            np.greater(chosen, before, out=chosen)
            before |= chosen
        yield tap, chosen


def _masked(v: Any, chosen: Any, out: Any) -> None:
    """`v` where it is chosen, else 0: by its bits, three times as fast as a masked copy, and 0 where v is infinite."""
    bits = _BITS.get(v.dtype.itemsize) if v.dtype.kind == "f" else None
    if bits is None:
        out[...] = 0
        np.copyto(out, v, where=chosen)
    else:
        np.bitwise_and(v.view(bits), np.negative(chosen.view(np.int8)), out=out.view(bits))
