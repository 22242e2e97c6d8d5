"""Hooks on gradients, and what else looks at a sweep."""

from __future__ import annotations

import itertools
import threading
import weakref
from typing import Any

from tapegrad.core.backward import Hooked, hooked
from tapegrad.core.node import make_node
from tapegrad.core.tensor import Tensor as Core
from tapegrad.core.tensor import linked
from tapegrad.torch._elsewhere import LEVELS, lend
from tapegrad.torch._recorder import is_leaf_node, own
from tapegrad.torch._stale import Stale, is_barred
from tapegrad.torch._tensor import STYLE, Tensor, auto_of, beside, wrap
from tapegrad.torch._views import node_before
from tapegrad.torch.utils.hooks import RemovableHandle

#: Called in the place of each pull, where somebody looks on.
STEP: list[Any] = [None]
#: Whether a hook was ever registered, on a tensor or a step.
HOOKS = [False]
#: Whether a value that a tape watched has ever become a leaf of this style.
MIXED = [False]
_number = itertools.count().__next__


class Handle(RemovableHandle):
    """What takes a hook away again."""

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        super().__init__(hooks)
        hooks[self.id] = hook
        HOOKS[0] = True


Handle.__name__ = Handle.__qualname__ = "RemovableHandle"
Handle.__module__ = RemovableHandle.__module__


def call_hooks(hooks: dict[int, Any], g: Any) -> Any:
    """The gradient as the hooks leave it, in the order in which they were registered."""
    for hook in list(hooks.values()):
        found = hook(g)
        if found is None:
            continue
        if not isinstance(found, Tensor):
            raise TypeError(f"expected Variable, but hook returned '{type(found).__name__}'")
        if found.array.shape != g.array.shape:
            name = getattr(hook, "__name__", "unknown")
            raise RuntimeError(f"hook '{name}' has changed the size of value")
        if found.array.dtype != g.array.dtype:
            name = getattr(hook, "__name__", "unknown")
            raise RuntimeError(f"hook '{name}' has changed the type of value (was {g.type()} got {found.type()})")
        if type(found.array) is not type(g.array):
            found = wrap(beside(found.array, g.array), found.node)
        g = found
    return g


def on_cotangent(hooks: Any) -> Any:
    """What a node calls with its complete cotangent: raw, or a plain Tensor where the sweep is recorded."""

    def call(g: Any) -> Any:
        if type(g) is list:  # of an op of several outputs
            return g
        recorded = type(g) is Core
        found = hooks(STYLE.adopt(g) if recorded else wrap(g))
        raw, node = found.read()
        return linked(raw, node) if recorded else raw

    return call


def register_hook(x: Any, hook: Any) -> Handle:
    """Call `hook` with the gradient of a tensor; what it gives back, if not None, takes its place."""
    node = own(x.node)
    if node is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if is_leaf_node(node):
        auto = auto_of(x)
        if auto.hooks is None:
            auto.hooks = {}
        return Handle(auto.hooks, hook)
    return Handle(hooks_of(node), hook)


class _Calls(dict[int, Any]):
    """The hooks on one tensor's gradient."""

    def __call__(self, g: Any) -> Any:
        return call_hooks(self, g)


def hooks_of(node: Any) -> dict[int, Any]:
    """The hooks on what a node has made."""
    op = hooked(node)
    for call in op.before:
        found = getattr(call, "hooks", None)
        if found is not None:
            kept: dict[int, Any] = found
            return kept
    calls = _Calls()
    made = on_cotangent(calls)
    made.hooks = calls
    op.before.insert(0, made)  # before what keeps the gradient, whenever that was asked for
    return calls


#: The nodes that somebody holds, as they are shown, by their ids.
SHOWN: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
_SHOWN: dict[int, Any] = SHOWN.data  # type: ignore[attr-defined]  # to ask the dictionary itself saves two calls for each write to a view


def is_held(node: Any, above: Any) -> bool:
    """Whether anybody could see what passes the nodes from one up to another, which is not asked."""
    while node is not None and node is not above:
        if type(node.op) is Hooked or id(node) in _SHOWN:
            return True
        node = node.p
    return False


