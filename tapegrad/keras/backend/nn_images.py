"""Keras's convolutions and poolings on tapegrad's."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from keras.src import backend
from keras.src.backend.common.backend_utils import compute_conv_transpose_padding_args_for_jax

import tapegrad as tg
from tapegrad.keras.backend.core import convert_to_tensor
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "adaptive_average_pool",
    "adaptive_max_pool",
    "average_pool",
    "conv",
    "conv_transpose",
    "depthwise_conv",
    "fold",
    "max_pool",
    "separable_conv",
    "unfold",
]


def _image(x: Any, *kernels: Any) -> tuple[Any, ...]:
    """Images and kernels in a common dtype."""
    given = [convert_to_tensor(v) for v in (x, *kernels)]
    dtype = backend.result_type(*(v.dtype for v in given))
    return tuple(convert_to_tensor(v, dtype) for v in given)


def _check_channels(x: Any, layout: str, kernel: Any, axis: int) -> None:
    """Refuse images whose channels are not those of a kernel."""
    channels = x.shape[-1] if layout == "channels_last" else x.shape[1]
    if channels != kernel.shape[axis]:
        raise ValueError(
            "The number of input channels must match the kernel's. "
            f"Received: inputs.shape={x.shape}, kernel.shape={kernel.shape}, data_format={layout}"
        )


def _padding(padding: str) -> str:
    padding = padding.lower()
    if padding not in ("same", "valid"):
        raise ValueError(f"Invalid padding '{padding}', must be 'same' or 'valid'.")
    return padding


def conv(
    inputs: Any, kernel: Any, strides: Any = 1, padding: str = "valid", data_format: Any = None, dilation_rate: Any = 1
) -> Any:
    """The products of a kernel with the windows of images."""
    layout = backend.standardize_data_format(data_format)
    x, kernel = _image(inputs, kernel)
    channels = x.shape[-1] if layout == "channels_last" else x.shape[1]
    inner = kernel.shape[-2]
    if channels % inner:
        raise ValueError(
            "The number of input channels must be evenly divisible by kernel's in_channels. "
            f"Received input channels {channels} and kernel in_channels {inner}. "
        )
    return _conv(x, kernel, strides, padding, layout, dilation_rate, channels // inner)


def _conv(x: Any, kernel: Any, strides: Any, padding: str, layout: str, dilation: Any, groups: int) -> Any:
    try:
        return tg.nn.conv(
            x, kernel, stride=strides, padding=_padding(padding), dilation=dilation, groups=groups, layout=layout
        )
    except tg.errors.ShapeError as error:
        spatial = x.shape[1:-1] if layout == "channels_last" else x.shape[2:]
        if math.prod(kernel.shape[: len(spatial)]) and padding == "valid":
            raise ValueError(
                "The convolution operation resulted in an empty output. This can happen if the input is too small for the "
                "given kernel size, strides, dilation rate, and padding mode. Please check the input shape and convolution "
                f"parameters. ({error})"
            ) from error
        raise


def depthwise_conv(
    inputs: Any, kernel: Any, strides: Any = 1, padding: str = "valid", data_format: Any = None, dilation_rate: Any = 1
) -> Any:
    """Each channel with kernels of its own, (*K, C, M)."""
    layout = backend.standardize_data_format(data_format)
    x, kernel = _image(inputs, kernel)
    _check_channels(x, layout, kernel, -2)
    *window, channels, multiplier = kernel.shape
    kernel = F.reshape(kernel, (*window, 1, channels * multiplier))
    return _conv(x, kernel, strides, padding, layout, dilation_rate, channels)


def separable_conv(
    inputs: Any,
    depthwise_kernel: Any,
    pointwise_kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    data_format: Any = None,
    dilation_rate: Any = 1,
) -> Any:
    """A depthwise convolution, and then one of single pixels."""
    y = depthwise_conv(inputs, depthwise_kernel, strides, padding, data_format, dilation_rate)
    return conv(y, pointwise_kernel, 1, "valid", data_format, dilation_rate)


def conv_transpose(
    inputs: Any,
    kernel: Any,
    strides: Any = 1,
    padding: str = "valid",
    output_padding: Any = None,
    data_format: Any = None,
    dilation_rate: Any = 1,
) -> Any:
    """The transpose of a convolution, with Keras's padding."""
    layout = backend.standardize_data_format(data_format)
    x, kernel = _image(inputs, kernel)
    _check_channels(x, layout, kernel, -1)
    n = x.ndim - 2
    given = compute_conv_transpose_padding_args_for_jax(
        input_shape=x.shape,
        kernel_shape=kernel.shape,
        strides=strides,
        padding=padding,
        output_padding=output_padding,
        dilation_rate=dilation_rate,
    )
    dilation = (dilation_rate,) * n if isinstance(dilation_rate, int) else tuple(dilation_rate)
    spread = [d * (k - 1) for k, d in zip(kernel.shape[:n], dilation, strict=True)]
    # Keras says how much of the window's reach is kept on each side; what is cut is the rest, and zeros if it is negative.
    cut = [(s - before, s - behind) for s, (before, behind) in zip(spread, given, strict=True)]
    y = tg.nn.conv_transpose(
        x, kernel, stride=strides, padding=tuple((max(a, 0), max(b, 0)) for a, b in cut), dilation=dilation, layout=layout
    )
    if all(a >= 0 and b >= 0 for a, b in cut):
        return y
    more = [(max(-a, 0), max(-b, 0)) for a, b in cut]
    return F.pad(y, [(0, 0), *more, (0, 0)] if layout == "channels_last" else [(0, 0), (0, 0), *more])


