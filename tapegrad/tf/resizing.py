"""Images of another size: each axis by a matrix of weights, so that derivatives are those of a product."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

from tapegrad.ops.resampling import KERNELS, weights
from tapegrad.tf.convert import cast, convert, fresh, host
from tapegrad.tf.dtypes import float32
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


class ResizeMethod:
    """The names of the ways to resize."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


def _method(method: Any) -> str:
    if isinstance(method, Enum):
        method = method.value
    known = (*KERNELS, "area", "nearest")
    numbered = {0: "bilinear", 1: "nearest", 2: "bicubic", 3: "area"}
    name = numbered.get(method, method)
    if name not in known:
        raise ValueError(f"Resize method is not implemented: {method!r}; there are {', '.join(known)}")
    return name


def resized(images: Any, size: Any, method: Any, preserve: bool, antialias: bool) -> Tensor:
    """Images (..., h, w, c) in another size; floats, but for "nearest", which keeps the dtype."""
    x = convert(images)
    if x.array.ndim not in (3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    name = _method(method)
    wanted = host(size)
    if wanted.shape != (2,):
        raise ValueError(f"'size' must be a 1-D Tensor of 2 elements: new_height, new_width; got shape {wanted.shape}")
    if wanted.dtype.kind not in "iu":
        raise ValueError(f"'size' must be a 1-D int32 Tensor, got {wanted.dtype}")
    height, width = (int(n) for n in wanted)
    h, w = x.array.shape[-3:-1]
    if preserve and (height, width) != (h, w):
        scale = min(height / h, width / w)
        height, width = max(round(h * scale), 1), max(round(w * scale), 1)
    axis = x.array.ndim - 3
    if (height, width) == (h, w):
        return x if name == "nearest" else cast(x, float32) if x.array.dtype.kind in "iub" else x
    if name == "nearest":
        for k, (n, out) in enumerate(((h, height), (w, width))):
            place = np.minimum(np.floor((np.arange(out) + 0.5) * (n / out)).astype(np.int64), n - 1)
            x = S.take(x, place, axis=axis + k)
        return x
    if x.array.dtype.kind in "iub" or x.array.dtype.itemsize < 4:
        x = cast(x, float32)
    dtype = x.array.dtype
    for k, (n, out) in enumerate(((h, height), (w, width))):
        if n != out:
            matrix = fresh(weights(n, out, name, antialias=antialias).astype(dtype))
            x = S.moveaxis(S.tensordot(matrix, x, axes=([1], [axis + k])), 0, axis + k)
    return cast(x, float32) if dtype != np.float32 else x
