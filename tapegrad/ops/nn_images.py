"""Convolution, pixels and sizes of images as users write them: parameters of several forms, two layouts, and checks."""

from __future__ import annotations

from typing import Any

from tapegrad.core.tensor import Tensor
from tapegrad.errors import ArgumentError, ShapeError
from tapegrad.ops import nn_conv, nn_pool, nn_resize  # noqa: F401  they declare what is called here by name
from tapegrad.ops import nn_windows as _windows
from tapegrad.ops.convert import asarray as _asarray
from tapegrad.ops.nn_image_pools import pooled
from tapegrad.ops.nn_layout import guided_by_names, images, in_layout, of_rank
from tapegrad.registry.space import F as _F


# -- convolution -----------------------------------------------------------------------------------------------
def _kernel(op: str, kernel: Any, rank: int) -> Any:
    kernel = kernel if isinstance(kernel, Tensor) else _asarray(kernel)
    if len(kernel.shape) != rank + 2:
        raise ShapeError(
            f"{op}(x, kernel): expected a kernel ({', '.join('DHW'[-rank:])}, C / groups, O), got shape {kernel.shape}"
        )
    return kernel


def _conv(
    op: str,
    x: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    groups: int,
    layout: str,
) -> Any:
    x = images(op, x, layout)
    size, c = x.shape[1:-1], x.shape[-1]
    kernel = _kernel(op, kernel, len(size))
    *window, inner, o = kernel.shape
    stride, dilation = (_windows.numbers(op, k, v, len(size)) for k, v in (("stride", stride), ("dilation", dilation)))
    padding = _windows.pairs(op, padding, size, tuple(window), stride, dilation)
    if not hasattr(groups, "__index__") or groups < 1 or inner * groups != c or o % groups:
        axes = ", ".join("DHW"[-len(size) :])
        raise ShapeError(
            f"{op}(x, kernel): expected kernel.shape[-2] * groups == x.shape[-1] and kernel.shape[-1] % groups == 0, "
            f"got {inner} * {groups} and {c}, {o} % {groups}; a kernel is ({axes}, C / groups, O), "
            f'and images are (N, {axes}, C), or with layout="channels_first" (N, C, {axes})'
        )
    _windows.places(op, size, tuple(window), stride, padding, dilation)
    return in_layout(_F.conv(x, kernel, stride=stride, padding=padding, dilation=dilation, groups=groups), layout)


@guided_by_names
def conv(
    x: Any,
    kernel: Any,
    /,
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    layout: str = "channels_last",
) -> Tensor:
    """The products of a kernel with the windows of an image, (N, *S, C), (*K, C / groups, O) -> (N, *P, O), in 1 to 3 axes.

    * `stride`: steps between windows, `dilation`: steps within one; a number, or one for each axis.
    * `padding`: zeros before and after each axis: a number, one or a pair for each axis, "valid" (none) or "same"
      (P = ceil(S / stride)).
    * `groups`: channels are cut into as many parts, each with kernels of its own.

    Raises ShapeError if a window is larger than the padded image, or channels do not fit.

    >>> import tapegrad as tg
    >>> x = tg.reshape(tg.asarray([0.5, 1.5, -2.0, 3.0]), (1, 4, 1))
    >>> tg.nn.conv(x, tg.reshape(tg.asarray([1.0, -0.5]), (2, 1, 1)))[0, :, 0]
    Tensor([-0.25,  2.5 , -3.5 ], dtype=float32)
    """
    return _conv("conv", x, kernel, stride, padding, dilation, groups, layout)


