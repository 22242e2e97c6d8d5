"""Convolutions and pooling, by TensorFlow's words for strides and padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.tf.convert import convert
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.operators import mismatch_in, pair, shape_text
from tapegrad.tf.shapes import lengths
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


def _whole(value: Any, name: str) -> int:
    if isinstance(value, str | bytes):
        raise TypeError(f"Expected int for argument {name!r} not {value!r}.")
    return int(value)


def spread(value: Any, rank: int, name: str) -> tuple[int, ...]:
    """One number, one for each spatial axis, or with those of batch and channels, as one for each spatial axis."""
    if value is None:
        return (1,) * rank
    if isinstance(value, core.Tensor | np.ndarray):
        value = np.asarray(value).tolist()
    if not isinstance(value, list | tuple):
        return (_whole(value, name),) * rank
    found = tuple(_whole(v, name) for v in value)
    if len(found) == rank + 2:
        if found[0] != 1 or found[-1] != 1:
            raise invalid(None, f"{name} in the batch and depth dimensions are not supported: {list(found)}")
        found = found[1:-1]
    if len(found) == 1:
        found *= rank
    if len(found) != rank:
        raise ValueError(f"{name} should be of length 1, {rank} or {rank + 2} but was {len(found)}")
    return found


def padded(padding: Any, size: Any, window: Any, stride: Any, dilation: Any) -> tuple[tuple[int, int], ...]:
    """How much is put before and behind each spatial axis."""
    if not isinstance(padding, str):
        pairs = [tuple(int(p) for p in pair) for pair in np.asarray(padding)]
        if len(pairs) == len(size) + 2:
            pairs = pairs[1:-1]
        return tuple((a, b) for a, b in pairs)
    if padding == "VALID":
        return ((0, 0),) * len(size)
    if padding != "SAME":
        raise invalid(None, f'Value for attr \'padding\' of "{padding}" is not in the list of allowed values: "SAME", "VALID"')
    found = []
    for n, k, s, d in zip(size, window, stride, dilation, strict=True):
        total = max((-(-n // s) - 1) * s + (k - 1) * d + 1 - n, 0)
        found.append((total // 2, total - total // 2))
    return tuple(found)


def layout_of(data_format: str | None, rank: int) -> bool:
    """Whether channels come first."""
    if data_format is None or data_format == "N" + "DHW"[3 - rank :] + "C":
        return False
    if data_format == "NC" + "DHW"[3 - rank :] or (rank == 1 and data_format == "NCW"):
        return True
    if rank == 1 and data_format == "NWC":
        return False
    raise ValueError(f"data_format is for example 'NHWC' or 'NCHW', got {data_format!r}")


def last(x: Tensor, first: bool) -> Tensor:
    return S.moveaxis(x, 1, -1) if first else x


def back(y: Tensor, first: bool) -> Tensor:
    return S.moveaxis(y, -1, 1) if first else y


def check_sizes(size: Any, window: Any, pads: Any, dilation: Any, name: str) -> None:
    for n, k, (a, b), d in zip(size, window, pads, dilation, strict=True):
        if n + a + b < (k - 1) * d + 1:
            raise ValueError(f"Negative dimension size caused by subtracting {k} from {n} in {name}")


def _convolved(
    x: Any,
    kernel: Any,
    strides: Any,
    padding: Any,
    data_format: Any,
    dilations: Any,
    rank: int,
    name: str,
    depthwise: bool = False,
) -> Tensor:
    a, w = pair(x, kernel)
    mismatch_in(name, [a, w])
    first = layout_of(data_format, rank)
    if w.array.ndim != rank + 2 or a.array.ndim < rank + 2:
        raise invalid(
            None,
            f"{name}: expected an input of {rank + 2} axes and a filter of {rank + 2}, got {shape_text(a.array)} and {shape_text(w.array)}",
        )
    outer = a.array.shape[: a.array.ndim - rank - 1]
    if len(outer) > 1:
        a = S.reshape(a, (-1, *a.array.shape[-rank - 1 :]))
    if first:
        strides, dilations = (channels_last(v, rank) for v in (strides, dilations))
    a = last(a, first)
    stride, dilation = spread(strides, rank, "strides"), spread(dilations, rank, "dilations")
    channels, (*window, inner, out) = a.array.shape[-1], w.array.shape
    groups = channels if depthwise else channels // max(inner, 1) if inner else 1
    if depthwise:
        if inner != channels:
            raise invalid(f"{name}", f"input depth {channels} and filter depth {inner} must match")
        w = S.reshape(w, (*window, 1, inner * out))
    elif not inner or channels % inner or out % groups:
        raise invalid(f"{name}", f"input depth must be evenly divisible by filter depth: {channels} vs {inner}")
    pads = padded(padding, a.array.shape[1:-1], window, stride, dilation)
    check_sizes(a.array.shape[1:-1], window, pads, dilation, name)
    y = S.conv(a, w, stride=stride, padding=pads, dilation=dilation, groups=groups)
    if len(outer) > 1:
        y = S.reshape(y, (*outer, *y.array.shape[1:]))
    return back(y, first)


def channels_last(value: Any, rank: int) -> Any:
    if isinstance(value, list | tuple) and len(value) == rank + 2:
        return [value[0], *value[2:], value[1]]
    return value


@export("nn.conv1d")
def conv1d(
    input: Any, filters: Any, stride: Any, padding: Any, data_format: str = "NWC", dilations: Any = None, name: str | None = None
) -> Tensor:
    """The products of a kernel with the windows of sequences, (N, W, C), (K, C, O)."""
    return _convolved(input, filters, _line(stride), padding, data_format, _line(dilations), 1, "Conv1D")


def _line(value: Any) -> Any:
    """Strides of a sequence: of the three that may be given the middle one."""
    return [value[1]] if isinstance(value, list | tuple) and len(value) == 3 else value


@export("nn.conv2d")
def conv2d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The products of a kernel with the windows of images, (N, H, W, C), (K, L, C, O)."""
    return _convolved(input, filters, strides, padding, data_format, dilations, 2, "Conv2D")


