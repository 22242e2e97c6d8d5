"""Pooling on TensorFlow's kernels, (N, *S, C): strided slices, one for each element of a window."""

from __future__ import annotations

import functools
import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.numpy_conv import output_size
from tapegrad.kernels.tensorflow_arithmetic import add, maximum
from tapegrad.kernels.tensorflow_array import made
from tapegrad.kernels.tensorflow_basics import equal, isnan, logical_and, logical_not, logical_or, where
from tapegrad.kernels.tensorflow_calls import BF16, BOOL, F16, F32, F64, INT64
from tapegrad.kernels.tensorflow_conv import Taps, cropped, padded, padded_shape
from tapegrad.kernels.tensorflow_lengths import Size
from tapegrad.kernels.tensorflow_pick import getitem
from tapegrad.kernels.tensorflow_promotion import asarray, converted
from tapegrad.kernels.tensorflow_shape import broadcast_to, reshape, stack, zeros

if TYPE_CHECKING:
    from collections.abc import Iterator

    Ints = tuple[int, ...]
    Pairs = tuple[tuple[int, int], ...]


_MAX_POOL_GRAD = calls.op("MaxPoolGrad")
_SELECT = calls.op("Select")
_UNPACK, _ZEROS_LIKE = calls.op("Unpack"), calls.one("ZerosLike")


def _lowest(dtype: Any) -> Any:
    """What no element is below."""
    if dtype.kind in "iu":
        return int(np.iinfo(dtype).min)
    return False if dtype is BOOL else -math.inf


def _outside(dtype: Any) -> Any:
    """What is put around an image, and is not taken for the largest element then: NaN equals nothing."""
    return math.nan if dtype.kind in "fV" else _lowest(dtype)


def _along(rank: int, axis: int, window: int, places: int, stride: int, dilation: int, sizes: Ints) -> Taps:
    """The taps of a window along one axis alone; the others stay."""
    one = (1,) * rank

    def put(v: int, others: Ints) -> Ints:
        return (*others[:axis], v, *others[axis + 1 :])

    return Taps(put(window, one), put(places, sizes), put(stride, one), put(dilation, one))


def _reduced(x: Any, combine: Any, window: Ints, stride: Ints, padding: Pairs, dilation: Ints, out: Ints) -> Any:
    """Windows combined along one axis after the other."""
    rank = len(window)
    for axis, (k, s, d, p) in enumerate(zip(window, stride, dilation, out, strict=True)):
        if k == 1 and s == 1:
            continue
        if k == s and d == 1 and k > 1 and all(type(n) is int for n in x.shape[1:]):
            x = _tiled(x, combine, axis + 1, k, p)
            continue
        parts = _along(rank, axis, k, p, s, d, x.shape[1:-1]).taken(x)
        y = parts[0]
        for part in parts[1:]:
            y = combine(y, part)
        x = y
    return x


def _tiled(x: Any, combine: Any, axis: int, k: int, places: int) -> Any:
    """Windows side by side along an axis, combined.

    Taken apart where they lie (measured for 32x28x28x6 and 2x2, on the CPU: 170 us, by strided slices 6,700; TensorFlow's
    own op, which loses NaN, takes 130).
    """
    shape = x.shape
    if shape[axis] != places * k:
        x = getitem(x, (*[slice(None)] * axis, slice(0, places * k)))
    apart = reshape(x, (-1, k, math.prod(shape[axis + 1 :])))
    first, *rest = (made(part, x.dtype) for part in _UNPACK(apart.bare, num=k, axis=1))
    return reshape(functools.reduce(combine, rest, first), (*shape[:axis], places, *shape[axis + 1 :]))


