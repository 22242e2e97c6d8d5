"""What distributions share: parameters of one shape, and probabilities from logits and back."""

from __future__ import annotations

from functools import cached_property as lazy_property
from typing import Any

from tapegrad.torch import _arrays

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "standard_normal",
    "sum_rightmost",
    "tensors",
    "torch",
]

#: The facade, by which all here is computed, so that a tape records it.
torch: Any = _arrays.facade()

euler_constant = 0.57721566490153286060


def tensors(*values: Any) -> tuple[Any, ...]:
    """The values as tensors; numbers take the dtype of the first tensor, or the default."""
    given = [v for v in values if _arrays.is_tensor(v)]
    for v in values:
        if not _arrays.is_tensor(v) and (isinstance(v, str) or not isinstance(v, int | float | complex)):
            raise ValueError(
                "Input arguments must all be instances of Number, torch.Tensor or objects implementing __torch_function__."
            )
    dtype = given[0].dtype if given else torch.get_default_dtype()
    device = given[0].device if given else None
    return tuple(v if _arrays.is_tensor(v) else torch.tensor(v, dtype=dtype, device=device) for v in values)


def broadcast_all(*values: Any) -> tuple[Any, ...]:
    """The values as tensors of the shape that they have in common."""
    return tuple(torch.broadcast_tensors(*tensors(*values)))


def standard_normal(shape: Any, dtype: Any, device: Any = None) -> Any:
    """Normal numbers of mean 0 and standard deviation 1."""
    return torch.randn(tuple(shape), dtype=dtype, device=device)


def sum_rightmost(value: Any, dim: int) -> Any:
    """The sum over the last `dim` axes."""
    return value if dim == 0 else value.reshape((*value.shape[: value.dim() - dim], -1)).sum(-1)


def clamp_probs(probs: Any) -> Any:
    """Probabilities away from 0 and 1 by the dtype's precision."""
    eps = torch.finfo(probs.dtype).eps
    return probs.clamp(min=eps, max=1 - eps)


def logits_to_probs(logits: Any, is_binary: bool = False) -> Any:
    """Probabilities of logits: of one alternative, or along the last axis."""
    return torch.sigmoid(logits) if is_binary else torch.softmax(logits, dim=-1)


def probs_to_logits(probs: Any, is_binary: bool = False) -> Any:
    """Logits of probabilities: of one alternative, or along the last axis."""
    clamped = clamp_probs(probs)
    return torch.log(clamped) - torch.log1p(-clamped) if is_binary else torch.log(clamped)


def one_of(probs: Any, logits: Any) -> None:
    """Refuse both of two ways to say the same, and neither."""
    if (probs is None) == (logits is None):
        raise ValueError("Either `probs` or `logits` must be specified, but not both.")


def softplus(x: Any) -> Any:
    """log(1 + exp(x)), without overflow."""
    return torch.logaddexp(x, torch.zeros_like(x))
