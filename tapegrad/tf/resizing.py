"""Images of another size: each axis by a matrix of weights, so that derivatives are those of a product."""

from __future__ import annotations

from enum import Enum
from typing import Any

import numpy as np

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


def _triangle(x: Any) -> Any:
    return np.maximum(1 - np.abs(x), 0)


def _cubic(a: float) -> Any:
    def kernel(x: Any) -> Any:
        x = np.abs(x)
        near = (a + 2) * x**3 - (a + 3) * x**2 + 1
        far = a * x**3 - 5 * a * x**2 + 8 * a * x - 4 * a
        return np.where(x <= 1, near, np.where(x < 2, far, 0))

    return kernel


def _mitchell(x: Any) -> Any:
    x = np.abs(x)
    near = (7 * x**3 - 12 * x**2 + 16 / 3) / 6
    far = (-7 / 3 * x**3 + 12 * x**2 - 20 * x + 32 / 3) / 6
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def _lanczos(r: int) -> Any:
    return lambda x: np.where(np.abs(x) < r, np.sinc(x) * np.sinc(x / r), 0)


#: Kernel and radius by name.
_KERNELS: dict[str, tuple[Any, float]] = {
    "bilinear": (_triangle, 1),
    "bicubic": (_cubic(-0.5), 2),
    "mitchellcubic": (_mitchell, 2),
    "lanczos3": (_lanczos(3), 3),
    "lanczos5": (_lanczos(5), 5),
    "gaussian": (lambda x: np.where(np.abs(x) < 1.5, np.exp(-2 * np.asarray(x) ** 2), 0), 1.5),
}


def weights(n: int, out: int, method: str, antialias: bool) -> Any:
    """How much each of n pixels gives to each of `out`: (out, n)."""
    ratio = n / out
    if method == "area":
        edges = np.arange(out + 1) * ratio
        low, high = edges[:-1, None], edges[1:, None]
        pixel = np.arange(n)[None, :]
        found = np.clip(np.minimum(high, pixel + 1) - np.maximum(low, pixel), 0, None)
        return found / found.sum(axis=1, keepdims=True)
    kernel, _ = _KERNELS[method]
    stretch = max(ratio, 1.0) if antialias else 1.0
    centre = (np.arange(out)[:, None] + 0.5) * ratio - 0.5
    if method == "bilinear" and stretch == 1:
        centre = np.clip(centre, 0, n - 1)
    found = kernel((np.arange(n)[None, :] - centre) / stretch)
    total = found.sum(axis=1, keepdims=True)
    return found / np.where(np.abs(total) > 1e-8, total, 1)


def _method(method: Any) -> str:
    if isinstance(method, Enum):
        method = method.value
    known = (*_KERNELS, "area", "nearest")
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
    height, width = (int(n) for n in host(size))
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
            matrix = fresh(weights(n, out, name, antialias).astype(dtype))
            x = S.moveaxis(S.tensordot(matrix, x, axes=([1], [axis + k])), 0, axis + k)
    return cast(x, float32) if dtype != np.float32 else x
