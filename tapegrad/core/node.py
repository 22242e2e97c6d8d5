"""The graph: one node for every recorded output."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.core.recorder import Owners

#: The next sequence number.  It rises over all threads, so a parent's is below its child's.
tick = itertools.count(1).__next__


@final
class Node:
    """One recorded output: its op, its parents, and what the op's rule has named.

    Fields are assigned one by one where a node is made (measured: 125 ns; a constructor 220 ns).

    * `op`: the recorded form of an op; `op.pull(node, g)` is one step of a reverse sweep.
    * `p`, `q`: parents.  `p` is None for a leaf alone; `q` is None, a node, or for an op of more than two
      arrays the tuple of all parents (None where an argument is not watched).
    * `s`, `t`: the values that the rule named, raw; the compiled op knows which.
    * `shown`: the parents as a style shows them, where it does not show the real ones; else unset.
    * `held`: of a style whose graphs keep the tensors themselves alive, those that `s` and `t` were taken from; else unset.
    * `seq`: rising number; `owners`: the recorders that own the node.
    * `grad`, `own`, `mark`: of the sweep under way: the cotangent so far, whether its buffer belongs to the
      engine (so may be added to in place), and the sweep's token.  `own` is unset until `grad` is set.
    """

    __slots__ = ("__weakref__", "grad", "held", "mark", "op", "own", "owners", "p", "q", "s", "seq", "shown", "t")

    op: Recorded
    p: Node | None
    q: Node | tuple[Node | None, ...] | None
    s: Any
    t: Any
    held: Any
    shown: tuple[Node | None, ...]
    seq: int
    owners: Owners
    grad: Any
    own: bool
    mark: object | None

    def __repr__(self) -> str:
        return f"<node {self.seq}: {self.op.name}>"


class Recorded:
    """What a node needs of its op: the steps of the engine, compiled for what was watched and saved.

    `pull(node, g)` adds to the `grad` of each parent that takes part in the sweep, on raw values;
    `pull_recorded` does the same on Tensors, so that it is recorded again.  `push(node, tangents)` gives the
    output's tangent, from the parents' (None where a parent has none), and `push_recorded` on Tensors.
    """

    __slots__ = ("name", "pull", "pull_recorded", "push", "push_recorded")

    def __init__(
        self,
        name: str,
        pull: Callable[[Node, Any], None],
        pull_recorded: Callable[[Node, Any], None],
        push: Callable[[Node, tuple[Any, ...]], Any],
        push_recorded: Callable[[Node, tuple[Any, ...]], Any],
    ) -> None:
        self.name = name
        self.pull = pull
        self.pull_recorded = pull_recorded
        self.push = push
        self.push_recorded = push_recorded

    def guarded(self, *, recorded: bool) -> Callable[[Node, Any], None]:
        """The step for a sweep that has met a `Masked`: a zero cotangent times a slope that is no number is zero."""
        return self.pull_recorded if recorded else self.pull

    def __repr__(self) -> str:
        return f"<recorded op {self.name}>"


class Masked(BaseException):
    """Raised at the end of a step whose cotangents have zeros for what was not chosen: whatever that was, it has no part.

    A sweep that can (`mark.switches`) goes on with guarded steps.
    """


def receive(node: Node, c: Any) -> None:
    """Add the cotangent `c` to what `node` has received.  `c` may be held by others: it is never written."""
    if node.grad is None:
        node.grad = c
        node.own = False
    elif node.own:
        try:
            node.grad += c
        except TypeError:
            node.grad = apart(node.grad, c)
    else:
        node.grad = node.grad + c
        node.own = True


def apart(total: Any, c: Any) -> Any:
    """The sum where `c` could not be added in place: a batch goes into no array that holds none."""
    if type(total) is type(c):
        raise  # noqa: PLE0704  the error of the sum in place, in whose handler this is called
    return total + c


def parents(node: Node) -> tuple[Node | None, ...]:
    """All parents, in the order of the op's arguments that were watched."""
    q = node.q
    if q is None:
        return () if node.p is None else (node.p,)
    return (node.p, q) if type(q) is Node else q


def _pass_on(node: Node, g: Any) -> None:
    p = node.p
    if p is not None and p.mark is node.mark:
        receive(p, g)


def _same_tangent(node: Node, tangents: tuple[Any, ...]) -> Any:
    return tangents[0]


def _spent(node: Node, _: Any) -> Any:
    from tapegrad.errors import SpentError

    raise SpentError(
        "this part of the graph has let go of its values: a tape's gradient was already taken, or it was reset. "
        "Use GradientTape(persistent=True) to take several gradients."
    )


#: A watched value.  With a parent it is the same value, watched earlier by other recorders too.
WATCH = Recorded("watch", _pass_on, _pass_on, _same_tangent, _same_tangent)
#: A value that a watched tensor took over as its own.  The parent made it (None if nobody recorded that); `s` is the
#: node of the value that was watched, which is what the tensor means where it is a source.
REBOUND = Recorded("rebound", _pass_on, _pass_on, _same_tangent, _same_tangent)
#: A node that has let go of its values.
SPENT = Recorded("spent", _spent, _spent, _spent, _spent)


def let_go(node: Node) -> None:
    """Drop all that a node holds."""
    if node.op is not WATCH:
        node.op = SPENT
    node.p = node.q = node.s = node.t = node.held = None


def make_node(op: Recorded, p: Node | None, q: Any, s: Any, t: Any, owners: Owners) -> Node:
    """A node, kept by its owners; for places where speed does not matter."""
    node = Node()
    node.op = op
    node.p = p
    node.q = q
    node.s = s
    node.t = t
    node.seq = tick()
    node.owners = owners
    node.grad = None
    node.mark = None
    owners.keep(node)
    return node
