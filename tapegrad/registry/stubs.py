"""Types of what is public, for type checkers, which do not see names that are put into a module as it is imported.

    python -m tapegrad.registry.stubs           writes a stub beside each module that has such names
    python -m tapegrad.registry.stubs --check   exits with 1 if one of them is missing or out of date

A stub is the module's own source without bodies and docstrings, and a declaration for each op: arrays are `_ArrayLike`,
parameters have the types that the op's body gives them, or those of their kind (`KINDS`).
"""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import sys
from pathlib import Path
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

from tapegrad.core import tensor as tensor_module
from tapegrad.core.tensor import Tensor
from tapegrad.registry import public

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from tapegrad.registry.op import Op

#: The type of a parameter whose body leaves it open, by its name.  A default of None adds `| None`.
KINDS = {
    "axes": "int | tuple[Sequence[int], Sequence[int]] | tuple[int, int]",
    "axis": "int | tuple[int, ...]",
    "destination": "int | tuple[int, ...]",
    "device": "str",
    "backend": "str",
    "dilation": "int | Sequence[int]",
    "dtype": "_DType",
    "fill_value": "_Number",
    "kernel": "_ArrayLike",
    "output_padding": "int | Sequence[int]",
    "padding": "int | str | Sequence[int] | Sequence[tuple[int, int]]",
    "repetitions": "int | tuple[int, ...]",
    "scale": "float | Sequence[float]",
    "sections": "int | Sequence[int]",
    "shape": "int | Sequence[int]",
    "shift": "int | tuple[int, ...]",
    "size": "int | Sequence[int]",
    "sorter": "_ArrayLike",
    "source": "int | tuple[int, ...]",
    "start": "float",
    "step": "float",
    "stop": "float",
    "stride": "int | Sequence[int]",
    "window": "int | Sequence[int]",
    "x": "_ArrayLike",
}

#: What the stub of `core.tensor` defines for all others.
ALIASES = """
class _HasShape(Protocol):
    @property
    def shape(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...

_ArrayLike: TypeAlias = _HasShape | complex
_Number: TypeAlias = complex | np.number[Any] | np.bool
_DType: TypeAlias = np.dtype[Any] | type[Any] | str
"""

#: What members of Tensor give whose own annotation leaves it open.
RETURNS = {
    "__bool__": "bool",
    "__complex__": "complex",
    "__float__": "float",
    "__getitem__": "Tensor",
    "__hash__": "int",
    "__index__": "int",
    "__int__": "int",
    "__iter__": "Iterator[Tensor]",
    "__len__": "int",
    "__repr__": "str",
    "T": "Tensor",
    "item": "Any",
    "mT": "Tensor",
    "tolist": "Any",
}
#: Left out: a type checker that saw `__array__` would take ndarray + Tensor for an ndarray, and it is a Tensor; and what only
#: other packages call.
HIDDEN = frozenset(
    ["__array__", "__tf_tensor__", "__torch_function__", "__doc__", "__module__", "__slots__", "__weakref__", "__annotations__"]
)
#: What the other side of an operator is called, and the value of an assignment.
_OPERANDS = frozenset(["other", "value", "x2"])
#: Names that a module gives only when they are asked for.
LAZY = {"tapegrad": ("bfloat16: np.dtype[Any]",)}
HEAD = "# Written by `python -m tapegrad.registry.stubs`; to change it, change what it is made from.\n"


# -- declarations --------------------------------------------------------------------------------------
def declaration(op: Op, name: str | None = None) -> str:
    """The declaration of an op's public function: the signature that it has, with the types that its body says."""
    said = op.body.__annotations__
    array = "Sequence[_ArrayLike]" if op.variadic else "_ArrayLike"
    parameters = [
        _typed(p, _annotation(said.get(p.name, "Any")), array if p.name in op.arrays else KINDS.get(p.name, "Any"))
        for p in _signature(op.entry)
    ]
    return f"def {name or op.name}({_joined(parameters)}) -> {_returned(op)}: ..."


def _typed(p: inspect.Parameter, said: str, known: str) -> inspect.Parameter:
    """A parameter with the type that is said, or if that is open, with what is known of those of its name."""
    kind = known if said == "Any" else said
    if p.default is None and kind != "Any" and "None" not in kind:
        kind = f"{kind} | None"
    return p.replace(annotation=kind)


def _signature(function: Callable[..., Any]) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def _joined(parameters: Iterable[inspect.Parameter]) -> str:
    """Parameters as they are written, their annotations being texts."""
    parts: list[str] = []
    before: Any = None
    for p in parameters:
        if before is p.POSITIONAL_ONLY and p.kind is not p.POSITIONAL_ONLY:
            parts.append("/")
        if p.kind is p.KEYWORD_ONLY and before not in (p.KEYWORD_ONLY, p.VAR_POSITIONAL):
            parts.append("*")
        star = "*" if p.kind is p.VAR_POSITIONAL else "**" if p.kind is p.VAR_KEYWORD else ""
        kind = "" if p.annotation is p.empty else f": {p.annotation}"
        default = "" if p.default is p.empty else f" = {p.default!r}" if kind else f"={p.default!r}"
        parts.append(f"{star}{p.name}{kind}{default}")
        before = p.kind
    return ", ".join([*parts, "/"] if before is inspect.Parameter.POSITIONAL_ONLY else parts)


