"""Padding, resizing and sampling of images."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

import tapegrad.nn as _core
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import adopt, wrap

__all__ = [
    "affine_grid", "channel_shuffle", "grid_sample", "interpolate", "pad", "pixel_shuffle", "pixel_unshuffle", "upsample",
    "upsample_bilinear", "upsample_nearest",
]  # fmt: skip

_MODES = {"replicate": "edge", "reflect": "reflect", "circular": "wrap"}


def pad(input: Any, pad: Any, mode: str = "constant", value: float | None = None) -> Any:
    """Elements put around the last axes: `pad` has the two numbers of the last axis first.  Negative numbers cut."""
    widths = [int(w) for w in pad]
    n = len(input.array.shape)
    if len(widths) % 2:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(widths) > 2 * n:
        raise RuntimeError(
            f"Padding length should be less than or equal to two times the input dimension but got padding length {len(widths)} "
            f"and input of dimension {n}"
        )
    pairs = [(0, 0)] * (n - len(widths) // 2) + [(widths[i], widths[i + 1]) for i in range(len(widths) - 2, -1, -2)]
    if any(w < 0 for pair in pairs for w in pair):
        part = tuple(slice(max(-a, 0), m - max(-b, 0)) for (a, b), m in zip(pairs, input.array.shape, strict=True))
        input = S.getitem(input, part)
        pairs = [(max(a, 0), max(b, 0)) for a, b in pairs]
    if mode == "constant":
        return S.pad(input, tuple(pairs), constant_values=0 if value is None else value)
    if mode not in _MODES:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    if value is not None and value != 0:
        raise RuntimeError(f'Padding mode "{mode}" doesn\'t take in value argument')
    spatial = len(widths) // 2
    if n not in (spatial + 1, spatial + 2):
        raise NotImplementedError(
            "Only 2D, 3D, 4D, 5D padding with non-constant padding are supported for now"
        )
    if 0 in input.array.shape[n - spatial - 1 :]:
        raise RuntimeError(
            f"Expected {spatial + 1}D or {spatial + 2}D (batch mode) tensor with possibly 0 batch size and other non-zero dimensions "
            f"for input, but got: {list(input.array.shape)}"
        )
    for i, (a, b) in enumerate(pairs):
        m = input.array.shape[i]
        if mode == "reflect" and max(a, b) >= m and (a or b):
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, but got: padding "
                f"({a}, {b}) at dimension {i} of input {list(input.array.shape)}"
            )
        if mode == "circular" and max(a, b) > m:
            raise RuntimeError("Padding value causes wrapping around more than once.")
    return S.pad(input, tuple(pairs), _MODES[mode])


def _check_images(name: str, x: Any, word: str, factor: int) -> None:
    if len(x.array.shape) < 3:
        raise RuntimeError(
            f"{name} expects input to have at least 3 dimensions, but got input with {len(x.array.shape)} dimension(s)"
        )
    if factor <= 0:
        raise RuntimeError(f"{name} expects a positive {word}, but got {factor}")


def pixel_shuffle(input: Any, upscale_factor: int) -> Any:
    """Channels laid out as pixels, (..., C r r, H, W) -> (..., C, H r, W r)."""
    _check_images("pixel_shuffle", input, "upscale_factor", upscale_factor)
    *lead, c, h, w = input.array.shape
    if c % upscale_factor**2:
        raise RuntimeError(
            "pixel_shuffle expects its input's 'channel' dimension to be divisible by the square of upscale_factor, but "
            f"input.size(-3)={c} is not divisible by {upscale_factor**2}"
        )
    x = S.reshape(input, (math.prod(lead), c, h, w))
    y = adopt(_core.pixel_shuffle(x, upscale_factor, layout="channels_first"))
    return S.reshape(y, (*lead, *y.array.shape[1:]))


def pixel_unshuffle(input: Any, downscale_factor: int) -> Any:
    """Pixels laid out as channels: the inverse of `pixel_shuffle`."""
    _check_images("pixel_unshuffle", input, "downscale_factor", downscale_factor)
    *lead, c, h, w = input.array.shape
    for name, place, m in (("height", -2, h), ("width", -1, w)):
        if m % downscale_factor:
            raise RuntimeError(
                f"pixel_unshuffle expects {name} to be divisible by downscale_factor, but input.size({place})={m} is not divisible "
                f"by {downscale_factor}"
            )
    x = S.reshape(input, (math.prod(lead), c, h, w))
    y = adopt(_core.pixel_unshuffle(x, downscale_factor, layout="channels_first"))
    return S.reshape(y, (*lead, *y.array.shape[1:]))


def channel_shuffle(input: Any, groups: int) -> Any:
    """Channels of all groups taken in turn."""
    n, c, *rest = input.array.shape
    if c % groups:
        raise RuntimeError(f"Number of channels must be divisible by groups. Got {c} channels and {groups} groups.")
    x = S.reshape(input, (n, groups, c // groups, *rest))
    return S.reshape(S.permute_dims(x, (0, 2, 1, *range(3, len(rest) + 3))), input.array.shape)


# -- resizing --------------------------------------------------------------------------------------------------
_RANKS = {"linear": 1, "bilinear": 2, "bicubic": 2, "trilinear": 3}


def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """Images of another size, (N, C, *S) -> (N, C, *size)."""
    n = len(input.array.shape) - 2
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear"
            )
    elif mode not in _RANKS:
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported "
            f"(got {n + 2}D) for the modes: nearest | linear | bilinear | bicubic | trilinear | area | nearest-exact (got {mode})"
        )
    elif _RANKS[mode] != n:
        raise NotImplementedError(f"Got {n + 2}D input, but {mode} mode needs {_RANKS[mode] + 2}D input")
    if antialias:
        raise NotImplementedError("interpolate(antialias=True): not there in tapegrad.torch")
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    spatial = input.array.shape[2:]
    scale = None
    if size is None:
        factors = tuple(scale_factor) if isinstance(scale_factor, (list, tuple)) else (scale_factor,) * n
        size = tuple(math.floor(m * f) for m, f in zip(spatial, factors, strict=True))
        scale = None if recompute_scale_factor else tuple(float(f) for f in factors)
    if any(not isinstance(k, (int, np.integer)) for k in (size if isinstance(size, (list, tuple)) else [size])):
        raise TypeError(f"expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got {size!r}")
    size = tuple(int(k) for k in size) if isinstance(size, (list, tuple)) else (int(size),) * n
    if len(size) != n:
        raise ValueError(
            f"Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
            f"{list(spatial)} and output size of {list(size)}."
        )
    if mode == "area":
        return adopt(_core.adaptive_avg_pool(input, size, layout="channels_first"))
    if mode == "bicubic":
        return _bicubic(input, size, scale, bool(align_corners))
    if mode == "nearest-exact":
        y = input
        for axis, (m, k) in enumerate(zip(spatial, size, strict=True), 2):
            ratio = m / k if scale is None else 1 / scale[axis - 2]
            y = S.take(y, np.minimum(((np.arange(k) + 0.5) * ratio).astype(np.int64), m - 1), axis=axis)
        return y
    last = S.permute_dims(input, (0, *range(2, n + 2), 1))
    kind = "nearest" if mode == "nearest" else "linear"
    y = S.interpolate(last, size=size, mode=kind, align_corners=bool(align_corners), scale=scale)
    return S.permute_dims(y, (0, n + 1, *range(1, n + 1)))


def _cubic(t: Any) -> Any:
    """Keys' weights of four neighbours, for a place t behind the second of them (R. Keys, 1981, with a = -0.75)."""
    a = -0.75

    def near(x: Any) -> Any:
        return ((a + 2) * x - (a + 3)) * x * x + 1

    def far(x: Any) -> Any:
        return ((a * x - 5 * a) * x + 8 * a) * x - 4 * a

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _bicubic(x: Any, size: Any, scale: Any, align_corners: bool) -> Any:
    for axis, k in enumerate(size, 2):
        m = x.array.shape[axis]
        if align_corners:
            at = np.arange(k) * ((m - 1) / (k - 1) if k > 1 else 0.0)
        else:
            at = (np.arange(k) + 0.5) * (m / k if scale is None else 1 / scale[axis - 2]) - 0.5
        first = np.floor(at).astype(np.int64)
        shape = (-1, *(1,) * (len(x.array.shape) - 1 - axis))
        y = None
        for j, w in enumerate(_cubic(at - first)):
            taken = S.take(x, np.clip(first - 1 + j, 0, m - 1), axis=axis)
            part = S.multiply(taken, wrap(w.reshape(shape).astype(x.array.dtype)))
            y = part if y is None else S.add(y, part)
        x = y
    return x


