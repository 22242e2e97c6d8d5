"""The text of an op's function that records: which recorders own the node, its parents, and what it saves."""

from __future__ import annotations

from tapegrad.core.recorder import TIDY_EVERY
from tapegrad.registry import rules
from tapegrad.registry.op import Op


def recording(op: Op, watched: list[int], holds: bool) -> list[str]:
    """Make the node of the output, whose tensor is `out`, and give that back."""
    if rules.is_wide(op):
        lines = _record_wide(op, holds)
    elif len(watched) == 1:
        lines = _record_one(op, watched[0], holds)
    else:
        lines = _record_two(op, watched[0], watched[1], holds)
    return [*lines, *finish("    ")]


def finish(indent: str) -> list[str]:
    """What is the same for every node, and the end of the function."""
    return [
        f"{indent}n.seq = seq = tick()",
        f"{indent}n.owners = owners",
        f"{indent}n.grad = None",
        f"{indent}n.mark = None",
        f"{indent}owners.keep(n)",
        f"{indent}if not seq & {TIDY_EVERY - 1}:",
        f"{indent}    owners.tidy()",
        f"{indent}out.node = n",
        f"{indent}return out",
    ]


def nodes_of(op: Op) -> str:
    return "nodes" if op.variadic else ", ".join(f"node{i}" for i in range(len(op.arrays)))


def _unrecorded(indent: str) -> list[str]:
    return [f"{indent}out.node = None", f"{indent}return out"]


def _fast(first: str, second: str, k1: str, k2: str) -> str:
    """No broadcasting, one dtype, and that a common real one: then cotangents fit as they are."""
    return (
        f"{k1} is {k2} and ((({k1} is ndarray or {k1} in ARRAYS) and (d := {first}.dtype) is {second}.dtype "
        f"and (d is F32 or d is F64) and {first}.shape == {second}.shape) or {k1} is f32 or {k1} is f64)"
    )


def _record_one(op: Op, i: int, holds: bool) -> list[str]:
    """One argument has a derivative."""
    lines = [
        f"    p = node{i}",
        "    if p is None:",
        *_unrecorded("        "),
        "    owners = p.owners",
        "    if owners.lane is not state.active:",
        "        owners, p, _ = owned(state.active, p, None)",
        "        if p is None:",
        *_unrecorded("            "),
        "    n = Node()",
    ]
    if op.kind == "elementwise":
        if len(op.arrays) == 1:  # the output has the argument's shape: only the dtype can matter
            test = (
                f"((kind{i} is ndarray or kind{i} in ARRAYS) and ((d := raw{i}.dtype) is F32 or d is F64)) "
                f"or kind{i} is f32 or kind{i} is f64"
            )
            test = f"({test}) and type(y) is kind{i}"
            lines += [f"    out.like = {op.arrays[i]}.like"]
        else:
            test = _fast(f"raw{i}", "y", f"kind{i}", "type(y)")
        lines += _choice(op, test, (i,), "    ", holds)
    else:
        lines += saving(op, (i,), "    ", holds)
    return [*lines, "    n.p = p", "    n.q = None"]


def _record_two(op: Op, i: int, j: int, holds: bool) -> list[str]:
    """Two arguments have a derivative; each may be watched or not."""
    lines = [
        f"    p = node{i}",
        f"    q = node{j}",
        "    if p is None and q is None:",
        *_unrecorded("        "),
        "    owners = q.owners if p is None else p.owners",
        "    if owners.lane is not state.active or (p is not None and q is not None and q.owners is not owners):",
        "        owners, p, q = owned(state.active, p, q)",
        "        if p is None and q is None:",
        *_unrecorded("            "),
        "    n = Node()",
    ]
    cases = [("q is None", (i,), f"raw{i}", f"kind{i}"), ("p is None", (j,), f"raw{j}", f"kind{j}")]
    for word, (test, watched, x, k) in zip(("if", "elif"), cases, strict=True):
        lines += [f"    {word} {test}:"]
        if op.kind == "elementwise":
            lines += _choice(op, _fast(x, "y", k, "type(y)"), watched, "        ", holds)
        else:
            lines += saving(op, watched, "        ", holds)
        if test == "p is None":
            lines += ["        p = q", "        q = None"]
    if op.kind == "elementwise":
        a, b = op.arrays[i], op.arrays[j]
        lines += [
            f"    elif {_fast(f'raw{i}', f'raw{j}', f'kind{i}', f'kind{j}')}:",
            *saving(op, (i, j), "        ", holds),
            f"        out.like = {b}.like = {a}.like = {a}.like or {b}.like or object()",
            "    else:",
            *saving(op, (i, j), "        ", holds, general=True),
        ]
    else:
        lines += ["    else:", *saving(op, (i, j), "        ", holds)]
    return [*lines, "    n.p = p", "    n.q = q"]