def _annotation(found: Any) -> str:
    if found is inspect.Parameter.empty:
        return "Any"
    return found if isinstance(found, str) else inspect.formatannotation(found)


def _returned(op: Op) -> str:
    found = _annotation(inspect.signature(op.body).return_annotation)
    if found == "Any" and op.outputs is not ... and op.outputs:
        return f"tuple[{', '.join(['Tensor'] * len(op.outputs))}]"
    return found.replace("Any", "Tensor")


def _method(name: str, member: Any) -> str:
    """The declaration of a member that Tensor was given."""
    if isinstance(member, property):
        assert member.fget is not None
        return f"@property\ndef {name}(self) -> {_gives(name, member.fget)}: ..."
    this, *others = _signature(member)
    parameters = [this.replace(name="self", annotation=this.empty)]
    for p in others:
        kind = "_ArrayLike" if p.name in _OPERANDS else _annotation(p.annotation)
        parameters.append(p.replace(annotation="object" if name in ("__eq__", "__ne__") else kind))
    ignored = "  # type: ignore[override]" if name in ("__eq__", "__ne__") else ""  # `object` gives a bool
    return f"def {name}({_joined(parameters)}) -> {_gives(name, member)}: ...{ignored}"


def _gives(name: str, function: Callable[..., Any]) -> str:
    signature = inspect.signature(function)
    if public.op_of(function) is not None or "other" in signature.parameters:  # an operator
        return "Tensor"
    return RETURNS.get(name) or _annotation(signature.return_annotation).replace("_Any", "Any")


# -- modules -------------------------------------------------------------------------------------------
def stub(module: ModuleType) -> str:
    """The text of a module's stub."""
    source = ast.parse(Path(_file(module)).read_text("utf-8"))
    exported = frozenset(getattr(module, "__all__", ()))
    declared = dict(_declared(module, source.body, exported))
    for name, op in public.ops_in(module).items():
        declared.setdefault(name, declaration(op, name))
    imported = dict(_imported(source.body))
    body = [*LAZY.get(module.__name__, ()), *(declared[name] for name in declared if name not in imported)]
    if module is tensor_module:
        body.insert(0, ALIASES.strip())
    text = "\n".join(_unshadowed(line, exported) for line in body)
    if exported:
        listed = "".join(f"    {name!r},\n" for name in sorted(exported & {*imported, *declared}))
        text += f"\n\n__all__ = [\n{listed}]"
    return f"{HEAD}{_imports(module, text, imported, exported)}\n\n{text.strip()}\n"


def _file(module: ModuleType) -> str:
    assert module.__file__ is not None
    return module.__file__


def _statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """With those that only type checkers see."""
    for statement in body:
        if isinstance(statement, ast.If) and ast.unparse(statement.test).lstrip("_") == "TYPE_CHECKING":
            yield from _statements(statement.body)
        else:
            yield statement


def _imported(body: Iterable[ast.stmt]) -> Iterator[tuple[str, str]]:
    """Each name that is imported, and the statement without an `as`."""
    for statement in _statements(body):
        if isinstance(statement, ast.Import | ast.ImportFrom):
            origin = f"from {statement.module} " if isinstance(statement, ast.ImportFrom) else ""
            for alias in statement.names:
                yield alias.asname or alias.name, f"{origin}import {alias.name}"


#: Where the words come from that declarations of ops use.
WORDS = {
    "Any": "typing",
    "Iterator": "collections.abc",
    "Protocol": "typing",
    "Sequence": "collections.abc",
    "Tensor": "tapegrad.core.tensor",
    "TypeAlias": "typing",
    "_ArrayLike": "tapegrad.core.tensor",
    "_DType": "tapegrad.core.tensor",
    "_Number": "tapegrad.core.tensor",
}


def _imports(module: ModuleType, text: str, imported: dict[str, str], exported: frozenset[str]) -> str:
    """The import statements: what is exported, and what the text names."""
    words = _words(text) - imported.keys()
    found = {f"{s} as {n}" for n, s in imported.items() if n in exported or n.startswith("__")}
    found |= {s if s.endswith(f" {n}") else f"{s} as {n}" for n, s in imported.items() if n in _words(text) - exported}
    found |= {f"from {o} import {n}" for n, o in WORDS.items() if n in words and o != module.__name__}
    found |= {s for n, s in (("builtins", "import builtins"), ("np", "import numpy as np")) if n in words}
    for op in public.ops_in(module).values():  # named tuples that they return
        kind = op.body.__globals__.get(_annotation(op.body.__annotations__.get("return", "Any")))
        if isinstance(kind, type) and kind is not Any:
            found.add(f"from {kind.__module__} import {kind.__name__}")
    found.discard("from __future__ import annotations as annotations")
    return "\n".join(sorted(found, key=lambda s: (s.startswith("from tapegrad"), s)))


