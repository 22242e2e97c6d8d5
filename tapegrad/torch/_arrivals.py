"""Gradients of leaves as they arrive in a sweep, where somebody looks on: each is added as soon as it is complete, as PyTorch does.

Without hooks nobody can tell, and all are added when the sweep is over.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from tapegrad.core.node import parents
from tapegrad.torch._recorder import is_leaf_node
from tapegrad.torch._versions import check

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.core.node import Node


@final
class Arrivals:
    """Looks at the steps of one sweep: calls `arrived(leaf, g, own)` after the last step that sends a leaf a gradient."""

    __slots__ = ("_arrived", "_due", "_step")

    def __init__(self, step: Any, arrived: Callable[[Node, Any, bool], None]) -> None:
        self._step = step
        self._arrived = arrived
        self._due: dict[Node, list[Node]] = {}

    def check(self, order: list[Node]) -> None:
        """See which step is the last for each leaf, and whether what was saved is still what it was."""
        check(order)
        seen: set[Node] = set()
        for node in reversed(order):
            for p in parents(node):
                if p is not None and p.p is None and p.mark is node.mark and p not in seen and is_leaf_node(p):
                    seen.add(p)
                    self._due.setdefault(node, []).append(p)

    def step(self, node: Node, g: Any, pull: Callable[[Node, Any], None]) -> None:
        """Take a step, and pass on what is complete then."""
        if self._step is None:
            pull(node, g)
        else:
            self._step(node, g, pull)
        for leaf in self._due.get(node, ()):
            if leaf.grad is not None:
                found, leaf.grad = leaf.grad, None
                self._arrived(leaf, found, leaf.own)
