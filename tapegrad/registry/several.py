"""Ops of several outputs: a hub node for the op, and a node for each output that picks one of them."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

from tapegrad.core.node import Node, Recorded, make_node, tick
from tapegrad.core.recorder import state
from tapegrad.core.tensor import Tensor, tensor
from tapegrad.registry.call import owned
from tapegrad.registry.op import Spec, spec_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tapegrad.registry.op import Op
    from tapegrad.registry.rules import Variant

_INEXACT = "fcV"  # V: bfloat16 and its like


def record(op: Op, ys: tuple[Any, ...], raws: Any, nodes: Any, params: Any, variant: Variant) -> Any:
    """The outputs as Tensors, recorded where an input is."""
    differentiable = op.differentiable
    qs = nodes if len(differentiable) == len(nodes) else tuple(
        [n if a in differentiable else None for a, n in zip(op.arrays, nodes, strict=True)]
    )
    p = qs[0] if len(qs) == 1 else next((r for r in qs if r is not None), None)
    if p is None:
        return named(op, map(tensor, ys))
    owners = p.owners
    if len(qs) > 1 or owners.lane is not state.active:
        found, p, qs = owned(state.active, p, qs)
        if found is None:
            return named(op, map(tensor, ys))
        owners = found
    given = (raws, params, (ys,))
    values = [spec_of(given[k][i]) if as_spec else given[k][i] for k, i, as_spec in variant.layout]
    specs = []
    for y in ys:
        spec = Spec()
        spec.shape = y.shape
        spec.dtype = y.dtype
        specs.append(spec)
    hub = make_node(variant, p, qs, tuple(values), tuple(specs), owners)
    return named(op, picked(ys, hub))


def named(op: Op, ys: Iterable[Any]) -> Any:
    """The outputs, by the names that the op declares; their type is made when it is first wanted."""
    if op.outputs is ...:
        return tuple(ys)
    made = _NAMED.get(op.name)
    if made is None:
        made = _NAMED[op.name] = namedtuple(f"{op.name}_result", op.outputs)
    return made(*ys)


_NAMED: dict[str, Any] = {}


def picked(ys: tuple[Any, ...], hub: Node) -> tuple[Any, ...]:
    """Each output as a Tensor with a node of its own below the hub."""
    count, owners = len(ys), hub.owners
    keep = owners.keep
    made: list[Tensor] = []
    for y in ys:  # `linked(y, make_node(...))`, with no call for an output: a cell of four gates has four in each step
        t = Tensor()
        t.array = y
        t.like = None
        if y.dtype.kind in _INEXACT:
            n = Node()
            n.op = PICK
            n.p = hub
            n.q = None
            n.s = len(made)
            n.t = count
            n.seq = tick()
            n.owners = owners
            n.grad = None
            n.mark = None
            keep(n)
            t.node = n
        else:
            t.node = None
        made.append(t)
    return tuple(made)


def filled(F: Any, g: list[Any], specs: tuple[Spec, ...]) -> tuple[Any, ...]:
    """The cotangents of all outputs; zeros for those that nothing depends on."""
    for c in g:
        if c is None:
            return tuple([F.zeros(s.shape, dtype=s.dtype) if c is None else c for c, s in zip(g, specs, strict=True)])
    return tuple(g)


def _pull_pick(node: Node, g: Any) -> None:
    hub = node.p
    assert hub is not None
    if hub.mark is node.mark:
        if hub.grad is None:
            hub.grad = [None] * node.t
            hub.own = False
        known = hub.grad[node.s]
        hub.grad[node.s] = g if known is None else known + g


def _push_pick(node: Node, tangents: tuple[Any, ...]) -> Any:
    return tangents[0][node.s]


#: One output of an op that has several.
PICK = Recorded("pick", _pull_pick, _pull_pick, _push_pick, _push_pick)
