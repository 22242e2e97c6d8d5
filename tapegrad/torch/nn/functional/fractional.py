"""Pooling by windows whose places are drawn: as many as there are to be, at steps that are no integers.

B. Graham, "Fractional max-pooling", 2014.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.torch import _arrays
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import wrap

__all__ = [
    "fractional_max_pool2d", "fractional_max_pool2d_with_indices", "fractional_max_pool3d", "fractional_max_pool3d_with_indices",
]  # fmt: skip


def _each(value: Any, n: int) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,) * n


def _starts(sample: Any, size: int, count: int, window: int) -> Any:
    """Where windows begin along one axis, for each sample: the last one ends with the axis."""
    if count == 1:
        return np.full((*sample.shape, 1), size - window)
    step = (size - window) / (count - 1)
    sample = sample[..., None].astype(np.float64 if sample.dtype == np.float64 else np.float32)
    step = sample.dtype.type(step)
    places = np.floor((np.arange(count - 1) + sample) * step).astype(np.int64) - np.floor(sample * step).astype(np.int64)
    return np.concatenate([places, np.full((*places.shape[:-1], 1), size - window)], axis=-1)


def _pooled(n: int, x: Any, window: Any, size: Any, ratio: Any, samples: Any) -> tuple[Any, Any]:
    name = f"fractional_max_pool{n}d"
    if size is None and ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    shape = x.array.shape
    if len(shape) not in (n + 1, n + 2):
        raise RuntimeError(f"{name}(): Expected {n + 1}D or {n + 2}D tensor, but got: {list(shape)}")
    spatial = shape[-n:]
    size = _each(size, n) if size is not None else tuple(int(m * r) for m, r in zip(spatial, _each(ratio, n), strict=True))
    window = _each(window, n)
    for axis, (m, k, w) in enumerate(zip(spatial, size, window, strict=True)):
        if k + w - 1 > m:
            raise RuntimeError(f"{name}(): pool size {w} and output size {k} are too large relative to the input size {m} of axis {axis}")
    planes = (shape[0] if len(shape) == n + 2 else 1, shape[-n - 1])
    if samples is None:
        samples = _arrays.facade().rand(*planes, n, dtype=x.dtype, device=x.device)
    drawn = np.asarray(samples.read()[0])
    if drawn.shape != (*planes, n):
        raise RuntimeError(f"{name}(): expected _random_samples of shape {[*planes, n]}, got {list(drawn.shape)}")
    order = drawn[..., ::-1] if n == 2 else drawn  # the first sample of an image is that of its width, of a volume that of its depth
    raw = np.asarray(x.read()[0]).reshape(*planes, *spatial)
    flat = np.zeros((*planes, *(1,) * 2 * n), np.int64)  # the place of each element of each window
    for axis in range(n):
        at = _starts(order[..., axis], spatial[axis], size[axis], window[axis])[..., None] + np.arange(window[axis])
        lead = [*planes, *(1,) * 2 * n]
        lead[2 + axis], lead[2 + n + axis] = size[axis], window[axis]
        flat = flat * spatial[axis] + at.reshape(lead)
    flat = flat.reshape(*planes, math.prod(size), math.prod(window))
    pool = np.take_along_axis(raw.reshape(*planes, -1), flat.reshape(*planes, -1), axis=2).reshape(flat.shape)
    which = np.argmax(pool.astype(np.float32) if pool.dtype.kind == "V" else pool, axis=-1, keepdims=True)
    index = np.take_along_axis(flat, which, axis=-1)[..., 0]
    y = S.take_along_axis(S.reshape(x, (*planes, math.prod(spatial))), wrap(index), axis=2)
    shown = (*shape[:-n], *size)
    return S.reshape(y, shown), wrap(index.reshape(shown))


def fractional_max_pool2d_with_indices(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """The largest of each window of an image, and where it is."""
    return _pooled(2, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d_with_indices(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """The largest of each window of a volume, and where it is."""
    return _pooled(3, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool2d(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """The largest of each window of an image, with `return_indices` also where it is."""
    found = _pooled(2, input, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]


def fractional_max_pool3d(
    input: Any,
    kernel_size: Any,
    output_size: Any = None,
    output_ratio: Any = None,
    return_indices: bool = False,
    _random_samples: Any = None,
) -> Any:
    """The largest of each window of a volume, with `return_indices` also where it is."""
    found = _pooled(3, input, kernel_size, output_size, output_ratio, _random_samples)
    return found if return_indices else found[0]
