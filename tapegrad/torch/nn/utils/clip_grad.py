"""Gradients cut to a length."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from tapegrad.kernels.numpy import norm2
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor, wrap
from tapegrad.torch.optim._memory import replaced

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]


def _given(parameters: Any) -> list[Any]:
    found = [parameters] if isinstance(parameters, Tensor) else list(parameters)
    return [p for p in found if p.grad is not None]


def get_total_norm(
    tensors: Any, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Any:
    """The norm of all tensors, as if they were one vector."""
    from tapegrad.torch._construct import tensor
    from tapegrad.torch.linalg import vector_norm

    found = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not found:
        return tensor(0.0)
    if norm_type == 2 and all(type(t) is Tensor and type(t.array) is np.ndarray and t.array.dtype.char in "fd" for t in found):
        total = wrap(norm2(np.array([norm2(t.array) for t in found])))  # 5 us a gradient; by ops that could be recorded 28
    else:
        norms = [vector_norm(t.detach(), float(norm_type)) for t in found]
        total = vector_norm(S.stack(norms), float(norm_type))
    if error_if_nonfinite and not bool(S.isfinite(total)):
        raise RuntimeError(
            f"The total norm of order {float(norm_type)} for gradients from `parameters` is non-finite, so it cannot be clipped. To "
            "disable this error and scale the gradients by the non-finite norm anyway, set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(parameters: Any, max_norm: float, total_norm: Any, foreach: bool | None = None) -> None:
    """Scale all gradients so that their norm, which is known, becomes at most `max_norm`."""
    factor = float(max_norm) / (total_norm + 1e-6)
    clipped = factor.clamp(max=1.0)
    bare = clipped.read()[0]
    for p in _given(parameters):
        g = p.grad
        raw = g.array
        if type(g) is Tensor and type(raw) is np.ndarray and isinstance(bare, np.ndarray | np.generic) and raw.flags.writeable:
            raw *= bare.astype(raw.dtype)
            replaced(g, raw)  # a write that graphs hear of, as that of `mul_`
        else:
            g.detach().mul_(clipped.to(g.dtype))


def clip_grad_norm_(
    parameters: Any,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Any:
    """Scale all gradients so that their norm is at most `max_norm`; gives the norm that they had."""
    found = _given(parameters)
    total = get_total_norm([p.grad for p in found], norm_type, error_if_nonfinite)
    clip_grads_with_norm_(found, max_norm, total)
    return total


def clip_grad_norm(
    parameters: Any, max_norm: float, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: Any = None
) -> Any:
    """The older name of `clip_grad_norm_`."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite)


def clip_grad_value_(parameters: Any, clip_value: float, foreach: bool | None = None) -> None:
    """Cut each element of all gradients to within `clip_value` of 0."""
    for p in _given(parameters):
        p.grad.detach().clamp_(-float(clip_value), float(clip_value))
