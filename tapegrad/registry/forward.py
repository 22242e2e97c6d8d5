"""The pushforward of an op, from its declaration: tangents of its inputs to the tangent of its output."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tapegrad.core.engine import sweep
from tapegrad.core.node import WATCH, make_node
from tapegrad.core.recorder import Recorder, enter, group, leave, release
from tapegrad.core.tensor import Tensor, linked
from tapegrad.errors import GradientError
from tapegrad.registry import checks
from tapegrad.registry.around import surrounded
from tapegrad.registry.batching import matched
from tapegrad.registry.pushes import compile_push
from tapegrad.registry.rules import is_array, parent_order, values
from tapegrad.registry.signature import names_of
from tapegrad.registry.space import SPACES, space_of, space_of_type
from tapegrad.registry.space import F as OPS_SPACE

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.core.node import Node
    from tapegrad.core.recorder import Owners
    from tapegrad.registry.rules import Variant


def pushforward(variant: Variant, *, recorded: bool) -> Callable[[Node, tuple[Any, ...]], Any]:
    """What gives the tangent of a recorded form's output: compiled, where there is a text."""
    made = compile_push(variant, recorded=recorded)
    return surrounded(made or partial(push, variant, F=OPS_SPACE if recorded else None, recorded=recorded))


def push(variant: Variant, node: Node, tangents: tuple[Any, ...], *, F: Any, recorded: bool) -> Any:
    """The tangent of the output (a tuple of them for an op of several).

    With no namespace, in that where raw tangents and saved values meet: either may be batched alone.
    """
    op = variant.op
    given = {op.arrays[i]: t for i, t in zip(parent_order(variant), tangents, strict=False) if t is not None}
    saved = values(variant, node, recorded=recorded)
    if op.variadic:
        given = {op.arrays[0]: tangents}
    if F is None:
        F = space_of(v for v in _spread_out([*given.values(), *saved.values()]) if type(v) in SPACES)
    if op.kind == "elementwise":
        return _pointwise(variant, node, given, saved, F)
    if op.kind in ("linear", "multilinear"):
        return _linear(variant, given, saved, F)
    parts = []
    for a, t in given.items():
        rule = op.pushes.get(a)
        if rule is not None:
            part = rule(F, t, *(saved[n] for n in names_of(rule, 2)))
            if checks.is_foreign(op) and not op.outputs:
                checks.tangent(op.name, a, part, saved["y" if "y" in saved else "y.spec"], recorded)
            parts.append(part)
        else:
            parts.append(_twice(variant, node, a, t, saved, recorded=recorded))
    return _total(parts)


def _spread_out(values: list[Any]) -> list[Any]:
    return [v for x in values for v in (x if type(x) is tuple else (x,))]


def _total(parts: list[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = tuple(a + b for a, b in zip(total, part, strict=True)) if type(total) is tuple else total + part
    return total


def _pointwise(variant: Variant, node: Node, given: dict[str, Any], saved: dict[str, Any], F: Any) -> Any:
    op = variant.op
    parts = []
    for a, t in given.items():
        rule = op.rules[a]
        if isinstance(rule, str):
            factor = saved[rule]
        elif callable(rule):
            factor = rule(F, *(saved[n] for n in names_of(rule, 1)))
            if checks.is_foreign(op):
                shape = node.t[0] if variant.general else None
                checks.partial(op.name, a, factor, t, not variant.general, shape)
        else:
            factor = rule
        if op.masks or op.cuts or (type(factor) in (int, float) and factor == 0):
            parts.append(F.mul_zero(factor, t))
        elif type(factor) in (int, float):
            parts.append(t if factor == 1 else t * factor)
        else:
            parts.append(F.mul_zeros(t, factor))
    total = _total(parts)
    if variant.general:
        shape, dtype = node.t[:2]
        if total.shape != shape:
            total = F.broadcast_to(total, shape)
        if total.dtype != dtype:
            total = F.astype(total, dtype)
    return total


def _linear(variant: Variant, given: dict[str, Any], saved: dict[str, Any], F: Any) -> Any:
    op = variant.op
    run = getattr(F, op.key)
    params = {p.name: saved[p.name] for p in op.params}
    if op.variadic:
        (a,) = op.arrays
        if op.kind == "multilinear":
            whole = saved[a]
            return _total(
                [
                    run([t if j == i else x for j, x in enumerate(whole)], **params)
                    for i, t in enumerate(given[a])
                    if t is not None
                ]
            )
        specs = saved[a + ".spec"]
        arrays = [
            F.zeros(specs[i].shape, dtype=specs[i].dtype) if t is None else t for i, t in enumerate(given[a])
        ]
        return run(arrays, **params)
    if op.kind == "multilinear":
        return _total(
            [run(*(t if b == a else saved[b] for b in op.arrays), **params) for a, t in given.items()]
        )
    arrays = []
    for b in op.arrays:
        if b in given:
            arrays.append(given[b])
        elif b in op.differentiable:
            spec = saved[b + ".spec"]
            arrays.append(F.zeros(spec.shape, dtype=spec.dtype))
        else:
            arrays.append(saved[b])
    return run(*arrays, **params)


def _twice(
    variant: Variant, node: Node, a: str, t: Any, saved: dict[str, Any], *, recorded: bool
) -> Any:
    """J t from the pullback alone: u -> J* u is linear, and the pullback of that, applied to t, is J t."""
    op = variant.op
    rule = op.rules[a]
    recorder = Recorder(auto=False, inner=True)
    enter(recorder)
    try:
        owners = group(frozenset([recorder]))
        specs = node.t if op.outputs else saved["y" if "y" in saved else "y.spec"]
        space = space_of_type(type(t.array if isinstance(t, Tensor) else t))
        probe = _probe(specs, space, owners)
        tensors = {n: v if recorded else _as_tensor(op, n, v) for n, v in saved.items()}
        c = rule(OPS_SPACE, probe, *(tensors[n if n in tensors else n + ".spec"] for n in names_of(rule, 2)))
    finally:
        leave(recorder)
    nodes = [p.node for p in probe] if type(probe) is tuple else [probe.node]
    try:
        if c.node is None:
            raise GradientError(f"{op.name}: its pullback for {a} does not depend on the cotangent")
        found = sweep([(c.node, t if recorded else matched(t, c.array))], nodes, recorder, recorded=recorded)
    finally:
        release(recorder)
    return tuple(found) if type(probe) is tuple else found[0]


def _as_tensor(op: Any, name: str, value: Any) -> Any:
    if is_array(op, name):
        return tuple(linked(v, None) for v in value) if type(value) is tuple else linked(value, None)
    return value


def _probe(specs: Any, space: Any, owners: Owners) -> Any:
    """A cotangent to differentiate by; its value does not matter, for the pullback is linear in it."""
    if type(specs) is tuple:
        return tuple(_probe(s, space, owners) for s in specs)
    raw = space.ones(specs.shape, dtype=specs.dtype)
    return linked(raw, make_node(WATCH, None, None, None, None, owners))
