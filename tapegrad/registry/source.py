"""The text of an op's public function: unpack, compute, record.

What is decided here once, instead of at every call: how many arrays there are, which have a derivative, what their rules
have named (and so what is saved), whether a Python operator computes the op.
"""

from __future__ import annotations

import re

from tapegrad.core.recorder import TIDY_EVERY
from tapegrad.registry import rules
from tapegrad.registry.misfit import takes_guesses
from tapegrad.registry.op import Op, Param


def entry_source(op: Op, *, styled: bool = False, holds: bool = False) -> str:
    """The source of an op's public function; `styled`, of the one that gives a facade's subclass of Tensor.

    `holds`: nodes keep the tensors alive whose values they have saved.
    """
    guesses = not styled and takes_guesses(op)
    lines = [f"def {op.name}({with_rest(op) if guesses else parameters(op)}):"]
    if guesses:
        lines += ["    if EXTRA or WORDS:", f"        raise misfit(OP, EXTRA, WORDS, {shown(op)!r})"]
    if styled and op.kind == "composite":
        lines += ["    try:", f"        return adopt(OP.entry({_given(op)}{_keywords(op)}))"]
        return "\n".join([*lines, *_failing("()")]) + "\n"
    if op.variadic:
        lines += [f"    raws, nodes = unpack_all(OP, {op.arrays[0]!r}, {op.arrays[0]})"]
    else:
        if op.repeated:
            a, b = op.arrays
            lines += [f"    if {a} is {b} and type({a}) is Tensor:", f"        return F.{op.repeated}({a})"]
        lines += _fast_lane(op, styled, holds)
        for i, a in enumerate(op.arrays):
            lines += _unpacking(op, i, a)
    raws, nodes = _raws(op), _nodes(op)
    if op.kind == "composite":
        return "\n".join(lines + _composite(op, raws, nodes)) + "\n"
    lines += _meeting(op) if styled else []
    lines += _promotion(op)
    lines += _computing(op, styled)
    if op.outputs and op.kind == "constant":
        return "\n".join([*lines, "    return outputs(OP, y, None, None, None, None)"]) + "\n"
    if op.outputs:
        lines += [f"    return outputs(OP, y, ({raws},), ({nodes},), ({_keywords(op, values=True)}), V0)"]
        return "\n".join(lines) + "\n"
    lines += [f"    out = {_new(styled)}", "    out.array = y", "    out.like = None"]
    watched = [i for i, a in enumerate(op.arrays) if op.kind != "constant" and a in op.differentiable]
    if not watched:
        if op.arrays:
            listed = "nodes" if op.variadic else f"({_nodes(op)},)"
            lines += ["    if NOTING:", f"        noted({op.name!r}, {listed})"]
        return "\n".join([*lines, "    out.node = None", "    return out"]) + "\n"
    if rules.is_wide(op):
        lines += _record_wide(op, holds)
    elif len(watched) == 1:
        lines += _record_one(op, watched[0], holds)
    else:
        lines += _record_two(op, watched[0], watched[1], holds)
    return "\n".join([*lines, *_finish("    ")]) + "\n"


def _finish(indent: str) -> list[str]:
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


def _new(styled: bool) -> str:
    """A bare Tensor; a facade's class may have a constructor of its own, which is not for ops."""
    return "new(Tensor)" if styled else "Tensor()"


def _fast_lane(op: Op, styled: bool, holds: bool) -> list[str]:
    """Two tensors that are known to agree, watched by just the active tapes: nothing is left to decide."""
    if op.kind != "elementwise" or not op.symbol or len(op.differentiable) != 2:
        return []
    a, b = op.arrays
    return [
        f"    if type({a}) is Tensor and type({b}) is Tensor and (like := {a}.like) is not None and like is {b}.like:",
        f"        p = {a}.node",
        f"        q = {b}.node",
        "        if p is not None and q is not None and (owners := p.owners) is q.owners and owners.lane is state.active:",
        f"            raw0 = {a}.array",
        f"            raw1 = {b}.array",
        f"            out = {_new(styled)}",
        f"            out.array = y = raw0 {op.symbol} raw1",
        "            out.like = like",
        "            n = Node()",
        *_saving(op, (0, 1), "            ", holds),
        "            n.p = p",
        "            n.q = q",
        *_finish("            "),
    ]


