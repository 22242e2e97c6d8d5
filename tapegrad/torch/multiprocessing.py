"""Processes: Python's own `multiprocessing`.  Tensors are copied to a process, not shared with it."""

from __future__ import annotations

import multiprocessing as _own
from multiprocessing import *  # noqa: F403
from multiprocessing.reduction import ForkingPickler
from typing import Any

from tapegrad.torch._missing import refusing
from tapegrad.torch._tensor import Tensor

__all__ = [*_own.__all__, "get_all_sharing_strategies", "get_sharing_strategy", "set_sharing_strategy", "spawn"]  # noqa: PLE0604


def _sent(x: Any) -> Any:
    """A tensor on its way to another process, where the graph that it belongs to can't follow."""
    if not x.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd does not support crossing process "
            "boundaries.  If you just want to transfer the data, call detach() on the tensor before serializing (e.g., putting it on "
            "the queue)."
        )
    return x.__reduce_ex__(2)


ForkingPickler.register(Tensor, _sent)


def get_all_sharing_strategies() -> set[str]:
    """The ways in which memory could be shared."""
    return {"file_system"}


def get_sharing_strategy() -> str:
    """The way in which memory would be shared."""
    return "file_system"


def set_sharing_strategy(new_strategy: str) -> None:
    """There is one way only."""


def _call(fn: Any, i: int, args: tuple[Any, ...]) -> None:
    fn(i, *args)


def spawn(
    fn: Any, args: tuple[Any, ...] = (), nprocs: int = 1, join: bool = True, daemon: bool = False, start_method: str = "spawn"
) -> Any:
    """Call `fn(i, *args)` in `nprocs` new processes."""
    context: Any = _own.get_context(start_method)
    found = [context.Process(target=_call, args=(fn, i, args), daemon=daemon) for i in range(nprocs)]
    for process in found:
        process.start()
    if not join:
        return found
    for process in found:
        process.join()
    failed = [i for i, process in enumerate(found) if process.exitcode]
    if failed:
        raise RuntimeError(f"process {failed[0]} terminated with exit code {found[failed[0]].exitcode}")
    return None


__getattr__ = refusing(globals())
