"""Processes that work together, as far as one process is: a group of world size 1, in which every collective is the identity.

A larger world is refused: `tapegrad.torch` has no way of talking to other processes.
"""

from __future__ import annotations

import os
from typing import Any

__all__ = [
    "ReduceOp", "all_gather", "all_reduce", "barrier", "broadcast", "destroy_process_group", "get_backend",
    "get_default_backend_for_device", "get_rank", "get_world_size", "init_process_group", "is_available", "is_gloo_available",
    "is_initialized", "is_mpi_available", "is_nccl_available", "reduce",
]  # fmt: skip

_STATE: dict[str, Any] = {"backend": None}


class ReduceOp:
    """How tensors of several processes are reduced to one."""

    SUM = "sum"
    AVG = "avg"
    PRODUCT = "product"
    MIN = "min"
    MAX = "max"


def is_available() -> bool:
    """Whether several processes can work together: no."""
    return False


is_nccl_available = is_gloo_available = is_mpi_available = is_available


def is_initialized() -> bool:
    """Whether `init_process_group` was called."""
    return _STATE["backend"] is not None


def init_process_group(
    backend: Any = None, init_method: Any = None, timeout: Any = None, world_size: int = -1, rank: int = -1, **_: Any
) -> None:
    """Begin a group of this process alone."""
    size = world_size if world_size != -1 else int(os.environ.get("WORLD_SIZE", "1"))
    if size != 1:
        raise RuntimeError(
            f"init_process_group: expected world_size == 1, got {size}: tapegrad.torch works in one process; run the script in one"
        )
    if is_initialized():
        raise ValueError("trying to initialize the default process group twice!")
    _STATE["backend"] = backend or "gloo"


def destroy_process_group(group: Any = None) -> None:
    """End the group."""
    _STATE["backend"] = None


def _checked() -> None:
    if not is_initialized():
        raise ValueError("Default process group has not been initialized, please make sure to call init_process_group.")


def get_rank(group: Any = None) -> int:
    """The number of this process: 0."""
    _checked()
    return 0


def get_world_size(group: Any = None) -> int:
    """The number of processes: 1."""
    _checked()
    return 1


def get_backend(group: Any = None) -> str:
    """What the group was begun with."""
    _checked()
    return str(_STATE["backend"])


def get_default_backend_for_device(device: Any) -> str:
    """What a group on a device would use."""
    return "gloo"


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> None:
    """The reduction over all processes, in place: the tensor as it is."""
    _checked()


def reduce(tensor: Any, dst: int = 0, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False) -> None:
    """The reduction over all processes, in place: the tensor as it is."""
    _checked()


def broadcast(tensor: Any, src: int = 0, group: Any = None, async_op: bool = False) -> None:
    """The tensor of one process in all: as it is."""
    _checked()


def all_gather(tensor_list: list[Any], tensor: Any, group: Any = None, async_op: bool = False) -> None:
    """The tensors of all processes in a list."""
    _checked()
    tensor_list[0].copy_(tensor)


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> None:
    """Wait for all processes: there is none to wait for."""
    _checked()


def __getattr__(name: str) -> Any:
    from tapegrad.torch._missing import refuse

    return refuse("torch.distributed", name, globals())
