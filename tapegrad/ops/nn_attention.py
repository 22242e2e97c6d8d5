"""Attention: rows of values, averaged with weights that come from the likeness of queries and keys."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.registry import composite


def _drawn(draw: Any) -> Any:
    q = draw.array("n", 2, "m", 3)
    k, v = draw.filled((*q.shape[:2], 4, 3)), draw.filled((*q.shape[:2], 4, 2))
    kind = draw.choice("none", "causal", "mask", "bias")
    mask: tuple[Any, ...] = ()
    if kind == "mask":
        mask = (draw.integers("m", 4, low=0, high=2) > 0,)
    elif kind == "bias":
        mask = (draw.array("m", 4, complex=False),)
    return q, k, v, *mask, {"causal": kind == "causal", "scale": draw.choice(None, 0.7)}


def _without_values(draw: Any) -> Any:
    query, key, _, *rest = _drawn(draw)
    return query, key, *rest


@composite(real=True, laws=_without_values, public=False)
def attention_weights(
    F: Any, query: Any, key: Any, mask: Any = None, /, *, causal: bool = False, scale: float | None = None
) -> Any:
    """softmax(query key^T scale + mask) over the last axis, (..., m, d), (..., n, d) -> (..., m, n).

    A row in which all is masked gives zeros.
    """
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1]) if query.shape[-1] else 1.0
    scores = F.matmul(query * scale, F.matrix_transpose(key))
    if causal:
        shape = scores.shape[-2:]
        mask = F.arange(shape[1]) <= F.expand_dims(F.arange(shape[0]), axis=-1)
    if mask is not None:
        scores = F.where(mask, scores, -math.inf) if mask.dtype.kind == "b" else scores + mask
    return F.softmax(scores, axis=-1)


@composite(real=True, laws=_drawn, public=False)
def scaled_dot_product_attention(
    F: Any,
    query: Any,
    key: Any,
    value: Any,
    mask: Any = None,
    /,
    *,
    causal: bool = False,
    scale: float | None = None,
) -> Any:
    """softmax(query key^T scale + mask) value, (..., m, d), (..., n, d), (..., n, e) -> (..., m, e).

    * `mask`: (..., m, n), True where a key takes part, or numbers that are added to the scores.
    * `causal`: a query sees the keys up to its own place.
    * `scale`: 1 / sqrt(d) if not given.

    A query for which all keys are masked gives zeros.  A. Vaswani et al., "Attention is all you need", 2017, equation 1.
    """
    weights = F.attention_weights(query, key, mask, causal=causal, scale=scale)
    return F.matmul(weights, value)
