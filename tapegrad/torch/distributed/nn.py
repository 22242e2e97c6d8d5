"""The collectives that are part of the graph: in a world of one process each gives what it was given, with its gradient."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._missing import refusing
from tapegrad.torch.distributed import ReduceOp, _checked


def all_reduce(tensor: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The reduction over all processes."""
    _checked()
    return tensor.clone()


def reduce(tensor: Any, dst: int, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """The reduction over all processes, in one of them."""
    _checked()
    return tensor.clone()


def broadcast(tensor: Any, src: int, group: Any = None) -> Any:
    """The tensor of one process, in all."""
    _checked()
    return tensor.clone()


def all_gather(tensor: Any, group: Any = None) -> tuple[Any, ...]:
    """The tensors of all processes."""
    _checked()
    return (tensor.clone(),)


def gather(tensor: Any, dst: int = 0, group: Any = None) -> tuple[Any, ...]:
    """The tensors of all processes, in one of them."""
    _checked()
    return (tensor.clone(),)


def scatter(tensors: Any, src: int = 0, group: Any = None) -> Any:
    """This process's part of what one process has."""
    _checked()
    (own,) = tensors
    return own.clone()


def reduce_scatter(output: Any, input_list: Any, op: Any = ReduceOp.SUM, group: Any = None) -> Any:
    """This process's part of the reduction over all processes."""
    _checked()
    (own,) = input_list
    output.data.copy_(own)
    return own.clone()


__getattr__ = refusing(globals())

__all__ = ["all_gather", "all_reduce", "broadcast", "gather", "reduce", "reduce_scatter", "scatter"]
