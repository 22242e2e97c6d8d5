"""What PyTorch calls the nodes of a graph: names, and steps that its graphs have and tapegrad's have not, from the table."""

from __future__ import annotations

import functools
import re
from typing import Any

from tapegrad.core.backward import Hooked
from tapegrad.core.node import WATCH
from tapegrad.core.tensor import PLAIN
from tapegrad.registry.rules import Variant
from tapegrad.torch._node_table import OPS

#: Recorded forms of ops that stand for a function of PyTorch's: each the same form again, with the form that it is made from, and
#: how it is shown.
_TAGS: dict[Any, tuple[Any, str]] = {}
_TAGGED: dict[tuple[Any, str], Any] = {}

#: How a node is shown that is not: a cast that PyTorch makes inside of its functions.
HIDDEN = "=hidden"

#: A node as it is shown: its name, and what its edges lead to; None for an edge to each of the op's arguments.
Shown = tuple[str, "tuple[Any, ...] | None"]


def tag(node: Any, pattern: str) -> Any:
    """Let a node be shown as PyTorch shows what was called; of an output of several, that of all."""
    if node.op.name == "pick":
        node = node.p
    form = node.op
    if hasattr(form, "unpack"):  # what it saved went through hooks
        form.op = tagged(form.op, pattern)
    else:
        node.op = tagged(form, pattern)
    return node


def tagged(form: Any, pattern: str) -> Any:
    """The recorded form of an op, to be shown as a pattern of the table says."""
    if form in _TAGS:
        form = _TAGS[form][0]
    made = _TAGGED.get((form, pattern))
    if made is None:
        if type(form) is not Variant:
            return form
        made = _TAGGED[form, pattern] = Variant(form.op, form.watched, form.wide, form.general)
        _TAGS[made] = form, pattern
    return made


def _camel(name: str) -> str:
    """The name of an op as a class's; of one that names a function too, as `checkpoint(<lambda>)`, its first word."""
    name = re.findall(r"\w+", name)[0]
    return "".join(part[:1].upper() + part[1:] for part in name.split("_"))


def pattern_of(node: Any) -> str:
    """How a node is shown, as the table writes it."""
    op = node.op
    while type(op) is Hooked:
        op = op.op
    if op is WATCH:
        return "=torch::autograd::AccumulateGrad"
    found = _TAGS.get(op)
    if found is not None:
        return found[1]
    pattern: str | None = getattr(op, "pattern", None)
    if pattern is not None:
        return pattern
    name = getattr(op, "backward_name", None)
    if name is not None:
        return f"={name}"
    special = SPECIAL.get(op.name)
    if special is not None:
        made: str = special(op, node)
        return made
    return OPS.get(op.name) or f"{_camel(op.name)}0"


def name_of(node: Any) -> str:
    """The name of a node, as PyTorch has it for the op that made it."""
    return parsed(pattern_of(node))[0]


@functools.cache
def parsed(pattern: str) -> Shown:
    """The steps of a pattern: names, each with its edges, of which a number stands for an argument."""
    tokens = re.findall(r"=?[\w:$*]+|[()]", pattern)
    places = iter(range(99))
    at = 0

    def step() -> Shown:
        nonlocal at
        name, edges = _full(tokens[at]), None
        at += 1
        if at < len(tokens) and tokens[at] == "(":
            at += 1
            found: list[Any] = []
            while tokens[at] != ")":
                token = tokens[at]
                if token in ("None", "*", "**") or token[0] == "$":
                    at += 1
                    found.append(None if token == "None" else next(places) if token == "*" else int(token[1:]))
                else:
                    found.append(step())
            at += 1
            edges = tuple(found)
        return name, edges

    return step()


def _full(word: str) -> str:
    if word.startswith("="):
        return word[1:]
    return f"{word[:-1]}Backward{word[-1]}"


def saved(op: Any, node: Any, name: str) -> Any:
    """What a node has saved under a name."""
    if name not in getattr(op, "saved", ()) or node.s is None:
        return None
    return _reader(op, name)(node)


@functools.cache
def _reader(op: Any, name: str) -> Any:
    """Where a node of this recorded form keeps what it has saved under a name."""
    names = op.saved
    i = names.index(name)
    if op.general or len(names) > 2:
        return lambda node: node.s[i]
    return (lambda node: node.t) if i else (lambda node: node.s)


