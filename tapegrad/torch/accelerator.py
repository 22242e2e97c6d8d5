"""Accelerators of any kind: on NumPy kernels there is none, and every question is answered so."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._absent import NoDevice as device_index
from tapegrad.torch._absent import no_cuda as _refused

__all__ = [
    "current_accelerator", "current_device_index", "device_count", "device_index", "is_available", "set_device_idx", "set_device_index",
    "synchronize",
]  # fmt: skip

current_device_index = set_device_index = set_device_idx = synchronize = _refused


def is_available() -> bool:
    """Whether there is one."""
    return False


def device_count() -> int:
    """How many there are."""
    return 0


def current_accelerator(check_available: bool = False) -> Any:
    """Of which kind they are: None, as there is none."""
    return None
