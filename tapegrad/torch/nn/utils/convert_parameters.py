"""All parameters as one vector, and back."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor

__all__ = ["parameters_to_vector", "vector_to_parameters"]


def parameters_to_vector(parameters: Any) -> Any:
    """The elements of all parameters in one vector."""
    return S.concat([p.reshape(-1) for p in parameters], axis=0)


def vector_to_parameters(vec: Any, parameters: Any) -> None:
    """Let the parameters have the elements of a vector, and share its memory."""
    kind: Any = Tensor
    if not isinstance(vec, kind):
        raise TypeError(f"expected torch.Tensor, but got: {type(vec).__name__}")
    at = 0
    for p in parameters:
        n = math.prod(p.array.shape)
        p.data = vec[at : at + n].view_as(p).data
        at += n