# -- what the way in which a node is shown depends on, besides its op ----------------------------------------------
def _same(node: Any) -> None:
    return None


def _by_rank(op: Any, *names: str) -> Any:
    readers = [_reader(op, name) for name in names if name in op.saved]
    if len(readers) == 1:
        read = readers[0]
        return lambda node: len(v.shape) if hasattr(v := read(node), "shape") else None
    return lambda node: tuple([len(v.shape) for v in (read(node) for read in readers) if hasattr(v, "shape")])


def _by_value(op: Any, name: str, of: Any) -> Any:
    if name not in op.saved:
        return _same
    read = _reader(op, name)
    return lambda node: of(read(node))


#: By the name of an op in `SPECIAL` that saves arrays: from a recorded form of it to what gives a key; nodes of one key look alike.
_KEYS: dict[str, Any] = {
    "matmul": lambda op: _by_rank(op, *op.op.arrays, *(f"{a}.spec" for a in op.op.arrays)),
    "dense": lambda op: _by_rank(op, "x"),
    **dict.fromkeys(["max", "min"], lambda op: _by_value(op, "axis", lambda axis: axis is None)),
    "pow": lambda op: _by_value(op, "x2", _is_number),
    "remainder": lambda op: _same,
}


@functools.cache
def key_of_nodes(op: Any) -> Any:
    """A function from a node of a recorded form to a key, by which it is shown; None where all nodes of the form are shown alike."""
    if op in _TAGS or type(op) is not Variant:
        return None
    make = _KEYS.get(op.name)
    return None if make is None else make(op)


def _over_axes(op: Any, node: Any) -> int:
    return 0 if saved(op, node, "axis") is None else 1


def _getitem(op: Any, node: Any) -> str:
    index = saved(op, node, "index")
    items = index if type(index) is tuple else (index,)
    if any(type(k) is not int and type(k) is not slice and k is not None and k is not Ellipsis for k in items):
        return "Index0"
    whole = slice(None)
    kinds = {
        "Select0": sum(type(k) is int for k in items),
        "Unsqueeze0": sum(k is None for k in items),
        "Slice0": sum(type(k) is slice and k != whole for k in items),
    }
    steps = [name for name, count in kinds.items() for _ in range(count)] or ["Slice0"]
    pattern = "*"
    for name in reversed(steps):
        pattern = f"{name}({pattern})"
    return pattern


def _is_number(x: Any) -> bool:
    return x is not None and type(x) in PLAIN


def _ranks(op: Any, node: Any, *names: str) -> list[int]:
    found = (saved(op, node, name) for name in names)
    return [len(v.shape) for v in found if hasattr(v, "shape")]


def _matmul(op: Any, node: Any) -> str:
    ranks = _ranks(op, node, *op.op.arrays, *(f"{a}.spec" for a in op.op.arrays))
    if not ranks:
        return "Mm0"
    high, low = max(ranks), min(ranks)
    if high <= 2:
        return {(2, 2): "Mm0", (2, 1): "Mv0", (1, 1): "Dot0"}.get((high, low), "Mm0")
    if low > 2:
        return "UnsafeView0(Bmm0(View0(Expand0($0)), View0(Expand0($1))))"
    return f"UnsafeView0({'Mm0' if low == 2 else 'Mv0'}(View0($0), $1))"


def _dense(op: Any, node: Any) -> str:
    if max(_ranks(op, node, "x"), default=2) > 2:
        return "View0(Addmm0($2, View0($0), T0($1)))"
    return "Addmm0($2, $0, T0($1))"


def _reduced(op: Any, node: Any) -> str:
    return f"{_camel(op.name)}{_over_axes(op, node)}"


def _extreme(op: Any, node: Any) -> str:
    return f"{_camel(op.name)}{1 - _over_axes(op, node)}"


#: How nodes of some ops are shown depends on their arguments.
SPECIAL: dict[str, Any] = {
    "matmul": _matmul, "dense": _dense, "getitem": _getitem, "max": _extreme, "min": _extreme, "sum": _reduced, "mean": _reduced,
    "pow": lambda op, node: "Pow0($0)" if _is_number(saved(op, node, "x2")) else "Pow1",
    "remainder": lambda op, node: "Remainder0($0)" if getattr(op, "watched", ()) == (0,) else "Remainder1",
}  # fmt: skip