@export("nn.conv3d")
def conv3d(
    input: Any,
    filters: Any,
    strides: Any,
    padding: Any,
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The products of a kernel with the windows of volumes."""
    return _convolved(input, filters, strides, padding, data_format, dilations, 3, "Conv3D")


@export("nn.convolution")
def convolution(
    input: Any,
    filters: Any,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """A convolution of as many axes as the kernel has."""
    rank = convert(filters).array.ndim - 2
    return _convolved(input, filters, strides, padding, data_format, dilations, rank, f"Conv{rank}D")


@export("nn.depthwise_conv2d")
def depthwise_conv2d(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Each channel by kernels of its own, (N, H, W, C), (K, L, C, M): C M channels come out."""
    return _convolved(input, filter, strides, padding, data_format, dilations, 2, "DepthwiseConv2dNative", depthwise=True)


@export("nn.separable_conv2d")
def separable_conv2d(
    input: Any,
    depthwise_filter: Any,
    pointwise_filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """Each channel by kernels of its own, and then channels mixed in each pixel."""
    y = depthwise_conv2d(input, depthwise_filter, strides, padding, data_format, dilations)
    return conv2d(y, pointwise_filter, 1, "VALID", data_format or "NHWC")


@export("nn.atrous_conv2d")
def atrous_conv2d(value: Any, filters: Any, rate: int, padding: Any, name: str | None = None) -> Tensor:
    """A convolution by a kernel with holes."""
    return conv2d(value, filters, 1, padding, dilations=rate)


def _transposed(
    x: Any, kernel: Any, output_shape: Any, strides: Any, padding: Any, data_format: Any, dilations: Any, rank: int, name: str
) -> Tensor:
    v, w = pair(x, kernel)
    mismatch_in(name, [v, w])
    first = layout_of(data_format, rank)
    if first:
        strides, dilations = (channels_last(s, rank) for s in (strides, dilations))
    v = last(v, first)
    stride, dilation = spread(strides, rank, "strides"), spread(dilations, rank, "dilations")
    window = w.array.shape[:rank]
    shape = lengths(output_shape)
    size = shape[2:] if first else shape[1:-1]
    pads = padded(padding, size, window, stride, dilation)
    expected = tuple(
        (n + a + b - (k - 1) * d - 1) // s + 1 for n, (a, b), k, d, s in zip(size, pads, window, dilation, stride, strict=True)
    )
    if expected != v.array.shape[1:-1] or w.array.shape[-1] != v.array.shape[-1]:
        raise invalid(
            name,
            f"{name}: Size of out_backprop doesn't match computed: actual = {shape_text(v.array)}, computed = {list(expected)}",
        )
    y = S.conv_input_grad(v, w, size=size, stride=stride, padding=pads, dilation=dilation, groups=1)
    return back(y, first)


@export("nn.conv1d_transpose")
def conv1d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of a convolution of sequences, with a kernel (K, O, C)."""
    return _transposed(input, filters, output_shape, _line(strides), padding, data_format, _line(dilations), 1, "Conv1DTranspose")


@export("nn.conv2d_transpose")
def conv2d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of a convolution of images, with a kernel (K, L, O, C)."""
    return _transposed(input, filters, output_shape, strides, padding, data_format, dilations, 2, "Conv2DBackpropInput")


@export("nn.conv3d_transpose")
def conv3d_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str = "NDHWC",
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of a convolution of volumes."""
    return _transposed(input, filters, output_shape, strides, padding, data_format, dilations, 3, "Conv3DBackpropInputV2")


@export("nn.conv_transpose")
def conv_transpose(
    input: Any,
    filters: Any,
    output_shape: Any,
    strides: Any,
    padding: Any = "SAME",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The transpose of a convolution over as many axes as there are."""
    rank = convert(input).array.ndim - 2
    if not 1 <= rank <= 3:
        raise ValueError(f"output_shape must be of length 3, 4 or 5 and the input of as many axes, got {output_shape} and {rank + 2}")
    return _transposed(input, filters, output_shape, strides, padding, data_format, dilations, rank, f"Conv{rank}DTranspose")


@export("nn.atrous_conv2d_transpose")
def atrous_conv2d_transpose(
    value: Any, filters: Any, output_shape: Any, rate: int, padding: Any, name: str | None = None
) -> Tensor:
    """The transpose of `atrous_conv2d`."""
    return _transposed(value, filters, output_shape, 1, padding, "NHWC", rate, 2, "Conv2DBackpropInput")
