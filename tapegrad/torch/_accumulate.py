"""The `grad` of a leaf: what its hooks make of a gradient, and how that is added to what is there."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from tapegrad.core.marks import LentFrom
from tapegrad.core.tensor import Tensor as Core
from tapegrad.core.tensor import linked
from tapegrad.kernels.numpy_scatter import Rows
from tapegrad.torch import _watching
from tapegrad.torch._devices import device_of, moved, several
from tapegrad.torch._inplace import add_into
from tapegrad.torch._recorder import is_leaf_node, own, switch
from tapegrad.torch._sparse import Sparse, from_rows, joined
from tapegrad.torch._tensor import STYLE, WITHOUT_DEVICE, Tensor, auto_of, beside, wrap

#: Held while a gradient is added to a leaf's: several threads may do so.
_ACCUMULATING = threading.Lock()


def as_gradient(g: Any) -> Any:
    """A cotangent of a sweep as a tensor."""
    if type(g) is Core:
        out = STYLE.adopt(g)
        return out
    if type(g) is Rows:
        return from_rows(g)
    if hasattr(g, "dense"):
        g = g.dense()
    return wrap(g)


def leaf_of(leaf: Any) -> Any:
    """The tensor that a leaf is the node of, if it still exists."""
    return None if leaf.s is None else leaf.s()


def called_hooks(x: Any, g: Any, *, adds: bool) -> Any:
    """A leaf's gradient as its hooks leave it; those of the step that adds it are called if it `adds`."""
    auto, node = getattr(x, "_auto", None), own(x.node)
    if auto is None or node is None or not is_leaf_node(node):
        return g
    if auto.hooks:
        g = _watching.call_hooks(auto.hooks, g)
    if adds and auto.accumulate is not None:
        g = auto.accumulate.run_before(g)
    return g


def accumulate(x: Any, g: Any, fresh: bool, create_graph: bool) -> None:
    auto = auto_of(x)
    if type(x.array) not in WITHOUT_DEVICE and several() and not hasattr(g, "dense"):  # a CPU's number may have met a GPU's arrays
        g = moved(g, device_of(x.array)) if isinstance(g, Core) else beside(g, x.array)
    if auto.hooks or auto.accumulate is not None:
        was = switch(create_graph)
        try:
            with LentFrom(x.node):
                g = called_hooks(x, as_gradient(g), adds=True)
        finally:
            switch(was)
        fresh = False
    with _ACCUMULATING:
        first = auto.grad is None
        if first and fresh and type(g) is np.ndarray and g.base is None and g.flags.writeable:
            auto.grad = wrap(g)  # what `add` would do, of what is nobody else's
        else:
            add(auto, g, fresh, create_graph)
    if auto.post or auto.accumulate is not None:
        was = switch(create_graph)
        try:
            with LentFrom(x.node):
                for hook in list((auto.post or {}).values()):
                    _refuse_answer(hook(x), x)
                if auto.accumulate is not None:
                    auto.accumulate.run_after(auto.grad if first or not isinstance(g, Core) else g)
        finally:
            switch(was)


def _refuse_answer(found: Any, x: Any) -> None:
    """A hook that is called when all is done has nothing to give but the leaf that it was given."""
    if found is x:
        return
    if isinstance(found, Core):
        raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    if found is not None:
        raise TypeError(f"expected Variable, but hook returned '{type(found).__name__}'")


def add(auto: Any, g: Any, fresh: bool, create_graph: bool) -> None:
    have = auto.grad
    if have is None:
        auto.grad = _first(g, fresh, create_graph)
    elif create_graph or have.node is not None:
        was = switch(create_graph)
        try:
            auto.grad = STYLE.add(have, as_gradient(g) if type(g) is not Tensor else g)
        finally:
            switch(was)
    elif type(have) is Sparse:
        auto.grad = joined(have, as_gradient(g))
    else:
        raw = g.read()[0] if isinstance(g, Core) else g
        add_into(have, raw.dense() if hasattr(raw, "dense") else raw)


def _first(g: Any, fresh: bool, create_graph: bool) -> Any:
    if isinstance(g, Core):
        if create_graph and g.node is not None:
            return STYLE.adopt(linked(g.array, g.node))
        g = g.read()[0]
        fresh = False
    if type(g) is Rows:
        return from_rows(g)
    if hasattr(g, "dense"):
        g, fresh = g.dense(), True
    if type(g) is np.ndarray and not (fresh and g.base is None and g.flags.owndata and g.flags.writeable):
        g = np.array(g)
    return wrap(g)
