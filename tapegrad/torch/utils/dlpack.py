"""Tensors to and from other libraries, without a copy."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._construct import from_dlpack


def to_dlpack(tensor: Any) -> Any:
    """A capsule that holds a tensor's memory."""
    return tensor.__dlpack__()


__all__ = ["from_dlpack", "to_dlpack"]
