"""Who is recording: recorders, the groups of them that own nodes, and the state of each thread."""

from __future__ import annotations

import _thread
import itertools
import sys
from operator import attrgetter
from typing import TYPE_CHECKING, Any, final

from tapegrad.core.node import Node, let_go

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_serial = itertools.count(1).__next__
#: References to an object; where the interpreter does not count them, more than any test here takes for few.
refcount: Callable[[object], int] = getattr(sys, "getrefcount", lambda _: 1 << 30)


def _count_when_only_listed() -> int:
    """What `getrefcount` answers, in a loop as in `tidy`, for an object that only a list holds."""
    nodes = [object()]
    for i in range(1):
        node = nodes[i]
        return refcount(node)
    raise AssertionError


_ONLY_LISTED = _count_when_only_listed()


def _fewest_referrers(nodes: list[Any]) -> int:
    """The smallest reference count among the nodes, plus what this function adds: 20 ns a node."""
    return min(map(refcount, nodes), default=1 << 30)


_listed = [object()]
_FEWEST_IN_A_SLICE = _fewest_referrers(_listed[:])
#: A group looks for dead nodes each time that this many have been recorded by all (a power of two).
TIDY_EVERY = 64
#: A group that has lost a recorder is given to those left once they are no more than this.
_FEW = 3


#: Held while a group's list of nodes is shortened, which other threads may append to; re-entrant, for values die meanwhile.
_tidying = _thread.RLock()


@final
class Recorder:
    """The core of a tape: what nodes and thread state know of it, so that nothing refers to the tape itself."""

    __slots__ = (
        "alone", "auto", "beside", "cuts", "entered", "groups", "inner", "keeping", "levels", "live", "on_push", "serial", "variables",
    )  # fmt: skip

    def __init__(
        self,
        *,
        auto: bool = True,
        inner: bool = False,
        keeping: bool = True,
        on_push: Callable[[Node, Recorder], None] | None = None,
    ) -> None:
        self.serial = _serial()  # rises with the order of entering
        self.levels: tuple[Any, ...] = ()  # batches inside which it was entered
        self.live = True  # may still be asked for a derivative
        self.entered = False  # inside its context
        self.auto = auto  # watches trainable variables as they are read
        self.inner = inner  # for the inside of a rule: its derivatives are those of each item, of whatever is batched
        self.keeping = keeping  # holds what it recorded; without, a graph lives and dies with its tensors
        self.variables: list[Any] = []  # those watched, in order
        self.groups: dict[frozenset[Recorder], Owners] = {}
        self.alone: Owners | None = None  # the one of them that has no other recorder, while there is one
        self.on_push = on_push  # forward mode: called with every node as it is made, and the recorder
        self.cuts: list[Any] | None = None  # where values lost their derivative, if that is noted
        self.beside: Any = None  # what another library records of the same sources, told to `start` and to `stop`


