"""Time for memory: a function whose intermediate values are computed again where a derivative needs them."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, final

from tapegrad import random
from tapegrad.core.engine import sweep_since
from tapegrad.core.marks import sweeping
from tapegrad.core.node import Node, Recorded, let_go, make_node, parents, receive, tick
from tapegrad.core.pushing import advance
from tapegrad.core.recorder import EMPTY, group, refcount, state
from tapegrad.core.tensor import Tensor
from tapegrad.dtypes import is_inexact
from tapegrad.errors import GradientError
from tapegrad.registry.batching import inside, levels
from tapegrad.registry.op import spec_of
from tapegrad.registry.several import picked
from tapegrad.transforms.arguments import anew, check_function, guided_to_call, named, outputs
from tapegrad.transforms.calls import is_known, made_since, same_value
from tapegrad.tree import flatten

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.core.recorder import Recorder
    from tapegrad.kernels.batched import Level
    from tapegrad.registry.op import Spec

P = ParamSpec("P")
T = TypeVar("T")


@guided_to_call
def checkpoint(f: Callable[P, T]) -> Callable[P, T]:
    """The same function, whose intermediate values are not kept for a reverse sweep: that runs `f` again.

    * `f`: gives a tensor, or a structure of them.  Run again, it must do the same: what it reads must not have changed.  Random
      numbers from `tapegrad.random` are the same ones again, and no generator is moved on by that.

    Derivatives are those of `f` itself, for arguments, for keyword arguments, and for whatever else `f` reads, to any order.
    Raises GradientError as a derivative is taken, if `f` then gives other shapes or reads other values.

    >>> import tapegrad as tg
    >>> block = tg.checkpoint(lambda x: tg.sin(tg.exp(x)))
    >>> x = tg.asarray(0.5)
    >>> with tg.GradientTape() as tape:
    ...     tape.watch(x)
    ...     y = block(block(x))
    >>> tape.gradient(y, x)
    Tensor(0.31593603, dtype=float32)
    """
    check_function("checkpoint", f)
    op = Recorded(f"checkpoint({named(f)})", _pull, _pull_recorded, _push, _push_recorded)

    @functools.wraps(f)
    def checkpointed(*args: Any, **kwargs: Any) -> T:
        if all(r.on_push is not None for r in state.active.recorders):
            return f(*args, **kwargs)  # nobody keeps anything
        inputs, rebuild_inputs = flatten((args, kwargs))
        inputs = [anew(x) if isinstance(x, Tensor) else x for x in inputs]
        start = tick()
        default = random.present_default()
        with random.noted() as note:
            args, kwargs = rebuild_inputs(inputs)
            leaves, rebuild = outputs("checkpoint", f, f(*args, **kwargs))
        call = _Call(f, args, kwargs, note, default or random.present_default(), levels(), leaves)
        y: T = rebuild(_recorded(op, call, leaves, start))
        return y

    return checkpointed


@final
class _Call:
    """What a node keeps of one call: all that is needed to run it again."""

    __slots__ = ("args", "default", "f", "first", "kwargs", "levels", "note", "places", "specs")

    def __init__(
        self,
        f: Callable[..., Any],
        args: Any,
        kwargs: Any,
        note: dict[random.Generator, Any],
        default: random.Generator | None,
        levels: tuple[Level, ...],
        leaves: Sequence[Any],
    ) -> None:
        self.f = f
        self.args = args
        self.kwargs = kwargs
        self.note = note
        self.default = default
        self.levels = levels
        self.specs: list[Spec | None] = [None if y is None else spec_of(y.array) for y in leaves]
        self.places: list[int] = []  # which of the outputs are recorded
        self.first: list[Node] | None = None  # their nodes, until they are let go of

    def again(self) -> list[Node | None]:
        """The nodes of the recorded outputs, computed once more."""
        with inside(*self.levels), random.replayed(self.note, self.default):
            leaves, _ = outputs("checkpoint", self.f, self.f(*self.args, **self.kwargs))
        if len(leaves) != len(self.specs) or not all(map(_is_like, leaves, self.specs)):
            raise GradientError(
                f"checkpoint({named(self.f)}): expected {named(self.f)} to give {_listed(self.specs)} again, as a derivative is "
                f"taken; got {_listed(leaves)}.  It must do the same each time: what it reads must not change"
            )
        return [leaves[k].read()[1] for k in self.places]


def _is_like(y: Any, spec: Spec | None) -> bool:
    if y is None or spec is None:
        return y is None and spec is None
    return bool(y.array.shape == spec.shape and y.array.dtype == spec.dtype)


def _listed(ys: Sequence[Any]) -> str:
    return ", ".join("None" if y is None else f"{y.dtype} {tuple(y.shape)}" for y in ys)


def _recorded(op: Recorded, call: _Call, leaves: list[Any], start: int) -> list[Any]:
    """The outputs, as those of one node whose parents are what the call has read; what lay between is let go of."""
    nodes = {k: y.read()[1] for k, y in enumerate(leaves) if y is not None and is_inexact(y.array.dtype)}
    call.places = [k for k, n in nodes.items() if is_known(n) and n.seq >= start and n.p is not None]
    first = [nodes[k] for k in call.places]
    read, made = made_since(first, start)
    if not read:
        return leaves
    call.first = first
    hub = make_node(op, read[0], tuple(read), call, None, state.active)
    call.first = None
    found = picked(tuple(leaves[k].array for k in call.places), hub)
    outs = list(leaves)
    for k, y in zip(call.places, found, strict=True):
        outs[k] = y
    leaves.clear()
    nodes.clear()
    first.clear()
    _let_go(made)
    return outs


def _let_go(made: list[Node]) -> None:
    """Drop what nothing but lists of nodes refers to; newest first, so that parents are alone by then."""
    made.sort(key=lambda n: n.seq)
    while made:
        node = made.pop()
        if refcount(node) <= _ONLY_KEPT:
            let_go(node)


def _count_when_only_kept() -> int:
    """What `getrefcount` answers in `_let_go` for a node that only a tape's list holds."""
    kept = [object()]
    made = list(kept)
    while made:
        node = made.pop()
        return refcount(node)
    raise AssertionError


