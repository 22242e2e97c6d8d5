"""Accelerators of any kind: TensorFlow's GPUs on its kernels; on NumPy kernels there is none, and answers say so."""

from __future__ import annotations

from typing import Any

from tapegrad.torch import cuda as _cuda
from tapegrad.torch._devices import device as _named
from tapegrad.torch._missing import refusing
from tapegrad.torch.cuda import current_device as current_device_index
from tapegrad.torch.cuda import device as device_index
from tapegrad.torch.cuda import device_count, is_available, synchronize

__all__ = [
    "current_accelerator", "current_device_index", "device_count", "device_index", "is_available", "set_device_idx",
    "set_device_index", "synchronize",
]  # fmt: skip


def set_device_index(device: Any) -> None:
    """Let the kind of accelerator alone mean another one on this thread."""
    _cuda.current_device()  # which raises where there is none
    _cuda.set_device(device)


set_device_idx = set_device_index


def current_accelerator(check_available: bool = False) -> Any:
    """Of which kind they are; None if there is none."""
    return _named("cuda") if is_available() else None


__getattr__ = refusing(globals())
