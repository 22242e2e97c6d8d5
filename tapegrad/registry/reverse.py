"""The reverse step of a recorded form of an op: how a cotangent goes back to each argument.

The text of a step is made once and compiled twice: on raw arrays, where `F` is the kernel set of the cotangent, and on
Tensors, where `F` is the ops and saved values are linked to the nodes that they came from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.core.node import Masked, apart, receive
from tapegrad.core.recorder import refcount
from tapegrad.core.tensor import Tensor, linked
from tapegrad.registry import checks
from tapegrad.registry.accumulate import LARGE, add_product, settle
from tapegrad.registry.around import surrounded
from tapegrad.registry.op import Op, no_derivative
from tapegrad.registry.rules import Variant, as_spec, linked_output
from tapegrad.registry.several import filled
from tapegrad.registry.signature import names_of
from tapegrad.registry.space import SCALARS, SPACES, space_of_type
from tapegrad.registry.space import F as RECORDED

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.core.node import Node


def _count_when_alone() -> int:
    """What `getrefcount` answers in a compiled step for an array that only the step refers to."""
    c = np.empty(1)
    return refcount(c)


ALONE = _count_when_alone()


def pull_source(variant: Variant, *, recorded: bool, guarded: bool = False) -> str:
    """The source of one reverse step."""
    op = variant.op
    lines = ["def pull(node, g):", "    mark = node.mark"]
    if not recorded and (guarded or _uses_space(op)):
        kind = "type(next(c for c in g if c is not None) if g[0] is None else g[0])" if op.outputs else "type(g)"
        lines += [f"    F = SPACES.get({kind}) or space_of_type({kind})"]
        if op.accumulates:
            lines += ["    F = F.deferring"]
    if op.outputs:
        lines += ["    g = filled(F, g, node.t)"]
    if op.variadic:
        (a,) = op.arrays
        lines += [f"    cs = {_call(variant, a, f'R_{a}', recorded)}"]
        if checks.is_foreign(op):
            lines += [f"    check_all({op.name!r}, {a!r}, cs, {variant.where(a + '.spec')}, {recorded})"]
        lines += [
            "    for r, c in zip(node.q, cs, strict=True):",
            "        if r is not None and r.mark is mark:",
            "            receive(r, c)",
        ]
        return "\n".join(lines) + "\n"
    in_place = not recorded and op.kind == "elementwise"
    if in_place:
        lines += ["    own = node.own"]  # then `g` may be written to, and is passed on with its ownership
    for k, i in enumerate(variant.watched):
        a = op.arrays[i]
        place = f"node.q[{i}]" if variant.wide else variant.parent_expressions[k]
        test = "r is not None and r.mark is mark" if variant.wide else "r.mark is mark"
        lines += [f"    r = {place}", f"    if {test}:"]
        if op.accumulates and not recorded:
            lines += [f"        settle(r, {_call(variant, a, f'R_{a}', recorded)})"]
            continue
        last = i == variant.watched[-1]
        if op.kind == "elementwise":
            made, own, onto = _product(variant, a, i, recorded, reuse=in_place and last, guarded=guarded)
        else:
            rule = f"G_{a}" if guarded and a in op.guards else f"R_{a}"
            made, own, onto = [f"c = {_call(variant, a, rule, recorded)}"], _PROVEN, ""
            if guarded and op.kind == "primitive" and op.pointwise and not recorded:  # recorded, it has to be linear in `g` at 0 too
                made += ["if c.shape == g.shape:", "    c = F.where(F.equal(g, 0), 0, c)"]
            if checks.is_foreign(op):
                made += [f"check({op.name!r}, {a!r}, c, {variant.where(a + '.spec')}, {recorded})"]
        received = [*made, *_received(own, recorded, lends=in_place and made == ["c = g"])]
        if onto and in_place:  # what is large is added to what there is, with no array of its own
            large = "r.grad is not None and r.own and type(r.grad) is ndarray is type(g) and r.grad.size > LARGE"
            received = [f"if {large}:", f"    {onto}", "else:", *(f"    {line}" for line in received)]
        lines += [f"        {line}" for line in received]
    if op.masks and not guarded:
        test = "mark.switches"
        if isinstance(op.masks, str):
            by = variant.where(op.masks)
            test = f'type({by}) is ndarray and {by}.dtype.kind == "b" and {test}'
        lines += [f"    if {test}:", "        raise Masked"]
    return "\n".join(lines) + "\n"


#: An array is the engine's own if nothing else refers to it or to its memory.
_PROVEN = "type(c) is ndarray and c.base is None and refs(c) == ALONE"


def _received(own: str, recorded: bool, *, lends: bool) -> list[str]:
    """Add `c` to what `r` has received: in place, raw, if the buffer is the engine's own."""
    if recorded:
        return ["r.grad = c if r.grad is None else r.grad + c", "r.own = False"]
    lines = [
        "if r.grad is None:",
        f"    r.own = {own}",
        "    r.grad = c",
    ]
    if lends:
        lines += ["    own = False"]  # `g` itself has been handed on
    return [
        *lines,
        "elif r.own:",
        "    try:",
        "        r.grad += c",
        "    except TypeError:",
        "        r.grad = apart(r.grad, c)",
        "else:",
        "    r.grad = r.grad + c",
        "    r.own = True",
    ]


