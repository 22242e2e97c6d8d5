"""Images read at the places of a grid."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import wrap
from tapegrad.torch.nn.functional.resizing import cubic_weights

__all__ = ["affine_grid", "grid_sample"]


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
    if mode not in ("bilinear", "nearest", "bicubic"):
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
    if mode == "bicubic" and k != 2:
        raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
    places = []
    for d, m in enumerate(spatial):  # x is the last axis of the image and the first number of a place
        at = S.getitem(grid, (Ellipsis, k - 1 - d))
        at = S.multiply(S.add(at, 1.0), (m - 1) / 2) if align_corners else S.divide(S.subtract(S.multiply(S.add(at, 1.0), m), 1.0), 2.0)
        places.append(at)

    def inside(at: Any, m: int) -> Any:
        return _inside(at, m, padding_mode, bool(align_corners))

    if mode == "bicubic":  # it is the pixels around a place that are looked for inside, not the place
        return _cubic(input, places, inside)
    places = [inside(at, m) for at, m in zip(places, spatial, strict=True)]
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


def _rows(x: Any, index: Any) -> tuple[Any, Any]:
    """The pixels of (N, C, *S) at integer places (..., N, *P), one for each axis: (..., N, *P, C).

    And whether each lies inside; None where all do.
    """
    n, c, *spatial = x.array.shape
    inside = np.logical_and.reduce(np.broadcast_arrays(*[(i >= 0) & (i < m) for i, m in zip(index, spatial, strict=True)]))
    whole = bool(inside.all())
    flat: Any = np.arange(n).reshape(-1, *(1,) * len(spatial))
    for i, m in zip(index, spatial, strict=True):
        flat = flat * m + (i if whole else i.clip(0, m - 1))
    pixels = S.reshape(S.permute_dims(x, (0, *range(2, len(spatial) + 2), 1)), (n * math.prod(spatial), c))
    return S.take(pixels, flat, axis=0), None if whole else inside


def _channels_first(y: Any) -> Any:
    return S.permute_dims(y, (0, y.array.ndim - 1, *range(1, y.array.ndim - 1)))


def _picked(x: Any, index: Any) -> Any:
    """Pixels at integer places, zeros outside: (N, C, *P)."""
    y, inside = _rows(x, index)
    return _channels_first(y if inside is None else S.multiply(y, wrap(inside[..., None].astype(x.array.dtype))))


def _nearest(x: Any, places: Any) -> Any:
    return _picked(x, [np.rint(np.asarray(p.array)).astype(np.int64) for p in places])


def _linear(x: Any, places: Any) -> Any:
    """The pixels around each place, weighted by how near they are; the two along each axis of the image on an axis in front."""
    k, index, weight = len(places), [], None
    for d, at in enumerate(places):
        first = np.floor(np.asarray(at.array))
        corners = (*(1,) * d, 2, *(1,) * (k - 1 - d), *first.shape)
        part = S.subtract(at, wrap(first))
        near = S.reshape(S.stack([S.subtract(1.0, part), part], axis=0), corners)
        weight = near if weight is None else S.multiply(weight, near)
        low = first.astype(np.int64)
        index.append(np.stack([low, low + 1]).reshape(corners))
    y, inside = _rows(x, index)
    if inside is not None:
        weight = S.multiply(weight, wrap(inside.astype(x.array.dtype)))
    return _channels_first(S.sum(S.multiply(y, S.expand_dims(weight, axis=-1)), axis=tuple(range(k))))


def _cubic(x: Any, places: Any, inside: Any) -> Any:
    """The four by four pixels around each place, by Keys' weights."""
    first = [np.floor(np.asarray(p.array)) for p in places]
    factors = [cubic_weights(S.subtract(p, wrap(f))) for p, f in zip(places, first, strict=True)]
    around = [
        [np.asarray(inside(wrap(f + (j - 1)), m).array).astype(np.int64) for j in range(4)]
        for f, m in zip(first, x.array.shape[2:], strict=True)
    ]
    y = None
    for i, row in enumerate(around[0]):
        line = None
        for j, column in enumerate(around[1]):
            term = S.multiply(_picked(x, [row, column]), S.expand_dims(factors[1][j], axis=1))
            line = term if line is None else S.add(line, term)
        term = S.multiply(line, S.expand_dims(factors[0][i], axis=1))
        y = term if y is None else S.add(y, term)
    return y
