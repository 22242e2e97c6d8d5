"""What an op is, as text: its docstring, its kind, where it is defined, and the rule itself, found in the source.

Nothing here runs when the package is imported.
"""

from __future__ import annotations

import ast
import difflib
import functools
import inspect
import linecache
import re
import sys
import textwrap
from types import FunctionType
from typing import TYPE_CHECKING, Any

from tapegrad.errors import ArgumentError
from tapegrad.registry import public
from tapegrad.registry.op import OPS
from tapegrad.registry.rules import variants

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tapegrad.registry.op import Op

#: What each kind of op is, and what is derived from its rule.
KINDS = {
    "elementwise": "elementwise, after broadcasting; its rules are partial derivatives",
    "linear": "linear in its arrays taken together; its rules are adjoints",
    "multilinear": "linear in each array while the others are held; its rules are adjoints",
    "primitive": "primitive; its rules are pullbacks, and pushforwards where they are cheaper",
    "constant": "constant wherever it is smooth: its derivative is zero",
    "composite": "composite: written in other ops, and differentiated as they are",
}
STATEMENTS = frozenset(["partials", "adjoint", "pullback", "pushforward"])
WIDTH = 100


# -- one op --------------------------------------------------------------------------------------------
def document(op: Op) -> str:
    """All that is known of an op."""
    facts = {
        "kind": KINDS[op.kind],
        "takes": "real numbers only" if op.real else "",
        "domain": _domain(op),
        "kinks": _kinks(op),
        "saves": _saves(op),
    }
    return "\n\n".join(
        [
            _heading(op),
            inspect.cleandoc(op.body.__doc__ or ""),
            "\n".join(_fact(name, text) for name, text in facts.items() if text),
            "\n\n".join(textwrap.indent(text, "    ") for text in rule_sources(op)),
        ]
    ).rstrip()


def summary(op: Op) -> str:
    """The first sentence of an op's docstring, on one line."""
    text = " ".join(inspect.cleandoc(op.body.__doc__ or "").split("\n\n")[0].split())
    sentence = re.match(r".*?\.(?=\s|$)", text)
    return sentence[0] if sentence else text


def _heading(op: Op) -> str:
    names = sorted(f"tapegrad.{name}" for name, found in public.names().items() if found is op)
    where = " and ".join(names) if names else f"{op.body.__module__}, not public"
    return f"{op.name}{inspect.signature(op.entry)}    [{where}]"


def _fact(name: str, text: str) -> str:
    return textwrap.fill(text, WIDTH, initial_indent=f"{name + ':':<8}", subsequent_indent=" " * 8)


def _domain(op: Op) -> str:
    """Where it is tested, and where it is defined at least."""
    given = op.domain if isinstance(op.domain, dict) else dict.fromkeys(op.arrays, op.domain)
    return ", ".join(f"{a} from {pair[0]:g} to {pair[1]:g}" for a, pair in given.items() if pair is not None)


def _kinks(op: Op) -> str:
    if isinstance(op.kinks, tuple):
        return ", ".join(f"{op.arrays[0]} = {value:g}" for value in op.kinks)
    tree = _tree(op.kinks)
    found = _at(tree, op.kinks)[0] if tree is not None else None
    last = found.body[-1] if isinstance(found, ast.FunctionDef) else None
    if isinstance(last, ast.Return) and last.value is not None:
        return f"where {ast.unparse(last.value)} == 0"
    return f"where {op.kinks.__name__}({', '.join(op.arrays)}) == 0"


def _saves(op: Op) -> str:
    """What a node keeps, for each choice of arguments that are watched."""
    if op.kind in ("constant", "composite"):
        return ""
    parts = []
    for variant in variants(op):
        if len(variant.watched) == 1 or variant.wide or op.variadic:
            kept = ", ".join(_kept(name) for name in variant.saved) or "nothing"
            one = len(op.differentiable) > 1 and not variant.wide
            parts.append(f"{kept} for {op.arrays[variant.watched[0]]}" if one else kept)
    return "; ".join(dict.fromkeys(parts))


def _kept(name: str) -> str:
    base, _, spec = name.partition(".")
    return f"shape and dtype of {base}" if spec else base


# -- the rule, from the source ----------------------------------------------------------------------------
def rule_sources(op: Op) -> list[str]:
    """The statements that give the op its derivative (a composite's own definition), and the functions that they name.

    Where no source is found, arguments are shown with their rules as they are: a number, a name, a function's repr.
    """
    tree = _tree(op.body)
    if tree is None:
        return [f"{a}: {rule!r}" for a, rule in op.rules.items()]
    space = op.body.__globals__
    if op.kind == "composite":
        found = _at(tree, op.body)
    else:
        found = [n for n in tree.body if _gives_rule(n, op, space)]
        for rule in () if found else (*op.rules.values(), *op.pushes.values()):
            if isinstance(rule, FunctionType):
                found += _at(tree, rule)
    helpers = [n for f in _helpers(found, tree, op.body) for n in _at(tree, f)]
    lines = _lines(op.body)
    ordered = {_first(n): n for n in (*helpers, *found)}
    return [_text(lines, ordered[line]) for line in sorted(ordered)]