def _choice(op: Op, test: str, watched: tuple[int, ...], indent: str, holds: bool) -> list[str]:
    return [
        f"{indent}if {test}:",
        *saving(op, watched, indent + "    ", holds),
        f"{indent}else:",
        *saving(op, watched, indent + "    ", holds, general=True),
    ]


def _record_wide(op: Op, holds: bool) -> list[str]:
    """Any number of arguments: the node holds a tuple of parents."""
    if op.variadic:
        whose = [
            "    q = nodes",
            "    p = next((r for r in q if r is not None), None)",
            "    if p is None:",
            *_unrecorded("        "),
            "    owners, p, q = owned(state.active, p, q)",
            "    if p is None:",
            *_unrecorded("        "),
        ]
    else:
        each = [f"node{i}" for i in range(len(op.arrays))]
        whose = [
            f"    p = {' '.join(f'{n} if {n} is not None else' for n in each[:-1])} {each[-1]}",
            "    if p is None:",
            *_unrecorded("        "),
            f"    q = ({nodes_of(op)},)",
            "    owners = p.owners",
            "    if owners.lane is not state.active or "
            f"{' or '.join(f'({n} is not None and {n}.owners is not owners)' for n in each[1:])}:",
            "        owners, p, q = owned(state.active, p, q)",
            "        if p is None:",
            *_unrecorded("            "),
        ]
    return [
        *whose,
        "    n = Node()",
        *saving(op, None, "    ", holds, general=op.kind == "elementwise"),
        "    n.p = p",
        "    n.q = q",
    ]


def saving(
    op: Op, watched: tuple[int, ...] | None, indent: str, holds: bool = False, *, general: bool = False
) -> list[str]:
    """Choose the compiled rules for what is watched, and keep what they name."""
    index, variant = rules.variant_for(op, watched, general)
    lines, values = [], []
    for name in variant.saved:
        base, _, spec = name.partition(".")
        raw = base  # "y", or a parameter
        if base in op.kept:
            raw = f"kept_{base}"
        elif base in op.arrays:
            raw = "raws" if op.variadic else f"raw{op.arrays.index(base)}"
        if not spec:
            values.append(raw)
        elif op.variadic and base != "y":
            values.append("tuple(map(spec_of, raws))")
        else:
            made = f"spec_{base}"
            lines += [f"{indent}{made} = Spec()", f"{indent}{made}.shape = {raw}.shape", f"{indent}{made}.dtype = {raw}.dtype"]
            values.append(made)
    lines += [f"{indent}n.op = V{index}"]
    if holds:
        whole = [f"tuple({a})" if op.variadic else a for a in op.arrays if a in variant.saved]
        held = whole[0] if len(whole) == 1 else f"({', '.join(whole)})"
        lines += [f"{indent}n.held = {held}"]
    if general:
        shapes = ["y.shape", "y.dtype"]
        for i in watched or variant.watched:
            shapes += [f"shape_of(raw{i})", f"dtype_of(raw{i})"] if watched is None else [f"raw{i}.shape", f"raw{i}.dtype"]
        s = "(" + "".join(f"{v}, " for v in values) + ")"
        return [*lines, f"{indent}n.s = {s}", f"{indent}n.t = ({', '.join(shapes)})"]
    if len(values) > 2:
        return [*lines, f"{indent}n.s = ({', '.join(values)})", f"{indent}n.t = None"]
    values += ["None"] * (2 - len(values))
    return [*lines, f"{indent}n.s = {values[0]}", f"{indent}n.t = {values[1]}"]
