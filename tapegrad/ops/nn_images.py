"""Convolution and pooling as users write them: parameters of several forms, two layouts, and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.core.tensor import Tensor
from tapegrad.dtypes import float32
from tapegrad.errors import ArgumentError, ShapeError
from tapegrad.ops import nn_conv, nn_pool, nn_resize  # noqa: F401  they declare what is called here by name
from tapegrad.ops import nn_windows as _windows
from tapegrad.ops.convert import asarray as _asarray
from tapegrad.registry.space import F as _F

if TYPE_CHECKING:
    from collections.abc import Sequence


# -- convolution -----------------------------------------------------------------------------------------------
def _image(op: str, x: Any, layout: str) -> Any:
    """A tensor of images, channels last."""
    x = x if isinstance(x, Tensor) else _asarray(x)
    n = len(x.shape) - 2
    if n < 1:
        raise ShapeError(f"{op}(x): expected images (N, *S, C), got shape {x.shape}")
    if layout == "channels_first":
        return _windows.channels_last(_F, x)
    if layout != "channels_last":
        raise ArgumentError(f'{op}(x): layout is "channels_last" or "channels_first", got {layout!r}')
    return x


def _given(y: Any, layout: str) -> Any:
    return _windows.channels_first(_F, y) if layout == "channels_first" else y


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
    x = _image(op, x, layout)
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
    return _given(_F.conv(x, kernel, stride=stride, padding=padding, dilation=dilation, groups=groups), layout)


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
    x = _image(op, x, layout)
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
    return _given(found, layout)


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
    `conv` maps to P.  V. Dumoulin, F. Visin, "A guide to convolution arithmetic for deep learning", 2018, chapter 4.
    """
    return _conv_transpose(
        "conv_transpose", x, kernel, stride, padding, output_padding, dilation, groups, layout
    )


# -- pooling ---------------------------------------------------------------------------------------------------
def _pool(
    op: str,
    x: Any,
    window: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    layout: str,
) -> tuple[Any, dict[str, Any]]:
    """The image, and the parameters of its windows spelled out."""
    x = _image(op, x, layout)
    size = x.shape[1:-1]
    n = len(size)
    window = _windows.numbers(op, "window", window, n)
    stride = window if stride is None else _windows.numbers(op, "stride", stride, n)
    dilation = _windows.numbers(op, "dilation", dilation, n)
    padding = _windows.pairs(op, padding, size, window, stride, dilation)
    if ceil_mode:
        padding = _rounded_up(size, window, stride, padding, dilation)
    _windows.places(op, size, window, stride, padding, dilation)
    return x, {"window": window, "stride": stride, "padding": padding, "dilation": dilation}


