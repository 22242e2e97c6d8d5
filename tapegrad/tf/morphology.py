"""Grayscale dilation and erosion of images."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.dtypes import finfo, is_inexact
from tapegrad.tf.convert import fresh
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.nn_windows import padded, spread
from tapegrad.tf.operators import mismatch_in, pair, shape_text
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


@export("nn.dilation2d")
def dilation2d(
    input: Any, filters: Any, strides: Any, padding: str, data_format: str, dilations: Any, name: str | None = None
) -> Tensor:
    """The largest sum of an element of each window and its place in the filter, (n, h, w, c) and (k, l, c) -> (n, p, q, c).

    Of equal ones the first has the derivative.

    >>> import tapegrad.tf as tf
    >>> x, f = tf.reshape([0.5, 1.5, 2.5, 3.5], [1, 2, 2, 1]), tf.zeros([2, 2, 1])
    >>> float(tf.squeeze(tf.nn.dilation2d(x, f, [1, 1, 1, 1], "VALID", "NHWC", [1, 1, 1, 1])))
    3.5
    """
    if data_format != "NHWC":
        raise ValueError(f"dilation2d: expected data_format 'NHWC', got {data_format!r}")
    x, w = pair(input, filters)
    mismatch_in("Dilation2D", [x, w])
    if x.array.ndim != 4 or w.array.ndim != 3 or x.array.shape[-1] != w.array.shape[-1]:
        text = f"expected an input (n, h, w, c) and filters (k, l, c), got {shape_text(x.array)} and {shape_text(w.array)}"
        raise invalid("Dilation2D", text)
    stride, rate = spread(strides, 2, "strides"), spread(dilations, 2, "dilations")
    if min(*stride, *rate) < 1:
        raise invalid("Dilation2D", f"strides and dilations must be positive, got {list(strides)} and {list(dilations)}")
    window, size = w.array.shape[:2], x.array.shape[1:3]
    pads = padded(padding, size, window, stride, rate)
    starts = [np.arange(0, n + a + b - (k - 1) * d, s) for n, (a, b), k, d, s in zip(size, pads, window, rate, stride, strict=True)]
    if not all(len(s) for s in starts):
        raise invalid("Dilation2D", f"a window {list(window)} at rates {list(rate)} is larger than the image {list(size)}")
    dtype = x.array.dtype
    least = float(finfo(dtype).min) if is_inexact(dtype) else int(np.iinfo(dtype).min)
    x = S.pad(x, ((0, 0), *pads, (0, 0)), constant_values=least)
    rows, columns = (s[:, None] + d * np.arange(k) for s, k, d in zip(starts, window, rate, strict=True))
    seen = S.getitem(x, (slice(None), rows[:, None, :, None], columns[None, :, None, :]))  # (n, p, q, k, l, c)
    sums = S.reshape(S.add(seen, w), (x.array.shape[0], len(rows), len(columns), window[0] * window[1], x.array.shape[-1]))
    best = S.expand_dims(fresh(np.asarray(S.argmax(sums, axis=3).array)), axis=3)
    return S.squeeze(S.take_along_axis(sums, best, axis=3), (3,))


@export("nn.erosion2d")
def erosion2d(
    value: Any, filters: Any, strides: Any, padding: str, data_format: str, dilations: Any, name: str | None = None
) -> Tensor:
    """The smallest difference of an element of each window and its place in the filter."""
    x, w = pair(value, filters)
    return S.negative(dilation2d(S.negative(x), S.flip(w, axis=(0, 1)), strides, padding, data_format, dilations))
