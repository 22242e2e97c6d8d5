"""Recorded graphs of a GPU's work: there are none here, and each is refused when it is asked for.

What they are for, a step without Python's time between its kernels, is what `tapegrad.function` gives on TensorFlow's kernels.
"""

from __future__ import annotations

from typing import Any, NoReturn

from tapegrad.torch import _devices


def _refuse(name: str) -> NoReturn:
    if not _devices.gpus():
        raise _devices.no_gpu()
    raise RuntimeError(
        f"torch.cuda.{name}: no graphs of a GPU's work are recorded here; call the step itself, or compile it by tapegrad.function"
    )


class CUDAGraph:
    """A recorded graph, which can't be made."""

    def __init__(self, keep_graph: bool = False) -> None:
        _refuse("CUDAGraph")


class graph:
    """The context that records one, which can't be entered."""

    def __init__(self, cuda_graph: Any = None, pool: Any = None, stream: Any = None, **_: Any) -> None:
        _refuse("graph")


def graph_pool_handle() -> NoReturn:
    """A pool of memory for graphs, which are not there."""
    _refuse("graph_pool_handle")


def make_graphed_callables(*_: Any, **__: Any) -> NoReturn:
    """Functions that run as graphs, which are not there."""
    _refuse("make_graphed_callables")


def is_current_stream_capturing() -> bool:
    """Whether a graph is being recorded: never."""
    return False
