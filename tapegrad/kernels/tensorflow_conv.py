"""Convolution on TensorFlow's kernels, (N, *S, C), for any stride, dilation and groups.

What TensorFlow has on every device (one group, undilated, two or three axes) is its own op.  All else is a product of
matrices with the windows, which are strided slices of the padded image, one for each element of a window.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.numpy_conv import output_size
from tapegrad.kernels.tensorflow_array import made, wrapped
from tapegrad.kernels.tensorflow_calls import BF16, F16, F32, F64, constant, ints, scalar
from tapegrad.kernels.tensorflow_lengths import Size, shape_tensor
from tapegrad.kernels.tensorflow_pick import getitem
from tapegrad.kernels.tensorflow_products import matmul
from tapegrad.kernels.tensorflow_promotion import asarray, converted, pair
from tapegrad.kernels.tensorflow_shape import (
    expand_dims,
    matrix_transpose,
    reshape,
    squeeze,
    stack,
    transposed,
    zeros,
)

if TYPE_CHECKING:
    Ints = tuple[int, ...]
    Pairs = tuple[tuple[int, int], ...]

_PAD = calls.op("PadV2")
_SLICE, _SLICE_GRAD = calls.op("StridedSlice"), calls.op("StridedSliceGrad")
_ADD_N = calls.op("AddN")
_CONV = {2: calls.op("Conv2D"), 3: calls.op("Conv3D")}
_INPUT_GRAD = {2: calls.op("Conv2DBackpropInput"), 3: calls.op("Conv3DBackpropInputV2")}
_KERNEL_GRAD = {2: calls.op("Conv2DBackpropFilter"), 3: calls.op("Conv3DBackpropFilterV2")}


def padded(x: Any, padding: Pairs, value: Any) -> Any:
    """An image with a value around it."""
    if not any(lo or hi for lo, hi in padding):
        return x
    widths = wrapped(constant([(0, 0), *padding, (0, 0)]))
    return made(_PAD(x.bare, widths.bare, scalar(value, x.dtype)), x.dtype)


def cropped(x: Any, size: Ints, padding: Pairs) -> Any:
    """An image without what was put around it."""
    if not any(lo or hi for lo, hi in padding):
        return x
    return getitem(x, (slice(None), *(slice(lo, lo + n) for n, (lo, _) in zip(size, padding, strict=True))))


# -- windows ---------------------------------------------------------------------------------------------
class Taps:
    """Where the elements of windows lie in a padded image, an element of the window at a time."""

    def __init__(self, window: Ints, places: Ints, stride: Ints, dilation: Ints) -> None:
        rank = len(window)
        self.strides = ints((1, *stride, 1))
        self.begins: list[Any] = []
        self.bounds = []
        for tap in itertools.product(*map(range, window)):
            begin = [i * d for i, d in zip(tap, dilation, strict=True)]
            end = [b + (p - 1) * s + 1 if p else b for b, p, s in zip(begin, places, stride, strict=True)]
            self.bounds.append((ints((0, *begin, 0)), ints((0, *end, 0))))
        self.masks = {
            "begin_mask": 1 | 1 << (rank + 1),
            "end_mask": 1 | 1 << (rank + 1),
            "ellipsis_mask": 0,
            "new_axis_mask": 0,
            "shrink_axis_mask": 0,
        }

    def taken(self, x: Any) -> list[Any]:
        """For each element of a window what lies there, for all places of the window."""
        return [made(_SLICE(x.bare, b, e, self.strides, **self.masks), x.dtype) for b, e in self.bounds]

    def added(self, parts: list[Any], shape: Any) -> Any:
        """Zeros of this shape with each part added where it was taken."""
        target = shape_tensor(shape)
        placed = [
            _SLICE_GRAD(target, b, e, self.strides, part.bare, **self.masks)
            for (b, e), part in zip(self.bounds, parts, strict=True)
        ]
        return made(_ADD_N(placed) if len(placed) > 1 else placed[0], parts[0].dtype, tuple(shape))


def padded_shape(shape: Any, padding: Pairs) -> tuple[Any, ...]:
    return (shape[0], *(n + lo + hi for n, (lo, hi) in zip(shape[1:-1], padding, strict=True)), shape[-1])


def _wide(d: Any) -> Any:
    """The dtype in which products are added up."""
    return F32 if d in (F16, BF16) else d


def _has_op(rank: int, d: Any, dilation: Ints, groups: int, shapes: tuple[Any, ...]) -> bool:
    """Whether TensorFlow's own op does it on every device."""
    empty = any(type(n) is not Size and n == 0 for s in shapes for n in s)
    return rank in (1, 2, 3) and d in (F32, F64) and groups == 1 and all(v == 1 for v in dilation) and not empty