def bare(node: Any, above: Any) -> Any:
    """The same steps from a node up to another, of which nobody knows: with no hooks, and none to come.

    What is written to a view passes its gradient to the base as that was, by a way of its own.
    """
    chain = []
    while node is not None and node is not above:
        chain.append(node)
        node = node.p
    for n in reversed(chain):
        op = n.op.op if type(n.op) is Hooked else n.op
        node = make_node(op, node, n.q, n.s, n.t, n.owners)
    return node


def register_post_accumulate_grad_hook(x: Any, hook: Any) -> Handle:
    """Call `hook` with a leaf once its `grad` is complete."""
    node = own(x.node)
    if node is None:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if not is_leaf_node(node):
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    auto = auto_of(x)
    if auto.post is None:
        auto.post = {}
    return Handle(auto.post, hook)


def retain_grad(x: Any) -> None:
    """Let a computed tensor keep its gradient in `grad`."""
    auto = auto_of(x)
    if auto.retains or (isinstance(x, Stale) and is_barred(x) and x.requires_grad and node_before(x) is None):
        return  # it does, or no node is known that it could have: as of a leaf
    node = own(x.node)
    if node is None:
        raise RuntimeError("can't retain_grad on Tensor that has requires_grad=False")
    if is_leaf_node(node):
        return
    auto.retains = True
    key = id(x)
    where = weakref.ref(x, lambda _: _RETAINING.pop(key, None))
    _keep_at(node, where)
    _RETAINING[key] = where, weakref.ref(node)


#: The computed tensors that keep their gradients, by their ids, each with the node at which it is kept.
_RETAINING: dict[int, tuple[weakref.ref[Any], weakref.ref[Any]]] = {}


def _keep_at(node: Any, where: weakref.ref[Any]) -> None:
    at = weakref.ref(node)

    def keep(g: Any) -> Any:
        t = where()
        if t is not None and own(t.node) is at():  # it is still what this node made
            from tapegrad.torch._accumulate import add

            add(t._auto, g, False, g.node is not None)
        return g

    before = hooked(node).before
    before.insert(sum(not hasattr(call, "pre") for call in before), on_cotangent(keep))


def follow_written() -> None:
    """Let tensors that were written to keep the gradient at their present value."""
    for where, at in list(_RETAINING.values()):  # items would make tuples, in the midst of which a collection may take one away
        x = where()
        if x is None or (isinstance(x, Stale) and is_barred(x)):  # whose present value has no node that could be known
            continue
        node = own(x.node)
        if node is not None and node is not at() and not is_leaf_node(node):
            _keep_at(node, where)
            _RETAINING[id(x)] = where, weakref.ref(node)


# -- one sweep ---------------------------------------------------------------------------------------
class _Sweeps(threading.local):
    """The sweep that is under way on this thread: its number, and what is to be called when it is over."""

    def __init__(self) -> None:
        self.ends: list[list[Any]] = []
        self.numbers: list[int] = []


_SWEEPS = lend(_Sweeps())


def is_deep() -> bool:
    """Whether so many sweeps are under way inside each other on this thread that the next is to run on another."""
    return len(_SWEEPS.numbers) % LEVELS == LEVELS - 1


def begin() -> None:
    """A sweep begins on this thread."""
    _SWEEPS.numbers.append(_number())
    _SWEEPS.ends.append([])


def end(ok: bool) -> None:
    """It is over, and gradients have been accumulated."""
    calls = _SWEEPS.ends[-1]
    try:
        if ok:
            for call in calls:  # one that is called may ask for another
                call()
    finally:
        _SWEEPS.numbers.pop()
        _SWEEPS.ends.pop()


def sweep_number() -> int:
    """Tells one sweep from another."""
    return _SWEEPS.numbers[-1] if _SWEEPS.numbers else -1


def at_end(call: Any) -> None:
    """Call this when the sweep is over."""
    if _SWEEPS.ends:
        _SWEEPS.ends[-1].append(call)
    else:
        call()
