"""How much each pixel of a row gives to each pixel of a row of another length: the weights of a resampling."""

from __future__ import annotations

from typing import Any

import numpy as np


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


#: Kernels by name.
KERNELS: dict[str, Any] = {
    "bilinear": _triangle,
    "bicubic": _cubic(-0.5),
    "mitchellcubic": _mitchell,
    "lanczos3": _lanczos(3),
    "lanczos5": _lanczos(5),
    "gaussian": lambda x: np.where(np.abs(x) < 1.5, np.exp(-2 * np.asarray(x) ** 2), 0),
}


def weights(n: int, out: int, method: str, *, antialias: bool, ratio: float | None = None) -> Any:
    """How much each of n pixels gives to each of `out`: (out, n); rows add up to 1.

    * `antialias`: where pixels become larger, kernels do too, so that no pixel is passed over.
    * `ratio`: of how many pixels one becomes; n / out if not given.

    >>> weights(4, 2, "bilinear", antialias=True).round(3)
    array([[0.429, 0.429, 0.143, 0.   ],
           [0.   , 0.143, 0.429, 0.429]])
    """
    ratio = n / out if ratio is None else ratio
    if method == "area":
        edges = np.arange(out + 1) * ratio
        low, high = edges[:-1, None], edges[1:, None]
        pixel = np.arange(n)[None, :]
        found = np.clip(np.minimum(high, pixel + 1) - np.maximum(low, pixel), 0, None)
        return found / found.sum(axis=1, keepdims=True)
    stretch = max(ratio, 1.0) if antialias else 1.0
    centre = (np.arange(out)[:, None] + 0.5) * ratio - 0.5
    if method == "bilinear" and stretch == 1:
        centre = np.clip(centre, 0, n - 1)
    found = KERNELS[method]((np.arange(n)[None, :] - centre) / stretch)
    total = found.sum(axis=1, keepdims=True)
    return found / np.where(np.abs(total) > 1e-8, total, 1)
