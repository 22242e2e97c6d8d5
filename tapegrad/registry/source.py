"""The text of an op's public function: unpack, compute, record.

What is decided here once, instead of at every call: how many arrays there are, which have a derivative, what their rules
have named (and so what is saved), whether a Python operator computes the op.
"""

from __future__ import annotations

import re

from tapegrad.registry.misfit import takes_guesses
from tapegrad.registry.op import Op
from tapegrad.registry.signature import Param
from tapegrad.registry.source_recording import finish, nodes_of, recording, saving


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
    raws, nodes = _raws(op), nodes_of(op)
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
            listed = "nodes" if op.variadic else f"({nodes_of(op)},)"
            lines += ["    if NOTING:", f"        noted({op.name!r}, {listed})"]
        return "\n".join([*lines, "    out.node = None", "    return out"]) + "\n"
    return "\n".join([*lines, *recording(op, watched, holds)]) + "\n"


def recalled_source(op: Op) -> str:
    """The source of the function that records the op with its value known."""
    lines = [f"def {op.name}({', '.join(['y', *op.arrays, *(p.name for p in op.params)])}):"]
    for i, a in enumerate(op.arrays):
        lines += _unpacking(op, i, a)
    watched = [i for i, a in enumerate(op.arrays) if a in op.differentiable]
    lines += [f"    out = {_new(False)}", "    out.array = y", "    out.like = None"]
    return "\n".join([*lines, *recording(op, watched, False)]) + "\n"


def _new(styled: bool) -> str:
    """A bare Tensor; a facade's class may have a constructor of its own, which is not for ops."""
    return "new(Tensor)" if styled else "Tensor()"


def _fast_lane(op: Op, styled: bool, holds: bool) -> list[str]:
    """Two tensors that are known to agree, watched by just the active tapes: nothing is left to decide."""
    if op.kind != "elementwise" or not op.symbol or len(op.differentiable) != 2:
        return []
    a, b = op.arrays
    return [
        f"    if (type({a}) is Tensor or type({a}) in ALIKE) and (type({b}) is Tensor or type({b}) in ALIKE) and (",
        f"        (like := {a}.like) is not None and like is {b}.like",
        "    ):",
        f"        p = {a}.node",
        f"        q = {b}.node",
        "        if p is not None and q is not None and (owners := p.owners) is q.owners and owners.lane is state.active:",
        f"            raw0 = {a}.array",
        f"            raw1 = {b}.array",
        f"            out = {_new(styled)}",
        f"            out.array = y = raw0 {op.symbol} raw1",
        "            out.like = like",
        "            n = Node()",
        *saving(op, (0, 1), "            ", holds),
        "            n.p = p",
        "            n.q = q",
        *finish("            "),
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


def _unpacking(op: Op, i: int, name: str) -> list[str]:
    lines = [f"    if type({name}) is Tensor or type({name}) in ALIKE:", f"        raw{i} = {name}.array", f"        node{i} = {name}.node"]
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
    xs, ps = _raws(op), nodes_of(op)
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
    kinds = [f"kind{i}" for i in range(count)]
    args, one_set = _raws(op) + _keywords(op), f"SPACES[{_first_array(kinds)}]"
    expression, elsewhere, dispatched = f"KERNEL({args})", f"{one_set}.{op.key}({args})", f"dispatch(OP, ({_raws(op)},), {args})"
    if op.kept:
        expression = f"KEEPING({args}) if keeps else {expression}"
        elsewhere = f"keeping({one_set}, OP)({args}) if keeps else {elsewhere}"
        dispatched = f"keeping(space_of(({_raws(op)},)), OP)({args}) if keeps else {dispatched}"
    if op.symbol:
        expression = elsewhere = f"raw0 {op.symbol} raw1" if count == 2 else f"{op.symbol}raw0"
    lines = ["    " + "; ".join(f"kind{i} = type(raw{i})" for i in range(count))]
    if op.kept:
        watched = [i for i, a in enumerate(op.arrays) if a in op.differentiable]
        lines += [f"    keeps = {' or '.join(f'node{i} is not None' for i in watched)}"]
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
        # NumPy's double is one of Python's floats to a Python complex number, which makes another one of both.
        lines += ["            elif kind0 is complex and kind1 is f64:", "                raw0 = c128(raw0)"]
    lines += [f"            y = {expression}"]
    lines += [
        f"        elif {_of_one_set(kinds)}:",
        f"            y = {elsewhere}",
    ] if op.key.isidentifier() else []
    lines += [
        "        else:",
        *_beside_one_half(op, count),
        f"            found = over_batch(OP, ({_raws(op)},), ({nodes_of(op)},){_keywords(op)})",
        "            if found is not None:",
        f"                return {found}",
        f"            y = {dispatched}",
    ]
    if op.kept:
        lines += ["        if keeps:", f"            y, {', '.join(f'kept_{name}' for name in op.kept)} = y"]
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
        "            failure = None",
        "            raise",
        "        try:",
        "            raise failure from error",
        "        finally:",
        "            failure = None",  # or it would hold the frame that holds it, and what was given, until a collection
    ]


def _beside_one_half(op: Op, count: int) -> list[str]:
    """The same for a number of bfloat16 that is no array, whose type is none of NumPy's own."""
    if not op.weak or count != 2:
        return []
    return [
        line
        for i, j in ((0, 1), (1, 0))
        for line in (
            f"            if isinstance(raw{i}, generic) and raw{i}.dtype.kind == 'V' and kind{j} in SCALARS and kind{j} is not complex:",
            f"                raw{j} = raw{i}.dtype.type(raw{j})",
        )
    ]


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
