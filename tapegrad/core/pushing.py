"""The forward sweep over what was recorded: from tangents of some nodes to those of others, each step once, no recursion."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.core.engine import by_age
from tapegrad.core.node import SPENT, Node, parents

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapegrad.core.recorder import Recorder


def advance(
    seeds: Sequence[tuple[Node, Any]], targets: Sequence[Node | None], recorder: Recorder | None, *, recorded: bool
) -> list[Any]:
    """The tangents of the targets, from those of `seeds`, through what `recorder` has kept; None where there is none.

    With no recorder, through what anybody has kept.  The tangent of a seed may be None: nodes before it are not looked at.
    With `recorded`, tangents are Tensors, and what is computed is recorded by whoever is active; else raw arrays.
    """
    tangents: dict[Node, Any] = dict(seeds)
    for node in _before([n for n in targets if n is not None], tangents, recorder):
        given = tuple(tangents.get(p) if p is not None else None for p in parents(node))
        if any(t is not None for t in given):
            tangents[node] = (node.op.push_recorded if recorded else node.op.push)(node, given)
    return [None if n is None else tangents.get(n) for n in targets]


def _before(targets: list[Node], known: dict[Node, Any], recorder: Recorder | None) -> list[Node]:
    """The nodes that lead to the targets, down to those that are known; oldest first."""
    found: dict[Node, None] = {}
    stack = targets
    while stack:
        node = stack.pop()
        if node in found or node in known or (recorder is not None and recorder not in node.owners.recorders):
            continue
        if node.op is SPENT:
            SPENT.push(node, ())
        found[node] = None
        stack.extend(p for p in parents(node) if p is not None)
    return sorted(found, key=by_age)
