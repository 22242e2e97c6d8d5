"""GPUs, as `torch.cuda` has them: on NumPy kernels there is none, and every question is answered so."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._absent import NoDevice as device
from tapegrad.torch._absent import no_cuda, nothing, part
from tapegrad.torch._functions.convert import LEGACY

_ZERO = [
    "device_count", "memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved",
    "memory_cached", "max_memory_cached",
]  # fmt: skip
_QUIET = [
    "empty_cache", "manual_seed", "manual_seed_all", "seed", "seed_all", "set_device", "init", "ipc_collect",
    "reset_peak_memory_stats", "reset_max_memory_allocated",
]  # fmt: skip
_REFUSED = [
    "current_device", "get_device_name", "get_device_properties", "get_device_capability", "synchronize",
    "current_stream", "default_stream", "memory_summary", "memory_stats", "mem_get_info", "Stream", "Event",
    "get_rng_state", "set_rng_state", "stream",
]  # fmt: skip


def is_available() -> bool:
    """Whether there is a GPU."""
    return False


def is_initialized() -> bool:
    """Whether a GPU has been used."""
    return False


def is_bf16_supported(including_emulation: bool = True) -> bool:
    """Whether a GPU computes with bfloat16."""
    return False


def _zero(*_: Any, **__: Any) -> int:
    return 0


globals().update(dict.fromkeys(_ZERO, _zero))
globals().update(dict.fromkeys(_QUIET, nothing))
globals().update(dict.fromkeys(_REFUSED, no_cuda))


def _legacy(name: str) -> Any:
    def __new__(cls: Any, *args: Any, **words: Any) -> Any:
        raise TypeError(f"type torch.cuda.{name} not available. Torch not compiled with CUDA enabled.")

    return type(name, (), {"__new__": __new__, "__module__": "torch.cuda"})


globals().update({name: _legacy(name) for name in LEGACY})
nccl = part(__name__, "nccl", "Communication between GPUs: not there.", version=no_cuda, is_available=lambda _=None: False)


def __getattr__(name: str) -> Any:
    if name == "amp":
        from importlib import import_module

        return import_module("tapegrad.torch.cuda.amp")
    from tapegrad.torch._missing import refuse

    return refuse("torch.cuda", name, globals())


__all__ = ["device", "is_available", "is_bf16_supported", "is_initialized"]
