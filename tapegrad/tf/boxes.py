"""Boxes and patches of images: what `tf.image` draws, cuts out, resizes and collects."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.errors import OutOfRangeError, invalid
from tapegrad.tf.operators import shape_text
from tapegrad.tf.shaping import pad
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor

#: What boxes are drawn in where no colours are given, one after the other: (red, green, blue, opacity).
_COLOURS = np.array(
    [
        *([1, 1, 0, 1], [0, 0, 1, 1], [1, 0, 0, 1], [0, 1, 0, 1], [0.5, 0, 0.5, 1]),
        *([0.5, 0.5, 0, 1], [0.5, 0, 0, 1], [0, 0, 0.5, 1], [0, 1, 1, 1], [1, 0, 1, 1]),
    ]
)


def draw_bounding_boxes(images: Any, boxes: Any, colors: Any, name: str | None = None) -> Tensor:
    """Images with the outlines of boxes (top, left, bottom, right, each in [0, 1]) drawn on them; it has no derivative."""
    x, corners = convert(images), host(boxes).astype(np.float32)
    if x.array.ndim != 4 or corners.ndim != 3 or corners.shape[-1] != 4 or corners.shape[0] != x.array.shape[0]:
        raise invalid(
            "DrawBoundingBoxesV2", f"expected images (n, h, w, c) and boxes (n, k, 4), got {shape_text(x.array)} and {list(corners.shape)}"
        )
    found = np.array(x.array)
    height, width, depth = found.shape[1:]
    palette = _COLOURS if colors is None or not np.size(host(colors)) else np.atleast_2d(host(colors))
    if colors is None and depth == 1:
        palette = np.ones_like(palette)
    if palette.shape[-1] < depth:
        raise invalid("DrawBoundingBoxesV2", f"colors must have at least {depth} columns, one a channel; got {list(palette.shape)}")
    for image, rows in zip(found, corners, strict=True):
        for k, box in enumerate(rows):
            ends = np.asarray([height - 1, width - 1, height - 1, width - 1], np.float32)
            _outline(image, np.trunc(box * ends).astype(np.int64), palette[k % len(palette)][:depth])
    return fresh(found)


def _outline(image: Any, box: Any, colour: Any) -> None:
    height, width = image.shape[:2]
    top, left, bottom, right = box.tolist()
    if top > bottom or left > right or top >= height or bottom < 0 or left >= width or right < 0:
        return
    rows, columns = slice(max(top, 0), min(bottom, height - 1) + 1), slice(max(left, 0), min(right, width - 1) + 1)
    for row in (top, bottom):
        if 0 <= row < height:
            image[row, columns] = colour
    for column in (left, right):
        if 0 <= column < width:
            image[rows, column] = colour


def crop_and_resize(
    image: Any,
    boxes: Any,
    box_indices: Any,
    crop_size: Any,
    method: str = "bilinear",
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> Tensor:
    """Boxes (top, left, bottom, right, in [0, 1]) of the images that `box_indices` name, each resized: (boxes, *crop_size, c).

    Differentiable for the images and, with "bilinear", for the boxes.  Outside of an image it is `extrapolation_value`.
    """
    x = convert(image)
    x = x if x.array.dtype.kind == "f" else S.convert(x, np.dtype(np.float32))
    box = convert(boxes, np.dtype(np.float32), prefer=True)
    which = host(box_indices).astype(np.int64)
    if x.array.ndim != 4 or box.array.ndim != 2 or box.array.shape[1] != 4 or which.shape != box.array.shape[:1]:
        raise invalid(
            "CropAndResize",
            f"expected image (n, h, w, c), boxes (k, 4) and box_indices (k,), got {shape_text(x.array)}, {shape_text(box.array)} and "
            f"{list(which.shape)}",
        )
    if method not in ("bilinear", "nearest"):
        raise invalid("CropAndResize", f"method must be 'bilinear' or 'nearest', got {method!r}")
    if which.size and not (which.min() >= 0 and which.max() < x.array.shape[0]):
        raise OutOfRangeError(None, None, "box_index has values outside [0, batch_size) [Op:CropAndResize]")
    height, width = (int(v) for v in host(crop_size))
    rows, up, inside_rows = _places(box, 0, height, x.array.shape[1], method)
    columns, along, inside_columns = _places(box, 1, width, x.array.shape[2], method)
    first = which[:, None, None]

    def corner(a: Any, b: Any) -> Tensor:
        return S.getitem(x, (first, a[:, :, None], b[:, None, :]))

    found = corner(rows[0], columns[0])
    if method == "bilinear":
        up = S.cast(S.getitem(up, (..., None, None)), x.array.dtype)
        along = S.cast(S.getitem(along, (slice(None), None, ..., None)), x.array.dtype)
        top = _between(found, corner(rows[0], columns[1]), along)
        found = _between(top, _between(corner(rows[1], columns[0]), corner(rows[1], columns[1]), along), up)
    inside = fresh(inside_rows[:, :, None, None] & inside_columns[:, None, :, None])
    return S.where(inside, found, x.array.dtype.type(extrapolation_value))


def _between(a: Tensor, b: Tensor, part: Tensor) -> Tensor:
    return S.add(a, S.multiply(S.subtract(b, a), part))


def _places(box: Tensor, axis: int, count: int, length: int, method: str) -> tuple[Any, Any, Any]:
    """For one axis of boxes: the two elements that each point lies between, how far it is between them, and whether it is inside."""
    low, high = (S.expand_dims(S.getitem(box, (slice(None), k)), axis=1) for k in (axis, axis + 2))
    last = np.float32(length - 1)
    if count > 1:
        step = S.divide(S.multiply(S.subtract(high, low), last), np.float32(count - 1))
        at = S.add(S.multiply(low, last), S.multiply(step, fresh(np.arange(count, dtype=np.float32))))
    else:
        at = S.multiply(np.float32(0.5) * last, S.add(low, high))
    raw = np.asarray(at.array)
    inside = (raw >= 0) & (raw <= last)
    held = np.clip(raw, 0, last)
    if method == "nearest":
        nearest = np.floor(held + np.float32(0.5)).astype(np.int64)
        return (nearest, nearest), at, inside
    below = np.floor(held)
    return (below.astype(np.int64), np.ceil(held).astype(np.int64)), S.subtract(at, fresh(below)), inside


def extract_patches(images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None) -> Tensor:
    """The window at each place, its pixels after one another: (n, h, w, c) -> (n, rows, columns, size * size * c)."""
    x = convert(images)
    if x.array.ndim != 4:
        raise ValueError(f"extract_patches: expected images (n, h, w, c), got {shape_text(x.array)}")
    index = []
    for axis in (1, 2):
        size, step, rate = (int(v[axis]) for v in (sizes, strides, rates))
        reach = (size - 1) * rate + 1
        n = x.array.shape[axis]
        if padding == "SAME":
            count = -(-n // step)
            missing = max(0, (count - 1) * step + reach - n)
            x = pad(x, [[missing // 2, missing - missing // 2] if k == axis else [0, 0] for k in range(4)])
        elif padding == "VALID":
            count = max(0, (n - reach) // step + 1)
        else:
            raise invalid("ExtractImagePatches", f"padding must be 'SAME' or 'VALID', got {padding!r}")
        index.append(np.arange(count)[:, None] * step + np.arange(size) * rate)
    rows, columns = index[0][:, None, :, None], index[1][None, :, None, :]
    found = S.getitem(x, (slice(None), rows, columns))
    n, a, b = found.array.shape[:3]
    return S.reshape(found, (n, a, b, int(np.prod(found.array.shape[3:]))))


# -- colours by a matrix ----------------------------------------------------------------------------------------------
_YIQ = [[0.299, 0.59590059, 0.2115], [0.587, -0.27455667, -0.52273617], [0.114, -0.32134392, 0.31119955]]
_FROM_YIQ = [[1, 1, 1], [0.95598634, -0.27201283, -1.10674021], [0.6208248, -0.64720424, 1.70423049]]
_YUV = [[0.299, -0.14714119, 0.61497538], [0.587, -0.28886916, -0.51496512], [0.114, 0.43601035, -0.10001026]]
_FROM_YUV = [[1, 1, 1], [0, -0.394642334, 2.03206185], [1.13988303, -0.58062185, 0]]


def _mixed(images: Any, matrix: Any) -> Tensor:
    x = convert(images)
    if not x.array.ndim or x.array.shape[-1] != 3:
        raise ValueError(f"expected three channels, images.shape[-1] == 3, got {shape_text(x.array)}")
    return S.matmul(x, fresh(np.asarray(matrix, x.array.dtype)))


def rgb_to_yiq(images: Any) -> Tensor:
    """Red, green, blue as brightness and the two colours of NTSC."""
    return _mixed(images, _YIQ)


def yiq_to_rgb(images: Any) -> Tensor:
    """Brightness and the two colours of NTSC as red, green, blue."""
    return _mixed(images, _FROM_YIQ)


def rgb_to_yuv(images: Any) -> Tensor:
    """Red, green, blue as brightness and the two colours of PAL."""
    return _mixed(images, _YUV)


def yuv_to_rgb(images: Any) -> Tensor:
    """Brightness and the two colours of PAL as red, green, blue."""
    return _mixed(images, _FROM_YUV)