def _uses_space(op: Op) -> bool:
    """Whether any step of this op computes in a namespace, rather than with operators alone."""
    return op.kind != "elementwise" or op.singular or any(callable(r) or r == 0 for r in op.rules.values())


def load(variant: Variant, own: str, name: str, recorded: bool) -> str:
    """The text that gives a rule one of the values that it names."""
    op = variant.op
    key = as_spec(op, own, name)
    place = variant.where(key)
    if not recorded or key.endswith(".spec"):
        return place
    if name == "y":
        return f"linked_output({place}, node)"
    if name in op.kept:
        given = (*op.arrays, *(p.name for p in op.kept[name].params))
        return f"K_{name}({', '.join([place, *(load(variant, '', n, recorded) for n in given)])})"
    if name not in op.arrays:
        return place
    if op.variadic:
        return f"tuple(map(linked, {place}, node.q))"
    i = op.arrays.index(name)
    if variant.wide:
        parent = f"node.q[{i}]" if i in variant.watched else "None"
    elif i in variant.watched:
        parent = variant.parent_expressions[variant.watched.index(i)]
    else:
        parent = "None"
    return f"linked({place}, {parent})"


def recalling(op: Op) -> dict[str, Any]:
    """What the text that loads kept values on Tensors refers to."""
    from tapegrad.registry.entry import recalled

    return {f"K_{name}": recalled(kept) for name, kept in op.kept.items()}


def _call(variant: Variant, a: str, function: str, recorded: bool, first: str = "F, g") -> str:
    op = variant.op
    skip = 1 if op.kind == "elementwise" else 2
    names = names_of((op.guards if function[0] == "G" else op.rules)[a], skip)
    return f"{function}({', '.join([first, *(load(variant, a, n, recorded) for n in names)])})"


