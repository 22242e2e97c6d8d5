"""Neural networks."""

from __future__ import annotations

from typing import Any

from tapegrad.torch.nn import attention, functional, grad, init, modules, parallel, parameter, utils
from tapegrad.torch.nn.modules import *  # noqa: F403
from tapegrad.torch.nn.parallel import DataParallel
from tapegrad.torch.nn.parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [  # noqa: PLE0604
    *modules.__all__, "Buffer", "DataParallel", "Parameter", "UninitializedBuffer", "UninitializedParameter", "attention",
    "functional", "grad", "init", "parallel", "parameter", "utils",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    from tapegrad.torch._missing import refuse

    return refuse("torch.nn", name, globals())