def window_max(x: Any, *, window: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Any:
    """The largest element of each window; nothing of the padding is ever the largest."""
    x = asarray(x)
    out = output_size(x.shape[1:-1], window, stride, padding, dilation)
    if 0 in (*x.shape, *out):
        return broadcast_to(zeros((), dtype=x.dtype), (x.shape[0], *out, x.shape[-1]))
    return _reduced(padded(x, padding, _lowest(x.dtype)), maximum, window, stride, padding, dilation, out)


def _chosen(x: Any, y: Any, padding: Pairs, taps: Taps) -> Iterator[Any]:
    """For each element of a window, whether it is the first that equals the largest; NaN counts as the largest."""
    floating = x.dtype.kind in "fV"
    if floating and any(lo or hi for lo, hi in padding):  # NaN around it, which must not count: marked apart
        inside = padded(zeros(x.shape, dtype=BOOL), padding, True)
        masks: list[Any] = taps.taken(inside)
    else:
        masks = [None] * len(taps.bounds)
    before: Any = None
    for part, outside in zip(taps.taken(padded(x, padding, _outside(x.dtype))), masks, strict=True):
        found = equal(part, y)
        if floating:
            found = logical_or(found, logical_and(isnan(part), isnan(y)))
            if outside is not None:
                found = logical_and(found, logical_not(outside))
        if before is not None:
            found, before = logical_and(found, logical_not(before)), logical_or(found, before)
        else:
            before = found
        yield found


def window_put(v: Any, x: Any, y: Any, *, window: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Any:
    """Zeros like `x`, with `v` added where the first element of each window is that equals its largest, `y`.

    Of windows with NaN that overlap, TensorFlow's own op may choose another element than the first NaN.
    """
    v, x, y = asarray(v), asarray(x), asarray(y)
    if 0 in (*x.shape, *y.shape):
        return zeros(x.shape, dtype=v.dtype)
    if _tiles(x.shape, y.shape, window, stride, padding, dilation):
        return _put_into_tiles(v, x, y, window)
    d = x.dtype
    if len(window) == 2 and v.dtype is d is y.dtype and (d is F32 or d is F64) and dilation == (1, 1) and not any(map(any, padding)):
        sizes = {"ksize": [1, *window, 1], "strides": [1, *stride, 1], "padding": "VALID", "data_format": "NHWC"}
        return made(_MAX_POOL_GRAD(x.bare, y.bare, v.bare, explicit_paddings=[], **sizes), d, x._shape)
    taps = Taps(window, y.shape[1:-1], stride, dilation)
    parts = [where(chosen, v, 0) for chosen in _chosen(x, y, padding, taps)]
    return cropped(taps.added(parts, padded_shape(x.shape, padding)), x.shape[1:-1], padding)


def _tiles(shape: Any, out: Any, window: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> bool:
    """Whether windows lie side by side, with lengths that are known."""
    return (
        window == stride
        and all(d == 1 for d in dilation)
        and not any(map(any, padding))
        and all(type(n) is int for n in (*shape[1:], *out[1:]))
    )


def _put_into_tiles(v: Any, x: Any, y: Any, window: Ints) -> Any:
    """Along one axis after the other: each part of a window is given what the parts before it leave, if it has the largest.

    Measured for 32x28x28x6 and 2x2, on the CPU: TensorFlow's own op takes three times as long, unless what it is given is
    what its other op gave.
    """
    covered = tuple(p * k for p, k in zip(y.shape[1:-1], window, strict=True))
    left = tuple((0, n - c) for n, c in zip(x.shape[1:-1], covered, strict=True))
    x = cropped(x, covered, left)
    return padded(_put_along(v, x, y, window, 1), left, 0)


def _select(found: Any, a: Any, b: Any) -> Any:
    """`where` for arrays of one shape, by the older op: that of today takes four times as long on the CPU (2.21)."""
    return made(_SELECT(found.bare, a.bare, b.bare), a.dtype, a._shape)


def _put_along(v: Any, x: Any, y: Any, window: Ints, axis: int) -> Any:
    if axis > len(window):
        return v
    k, shape = window[axis - 1], x.shape
    inner = math.prod(shape[axis + 1 :])
    short = (*shape[:axis], shape[axis] // k, *shape[axis + 1 :])
    flat = reshape(x, (-1, k, inner))
    parts = [reshape(made(t, x.dtype), short) for t in _UNPACK(flat.bare, num=k, axis=1)] if k > 1 else [x]
    zero, rest, put = made(_ZEROS_LIKE(v.bare), v.dtype, v._shape), v, []
    for i, part in enumerate(parts):
        top = part
        for a, n in enumerate(window[axis:], axis + 1):
            top = _tiled(top, maximum, a, n, top.shape[a] // n) if n > 1 else top
        if i + 1 < k:
            found = equal(top, y)
            if x.dtype.kind in "fV":
                found = logical_or(found, isnan(top))  # then the largest is NaN
            given, rest = _select(found, rest, zero), _select(found, zero, rest)
        else:
            given = rest
        put.append(reshape(_put_along(given, part, top, window, axis + 1), (-1, inner)))
    return reshape(stack(put, axis=1), shape)


def window_take(v: Any, x: Any, y: Any, *, window: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Any:
    """The element of `v` for each window where `x` first has the largest of the window, `y`: the transpose of `window_put`."""
    v, x, y = asarray(v), asarray(x), asarray(y)
    out = zeros(y.shape, dtype=v.dtype)
    if 0 in (*x.shape, *y.shape):
        return out
    taps = Taps(window, y.shape[1:-1], stride, dilation)
    for part, chosen in zip(taps.taken(padded(v, padding, 0)), _chosen(x, y, padding, taps), strict=True):
        out = where(chosen, part, out)
    return out


def window_argmax(x: Any, y: Any, *, window: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Any:
    """Where the first largest element of each window lies, as a place in the flattened spatial axes of `x`."""
    x, y = asarray(x), asarray(y)
    size, places = x.shape[1:-1], y.shape[1:-1]
    out = zeros(y.shape, dtype=INT64)
    if 0 in (*x.shape, *y.shape):
        return out
    taps = Taps(window, places, stride, dilation)
    each = itertools.product(*map(range, window))
    for tap, chosen in zip(each, _chosen(x, y, padding, taps), strict=True):
        place = np.zeros((), np.int64)
        for n, i, d, s, p, (lo, _) in zip(size, tap, dilation, stride, places, padding, strict=True):
            place = place[..., None] * n + (np.arange(p) * s + i * d - lo)
        out = where(chosen, place[..., None], out)
    return out


def _wide(x: Any) -> Any:
    return converted(x, F32) if x.dtype in (F16, BF16) else x


def window_sum(x: Any, *, window: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Any:
    """The sum over each window, one axis after the other."""
    x = asarray(x)
    out = output_size(x.shape[1:-1], window, stride, padding, dilation)
    if 0 in (*x.shape, *out):
        return zeros((x.shape[0], *out, x.shape[-1]), dtype=x.dtype)
    y = _reduced(padded(_wide(x), padding, 0), add, window, stride, padding, dilation, out)
    return converted(y, x.dtype)


def window_spread(
    v: Any, *, size: Any, window: Ints, stride: Ints, padding: Pairs, dilation: Ints
) -> Any:
    """Each element added to all places of its window: the transpose of `window_sum`."""
    v = asarray(v)
    if 0 in v.shape or 0 in [n for n in size if type(n) is not Size]:
        return zeros((v.shape[0], *size, v.shape[-1]), dtype=v.dtype)
    x = _wide(v)
    rank = len(window)
    for axis, (k, s, d, n, (lo, hi)) in enumerate(zip(window, stride, dilation, size, padding, strict=True)):
        if k == 1 and s == 1 and not lo and not hi:
            continue
        here = x.shape[1:-1]
        taps = _along(rank, axis, k, here[axis], s, d, here)
        whole = (*here[:axis], n + lo + hi, *here[axis + 1 :])
        x = taps.added([x] * k, (x.shape[0], *whole, x.shape[-1]))
        none = tuple((lo, hi) if i == axis else (0, 0) for i in range(rank))
        x = cropped(x, (*here[:axis], n, *here[axis + 1 :]), none)
    return converted(x, v.dtype)
