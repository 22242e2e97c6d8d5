"""The sweep of the PyTorch style: from roots to all leaves, over nodes that keep their edges when their values are let go."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, final

from tapegrad.core import engine
from tapegrad.core.marks import LentFrom, clean, swept
from tapegrad.core.node import WATCH, Node, Recorded, parents, receive

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.core.recorder import Owners, Recorder


@final
class _Everything(set[Node]):
    """What holds all nodes: every leaf is a source."""

    def __contains__(self, node: object) -> bool:
        return True


_ALL = _Everything()


@final
class Hooked(Recorded):
    """A node's op with what is to be called on its way: `before` takes the complete cotangent and gives it back.

    A call with an attribute `pre` belongs to the step, not to the value: where a sweep ends at the node it is not made.

    `after(node, pull, g)`, if there is any, runs the pull and sees what it sends on.
    """

    __slots__ = ("after", "before", "metadata", "op")

    def __init__(self, op: Recorded) -> None:
        # Not by the constructor of the base: bound methods kept here would be a cycle, and hold the graph after its tensors.
        self.name = op.name
        self.push = op.push
        self.push_recorded = op.push_recorded
        self.op = op
        self.before: list[Callable[[Any], Any]] = []
        self.metadata: dict[Any, Any] = {}
        self.after: Callable[[Node, Callable[[Node, Any], None], Any], None] | None = None

    def pull(self, node: Node, g: Any) -> None:
        """The calls, then the op's step."""
        self.onwards(node, _called(node, self.before, g), recorded=False)

    def pull_recorded(self, node: Node, g: Any) -> None:
        """The same on Tensors."""
        self.onwards(node, _called(node, self.before, g), recorded=True)

    def onwards(self, node: Node, g: Any, *, recorded: bool) -> None:
        """The op's own pull, without the calls before it."""
        pull = self.op.pull_recorded if recorded else self.op.pull
        node.own = False
        if self.after is None:
            pull(node, g)
        else:
            self.after(node, pull, g)


def hooked(node: Node) -> Hooked:
    """The op of a node, as one that calls."""
    op = node.op
    if type(op) is not Hooked:
        op = node.op = Hooked(op)
    return op


def _end(node: Node, g: Any) -> None:
    """Nothing is asked for beyond this node."""


def _called(node: Node, calls: Sequence[Callable[[Any], Any]], g: Any) -> Any:
    """A cotangent as these calls leave it, during which other threads may sweep over the nodes."""
    with LentFrom(node):
        for call in calls:
            g = call(g)
    return g


def _beyond(op: Hooked, recorded: bool, node: Node, g: Any) -> None:
    """The step of a source, whose value's own calls have been made."""
    calls = [call for call in op.before if hasattr(call, "pre")]
    op.onwards(node, _called(node, calls, g), recorded=recorded)


@final
class Let:
    """How nodes let go of their values once they are used: `owners` own them alone.

    `twins` has for each op the one that takes its place: itself if it has saved no values.  `make(node)` finds it.
    """

    __slots__ = ("make", "owners", "twins")

    def __init__(self, owners: Owners, make: Callable[[Node], Recorded | None]) -> None:
        self.owners = owners
        self.make = make
        self.twins: dict[Recorded, Recorded] = {}

    def go(self, node: Node) -> None:
        """Let go of the values of a node."""
        op = node.op
        twin = self.twins.get(op)
        if twin is None:
            twin = self.make(node)
            if twin is None:
                return
            if type(op) is not Hooked:
                self.twins[op] = twin
        if twin is not op:
            node.op = twin
            node.s = node.t = node.held = None


def backward(
    seeds: Sequence[tuple[Node, Any]],
    recorder: Recorder,
    *,
    sources: Sequence[Node] | None = None,
    recorded: bool = False,
    let: Let | None = None,
    check: Callable[[list[Node]], None] | None = None,
    step: Callable[[Node, Any, Callable[[Node, Any], None]], None] | None = None,
    mixed: bool = False,
    whole: bool = False,
) -> dict[Node, tuple[Any, bool]]:
    """The cotangents of the sources (of all leaves, if None), each with whether its buffer is the engine's own.

    `check` is called with the nodes whose steps are taken, newest first; `step(node, g, pull)` is called in the place of each pull.
    `mixed`: there may be leaves with parents, which other recorders know.  `whole`: the steps that made sources are taken
    even if nothing is asked for beyond them.
    """
    wanted = _ALL if sources is None else set(sources)
    token, order, leaves = engine._collect([n for n, _ in seeds], wanted, recorder)
    before, swept.recorder = swept.recorder, recorder
    found: dict[Node, tuple[Any, bool]] = {}
    try:
        halts = _halts(order, sources, mixed)
        if check is not None:
            check(order if whole or not halts else [n for n in order if n not in halts or _leads_on(n)])
        for node, g in seeds:
            if node.mark is token:
                receive(node, g)
        _run(order, halts, found, recorded, let, step, whole)
        for node in leaves:
            if node.mark is token and node.grad is not None and node in wanted:
                found[node] = (node.grad, node.own)
        return found
    finally:
        swept.recorder = before
        clean(token, (order, leaves))


def _halts(order: list[Node], sources: Sequence[Node] | None, mixed: bool) -> set[Node]:
    """The nodes with parents whose cotangent is asked for."""
    if sources is not None:
        return {n for n in sources if n.p is not None}
    if not mixed:
        return set()
    return {n for n in order if n.op is WATCH and n.p is not None and n.p.mark is not n.mark}


def _run(
    order: list[Node],
    halts: set[Node],
    found: dict[Node, tuple[Any, bool]],
    recorded: bool,
    let: Let | None,
    step: Any,
    whole: bool,
) -> None:
    node = None
    owners, twins = (None, {}) if let is None else (let.owners, let.twins)
    try:
        for node in order:
            g = node.grad
            if g is not None:
                if halts and node in halts:
                    pull = _halted(node, found, recorded, whole)
                    g = found[node][0]
                    node.own = False
                    if pull is _end:  # its step is not taken, so that its values stay
                        node.grad = node.mark = None
                        if step is not None:
                            step(node, g, pull)
                        continue
                else:
                    pull = node.op.pull_recorded if recorded else node.op.pull
                node.grad = None
                if step is None:
                    pull(node, g)
                else:
                    step(node, g, pull)
            node.mark = None
            if node.owners is owners:
                twin = twins.get(node.op)
                if twin is None:
                    assert let is not None
                    let.go(node)
                elif twin is not node.op:  # as `go` does; the call takes a tenth of a small node's time
                    node.op = twin
                    node.s = node.t = node.held = None
    except Exception as error:
        if node is not None and not getattr(error, "__notes__", None):
            error.add_note(f"in the derivative of {node.op.name}")
        raise


def _leads_on(node: Node) -> bool:
    """Whether the step of a node leads to others that take part in the sweep."""
    return any(p is not None and p.mark is node.mark for p in parents(node))


def _halted(node: Node, found: dict[Node, tuple[Any, bool]], recorded: bool, whole: bool) -> Callable[[Node, Any], None]:
    """Take the cotangent of a source, as its hooks leave it; give what passes it on."""
    op = node.op
    g, own = node.grad, node.own
    if type(op) is Hooked:
        g = _called(node, [call for call in op.before if not hasattr(call, "pre")], g)
        own = False
    found[node] = (g, own)
    if not whole and not _leads_on(node):
        return _end
    if type(op) is Hooked:
        return functools.partial(_beyond, op, recorded)
    return op.pull_recorded if recorded else op.pull
