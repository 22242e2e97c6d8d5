"""Padding of images, and pixels laid out as channels."""

from __future__ import annotations

import math
from typing import Any

import tapegrad.nn as _core
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import adopt

__all__ = ["channel_shuffle", "pad", "pixel_shuffle", "pixel_unshuffle"]

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
