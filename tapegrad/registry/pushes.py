"""The text of a pushforward, as `rules` has it for the reverse step; what is not written here is done by `forward.push`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.registry import checks
from tapegrad.registry.reverse import load, recalling
from tapegrad.registry.rules import is_array, parent_order
from tapegrad.registry.signature import names_of
from tapegrad.registry.space import BUILTIN, NUMPY, space_of
from tapegrad.registry.space import F as RECORDED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.core.node import Node
    from tapegrad.registry.op import Op
    from tapegrad.registry.rules import Variant


def compile_push(variant: Variant, *, recorded: bool) -> Callable[[Node, tuple[Any, ...]], Any] | None:
    """The pushforward of a recorded form; None for the kinds that have no text."""
    op = variant.op
    if not _is_plain(op):
        return None
    source = push_source(variant, recorded=recorded)
    env: dict[str, Any] = {f"R_{a}": r for a, r in {**op.rules, **op.pushes}.items() if callable(r)}
    env.update(F=RECORDED, BUILTIN=BUILTIN, NUMPY=NUMPY, space_of=space_of, **load_environment())
    if recorded:
        env.update(recalling(op))
    exec(compile(source, f"<tangent of {op.name} for {', '.join(op.arrays[i] for i in variant.watched)}>", "exec"), env)
    push: Callable[[Node, tuple[Any, ...]], Any] = env["push"]
    return push


def load_environment() -> dict[str, Any]:
    """What the text that loads saved values refers to."""
    from tapegrad.core.tensor import linked
    from tapegrad.registry.rules import linked_output

    return {"linked": linked, "linked_output": linked_output}


def _is_plain(op: Op) -> bool:
    """One output, a fixed number of arrays, rules of tapegrad's own, and a pushforward for each argument."""
    if op.variadic or op.outputs or checks.is_foreign(op):
        return False
    return op.kind != "primitive" or all(a in op.pushes for a in op.differentiable)


def push_source(variant: Variant, *, recorded: bool) -> str:
    """The source of one pushforward: `push(node, tangents)`."""
    op = variant.op
    order = [(k, i) for k, i in enumerate(parent_order(variant)) if op.arrays[i] in op.differentiable]
    lines = ["def push(node, tangents):", *(f"    t{i} = tangents[{k}]" for k, i in order)]
    loaded: dict[str, None] = {}  # texts of arrays, raw
    parts = {i: _part(variant, i, recorded, loaded) for _, i in order}
    if not recorded:
        lines += _namespace([i for _, i in order], list(loaded))
    index = [i for _, i in order]
    if op.kind == "linear" and len(index) > 1:  # one run of the op, on zeros where there is no tangent
        whole = _run(variant, {i: f"t{i}" for i in index}, recorded)
        return "\n".join([*lines, *_zeros(variant, index), f"    return {whole}"]) + "\n"
    if len(index) == 1:
        lines += [f"    c = {parts[index[0]]}"]
    else:
        lines += ["    c = None"]
        nothing = [i for i in index if op.kind == "elementwise" and op.rules[op.arrays[i]] == 0]
        for i in index:
            if i not in nothing:
                lines += [f"    if t{i} is not None:", f"        d = {parts[i]}", "        c = d if c is None else c + d"]
        for i in nothing:  # a zero, where nothing else has come
            lines += [f"    if c is None and t{i} is not None:", f"        c = {parts[i]}"]
    if op.kind == "elementwise" and variant.general:
        lines += [
            "    if c.shape != node.t[0]:",
            "        c = F.broadcast_to(c, node.t[0])",
            "    if c.dtype != node.t[1]:",
            "        c = F.astype(c, node.t[1])",
        ]
    return "\n".join([*lines, "    return c"]) + "\n"


def _part(variant: Variant, i: int, recorded: bool, loaded: dict[str, None]) -> str:
    """What the tangent of argument `i` adds."""
    op = variant.op
    a = op.arrays[i]
    if op.kind in ("linear", "multilinear"):
        for b in op.arrays:
            if b != a and (op.kind == "multilinear" or b not in op.differentiable):
                loaded[load(variant, a, b, False)] = None
        return _run(variant, {i: f"t{i}"}, recorded)
    rule: Any = op.rules[a] if op.kind == "elementwise" else op.pushes[a]
    skip = 1 if op.kind == "elementwise" else 2
    for n in names_of(rule, skip):
        if is_array(op, n):
            loaded[load(variant, "", n, False)] = None
    if op.kind == "primitive":
        return f"R_{a}({', '.join(['F', f't{i}', *(load(variant, '', n, recorded) for n in names_of(rule, 2))])})"
    if isinstance(rule, str):
        partial = load(variant, a, rule, recorded)
    elif callable(rule):
        partial = f"R_{a}({', '.join(['F', *(load(variant, a, n, recorded) for n in names_of(rule, 1))])})"
    else:
        if not op.singular and rule in (1, -1):
            return f"t{i}" if rule == 1 else f"-t{i}"
        partial = repr(rule)
    if op.masks or op.cuts or partial == "0":  # a tangent of what is not chosen has no part, whatever it is
        return f"F.mul_zero({partial}, t{i})"
    # Where the cotangent that comes to an infinite partial would be zero, the tangent that has passed it is infinite, and meets a zero.
    return f"t{i} * {partial}" if isinstance(rule, int | float) else f"F.mul_zeros(t{i}, {partial})"


def _run(variant: Variant, tangents: dict[int, str], recorded: bool) -> str:
    """The op itself, on tangents in the place of some arrays."""
    op = variant.op
    arrays = []
    for j, b in enumerate(op.arrays):
        if j in tangents:
            arrays.append(tangents[j])
        elif op.kind == "linear" and b in op.differentiable:  # linear in all of them together: nothing comes from here
            spec = variant.where(b + ".spec")
            arrays.append(f"F.zeros({spec}.shape, dtype={spec}.dtype)")
        else:
            arrays.append(load(variant, "", b, recorded))
    params = [f"{p.name}={variant.where(p.name)}" for p in op.params]
    return f"F.{op.key}({', '.join([*arrays, *params])})"


def _zeros(variant: Variant, index: list[int]) -> list[str]:
    lines = []
    for i in index:
        spec = variant.where(variant.op.arrays[i] + ".spec")
        lines += [f"    if t{i} is None:", f"        t{i} = F.zeros({spec}.shape, dtype={spec}.dtype)"]
    return lines


def _namespace(index: list[int], loaded: list[str]) -> list[str]:
    """That where raw tangents and saved values meet: either may be batched alone."""
    tangents = [f"t{i}" for i in index]
    tests = [f"({t} is None or type({t}) in BUILTIN)" for t in tangents] + [f"type({v}) in BUILTIN" for v in loaded]
    given = [f"*(() if {t} is None else ({t},))" for t in tangents] + loaded
    return [f"    F = NUMPY if {' and '.join(tests)} else space_of(({', '.join(given)},))"]
