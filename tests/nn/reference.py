"""Plain NumPy loops for what is computed with windows: slow, and plainly right."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np


def padded(x: Any, padding: Any, value: float = 0.0) -> Any:
    return np.pad(x, ((0, 0), *padding, (0, 0)), constant_values=value)


def windows(x: Any, window: Any, stride: Any, dilation: Any) -> Any:
    """For each place, in row-major order, the part of (N, *S, C) that the window covers there."""
    size = x.shape[1:-1]
    out = [(n - d * (k - 1) - 1) // s + 1 for n, k, s, d in zip(size, window, stride, dilation, strict=True)]
    for place in itertools.product(*map(range, out)):
        taps = (slice(p * s, p * s + d * (k - 1) + 1, d) for p, k, s, d in zip(place, window, stride, dilation, strict=True))
        yield place, x[(slice(None), *taps)]


def conv(x: Any, kernel: Any, stride: Any, padding: Any, dilation: Any, groups: int) -> Any:
    x = padded(x, padding)
    *window, inner, o = kernel.shape
    found: dict[Any, Any] = {}
    for place, part in windows(x, window, stride, dilation):
        y = np.zeros((x.shape[0], o))
        for g in range(groups):
            outs = slice(g * o // groups, (g + 1) * o // groups)
            y[:, outs] = np.tensordot(part[..., g * inner : (g + 1) * inner], kernel[..., outs], len(window) + 1)
        found[place] = y
    return assembled(found, x.shape[0], o)


def pooled(x: Any, window: Any, stride: Any, padding: Any, dilation: Any, reduce: Any, value: float) -> Any:
    found = {}
    for place, part in windows(padded(x, padding, value), window, stride, dilation):
        found[place] = reduce(part.reshape(x.shape[0], np.prod(window, dtype=int), x.shape[-1]), axis=1)
    return assembled(found, x.shape[0], x.shape[-1])


def assembled(found: dict[Any, Any], n: int, c: int) -> Any:
    last = max(found)
    out = np.zeros((n, *(k + 1 for k in last), c))
    for place, y in found.items():
        out[(slice(None), *place)] = y
    return out