def _rounded_up(size: Any, window: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """Padding with which a last, incomplete window counts, unless it would begin in the padding behind."""
    found = []
    for m, k, s, (lo, hi), d in zip(size, window, stride, padding, dilation, strict=True):
        last = -(-(m + lo + hi - d * (k - 1) - 1) // s)
        if last * s >= m + lo:
            last -= 1
        found.append((lo, max(hi, last * s + d * (k - 1) + 1 - m - lo)))
    return tuple(found)


def max_pool(
    x: Any,
    window: Any,
    /,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    layout: str = "channels_last",
) -> Tensor:
    """The largest element of each window of an image, (N, *S, C) -> (N, *P, C), in 1 to 3 axes.

    * `window`, `stride` (that of the window if not given), `dilation`: a number, or one for each axis.
    * `padding`: as `conv` has it; what is padded is never the largest.
    * `ceil_mode`: a last window that is not complete counts too.

    Of several largest elements the first in row-major order has the derivative, at every order.
    """
    x, params = _pool("max_pool", x, window, stride, padding, dilation, ceil_mode, layout)
    return _given(_F.window_max(x, **params), layout)


def max_pool_with_indices(
    x: Any,
    window: Any,
    /,
    *,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    layout: str = "channels_last",
) -> tuple[Tensor, Tensor]:
    """`max_pool`, and where in the flattened spatial axes of `x` the largest elements lie, as int64."""
    x, params = _pool("max_pool", x, window, stride, padding, dilation, ceil_mode, layout)
    y = _F.window_max(x, **params)
    return _given(y, layout), _given(_F.window_argmax(x, y, **params), layout)


def _avg_pool(
    op: str,
    x: Any,
    window: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    layout: str,
) -> Any:
    x, params = _pool(op, x, window, stride, padding, 1, ceil_mode, layout)
    given = x.dtype
    if given.itemsize == 2 and given.kind in "fV":  # in which sums overflow, and the number of elements
        x = _F.cast(x, float32)
    whole = 1
    for k in params["window"]:
        whole *= k
    y = _F.window_sum(x, **params)
    padded = any(lo or hi for lo, hi in params["padding"])
    if padded and (ceil_mode or not count_include_pad):
        asked = _windows.pairs(op, padding, x.shape[1:-1], params["window"], params["stride"], params["dilation"])
        y = y / _counts(x, params, asked if count_include_pad else None)
    else:
        y = y / whole
    return _given(y if y.dtype == given else _F.cast(y, given), layout)


def _counts(x: Any, params: dict[str, Any], included: Any) -> Any:
    """How many elements each window has; those of the padding count if it is `included`."""
    ones = _F.ones((1, *x.shape[1:-1], 1), dtype=x.dtype)
    if included is None:
        return _F.window_sum(ones, **params)
    size = tuple(n + lo + hi for n, (lo, hi) in zip(x.shape[1:-1], included, strict=True))
    rest = tuple((0, hi - h) for (_, hi), (_, h) in zip(params["padding"], included, strict=True))
    return _F.window_sum(_F.ones((1, *size, 1), dtype=x.dtype), **{**params, "padding": rest})


def avg_pool(
    x: Any,
    window: Any,
    /,
    *,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    layout: str = "channels_last",
) -> Tensor:
    """The mean over each window of an image, (N, *S, C) -> (N, *P, C), in 1 to 3 axes.

    Parameters are those of `max_pool`; `count_include_pad` tells whether the zeros of the padding count.
    """
    return _avg_pool(
        "avg_pool", x, window, stride, padding, ceil_mode, count_include_pad, layout
    )


def _adaptive(op: str, x: Any, size: Any, layout: str) -> tuple[Any, Any, bool]:
    x = _image(op, x, layout)
    spatial = x.shape[1:-1]
    wanted = tuple(size) if hasattr(size, "__iter__") else (size,) * len(spatial)
    wanted = tuple(n if k is None else k for k, n in zip(wanted, spatial, strict=True))
    wanted = _windows.numbers(op, "size", wanted, len(spatial))
    if any(n == 0 for n in spatial):
        raise ShapeError(f"{op}(x, size): expected spatial axes that are not empty, got shape {x.shape}")
    return x, wanted, all(n % k == 0 for n, k in zip(spatial, wanted, strict=True))


def adaptive_avg_pool(x: Any, size: int | Sequence[int | None] | None, /, *, layout: str = "channels_last") -> Tensor:
    """The mean over `size` windows along each spatial axis, that cover it evenly, (N, *S, C) -> (N, *size, C).

    Window i of n along an axis of length S is floor(i S / n), ..., ceil((i + 1) S / n) - 1; None keeps an axis.
    """
    x, sizes, even = _adaptive("adaptive_avg_pool", x, size, layout)
    if even:
        return _given(avg_pool(x, tuple(n // k for n, k in zip(x.shape[1:-1], sizes, strict=True))), layout)
    return _given(_F.adaptive_mean(x, size=sizes), layout)


def adaptive_max_pool(x: Any, size: int | Sequence[int | None] | None, /, *, layout: str = "channels_last") -> Tensor:
    """The largest over `size` windows along each spatial axis, that cover it evenly, (N, *S, C) -> (N, *size, C)."""
    x, sizes, even = _adaptive("adaptive_max_pool", x, size, layout)
    if even:
        return _given(max_pool(x, tuple(n // k for n, k in zip(x.shape[1:-1], sizes, strict=True))), layout)
    return _given(_F.adaptive_max(x, size=sizes), layout)


# -- pixels ----------------------------------------------------------------------------------------------------
def pixel_shuffle(x: Any, factor: int, /, *, layout: str = "channels_last") -> Tensor:
    """Channels laid out as pixels, (N, H, W, C r r) -> (N, H r, W r, C), with r the factor; channel outermost."""
    x = _image("pixel_shuffle", x, layout)
    return _given(_F.pixel_shuffle(x, factor=factor), layout)


def pixel_unshuffle(x: Any, factor: int, /, *, layout: str = "channels_last") -> Tensor:
    """Pixels laid out as channels: the inverse of `pixel_shuffle`, (N, H r, W r, C) -> (N, H, W, C r r)."""
    x = _image("pixel_unshuffle", x, layout)
    return _given(_F.pixel_unshuffle(x, factor=factor), layout)


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
    x, params = _pool("unfold", x, window, stride, padding, dilation, False, layout)
    return _given(_F.unfold(x, **params), layout)


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
    """Windows added up where they lie in an image of this size: the transpose of `unfold`."""
    x = _image("fold", x, layout)
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
    return _given(_F.fold(x, size=size, **params), layout)


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
    """
    x = _image("interpolate", x, layout)
    n = len(x.shape) - 2
    if (size is None) == (scale is None):
        raise ArgumentError("interpolate(x): expected either a size or a scale")
    if size is None:
        scale = tuple(scale) if hasattr(scale, "__iter__") else (scale,) * n
        size = tuple(int(k * s) for k, s in zip(x.shape[1:-1], scale, strict=True))
    size = _windows.numbers("interpolate", "size", size, n)
    if 0 in x.shape[1:-1]:
        raise ShapeError(f"interpolate(x): expected spatial axes that are not empty, got shape {x.shape}")
    return _given(_F.interpolate(x, size=size, mode=mode, align_corners=align_corners, scale=scale), layout)


# -- by rank -----------------------------------------------------------------------------------------------------
def _of_rank(f: Any, rank: int) -> Any:
    """A function of images, for one number of spatial axes."""
    name = f"{f.__name__}{rank}d"
    shape = f"(N, {', '.join('DHW'[-rank:])}, C)"

    def function(x: Any, *args: Any, **params: Any) -> Any:
        x = x if isinstance(x, Tensor) else _asarray(x)
        if len(x.shape) != rank + 2:
            raise ShapeError(f"{name}(x): expected images {shape}, got shape {x.shape}")
        return f(x, *args, **params)

    function.__name__ = function.__qualname__ = name
    details = (f.__doc__ or "").partition(">>>")[0].rstrip()
    function.__doc__ = f"`{f.__name__}` of images {shape}.\n\n    {details}\n    "
    function.__dict__["__wrapped__"] = f  # whose signature it has
    return function


conv1d, conv2d, conv3d = (_of_rank(conv, k) for k in (1, 2, 3))
conv_transpose1d, conv_transpose2d, conv_transpose3d = (_of_rank(conv_transpose, k) for k in (1, 2, 3))
max_pool1d, max_pool2d, max_pool3d = (_of_rank(max_pool, k) for k in (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = (_of_rank(avg_pool, k) for k in (1, 2, 3))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (_of_rank(adaptive_avg_pool, k) for k in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (_of_rank(adaptive_max_pool, k) for k in (1, 2, 3))
