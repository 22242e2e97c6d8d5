"""`tf.image`: images (height, width, channels), or batches of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf import boxes as _boxes
from tapegrad.tf import io as _io
from tapegrad.tf.convert import cast, convert, fresh, host
from tapegrad.tf.dtypes import as_dtype
from tapegrad.tf.errors import InvalidArgumentError
from tapegrad.tf.export import missing
from tapegrad.tf.random_functions import uniform
from tapegrad.tf.random_stateless import stateless_uniform
from tapegrad.tf.reducing import reduce_mean, reduce_sum
from tapegrad.tf.resizing import ResizeMethod, resized
from tapegrad.tf.shaping import pad
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor, made

__all__ = ["ResizeMethod"]

crop_and_resize, draw_bounding_boxes, extract_patches = _boxes.crop_and_resize, _boxes.draw_bounding_boxes, _boxes.extract_patches
rgb_to_yiq, yiq_to_rgb, rgb_to_yuv, yuv_to_rgb = _boxes.rgb_to_yiq, _boxes.yiq_to_rgb, _boxes.rgb_to_yuv, _boxes.yuv_to_rgb
ssim = _boxes.ssim
decode_image, decode_jpeg, decode_png, decode_bmp = _io.decode_image, _io.decode_jpeg, _io.decode_png, _io.decode_bmp
encode_png, encode_jpeg, is_jpeg = _io.encode_png, _io.encode_jpeg, _io.is_jpeg


def _image(x: Any) -> Tensor:
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


def resize(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images in another size (height, width)."""
    return resized(images, size, method, preserve_aspect_ratio, antialias)


