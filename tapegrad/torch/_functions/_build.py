"""From a table of signatures to functions and methods.

A row says how PyTorch calls it and what it computes: `"exp(input)": "S.exp(input)"`.  `S.name` is an op of the style, any other
name a function of the table's own module.  The text is compiled at the first call; then a call costs one Python call more than the op.

A function takes `out=`, and the names of NumPy that PyTorch takes too: `axis` for `dim`, `keepdims` for `keepdim`.
"""

from __future__ import annotations

import inspect
import linecache
import re
from types import FunctionType
from typing import TYPE_CHECKING, Any, final

from tapegrad.torch._inplace import in_place
from tapegrad.torch._recorder import is_enabled
from tapegrad.torch._refusals import FAILED, LOOKING_FIRST, SEQUENCES, TENSORS, refusal, shown_name
from tapegrad.torch._tensor import STYLE, Tensor
from tapegrad.torch._warnings import warn_once

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: The functions of `torch`, and the methods of a tensor, by name.
FUNCTIONS: dict[str, Any] = {}
METHODS: dict[str, Any] = {}
#: The functions that methods call first of all.
_ALIASES = {"dim": "axis", "keepdim": "keepdims"}
#: What could once be called with this scalar before the other arguments, and is to this day: `add_(-rate, gradient)`.
_SCALAR_FIRST = {"add": "alpha", "sub": "alpha", "addcmul": "value", "addcdiv": "value"}


class _Missing:
    def __repr__(self) -> str:
        return "<required>"


MISSING = _Missing()


def compiled(signature: str, body: str, names: Mapping[str, Any], *, out: bool = True, where: str = "torch") -> Any:
    """The function of one row; its text is compiled when it is first called."""
    name = signature.partition("(")[0].strip()
    space: dict[str, Any] = {}
    made = FunctionType(_stub.__code__, space, name)
    made.__qualname__ = name
    made.__module__ = f"tapegrad.{where}"
    made.__signature__ = _Signature(signature, out)  # type: ignore[attr-defined]

    def settle() -> None:
        if made.__code__ is _stub.__code__:
            found = _function(signature, body, names, space, out, where)
            made.__defaults__, made.__kwdefaults__ = found.__defaults__, found.__kwdefaults__
            made.__code__ = found.__code__

    def first(args: tuple[Any, ...], words: dict[str, Any]) -> Any:
        settle()
        return made(*args, **words)

    space["_first"], space["_settle"] = first, settle
    return made


def _stub(*args: Any, **words: Any) -> Any:
    return _first(args, words)  # type: ignore[name-defined]  # noqa: F821


def _told(named: list[Any], those: list[Any]) -> str:
    """What a refusal is told of these parameters, as it is written in the function."""
    return "".join(f"({p!r}, {i + 1}, {p}, {default is None}), " for i, (p, default) in enumerate(named) if (p, default) in those)


def _function(signature: str, body: str, names: Mapping[str, Any], space: dict[str, Any], out: bool, where: str) -> Any:
    name, params = _parsed(signature)
    by_alias = [(p, _ALIASES[p]) for p, _ in params if p in _ALIASES]
    checked: list[str] = []
    parts, star = [], False
    for p, default in params:
        if p.startswith("*"):
            star = True
            parts.append(p)
        elif default is None:
            if checked or any(p == q for q, _ in by_alias):
                checked.append(p)
            parts.append(f"{p}=MISSING" if p in checked else p)
        else:
            parts.append(f"{p}={default}")
    before = [p for p in parts if p != "*"][1 : parts.index("*") if "*" in parts else None]
    if scalar := _SCALAR_FIRST.get(name):
        parts.insert(len(before) + 1, "last=MISSING")
    extra = [f"{alias}=MISSING" for _, alias in by_alias] + (["out=None"] if out else [])
    if extra and not star and not parts[-1].startswith("*"):
        parts.append("*")
    lines = [f"def {name}({', '.join(parts + extra)}):"]
    for p, alias in by_alias:
        lines += [f"    if {alias} is not MISSING:", f"        {p} = {alias}"]
    if scalar:
        of_tensor = parts[0] == "self"
        given = ", ".join(before)
        call = f"scalar_first({name!r}, {scalar!r}, {of_tensor}, {given}, last)"
        lines += ["    if last is not MISSING:", f"        {scalar}, {given} = {call}"]
    for p in checked:
        lines += [f"    if {p} is MISSING:", f"        raise missing({name!r}, {p!r})"]
    text = re.sub(r"\bS\.(\w+)", r"S_\1", body)
    named = [(p.lstrip("*"), default) for p, default in params if p not in ("*", "self")]
    run = [*(["    if out is not None:", f"        return into({name!r}, out, {text})"] if out else []), f"    return {text}"]
    if name in LOOKING_FIRST and parts[0] != "self":
        first = _told(named, [n for n in named if n[0] in TENSORS or n[0] in SEQUENCES])
        asked = f"type({parts[0]}) is not Tensor and (found := refusal({shown_name(name, where)!r}, ({first}))) is not None"
        run = [f"    if {asked}:", "        raise found", *run]
        space["Tensor"] = Tensor
    if given := _told(named, named):
        run = [
            "    try:",
            *(f"    {line}" for line in run),
            "    except FAILED:",
            f"        if (found := refusal({shown_name(name, where)!r}, ({given}))) is not None:",
            "            raise found from None",
            "        raise",
        ]
    lines += run
    space.update({**names, "MISSING": MISSING, "missing": missing, "into": into, "scalar_first": scalar_first, "refusal": refusal})
    space["FAILED"] = FAILED
    space["__name__"] = f"tapegrad.{where}"
    for op in set(re.findall(r"\bS\.(\w+)", body)):
        space[f"S_{op}"] = getattr(STYLE, op)
    source = "\n".join(lines) + "\n"
    path = f"<tapegrad.torch: {where}.{name}>"
    linecache.cache[path] = (len(source), None, source.splitlines(True), path)
    own = space.get(name)  # a function that the text calls may have the same name
    exec(compile(source, path, "exec"), space)
    found = space.pop(name)
    if own is not None:
        space[name] = own
    return found


