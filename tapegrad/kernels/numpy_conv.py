"""Convolution on NumPy arrays: windows as rows of a matrix, and one product with the kernel.

Arrays come and go channels-last, (N, ..., C).  Inside, memory has the channels outermost and the batch innermost: then a
window is copied in runs of whole image rows, times the batch (measured for 32 images of 28x28 and a 5x5 kernel: 0.06 ms,
where windows of channels-last memory take 0.6).  Results are views of such memory, elementwise ops and reductions
keep the order, and the next convolution finds it as it needs it.

The product is formed a few rows of the output at a time, so that the windows stay in the cache; they are made again for the
kernel's gradient rather than kept, for they are as many times larger than the image as the kernel has elements.

There are as many windows as the image has channels.  Without a stride the transpose of a convolution is a convolution with
the mirrored kernel, so each of the three is done with windows of the side that has fewer channels (measured for a last
layer, 7x7 from 128 channels to one, on 64 images of 28x28: 13, 11 and 11 ms, where windows of 128 channels take 273, 778
and 314).

Where each channel has a kernel of its own, products of columns with rows would go back to the image, which are slow: that is
again a convolution with the mirrored kernel, or with a stride sums of slices (measured for 3x3 on 16 images of 16x16 with 32
channels: 4,400 us as products, 270 mirrored, 830 in slices).
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.kernels import numpy_pointwise
from tapegrad.kernels.numpy_sums import HALVES
from tapegrad.kernels.remembered import remembered

if TYPE_CHECKING:
    from collections.abc import Iterator

    Ints = tuple[int, ...]
    Pairs = tuple[tuple[int, int], ...]

#: How many times the channels of the output the image must have for the detour (measured with 3x3 kernels on 32 images of
#: 28x28, 64 channels to 128, 64, 32, 16 and 3: where the two ways take the same time).
_FEWER = {"conv": 3.0, "input": 0.6, "kernel": 1.5}
#: How long rows of the output, times the batch, are to be for products row by row (measured: 80 take as long either way).
_LONG = 96
#: Bytes of windows that are multiplied at once (measured: 0.25 to 1 MB differ by a tenth).
_CHUNK = 1 << 19


@remembered
def output_size(size: Ints, window: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Ints:
    """How many places a window has along each axis."""
    return tuple(
        (n + lo + hi - d * (k - 1) - 1) // s + 1
        for n, k, s, (lo, hi), d in zip(size, window, stride, padding, dilation, strict=True)
    )


def conv(x: Any, kernel: Any, *, stride: Ints, padding: Pairs, dilation: Ints, groups: int) -> Any:
    """sum over i, c of x[n, s p + d i - lo, c] kernel[i, c, o], (N, *S, C), (*K, C / groups, O) -> (N, *P, O)."""
    k, (c, o) = kernel.shape[:-2], kernel.shape[-2:]
    if _is_pointwise(k, stride, padding, groups):
        y = numpy_pointwise.conv(x, kernel)
        if y is not None:
            return y
    out = output_size(x.shape[1:-1], k, stride, padding, dilation)
    around = _mirrored(k, stride, padding, dilation, groups)
    if around is not None and c > o * _FEWER["conv"]:
        return _from_products(x, _mirror(kernel), out, stride, around, dilation, groups)
    return _from_windows(x, kernel, out, stride, padding, dilation, groups)


def conv_input_grad(
    g: Any, kernel: Any, *, size: Ints, stride: Ints, padding: Pairs, dilation: Ints, groups: int
) -> Any:
    """The transpose of `conv` in its input: each output added to the window that it was computed from."""
    k, (c, o) = kernel.shape[:-2], kernel.shape[-2:]
    if _is_pointwise(k, stride, padding, groups):
        x = numpy_pointwise.conv(g, kernel.swapaxes(-1, -2))
        if x is not None:
            return x
    if c == 1 and o == groups:  # each channel by itself
        around = _mirrored(k, stride, padding, dilation, 1)
        if around is not None:
            return _from_windows(g, _mirror(kernel).swapaxes(-1, -2), tuple(size), stride, around, dilation, groups)
    around = _mirrored(k, stride, padding, dilation, groups)
    if around is not None and c > o * _FEWER["input"]:
        return _from_windows(g, _mirror(kernel), tuple(size), stride, around, dilation, groups)
    return _from_products(g, kernel, size, stride, padding, dilation, groups)


@remembered
def _is_pointwise(k: Ints, stride: Ints, padding: Pairs, groups: int) -> bool:
    """Whether each output is computed from one place of the image, and there is one for each."""
    return groups == 1 and all(m == 1 for m in (*k, *stride)) and not any(map(any, padding))


def _mirrored(k: Ints, stride: Ints, padding: Pairs, dilation: Ints, groups: int) -> Pairs | None:
    """The padding with which a convolution by the mirrored kernel is the transpose; None where there is none."""
    if groups != 1 or any(s != 1 for s in stride) or all(m == 1 for m in k):
        return None
    found = tuple((d * (m - 1) - lo, d * (m - 1) - hi) for m, (lo, hi), d in zip(k, padding, dilation, strict=True))
    return None if any(lo < 0 or hi < 0 for lo, hi in found) else found


def _mirror(kernel: Any) -> Any:
    """A kernel (*K, C, O) from its end to its beginning, as (*K, O, C)."""
    return kernel[(slice(None, None, -1),) * (kernel.ndim - 2)].swapaxes(-1, -2)


def _from_windows(
    x: Any, kernel: Any, out: Ints, stride: Ints, padding: Pairs, dilation: Ints, groups: int
) -> Any:
    """A convolution: windows of the image times the kernel."""
    k, o = kernel.shape[:-2], kernel.shape[-1]
    dtype = np.result_type(x, kernel)
    y = np.zeros if 0 in (*x.shape, *kernel.shape) else np.empty
    y = y((o, *out, x.shape[0]), dtype)
    if y.size and x.size and kernel.size:
        wide = _wide(dtype)
        a = _channels_outermost(x, padding, wide)
        matrix = _kernel_matrix(kernel.astype(wide, copy=False), groups)
        rows = y.reshape(groups, o // groups, -1)
        for at, columns in _columns(a, k, out, stride, dilation, groups):
            if wide == dtype:
                np.matmul(matrix, columns, out=rows[:, :, at])
            else:
                rows[:, :, at] = np.matmul(matrix, columns)
    return _channels_last(y)


def _from_products(
    g: Any, kernel: Any, size: Ints, stride: Ints, padding: Pairs, dilation: Ints, groups: int
) -> Any:
    """The transpose of a convolution: products with the kernel, each added where its window lay."""
    k, (inner, o) = kernel.shape[:-2], kernel.shape[-2:]
    out, n, c = g.shape[1:-1], g.shape[0], inner * groups
    dtype = np.result_type(g, kernel)
    wide = _wide(dtype)
    padded = tuple(m + lo + hi for m, (lo, hi) in zip(size, padding, strict=True))
    x = np.zeros((c, *padded, n), wide)
    if x.size and g.size and kernel.size:
        a = _channels_outermost(g, ((0, 0),) * len(out), wide).reshape(groups, o // groups, -1)
        matrix = np.ascontiguousarray(_kernel_matrix(kernel.astype(wide, copy=False), groups).swapaxes(1, 2))
        long = math.prod(out[1:]) * n
        step = _rows_at_once(c * math.prod(k) * long * wide.itemsize, out[0])
        for first in range(0, out[0], step):
            last = min(first + step, out[0])
            places = (last - first, *out[1:])
            part = a[:, :, first * long : last * long]
            if o == groups:  # one product for each element of the kernel, and no sum of them
                rows, factors = part.reshape(groups, 1, *places, n), matrix.reshape(groups, inner, -1, *(1,) * len(x.shape[1:]))
                for t, tap in enumerate(_taps(k, places, stride, dilation, first * stride[0])):
                    x[tap] += (rows * factors[:, :, t]).reshape(c, *places, n)
                continue
            parts = np.matmul(matrix, part).reshape(c, math.prod(k), *places, n)
            for t, tap in enumerate(_taps(k, places, stride, dilation, first * stride[0])):
                x[tap] += parts[:, t]
    for axis, (m, (lo, _)) in enumerate(zip(size, padding, strict=True), 1):
        x = x[(slice(None),) * axis + (slice(lo, lo + m),)]
    return _channels_last(x.astype(dtype, copy=False))


def conv_kernel_grad(
    x: Any, g: Any, *, size: Ints, stride: Ints, padding: Pairs, dilation: Ints, groups: int
) -> Any:
    """The transpose of `conv` in its kernel: each element of a window times the output computed from it, summed."""
    if _is_pointwise(size, stride, padding, groups):
        kernel = numpy_pointwise.kernel_sum(x, g)
        if kernel is not None:
            return kernel
    around = _mirrored(size, stride, padding, dilation, groups)
    if around is not None and x.shape[-1] > g.shape[-1] * _FEWER["kernel"]:
        x, g, padding = g, x, around
        return np.ascontiguousarray(_mirror(_kernel_sum(x, g, size, stride, padding, dilation, groups)))
    return _kernel_sum(x, g, size, stride, padding, dilation, groups)


def _kernel_sum(x: Any, g: Any, size: Ints, stride: Ints, padding: Pairs, dilation: Ints, groups: int) -> Any:
    """The elements of the windows of `x`, each times the output at its place, summed."""
    out, c, o = g.shape[1:-1], x.shape[-1], g.shape[-1]
    dtype = np.result_type(x, g)
    wide = _wide(dtype)
    kernel = np.zeros((groups, o // groups, c // groups * math.prod(size)), wide)
    if x.size and g.size and kernel.size:
        a = _channels_outermost(x, padding, wide)
        outputs = _channels_outermost(g, ((0, 0),) * len(out), wide)
        if c == o == groups and stride[-1] == 1 and out[-1] * len(x) >= _LONG and wide.kind == "f":
            kernel = _row_by_row(a, outputs, size, stride, dilation).astype(dtype, copy=False)
            return np.ascontiguousarray(np.moveaxis(kernel, 0, -1)[..., None, :])
        rows = outputs.reshape(groups, o // groups, -1)
        for at, columns in _columns(a, size, out, stride, dilation, groups):
            kernel += np.matmul(rows[:, :, at], columns.swapaxes(1, 2))
    kernel = kernel.reshape(o, c // groups, *size).astype(dtype, copy=False)
    axes = range(2, kernel.ndim)
    return np.ascontiguousarray(kernel.transpose(*axes, 1, 0))


def _row_by_row(a: Any, g: Any, size: Ints, stride: Ints, dilation: Ints) -> Any:
    """For each channel of (C, *S, N) and each element of a window, its products with (C, *P, N), summed: (C, *K).

    Rows of the image, times the batch, lie in memory as they are needed, so no window is copied.  Measured for 3x3 on 28x28: with 8
    images of 96 channels 740 us, else 1,690.
    """
    places = g.shape[1:-1]
    rows = g.reshape(len(g), *(1,) * len(size), *places[:-1], places[-1] * g.shape[-1])
    shape = (len(a), *size, *rows.shape[len(size) + 1 :])
    steps = [s * t for s, t in zip(a.strides[1:-1], stride, strict=True)][:-1]
    strides = (a.strides[0], *(s * d for s, d in zip(a.strides[1:-1], dilation, strict=True)), *steps, a.strides[-1])
    windows: Any = np.ndarray(shape, a.dtype, a, 0, strides)
    found = np.vecdot(windows, rows)
    return np.add.reduce(found, axis=tuple(range(len(size) + 1, found.ndim)))


def _wide(dtype: Any) -> Any:
    """The dtype in which products are added up."""
    return np.dtype(np.float32) if dtype.itemsize == 2 and dtype.name in HALVES else dtype


def _channels_outermost(x: Any, padding: Pairs, dtype: Any) -> Any:
    """(N, *S, C) as contiguous (C, *S, N), with zeros around."""
    axes = range(1, x.ndim - 1)
    x = x.transpose(x.ndim - 1, *axes, 0)
    if not any(lo or hi for lo, hi in padding):
        return np.ascontiguousarray(x, dtype)
    shape = [m + lo + hi for m, (lo, hi) in zip(x.shape[1:-1], padding, strict=True)]
    a = np.zeros((x.shape[0], *shape, x.shape[-1]), dtype)
    inside = tuple(slice(lo, lo + m) for m, (lo, _) in zip(x.shape[1:-1], padding, strict=True))
    a[(slice(None), *inside)] = x
    return a


def _channels_last(a: Any) -> Any:
    """(C, *S, N) seen as (N, *S, C)."""
    return a.transpose(a.ndim - 1, *range(1, a.ndim - 1), 0)


def _kernel_matrix(kernel: Any, groups: int) -> Any:
    """(*K, C / groups, O) as (groups, O / groups, C / groups * prod(K))."""
    nd = kernel.ndim
    moved = kernel.transpose(nd - 1, nd - 2, *range(nd - 2))
    return np.ascontiguousarray(moved).reshape(groups, kernel.shape[-1] // groups, -1)


def _rows_at_once(whole: int, rows: int) -> int:
    return max(1, _CHUNK * rows // max(whole, 1)) if rows else 1


def _columns(a: Any, k: Ints, out: Ints, stride: Ints, dilation: Ints, groups: int) -> Iterator[tuple[slice, Any]]:
    """The windows of (C, *S, N), as (groups, C / groups * prod(K), places * N); a part of the places at a time."""
    c, n = a.shape[0], a.shape[-1]
    inner = c // groups * math.prod(k)
    step = _rows_at_once(c * math.prod(k) * math.prod(out) * n * a.itemsize, out[0])
    if all(m == 1 for m in k) and all(m == 1 for m in stride) and out == a.shape[1:-1]:
        step = out[0]
    first = a.strides[1]
    strides = (
        a.strides[0],
        *(s * d for s, d in zip(a.strides[1:-1], dilation, strict=True)),
        *(s * t for s, t in zip(a.strides[1:-1], stride, strict=True)),
        a.strides[-1],
    )
    long = math.prod(out[1:]) * n
    for row in range(0, out[0], step):
        rows = min(step, out[0] - row)
        offset = row * stride[0] * first
        windows: Any = np.ndarray((c, *k, rows, *out[1:], n), a.dtype, a, offset, strides)
        yield slice(row * long, (row + rows) * long), windows.reshape(groups, inner, rows * long)


def _taps(k: Ints, places: Ints, stride: Ints, dilation: Ints, start: int) -> Iterator[tuple[slice, ...]]:
    """For each element of a window, where it lies in (C, *S, N) for all places of the window."""
    for tap in itertools.product(*map(range, k)):
        begin = [i * d for i, d in zip(tap, dilation, strict=True)]
        begin[0] += start
        yield (
            slice(None),
            *(slice(b, b + (p - 1) * s + 1, s) for b, p, s in zip(begin, places, stride, strict=True)),
        )


def unfold(x: Any, *, window: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Any:
    """The windows themselves, (N, *S, C) -> (N, *P, C prod(window))."""
    out = output_size(x.shape[1:-1], window, stride, padding, dilation)
    c, n = x.shape[-1] * math.prod(window), x.shape[0]
    y = np.zeros((c, *out, n), x.dtype)
    if y.size:
        rows = y.reshape(1, c, -1)
        for at, columns in _columns(_channels_outermost(x, padding, x.dtype), window, out, stride, dilation, 1):
            rows[:, :, at] = columns
    return _channels_last(y)


def fold(v: Any, *, size: Ints, window: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Any:
    """The transpose of `unfold`, (N, *P, C prod(window)) -> (N, *size, C)."""
    places, n, c = v.shape[1:-1], v.shape[0], v.shape[-1] // math.prod(window)
    wide = _wide(v.dtype)
    padded = tuple(m + lo + hi for m, (lo, hi) in zip(size, padding, strict=True))
    x = np.zeros((c, *padded, n), wide)
    if v.size:
        parts = v.transpose(v.ndim - 1, *range(1, v.ndim - 1), 0).reshape(c, math.prod(window), *places, n)
        for t, tap in enumerate(_taps(window, places, stride, dilation, 0)):
            x[tap] += parts[:, t]
    inside = tuple(slice(lo, lo + m) for m, (lo, _) in zip(size, padding, strict=True))
    return _channels_last(x[(slice(None), *inside)].astype(v.dtype, copy=False))
