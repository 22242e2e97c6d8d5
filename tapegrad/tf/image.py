"""`tf.image`: images (height, width, channels), or batches of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf import boxes as _boxes
from tapegrad.tf import io as _io
from tapegrad.tf import likeness as _likeness
from tapegrad.tf import suppression as _suppression
from tapegrad.tf.convert import cast, convert, fresh, host
from tapegrad.tf.errors import InvalidArgumentError
from tapegrad.tf.export import missing
from tapegrad.tf.image_values import convert_image_dtype, images
from tapegrad.tf.random_functions import uniform
from tapegrad.tf.random_stateless import stateless_uniform
from tapegrad.tf.resizing import ResizeMethod, resized
from tapegrad.tf.shaping import pad
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor

__all__ = ["ResizeMethod", "convert_image_dtype"]

crop_and_resize, draw_bounding_boxes, extract_patches = _boxes.crop_and_resize, _boxes.draw_bounding_boxes, _boxes.extract_patches
rgb_to_yiq, yiq_to_rgb, rgb_to_yuv, yuv_to_rgb = _boxes.rgb_to_yiq, _boxes.yiq_to_rgb, _boxes.rgb_to_yuv, _boxes.yuv_to_rgb
total_variation, image_gradients, sobel_edges = _likeness.total_variation, _likeness.image_gradients, _likeness.sobel_edges
psnr, ssim, ssim_multiscale = _likeness.psnr, _likeness.ssim, _likeness.ssim_multiscale
non_max_suppression, non_max_suppression_padded = _suppression.non_max_suppression, _suppression.non_max_suppression_padded
non_max_suppression_with_scores = _suppression.non_max_suppression_with_scores
non_max_suppression_overlaps = _suppression.non_max_suppression_overlaps
combined_non_max_suppression = _suppression.combined_non_max_suppression
decode_image, decode_jpeg, decode_png, decode_bmp = _io.decode_image, _io.decode_jpeg, _io.decode_png, _io.decode_bmp
encode_png, encode_jpeg, is_jpeg = _io.encode_png, _io.encode_jpeg, _io.is_jpeg


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
    x = images(image)
    h, w = x.array.shape[-3:-1]
    height, width = int(target_height), int(target_width)
    ratio = max(w / width, h / height)
    inner = int(np.floor(h / ratio)), int(np.floor(w / ratio))
    y = resized(x, inner, method, False, antialias)
    top, left = int((height - h / ratio) // 2), int((width - w / ratio) // 2)
    return pad_to_bounding_box(y, max(top, 0), max(left, 0), height, width)


def crop_to_bounding_box(image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any) -> Tensor:
    """A part of an image."""
    x = images(image)
    top, left, height, width = (int(v) for v in (offset_height, offset_width, target_height, target_width))
    h, w = x.array.shape[-3:-1]
    if top < 0 or left < 0 or height <= 0 or width <= 0 or h < top + height or w < left + width:
        raise _misplaced("crop_to_bounding_box", (top, left), (height, width), (h, w), outside=(height + top > h, width + left > w))
    return S.getitem(x, (..., slice(top, top + height), slice(left, left + width), slice(None)))


def _misplaced(name: str, offset: Any, target: Any, size: Any, *, outside: Any) -> ValueError:
    """What is wrong with a box in an image, or an image in a box."""
    said = []
    if 0 in size:
        said.append("inner 3 dims of 'image.shape' must be > 0")
    for what, at, n, out in zip(("height", "width"), offset, target, outside, strict=True):
        if at < 0:
            said.append(f"offset_{what} must be >= 0")
        if n <= 0:
            said.append(f"target_{what} must be > 0")
        if out:
            said.append(f"{what} must be {'>= target + offset' if name.startswith('crop') else '<= target - offset'}")
    return ValueError(f"{name}: {'; '.join(said)}: {target[0]} x {target[1]} at {tuple(offset)}, image {size[0]} x {size[1]}")


def pad_to_bounding_box(image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any) -> Tensor:
    """An image with zeros around it."""
    x = images(image)
    top, left, height, width = (int(v) for v in (offset_height, offset_width, target_height, target_width))
    h, w = x.array.shape[-3:-1]
    below, right = height - top - h, width - left - w
    if min(top, left, below, right) < 0:
        raise ValueError(f"pad_to_bounding_box: an image of {h} x {w} at ({top}, {left}) does not fit into {height} x {width}")
    return pad(x, [*[[0, 0]] * (x.array.ndim - 3), [top, below], [left, right], [0, 0]])


def resize_with_crop_or_pad(image: Any, target_height: Any, target_width: Any) -> Tensor:
    """An image cut, or with zeros around it, to a size, about its middle."""
    x = images(image)
    h, w = x.array.shape[-3:-1]
    height, width = int(target_height), int(target_width)
    x = crop_to_bounding_box(x, max((h - height) // 2, 0), max((w - width) // 2, 0), min(h, height), min(w, width))
    return pad_to_bounding_box(x, max((height - h) // 2, 0), max((width - w) // 2, 0), height, width)


def central_crop(image: Any, central_fraction: Any) -> Tensor:
    """The middle of an image."""
    x, part = images(image), float(central_fraction)
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
    return S.flip(images(image), axis=-2)


def flip_up_down(image: Any) -> Tensor:
    """An image mirrored top to bottom."""
    return S.flip(images(image), axis=-3)


def transpose(image: Any, name: str | None = None) -> Tensor:
    """An image with height and width exchanged."""
    x = images(image)
    return S.moveaxis(x, -3, -2)


def rot90(image: Any, k: Any = 1, name: str | None = None) -> Tensor:
    """An image turned by 90 degrees, counter-clockwise, k times."""
    return S.rot90(images(image), k=int(k), axes=(-3, -2))


def _flipped(image: Any, seed: Any, axis: int) -> Tensor:
    x = images(image)
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
    x = images(image)
    return S.flip(x, axis=-2) if float(stateless_uniform([], seed, 0, 1.0)) < 0.5 else x


def stateless_random_flip_up_down(image: Any, seed: Any) -> Tensor:
    """An image mirrored top to bottom, or not, as a seed says."""
    x = images(image)
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
    if not x.array.ndim or x.array.shape[-1] != 1:
        raise ValueError(f"Last dimension of a grayscale image should be size 1, got shape {x.shape}.")
    return S.broadcast_to(x, (*x.array.shape[:-1], 3))


def adjust_brightness(image: Any, delta: Any) -> Tensor:
    """A lighter, or darker, image."""
    return _through_floats(image, lambda x: S.add(x, convert(delta, x.array.dtype, prefer=True)))


def adjust_contrast(images: Any, contrast_factor: Any) -> Tensor:
    """Each channel's distance from its mean scaled."""

    def stretched(x: Tensor) -> Tensor:
        mean = S.mean(x, axis=(-3, -2), keepdims=True)
        factor = convert(contrast_factor, x.array.dtype, prefer=True)
        if factor.array.shape:
            raise InvalidArgumentError(None, None, f"contrast_factor must be scalar: {list(factor.array.shape)} [Op:AdjustContrastv2]")
        return S.add(S.multiply(S.subtract(x, mean), factor), mean)

    return _through_floats(images, stretched)


def adjust_gamma(image: Any, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """gain * image ** gamma."""
    if float(gamma) < 0:
        raise InvalidArgumentError(None, None, f"Gamma should be a non-negative real number, got {float(gamma)}")
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
    x = images(image)
    x = x if x.dtype.is_floating else cast(x, np.float32)
    axes = (-3, -2, -1)
    size = x.array.dtype.type(np.prod(x.array.shape[-3:]))
    spread = S.maximum(S.std(x, axis=axes, keepdims=True), 1 / np.sqrt(size))
    return S.divide(S.subtract(x, S.mean(x, axis=axes, keepdims=True)), spread)


def __getattr__(name: str) -> Any:
    raise AttributeError(missing(__name__, name, globals()), name=name)
