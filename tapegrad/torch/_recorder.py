"""The implicit recorder of the PyTorch style: always there, keeping nothing, and switched off by `no_grad`."""

from __future__ import annotations

from typing import Any

from tapegrad.core import recorder as rec
from tapegrad.core.node import WATCH, Node
from tapegrad.core.recorder import EMPTY, Recorder, group, state

IMPLICIT = Recorder(auto=False, keeping=False)
ALONE = frozenset([IMPLICIT])
rec.record_always(IMPLICIT)
#: The group of the implicit recorder alone, which owns the nodes of an ordinary script.
OWNERS = group(ALONE)


def is_enabled() -> bool:
    """Whether the implicit recorder records on this thread."""
    active = state.active
    return active is OWNERS or IMPLICIT in active.recorders


def switch(on: bool) -> bool:
    """Switch the implicit recorder of this thread; give back how it was."""
    active = state.active
    if active is OWNERS:
        if not on:
            state.active = EMPTY
        return True
    was = IMPLICIT in active.recorders
    if was != on:
        state.active = active.plus(IMPLICIT) if on else active.minus(IMPLICIT)
    return was


def own(node: Node | None) -> Node | None:
    """The node at which the implicit recorder knows a value, or None if it does not."""
    if node is None or (node.owners is OWNERS and (node.op is not WATCH or node.p is None)):
        return node
    return rec.root(node, IMPLICIT)


def requires(x: Any) -> bool:
    """Whether a tensor is part of a graph of the implicit recorder."""
    node = x.node
    return node is not None and (node.owners is OWNERS or IMPLICIT in node.owners.recorders or own(node) is not None)


def is_leaf_node(node: Node) -> bool:
    """Whether a node, of those that `own` gives, is a watched value that nothing recorded has made."""
    return node.op is WATCH