def _words(text: str) -> set[str]:
    return {n.id for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Name)}


def _declared(module: ModuleType, body: Iterable[ast.stmt], exported: frozenset[str]) -> Iterator[tuple[str, str]]:
    """What the source itself defines, by name."""

    def is_public(name: str) -> bool:
        return name in exported or (name.startswith("__") and name not in ("__all__", "__dir__", "__getattr__"))

    for statement in _statements(body):
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            if is_public(statement.name) or (not exported and not statement.name.startswith("_")):
                yield statement.name, _bare(module, statement)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            name = statement.target.id
            if is_public(name) or not name.startswith("_"):
                yield name, f"{name}: {ast.unparse(statement.annotation)}"
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name) and is_public(target.id):
                    value = getattr(module, target.id)
                    if public.op_of(value) is None:
                        yield target.id, _named(target.id, value)


def _named(name: str, value: Any) -> str:
    """A value, or a function from elsewhere, that the module gives a name."""
    if not isinstance(value, FunctionType):
        return f"{name}: {'None' if value is None else type(value).__name__}"
    parameters = [_typed(p, _annotation(p.annotation), KINDS.get(p.name, "Any")) for p in _signature(value)]
    return f"def {name}({_joined(parameters)}) -> {_annotation(inspect.signature(value).return_annotation)}: ..."


def _bare(module: ModuleType, statement: ast.FunctionDef | ast.ClassDef) -> str:
    """A function or class without what type checkers do not look at."""
    inner = [statement] if isinstance(statement, ast.FunctionDef) else statement.body
    for function in inner:
        if isinstance(function, ast.FunctionDef):
            function.body = [ast.Expr(ast.Constant(...))]
    if isinstance(statement, ast.FunctionDef):
        statement.decorator_list = []  # what decorates functions of these modules leaves their signatures as they are
    if isinstance(statement, ast.ClassDef):
        statement.body = [s for s in inner if not isinstance(s, ast.Expr) and not _is_slots(s)]
    text = re.sub(r":\n +\.\.\.\n*", ": ...\n", ast.unparse(statement) + "\n").strip()
    if isinstance(statement, ast.FunctionDef):
        return text
    if getattr(module, statement.name) is Tensor:
        own = {n.name for n in statement.body if isinstance(n, ast.FunctionDef)} | set(Tensor.__annotations__)
        given = [_method(k, v) for k, v in sorted(vars(Tensor).items()) if k not in own | HIDDEN and is_there(k)]
        text += "\n" + "\n".join("    " + line for member in given for line in member.splitlines())
    return text


def is_there(name: str) -> bool:
    """Whether tensors have it: some names are there only to say what is written in their place."""
    return hasattr(Tensor, name)


def _is_slots(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__slots__"


def _unshadowed(line: str, exported: frozenset[str]) -> str:
    """The declaration with builtins written out that the module has names of its own for."""
    hidden = {name for name in exported if hasattr(builtins, name)}
    if not hidden & _words(line):
        return line
    rows = line.splitlines()
    found = [n for n in ast.walk(ast.parse(line)) if isinstance(n, ast.Name) and n.id in hidden]
    for node in sorted(found, key=lambda n: (n.lineno, n.col_offset), reverse=True):
        row, i = rows[node.lineno - 1], node.col_offset
        rows[node.lineno - 1] = f"{row[:i]}builtins.{row[i:]}"
    return "\n".join(rows)


def modules() -> list[ModuleType]:
    """The modules that have a stub: that of Tensor, and those that export ops."""
    return [tensor_module, *public.modules()]


def stale() -> list[tuple[Path, str]]:
    """The stubs that are missing or out of date, each with the text that it should have."""
    found = []
    for module in modules():
        path = Path(_file(module)).with_suffix(".pyi")
        text = stub(module)
        if not path.is_file() or path.read_text("utf-8") != text:
            found.append((path, text))
    return found


def main(arguments: Sequence[str]) -> int:
    """Write what is stale, or with `--check` say so; the value is the exit code."""
    if arguments not in ([], ["--check"]):
        print("usage: python -m tapegrad.registry.stubs [--check]", file=sys.stderr)
        return 2
    old = stale()
    for path, text in old:
        if arguments:
            print(f"{path} is out of date: run python -m tapegrad.registry.stubs", file=sys.stderr)
        else:
            path.write_text(text, "utf-8")
            print(f"wrote {path}")
    return 1 if old and arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
