"""Keras's attention over heads, in the precision of its arguments."""

from __future__ import annotations

import math
from typing import Any

import numpy
from keras.src import backend

import tapegrad as tg
from tapegrad.keras.backend.core import convert_to_tensor
from tapegrad.registry.space import F

__all__ = ["dot_product_attention"]


def dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    bias: Any = None,
    mask: Any = None,
    scale: float | None = None,
    is_causal: bool = False,
    flash_attention: bool | None = None,
    attn_logits_soft_cap: float | None = None,
) -> Any:
    """Means of values, weighted by softmax(query . key), (n, t, heads, d), (n, s, heads, d) -> (n, t, heads, d).

    A. Vaswani et al., "Attention is all you need", 2017, equation 1; softmax is computed in float32 at the least.
    """
    if flash_attention:
        raise ValueError("Flash attention is not supported with tapegrad as Keras's backend.")
    q, k, v = map(convert_to_tensor, (query, key, value))
    if any(len(x.shape) != 4 for x in (q, k, v)):
        raise ValueError(
            "`dot_product_attention` only supports 4D inputs. "
            f"Received: query.shape={q.shape}, key.shape={k.shape}, value.shape={v.shape}."
        )
    if q.shape[2] != k.shape[2] and q.shape[2] % k.shape[2] == 0:  # several heads of queries share one of keys
        k, v = (F.repeat(x, q.shape[2] // k.shape[2], axis=2) for x in (k, v))
    dtype = backend.result_type(*(x.dtype for x in (q, k, v)))
    wide = backend.result_type(dtype, "float32")
    # (n, heads, t, d), (n, heads, d, s)
    heads, keys = (F.permute_dims(convert_to_tensor(x, wide), axes) for x, axes in ((q, (0, 2, 1, 3)), (k, (0, 2, 3, 1))))
    logits = F.matmul(heads, keys) * (1 / math.sqrt(k.shape[-1]) if scale is None else float(scale))
    if attn_logits_soft_cap is not None:
        logits = F.tanh(logits / attn_logits_soft_cap) * attn_logits_soft_cap
    if bias is not None:
        logits = logits + convert_to_tensor(bias, wide)
    allowed = None if mask is None else convert_to_tensor(mask, "bool")
    if is_causal:
        seen = convert_to_tensor(numpy.tri(*logits.shape[-2:], dtype=bool))
        allowed = seen if allowed is None else F.logical_and(allowed, seen)
    if allowed is not None:  # what is not allowed is so small that softmax gives 0, or is uniform where nothing is allowed
        logits = F.where(allowed, logits, 0.7 * float(numpy.finfo(wide).min))
    weights = F.astype(tg.nn.softmax(logits), dtype)
    values = F.permute_dims(convert_to_tensor(v, dtype), (0, 2, 1, 3))
    return F.permute_dims(F.matmul(weights, values), (0, 2, 1, 3))
