"""The choice among PyTorch's kernels of attention: scripts make it and ask for it, and here one way computes whatever was chosen."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

#: Kernels by the name that PyTorch's switches have, and whether each is switched on.
_ON = {"flash": True, "mem_efficient": True, "math": True, "cudnn": True}


def _switch(kernel: str) -> Callable[[bool], None]:
    def enable(enabled: bool) -> None:
        _ON[kernel] = bool(enabled)

    enable.__doc__ = f"Switch the kernel {kernel!r} of attention on or off; the results are the same."
    return enable


def _question(kernel: str) -> Callable[[], bool]:
    def is_enabled() -> bool:
        return _ON[kernel]

    is_enabled.__doc__ = f"Whether the kernel {kernel!r} of attention is switched on."
    return is_enabled


@contextlib.contextmanager
def sdp_kernel(
    enable_flash: bool = True, enable_math: bool = True, enable_mem_efficient: bool = True, enable_cudnn: bool = True
) -> Iterator[dict[str, Any]]:
    """Inside, these kernels of attention are switched on or off; outside, all is as it was."""
    warnings.warn(
        "torch.backends.cuda.sdp_kernel() is deprecated: torch.nn.attention.sdpa_kernel() has taken its place",
        FutureWarning,
        stacklevel=3,
    )
    before = dict(_ON)
    _ON.update(flash=bool(enable_flash), math=bool(enable_math), mem_efficient=bool(enable_mem_efficient), cudnn=bool(enable_cudnn))
    try:
        yield {}
    finally:
        _ON.update(before)


#: What `torch.backends.cuda` has of it.
SWITCHES: dict[str, Callable[..., Any]] = {
    "sdp_kernel": sdp_kernel,
    **{f"enable_{kernel}_sdp": _switch(kernel) for kernel in _ON},
    **{f"{kernel}_sdp_enabled": _question(kernel) for kernel in _ON},
    "is_flash_attention_available": lambda: False,
}