def _product(
    variant: Variant, a: str, i: int, recorded: bool, *, reuse: bool, guarded: bool
) -> tuple[list[str], str, str]:
    """Lines that make `c` from `g` and the partial; whether `c` is then the engine's own; what adds it to `r.grad` at once.

    If `guarded`, zero times anything is zero.  With `reuse`, `g` is used for the last time, and its buffer becomes that of the
    product where it is the engine's.
    """
    op, rule = variant.op, variant.op.rules[a]
    # What a mask multiplies by is finite: a share of 0, 0.5 or 1.
    singular = op.singular or (guarded and not op.masks and (isinstance(rule, str) or callable(rule)))
    if a in op.products and not variant.general and not guarded:
        names = names_of(op.products[a], 2)
        return [f"c = P_{a}({', '.join(['F, g', *(load(variant, a, n, recorded) for n in names)])})"], "True", ""
    if isinstance(rule, str):
        partial = load(variant, a, rule, recorded)
    elif callable(rule):
        partial = _call(variant, a, f"R_{a}", recorded, "F")
        if checks.is_foreign(op):
            partial = f"check_partial({op.name!r}, {a!r}, {partial}, g, {not variant.general})"
    else:
        partial = repr(rule)
    if variant.general:
        k = 2 + 2 * variant.watched.index(i)
        shape, dtype = f"node.t[{k}]", f"node.t[{k + 1}]"
        lines = [f"c = fit(g, {partial}, {shape}, {dtype}, {singular})"]
        if partial == "1":  # what `fit` would do, without a call where nothing is to be done
            space = "F" if recorded else "space_of_type(type(g))"
            lines = [
                f"c = g if g.shape == {shape} else {space}.sum_to(g, {shape})",
                f"if c.dtype is not {dtype}:",
                f"    c = fit(c, 1, {shape}, {dtype}, False)",
            ]
        elif a in op.summed_rules and not recorded and not guarded:
            sums = ", ".join(["F, g", *(load(variant, a, n, recorded) for n in names_of(op.summed_rules[a], 2))])
            lines = [f"c = S_{a}({sums})", "if c is None:", *(f"    {line}" for line in lines)]
        return lines, "c is not g and " + _PROVEN, ""
    if partial == "1":
        return ["c = g"], "own" if reuse else "False", ""
    if partial == "-1":
        return ["c = -g"], "True", "r.grad -= g"
    if partial == "0" or (op.cuts and (recorded or guarded)):  # what comes to a zero may be infinite
        quick = "zeros(g.shape, g.dtype) if type(g) is ndarray else " if partial == "0" and not recorded else ""
        return [f"c = {quick}F.mul_zeros({partial}, g)"], "True", ""
    if singular:
        return [f"c = F.mul_zero(g, {partial})"], "True", ""
    onto = f"add_product(r.grad, g, {partial})"
    if not reuse:
        return [f"c = g * {partial}"], "True", onto
    # What cannot be written to gives a new array, which may put off the product until it is known whether it is a summand.
    return ["if own or type(g) is not ndarray:", f"    g *= {partial}", "    c = g", "else:", f"    c = g * {partial}"], "True", onto


def compile_pull(variant: Variant, *, recorded: bool, guarded: bool = False) -> Callable[[Node, Any], None]:
    op = variant.op
    source = pull_source(variant, recorded=recorded, guarded=guarded)
    name = f"<derivative of {op.name} for {', '.join(op.arrays[i] for i in variant.watched)}>"
    env: dict[str, Any] = {f"R_{a}": r for a, r in op.rules.items() if r is not no_derivative}
    if recorded:
        env.update(recalling(op))
    env.update({f"P_{a}": r for a, r in op.products.items()})
    env.update({f"G_{a}": r for a, r in op.guards.items()})
    env.update({f"S_{a}": r for a, r in op.summed_rules.items()})
    env.update(
        F=RECORDED,
        SPACES=SPACES,
        space_of_type=space_of_type,
        linked=linked,
        linked_output=linked_output,
        fit=fit,
        check=checks.cotangent,
        check_all=checks.cotangents,
        check_partial=checks.partial,
        filled=filled,
        receive=receive,
        settle=settle,
        Masked=Masked,
        add_product=add_product,
        apart=apart,
        LARGE=LARGE,
        ndarray=np.ndarray,
        zeros=np.zeros,
        refs=refcount,
        ALONE=ALONE,
    )
    exec(compile(source, name, "exec"), env)
    pull: Callable[[Node, Any], None] = surrounded(env["pull"])
    return pull


def fit(g: Any, partial: Any, shape: tuple[int, ...], dtype: Any, singular: bool) -> Any:
    """`g` times the conjugate partial, as the cotangent of an argument of this shape and dtype.

    Conjugate: cotangents are those of the conjugate Wirtinger derivative, df/dRe + i df/dIm for a real f.
    """
    kind = type(partial)
    if kind is int:  # the sum first, for it may leave less to multiply
        c = g if g.shape == shape else _space(g).sum_to(g, shape)
        if partial != 1:
            c = c * partial if partial else _space(g).mul_zeros(0, c)
    else:
        if kind is complex or (kind not in SCALARS and partial.dtype.kind == "c"):
            partial = _space(g).conj(partial)
        c = _space(g).mul_zero(g, partial) if singular else g * partial
    if c.shape != shape:
        c = _space(g).sum_to(c, shape)
    if c.dtype is not dtype and c.dtype != dtype:
        if c.dtype.kind == "c" and dtype.kind != "c":
            c = _space(g).real(c)
        if c.dtype != dtype:
            c = _space(g).cast(c, dtype)
    return c


def _space(g: Any) -> Any:
    return RECORDED if type(g) is Tensor else space_of_type(type(g))