@final
class Owners:
    """A set of recorders that own nodes together.  There is one object for each set, so identity decides."""

    __slots__ = ("alive", "auto", "joined", "keep", "keeping", "lane", "nodes", "old", "recorders", "spent", "young")

    def __init__(self, recorders: frozenset[Recorder]) -> None:
        self.recorders = recorders
        self.alive = len(recorders)  # of those, how many may still ask for a derivative
        self.spent = False  # nobody will ask for a derivative any more
        #: Where this group is active, ops on its nodes are its own: it itself, or one around it as `owned` has found; None
        #: once it has lost a recorder.
        self.lane: Owners | None = self
        self.nodes: list[Node] = []
        self.old = 0  # so many nodes were alive when all were last looked at
        self.young = 0  # where those begin that were never looked at
        #: While these are active: who records an op whose parents have these owners; a single group is a key by itself.
        self.joined: dict[frozenset[Owners] | Owners, Owners | None] = {}
        auto = keeping = False
        forward = 0
        for r in recorders:  # one loop: a group is made each time that a tape is entered
            auto = auto or r.auto
            if r.on_push is not None:
                forward += 1
            elif r.keeping:
                keeping = True
        #: Those that watch variables by themselves.
        self.auto = (recorders if self.alive == 1 else frozenset(filter(_is_auto, recorders))) if auto else _NO_RECORDERS
        #: Whether anybody here holds nodes.
        self.keeping = keeping
        keep = self.nodes.append if keeping or not recorders else _keep_nothing
        self.keep: Callable[[Node], None] = _keep_and_push(keep, recorders, forward < self.alive) if forward else keep

    def plus(self, recorder: Recorder) -> Owners:
        return group(self.recorders | {recorder})

    def minus(self, recorder: Recorder) -> Owners:
        rest = self.recorders - {recorder}
        return group(rest) if rest else EMPTY

    def tidy(self) -> None:
        """Forget nodes that nothing else holds: a value computed under a tape and thrown away is freed.

        Young nodes are looked at once; old ones again when their number has doubled.
        """
        if not _tidying.acquire(blocking=False):
            return  # another thread is at it
        try:
            self._tidy()
        finally:
            _tidying.release()

    def _tidy(self) -> None:
        nodes = self.nodes
        count = len(nodes)
        everything = count >= 2 * self.old
        start = 0 if everything else self.young
        if _fewest_referrers(nodes[start:count]) > _FEWEST_IN_A_SLICE:
            self.young = count
            if everything:
                self.old = count
            return
        dead: set[int] = set()
        for i in range(count - 1, start - 1, -1):
            node = nodes[i]
            if refcount(node) <= _ONLY_LISTED:
                dead.add(i)
                let_go(node)  # so its parents are seen as dead in this same pass
        if dead:
            nodes[start:count] = [nodes[i] for i in range(start, count) if i not in dead]
        self.young = count - len(dead)
        if everything:
            self.old = self.young

    def __repr__(self) -> str:
        return f"<owners {sorted(r.serial for r in self.recorders)}: {len(self.nodes)} nodes>"


def _keep_nothing(node: Node) -> None:
    """What recorders do with a node that only its tensors hold."""


def _keep_and_push(
    hold: Callable[[Node], None], recorders: frozenset[Recorder], backward: bool
) -> Callable[[Node], None]:
    forward = [r for r in recorders if r.on_push is not None]

    def keep(node: Node) -> None:
        # Outer ones first: they record the tangents of inner ones.
        for r in forward if len(forward) == 1 else sorted(forward, key=_by_serial):
            assert r.on_push is not None
            r.on_push(node, r)
        if backward:
            hold(node)
        else:  # nobody will ask for a reverse sweep: values die as they do without a tape
            node.p = node.q = node.s = node.t = node.held = None

    return keep


_by_serial = attrgetter("serial")
_is_auto = attrgetter("auto")
is_live = attrgetter("live")
_NO_RECORDERS: frozenset[Recorder] = frozenset()

EMPTY = Owners(frozenset())
#: The owners of a node that nobody records from; not `EMPTY`, for that is who is recording where no tape is.
NOBODY = Owners(frozenset())
NOBODY.spent = True
EMPTY.lane = NOBODY.lane = None


def group(recorders: frozenset[Recorder]) -> Owners:
    """The one object for a set of recorders."""
    if not recorders:
        return EMPTY
    if len(recorders) == 1:
        (newest,) = recorders
    else:
        newest = max(recorders, key=_by_serial)
    found = newest.groups.get(recorders)
    if found is None:
        found = Owners(recorders)
        for r in recorders:
            r.groups[recorders] = found
        if found.alive == 1:
            newest.alone = found
    return found


class _State(_thread._local):
    """What this thread records to.  (`threading`, which NumPy does without, takes a millisecond to import.)"""

    active: Owners = EMPTY
    #: The batches inside which a program runs, outermost first.
    levels: tuple[Any, ...] = ()
    #: Those who record around a function that is being traced, and do not see into it.
    outside: frozenset[Recorder] = frozenset()


state = _State()


def shared(active: Owners, nodes: Iterable[Node | None]) -> Owners | None:
    """The group of active recorders that own at least one of the nodes; None if there is none."""
    if active is EMPTY:
        return None
    owners = frozenset(n.owners for n in nodes if n is not None)
    try:
        return active.joined[owners]
    except KeyError:
        common: frozenset[Recorder] = frozenset().union(*(o.recorders for o in owners)) & active.recorders
        found = group(common) if common else None
        if len(active.joined) >= 64:  # most of them are of tapes that are no more
            active.joined.clear()
        active.joined[owners] = found
        if len(owners) == 1:
            active.joined[next(iter(owners))] = found
        return found


