"""The graph as PyTorch shows it: `grad_fn` and its nodes, thin views of the core's."""

from __future__ import annotations

import functools
import weakref
from typing import Any, NamedTuple

from tapegrad.core.backward import Hooked, hooked
from tapegrad.core.marks import LentFrom
from tapegrad.core.node import Node as CoreNode
from tapegrad.core.node import parents
from tapegrad.core.tensor import Tensor as Core
from tapegrad.core.tensor import linked
from tapegrad.torch._node_names import HIDDEN, Shown, name_of, parsed, pattern_of, saved
from tapegrad.torch._packing import Packed, SavedTensor, saved_tensor
from tapegrad.torch._recorder import IMPLICIT, is_leaf_node, own
from tapegrad.torch._stale import Stale, is_barred
from tapegrad.torch._tensor import STYLE, auto_of, wrap
from tapegrad.torch._views import node_before
from tapegrad.torch._watching import SHOWN, Handle


class GradientEdge(NamedTuple):
    """A node and the number of one of its outputs."""

    node: Any
    output_nr: int
    ownership_token: Any = None


class EdgeShape(NamedTuple):
    """What the gradient at an edge looks like."""

    kind: type
    shape: tuple[int, ...]
    dtype: Any


class Node:
    """A step of the graph, as `grad_fn` gives it."""

    def __init__(self, node: CoreNode) -> None:
        self._node = node

    def name(self) -> str:
        """What PyTorch calls it."""
        return name_of(self._node)

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that this passes gradients to, each with the number of its output."""
        return _edges(self._node, parsed(pattern_of(self._node))[1])

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dict to keep anything in."""
        from tapegrad.torch.autograd.anomaly_mode import stack_of

        op = hooked(self._node)
        found: dict[Any, Any] = op.metadata
        stack = stack_of(self._node)
        if stack:
            found.setdefault("traceback_", stack)
        return found

    @property
    def requires_grad(self) -> bool:
        """A node is there for what requires a gradient alone."""
        return True

    def __dir__(self) -> list[str]:
        try:
            return self._names()
        except RuntimeError:  # a context whose output is gone
            return list(super().__dir__())

    def _names(self) -> list[str]:
        op: Any = self._node.op.op if type(self._node.op) is Hooked else self._node.op
        names = getattr(op.op if type(op) is Packed else op, "saved", ())
        arrays = _key(op, "")[1]
        shown = {"y": "result", **{a: _SHOWN_AS[i] for i, a in enumerate(arrays[:2])}}
        kept = [shown.get(n, n) for n in names if "." not in n]
        return [*super().__dir__(), *(f"_saved_{n}" for n in kept), *(f"_raw_saved_{n}" for n in kept)]

    def _sequence_nr(self) -> int:
        return self._node.seq

    @property
    def _input_metadata(self) -> list[Any]:
        return []

    def register_hook(self, hook: Any) -> Handle:
        """Call `hook(grad_inputs, grad_outputs)` after this step; what it gives back takes the place of the first."""
        op = hooked(self._node)
        if op.after is None:
            op.after = _After()
        after: Any = op.after
        return Handle(after.hooks, hook)

    def register_prehook(self, hook: Any) -> Handle:
        """Call `hook(grad_outputs)` before this step; what it gives back takes their place."""
        op = hooked(self._node)
        calls = next((c.pre for c in op.before if hasattr(c, "pre")), None)
        if calls is None:
            calls = {}
            op.before.append(_before(calls))
        return Handle(calls, hook)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_saved_"):
            return _saved_value(self._node, name.removeprefix("_saved_"))
        if name.startswith("_raw_saved_"):
            return _raw_saved(self._node, name.removeprefix("_raw_saved_"))
        raise AttributeError(f"'{self.name()}' object has no attribute '{name}'")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and other._node is self._node

    def __hash__(self) -> int:
        return id(self._node)

    def __repr__(self) -> str:
        return f"<{self.name().split('::')[-1]} object at {id(self._node):#x}>"


_SHOWN_AS = ("self", "other")
_KNOWN = {"self": 0, "other": 1, "mat1": 0, "mat2": 1, "input": 0, "weight": 1}


def _key(op: Any, name: str) -> tuple[str, tuple[str, ...]]:
    """What an op calls what PyTorch calls `name`, and the op's arrays."""
    if op.name == "square" and name == "other":
        name = "self"  # x * x
    arrays = getattr(getattr(op.op if type(op) is Packed else op, "op", None), "arrays", ())
    if name == "result":
        return "y", arrays
    place = _KNOWN.get(name, len(arrays))
    return (arrays[place] if place < len(arrays) else name), arrays


def _raw_saved(node: CoreNode, name: str) -> SavedTensor:
    op: Any = node.op
    key, _ = _key(op, name)
    names = getattr(op.op if type(op) is Packed else op, "saved", ())
    if not names:
        from tapegrad.torch._errors import SPENT

        raise RuntimeError(SPENT)
    if key not in names:
        raise AttributeError(f"'{name_of(node)}' object has no attribute '_raw_saved_{name}'")
    return SavedTensor._at(node, names.index(key))


