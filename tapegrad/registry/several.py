"""Ops of several outputs: a hub node for the op, and a node for each output that picks one of them."""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any

from tapegrad.core.node import Node, Recorded, make_node
from tapegrad.core.recorder import state
from tapegrad.core.tensor import linked, tensor
from tapegrad.registry.call import owned

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tapegrad.registry.op import Op
    from tapegrad.registry.rules import Variant

_INEXACT = "fcV"  # V: bfloat16 and its like


def record(op: Op, ys: tuple[Any, ...], raws: Any, nodes: Any, params: Any, variant: Variant) -> Any:
    """The outputs as Tensors, recorded where an input is."""
    index = [i for i, a in enumerate(op.arrays) if a in op.differentiable]
    qs = tuple(nodes[i] if i in index else None for i in range(len(nodes)))
    p = next((r for r in qs if r is not None), None)
    if p is None:
        return named(op, map(tensor, ys))
    owners, p, qs = owned(state.active, p, qs)
    if owners is None:
        return named(op, map(tensor, ys))
    given = dict(zip(op.arrays, raws, strict=True))
    given.update(zip((k.name for k in op.params), params, strict=True))
    given["y"] = ys
    from tapegrad.registry.rules import spec_of

    values = tuple(spec_of(given[n[:-5]]) if n.endswith(".spec") else given[n] for n in variant.saved)
    hub = make_node(variant, p, qs, values, tuple(map(spec_of, ys)), owners)
    return named(op, picked(ys, hub))


def named(op: Op, ys: Iterable[Any]) -> Any:
    """The outputs, by the names that the op declares; their type is made when it is first wanted."""
    made = _NAMED.get(op.name)
    if made is None:
        made = _NAMED[op.name] = namedtuple(f"{op.name}_result", op.outputs)
    return made(*ys)


_NAMED: dict[str, Any] = {}


def picked(ys: tuple[Any, ...], hub: Node) -> tuple[Any, ...]:
    """Each output as a Tensor with a node of its own below the hub."""
    return tuple(
        linked(y, make_node(PICK, hub, None, k, len(ys), hub.owners)) if y.dtype.kind in _INEXACT else tensor(y)
        for k, y in enumerate(ys)
    )


def filled(F: Any, g: list[Any], specs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The cotangents of all outputs; zeros for those that nothing depends on."""
    return tuple(F.zeros(s.shape, dtype=s.dtype) if c is None else c for c, s in zip(g, specs, strict=True))


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