def resize_with_pad(
    image: Any, target_height: Any, target_width: Any, method: Any = ResizeMethod.BILINEAR, antialias: bool = False
) -> Tensor:
    """An image that keeps its proportions, with black around it."""
    x = _image(image)
    h, w = x.array.shape[-3:-1]
    height, width = int(target_height), int(target_width)
    ratio = max(w / width, h / height)
    inner = int(np.floor(h / ratio)), int(np.floor(w / ratio))
    y = resized(x, inner, method, False, antialias)
    top, left = int((height - h / ratio) // 2), int((width - w / ratio) // 2)
    return pad_to_bounding_box(y, max(top, 0), max(left, 0), height, width)


def crop_to_bounding_box(image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any) -> Tensor:
    """A part of an image."""
    x = _image(image)
    top, left, height, width = (int(v) for v in (offset_height, offset_width, target_height, target_width))
    h, w = x.array.shape[-3:-1]
    if top < 0 or left < 0 or height <= 0 or width <= 0 or h < top + height or w < left + width:
        raise ValueError(f"crop_to_bounding_box: {height} x {width} at ({top}, {left}) is not within an image of {h} x {w}")
    return S.getitem(x, (..., slice(top, top + height), slice(left, left + width), slice(None)))


def pad_to_bounding_box(image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any) -> Tensor:
    """An image with zeros around it."""
    x = _image(image)
    top, left, height, width = (int(v) for v in (offset_height, offset_width, target_height, target_width))
    h, w = x.array.shape[-3:-1]
    below, right = height - top - h, width - left - w
    if min(top, left, below, right) < 0:
        raise ValueError(f"pad_to_bounding_box: an image of {h} x {w} at ({top}, {left}) does not fit into {height} x {width}")
    return pad(x, [*[[0, 0]] * (x.array.ndim - 3), [top, below], [left, right], [0, 0]])


def resize_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """An image cut, or with zeros around it, to a size, about its middle."""
    x = _image(image)
    h, w = x.array.shape[-3:-1]
    height, width = int(target_height), int(target_width)
    x = crop_to_bounding_box(x, max((h - height) // 2, 0), max((w - width) // 2, 0), min(h, height), min(w, width))
    return pad_to_bounding_box(x, max((height - h) // 2, 0), max((width - w) // 2, 0), height, width)


def central_crop(image: Any, central_fraction: Any) -> Tensor:
    """The middle of an image."""
    x, part = _image(image), float(central_fraction)
    if not 0 < part <= 1:
        raise ValueError("central_fraction must be within (0, 1]")
    h, w = x.array.shape[-3:-1]
    top, left = int((h - h * part) / 2), int((w - w * part) / 2)
    return crop_to_bounding_box(x, top, left, h - 2 * top, w - 2 * left)


def random_crop(value: Any, size: Any, seed: Any = None, name: str | None = None) -> Tensor:
    """A part of that size at a random place."""
    return _cropped(value, size, lambda n: uniform([n], maxval=2**31 - 1, dtype=np.int32, seed=seed))


def _cropped(value: Any, size: Any, draw: Any) -> Tensor:
    x = convert(value)
    wanted = host(size).astype(np.int64)
    shape = np.asarray(x.array.shape)
    if (shape < wanted).any():
        raise InvalidArgumentError(None, None, f"Need value.shape >= size, got {shape.tolist()} and {wanted.tolist()}")
    drawn = np.asarray(draw(len(shape)).array)
    first = drawn % (shape - wanted + 1)
    return S.getitem(x, tuple(slice(int(a), int(a + n)) for a, n in zip(first, wanted, strict=True)))


# -- turning ----------------------------------------------------------------------------------------------------
def flip_left_right(image: Any) -> Tensor:
    """An image mirrored left to right."""
    return S.flip(_image(image), axis=-2)


def flip_up_down(image: Any) -> Tensor:
    """An image mirrored top to bottom."""
    return S.flip(_image(image), axis=-3)


def transpose(image: Any, name: str | None = None) -> Tensor:
    """An image with height and width exchanged."""
    x = _image(image)
    return S.moveaxis(x, -3, -2)


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """An image turned by 90 degrees, counter-clockwise, k times."""
    return S.rot90(_image(image), k=int(k), axes=(-3, -2))


def _flipped(image: Any, seed: Any, axis: int) -> Tensor:
    x = _image(image)
    if x.array.ndim == 3:
        return S.flip(x, axis=axis) if float(uniform([], 0, 1.0, seed=seed)) < 0.5 else x
    turns = np.round(np.asarray(uniform([x.array.shape[0]], seed=seed).array)).reshape(-1, 1, 1, 1) > 0
    return S.where(fresh(turns), S.flip(x, axis=axis), x)


def random_flip_left_right(image: Any, seed: Any = None) -> Tensor:
    """An image mirrored left to right, or not."""
    return _flipped(image, seed, -2)


def random_flip_up_down(image: Any, seed: Any = None) -> Tensor:
    """An image mirrored top to bottom, or not."""
    return _flipped(image, seed, -3)


def stateless_random_flip_left_right(image: Any, seed: Any) -> Tensor:
    """An image mirrored left to right, or not, as a seed says."""
    x = _image(image)
    return S.flip(x, axis=-2) if float(stateless_uniform([], seed, 0, 1.0)) < 0.5 else x


def stateless_random_flip_up_down(image: Any, seed: Any) -> Tensor:
    """An image mirrored top to bottom, or not, as a seed says."""
    x = _image(image)
    return S.flip(x, axis=-3) if float(stateless_uniform([], seed, 0, 1.0)) < 0.5 else x


def stateless_random_crop(value: Any, size: Any, seed: Any, name: str | None = None) -> Tensor:
    """A part of that size at a place that a seed says."""
    return _cropped(value, size, lambda n: stateless_uniform([n], seed, 0, 2**31 - 1, np.int32))


def stateless_random_brightness(image: Any, max_delta: Any, seed: Any) -> Tensor:
    """A lighter, or darker, image, as a seed says."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, stateless_uniform([], seed, -max_delta, max_delta))


def stateless_random_contrast(image: Any, lower: Any, upper: Any, seed: Any) -> Tensor:
    """More, or less, contrast, as a seed says."""
    if not 0 <= lower < upper:
        raise ValueError("lower must be non-negative and upper > lower.")
    return adjust_contrast(image, stateless_uniform([], seed, lower, upper))


def stateless_random_saturation(image: Any, lower: Any, upper: Any, seed: Any | None = None) -> Tensor:
    """Colours stronger, or weaker, as a seed says."""
    if not 0 <= lower < upper:
        raise ValueError("lower must be non-negative and upper > lower.")
    return adjust_saturation(image, stateless_uniform([], seed, lower, upper))


def stateless_random_hue(image: Any, max_delta: Any, seed: Any) -> Tensor:
    """Colours turned by a part of the circle, as a seed says."""
    if not 0 <= max_delta <= 0.5:
        raise ValueError("max_delta must be <= 0.5 and non-negative.")
    return adjust_hue(image, stateless_uniform([], seed, -max_delta, max_delta))


# -- colours ----------------------------------------------------------------------------------------------------
def _through_floats(image: Any, f: Any) -> Tensor:
    """A function of an image of floats, for an image of any dtype."""
    x = convert(image)
    own = x.dtype
    y = f(x if own.is_floating else convert_image_dtype(x, np.float32))
    return y if own.is_floating else convert_image_dtype(y, own, saturate=True)


def rgb_to_grayscale(images: Any, name: str | None = None) -> Tensor:
    """One channel of three."""

    def grey(x: Tensor) -> Tensor:
        share = np.asarray([0.2989, 0.5870, 0.1140], x.array.dtype)
        return S.expand_dims(S.tensordot(x, fresh(share), axes=([-1], [-1])), axis=-1)

    return _through_floats(images, grey)


def grayscale_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Three channels of one."""
    x = convert(images)
    return S.broadcast_to(x, (*x.array.shape[:-1], 3))


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """A lighter, or darker, image."""
    return _through_floats(image, lambda x: S.add(x, convert(delta, x.array.dtype, prefer=True)))


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Each channel's distance from its mean scaled."""

    def stretched(x: Tensor) -> Tensor:
        mean = S.mean(x, axis=(-3, -2), keepdims=True)
        return S.add(S.multiply(S.subtract(x, mean), convert(contrast_factor, x.array.dtype, prefer=True)), mean)

    return _through_floats(images, stretched)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """gain * image ** gamma."""
    return _through_floats(image, lambda x: S.multiply(S.pow(x, float(gamma)), float(gain)))


def rgb_to_hsv(images: Any, name: str | None = None) -> Tensor:
    """Hue, saturation and value of red, green and blue."""
    x = convert(images)
    r, g, b = (S.getitem(x, (..., k)) for k in range(3))
    top = S.max(x, axis=-1)
    span = S.subtract(top, S.min(x, axis=-1))
    one = x.array.dtype.type(1)
    zero = x.array.dtype.type(0)
    flat = S.equal(span, 0)
    safe = S.where(flat, one, span)
    of_r = S.divide(S.subtract(g, b), S.multiply(safe, 6))
    of_g = S.add(S.divide(S.subtract(b, r), S.multiply(safe, 6)), 2 / 6)
    of_b = S.add(S.divide(S.subtract(r, g), S.multiply(safe, 6)), 4 / 6)
    hue = S.where(S.equal(r, top), of_r, S.where(S.equal(g, top), of_g, of_b))
    hue = S.where(flat, zero, hue)
    hue = S.where(S.less(hue, 0), S.add(hue, 1), hue)
    saturation = S.where(S.greater(top, 0), S.divide(span, S.where(S.greater(top, 0), top, one)), zero)
    return S.stack([hue, saturation, top], axis=-1)


def hsv_to_rgb(images: Any, name: str | None = None) -> Tensor:
    """Red, green and blue of hue, saturation and value."""
    x = convert(images)
    h, s, v = (S.getitem(x, (..., k)) for k in range(3))
    six = S.multiply(h, 6)
    parts = (
        S.clip(S.subtract(S.abs(S.subtract(six, 3)), 1), 0.0, 1.0),
        S.clip(S.subtract(2, S.abs(S.subtract(six, 2))), 0.0, 1.0),
        S.clip(S.subtract(2, S.abs(S.subtract(six, 4))), 0.0, 1.0),
    )
    return S.stack([S.multiply(v, S.add(S.subtract(1, s), S.multiply(s, p))) for p in parts], axis=-1)


def adjust_hue(image: Any, delta: Any, name: str | None = None) -> Tensor:
    """Colours turned."""

    def turned(x: Tensor) -> Tensor:
        hsv = rgb_to_hsv(x)
        hue = S.remainder(S.add(S.getitem(hsv, (..., slice(0, 1))), float(delta)), 1)
        return hsv_to_rgb(S.concat([hue, S.getitem(hsv, (..., slice(1, 3)))], axis=-1))

    return _through_floats(image, turned)


def adjust_saturation(image: Any, saturation_factor: Any, name: str | None = None) -> Tensor:
    """Colours stronger, or weaker."""

    def stronger(x: Tensor) -> Tensor:
        hsv = rgb_to_hsv(x)
        s = S.clip(S.multiply(S.getitem(hsv, (..., slice(1, 2))), float(saturation_factor)), 0.0, 1.0)
        return hsv_to_rgb(S.concat([S.getitem(hsv, (..., slice(0, 1))), s, S.getitem(hsv, (..., slice(2, 3)))], axis=-1))

    return _through_floats(image, stronger)


def random_brightness(image: Any, max_delta: Any, seed: Any = None) -> Tensor:
    """A lighter, or darker, image."""
    if max_delta < 0:
        raise ValueError("max_delta must be non-negative.")
    return adjust_brightness(image, uniform([], -max_delta, max_delta, seed=seed))


def random_contrast(image: Any, lower: Any, upper: Any, seed: Any = None) -> Tensor:
    """More, or less, contrast."""
    if not 0 <= lower < upper:
        raise ValueError("lower must be non-negative and upper > lower.")
    return adjust_contrast(image, uniform([], lower, upper, seed=seed))


def random_saturation(image: Any, lower: Any, upper: Any, seed: Any = None) -> Tensor:
    """Colours stronger, or weaker."""
    if not 0 <= lower < upper:
        raise ValueError("lower must be non-negative and upper > lower.")
    return adjust_saturation(image, uniform([], lower, upper, seed=seed))


def random_hue(image: Any, max_delta: Any, seed: Any = None) -> Tensor:
    """Colours turned."""
    if not 0 <= max_delta <= 0.5:
        raise ValueError("max_delta must be in [0, 0.5].")
    return adjust_hue(image, uniform([], -max_delta, max_delta, seed=seed))


def per_image_standardization(image: Any) -> Tensor:
    """Mean 0 and variance 1 for each image."""
    x = _image(image)
    x = x if x.dtype.is_floating else cast(x, np.float32)
    axes = (-3, -2, -1)
    size = x.array.dtype.type(np.prod(x.array.shape[-3:]))
    spread = S.maximum(S.std(x, axis=axes, keepdims=True), 1 / np.sqrt(size))
    return S.divide(S.subtract(x, S.mean(x, axis=axes, keepdims=True)), spread)


# -- measures ----------------------------------------------------------------------------------------------------
def total_variation(images: Any, name: str | None = None) -> Tensor:
    """The sum of the differences of neighbouring pixels."""
    x = _image(images)
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


def non_max_suppression(
    boxes: Any,
    scores: Any,
    max_output_size: Any,
    iou_threshold: Any = 0.5,
    score_threshold: Any = float("-inf"),
    name: str | None = None,
) -> Tensor:
    """The numbers of the boxes that do not overlap a better one, the best first."""
    box, score = host(boxes), host(scores)
    corners = np.concatenate([np.minimum(box[:, :2], box[:, 2:]), np.maximum(box[:, :2], box[:, 2:])], axis=1)
    area = np.prod(corners[:, 2:] - corners[:, :2], axis=1)
    kept: list[int] = []
    for k in np.argsort(-score, kind="stable"):
        if len(kept) >= int(max_output_size) or score[k] <= float(score_threshold):
            break
        inner = np.maximum(np.minimum(corners[k, 2:], corners[kept, 2:]) - np.maximum(corners[k, :2], corners[kept, :2]), 0)
        shared = np.prod(inner, axis=1)
        if not np.any(shared / np.maximum(area[k] + area[kept] - shared, 1e-30) > float(iou_threshold)):
            kept.append(int(k))
    return fresh(np.asarray(kept, np.int32))


def __getattr__(name: str) -> Any:
    raise AttributeError(missing(__name__, name, globals()), name=name)
