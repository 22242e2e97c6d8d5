"""Which kernel computes attention: scripts choose, and here there is one, so that a choice changes nothing."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterator
from typing import Any

from tapegrad.torch._missing import refusing


class SDPBackend(enum.Enum):
    """PyTorch's kernels of `scaled_dot_product_attention`."""

    ERROR = -1
    MATH = 0
    FLASH_ATTENTION = 1
    EFFICIENT_ATTENTION = 2
    CUDNN_ATTENTION = 3
    OVERRIDEABLE = 4


@contextlib.contextmanager
def sdpa_kernel(backends: Any, set_priority: bool = False) -> Iterator[None]:
    """A context for a choice among the kernels; the results are the same."""
    for backend in backends if isinstance(backends, list | tuple) else [backends]:
        if not isinstance(backend, SDPBackend):
            raise AssertionError(f"sdpa_kernel(backends): expected SDPBackend, or a list of them, got {backend!r}")
    yield


__getattr__ = refusing(globals())

__all__ = ["SDPBackend", "sdpa_kernel"]
