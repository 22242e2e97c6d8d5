"""Rearranging pixels: shuffles, patches, and resizing."""

from __future__ import annotations

from typing import Any

from tapegrad.errors import ArgumentError, ShapeError
from tapegrad.kernels.numpy_conv import output_size
from tapegrad.kernels.remembered import remembered
from tapegrad.ops.nn_pool import _over_images as over_images
from tapegrad.registry import composite, linear


@composite(laws=lambda draw: (draw.array("n", "m", 2, 8), {"factor": 2}), public=False)
def pixel_shuffle(F: Any, x: Any, /, *, factor: int) -> Any:
    """Channels laid out as pixels, (N, H, W, C r r) -> (N, H r, W r, C), with r the factor.

    W. Shi et al., "Real-time single image and video super-resolution", 2016, equation 4, channels last.
    """
    n, h, w, c = x.shape
    if factor < 1 or c % factor**2:
        raise ShapeError(f"pixel_shuffle(x): expected x.shape[-1] % factor**2 == 0, got {c} % {factor**2}")
    y = F.reshape(x, (n, h, w, c // factor**2, factor, factor))
    return F.reshape(F.permute_dims(y, (0, 1, 4, 2, 5, 3)), (n, h * factor, w * factor, c // factor**2))


@composite(laws=lambda draw: (draw.array("n", 4, 2, 3), {"factor": 2}), public=False)
def pixel_unshuffle(F: Any, x: Any, /, *, factor: int) -> Any:
    """Pixels laid out as channels: the inverse of `pixel_shuffle`, (N, H r, W r, C) -> (N, H, W, C r r)."""
    n, h, w, c = x.shape
    if factor < 1 or h % factor or w % factor:
        raise ShapeError(f"pixel_unshuffle(x): expected sizes divisible by {factor}, got {(h, w)}")
    y = F.reshape(x, (n, h // factor, factor, w // factor, factor, c))
    return F.reshape(F.permute_dims(y, (0, 1, 3, 5, 2, 4)), (n, h // factor, w // factor, c * factor**2))


# -- patches -----------------------------------------------------------------------------------------------------
def _patched(draw: Any) -> Any:
    window = (draw.choice(1, 2), draw.choice(1, 3))
    params = {
        "window": window,
        "stride": (draw.choice(1, 2), 1),
        "padding": ((draw.choice(0, 1), 0), (0, draw.choice(0, 1))),
        "dilation": (1, draw.choice(1, 2)),
    }
    size = (3, 5)
    out = output_size(size, window, params["stride"], params["padding"], params["dilation"])
    return (draw.size("n"), *size, 2), (*out, 2 * window[0] * window[1]), params


def _unfold_laws(draw: Any) -> Any:
    x, _, params = _patched(draw)
    return draw.filled(x), params


def _fold_laws(draw: Any) -> Any:
    x, y, params = _patched(draw)
    return draw.filled((x[0], *y)), {"size": x[1:-1], **params}


@linear(laws=_unfold_laws, public=False)
def unfold(xp: Any, x: Any, /, *, window: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """The windows of an image as channels, (N, *S, C) -> (N, *P, C prod(K)), channel outermost."""
    return xp.unfold(x, window=window, stride=stride, padding=padding, dilation=dilation)


@linear(laws=_fold_laws, public=False)
def fold(xp: Any, v: Any, /, *, size: Any, window: Any, stride: Any, padding: Any, dilation: Any) -> Any:
    """Windows added up where they lie in an image: the transpose of `unfold`, (N, *P, C prod(K)) -> (N, *size, C)."""
    return xp.fold(v, size=size, window=window, stride=stride, padding=padding, dilation=dilation)


unfold.adjoint(
    x=lambda F, g, x, window, stride, padding, dilation: F.fold(
        g, size=x.shape[1:-1], window=window, stride=stride, padding=padding, dilation=dilation
    )
)
fold.adjoint(
    v=lambda F, g, window, stride, padding, dilation: F.unfold(
        g, window=window, stride=stride, padding=padding, dilation=dilation
    )
)
unfold.batch(over_images("unfold"))
fold.batch(over_images("fold"))


# -- resizing ----------------------------------------------------------------------------------------------------
def _resized(draw: Any) -> Any:
    mode = draw.choice("nearest", "linear")
    x = draw.filled((draw.size("n"), draw.choice(1, 3, 4), draw.choice(2, 5), 2))
    params = {"size": (draw.choice(1, 2, 6, 7), draw.choice(2, 5, 10)), "mode": mode}
    return x, {**params, "align_corners": mode == "linear" and draw.boolean()}


@composite(laws=_resized, public=False)
def interpolate(
    F: Any, x: Any, /, *, size: Any, mode: str = "nearest", align_corners: bool = False, scale: Any = None
) -> Any:
    """An image of another size, (N, *S, C) -> (N, *size, C), from the nearest pixel or by linear interpolation.

    * `align_corners`: the centres of the corner pixels coincide; else the corners of the images do.
    * `scale`: how much larger pixels count as, for each axis; size / S if not given.
    """
    if mode not in ("nearest", "linear"):
        raise ArgumentError(f'interpolate(x): mode is "nearest" or "linear", got {mode!r}')
    for axis, out in enumerate(size, 1):
        n = x.shape[axis]
        ratio = n / out if scale is None or scale[axis - 1] is None else 1 / scale[axis - 1]
        if mode == "nearest":
            times = out // n if n else 0
            if times and out == times * n and ratio * times == 1:  # each pixel so many times: its derivative is a plain sum
                spread = F.broadcast_to(F.expand_dims(x, axis=axis + 1), (*x.shape[: axis + 1], times, *x.shape[axis + 1 :]))
                x = F.reshape(spread, (*x.shape[:axis], out, *x.shape[axis + 1 :]))
            else:
                x = F.take(x, _nearest(n, out, ratio), axis=axis)
            continue
        low, high, part = _neighbours(n, out, ratio, align_corners)
        if out == n and not part.any():
            continue
        part = part.reshape(-1, *(1,) * (len(x.shape) - 1 - axis)).astype(x.dtype)
        a = F.take(x, low, axis=axis)
        x = a + (F.take(x, high, axis=axis) - a) * part
    return x


@remembered
def _nearest(n: int, out: int, ratio: float) -> Any:
    import numpy as np

    return np.minimum((np.arange(out) * ratio).astype(np.int64), n - 1)


@remembered
def _neighbours(n: int, out: int, ratio: float, align_corners: bool) -> tuple[Any, Any, Any]:
    """The two pixels next to each place along an axis, and how far it lies from the first to the second."""
    import numpy as np

    if align_corners:
        at = np.arange(out) * ((n - 1) / (out - 1) if out > 1 else 0.0)
    else:
        at = np.maximum((np.arange(out) + 0.5) * ratio - 0.5, 0.0)
    low = np.minimum(at.astype(np.int64), n - 1)
    high = np.minimum(low + 1, n - 1)
    return low, high, np.clip(at - low, 0.0, 1.0)
