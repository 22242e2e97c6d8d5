"""The reverse sweep: from targets back to sources, each rule once, no recursion."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any

from tapegrad.core.marks import Busy, Sweep, clean, marking, set_aside, swept
from tapegrad.core.node import SPENT, WATCH, Masked, Node, parents, receive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from tapegrad.core.recorder import Owners, Recorder

#: Each gives, for the name of an op, an error inside its derivative and the cotangent, the error that is to be raised.
FOREIGN: list[Callable[[str, Exception, Any], Exception]] = []

by_age = attrgetter("seq")


def sweep(
    seeds: Sequence[tuple[Node, Any]],
    sources: Sequence[Node | None],
    recorder: Recorder | None,
    *,
    recorded: bool,
    consumed: Owners | None = None,
    stops: dict[Node, Callable[[Any], Any]] | None = None,
) -> list[Any]:
    """The cotangents of the sources, None for each that the seeds do not depend on.

    `seeds` are nodes with their cotangents; only nodes owned by `recorder` are followed (by anyone, if None).
    With `recorded`, rules run on Tensors and are recorded by whoever is active; otherwise on raw arrays.
    Nodes of the group `consumed` drop their values as soon as their rule has run.  `stops` are called with a
    node's complete cotangent before its rule runs, and may give back another one.
    """
    wanted = {n for n in sources if n is not None}
    token, order, leaves = _collect([n for n, _ in seeds], wanted, recorder)
    order = _without_ends(token, order, leaves, wanted)
    touched: tuple[list[Node], ...] = (order, leaves)
    before, swept.recorder = swept.recorder, recorder
    try:
        for node, g in seeds:
            if node.mark is token:
                receive(node, g)
        found: dict[Node, Any] = {}
        halts = _halts(order, wanted, stops)
        start = 0
        token.switches = True
        guarded = swept.guarded
        for halt, node in halts:
            guarded = _run(order, start, halt, recorded, consumed, guarded)
            start = halt
            if node.grad is not None and stops is not None and node in stops:
                node.grad = stops[node](node.grad)
                node.own = False
            if node in wanted:
                found[node] = node.grad
                node.own = False
        _run(order, start, len(order), recorded, consumed, guarded)
        touched = (leaves,)  # the loop has left the others as they were
        for node in leaves:
            if node.mark is token and node.grad is not None:
                g = node.grad
                if stops is not None and node in stops:
                    g = stops[node](g)
                if node in wanted:
                    found[node] = g
        return [found.get(n) if n is not None else None for n in sources]
    finally:
        swept.recorder = before
        clean(token, touched)


def _run(
    order: list[Node], start: int, stop: int, recorded: bool, consumed: Owners | None, guarded: bool
) -> bool:
    """The inner loop: every node from `start` to `stop` that has received a cotangent passes it on.

    By guarded steps, if `guarded` or from the first `Masked` on; it tells whether it ended so.
    """
    node: Node | None = None
    g: Any = None
    nodes = iter(order[start:stop] if start or stop < len(order) else order)
    if guarded:
        _run_guarded(nodes, recorded, consumed)
        return True
    try:
        for node in nodes:
            g = node.grad
            if g is not None:
                node.grad = None
                if recorded:
                    node.op.pull_recorded(node, g)
                else:
                    node.op.pull(node, g)
            node.mark = None
            if node.owners is consumed:
                node.op = SPENT
                node.p = node.q = node.s = node.t = node.held = None
        return False
    except Masked:
        pass
    except Exception as error:
        if node is not None:
            _tell(error, node, g)
        raise
    assert node is not None
    _done(node, consumed)
    _run_guarded(nodes, recorded, consumed)
    return True


def _run_guarded(nodes: Iterator[Node], recorded: bool, consumed: Owners | None) -> None:
    """The rest of the loop, where zeros stand for what was not chosen."""
    node: Node | None = None
    g: Any = None
    outer, swept.guarded = swept.guarded, True
    try:
        for node in nodes:
            g = node.grad
            if g is not None:
                node.grad = None
                node.op.guarded(recorded=recorded)(node, g)
            _done(node, consumed)
    except Exception as error:
        if node is not None:
            _tell(error, node, g)
        raise
    finally:
        swept.guarded = outer


def _done(node: Node, consumed: Owners | None) -> None:
    node.mark = None
    if node.owners is consumed:
        node.op = SPENT
        node.p = node.q = node.s = node.t = node.held = None


def _tell(error: Exception, node: Node, g: Any) -> None:
    """Raise what the error is for its users, if it is another; else note where it came from."""
    for translate in FOREIGN:
        if (made := translate(node.op.name, error, g)) is not error:
            raise made from error
    if not getattr(error, "__notes__", None):
        error.add_note(f"in the derivative of {node.op.name}")


def sweep_since(
    seeds: Sequence[tuple[Node, Any]], recorder: Recorder | None, start: int, *, recorded: bool
) -> list[tuple[Node, Any]]:
    """What the seeds send to nodes from before number `start`, or to leaves, through the nodes made since then."""
    token, order, leaves = _collect([n for n, _ in seeds], set(), recorder, start)
    before, swept.recorder = swept.recorder, recorder
    try:
        for node, g in seeds:
            if node.mark is token:
                receive(node, g)
        _run(order, 0, len(order), recorded, None, swept.guarded)
        return [(node, node.grad) for node in leaves if node.grad is not None]
    finally:
        swept.recorder = before
        clean(token, (order, leaves))


def _without_ends(token: Sweep, order: list[Node], leaves: list[Node], wanted: set[Node]) -> list[Node]:
    """The nodes that take steps: sources beyond which this sweep does not look, for others watched them before, are leaves."""
    ends = {n for n in wanted if n.p is not None and n.op is WATCH and n.mark is token and n.p.mark is not token}
    if not ends:
        return order
    leaves.extend(ends)
    return [n for n in order if n not in ends]


def _halts(
    order: list[Node], wanted: set[Node], stops: dict[Node, Any] | None
) -> list[tuple[int, Node]]:
    """Where the loop pauses: at sources that have parents of their own, and at stops."""
    if stops:
        wanted = wanted.union(stops)
    for node in wanted:
        if node.p is not None:
            return [(i, n) for i, n in enumerate(order) if n in wanted]
    return []


def _collect(
    targets: list[Node], wanted: set[Node], recorder: Recorder | None, start: int = 0
) -> tuple[Sweep, list[Node], list[Node]]:
    """Mark the nodes between targets and sources, or down to those from before `start`; newest first, leaves apart."""
    while True:
        token = Sweep()
        order: list[Node] = []
        leaves: list[Node] = []
        stack: list[Node] = []
        try:
            with marking:
                if start:
                    stray = False
                    _mark_since(token, targets, recorder, start, order, leaves)
                else:
                    stray = _mark(token, targets, wanted, recorder, order, leaves, stack)
            order.sort(key=by_age, reverse=True)
            return token, _prune(token, order, leaves, wanted) if stray else order, leaves
        except Busy as busy:  # when the other thread is done, or has lent them, again
            clean(token, (order, leaves, stack, targets))
            if not busy.other.over:
                busy.event.wait()
        except BaseException:
            clean(token, (order, leaves, stack, targets))
            raise


def _mark(
    token: Sweep,
    targets: list[Node],
    wanted: set[Node],
    recorder: Recorder | None,
    order: list[Node],
    leaves: list[Node],
    stack: list[Node],
) -> bool:
    """Fill `order` and `leaves`; tell whether there are nodes that lead to no source."""
    stray = False
    for node in targets:
        if node.mark is not token:
            if node.mark is not None:
                set_aside(token, node)
            node.mark = token
            stack.append(node)
    usual = targets[0].owners if targets else None
    pop, push, found = stack.pop, stack.append, order.append
    while stack:
        node = pop()
        p = node.p
        if p is None:
            leaves.append(node)
            if node.op is SPENT:
                SPENT.pull(node, None)
            if node not in wanted:
                stray = True
            continue
        found(node)
        q = node.q
        if p.mark is not token:
            if p.owners is usual or recorder is None or recorder in p.owners.recorders:
                if p.mark is not None:
                    set_aside(token, p)
                p.mark = token
                push(p)
            elif q is None and node not in wanted:
                stray = True  # a leaf for this recorder: a value that others watched before
        if q is not None:
            for r in (q,) if type(q) is Node else q:
                if (
                    r is not None
                    and r.mark is not token
                    and (r.owners is usual or recorder is None or recorder in r.owners.recorders)
                ):
                    if r.mark is not None:
                        set_aside(token, r)
                    r.mark = token
                    push(r)
    return stray


def _mark_since(
    token: Sweep, targets: list[Node], recorder: Recorder | None, start: int, order: list[Node], leaves: list[Node]
) -> None:
    """Fill `order` and `leaves`: what was made before `start` is a leaf."""
    stack = list(targets)
    while stack:
        node = stack.pop()
        if node.mark is token or (recorder is not None and recorder not in node.owners.recorders):
            continue
        if node.mark is not None:
            set_aside(token, node)
        node.mark = token
        if node.seq < start or node.p is None:
            leaves.append(node)
        else:
            order.append(node)
            stack.extend(p for p in parents(node) if p is not None)


def _prune(token: Sweep, order: list[Node], leaves: list[Node], wanted: set[Node]) -> list[Node]:
    """Leave only nodes that lead to a source."""
    for node in leaves:
        if node not in wanted:
            node.mark = None
    kept = []
    for node in reversed(order):
        if node in wanted or any(p is not None and p.mark is token for p in parents(node)):
            kept.append(node)
        else:
            node.mark = None
    kept.reverse()
    return kept
