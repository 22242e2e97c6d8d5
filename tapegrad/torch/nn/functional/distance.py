"""Dense layers, tables of rows, and distances."""

from __future__ import annotations

from typing import Any

import numpy as np

import tapegrad.nn  # noqa: F401  declares its ops
from tapegrad.kernels.batched import Batched, innermost, values_of
from tapegrad.registry.places import is_at_hand
from tapegrad.torch._functions._build import FUNCTIONS
from tapegrad.torch._refusals import FAILED, refusal
from tapegrad.torch._shapes import t, transpose
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import wrap

__all__ = ["bilinear", "cosine_similarity", "embedding", "embedding_bag", "linear", "one_hot", "pairwise_distance", "pdist"]

_dense, _matmul, _matmul_adjoint = S.dense, S.matmul, S.matmul_adjoint


def linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """x @ weight.T + bias."""
    try:
        if len(weight.array.shape) == 2 and weight.array.dtype.kind != "c":
            if bias is not None:
                return _dense(input, weight, bias)
            if len(input.array.shape) == 2:
                return _matmul_adjoint(input, weight)
        y = _matmul(input, t(weight) if len(weight.array.shape) < 3 else transpose(weight, -1, -2))
        return y if bias is None else S.add(y, bias)
    except FAILED:
        given = (("input", 1, input, True), ("weight", 2, weight, True), ("bias", 3, bias, False))
        if (found := refusal("linear", given)) is not None:
            raise found from None
        raise


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    """x1 W_k x2 + b_k for each k."""
    from tapegrad.torch import einsum

    y = einsum("...i,kij,...j->...k", input1, weight, input2)
    return y if bias is None else S.add(y, bias)


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Any:
    """The rows of a table at integer indices, which are looked at where the host holds them."""
    raw = input.read()[0]
    ids = values_of(raw) if is_at_hand(innermost(raw)) or max_norm is not None or scale_grad_by_freq else raw
    n = weight.array.shape[0]
    if raw.dtype.kind not in "iu":
        raise RuntimeError(
            "Expected tensor for argument #1 'indices' to have one of the following scalar types: Long, Int; but got "
            f"{input.type()} instead (while checking arguments for embedding)"
        )
    if type(ids) is np.ndarray and ids.size and (ids.min() < 0 or ids.max() >= n):
        raise IndexError("index out of range in self")
    if padding_idx is not None:
        if not -n <= padding_idx < n:
            raise AssertionError("Padding_idx must be within num_embeddings")
        padding_idx %= n
    if max_norm is not None:
        _renorm(weight, ids, max_norm, norm_type)
    y = S.embedding(weight, raw if type(raw) is Batched else ids, padding_idx=padding_idx, sparse=sparse)
    return _by_frequency(y, ids) if scale_grad_by_freq else y


def _renorm(weight: Any, ids: Any, max_norm: float, norm_type: float) -> None:
    """Rows that are too long, shortened in place."""
    from tapegrad.torch._modes import no_grad

    rows = np.unique(ids)
    raw = np.asarray(weight.array)[rows]
    size = np.linalg.norm(raw, norm_type, axis=-1)
    long = size > max_norm
    if long.any():
        with no_grad():
            scale = (max_norm / (size[long] + 1e-7)).astype(raw.dtype)
            weight[wrap(rows[long])] = wrap(raw[long] * scale[:, None])


def _by_frequency(y: Any, ids: Any) -> Any:
    """The same value, whose gradient is divided by how often its row was picked."""
    _, inverse, counts = np.unique(ids, return_inverse=True, return_counts=True)
    share = (1 / counts[inverse.reshape(ids.shape)]).astype(y.array.dtype)[..., None]
    part = S.multiply(y, wrap(share))
    return S.add(part, S.subtract(y, part).detach())


def embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: float | None = None,
    norm_type: float = 2,
    scale_grad_by_freq: bool = False,
    mode: str = "mean",
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> Any:
    """Sums, means or the largest of the rows in each bag of indices."""
    ids = np.asarray(input.array)
    if ids.ndim == 2:
        if offsets is not None:
            raise ValueError("if input is 2D, then offsets has to be None, as input is treated is a mini-batch of fixed length "
                             f"sequences. However, found offsets of type {type(offsets)}")  # fmt: skip
        starts = np.arange(ids.shape[0]) * ids.shape[1]
        flat = input.reshape(-1)
        per_sample_weights = None if per_sample_weights is None else per_sample_weights.reshape(-1)
    else:
        if offsets is None:
            raise ValueError("offsets has to be a 1D Tensor but got None")
        starts, flat = np.asarray(offsets.array), input
    _check_bags(np.asarray(flat.array), starts, weight, per_sample_weights, padding_idx, offsets is not None)
    bags = len(starts) - include_last_offset
    which = np.searchsorted(starts[:bags], np.arange(len(flat.array)), side="right") - 1
    rows = embedding(flat, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse)
    used = np.ones(len(which), bool) if padding_idx is None else np.asarray(flat.array) != padding_idx % weight.array.shape[0]
    if per_sample_weights is not None:
        if mode != "sum":
            raise NotImplementedError("embedding_bag: per_sample_weights was not None. per_sample_weights is only supported for "
                                      f"mode='sum' (got mode='{mode}').")  # fmt: skip
        rows = S.multiply(rows, S.expand_dims(per_sample_weights, axis=-1))
    keep = np.flatnonzero(used)
    rows, which = S.take(rows, keep, axis=0), which[keep]
    shape = (bags, weight.array.shape[1])
    if mode == "max":
        index = wrap(np.broadcast_to(which[:, None], (len(which), shape[1])).copy())
        start = wrap(np.zeros(shape, weight.array.dtype))
        return FUNCTIONS["scatter_reduce"](start, 0, index, rows, "amax", include_self=False)
    if mode not in ("sum", "mean"):
        raise ValueError("mode has to be one of sum, mean or max")
    y = S.put_add(rows, (which,), shape)
    if mode == "sum":
        return y
    counts = np.maximum(np.bincount(which, minlength=bags), 1).astype(weight.array.dtype)
    return S.divide(y, wrap(counts[:, None]))


def _check_bags(ids: Any, starts: Any, weight: Any, factors: Any, padding: int | None, given: bool) -> None:
    """Refuse bags that don't begin where the first index is, rows that aren't there, and factors of other shape or dtype."""
    n = weight.array.shape[0]
    for name, raw in (("indices", ids), ("offsets", starts)):
        if raw.dtype.kind not in "iu":
            raise RuntimeError(
                f"Expected tensor for argument #1 '{name}' to have one of the following scalar types: Long, Int; but got {raw.dtype} "
                "instead (while checking arguments for embedding_bag)"
            )
    outside = np.flatnonzero((ids < 0) | (ids >= n))
    if outside.size:
        at = int(outside[0])
        raise RuntimeError(f"Index {at} of input takes value {int(ids[at])} which is not in the valid range [0, {n})")
    if given and starts.size:
        if starts[0] != 0:
            raise RuntimeError("offsets[0] has to be 0, i.e., the first sequence in the mini-batch has to start from position 0. "
                               f"However, got {int(starts[0])}")  # fmt: skip
        if starts[-1] > ids.size:
            raise RuntimeError(
                f"offsets[-1] can not be greater than input's length {ids.size} but got offsets[-1] of {int(starts[-1])}"
            )
    if padding is not None and not -n <= padding < n:
        raise RuntimeError(f"padding_idx must be within the number of embeddings, -{n} through {n - 1}, but got {padding}")
    if factors is not None:
        if factors.numel() != ids.size:
            raise ValueError(
                f"embedding_bag: If per_sample_weights ({factors.shape}) is not None, then it must have the same shape as the input "
                f"({list(ids.shape)})"
            )
        if factors.array.dtype != weight.array.dtype:
            raise RuntimeError(
                f"Expected tensor for argument #1 'weight' to have the same type as tensor for argument #1 'per_sample_weights'; but "
                f"type {weight.type()} does not equal {factors.type()} (while checking arguments for embedding_bag)"
            )


def one_hot(input: Any, num_classes: int = -1) -> Any:
    """Rows of zeros with a one at each index, as integers."""
    inside, _ = input.read()
    raw = values_of(inside)
    if raw.dtype != np.int64:
        raise RuntimeError(f"one_hot is only applicable to index tensor of type LongTensor, but got {input.type()}.")
    if raw.size and raw.min() < 0:
        raise RuntimeError("Class values must be non-negative.")
    if num_classes == -1:
        if type(inside) is Batched:
            raise RuntimeError("When vmap-ing torch.nn.functional.one_hot, please provide an explicit positive num_classes argument.")
        if not raw.size:
            raise RuntimeError("Can not infer total number of classes from empty tensor.")
        num_classes = int(raw.max()) + 1
    if raw.size and raw.max() >= num_classes:
        raise RuntimeError("Class values must be smaller than num_classes.")
    if type(inside) is Batched:
        return S.astype(S.equal(S.expand_dims(input, axis=-1), np.arange(num_classes)), np.int64)
    return wrap((raw[..., None] == np.arange(num_classes)).astype(np.int64))


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """x1 . x2 / (|x1| |x2|) along an axis; each norm counts as `eps` at least."""
    shape = np.broadcast_shapes(x1.array.shape, x2.array.shape)
    x1, x2 = (x if x.array.shape == shape else S.broadcast_to(x, shape) for x in (x1, x2))
    return S.cosine_similarity(x1, x2, axis=dim, epsilon=eps)


def pairwise_distance(x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Any:
    """The p-norm of x1 - x2 + eps along the last axis."""
    return S.pairwise_distance(x1, x2, p=p, epsilon=eps, keepdims=keepdim)


pdist = FUNCTIONS["pdist"]
