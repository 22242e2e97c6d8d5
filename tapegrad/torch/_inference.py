"""Inference mode: tensors that are made inside never take part in a graph.

They have a class of their own, which is read by a method, so that nothing is asked of ordinary tensors.  While the mode is in
force anywhere, the ops make their results by a function that looks which thread it is.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any

import numpy as np

from tapegrad.torch import _packing, _tensor
from tapegrad.torch._modes import INFERENCE
from tapegrad.torch._recorder import is_enabled
from tapegrad.torch._storage import owner
from tapegrad.torch._tensor import STYLE, Tensor

_new = object.__new__


class Inference(Tensor):
    """A tensor that was made in inference mode."""

    __slots__ = ()
    _is_inference = True

    def read(self) -> tuple[Any, Any]:
        if is_enabled() and not INFERENCE.on:
            _bar(self.array)
        return self.array, self.node


Inference.__name__ = Inference.__qualname__ = "Tensor"
#: Arrays that no graph may save, by their id: those of inference tensors that were read where something may be recorded.
_BARRED: dict[int, Any] = {}


def _bar(raw: Any) -> None:
    if isinstance(raw, np.generic):
        return
    memory = owner(raw) if type(raw) is np.ndarray else raw
    key = id(memory)
    if key in _BARRED:
        return
    if not _BARRED:
        _packing.on_nodes(_check, True)

    def forget(_: Any) -> None:
        _BARRED.pop(key, None)
        if not _BARRED:
            _packing.on_nodes(_check, False)

    _BARRED[key] = weakref.ref(memory, forget)


def _check(node: Any) -> None:
    """Refuse a node that has saved an inference tensor."""
    for value in node.s if type(node.s) is tuple else (node.s, node.t):
        if id(owner(value) if type(value) is np.ndarray else value) in _BARRED:
            raise RuntimeError(
                "Inference tensors cannot be saved for backward. Please do not use Tensors created in inference mode in computation "
                "tracked by autograd. To work around this, you can make a clone to get a normal tensor and use it in autograd, or use "
                "`torch.no_grad()` instead of `torch.inference_mode()`."
            )


def refuse_inference(x: Any) -> None:
    """Refuse to let a graph begin at a tensor that can be part of none."""
    if x._is_inference and not INFERENCE.on:
        raise RuntimeError("Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.")


def _made(cls: Any) -> Any:
    return _new(Inference if INFERENCE.on and cls is Tensor else cls)


_lock = threading.Lock()
_count = [0]


def _swap(new: Any) -> None:
    _tensor._new = new
    STYLE.make_with(new)


def enter(on: bool) -> None:
    """Enter the mode on this thread, or leave it."""
    with _lock:
        if on and not INFERENCE.on:
            _count[0] += 1
            _swap(_made)
        elif INFERENCE.on and not on:
            _count[0] -= 1
            if not _count[0]:
                _swap(_new)
    INFERENCE.on = on


leave = enter
