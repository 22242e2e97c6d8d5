"""The implicit recorder of the PyTorch style: always there, keeping nothing, and switched off by `no_grad`."""

from __future__ import annotations

import threading
from typing import Any

from tapegrad.core import recorder as rec
from tapegrad.core.node import WATCH, Node
from tapegrad.core.recorder import EMPTY, Recorder, group, state
from tapegrad.core.watching import root
from tapegrad.torch._elsewhere import lend

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


class _Transforms(threading.local):
    """Those who record for `torch.func` around what runs now, and whom `no_grad` switches off along with the implicit one."""

    inside: frozenset[Recorder] = frozenset()
    depth = 0  # how many transforms there are around what runs now


TRANSFORMS = lend(_Transforms())


def enter_mode(on: bool) -> tuple[bool, frozenset[Recorder]]:
    """Switch recording by the user's will: of the graph of tensors, and of the transforms around; give back how it was."""
    inside = TRANSFORMS.inside
    if not inside:
        return switch(on), inside
    recorders = state.active.recorders
    was = IMPLICIT in recorders, recorders & inside
    wanted = recorders - inside - ALONE
    state.active = group(wanted | inside | ALONE if on else wanted)
    return was


def leave_mode(was: tuple[bool, frozenset[Recorder]]) -> None:
    """Let it be as it was."""
    implicit, others = was
    switch(implicit)
    inside = TRANSFORMS.inside
    if inside:
        state.active = group((state.active.recorders - inside) | others)


class recording_transform:
    """Around a function that a transform calls: whoever has begun to record since `before` is switched off by `no_grad` inside.

    Those outside that are switched off already stay so, whatever mode is entered inside.
    """

    def __init__(self, before: frozenset[Recorder]) -> None:
        self._before = before

    def __enter__(self) -> None:
        self._was = TRANSFORMS.inside
        TRANSFORMS.depth += 1
        active = state.active.recorders
        TRANSFORMS.inside = (self._was & active) | {r for r in active - self._before if r.on_push is None}

    def __exit__(self, *_: object) -> None:
        TRANSFORMS.depth -= 1
        TRANSFORMS.inside = self._was


def own(node: Node | None) -> Node | None:
    """The node at which the implicit recorder knows a value, or None if it does not."""
    if node is None or (node.owners is OWNERS and (node.op is not WATCH or node.p is None)):
        return node
    return root(node, IMPLICIT)


def requires(x: Any) -> bool:
    """Whether a tensor is part of a graph of the implicit recorder."""
    node = x.node
    return node is not None and (node.owners is OWNERS or IMPLICIT in node.owners.recorders or own(node) is not None)


def is_leaf_node(node: Node) -> bool:
    """Whether a node, of those that `own` gives, is a watched value that nothing recorded has made."""
    return node.op is WATCH