@final
class _Signature(inspect.Signature):
    """A signature that is put together when somebody looks at it."""

    __slots__ = ("_found", "_out", "_text")
    _return_annotation = inspect.Signature.empty

    def __init__(self, text: str, out: bool) -> None:
        self._text, self._out = text, out
        self._found: Any = None

    @property
    def _parameters(self) -> Any:
        if self._found is None:
            shown = [p if d is None else f"{p}={d}" for p, d in _parsed(self._text)[1]] + (["out=None"] if self._out else [])
            if self._out and "*" not in shown[:-1]:
                shown.insert(-1, "*")
            space: dict[str, Any] = {"MISSING": MISSING}
            exec(f"def f({', '.join(shown)}): ...", space)
            self._found = inspect.signature(space["f"]).parameters
        return self._found


def _parsed(signature: str) -> tuple[str, list[tuple[str, str | None]]]:
    """The name, and each parameter with the text of its default."""
    name, _, rest = signature.partition("(")
    params: list[tuple[str, str | None]] = []
    depth, part = 0, ""
    for c in rest.rstrip()[:-1] + ",":
        if c == "," and not depth:
            p, eq, default = part.strip().partition("=")
            if p:
                params.append((p, default if eq else None))
            part = ""
            continue
        depth += (c in "([") - (c in ")]")
        part += c
    return name.strip(), params


def missing(name: str, param: str) -> TypeError:
    """What is raised for an argument that has no default."""
    return TypeError(f'{name}() missing 1 required positional arguments: "{param}"')


def scalar_first(name: str, scalar: str, method: bool, first: Any, *others: Any) -> tuple[Any, ...]:
    """The arguments of a call as it was written before 2020, `add(x, alpha, other)`; anything else has one too many."""
    if not isinstance(first, int | float | complex) or not all(isinstance(x, Tensor) for x in others):
        count = len(others) + (not method)
        raise TypeError(f"{name}() takes {count} positional argument{'s'[: count > 1]} but {count + 1} were given")
    tensors = ", ".join(["Tensor other"] if len(others) == 1 else [f"Tensor tensor{i}" for i in range(1, len(others) + 1)])
    warn_once(
        "overload",
        f"This overload of {name} is deprecated:\n\t{name}(Number {scalar}, {tensors})\n"
        f"Consider using one of the following signatures instead:\n\t{name}({tensors}, *, Number {scalar} = 1)",
    )
    return (first, *others)


def define(
    table: Mapping[str, str],
    names: Mapping[str, Any],
    *,
    functions: bool = True,
    methods: bool = True,
    inplace: bool = False,
    out: bool = True,
) -> None:
    """Add the rows of a table to the functions of `torch` and to the methods of its tensors."""
    for signature, body in table.items():
        for name in signature.partition("(")[0].split("|"):
            row = name + signature[signature.index("(") :]
            if functions:
                FUNCTIONS[name] = compiled(row, body, names, out=out)
            if methods or inplace:
                method = compiled(row.replace("input", "self", 1), re.sub(r"\binput\b", "self", body), names, out=False)
                if methods:
                    METHODS[name] = method
                if inplace:
                    METHODS[f"{name}_"] = in_place(method, f"{name}_")


def into(name: str, out: Any, y: Any) -> Any:
    """A result written into `out`."""
    if isinstance(out, (tuple, list)):
        made = [into(name, o, v) for o, v in zip(out, y, strict=True)]
        return type(y)(*made) if hasattr(y, "_fields") else type(y)(made)
    from tapegrad.torch._promotion import can_cast

    if (y.requires_grad or out.requires_grad) and is_enabled():
        raise RuntimeError(
            f"{name}(): functions with out=... arguments don't support automatic differentiation, but one of the arguments "
            "requires grad."
        )
    if not can_cast(y.dtype, out.dtype):
        raise RuntimeError(f"result type {_scalar(y)} can't be cast to the desired output type {_scalar(out)}")
    if tuple(out.array.shape) != tuple(y.array.shape):
        from tapegrad.torch._functions.copying import reshaped

        reshaped(out, tuple(y.array.shape))
    out.copy_(y)
    return out


def _scalar(x: Any) -> str:
    from tapegrad.torch._dtypes import SCALAR_TYPES

    return SCALAR_TYPES[x.dtype]


def function(f: Callable[..., Any]) -> Callable[..., Any]:
    """Add a function to those of `torch` as it is."""
    FUNCTIONS[f.__name__] = f
    return f


def method(f: Callable[..., Any]) -> Callable[..., Any]:
    """Add a method to those of a tensor as it is."""
    METHODS[f.__name__] = f
    return f
