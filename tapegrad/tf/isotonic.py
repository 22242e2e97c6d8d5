"""`tf.nn.isotonic_regression`: the nearest sequence that falls, or rises."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.errors import SymbolicValueError
from tapegrad.registry.places import has_values
from tapegrad.tf.convert import cast, convert, fresh, host
from tapegrad.tf.export import export
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


def _pools(row: Any) -> Any:
    """Which pool each element belongs to, for a fall: neighbours that rise are pooled until their means do not."""
    sums: list[float] = []
    counts: list[int] = []
    for v in row.tolist():
        sums.append(v)
        counts.append(1)
        while len(sums) > 1 and sums[-2] * counts[-1] < sums[-1] * counts[-2]:
            last, n = sums.pop(), counts.pop()
            sums[-1] += last
            counts[-1] += n
    return np.repeat(np.arange(len(counts)), counts)


@export("nn.isotonic_regression")
def isotonic_regression(inputs: Any, decreasing: bool = True, axis: int = -1) -> tuple[Tensor, Tensor]:
    """The nearest falling (or rising) sequence along an axis, and the number of the pool whose mean each element is.

    The derivative is that of the means: which elements are pooled does not change between ties.

    >>> import tapegrad.tf as tf
    >>> y, pools = tf.nn.isotonic_regression([3.0, 1.0, 2.0, 0.5])
    >>> y.numpy().tolist(), pools.numpy().tolist()
    ([3.0, 1.5, 1.5, 0.5], [0, 1, 1, 2])
    """
    x = convert(inputs)
    if x.array.dtype.kind in "iu":
        x = cast(x, np.float64 if x.array.dtype.itemsize >= 4 else np.float32)
    if not has_values(x.array):
        raise SymbolicValueError("tf.nn.isotonic_regression inside a function that is being traced: what is pooled depends on the values")
    turned = S.moveaxis(x, axis, -1)
    raw = host(turned).astype(np.float64) * (1 if decreasing else -1)
    shape, n = raw.shape, raw.shape[-1]
    pools = np.stack([_pools(row) for row in raw.reshape(-1, n)]) if raw.size else np.zeros((0, n), np.int64)
    place = fresh((pools + n * np.arange(len(pools))[:, None]).reshape(-1).astype(np.int64))
    flat = S.reshape(turned, (-1,))
    sums = S.take_add(flat, place, shape=(max(pools.size, 1),), axis=0)
    counts = np.maximum(np.bincount(host(place), minlength=max(pools.size, 1)), 1).astype(raw.dtype)
    means = S.divide(sums, cast(fresh(counts), sums.dtype))
    y = S.reshape(S.take(means, place, axis=0), shape)
    return S.moveaxis(y, -1, axis), fresh(np.moveaxis(pools.reshape(shape).astype(np.int32), -1, axis))