def _words(stride: Ints, padding: Pairs, size: Ints, k: Ints) -> tuple[dict[str, Any], Pairs]:
    """How TensorFlow's own op is called for an image of this size, and the padding that is left to do before.

    None where it is what TensorFlow does by itself ("SAME"), which copies no image.
    """
    same = all(map(_is_same, stride, padding, size, k))
    strides = (1, *stride) if len(stride) == 1 else stride
    attrs = {"strides": [1, *strides, 1], "padding": "SAME" if same else "VALID"}
    return attrs, tuple((0, 0) for _ in padding) if same else padding


def _is_same(stride: int, padding: tuple[int, int], n: Any, k: int) -> bool:
    if stride == 1:
        total = k - 1
    elif type(n) is Size:
        return False
    else:
        total = max((-(-n // stride) - 1) * stride + k - n, 0)
    return padding == (total // 2, total - total // 2)


def _as_plane(x: Any, rank: int, axis: int) -> Any:
    """A line as a plane of one row."""
    return expand_dims(x, axis=axis) if rank == 1 else x


def _prepared(a: Any, b: Any) -> tuple[Any, Any, Any]:
    first, second, d = pair(a, b)
    w = _wide(d)
    return converted(made(first, d), w), converted(made(second, d), w), d


# -- the three -------------------------------------------------------------------------------------------
def conv(x: Any, kernel: Any, *, stride: Ints, padding: Pairs, dilation: Ints, groups: int) -> Any:
    """sum over i, c of x[n, s p + d i - lo, c] kernel[i, c, o], (N, *S, C), (*K, C / groups, O) -> (N, *P, O)."""
    x, kernel, d = _prepared(x, kernel)
    k, o = kernel.shape[:-2], kernel.shape[-1]
    rank = len(k)
    out = output_size(x.shape[1:-1], k, stride, padding, dilation)
    n = x.shape[0]
    if _has_op(rank, x.dtype, dilation, groups, (x.shape, kernel.shape, out)):
        attrs, around = _words(stride, padding, x.shape[1:-1], k)
        image, weight = _as_plane(padded(x, around, 0), rank, 1), _as_plane(kernel, rank, 0)
        y = made(_CONV[max(rank, 2)](image.bare, weight.bare, **attrs), x.dtype)
        y = squeeze(y, 1) if rank == 1 else y
    elif 0 in (*x.shape, *kernel.shape, *out):
        y = zeros((n, *out, o), dtype=x.dtype)
    else:
        columns = _columns(x, k, out, stride, padding, dilation, groups)
        y = _from_groups(matmul(columns, _kernel_matrix(kernel, groups)), (n, *out))
    return converted(y, d)


def _columns(x: Any, k: Ints, out: Ints, stride: Ints, padding: Pairs, dilation: Ints, groups: int) -> Any:
    """The windows as rows of a matrix for each group, (groups, N * places, prod(K) * C / groups)."""
    taps = Taps(k, out, stride, dilation).taken(padded(x, padding, 0))
    inner = x.shape[-1] // groups
    windows = reshape(stack(taps, axis=-2), (x.shape[0] * math.prod(out), len(taps), groups, inner))
    return reshape(transposed(windows, (2, 0, 1, 3)), (groups, x.shape[0] * math.prod(out), len(taps) * inner))


def _kernel_matrix(kernel: Any, groups: int) -> Any:
    """(*K, C / groups, O) as (groups, prod(K) * C / groups, O / groups)."""
    *k, inner, o = kernel.shape
    apart = reshape(kernel, (math.prod(k) * inner, groups, o // groups))
    return transposed(apart, (1, 0, 2))


def _from_groups(y: Any, lead: Any) -> Any:
    """(groups, places, O / groups) as (*lead, O)."""
    groups, _, o = y.shape
    return reshape(transposed(y, (1, 0, 2)), (*lead, groups * o))


def _to_groups(g: Any, groups: int) -> Any:
    """(N, *P, O) as (groups, places, O / groups)."""
    *lead, o = g.shape
    return transposed(reshape(g, (math.prod(lead), groups, o // groups)), (1, 0, 2))


def conv_input_grad(
    g: Any, kernel: Any, *, size: Ints, stride: Ints, padding: Pairs, dilation: Ints, groups: int
) -> Any:
    """The transpose of `conv` in its input: each output added to the window that it was computed from."""
    g, kernel, d = _prepared(g, kernel)
    *k, inner, _ = kernel.shape
    k, c, n = tuple(k), inner * groups, g.shape[0]
    rank, out = len(k), g.shape[1:-1]
    own = _has_op(rank, g.dtype, dilation, groups, (g.shape, kernel.shape))
    attrs, around = _words(stride, padding, size, k) if own else ({}, padding)
    shape = padded_shape((n, *size, c), around)
    if 0 in (*g.shape, *kernel.shape, *shape):
        return zeros((n, *size, c), dtype=d)
    if own:
        plane = (n, 1, *shape[1:]) if rank == 1 else shape
        weight, back = _as_plane(kernel, rank, 0), _as_plane(g, rank, 1)
        x = made(_INPUT_GRAD[max(rank, 2)](shape_tensor(plane), weight.bare, back.bare, **attrs), g.dtype)
        x = squeeze(x, 1) if rank == 1 else x
    else:
        columns = matmul(_to_groups(g, groups), matrix_transpose(_kernel_matrix(kernel, groups)))
        windows = reshape(transposed(reshape(columns, (groups, -1, math.prod(k), inner)), (2, 1, 0, 3)), (-1, n, *out, c))
        parts = [getitem(windows, t) for t in range(math.prod(k))]
        x = Taps(k, out, stride, dilation).added(parts, shape)
    return converted(cropped(x, size, around), d)


def conv_kernel_grad(
    x: Any, g: Any, *, size: Ints, stride: Ints, padding: Pairs, dilation: Ints, groups: int
) -> Any:
    """The transpose of `conv` in its kernel: each element of a window times the output computed from it, summed."""
    x, g, d = _prepared(x, g)
    rank, c, o = len(size), x.shape[-1], g.shape[-1]
    out = g.shape[1:-1]
    shape = (*size, c // groups, o)
    if 0 in (*x.shape, *g.shape, *shape):
        return zeros(shape, dtype=d)
    if _has_op(rank, x.dtype, dilation, groups, (x.shape, g.shape)):
        plane = (1, *shape) if rank == 1 else shape
        attrs, around = _words(stride, padding, x.shape[1:-1], size)
        image, back = _as_plane(padded(x, around, 0), rank, 1), _as_plane(g, rank, 1)
        y = made(_KERNEL_GRAD[max(rank, 2)](image.bare, shape_tensor(plane), back.bare, **attrs), x.dtype)
        return converted(squeeze(y, 0) if rank == 1 else y, d)
    columns = _columns(x, size, out, stride, padding, dilation, groups)
    y = matmul(matrix_transpose(columns), _to_groups(g, groups))
    return converted(reshape(transposed(y, (1, 0, 2)), shape), d)


# -- windows themselves ----------------------------------------------------------------------------------
def unfold(x: Any, *, window: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Any:
    """The windows, channel outermost, (N, *S, C) -> (N, *P, C prod(window))."""
    x = asarray(x)
    out = output_size(x.shape[1:-1], window, stride, padding, dilation)
    c = x.shape[-1]
    if 0 in (*x.shape, *out):
        return zeros((x.shape[0], *out, c * math.prod(window)), dtype=x.dtype)
    taps = Taps(window, out, stride, dilation).taken(padded(x, padding, 0))
    return reshape(stack(taps, axis=-1), (x.shape[0], *out, c * len(taps)))


def fold(v: Any, *, size: Ints, window: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Any:
    """The transpose of `unfold`, (N, *P, C prod(window)) -> (N, *size, C)."""
    v = asarray(v)
    d = v.dtype
    count = math.prod(window)
    n, out, c = v.shape[0], v.shape[1:-1], v.shape[-1] // count
    if 0 in v.shape:
        return zeros((n, *size, c), dtype=d)
    apart = reshape(converted(v, _wide(d)), (n, *out, c, count))
    parts = [getitem(apart, (Ellipsis, t)) for t in range(count)]
    x = Taps(window, out, stride, dilation).added(parts, padded_shape((n, *size, c), padding))
    return converted(cropped(x, size, padding), d)


