"""Blocks of space that move into the batch and back, and sequences that are reversed up to their lengths."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.operators import shape_text
from tapegrad.tf.shaping import pad
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


@export("reverse_sequence")
def reverse_sequence(
    input: Any, seq_lengths: Any, seq_axis: Any = None, batch_axis: Any = None, name: str | None = None
) -> Tensor:
    """Each row of the batch with its first `seq_lengths` elements in reversed order, and the others as they are."""
    x, lengths = convert(input), host(seq_lengths).astype(np.int64)
    rank = x.array.ndim
    along, batch = int(seq_axis or 0) % rank, int(batch_axis or 0) % rank
    n, rows = x.array.shape[along], x.array.shape[batch]
    if lengths.shape != (rows,):
        raise invalid("ReverseSequence", f"Length of seq_lengths != input.dims({batch}), ({lengths.size} vs. {rows})")
    if lengths.size and lengths.max() > n:
        raise invalid("ReverseSequence", f"seq_lengths must be at most input.dims({along}) == {n}, got {lengths.max()}")
    place = np.arange(n)
    order = np.where(place < lengths[:, None], lengths[:, None] - 1 - place, place)
    front = S.moveaxis(x, (batch, along), (0, 1))
    found = S.getitem(front, (np.arange(rows)[:, None], order))
    return S.moveaxis(found, (0, 1), (batch, along))


def _blocks(block_shape: Any) -> list[int]:
    return [int(n) for n in np.atleast_1d(host(block_shape))]


@export("space_to_batch", "space_to_batch_nd")
def space_to_batch(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Tensor:
    """The elements at each place of a block as rows of the batch of their own: (n, a * i, b * j, ...) -> (i * j * n, a, b, ...)."""
    x, blocks = convert(input), _blocks(block_shape)
    k, edges = len(blocks), host(paddings).tolist()
    x = pad(x, [[0, 0], *edges, *[[0, 0]] * (x.array.ndim - k - 1)])
    shape = x.array.shape
    for n, b in zip(shape[1 : k + 1], blocks, strict=True):
        if n % b:
            raise invalid("SpaceToBatchND", f"padded_shape[...]={n} is not divisible by block_shape[...]={b}; input {list(shape)}")
    split = [shape[0]]
    for n, b in zip(shape[1 : k + 1], blocks, strict=True):
        split += [n // b, b]
    y = S.reshape(x, (*split, *shape[k + 1 :]))
    inner, outer = [2 * i + 2 for i in range(k)], [2 * i + 1 for i in range(k)]
    y = S.permute_dims(y, (*inner, 0, *outer, *range(2 * k + 1, y.array.ndim)))
    return S.reshape(y, (shape[0] * int(np.prod(blocks)), *[split[i] for i in outer], *shape[k + 1 :]))


@export("batch_to_space", "batch_to_space_nd")
def batch_to_space(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Tensor:
    """What `space_to_batch` has put into the batch back in its place, and edges cut off."""
    x, blocks = convert(input), _blocks(block_shape)
    k, edges, shape = len(blocks), host(crops).tolist(), x.array.shape
    count = int(np.prod(blocks))
    if shape[0] % count:
        raise invalid("BatchToSpaceND", f"input batch size {shape[0]} is not divisible by block_shape {blocks}")
    y = S.reshape(x, (*blocks, shape[0] // count, *shape[1:]))
    order = [k]
    for i in range(k):
        order += [k + 1 + i, i]
    y = S.permute_dims(y, (*order, *range(2 * k + 1, y.array.ndim)))
    whole = [n * b for n, b in zip(shape[1 : k + 1], blocks, strict=True)]
    y = S.reshape(y, (shape[0] // count, *whole, *shape[k + 1 :]))
    return S.getitem(y, (slice(None), *[slice(a, n - b) for n, (a, b) in zip(whole, edges, strict=True)]))


@export("required_space_to_batch_paddings")
def required_space_to_batch_paddings(
    input_shape: Any, block_shape: Any, base_paddings: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """The paddings with which each length is a multiple of its block, and the crops that undo what is beyond `base_paddings`."""
    lengths, blocks = host(input_shape).astype(np.int64), host(block_shape).astype(np.int64)
    base = np.zeros((len(blocks), 2), np.int64) if base_paddings is None else host(base_paddings)
    more = -(lengths + base.sum(1)) % blocks
    paddings, crops = base + np.stack([0 * more, more], 1), np.stack([0 * more, more], 1)
    return fresh(paddings.astype(np.int32)), fresh(crops.astype(np.int32))


class Pooled(NamedTuple):
    """The largest elements, and where they are."""

    output: Any
    argmax: Any


@export("nn.max_pool_with_argmax")
def max_pool_with_argmax(
    input: Any,
    ksize: Any,
    strides: Any,
    padding: str,
    data_format: str = "NHWC",
    output_dtype: Any = np.int64,
    include_batch_in_index: bool = False,
    name: str | None = None,
) -> Pooled:
    """The largest element of each window, and its place (row * width + column) * channels + channel in the image."""
    from tapegrad.tf.dtypes import numpy_dtype

    x = convert(input)
    if x.array.ndim != 4 or data_format != "NHWC":
        raise invalid("MaxPoolWithArgmax", f"expected input (n, h, w, c) in NHWC, got {shape_text(x.array)} in {data_format}")
    n, height, width, depth = x.array.shape
    index = []
    for axis, length in ((0, height), (1, width)):
        size, step = (int(v if np.ndim(v) == 0 else v[axis if len(v) == 2 else axis + 1]) for v in (ksize, strides))
        if padding == "SAME":
            count = -(-length // step)
            first = -(max(0, (count - 1) * step + size - length) // 2)
        elif padding == "VALID":
            count, first = max(0, (length - size) // step + 1), 0
        else:
            raise invalid("MaxPoolWithArgmax", f"padding must be 'SAME' or 'VALID', got {padding!r}")
        index.append(first + np.arange(count)[:, None] * step + np.arange(size))
    rows, columns = np.broadcast_arrays(index[0][:, None, :, None], index[1][None, :, None, :])
    inside = (rows >= 0) & (rows < height) & (columns >= 0) & (columns < width)
    rows, columns = rows.clip(0, height - 1), columns.clip(0, width - 1)
    a, b = rows.shape[:2]
    windows = np.where(inside[None, ..., None], np.asarray(x.array)[:, rows, columns], -np.inf).reshape(n, a, b, -1, depth)
    best = windows.argmax(3)
    flat = (rows * width + columns).reshape(a, b, -1)
    place = np.take_along_axis(np.broadcast_to(flat[None, ..., None], windows.shape), best[:, :, :, None], 3)[:, :, :, 0]
    channel, image = np.arange(depth), np.arange(n)[:, None, None, None]
    found = S.getitem(S.reshape(x, (n, height * width, depth)), (image, place, np.broadcast_to(channel, place.shape)))
    where = place * depth + channel + (image * height * width * depth if include_batch_in_index else 0)
    return Pooled(found, fresh(where.astype(numpy_dtype(output_dtype))))
