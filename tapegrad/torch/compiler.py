"""What scripts ask of PyTorch's compiler: nothing is compiled here, so functions are as they stand."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._info import compile
from tapegrad.torch._missing import refusing


def is_compiling() -> bool:
    """Whether a graph is being made of what runs: never."""
    return False


is_dynamo_compiling = is_exporting = is_compiling


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """The function as it is; a decorator if there is none."""
    return fn if fn is not None else lambda f: f


def allow_in_graph(fn: Any) -> Any:
    """The function as it is."""
    return fn


def assume_constant_result(fn: Any) -> Any:
    """The function as it is."""
    return fn


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """The compilers that are there: none."""
    return []


def reset() -> None:
    """Forget what was compiled: nothing."""


def cudagraph_mark_step_begin() -> None:
    """Nothing: no graph of a GPU's kernels is replayed."""


__getattr__ = refusing(globals())

__all__ = [
    "allow_in_graph", "assume_constant_result", "compile", "cudagraph_mark_step_begin", "disable", "is_compiling",
    "is_dynamo_compiling", "is_exporting", "list_backends", "reset",
]  # fmt: skip