# -- pooling ---------------------------------------------------------------------------------------------------
def max_pool(inputs: Any, pool_size: Any, strides: Any = None, padding: str = "valid", data_format: Any = None) -> Any:
    """The largest element of each window."""
    layout = backend.standardize_data_format(data_format)
    return tg.nn.max_pool(convert_to_tensor(inputs), pool_size, stride=strides, padding=_padding(padding), layout=layout)


def average_pool(inputs: Any, pool_size: Any, strides: Any = None, padding: str = "valid", data_format: Any = None) -> Any:
    """The mean of each window; what is padded does not count."""
    layout = backend.standardize_data_format(data_format)
    return tg.nn.avg_pool(
        convert_to_tensor(inputs),
        pool_size,
        stride=strides,
        padding=_padding(padding),
        count_include_pad=False,
        layout=layout,
    )


def _adaptive(name: str, function: Any) -> Callable[..., Any]:
    def run(inputs: Any, output_size: Any, data_format: Any = None) -> Any:
        layout = backend.standardize_data_format(data_format)
        return function(convert_to_tensor(inputs), output_size, layout=layout)

    run.__name__ = run.__qualname__ = name
    return run


adaptive_average_pool = _adaptive("adaptive_average_pool", tg.nn.adaptive_avg_pool)
adaptive_max_pool = _adaptive("adaptive_max_pool", tg.nn.adaptive_max_pool)


# -- patches ---------------------------------------------------------------------------------------------------
def _four(kernel_size: Any, stride: Any, padding: Any, dilation: Any) -> dict[str, Any]:
    return {
        "window": kernel_size,
        "stride": stride,
        "padding": tuple(padding) if hasattr(padding, "__iter__") else padding,
        "dilation": dilation,
    }


def unfold(input: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1) -> Any:  # noqa: A002
    """The windows of images as columns, (N, C, H, W) -> (N, C prod(window), places)."""
    params = _four(kernel_size, stride, padding, dilation)
    y = tg.nn.unfold(convert_to_tensor(input), params.pop("window"), **params, layout="channels_first")
    return F.reshape(y, (*y.shape[:2], -1))


def fold(
    x: Any, output_size: Any, kernel_size: Any, dilation: Any = 1, padding: Any = 0, stride: Any = 1
) -> Any:
    """Windows added up where they lie: the transpose of `unfold`."""
    x = convert_to_tensor(x)
    params = _four(kernel_size, stride, padding, dilation)
    pairs = {k: tuple(v) if hasattr(v, "__iter__") else (v, v) for k, v in params.items()}
    size = tuple(output_size) if hasattr(output_size, "__iter__") else (output_size, output_size)
    places = [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(
            size, pairs["window"], pairs["stride"], pairs["padding"], pairs["dilation"], strict=True
        )
    ]
    images = F.reshape(x, (*x.shape[:2], *places))
    return tg.nn.fold(images, size, params.pop("window"), **params, layout="channels_first")