def record_always(recorder: Recorder) -> None:
    """Let this recorder be active from now on, in this thread and in all that have not recorded yet."""
    recorder.entered = True
    recorder.serial = _serial()
    _State.active = _State.active.plus(recorder)
    if "active" in vars(state):
        state.active = state.active.plus(recorder)


#: Recorders that are entered and note where values lose their derivative; ops look whether there are any.
NOTING: list[Recorder] = []


def enter(recorder: Recorder) -> None:
    recorder.entered = True
    recorder.serial = _serial()
    recorder.levels = state.levels
    active = state.active
    if active is not EMPTY:
        for r in active.recorders:
            if not r.entered:  # left by another thread: of a generator that was closed there, or collected
                active = active.minus(r)
    state.active = active.plus(recorder)
    if recorder.cuts is not None:
        NOTING.append(recorder)
    if recorder.beside is not None:
        recorder.beside.start()


def leave(recorder: Recorder) -> None:
    """Take the recorder out of this thread's active ones, whatever has been entered or left since.

    A thread whose recorder another one has taken leave of forgets it as it enters the next.
    """
    recorder.entered = False
    state.active = state.active.minus(recorder)
    if recorder.cuts is not None and recorder in NOTING:
        NOTING.remove(recorder)
    if recorder.beside is not None:
        recorder.beside.stop()


def pause(recorders: Iterable[Recorder]) -> list[Recorder]:
    """Stop recording to these; give back those that were active, for `resume`."""
    stopped = [r for r in recorders if r in state.active.recorders]
    state.active = group(state.active.recorders.difference(stopped))
    for r in stopped:
        if r.beside is not None:
            r.beside.stop()
    return stopped


def resume(recorders: Iterable[Recorder]) -> None:
    """Record again to those that have not been left meanwhile."""
    back = [r for r in recorders if r.entered]
    state.active = group(state.active.recorders.union(back))
    for r in back:
        if r.beside is not None:
            r.beside.start()


def release(recorder: Recorder) -> None:
    """Let go of all that this recorder alone owns; what others own too is left to them."""
    recorder.live = False
    if recorder.beside is not None:
        recorder.beside.stop()
        recorder.beside = None
    if recorder.on_push is not None:
        recorder.on_push = _push_nothing  # what it knew of tangents is nobody's now, though nodes may still refer to it
    groups = recorder.groups
    recorder.groups = {}
    recorder.alone = None
    recorder.variables = []
    for owners in groups.values():
        owners.alive -= 1
        if owners.alive:
            if owners.alive <= _FEW:  # looked at again when few are left: with many tapes alive, else cubic in their number
                _inherit(owners)
            continue
        if len(owners.recorders) > 1:
            for r in owners.recorders:
                r.groups.pop(owners.recorders, None)
        owners.joined.clear()
        owners.lane = None
        owners.spent = True
        nodes = owners.nodes
        pop = nodes.pop
        with _tidying:
            while nodes:  # newest first: what nobody else holds dies here, before its parents are looked at
                node = pop()
                if refcount(node) >= _ONLY_LISTED:
                    let_go(node)
                    node.owners = NOBODY


def _push_nothing(node: Node, recorder: Recorder) -> None:
    """What forward mode does of which no derivative can be asked any more."""


def _inherit(owners: Owners) -> None:
    """Give the nodes of a group that has lost a recorder to those who are left."""
    for r in owners.recorders:
        r.groups.pop(owners.recorders, None)
    nodes = owners.nodes
    owners.joined.clear()
    owners.lane = None
    heirs = group(frozenset(filter(is_live, owners.recorders)))
    with _tidying:
        for node in nodes:
            node.owners = heirs
        if heirs.keeping:
            heirs.nodes.extend(nodes)
        nodes.clear()
    heirs.joined.clear()  # what it knows of groups that are no more
    heirs.tidy()


def abandon(recorder: Recorder | None) -> None:
    """What a context does when it is collected; None if its constructor refused its arguments."""
    if recorder is not None:
        if recorder.entered:
            leave(recorder)
        release(recorder)
