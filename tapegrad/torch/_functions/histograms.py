"""How often numbers occur, or fall between edges."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.kernels.batched import values_of
from tapegrad.torch import _named
from tapegrad.torch._functions._build import define
from tapegrad.torch._functions._stacks import is_batched
from tapegrad.torch._functions.scatter import raw_of
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor, wrap


def _bincount(x: Any, weights: Any, minlength: int) -> Any:
    if x.array.dtype.kind not in "iu":
        raise RuntimeError('"bincount_cpu" not implemented for \'Float\'')
    if not is_batched(x) and (len(x.array.shape) != 1 or (np.asarray(x.array) < 0).any()):
        raise RuntimeError("bincount only supports 1-d non-negative integral inputs.")
    if is_batched(x):
        found = values_of(x.array)
        places = np.arange(max(minlength, int(found.max(initial=-1)) + 1))
        hits = S.equal(S.expand_dims(x, axis=-1), places)
        each = S.astype(hits, "int64") if weights is None else S.multiply(hits, S.expand_dims(weights, axis=-1))
        return S.sum(each, axis=0)
    w = None if weights is None else raw_of(weights)
    found = np.bincount(raw_of(x), w, minlength)
    return wrap(found if w is None or w.dtype != np.float32 else found.astype(np.float32))


def _histc(x: Any, bins: int, low: float, high: float) -> Any:
    raw = raw_of(x)
    if low == high == 0:
        low, high = (raw.min(), raw.max()) if raw.size else (0, 1)
    if low == high:
        low, high = low - 1, high + 1
    return wrap(np.histogram(raw, bins, (low, high))[0].astype(raw.dtype))


def _histogram(x: Any, bins: Any, range: Any, weight: Any, density: bool) -> Any:
    raw = raw_of(x)
    edges = raw_of(bins) if isinstance(bins, Tensor) else bins
    w = None if weight is None else raw_of(weight).reshape(-1)
    counts, edges = np.histogram(raw.reshape(-1), edges, range, weights=w, density=density)
    return _named.histogram(wrap(counts.astype(raw.dtype)), wrap(edges.astype(raw.dtype)))


def _histogramdd(x: Any, bins: Any, range: Any, weight: Any, density: bool) -> Any:
    raw = raw_of(x)
    points = raw.reshape(-1, raw.shape[-1])
    w = None if weight is None else raw_of(weight).reshape(-1)
    given = [raw_of(b) if isinstance(b, Tensor) else b for b in bins] if isinstance(bins, (list, tuple)) else bins
    limits = None if range is None else list(zip(range[::2], range[1::2], strict=True))
    counts, edges = np.histogramdd(points, given, limits, density, w)
    return _named.histogramdd(wrap(counts.astype(raw.dtype)), tuple(wrap(e.astype(raw.dtype)) for e in edges))


_NAMES = {k: v for k, v in list(globals().items()) if callable(v)}
define(
    {
        "bincount(input, weights=None, minlength=0)": "_bincount(input, weights, minlength)",
        "histc(input, bins=100, min=0, max=0)": "_histc(input, bins, min, max)",
        "histogram(input, bins, *, range=None, weight=None, density=False)":
            "_histogram(input, bins, range, weight, density)",
    },
    _NAMES,
)  # fmt: skip
define(
    {
        "histogramdd(input, bins, *, range=None, weight=None, density=False)":
            "_histogramdd(input, bins, range, weight, density)",
    },
    _NAMES,
    methods=False,
    out=False,
)  # fmt: skip