def upsample(input: Any, size: Any = None, scale_factor: Any = None, mode: str = "nearest", align_corners: Any = None) -> Any:
    """The older name of `interpolate`."""
    warnings.warn("`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2)
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """`interpolate` from the nearest pixel."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
    """`interpolate`, bilinear, with the corners aligned."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.", stacklevel=2
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


# -- sampling --------------------------------------------------------------------------------------------------
def affine_grid(theta: Any, size: Any, align_corners: bool | None = None) -> Any:
    """Where each pixel of an image of this size lies under affine maps, (N, k, k + 1) -> (N, *S, k); x comes first."""
    spatial = tuple(size)[2:]
    axes = []
    for k in spatial:
        at = np.linspace(-1, 1, k) if k > 1 else np.zeros(1)
        axes.append(at if align_corners else at * (k - 1) / k)
    mesh = np.meshgrid(*axes, indexing="ij")
    base = np.stack([*reversed(mesh), np.ones_like(mesh[0])], axis=-1).astype(theta.array.dtype)
    flat = base.reshape(-1, len(spatial) + 1)
    y = S.matmul(wrap(flat[None]), S.matrix_transpose(theta))
    return S.reshape(y, (theta.array.shape[0], *spatial, len(spatial)))


def grid_sample(
    input: Any,
    grid: Any,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool | None = None,
) -> Any:
    """Pixels at places of a grid, (N, C, *S), (N, *P, k) -> (N, C, *P); places are from -1 to 1, x first."""
    if mode not in ("bilinear", "nearest"):
        if mode == "bicubic":
            raise NotImplementedError("grid_sample(mode='bicubic'): not there in tapegrad.torch")
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or 'reflection', but got: "
            f"'{padding_mode}'"
        )
    spatial = input.array.shape[2:]
    k = len(spatial)
    if input.array.shape[0] != grid.array.shape[0]:
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with sizes "
            f"{list(input.array.shape)} and grid with sizes {list(grid.array.shape)}"
        )
    if 0 in spatial:
        raise RuntimeError(
            "grid_sampler(): expected input to have non-empty spatial dimensions, but input has sizes "
            f"{list(input.array.shape)} with dimension {2 + spatial.index(0)} being empty"
        )
    if grid.array.shape[-1] != k:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {k} in last dimension, but got grid with sizes {list(grid.array.shape)}"
        )
    places = []
    for d, m in enumerate(spatial):  # x is the last axis of the image and the first number of a place
        at = S.getitem(grid, (Ellipsis, k - 1 - d))
        at = S.multiply(S.add(at, 1.0), (m - 1) / 2) if align_corners else S.divide(S.subtract(S.multiply(S.add(at, 1.0), m), 1.0), 2.0)
        places.append(_inside(at, m, padding_mode, bool(align_corners)))
    return _nearest(input, places) if mode == "nearest" else _linear(input, places)


