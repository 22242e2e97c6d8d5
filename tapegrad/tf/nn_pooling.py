"""Pooling, by TensorFlow's words for windows, strides and padding."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import convert, fresh
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.nn_windows import back, channels_last, check_sizes, last, layout_of, padded, spread
from tapegrad.tf.operators import shape_text
from tapegrad.tf.style import S, not_allowed
from tapegrad.tf.tensor import Tensor


def _pooled(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: Any, rank: int, largest: bool, dilations: Any = None
) -> Tensor:
    x = convert(input)
    if x.array.dtype.kind not in ("iufV" if largest else "fV"):
        raise not_allowed("MaxPool" if largest else "AvgPool", x.array.dtype)
    if x.array.ndim != rank + 2:
        raise invalid(None, f"pooling: expected an input of {rank + 2} axes, got shape {shape_text(x.array)}")
    first = layout_of(data_format, rank)
    if first:
        ksize, strides = (channels_last(v, rank) for v in (ksize, strides))
    x = last(x, first)
    window, stride = spread(ksize, rank, "ksize"), spread(strides, rank, "strides")
    dilation = spread(dilations, rank, "dilations")
    if min(window, default=1) <= 0:
        text = f"Sliding window ksize must be positive. The specified or inferred ksize is: {list(window)}"
        raise invalid("MaxPool" if largest else "AvgPool", text)
    if min(stride, default=1) <= 0:
        raise invalid("MaxPool" if largest else "AvgPool", f"Sliding window strides must be positive, got {list(stride)}")
    size = x.array.shape[1:-1]
    pads = padded(padding, size, window, stride, dilation)
    check_sizes(size, window, pads, dilation, "pooling")
    words = {"window": window, "stride": stride, "padding": pads, "dilation": dilation}
    if largest:
        return back(S.window_max(x, **words), first)
    total = S.window_sum(x, **words)
    ones = np.ones((1, *size, 1), x.array.dtype)
    return back(S.divide(total, S.window_sum(fresh(ones), **words)), first)


def _pool(name: str, rank: int, largest: bool, layout: str) -> Any:
    def pool(input: Any, ksize: Any, strides: Any, padding: Any, data_format: str = layout, name: str | None = None) -> Tensor:
        return _pooled(input, ksize, strides, padding, data_format, rank, largest)

    pool.__name__ = pool.__qualname__ = name
    pool.__doc__ = f"The {'largest element' if largest else 'mean'} of each window."
    export(f"nn.{name}")(pool)
    return pool


for _rank, _letters in ((1, "NWC"), (2, "NHWC"), (3, "NDHWC")):
    _pool(f"max_pool{_rank}d", _rank, True, _letters)
    _pool(f"avg_pool{_rank}d", _rank, False, _letters)


def _pooled_rank(input: Any) -> None:
    x = convert(input)
    if not 3 <= x.array.ndim <= 5:
        raise ValueError(f"`input.shape.rank` must be 3, 4 or 5. Received: input.shape={x.shape} of rank {x.array.ndim}.")


@export("nn.max_pool")
def max_pool(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """The largest element of each window, over as many axes as there are."""
    _pooled_rank(input)
    return _pooled(input, ksize, strides, padding, data_format, convert(input).array.ndim - 2, True)


@export("nn.avg_pool")
def avg_pool(
    input: Any, ksize: Any, strides: Any, padding: Any, data_format: str | None = None, name: str | None = None
) -> Tensor:
    """The mean of each window, over as many axes as there are."""
    _pooled_rank(input)
    return _pooled(input, ksize, strides, padding, data_format, convert(input).array.ndim - 2, False)


@export("nn.pool")
def pool(
    input: Any,
    window_shape: Any,
    pooling_type: str,
    strides: Any = None,
    padding: Any = "VALID",
    data_format: str | None = None,
    dilations: Any = None,
    name: str | None = None,
) -> Tensor:
    """The largest element (MAX) or the mean (AVG) of each window."""
    if pooling_type not in ("MAX", "AVG"):
        raise ValueError(f"pooling_type is 'MAX' or 'AVG', got {pooling_type!r}")
    rank = convert(input).array.ndim - 2
    return _pooled(input, window_shape, strides, padding, data_format, rank, pooling_type == "MAX", dilations)
