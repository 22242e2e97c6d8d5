"""PyTorch's own tensors as arguments: constants, on the same memory.

One that requires grad is refused, for its gradient would be lost.
"""

from __future__ import annotations

import sys
from typing import Any

from tapegrad.errors import ArgumentError, GradientError
from tapegrad.registry.space import ADOPTERS, FINDERS, NUMPY, Space


def raw_of(x: Any, where: str = "") -> Any:
    """The array of NumPy's on the memory of a tensor of PyTorch's."""
    torch: Any = sys.modules["torch"]
    if x.requires_grad and torch.is_grad_enabled():
        raise GradientError(
            f"{where}a tensor of PyTorch that requires grad, {x.dtype} {tuple(x.shape)}, would be a constant here and lose its "
            "gradient; write .detach() (of a module: .requires_grad_(False)) if that is meant, or make it a tensor of "
            "tapegrad: tapegrad.torch.tensor(values, requires_grad=True)"
        )
    try:
        x = x.detach().resolve_conj().resolve_neg()
        if x.dtype is torch.bfloat16:
            from tapegrad.dtypes import bfloat16

            return x.view(torch.int16).numpy().view(bfloat16)
        return x.numpy()
    except (TypeError, RuntimeError) as error:
        raise ArgumentError(
            f"{where}a tensor of PyTorch's, {x.layout} on {x.device}, is no array of NumPy's: {error}"
        ) from error


def _adopt(x: Any) -> Any:
    raw = raw_of(x)
    return raw if raw.ndim else raw[()]


def _find(kind: type) -> Space | None:
    if not any(c.__module__.partition(".")[0] == "torch" for c in kind.__mro__):
        return None
    torch: Any = sys.modules["torch"]
    if not isinstance(torch.Tensor, type) or not issubclass(kind, torch.Tensor):
        return None
    ADOPTERS[kind] = _adopt
    return NUMPY


FINDERS.append(_find)
