"""Who knows a value, and what a call has read: looked up in the graph."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapegrad.core.node import WATCH, Node, parents
from tapegrad.core.recorder import state

if TYPE_CHECKING:
    from collections.abc import Iterable


def is_known(node: Node | None) -> bool:
    """Whether somebody who is recording now knows a value."""
    return node is not None and not node.owners.recorders.isdisjoint(state.active.recorders)


def made_since(outputs: Iterable[Node | None], start: int) -> tuple[list[Node], list[Node]]:
    """The nodes that lead to the outputs: what comes from before number `start`, or from nothing; and those made since.

    Only what somebody records now is looked at.
    """
    from_before: dict[Node, None] = {}
    made: dict[Node, None] = {}
    stack = [n for n in outputs if n is not None]
    while stack:
        node = stack.pop()
        if node in made or node in from_before or not is_known(node):
            continue
        if node.seq < start or node.p is None:
            from_before[node] = None
        else:
            made[node] = None
            stack.extend(p for p in parents(node) if p is not None)
    return list(from_before), list(made)


def same_value(node: Node, among: Iterable[Node]) -> Node | None:
    """The node among these that stands for the same value: itself, or one that was watched before it."""
    at: Node | None = node
    while at is not None:
        if at in among:
            return at
        at = at.p if at.op is WATCH else None
    return None
