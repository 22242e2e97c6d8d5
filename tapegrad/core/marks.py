"""Marks on nodes: whose sweep is under way there, and what to do where two of them meet.

A thread that comes to the nodes of another's sweep waits until that is over.  While that one runs code of a user (a hook, a
`backward` of theirs) it touches no node, and the user's code may wait for the very thread that came: so it lends its nodes for as
long, and goes on when those who have borrowed some have put them back.
"""

from __future__ import annotations

import _thread
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    import threading
    from collections.abc import Iterable

    from tapegrad.core.node import Node
    from tapegrad.core.recorder import Recorder

#: Held while nodes are marked; never while a rule runs.
marking = _thread.allocate_lock()


class _Swept(_thread._local):
    recorder: Recorder | None = None
    #: The thread for which this one sweeps, while that waits for it; None for itself.
    thread: int | None = None
    guarded = False  # inside a step of a sweep that goes by guarded steps: so do sweeps that it makes


swept = _Swept()


def sweep_for(thread: int) -> None:
    """Let this thread sweep in place of another, which waits for it: what that one's sweeps have under way is set aside, not waited for."""
    swept.thread = thread


def thread_number() -> int:
    """The thread for which this one sweeps: itself, or one that waits for it."""
    return swept.thread or _thread.get_ident()


def sweeping() -> Recorder | None:
    """The recorder for which this thread sweeps; None for nobody in particular."""
    return swept.recorder


@final
class Sweep:
    """The token of one sweep: nodes that take part carry it as their mark."""

    __slots__ = ("borrowed", "changed", "lent", "over", "set_aside", "switches", "thread")

    def __init__(self) -> None:
        self.thread = thread_number()
        self.over = False
        self.switches = False  # whether the loop goes on with guarded steps after a `Masked`
        self.changed: threading.Event | None = None  # made by those who wait for others to be done, or to lend or put back nodes
        self.set_aside: list[tuple[Node, Any, Any, Any]] = []  # what outer sweeps, or those that lent their nodes, had there
        self.lent = 0  # inside so many pieces of a user's code
        self.borrowed = 0  # so many sweeps of other threads have nodes of this one

    def is_lent(self) -> bool:
        """Whether other threads may use its nodes just now."""
        return self.lent > 0

    def tell(self) -> None:
        """Wake those who wait."""
        event, self.changed = self.changed, None
        if event is not None:
            event.set()

    def to_wait_for(self) -> threading.Event:
        """What is set when something has changed."""
        if self.changed is None:
            import threading

            self.changed = threading.Event()
        return self.changed

    def wait_until_put_back(self) -> None:
        """Wait until nobody has nodes of this sweep."""
        while True:
            with marking:
                if not self.borrowed:
                    return
                event = self.to_wait_for()
            event.wait()


class Busy(Exception):
    """Another thread is sweeping over some of the nodes."""

    def __init__(self, other: Sweep, event: threading.Event) -> None:
        self.other = other
        self.event = event


class LentFrom:
    """Around code of a user that a step of a sweep runs: other threads may sweep over the nodes meanwhile."""

    __slots__ = ("_token",)

    def __init__(self, node: Node) -> None:
        self._token: Any = node.mark

    def __enter__(self) -> None:
        token = self._token
        if token is not None:
            token.lent += 1  # by its own thread alone: who borrows looks again when it has said so
            if token.changed is not None:
                token.tell()

    def __exit__(self, *_: object) -> None:
        token = self._token
        if token is not None:
            token.lent -= 1
            if token.borrowed:
                token.wait_until_put_back()


def set_aside(token: Sweep, node: Node) -> None:
    """Deal with a node in which another sweep is under way."""
    other = node.mark
    assert isinstance(other, Sweep)
    if other.over:  # an interrupt has kept it from cleaning up
        node.grad = None
        return
    if other.thread != token.thread:
        known = any(mark is other for _, mark, _, _ in token.set_aside)
        other.borrowed += not known
        if not known and not other.is_lent():
            other.borrowed -= 1
            event = other.to_wait_for()
            if other.is_lent():  # by now: nobody would tell
                other.tell()
            raise Busy(other, event)
    token.set_aside.append((node, other, node.grad, getattr(node, "own", False)))
    node.grad = None


def clean(token: Sweep, groups: Iterable[Iterable[Node]]) -> None:
    """Leave nodes as they were before the sweep, however it ended."""
    for nodes in groups:
        for node in nodes:
            if node.mark is token:
                node.mark = None
                node.grad = None
    if token.set_aside:
        _put_back(token)
    token.over = True
    if token.changed is not None:
        token.tell()


def _put_back(token: Sweep) -> None:
    lenders: set[Sweep] = set()
    for node, mark, grad, own in token.set_aside:
        node.mark, node.grad, node.own = mark, grad, own
        if mark.thread != token.thread:
            lenders.add(mark)
    token.set_aside.clear()
    with marking:
        for other in lenders:
            other.borrowed -= 1
            other.tell()
