"""Attention."""

from __future__ import annotations

from typing import Any

import numpy as np

import tapegrad.nn  # noqa: F401  declares its ops
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import wrap
from tapegrad.torch.nn.functional.distance import linear
from tapegrad.torch.nn.functional.norm import dropout

__all__ = ["multi_head_attention_forward", "scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Any:
    """softmax(query key^T scale + mask) value."""
    if is_causal and attn_mask is not None:
        raise RuntimeError("_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True")
    if enable_gqa:
        times = query.array.shape[-3] // key.array.shape[-3]
        key, value = (x.repeat_interleave(times, -3) for x in (key, value))
    if not dropout_p:
        return S.scaled_dot_product_attention(query, key, value, attn_mask, causal=is_causal, scale=scale)
    weights = S.attention_weights(query, key, attn_mask, causal=is_causal, scale=scale)
    return S.matmul(dropout(weights, dropout_p), value)


def _as_bias(mask: Any, kind: Any) -> Any:
    """A mask, True where a key is left out, as numbers to be added to the scores."""
    if mask is None or mask.array.dtype.kind != "b":
        return mask
    return wrap(np.where(np.asarray(mask.array), -np.inf, 0.0).astype(kind))


def multi_head_attention_forward(
    query: Any,
    key: Any,
    value: Any,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Any,
    in_proj_bias: Any,
    bias_k: Any,
    bias_v: Any,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Any,
    out_proj_bias: Any,
    training: bool = True,
    key_padding_mask: Any = None,
    need_weights: bool = True,
    attn_mask: Any = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Any = None,
    k_proj_weight: Any = None,
    v_proj_weight: Any = None,
    static_k: Any = None,
    static_v: Any = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> Any:
    """Attention of several heads, (L, N, E), (S, N, E), (S, N, E) -> (L, N, E) and the weights.

    A. Vaswani et al., "Attention is all you need", 2017, section 3.2.2.
    """
    batched = len(query.array.shape) == 3
    if not batched:
        query, key, value = (x.unsqueeze(1) for x in (query, key, value))
        key_padding_mask = None if key_padding_mask is None else key_padding_mask.unsqueeze(0)
    length, n, e = query.array.shape
    if e != embed_dim_to_check:
        raise AssertionError(f"was expecting embedding dimension of {embed_dim_to_check}, but got {e}")
    head = e // num_heads
    if head * num_heads != e:
        raise AssertionError(f"embed_dim {e} not divisible by num_heads {num_heads}")
    apart = (q_proj_weight, k_proj_weight, v_proj_weight)
    weights = apart if use_separate_proj_weight else in_proj_weight.chunk(3)
    biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
    q, k, v = (linear(x, w, b) for x, w, b in zip((query, key, value), weights, biases, strict=True))
    more = 0
    if bias_k is not None and bias_v is not None:
        k = S.concat([k, bias_k.expand(1, n, e)], axis=0)
        v = S.concat([v, bias_v.expand(1, n, e)], axis=0)
        more += 1

    def heads(x: Any) -> Any:
        x = S.reshape(x, (x.array.shape[0], n, num_heads, head))
        return S.permute_dims(x, (1, 2, 0, 3))

    q, k, v = map(heads, (q, k, v))
    if static_k is not None:
        k = S.reshape(static_k, (n, num_heads, *static_k.array.shape[1:]))
    if static_v is not None:
        v = S.reshape(static_v, (n, num_heads, *static_v.array.shape[1:]))
    if add_zero_attn:
        nothing = wrap(np.zeros((n, num_heads, 1, head), k.array.dtype))
        k, v = S.concat([k, nothing], axis=2), S.concat([v, nothing], axis=2)
        more += 1
    bias = _mask(attn_mask, key_padding_mask, (n, num_heads, length), q.array.dtype, more, is_causal, k.array.shape[2])
    if need_weights:
        w = S.attention_weights(q, k, bias)
        w = dropout(w, dropout_p, training) if dropout_p else w  # these are the weights that are given back
        y = S.matmul(w, v)
    else:
        w = None
        y = scaled_dot_product_attention(q, k, v, bias, dropout_p if training else 0.0)
    y = linear(S.reshape(S.permute_dims(y, (2, 0, 1, 3)), (length, n, e)), out_proj_weight, out_proj_bias)
    if w is not None and average_attn_weights:
        w = S.mean(w, axis=1)
    if not batched:
        y = y.squeeze(1)
        w = None if w is None else w.squeeze(0)
    return y, w


def _mask(attn_mask: Any, padding: Any, shape: Any, kind: Any, more: int, is_causal: bool, keys: int) -> Any:
    """Both masks as one bias, (N or 1, H or 1, L or 1, S)."""
    n, h, _ = shape
    if is_causal and attn_mask is None:
        raise RuntimeError("Need attn_mask if specifying the is_causal hint.")
    bias = _as_bias(attn_mask, kind)
    if bias is not None:
        rank = len(bias.array.shape)
        if rank == 2:
            bias = S.reshape(bias, (1, 1, *bias.array.shape))
        elif rank == 3:
            bias = S.reshape(bias, (n, h, *bias.array.shape[1:]))
        else:
            raise RuntimeError(f"attn_mask's dimension {rank} is not supported")
    if padding is not None:
        extra = _as_bias(padding, kind)
        extra = S.reshape(extra, (n, 1, 1, extra.array.shape[-1]))
        bias = extra if bias is None else S.add(bias, extra)
    if bias is not None and more:
        bias = S.pad(bias, ((0, 0), (0, 0), (0, 0), (0, more)))
    return bias
