"""Which node stands for a value: where recorders begin to watch it, and what it means where it is a source."""

from __future__ import annotations

import _thread
from typing import TYPE_CHECKING, Any

from tapegrad.core.node import REBOUND, WATCH, Node, make_node
from tapegrad.core.recorder import NOBODY, Owners, Recorder, group, is_live

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tapegrad.core.tensor import Tensor

#: Held while a value gets a node; re-entrant, for a finalizer may read variables.
_naming = _thread.RLock()


def watch(x: Tensor, recorders: frozenset[Recorder]) -> Node:
    """The node of a value that these recorders watch from now on.

    It refers to the one that the value had, and belongs to those who watched that too, on whatever thread they are: they
    see all uses of the value, whoever else has come to watch it.
    """
    (node,) = watch_all((x,), recorders)
    return node


def watch_plainly(x: Any, recorder: Recorder) -> bool:
    """Let this recorder watch a value that nobody else does; False if there are others, and nothing is done."""
    node: Node | None = x.node
    if node is not None and (node.p is not None or not node.owners.spent):
        return False
    owners = recorder.alone or group(frozenset([recorder]))
    with _naming:
        if x.node is not node:
            return False
        x.node = make_node(WATCH, None, None, None, None, owners)
    return True


def met(x: Any, active: Owners, variable: Any) -> Node | None:
    """The node of a value that is read as a variable's while these are active: those who watch by themselves watch it from now on."""
    auto = active.auto
    node: Node | None = x.node
    if auto and (node is None or (node.p is None and node.owners.spent)):  # for each variable in each step
        with _naming:
            node = x.node
            if node is None or (node.p is None and node.owners.spent):
                owners = active if auto is active.recorders else group(auto)
                node = x.node = make_node(WATCH, None, None, None, None, owners)
                for r in auto:
                    r.variables.append(variable)
                return node
    new = auto if node is None else auto - node.owners.recorders
    if new:
        node = watch(x, new)
        for r in new:
            r.variables.append(variable)
    return node


def watch_all(xs: Iterable[Tensor], recorders: frozenset[Recorder]) -> list[Node]:
    """The same for several values."""
    found = []
    with _naming:
        alone: Owners | None = None
        joined: dict[Owners, Owners] = {}  # those who watch a value with these recorders, by who watched it before
        for x in xs:
            base = x.node
            while base is not None and base.owners.spent:
                base = base.p if base.op is WATCH else None
            if base is not None:
                base = _standing(base, recorders, joined)
            if base is None:
                if alone is None:
                    alone = group(recorders)
                base = make_node(WATCH, None, None, None, None, alone)
            x.node = base
            found.append(base)
    return found


def _standing(base: Node, recorders: frozenset[Recorder], joined: dict[Owners, Owners]) -> Node | None:
    """The oldest node of a value that stands for all who may still ask, or one that does so for these recorders too."""
    at: Node | None = base
    while at is not None:
        live = at.owners.recorders
        if not all(map(is_live, live)):
            live = frozenset(filter(is_live, live))
        older = at.p if at.op is WATCH else None
        if live and (older is None or not live <= older.owners.recorders):
            if at.owners.recorders >= recorders and at.op is not REBOUND:
                return at
            owners = joined.get(at.owners)
            if owners is None:
                owners = joined[at.owners] = group(recorders | live)
            return make_node(WATCH, at, None, None, None, owners)
        at = older
    return None



def root(node: Node | None, recorder: Recorder) -> Node | None:
    """The node at which this recorder began to know a value: all of its uses lie above."""
    if node is None or (node.p is None and recorder in node.owners.recorders):
        return node
    found = None
    while node is not None:
        if recorder in node.owners.recorders:
            found = node
        elif found is not None:
            break
        node = node.p if node.op is WATCH else None
    return found


def origin(node: Node | None, recorder: Recorder) -> Node | None:
    """The node of a tensor as a source: where this recorder began to watch it, whatever was written into it since."""
    at = node
    while at is not None and at.op is WATCH and recorder not in at.owners.recorders:
        at = at.p
    if at is not None and at.op is REBOUND:
        found = root(at.s, recorder)
        if found is not None:
            return found
    return root(node, recorder)


def rebound(node: Node | None, before: Node | None) -> Node | None:
    """The node of a tensor that takes over what `node` made, given the one that it had before."""
    while before is not None and before.op is REBOUND:
        before = before.s
    if before is None or before.op is not WATCH or not any(r.live for r in before.owners.recorders):
        return node
    if node is not None:
        return make_node(REBOUND, node, None, before, None, node.owners)
    cut = make_node(REBOUND, None, None, before, None, NOBODY)
    NOBODY.nodes.clear()
    return cut