_ONLY_KEPT = _count_when_only_kept()


# -- the steps of the engine --------------------------------------------------------------------------
def _recorders(node: Node, *, recorded: bool) -> frozenset[Recorder]:
    """Who records the call as it is run again: for whom this is done, and who records that."""
    by = sweeping()
    alone = frozenset([by]) if by is not None else frozenset(r for r in node.owners.recorders if r.live and r.on_push is None)
    return alone | state.active.recorders if recorded else alone


def _again(node: Node, *, recorded: bool) -> tuple[list[Node | None], int]:
    """The nodes of the outputs, computed once more, and a number from before that."""
    recorders = _recorders(node, recorded=recorded)
    idle = [r for r in recorders if not r.entered]
    before = state.active
    state.active = group(recorders)
    start = tick()
    try:
        for r in idle:  # or it would not record again after a `no_grad` in the function
            r.entered = True
        return node.s.again(), start
    finally:
        state.active = before
        for r in idle:
            r.entered = False


def _pull(node: Node, g: list[Any]) -> None:
    _pass_on(node, g, recorded=False)


def _pull_recorded(node: Node, g: list[Any]) -> None:
    _pass_on(node, g, recorded=True)


def _pass_on(node: Node, g: list[Any], *, recorded: bool) -> None:
    by = sweeping()
    outs, start = _again(node, recorded=recorded)
    seeds = [(n, c) for n, c in zip(outs, g, strict=True) if c is not None and n is not None]
    before = state.active
    if not recorded:
        state.active = EMPTY
    try:
        found = sweep_since(seeds, by, start, recorded=recorded)
    finally:
        state.active = before
        if not recorded:
            _let_go(_since(outs, start))
    read_first = [p for p in parents(node) if p is not None]
    for read, c in found:
        parent = same_value(read, read_first)
        if parent is None:
            raise GradientError(
                f"{node.op.name}: as a derivative is taken, it reads a value that it did not read at first.  It must do the "
                "same each time: what it reads must not change"
            )
        if parent.mark is node.mark:
            receive(parent, c)


def _since(outs: list[Node | None], start: int) -> list[Node]:
    """The nodes that lead to these and were made since a number was drawn."""
    made: dict[Node, None] = {}
    while outs:
        node = outs.pop()
        if node is not None and node.seq >= start and node not in made:
            made[node] = None
            outs.extend(parents(node))
    return list(made)


def _push(node: Node, tangents: tuple[Any, ...]) -> tuple[Any, ...]:
    return _forward(node, tangents, recorded=False)


def _push_recorded(node: Node, tangents: tuple[Any, ...]) -> tuple[Any, ...]:
    return _forward(node, tangents, recorded=True)


def _forward(node: Node, tangents: tuple[Any, ...], *, recorded: bool) -> tuple[Any, ...]:
    """Through the first run, as long as its nodes are there; else through another one."""
    outs = node.s.first
    if outs is None:
        outs, _ = _again(node, recorded=recorded)
    seeds = [(p, t) for p, t in zip(parents(node), tangents, strict=True) if p is not None]
    return tuple(advance(seeds, list(outs), None, recorded=recorded))


__all__ = ["checkpoint"]
