"""PNG by itself, JPEG, GIF and BMP through Pillow: bytes into pixels and back."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np

from tapegrad.events import png
from tapegrad.tf.errors import InvalidArgumentError, UnimplementedError


def encode_png(pixels: np.ndarray[Any, Any], level: int = 6) -> bytes:
    """Pixels (height, width, channels) of uint8 or uint16 as a PNG file."""
    try:
        return png.encode(pixels, level)
    except ValueError as error:
        raise InvalidArgumentError(None, None, str(error)) from None


def _png(data: bytes) -> np.ndarray[Any, Any] | None:
    """The pixels of a PNG of 8 or 16 bits, plain or grey; None for the rarer kinds, which Pillow reads."""
    at, body = 8, b""
    header: Any = None
    while at < len(data):
        (n,) = struct.unpack(">I", data[at : at + 4])
        name, chunk = data[at + 4 : at + 8], data[at + 8 : at + 8 + n]
        if name == b"IHDR":
            header = struct.unpack(">IIBBBBB", chunk)
        elif name == b"IDAT":
            body += chunk
        elif name in (b"PLTE", b"tRNS"):
            return None
        at += n + 12
    if header is None:
        raise InvalidArgumentError(None, None, "a PNG without a header")
    width, height, depth, kind, _, _, interlaced = header
    if depth not in (8, 16) or kind not in (0, 2, 4, 6) or interlaced:
        return None
    channels = {0: 1, 2: 3, 4: 2, 6: 4}[kind]
    step = channels * depth // 8
    stride = width * step
    raw = np.frombuffer(zlib.decompress(body), np.uint8).reshape(height, stride + 1)
    found = np.zeros((height, stride), np.uint8)
    before = np.zeros(stride, np.uint8)
    for y in range(height):
        before = found[y] = _unfiltered(int(raw[y, 0]), raw[y, 1:], before, step)
    pixels = found if depth == 8 else found.view(">u2").astype(np.uint16)
    return pixels.reshape(height, width, channels)


def _unfiltered(kind: int, row: Any, above: Any, step: int) -> Any:
    if kind == 0:
        return row
    if kind == 1:
        return np.cumsum(row.reshape(-1, step), axis=0, dtype=np.uint8).reshape(-1)
    if kind == 2:
        return row + above
    found = row.astype(np.int64)
    up = above.astype(np.int64)
    for i in range(len(row)):
        left = found[i - step] if i >= step else 0
        if kind == 3:
            guess = (left + up[i]) // 2
        else:
            corner = up[i - step] if i >= step else 0
            p = left + up[i] - corner
            far = (abs(p - left), abs(p - up[i]), abs(p - corner))
            guess = left if far[0] <= far[1] and far[0] <= far[2] else up[i] if far[1] <= far[2] else corner
        found[i] = (found[i] + guess) & 0xFF
    return found.astype(np.uint8)


def _pillow() -> Any:
    try:
        from PIL import Image
    except ImportError:
        raise UnimplementedError(None, None, "this image needs Pillow: pip install pillow") from None
    return Image


def decode(data: bytes, channels: int) -> np.ndarray[Any, Any]:
    """The pixels of an image file, (height, width, channels); 0 channels for as many as there are."""
    found = _png(data) if data.startswith(png.SIGNATURE) else None
    if found is not None:
        return _with_channels(found, channels)
    try:
        image = _pillow().open(io.BytesIO(data))
        image.load()
    except OSError as error:
        raise InvalidArgumentError(None, None, f"Input is not a JPEG, PNG, GIF or BMP image that can be read: {error}") from error
    mode = {0: image.mode, 1: "L", 3: "RGB", 4: "RGBA"}.get(channels)
    if mode is None:
        raise InvalidArgumentError(None, None, f"channels must be 0, 1, 3, or 4, got {channels}")
    if mode in ("P", "CMYK", "1", "YCbCr"):
        mode = "RGB"
    pixels = np.asarray(image.convert(mode))
    return pixels if pixels.ndim == 3 else pixels[..., None]


def _with_channels(pixels: Any, channels: int) -> Any:
    own = pixels.shape[-1]
    if channels in (0, own):
        return pixels
    top = np.iinfo(pixels.dtype).max
    alpha = pixels[..., -1:] if own in (2, 4) else np.full((*pixels.shape[:2], 1), top, pixels.dtype)
    color = pixels[..., :-1] if own in (2, 4) else pixels
    if channels == 1:
        if color.shape[-1] == 3:
            grey = color.astype(np.float64) @ np.array([0.299, 0.587, 0.114])
            return np.floor(grey + 0.5).astype(pixels.dtype)[..., None]
        return color
    if color.shape[-1] == 1:
        color = np.repeat(color, 3, axis=-1)
    if channels == 3:
        return color
    if channels == 4:
        return np.concatenate([color, alpha], axis=-1)
    raise InvalidArgumentError(None, None, f"channels must be 0, 1, 3, or 4, got {channels}")


def encode_jpeg(pixels: Any, quality: int) -> bytes:
    """Pixels as a JPEG file."""
    out = io.BytesIO()
    _pillow().fromarray(pixels[..., 0] if pixels.shape[-1] == 1 else pixels).save(out, "JPEG", quality=quality)
    return out.getvalue()
