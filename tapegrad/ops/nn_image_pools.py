"""Pooling as users write it: parameters of several forms, two layouts, and checks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.core.tensor import Tensor
from tapegrad.dtypes import float32
from tapegrad.errors import ShapeError
from tapegrad.kernels.remembered import remembered
from tapegrad.ops import nn_pool  # noqa: F401  it declares what is called here by name
from tapegrad.ops import nn_windows as _windows
from tapegrad.ops.nn_layout import guided_by_names, images, in_layout, of_rank
from tapegrad.registry.space import F as _F

if TYPE_CHECKING:
    from collections.abc import Sequence


def pooled(
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
    x = images(op, x, layout)
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


@remembered
def _rounded_up(size: Any, window: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """Padding with which a last, incomplete window counts, unless it would begin in the padding behind."""
    found = []
    for m, k, s, (lo, hi), d in zip(size, window, stride, padding, dilation, strict=True):
        last = -(-(m + lo + hi - d * (k - 1) - 1) // s)
        if last * s >= m + lo:
            last -= 1
        found.append((lo, max(hi, last * s + d * (k - 1) + 1 - m - lo)))
    return tuple(found)


@guided_by_names
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
    x, params = pooled("max_pool", x, window, stride, padding, dilation, ceil_mode, layout)
    return in_layout(_F.window_max(x, **params), layout)


@guided_by_names
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
    x, params = pooled("max_pool", x, window, stride, padding, dilation, ceil_mode, layout)
    y = _F.window_max(x, **params)
    return in_layout(y, layout), in_layout(_F.window_argmax(x, y, **params), layout)


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
    x, params = pooled(op, x, window, stride, padding, 1, ceil_mode, layout)
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
    return in_layout(y if y.dtype == given else _F.cast(y, given), layout)


def _counts(x: Any, params: dict[str, Any], included: Any) -> Any:
    """How many elements each window has; those of the padding count if it is `included`."""
    ones = _F.ones((1, *x.shape[1:-1], 1), dtype=x.dtype)
    if included is None:
        return _F.window_sum(ones, **params)
    size = tuple(n + lo + hi for n, (lo, hi) in zip(x.shape[1:-1], included, strict=True))
    rest = tuple((0, hi - h) for (_, hi), (_, h) in zip(params["padding"], included, strict=True))
    return _F.window_sum(_F.ones((1, *size, 1), dtype=x.dtype), **{**params, "padding": rest})


@guided_by_names
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
    x = images(op, x, layout)
    spatial = x.shape[1:-1]
    wanted = tuple(size) if hasattr(size, "__iter__") else (size,) * len(spatial)
    wanted = tuple(n if k is None else k for k, n in zip(wanted, spatial, strict=True))
    wanted = _windows.numbers(op, "size", wanted, len(spatial))
    if any(n == 0 for n in spatial):
        raise ShapeError(f"{op}(x, size): expected spatial axes that are not empty, got shape {x.shape}")
    return x, wanted, all(n % k == 0 for n, k in zip(spatial, wanted, strict=True))


@guided_by_names
def adaptive_avg_pool(x: Any, size: int | Sequence[int | None] | None, /, *, layout: str = "channels_last") -> Tensor:
    """The mean over `size` windows along each spatial axis, that cover it evenly, (N, *S, C) -> (N, *size, C).

    Window i of n along an axis of length S is floor(i S / n), ..., ceil((i + 1) S / n) - 1; None keeps an axis.
    """
    x, sizes, even = _adaptive("adaptive_avg_pool", x, size, layout)
    if all(k == 1 for k in sizes):  # a mean, over axes that are neighbours in memory
        whole: Tensor = in_layout(x, layout)
        first = 2 if layout == "channels_first" else 1
        return _F.mean(whole, axis=tuple(range(first, first + len(sizes))), keepdims=True)
    if even:
        return in_layout(avg_pool(x, tuple(n // k for n, k in zip(x.shape[1:-1], sizes, strict=True))), layout)
    return in_layout(_F.adaptive_mean(x, size=sizes), layout)


@guided_by_names
def adaptive_max_pool(x: Any, size: int | Sequence[int | None] | None, /, *, layout: str = "channels_last") -> Tensor:
    """The largest over `size` windows along each spatial axis, that cover it evenly, (N, *S, C) -> (N, *size, C)."""
    x, sizes, even = _adaptive("adaptive_max_pool", x, size, layout)
    if even:
        return in_layout(max_pool(x, tuple(n // k for n, k in zip(x.shape[1:-1], sizes, strict=True))), layout)
    return in_layout(_F.adaptive_max(x, size=sizes), layout)


max_pool1d, max_pool2d, max_pool3d = (of_rank(max_pool, k) for k in (1, 2, 3))
avg_pool1d, avg_pool2d, avg_pool3d = (of_rank(avg_pool, k) for k in (1, 2, 3))
adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d = (of_rank(adaptive_avg_pool, k) for k in (1, 2, 3))
adaptive_max_pool1d, adaptive_max_pool2d, adaptive_max_pool3d = (of_rank(adaptive_max_pool, k) for k in (1, 2, 3))
