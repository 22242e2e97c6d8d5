"""Images of another size."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

import tapegrad.nn as _core
from tapegrad.ops.resampling import weights
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import adopt, wrap

__all__ = ["interpolate", "upsample", "upsample_bilinear", "upsample_nearest"]

_RANKS = {"linear": 1, "bilinear": 2, "bicubic": 2, "lanczos": 2, "trilinear": 3}
#: Modes whose kernels grow where pixels do, by the kernel's name.
_WIDENED = {"bilinear": "bilinear", "bicubic": "bicubic", "lanczos": "lanczos3"}


def _size(x: Any, size: Any, scale_factor: Any, recompute: bool | None) -> tuple[tuple[int, ...], Any]:
    """The size asked for, and by how much pixels count as larger where it isn't the ratio of the sizes."""
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is None and scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    spatial = x.array.shape[2:]
    n, scale = len(spatial), None
    if size is None:
        factors = tuple(scale_factor) if isinstance(scale_factor, (list, tuple)) else (scale_factor,) * n
        size = tuple(math.floor(m * f) for m, f in zip(spatial, factors, strict=True))
        scale = None if recompute else tuple(float(f) for f in factors)
    if any(not isinstance(k, (int, np.integer)) for k in (size if isinstance(size, (list, tuple)) else [size])):
        raise TypeError(f"expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, int, int], but got {size!r}")
    size = tuple(int(k) for k in size) if isinstance(size, (list, tuple)) else (int(size),) * n
    if len(size) != n:
        raise ValueError(
            f"Input and output must have the same number of spatial dimensions, but got input with spatial dimensions of "
            f"{list(spatial)} and output size of {list(size)}."
        )
    return size, scale


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
    if antialias and not (mode in _WIDENED and n == 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires a 4-D tensor as input"
        )
    if mode == "lanczos" and (align_corners or not antialias):
        missing = "requires antialias=True" if not align_corners else "does not support align_corners=True"
        raise ValueError(f"Lanczos mode {missing}")
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
    size, scale = _size(input, size, scale_factor, recompute_scale_factor)
    spatial = input.array.shape[2:]
    if 0 in size or 0 in spatial:
        raise RuntimeError(
            f"Input and output sizes should be greater than 0, but got input (H: {spatial[0]}, W: {spatial[-1]}) "
            f"output (H: {size[0]}, W: {size[-1]})"
        )
    if input.array.dtype == np.uint8 and mode in _RANKS:
        return _of_bytes(input, size, scale, mode, bool(align_corners), antialias)
    return _resized(input, size, scale, mode, bool(align_corners), antialias)


def _of_bytes(x: Any, size: Any, scale: Any, mode: str, align_corners: bool, antialias: bool) -> Any:
    """Between bytes lie floats, which are rounded after each axis, the last one first."""
    spatial = list(x.array.shape[2:])
    for axis in reversed(range(len(spatial))):
        spatial[axis] = size[axis]
        one = None if scale is None else tuple(f if i == axis else 1.0 for i, f in enumerate(scale))
        y = _resized(x.float(), tuple(spatial), one, mode, align_corners, antialias)
        x = (y + 0.5).floor().clamp(0, 255).byte()
    return x


def _resized(x: Any, size: Any, scale: Any, mode: str, align_corners: bool, antialias: bool) -> Any:
    n, spatial = len(size), x.array.shape[2:]
    if antialias:
        return _widened(x, size, scale, _WIDENED[mode], align_corners)
    if mode == "area":
        return adopt(_core.adaptive_avg_pool(x, size, layout="channels_first"))
    if mode == "bicubic":
        return _bicubic(x, size, scale, align_corners)
    if mode == "nearest-exact":
        y = x
        for axis, (m, k) in enumerate(zip(spatial, size, strict=True), 2):
            ratio = m / k if scale is None else 1 / scale[axis - 2]
            y = S.take(y, np.minimum(((np.arange(k) + 0.5) * ratio).astype(np.int64), m - 1), axis=axis)
        return y
    last = S.permute_dims(x, (0, *range(2, n + 2), 1))
    kind = "nearest" if mode == "nearest" else "linear"
    if kind == "nearest" and scale is not None:  # the same pixels and twice as many are what they are, whatever factor led there
        scale = tuple(None if k in (m, 2 * m) else f for f, m, k in zip(scale, spatial, size, strict=True))
    y = S.interpolate(last, size=size, mode=kind, align_corners=align_corners, scale=scale)
    return S.permute_dims(y, (0, n + 1, *range(1, n + 1)))


def cubic_weights(t: Any) -> Any:
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
        for j, w in enumerate(cubic_weights(at - first)):
            taken = S.take(x, np.clip(first - 1 + j, 0, m - 1), axis=axis)
            part = S.multiply(taken, wrap(w.reshape(shape).astype(x.array.dtype)))
            y = part if y is None else S.add(y, part)
        x = y
    return x


def _widened(x: Any, size: Any, scale: Any, kernel: str, align_corners: bool) -> Any:
    """Each axis by a matrix of weights, in which what is made smaller is averaged over all its pixels."""
    rows, columns = (
        weights(
            m, k, kernel, antialias=True,
            ratio=((m - 1) / (k - 1) if k > 1 else 0.0) if align_corners else m / k if scale is None else 1 / scale[axis],
        )
        for axis, (m, k) in enumerate(zip(x.array.shape[2:], size, strict=True))
    )  # fmt: skip
    return S.matmul(wrap(rows.astype(x.array.dtype)), S.matmul(x, wrap(columns.T.astype(x.array.dtype))))


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
