"""Whether a tensor is one without values: there are none here."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._missing import refusing


def is_fake(x: Any) -> bool:
    """False: all tensors have values."""
    return False


__getattr__ = refusing(globals())
__all__ = ["is_fake"]