def with_rest(op: Op) -> str:
    """The parameters, and all that is given in excess: it has an error of its own."""
    before, star, after = parameters(op).partition("*")
    if star:
        return f"{before}*EXTRA{after}, **WORDS"
    return f"{before}, *EXTRA, **WORDS" if before else "*EXTRA, **WORDS"


def shown(op: Op) -> str:
    """The parameters as an error shows them, without defaults."""
    return re.sub(r"=D_\w+|=None", "=...", parameters(op).replace(", /", ""))


def parameters(op: Op) -> str:
    parts = [a for a in op.arrays if a not in op.optional]
    if parts:
        parts.append("/")
    parts += [f"{a}=None" for a in op.optional if a not in op.named]
    keyword = False
    for p in op.params:
        if p.keyword_only and not keyword:
            parts.append("*")
            keyword = True
        parts.append(p.name if p.default is Param.REQUIRED else f"{p.name}=D_{p.name}")
    if op.named:
        parts += [*([] if keyword else ["*"]), *(f"{a}=None" for a in op.named)]
    return ", ".join(parts)


def _keywords(op: Op, *, values: bool = False) -> str:
    """The parameters, as they are passed on."""
    if values:
        return "".join(f"{p.name}, " for p in op.params)
    return "".join(f", {p.name}={p.name}" for p in op.params)


def _raws(op: Op) -> str:
    return "raws" if op.variadic else ", ".join(f"raw{i}" for i in range(len(op.arrays)))


def _nodes(op: Op) -> str:
    return "nodes" if op.variadic else ", ".join(f"node{i}" for i in range(len(op.arrays)))


def _unpacking(op: Op, i: int, name: str) -> list[str]:
    lines = [f"    if type({name}) is Tensor:", f"        raw{i} = {name}.array", f"        node{i} = {name}.node"]
    if op.weak and len(op.arrays) == 2:
        other = op.arrays[1 - i]
        lines += [
            f"    elif type({name}) in SCALARS and type({other}) is Tensor:",
            f"        raw{i} = {name}",
            f"        node{i} = None",
        ]
    if name in op.optional:
        lines += [f"    elif {name} is None:", f"        raw{i} = node{i} = None"]
    others = "(" + "".join(f"{a}, " for a in op.arrays) + ")"
    lines += [
        "    else:",
        f"        if hasattr(type({name}), '__tapegrad_tensor__') or type({name}) in STANDING:",
        f"            {name} = standing_for({name})",
        f"        raw{i}, node{i} = unpack(OP, {name!r}, {name}, {others})",
    ]
    return lines if op.kind != "composite" else [*lines, f"        {name} = unstyled({name}, raw{i}, node{i})"]


def _meeting(op: Op) -> list[str]:
    """Where a style has a say in an elementwise op: anything but one common real dtype."""
    if not op.pointwise or op.variadic or not op.arrays:
        return []
    count = len(op.arrays)
    index = [i for i, a in enumerate(op.arrays) if op.kind == "constant" or a in op.differentiable]
    xs, ps = _raws(op), _nodes(op)
    call = [f"        ({xs},), ({ps},) = meet(OP, ({xs},), ({ps},))"]
    if count == 1:
        return ["    if (d := raw0.dtype) is not F32 and d is not F64:", *call]
    if count > 2 or len(index) < 2:
        tests = [f"type(raw{i}) in SCALARS" for i in index] + [f"raw{index[0]}.dtype is not raw{i}.dtype" for i in index[1:]]
        return [f"    if {' or '.join([*tests, f'(d := raw{index[0]}.dtype) is not F32 and d is not F64'])}:", *call]
    odd = "(({d} := raw{i}.dtype) is not F32 and {d} is not F64)"
    lines = []
    for word, i, j in (("if", 1, 0), ("elif", 0, 1)):
        lines += [
            f"    {word} type(raw{i}) in SCALARS:",
            f"        if type(raw{i}) is complex or {odd.format(d='d', i=j)}:",
            *(f"    {line}" for line in call),
        ]
    return [*lines, "    elif (d := raw0.dtype) is not raw1.dtype or (d is not F32 and d is not F64):", *call]