def _saved_value(node: CoreNode, name: str) -> Any:
    op: Any = node.op.op if type(node.op) is Hooked else node.op
    key, arrays = _key(op, name)
    if type(op) is Packed and key in op.op.saved:
        return op.unpacked(op.op.saved.index(key))
    found = saved(op, node, key)
    if found is None:
        from tapegrad.torch._errors import SPENT

        if not getattr(op, "saved", None):
            raise RuntimeError(SPENT)
        if key in arrays and any(a in op.saved for a in arrays):
            return None  # only the gradient of the other argument needs it, and nobody asked for that
        raise AttributeError(f"'{name_of(node)}' object has no attribute '_saved_{name}'")
    return saved_tensor(node, found) if hasattr(found, "dtype") else found


class Between(Node):
    """A step that PyTorch has between a node and its parents, and that is one with the node here; hooks on it are the node's."""

    def __init__(self, node: CoreNode, step: Shown) -> None:
        super().__init__(node)
        self._step = step

    @staticmethod
    def of(node: CoreNode, step: Shown) -> Any:
        """The same object for a step, as long as anybody holds it."""
        key = hash((id(node), step))
        found = SHOWN.get(key)
        if not isinstance(found, Between) or found._node is not node or found._step != step:
            found = SHOWN[key] = _step_class(step[0])(node, step)
        return found

    def name(self) -> str:
        return self._step[0]

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return _edges(self._node, self._step[1])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Between) and other._node is self._node and other._step == self._step

    def __hash__(self) -> int:
        return hash((id(self._node), self._step))


@functools.cache
def _step_class(name: str) -> type[Between]:
    return type(name, (Between,), {})


class AccumulateGrad(Node):
    """Where gradients of a leaf arrive."""

    def __init__(self, x: Any, node: CoreNode | None = None) -> None:
        super().__init__(own(x.node) if node is None else node)  # type: ignore[arg-type]
        self._of = (lambda: None) if x is None else weakref.ref(x)
        self._pre: dict[int, Any] = {}
        self._post: dict[int, Any] = {}

    @property
    def variable(self) -> Any:
        """The leaf."""
        return self._of()

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        return ()

    @property
    def metadata(self) -> dict[Any, Any]:
        found: dict[Any, Any] = self.__dict__.setdefault("_metadata", {})
        return found

    def register_prehook(self, hook: Any) -> Handle:
        return Handle(self._pre, hook)

    def register_hook(self, hook: Any) -> Handle:
        return Handle(self._post, hook)

    def run_before(self, g: Any) -> Any:
        """The gradient as the hooks leave it."""
        for hook in list(self._pre.values()):
            found = hook((g,))
            if found is not None:
                (g,) = _answer(hook, found, 1)
        return g

    def run_after(self, g: Any) -> None:
        """Tell the hooks that the gradient has been added."""
        for hook in list(self._post.values()):
            hook((), (g,))


def accumulate_of(x: Any) -> AccumulateGrad:
    """The node of a leaf, one for each."""
    auto = auto_of(x)
    if auto.accumulate is None or auto.accumulate._of() is not x:
        auto.accumulate = AccumulateGrad(x)
    found: AccumulateGrad = auto.accumulate
    return found


def _all_parents(node: CoreNode) -> tuple[Any, ...]:
    """The parents in the order of the op's arguments, None for those without a gradient."""
    op: Any = node.op.op if type(node.op) is Hooked else node.op
    known = [_plainly(p) if p is not None and own(p) is not None else None for p in parents(node)]
    specs = getattr(node.s, "_specs", None)
    if specs is not None and len(specs) == len(known):  # of a Function, whose arguments need not be tensors
        return tuple(p for p, spec in zip(known, specs, strict=True) if spec is not None)
    if type(op) is Packed:
        op = op.op
    declared = getattr(op, "op", None)
    if declared is None or op.wide or not hasattr(op, "watched"):
        return tuple(known)
    places = dict(zip(op.watched, known, strict=False))
    count = [i for i, a in enumerate(declared.arrays) if a in declared.differentiable]
    return tuple(places.get(i) for i in count)


def _plainly(p: CoreNode) -> CoreNode | None:
    """A parent, or what it is made from, if it is there for the sake of promotion."""
    return p.p if pattern_of(p) == HIDDEN else p


def _shown_parents(node: CoreNode) -> tuple[Any, ...]:
    """The parents that PyTorch has: those outside of the function that a node stands for."""
    return node.shown if hasattr(node, "shown") else _all_parents(node)


def _edges(node: CoreNode, edges: tuple[Any, ...] | None) -> tuple[tuple[Any, int], ...]:
    """Where the edges of a node lead to, or those of a step that is shown between it and its parents."""
    parents = _shown_parents(node)
    if edges is None:
        return tuple(map(edge_of, parents))
    made = []
    for e in edges:
        if type(e) is tuple:
            reached = _reached(e, len(parents))
            made.append((Between.of(node, e), 0) if any(own(parents[i]) for i in reached) else (None, 0))
        else:
            made.append(edge_of(parents[e] if e is not None and e < len(parents) else None))
    return tuple(made)


