"""`DataParallel` and its like, on one device: the module itself."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._absent import part
from tapegrad.torch._missing import refusing
from tapegrad.torch.nn.modules.module import Module

__all__ = ["DataParallel", "DistributedDataParallel", "data_parallel"]


class DataParallel(Module):
    """A module on several devices; there is one, so it is called as it is."""

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0) -> None:
        super().__init__()
        self.module = module
        self.device_ids: list[int] = []
        self.dim = dim

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


class DistributedDataParallel(DataParallel):
    """A module in several processes; there is one, so it is called as it is."""

    def __init__(self, module: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0, **_: Any) -> None:
        super().__init__(module, device_ids, output_device, dim)


def data_parallel(
    module: Any, inputs: Any, device_ids: Any = None, output_device: Any = None, dim: int = 0, module_kwargs: Any = None
) -> Any:
    """A module on several devices; there is one, so it is called as it is."""
    given = inputs if isinstance(inputs, tuple) else (inputs,)
    return module(*given, **(module_kwargs or {}))


#: PyTorch has a module for each: `from torch.nn.parallel.distributed import DistributedDataParallel`.
distributed = part(__name__, "distributed", DistributedDataParallel.__doc__ or "", DistributedDataParallel=DistributedDataParallel)
part(__name__, "data_parallel", DataParallel.__doc__ or "", DataParallel=DataParallel, data_parallel=data_parallel)

__getattr__ = refusing(globals())