def _inside(at: Any, m: int, padding_mode: str, align_corners: bool) -> Any:
    if padding_mode == "zeros":
        return at
    if padding_mode == "reflection":
        low, high = (0.0, m - 1.0) if align_corners else (-0.5, m - 0.5)
        span = high - low
        if span == 0:
            at = S.multiply(at, 0.0)
        else:
            away = S.abs(S.subtract(at, low))
            turns = np.floor(np.asarray(away.array) / span)
            rest = S.subtract(away, wrap((turns * span).astype(at.array.dtype)))
            odd = wrap(turns % 2 == 1)
            at = S.where(odd, S.subtract(high, rest), S.add(rest, low))
    return S.clip(at, 0.0, m - 1.0)


def _picked(x: Any, index: Any) -> Any:
    """Pixels at integer places, zeros outside: (N, C, *P)."""
    spatial = x.array.shape[2:]
    ok = np.logical_and.reduce([(i >= 0) & (i < m) for i, m in zip(index, spatial, strict=True)])
    safe = [np.clip(i, 0, m - 1) for i, m in zip(index, spatial, strict=True)]
    n = np.arange(x.array.shape[0]).reshape(-1, *(1,) * (safe[0].ndim - 1))
    last = S.permute_dims(x, (0, *range(2, len(spatial) + 2), 1))
    y = S.getitem(last, (n, *safe))
    y = S.multiply(y, wrap(ok[..., None].astype(x.array.dtype)))
    return S.permute_dims(y, (0, y.array.ndim - 1, *range(1, y.array.ndim - 1)))


def _nearest(x: Any, places: Any) -> Any:
    return _picked(x, [np.rint(np.asarray(p.array)).astype(np.int64) for p in places])


def _linear(x: Any, places: Any) -> Any:
    """The pixels around each place, weighted by how near they are."""
    first = [np.floor(np.asarray(p.array)).astype(np.int64) for p in places]
    parts = [S.subtract(p, wrap(f.astype(p.array.dtype))) for p, f in zip(places, first, strict=True)]
    y = None
    for corner in np.ndindex(*(2,) * len(places)):
        w = None
        for c, t in zip(corner, parts, strict=True):
            factor = t if c else S.subtract(1.0, t)
            w = factor if w is None else S.multiply(w, factor)
        value = _picked(x, [f + c for f, c in zip(first, corner, strict=True)])
        term = S.multiply(value, S.expand_dims(w, axis=1))
        y = term if y is None else S.add(y, term)
    return y