def _conv_transpose(
    op: str,
    x: Any,
    kernel: Any,
    stride: Any,
    padding: Any,
    output_padding: Any,
    dilation: Any,
    groups: int,
    layout: str,
) -> Any:
    x = images(op, x, layout)
    places, c = x.shape[1:-1], x.shape[-1]
    n = len(places)
    kernel = _kernel(op, kernel, n)
    *window, _, o = kernel.shape
    stride, dilation = (_windows.numbers(op, k, v, n) for k, v in (("stride", stride), ("dilation", dilation)))
    more = _windows.numbers(op, "output_padding", output_padding, n, least=0)
    spread = tuple(d * (k - 1) + 1 for k, d in zip(window, dilation, strict=True))
    if padding == "same":  # that of the convolution from an image of size P * stride
        image = tuple(p * s for p, s in zip(places, stride, strict=True))
        padding = _windows.pairs(op, padding, image, tuple(window), stride, dilation)
        size = image
    else:
        padding = _windows.pairs(op, padding, places, tuple(window), stride, dilation)
        size = tuple(
            (p - 1) * s + k - lo - hi + a
            for p, s, k, (lo, hi), a in zip(places, stride, spread, padding, more, strict=True)
        )
    if not hasattr(groups, "__index__") or groups < 1 or o != c or o % groups:
        raise ShapeError(
            f"{op}(x, kernel): expected kernel.shape[-1] == x.shape[-1], divisible by groups, got {o}, {c} and {groups}"
        )
    if any(a >= max(s, d) for a, s, d in zip(more, stride, dilation, strict=True)) or min(size) < 0:
        raise ShapeError(
            f"{op}(x, kernel): expected output_padding below stride or dilation, and a size >= 0, got {more} and {size}"
        )
    if 0 in places:
        raise ShapeError(f"{op}(x, kernel): expected spatial axes that are not empty, got shape {x.shape}")
    # Each stride of output padding is room for one more place, at which there is nothing.
    whole = tuple(p + a // s for p, a, s in zip(places, more, stride, strict=True))
    if whole != places:
        x = _F.put_add(x, (slice(None), *(slice(p) for p in places)), (x.shape[0], *whole, c))
    found = _F.conv_input_grad(x, kernel, size=size, stride=stride, padding=padding, dilation=dilation, groups=groups)
    return in_layout(found, layout)


@guided_by_names
def conv_transpose(
    x: Any,
    kernel: Any,
    /,
    *,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
    layout: str = "channels_last",
) -> Tensor:
    """The transpose of `conv` with the same kernel and parameters, (N, *P, O), (*K, C / groups, O) -> (N, *S, C).

    S = (P - 1) stride + dilation (K - 1) + 1 - padding + output_padding; `output_padding` chooses among the sizes that
    `conv` maps to P.  Raises ShapeError if there is no such size, or channels do not fit.

    V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep learning", 2018, chapter 4.
    """
    return _conv_transpose(
        "conv_transpose", x, kernel, stride, padding, output_padding, dilation, groups, layout
    )


# -- pixels ----------------------------------------------------------------------------------------------------
@guided_by_names
def pixel_shuffle(x: Any, factor: int, /, *, layout: str = "channels_last") -> Tensor:
    """Channels laid out as pixels, (N, H, W, C r r) -> (N, H r, W r, C), with r the factor; channel outermost."""
    x = images("pixel_shuffle", x, layout)
    return in_layout(_F.pixel_shuffle(x, factor=factor), layout)


@guided_by_names
def pixel_unshuffle(x: Any, factor: int, /, *, layout: str = "channels_last") -> Tensor:
    """Pixels laid out as channels: the inverse of `pixel_shuffle`, (N, H r, W r, C) -> (N, H, W, C r r)."""
    x = images("pixel_unshuffle", x, layout)
    return in_layout(_F.pixel_unshuffle(x, factor=factor), layout)


@guided_by_names
def unfold(
    x: Any,
    window: Any,
    /,
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    layout: str = "channels_last",
) -> Tensor:
    """The windows of an image as channels, (N, *S, C) -> (N, *P, C prod(window)), channel outermost."""
    x, params = pooled("unfold", x, window, stride, padding, dilation, False, layout)
    return in_layout(_F.unfold(x, **params), layout)


@guided_by_names
def fold(
    x: Any,
    size: Any,
    window: Any,
    /,
    *,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    layout: str = "channels_last",
) -> Tensor:
    """Windows added up where they lie in an image of this size, (N, *P, C prod(window)) -> (N, *size, C): the transpose of `unfold`.

    Raises ShapeError where P is not what `unfold` gives for that size.
    """
    x = images("fold", x, layout)
    n = len(x.shape) - 2
    size = _windows.numbers("fold", "size", size, n)
    window = _windows.numbers("fold", "window", window, n)
    stride, dilation = (_windows.numbers("fold", k, v, n) for k, v in (("stride", stride), ("dilation", dilation)))
    padding = _windows.pairs("fold", padding, size, window, stride, dilation)
    places = _windows.places("fold", size, window, stride, padding, dilation)
    inner = 1
    for k in window:
        inner *= k
    if x.shape[1:-1] != places or x.shape[-1] % inner:
        raise ShapeError(
            f"fold(x, size, window): expected windows (N, {', '.join(map(str, places))}, C * {inner}), got {x.shape}"
        )
    params = {"window": window, "stride": stride, "padding": padding, "dilation": dilation}
    return in_layout(_F.fold(x, size=size, **params), layout)


@guided_by_names
def interpolate(
    x: Any,
    size: Any = None,
    /,
    *,
    scale: Any = None,
    mode: str = "nearest",
    align_corners: bool = False,
    layout: str = "channels_last",
) -> Tensor:
    """An image of another size, (N, *S, C) -> (N, *size, C), from the nearest pixel or by "linear" interpolation.

    Give `size`, or `scale`: a factor, or one for each axis.  With `align_corners` the centres of the corner pixels coincide,
    else the corners of the images do.

    Raises ArgumentError unless one of the two is given, ShapeError for an image without pixels.
    """
    x = images("interpolate", x, layout)
    n = len(x.shape) - 2
    if (size is None) == (scale is None):
        raise ArgumentError("interpolate(x): expected either a size or a scale")
    if size is None:
        scale = tuple(scale) if hasattr(scale, "__iter__") else (scale,) * n
        size = tuple(int(k * s) for k, s in zip(x.shape[1:-1], scale, strict=True))
    size = _windows.numbers("interpolate", "size", size, n)
    if 0 in x.shape[1:-1]:
        raise ShapeError(f"interpolate(x): expected spatial axes that are not empty, got shape {x.shape}")
    return in_layout(_F.interpolate(x, size=size, mode=mode, align_corners=align_corners, scale=scale), layout)


# -- by rank -----------------------------------------------------------------------------------------------------
conv1d, conv2d, conv3d = (of_rank(conv, k) for k in (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = (of_rank(conv_transpose, k) for k in (1, 2, 3))
