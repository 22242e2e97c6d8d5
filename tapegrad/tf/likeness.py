"""What is measured of images: differences of neighbouring pixels, and how alike two images are."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.dtypes import as_dtype
from tapegrad.tf.errors import invalid
from tapegrad.tf.image_values import convert_image_dtype
from tapegrad.tf.image_values import images as _images
from tapegrad.tf.operators import shape_text
from tapegrad.tf.reducing import reduce_mean, reduce_sum
from tapegrad.tf.shaping import pad
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


# -- neighbours ----------------------------------------------------------------------------------------------------
def total_variation(images: Any, name: str | None = None) -> Tensor:
    """The sum of the differences of neighbouring pixels."""
    x = _images(images)
    every = slice(None)
    down = S.subtract(S.getitem(x, (..., slice(1, None), every, every)), S.getitem(x, (..., slice(0, -1), every, every)))
    right = S.subtract(S.getitem(x, (..., slice(1, None), slice(None))), S.getitem(x, (..., slice(0, -1), slice(None))))
    axes = [-3, -2, -1]
    return S.add(reduce_sum(S.abs(down), axes), reduce_sum(S.abs(right), axes))


def image_gradients(image: Any) -> tuple[Tensor, Tensor]:
    """The differences of neighbouring pixels downwards and to the right; zeros in the last row and column."""
    x = convert(image)
    if x.array.ndim != 4:
        raise ValueError("image_gradients expects a 4D tensor [batch_size, h, w, d]")
    down = S.subtract(S.getitem(x, (slice(None), slice(1, None))), S.getitem(x, (slice(None), slice(0, -1))))
    right = S.subtract(
        S.getitem(x, (slice(None), slice(None), slice(1, None))), S.getitem(x, (slice(None), slice(None), slice(0, -1)))
    )
    return pad(down, [[0, 0], [0, 1], [0, 0], [0, 0]]), pad(right, [[0, 0], [0, 0], [0, 1], [0, 0]])


def sobel_edges(image: Any) -> Tensor:
    """Sobel's differences downwards and to the right, (n, h, w, c, 2)."""
    from tapegrad.tf.nn_windows import depthwise_conv2d

    x = convert(image)
    c = x.array.shape[-1]
    kernel = np.asarray([[-1, -2, -1], [0, 0, 0], [1, 2, 1]], x.array.dtype)
    both = np.stack([kernel, kernel.T], axis=-1)[:, :, None, :].repeat(c, axis=2)
    y = depthwise_conv2d(pad(x, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT"), both, [1, 1, 1, 1], "VALID")
    return S.reshape(y, (*x.array.shape, 2))


def psnr(a: Any, b: Any, max_val: Any, name: str | None = None) -> Tensor:
    """The ratio of the largest value to the error, in decibels."""
    top = convert_image_dtype(convert(max_val, convert(a).array.dtype, prefer=True), np.float32)
    x, y = (convert_image_dtype(v, np.float32) for v in (a, b))
    error = reduce_mean(S.square(S.subtract(x, y)), [-3, -2, -1])
    ten = np.float32(10 / np.log(10))
    return S.subtract(S.multiply(S.log(top), 2 * ten), S.multiply(S.log(error), ten))


# -- alike ---------------------------------------------------------------------------------------------------------
def ssim(
    img1: Any,
    img2: Any,
    max_val: Any,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
    return_index_map: bool = False,
) -> Tensor:
    """How alike images are, 1 for equal ones: brightness, contrast and structure in Gaussian windows (Wang et al. 2004, equation 13)."""
    a, b, top = _compared(img1, img2, max_val)
    found, _ = _alike(a, b, top, filter_size, filter_sigma, k1, k2)
    return S.mean(found, axis=-1) if return_index_map else S.mean(S.mean(found, axis=(-3, -2)), axis=-1)


def ssim_multiscale(
    img1: Any,
    img2: Any,
    max_val: Any,
    power_factors: Any = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333),
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """How alike images are at several sizes, each half of the one before (Wang et al. 2003, equation 7)."""
    a, b, top = _compared(img1, img2, max_val)
    factors = [float(p) for p in power_factors]
    found = None
    for k, power in enumerate(factors):
        a, b = (a, b) if not k else (_halved(a), _halved(b))
        whole, contrast = _alike(a, b, top, filter_size, filter_sigma, k1, k2)
        part = S.relu(S.mean(whole if k == len(factors) - 1 else contrast, axis=(-3, -2)))
        part = S.pow(part, np.float32(power))
        found = part if found is None else S.multiply(found, part)
    return S.mean(found, axis=-1)


def _halved(x: Tensor) -> Tensor:
    """An image of half the size, an odd one with its border twice: the mean of each two by two elements."""
    for axis in (-3, -2):
        n = x.array.shape[axis]
        if n % 2:
            x = S.concat([x, S.getitem(x, (..., slice(n - 1, n), *[slice(None)] * (-axis - 1)))], axis=axis)
        front, back = x.array.shape[:axis], x.array.shape[x.array.ndim + axis + 1 :]
        x = S.mean(S.reshape(x, (*front, -1, 2, *back)), axis=axis)
    return x


def _compared(img1: Any, img2: Any, max_val: Any) -> tuple[Tensor, Tensor, float]:
    """Two images as floats, and their largest value."""
    top = float(host(max_val)) / (1 if convert(img1).dtype.is_floating else float(as_dtype(convert(img1).dtype).max))
    a, b = (convert_image_dtype(v, np.float32) for v in (img1, img2))
    return a, b, top


def _alike(a: Tensor, b: Tensor, top: float, filter_size: int, filter_sigma: float, k1: float, k2: float) -> tuple[Tensor, Tensor]:
    """How alike each window of two images is, and how alike without their brightness."""
    for x in (a, b):
        if x.array.ndim < 3 or min(x.array.shape[-3:-1]) < filter_size:
            raise invalid(None, f"ssim: images must be at least {filter_size} by {filter_size}, got {shape_text(x.array)}")
    place = np.arange(filter_size) - (filter_size - 1) / 2
    bell = np.exp(-(place**2) / (2 * filter_sigma**2))
    bell = (bell / bell.sum()).astype(np.float32)

    def smooth(x: Tensor) -> Tensor:
        for axis in (-3, -2):
            x = _windowed(x, bell, axis)
        return x

    c1, c2 = np.float32((k1 * top) ** 2), np.float32((k2 * top) ** 2)
    ma, mb = smooth(a), smooth(b)
    product, squares = S.multiply(np.float32(2), S.multiply(ma, mb)), S.add(S.square(ma), S.square(mb))
    bright = S.divide(S.add(product, c1), S.add(squares, c1))
    together = S.subtract(S.multiply(np.float32(2), smooth(S.multiply(a, b))), product)
    apart = S.subtract(smooth(S.add(S.square(a), S.square(b))), squares)
    contrast = S.divide(S.add(together, c2), S.add(apart, c2))
    return S.multiply(bright, contrast), contrast


def _windowed(x: Tensor, weights: Any, axis: int) -> Tensor:
    """The weighted mean of each window along an axis."""
    n = x.array.shape[axis] - len(weights) + 1
    index = np.arange(n)[:, None] + np.arange(len(weights))
    front = x.array.ndim + axis
    windows = S.getitem(x, (*[slice(None)] * front, index))
    shape = (len(weights),) + (1,) * (-axis - 1)
    return S.sum(S.multiply(windows, fresh(weights.reshape(shape))), axis=front + 1)