def _promotion(op: Op) -> list[str]:
    """Arrays of different dtypes are brought to one before any op but an elementwise one, whose kernel promotes."""
    if op.kind in ("elementwise", "constant"):
        return []
    if op.variadic:
        return ["    raws, nodes = promote(OP, raws, nodes)"]
    index = [i for i, a in enumerate(op.arrays) if a in op.differentiable]
    if len(index) < 2:
        return []
    test = " and ".join(f"raw{index[0]}.dtype is raw{i}.dtype" for i in index[1:])
    if op.weak:
        plain = " or ".join(f"type(raw{i}) in SCALARS" for i in index)
        test = f"not ({plain}) and {test}"
    xs, ps = (", ".join(f"{c}{i}" for i in index) for c in ("raw", "node"))
    return [f"    if not ({test}):", f"        ({xs}), ({ps}) = promote(OP, ({xs}), ({ps}))"]


def _computing(op: Op, styled: bool) -> list[str]:
    found = "adopt(found)" if styled else "found"
    if op.variadic:
        return [
            f"    found = over_batch(OP, raws, nodes{_keywords(op)})",
            "    if found is not None:",
            f"        return {found}",
            "    try:",
            f"        y = dispatch(OP, raws, raws{_keywords(op)})",
            *_failing("raws"),
        ]
    count = len(op.arrays)
    if not count:  # the body, not the kernel: it is the body that knows the default dtype
        return ["    try:", f"        y = BODY(space_of(()){_keywords(op)})", *_failing("()")]
    args = _raws(op) + _keywords(op)
    expression = f"KERNEL({args})"
    if op.symbol:
        expression = f"raw0 {op.symbol} raw1" if count == 2 else f"{op.symbol}raw0"
    kinds = [f"kind{i}" for i in range(count)]
    lines = ["    " + "; ".join(f"kind{i} = type(raw{i})" for i in range(count))]
    direct = " and ".join(f"{k} is ndarray" for k in kinds)
    lines += ["    try:", f"        if {direct}:", f"            y = {expression}"]
    builtin = " and ".join(f"{k} in BUILTIN" for k in kinds)
    lines += [f"        elif {builtin}:"]
    if op.weak and count == 2:  # ml_dtypes' bfloat16 does not know of weak scalars
        for i, j in ((0, 1), (1, 0)):
            lines += [
                f"            {'el' if i else ''}if kind{j} in SCALARS and raw{i}.dtype.kind == 'V' and kind{j} is not complex:",
                f"                raw{j} = raw{i}.dtype.type(raw{j})",
            ]
    lines += [f"            y = {expression}"]
    lines += [
        f"        elif {_of_one_set(kinds)}:",
        f"            y = {expression if op.symbol else f'SPACES[{_first_array(kinds)}].{op.key}({args})'}",
    ] if op.key.isidentifier() else []
    lines += [
        "        else:",
        f"            found = over_batch(OP, ({_raws(op)},), ({_nodes(op)},){_keywords(op)})",
        "            if found is not None:",
        f"                return {found}",
        f"            y = dispatch(OP, ({_raws(op)},), {args})",
    ]
    return lines + _failing(f"({_raws(op)},)")


def _of_one_set(kinds: list[str]) -> str:
    """The test for arrays of one kernel set, Python's numbers among them: no batch can be hidden, and it is known who computes."""
    if len(kinds) == 1:
        return f"{kinds[0]} in ARRAYS"
    if len(kinds) == 2:
        a, b = kinds
        return f"({a} in ARRAYS and ({b} is {a} or {b} in SCALARS)) or ({a} in SCALARS and {b} in ARRAYS)"
    return f"{kinds[0]} in ARRAYS and " + " and ".join(f"{k} is {kinds[0]}" for k in kinds[1:])


