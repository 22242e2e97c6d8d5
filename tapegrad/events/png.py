"""Pixels as PNG files."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import numpy as np

SIGNATURE = b"\x89PNG\r\n\x1a\n"


def encode(pixels: np.ndarray[Any, Any], level: int = 6) -> bytes:
    """Pixels (height, width, channels) of uint8 or uint16 as a PNG file.

    Raises ValueError for other dtypes, and for other than 1 to 4 channels.
    """
    height, width, channels = pixels.shape
    if channels not in (1, 2, 3, 4) or pixels.dtype not in (np.uint8, np.uint16):
        raise ValueError(
            f"image must have 1, 2, 3, or 4 channels of uint8 or uint16, got {pixels.shape} {pixels.dtype}"
        )
    kind = {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    depth = 8 * pixels.dtype.itemsize
    big = np.ascontiguousarray(pixels.astype(pixels.dtype.newbyteorder(">")))
    rows = big.reshape(height, -1).view(np.uint8).reshape(height, -1)
    data = np.concatenate([np.zeros((height, 1), np.uint8), rows], axis=1).tobytes()
    header = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    return SIGNATURE + b"".join(
        struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))
        for name, body in ((b"IHDR", header), (b"IDAT", zlib.compress(data, level)), (b"IEND", b""))
    )
