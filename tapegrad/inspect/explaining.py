"""Why a gradient is None: the question that `GradientTape.explain` answers."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any, final

from tapegrad.core.node import REBOUND, SPENT, WATCH, Node, parents
from tapegrad.core.watching import origin, root
from tapegrad.dtypes import is_inexact
from tapegrad.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tapegrad.core.cuts import Cut
    from tapegrad.core.recorder import Recorder

_LATE = "the source was watched after the target had been computed; call tape.watch(source) before it is used"
#: So many ops of a path, and so many places, are named.
_NAMED = 6


def explained(target: Any, source: Any, recorder: Recorder) -> str:
    """Whether the gradient of a tensor for another is there, by which ops, or why not."""
    if not is_inexact(target.array.dtype):
        return f"None: {_no_target(target)}"
    start = origin(source.node, recorder)
    if start is None:
        return f"None: {_unwatched(source, recorder)}"
    end = root(target.node, recorder)
    if end is None:
        return f"None: {_unrecorded(target, start, recorder)}"
    if end is start:
        return "a gradient: the target is the source itself"
    came = _backwards(end, recorder)
    if start in came:
        path = _path(came, start)
        return f"a gradient, through {_counted(len(path), 'op')}: source -> {_listed([n.op.name for n in path], ' -> ')} -> target"
    return f"None: {_apart(start, end, came, recorder)}"


@final
class Reasons:
    """Why a derivative was None for some sources, kept when the tape that gave it lets go of what it has recorded.

    The graph is not searched, unless the tape was made to note where values are cut off: a step of training, in which
    gradients that are None may be usual, does not wait for it.  Nothing is kept alive.
    """

    __slots__ = ("_known", "_targets")

    def __init__(self, targets: list[Any], sources: list[Any], recorder: Recorder) -> None:
        targets = [y for y in targets if y is not None]
        self._targets = [weakref.ref(y) for y in targets]
        self._known = [(weakref.ref(x), _shortly(targets, x, recorder)) for x in sources if x is not None]

    def why(self, target: Any, source: Any) -> str | None:
        """The reason, if the derivative of this target for this source was asked."""
        if all(y() is not target for y in self._targets):
            return None
        return next((text for x, text in self._known if x() is source), None)


def _shortly(targets: list[Any], source: Any, recorder: Recorder) -> str:
    targets, given = [y for y in targets if is_inexact(y.array.dtype)], targets
    if not targets:
        return f"None: {_no_target(given[0])}" if given else "None: there was no target"
    start = origin(source.node, recorder)
    if start is None:
        return f"None: {_unwatched(source, recorder)}"
    ends = [n for n in (root(y.node, recorder) for y in targets) if n is not None]
    if not ends:
        return f"None: {_unrecorded(targets[0], start, recorder)}"
    if start.seq > max(n.seq for n in ends):
        return f"None: {_LATE}"
    if recorder.cuts is not None:
        return f"None: {_apart(start, ends[0], {}, recorder)}"
    return (
        "None: the target does not depend on the source, though both were recorded; a tape that is asked before tape.gradient, "
        "or has persistent=True, names what was computed of the source, and one with traced=True where that was cut off"
    )


def _no_target(target: Any) -> str:
    return f"the target has dtype {target.array.dtype}, and only floating targets have a gradient"


def _unwatched(source: Any, recorder: Recorder) -> str:
    if not is_inexact(source.array.dtype):
        return f"the source has dtype {source.array.dtype}, and only floating values have a derivative"
    if isinstance(source, Variable):
        if not source.trainable:
            return "the source is a Variable with trainable=False, which tapes do not watch by themselves; call tape.watch(source)"
        if not recorder.auto:
            return "the tape was made with watch_accessed_variables=False; call tape.watch(source) before it is used"
        return "the variable was not read while the tape was recording"
    return (
        "the source was never watched by this tape; call tape.watch(source) inside its context, before it is used, or make it "
        "a Variable (`w -= step` makes a Tensor of one: w.assign_sub(step) keeps it)"
    )


def _unrecorded(target: Any, start: Node, recorder: Recorder) -> str:
    others = target.node is not None and any(r.live for r in target.node.owners.recorders)
    text = (
        "only another tape has recorded the target"
        if others
        else "the target was not recorded: it was computed outside the tape's context, or of values that the tape does not watch"
    )
    return text + _where_cut({start} | _made_of(start, recorder), recorder)


def _apart(start: Node, end: Node, came: dict[Node, Node | None], recorder: Recorder) -> str:
    """What is to be said where both are recorded, and no path leads from one to the other."""
    if start.seq > end.seq:
        return _LATE
    users = _made_of(start, recorder)
    known = [v.name or f"a Variable of shape {v.shape}" for v in recorder.variables if v.node in came]
    text = "the target does not depend on the source"
    if known:
        text += f", but on {_listed(known, ', ')}"
    names = [n.op.name for n in sorted(users, key=lambda n: n.seq)]
    if names:
        text += f"; of the source were computed: {_listed(names, ', ')}, and none of that leads to the target"
    else:
        text += "; nothing was recorded of the source: was another tensor with these values used in its place?"
    return text + _where_cut({start} | users, recorder)


def _where_cut(nodes: set[Node], recorder: Recorder) -> str:
    """Where values that depend on the source went on without it."""
    cuts = recorder.cuts
    if cuts is None:
        return ". GradientTape(traced=True) notes where values are cut off from what they were computed of"
    found = list(dict.fromkeys(_said(c) for c in cuts if not c.nodes or not nodes.isdisjoint(c.nodes)))
    return f". Cut off by: {_listed(found, '; ')}" if found else ""


def _said(cut: Cut) -> str:
    return f"{cut.name} at {cut.place}"


def _all(recorder: Recorder) -> list[Node]:
    """All nodes of a recorder, oldest first."""
    return sorted((n for owners in recorder.groups.values() for n in owners.nodes), key=lambda n: n.seq)


def _made_of(start: Node, recorder: Recorder) -> set[Node]:
    """The nodes of ops that were computed of a value."""
    found = {start}
    for node in _all(recorder):
        if node is not start and any(p in found for p in parents(node)):
            found.add(node)
    return {n for n in found if n is not start and n.op not in (WATCH, REBOUND, SPENT)}


def _path(came: dict[Node, Node | None], start: Node) -> list[Node]:
    """The nodes of the ops on a shortest way from one value to another, in the order of computing."""
    path: list[Node] = []
    at = came[start]
    while at is not None:
        if at.op not in (WATCH, REBOUND):
            path.append(at)
        at = came[at]
    return path


def _backwards(end: Node, recorder: Recorder) -> dict[Node, Node | None]:
    """The nodes that lead to a value, each with the one to which it leads first."""
    came: dict[Node, Node | None] = {end: None}
    queue = [end]
    for node in queue:  # grows meanwhile
        for p in parents(node):
            if p is not None and p not in came and recorder in p.owners.recorders:
                came[p] = node
                queue.append(p)
    return came


def _counted(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _listed(names: Iterable[str], between: str) -> str:
    found = list(names)
    if len(found) > _NAMED:
        half = _NAMED // 2
        found = [*found[:half], "...", *found[-half:]]
    return between.join(found)
