"""The values of images: tensors (height, width, channels), or batches of them, and their dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import cast, convert, fresh
from tapegrad.tf.dtypes import as_dtype
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor, made


def images(x: Any) -> Tensor:
    """An image, or a batch of them; raises ValueError for what has another number of axes."""
    x = convert(x)
    if x.array.ndim not in (3, 4):
        raise ValueError(f"'image' (shape {tuple(x.array.shape)}) must have either 3 or 4 dimensions.")
    return x


def convert_image_dtype(image: Any, dtype: Any, saturate: bool = False, name: str | None = None) -> Tensor:
    """An image in another dtype, its values scaled so that black and white stay black and white."""
    x, wanted = convert(image), as_dtype(dtype)
    own = x.dtype
    if own == wanted:
        return x
    if own.is_integer and wanted.is_integer:
        low, high = own.max, wanted.max
        if low > high:
            scale = (low + 1) // (high + 1)
            return cast(made(x.array // x.array.dtype.type(scale)), wanted)
        return made(cast(x, wanted).array * wanted.numpy.type((high + 1) // (low + 1)))
    if own.is_floating and wanted.is_floating:
        return cast(x, wanted)
    if own.is_integer:
        return S.multiply(cast(x, wanted), wanted.numpy.type(1.0 / own.max))
    scaled = np.asarray(x.array) * x.array.dtype.type(wanted.max + 0.5)
    if saturate:
        scaled = np.clip(scaled, wanted.min, wanted.max)
    return fresh(scaled.astype(wanted.numpy))