def _gives_rule(statement: ast.stmt, op: Op, space: dict[str, Any]) -> bool:
    """Whether it is `NAME.partials(...)`, or another of its kind, and NAME is the op."""
    if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)):
        return False
    called = statement.value.func
    if not (isinstance(called, ast.Attribute) and called.attr in STATEMENTS and isinstance(called.value, ast.Name)):
        return False
    return space.get(called.value.id) is op


def _helpers(statements: Iterable[ast.stmt], tree: ast.Module, body: Any) -> list[FunctionType]:
    """The functions of the body's module that the statements name, and those that these name, each once."""
    found: list[FunctionType] = []
    stack: list[ast.stmt] = list(statements)
    seen: set[str] = {body.__name__}
    while stack:
        statement = stack.pop()
        parts = statement.body if isinstance(statement, ast.FunctionDef) else [statement]  # a decorator has only laws
        for node in (n for part in parts for n in ast.walk(part)):
            if isinstance(node, ast.Name) and node.id not in seen:
                seen.add(node.id)
                value = body.__globals__.get(node.id)
                own = isinstance(value, FunctionType) and value.__module__ == body.__module__
                if own and public.op_of(value) is None:
                    found.append(value)
                    stack += _at(tree, value)
    return found


def _at(tree: ast.Module, function: Any) -> list[ast.stmt]:
    """The smallest statement in which a function or lambda begins (with its decorators); none if it is from elsewhere."""
    line = function.__code__.co_firstlineno
    around = [n for n in ast.walk(tree) if isinstance(n, ast.stmt) and _first(n) <= line <= (n.end_lineno or 0)]
    defined: list[ast.stmt] = [n for n in around if isinstance(n, ast.FunctionDef) and n.name == function.__name__ and _first(n) == line]
    return defined or sorted(around, key=lambda n: (n.end_lineno or 0) - n.lineno)[:1]


def _first(node: ast.stmt) -> int:
    return min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])


def _lines(function: Any) -> list[str]:
    return linecache.getlines(function.__code__.co_filename, function.__globals__)


def _tree(function: Any) -> ast.Module | None:
    lines = _lines(function)
    return _parsed("".join(lines)) if lines else None


@functools.lru_cache
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def _text(lines: list[str], statement: ast.stmt) -> str:
    """The source of a statement, without a docstring if it declares an op: that stands above."""
    first, last = _first(statement), statement.end_lineno
    if isinstance(statement, ast.FunctionDef) and statement.decorator_list and ast.get_docstring(statement):
        doc = statement.body[0]
        kept = [*lines[statement.lineno - 1 : doc.lineno - 1], *lines[doc.end_lineno : last]]
    else:
        kept = lines[first - 1 : last]
    return textwrap.dedent("".join(kept)).rstrip()


# -- the command `ops` --------------------------------------------------------------------------------------
def listing() -> str:
    """All public ops, a line each, below the module that declares them."""
    known = public.names()
    width = max(map(len, known))
    groups: dict[tuple[str, str], list[str]] = {}
    for name, op in known.items():
        groups.setdefault((name.rpartition(".")[0], op.body.__module__), []).append(f"  {name:<{width}}  {summary(op)}")
    sections = []
    for (prefix, module), lines in groups.items():
        doc = (sys.modules[module].__doc__ or "").strip().split("\n")[0]
        sections.append("\n".join([f"tapegrad{'.' * bool(prefix)}{prefix}: {doc}", *lines]))
    return "\n\n".join(sections)


def find(name: str) -> Op:
    """The op of this name, with or without its module, public or not.

    Raises ArgumentError, with the nearest names, if there is none.
    """
    known = public.names()
    plain = name.removeprefix("tapegrad.").removeprefix("tg.")
    if plain in known:
        return known[plain]
    for full, op in known.items():
        if full.rpartition(".")[2] == plain:
            return op
    if plain in OPS:
        return OPS[plain]
    last = {full.rpartition(".")[2]: full for full in reversed(known)}
    near = difflib.get_close_matches(plain.rpartition(".")[2].lower(), last, n=3)
    advice = f"; did you mean {' or '.join(last[n] for n in near)}?" if near else "; `python -m tapegrad ops` lists all"
    raise ArgumentError(f"there is no op {name!r}{advice}")