def _reached(step: Shown, count: int) -> list[int]:
    """The numbers of the arguments behind a step."""
    if step[1] is None:
        return list(range(count))
    found = (_reached(e, count) if type(e) is tuple else [e] for e in step[1] if e is not None)
    return [i for part in found for i in part if i < count]


def edge_of(node: CoreNode | None) -> tuple[Any, int]:
    """A node as the graph shows it, and the number of its output."""
    node = own(node)
    if node is None or IMPLICIT not in node.owners.recorders:
        return None, 0
    if is_leaf_node(node):
        x = None if node.s is None else node.s()
        return (AccumulateGrad(None, node) if x is None else accumulate_of(x)), 0
    op = node.op.op if type(node.op) is Hooked else node.op
    if op.name == "pick" and node.p is not None:
        return node_view(node.p), node.s
    return node_view(node), 0


def node_view(node: CoreNode) -> Any:
    """The same object for a node, as long as anybody holds it."""
    op: Any = node.op.op if type(node.op) is Hooked else node.op
    special = getattr(op, "shown", None)
    if special is not None:
        return special(node)
    found = SHOWN.get(id(node))
    if found is None or found._node is not node:
        found = SHOWN[id(node)] = _class_of(name_of(node).split("::")[-1])(node)
    return found


@functools.cache
def _class_of(name: str) -> type[Node]:
    """The class of nodes of one name, for that is what scripts print."""
    return type(name, (Node,), {})


def grad_fn(x: Any) -> Any:
    """The step that made a tensor; None for leaves."""
    node = own(x.node)
    if node is None or is_leaf_node(node):
        return None
    return edge_of(node)[0]


def output_nr(x: Any) -> int:
    """Which output of its `grad_fn` a tensor is."""
    info = getattr(x, "_view", None)
    node = own(node_before(x) if isinstance(x, Stale) and is_barred(x) else x.node)
    if info is not None and info.several is not None and node is not None:
        number: int = info.several[1]
        return number
    return 0 if node is None else edge_of(node)[1]


# -- hooks on nodes ----------------------------------------------------------------------------------
def _styled(g: Any) -> Any:
    return None if g is None else STYLE.adopt(g) if type(g) is Core else wrap(g)


def _plain(g: Any, recorded: bool) -> Any:
    if g is None:
        return None
    raw, node = g.read()
    return linked(raw, node) if recorded else raw


def _answer(hook: Any, found: Any, count: int) -> tuple[Any, ...]:
    """What a hook gives in the place of several gradients."""
    if not isinstance(found, tuple):
        raise TypeError(f"expected tuple, but hook returned '{type(found).__name__}'")
    if len(found) != count:
        name = getattr(hook, "__name__", "unknown")
        raise RuntimeError(f"hook '{name}' has returned an incorrect number of values (got {len(found)}, but expected {count})")
    for g in found:
        if g is not None and not isinstance(g, Core):
            raise TypeError(f"expected Variable, but hook returned '{type(g).__name__}'")
    return found


def _before(calls: dict[int, Any]) -> Any:
    def call(g: Any) -> Any:
        several = type(g) is list
        recorded = any(type(c) is Core for c in (g if several else [g]))
        gs = tuple(map(_styled, g if several else [g]))
        for hook in list(calls.values()):
            found = hook(gs)
            if found is not None:
                gs = _answer(hook, found, len(gs))
        made = [_plain(c, recorded) for c in gs]
        return made if several else made[0]

    call.pre = calls  # type: ignore[attr-defined]
    return call


class _After:
    """Runs a node's pull, and lets hooks see and replace what it sends to each parent."""

    def __init__(self) -> None:
        self.hooks: dict[int, Any] = {}

    def __call__(self, node: CoreNode, pull: Any, g: Any) -> None:
        ps = [p for p in dict.fromkeys(parents(node)) if p is not None and p.mark is node.mark]
        held = [(p.grad, getattr(p, "own", False)) for p in ps]
        for p in ps:
            p.grad = None
        out = tuple(map(_styled, g if type(g) is list else [g]))
        recorded = any(type(c) is Core for c in (g if type(g) is list else [g]))
        pull(node, g)
        order = _all_parents(node)
        sent = tuple(_styled(p.grad) if p is not None and p.mark is node.mark else None for p in order)
        with LentFrom(node):
            for hook in list(self.hooks.values()):
                found = hook(sent, out)
                if found is not None:
                    sent = _answer(hook, found, len(sent))
        from tapegrad.core.node import receive

        news = {p: c for p, c in zip(order, sent, strict=False) if p is not None}
        for p, (grad, owned) in zip(ps, held, strict=True):
            p.grad, p.own = grad, owned
            made = _plain(news.get(p), recorded)
            if made is not None:
                receive(p, made)


__all__ = ["AccumulateGrad", "Node", "accumulate_of", "grad_fn", "node_view", "output_nr"]