def _first_array(kinds: list[str]) -> str:
    return f"{kinds[0]} if {kinds[0]} in ARRAYS else {kinds[1]}" if len(kinds) == 2 else kinds[0]


def _failing(raws: str) -> list[str]:
    return [
        "    except Exception as error:",
        f"        failure = failed(OP, error, {raws})",
        "        if failure is error:",  # which keeps what it came from
        "            raise",
        "        raise failure from error",
    ]


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
        lines += _saving(op, (i,), "    ", holds)
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
            lines += _saving(op, watched, "        ", holds)
        if test == "p is None":
            lines += ["        p = q", "        q = None"]
    if op.kind == "elementwise":
        a, b = op.arrays[i], op.arrays[j]
        lines += [
            f"    elif {_fast(f'raw{i}', f'raw{j}', f'kind{i}', f'kind{j}')}:",
            *_saving(op, (i, j), "        ", holds),
            f"        out.like = {b}.like = {a}.like = {a}.like or {b}.like or object()",
            "    else:",
            *_saving(op, (i, j), "        ", holds, general=True),
        ]
    else:
        lines += ["    else:", *_saving(op, (i, j), "        ", holds)]
    return [*lines, "    n.p = p", "    n.q = q"]


def _choice(op: Op, test: str, watched: tuple[int, ...], indent: str, holds: bool) -> list[str]:
    return [
        f"{indent}if {test}:",
        *_saving(op, watched, indent + "    ", holds),
        f"{indent}else:",
        *_saving(op, watched, indent + "    ", holds, general=True),
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
            f"    q = ({_nodes(op)},)",
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
        *_saving(op, None, "    ", holds, general=op.kind == "elementwise"),
        "    n.p = p",
        "    n.q = q",
    ]


def _saving(
    op: Op, watched: tuple[int, ...] | None, indent: str, holds: bool = False, *, general: bool = False
) -> list[str]:
    """Choose the compiled rules for what is watched, and keep what they name."""
    index, variant = rules.variant_for(op, watched, general)
    lines, values = [], []
    for name in variant.saved:
        base, _, spec = name.partition(".")
        raw = base  # "y", or a parameter
        if base in op.arrays:
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


def _composite(op: Op, raws: str, nodes: str) -> list[str]:
    """Written in other ops: recorded op by op where something is recorded, else straight on raw arrays."""
    word = _words(op)
    free = "all(r is None for r in nodes)" if op.variadic else " and ".join(f"node{i} is None" for i in range(len(op.arrays)))
    passed = "raws" if op.variadic else ", ".join(f"{word[a]}raw{i}" for i, a in enumerate(op.arrays))
    listed = "raws" if op.variadic else f"({raws},)"
    tensors = (
        "[linked(r, None) for r in raws]"
        if op.variadic
        else ", ".join(f"{word[a]}linked(raw{i}, None)" for i, a in enumerate(op.arrays))
    )
    return [
        f"    if {free}:",
        f"        if is_half({listed}):  # on raw arrays Python scalars would not be weak",
        f"            return BODY(F, {tensors}{_keywords(op)})",
        "        try:",
        f"            y = BODY(space_of({listed}), {passed}{_keywords(op)})",
        *(f"    {line}" for line in _failing(listed)),
        "        return outputs(OP, y, None, None, None, None)",
        *([f"    {op.arrays[0]} = all_unstyled({op.arrays[0]}, raws, nodes)"] if op.variadic else []),
        "    try:",
        f"        return BODY(F, {_given(op)}{_keywords(op)})",
        *_failing(listed),
    ]


def _words(op: Op) -> dict[str, str]:
    """What stands before an array where it is passed on: its name, if it is given by keyword."""
    return {a: f"{a}=" if a in op.named else "" for a in op.arrays}


def _given(op: Op) -> str:
    """The arrays as they were given."""
    word = _words(op)
    return op.arrays[0] if op.variadic else ", ".join(f"{word[a]}{a}" for a in op.arrays)
