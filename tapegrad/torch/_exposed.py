"""Memory that NumPy's arrays share with tensors: anybody may write to it without a word.

A tensor on such memory is read as a copy while a graph is being recorded, so that what the graph saves is its own: a write
through the alias cannot change a gradient.  Once the array that was handed out is gone, the tensor is an ordinary one again.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from tapegrad.core.recorder import EMPTY, state
from tapegrad.torch._stale import Stale
from tapegrad.torch._tensor import ORDINARY, Tensor, settle_class
from tapegrad.torch._views import give_memory, laid_anew, store_of


class Exposed(Tensor):
    """A tensor whose memory a NumPy array shares."""

    __slots__ = ()

    def read(self) -> tuple[Any, Any]:
        where = self._store.exposed
        if where is not True and (where is None or where() is None):
            back: Any = self
            back.__class__ = Tensor
            settle_class(back)
            return self.array, self.node
        raw = self.array
        if state.active is EMPTY or type(raw) is not np.ndarray or not raw.ndim:
            return (raw if state.active is EMPTY else np.array(raw)[()]), self.node
        return raw.copy(), self.node


#: What a tensor of a class of a program's becomes, by that class.
EXPOSED_AS: dict[type, type] = {}
Exposed.__name__ = Exposed.__qualname__ = "Tensor"


def expose(x: Any, where: Any) -> Any:
    """Let a tensor and its views know that an array shares their memory."""
    store = store_of(x)
    store.shared = True
    store.exposed = where
    for t in [x, *(r() for r in store.fresh)]:
        if t is not None and type(t) in ORDINARY:
            t.__class__ = EXPOSED_AS.get(type(t), Exposed)
    return x


class _Memory:
    """The memory of a tensor for an array that is handed out: it keeps the arrays made from that apart from the tensor's."""

    __slots__ = ("__array_interface__", "raw")

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        self.__array_interface__ = raw.__array_interface__


def handed_out(x: Any) -> Any:
    """A NumPy array on the memory of a tensor."""
    if isinstance(x, Stale):
        _ = x.array  # as its base is now
    give_memory(x)
    raw = x.array
    if type(raw) is not np.ndarray:
        return np.asarray(raw)
    if not raw.flags.c_contiguous and laid_anew(x):  # the array is to be in the order in which PyTorch has it
        raw = x.array
    if raw.dtype.kind == "V" or not raw.size:
        return raw
    found = np.asarray(_Memory(raw))
    if not isinstance(x, Exposed) or store_of(x).exposed is not True:
        expose(x, weakref.ref(found))
    return found


