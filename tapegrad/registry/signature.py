"""The signature of an op, read off the function that declares it, and whether it can be tested."""

from __future__ import annotations

from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, final

from tapegrad.errors import DeclarationError

if TYPE_CHECKING:
    from tapegrad.registry.op import Op

_VARARGS = 0x04
#: Names that a compiled entry uses for itself.
_LOCALS = frozenset(["d", "g", "n", "out", "owners", "p", "q", "seq", "y", "F", "xp", "t"])


@final
class Word:
    """Said of an argument in the place of a rule."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


@final
class Param:
    """A parameter of an op: no array is ever differentiated here."""

    __slots__ = ("default", "keyword_only", "name")
    REQUIRED = Word("required")

    def __init__(self, name: str, default: Any, keyword_only: bool) -> None:
        self.name = name
        self.default = default
        self.keyword_only = keyword_only


def argument_names(code: CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def signature(op: Op) -> tuple[tuple[str, ...], tuple[Param, ...]]:
    """Arrays and parameters, from the body's code: `inspect`, which would be slower, is not imported."""
    body = op.body
    code = body.__code__
    names = argument_names(code)
    if not names or names[0] not in ("xp", "F"):
        space = "F" if op.kind == "composite" else "xp"
        written = ", ".join([space, *names])
        raise DeclarationError(f"{op.name}: the first argument of an op is its namespace; write def {op.name}({written})")
    if code.co_flags & _VARARGS:
        raise DeclarationError(f"{op.name}: use variadic=True and one argument for a sequence of arrays")
    positional = names[: code.co_argcount]
    arrays = positional[1 : code.co_posonlyargcount] if code.co_posonlyargcount else positional[1:]
    defaults = dict(zip(reversed(positional), reversed(body.__defaults__ or ()), strict=False))
    defaults.update(body.__kwdefaults__ or {})
    rest = [n for n in names[1 + len(arrays) :] if n not in op.named]
    arrays += op.named
    params = tuple(Param(n, defaults.get(n, Param.REQUIRED), n not in positional) for n in rest)
    for n in names[1:]:
        if n in _taken(op) or n.startswith(("raw", "node", "kind")):
            raise DeclarationError(f"{op.name}: call the argument something else than {n!r}, a name of compiled code")
    if op.kind == "constant":
        return arrays, params
    if not arrays:
        raise DeclarationError(f"{op.name}: an op has at least one array")
    return arrays, params


def _taken(op: Op) -> frozenset[str]:
    """Names that the compiled entry uses for itself; that of a composite or a constant records nothing."""
    if op.kind not in ("composite", "constant"):
        return _LOCALS
    return _LOCALS - {"d", "g", "n", "owners", "p", "q", "t"} - ({"xp", "y"} if op.kind == "composite" else set())


def optional(op: Op) -> tuple[str, ...]:
    """The arrays, at the end, that have a default; it is None, and the op a composite, which can look."""
    positional = argument_names(op.body.__code__)[: op.body.__code__.co_argcount]
    defaults = dict(zip(reversed(positional), reversed(op.body.__defaults__ or ()), strict=False))
    defaults.update((a, (op.body.__kwdefaults__ or {}).get(a, ...)) for a in op.named)
    found = tuple(a for a in op.arrays if a in defaults)
    if found and (op.kind != "composite" or any(defaults[a] is not None for a in found)):
        raise DeclarationError(f"{op.name}: {', '.join(found)} cannot have a default: only None can be one, in a composite")
    return found


def check_laws(op: Op) -> None:
    """Refuse an op that nobody could test."""
    domain = op.domain if isinstance(op.domain, dict) else dict.fromkeys(op.arrays, op.domain)
    for name, pair in domain.items():
        if name not in op.arrays:
            raise DeclarationError(f"{op.name}: domain of {name!r}: the arrays are {', '.join(op.arrays)}")
        if pair is not None and not (len(pair) == 2 and pair[0] < pair[1]):
            raise DeclarationError(f"{op.name}: the domain of {name} is (lowest, highest), got {pair!r}")
    if isinstance(op.laws, str):
        if op.public:
            raise DeclarationError(f"{op.name}: laws={op.laws!r} says where an op that is not public is tested")
        return
    if op.laws is not None:
        if not isinstance(op.laws, FunctionType) or len(argument_names(op.laws.__code__)) != 1:
            raise DeclarationError(f"{op.name}: laws is a function of a Draw, got {op.laws!r}")
        return
    required = [p.name for p in op.params if p.default is Param.REQUIRED]
    if op.kind != "elementwise" or required:
        raise DeclarationError(
            f"{op.name}: no laws can be drawn; say what its arguments look like, for example "
            f"@{op.kind}(laws=lambda draw: (draw.array('n', 'm'), {{'axis': draw.axis()}}))"
        )


def names_of(rule: Any, skip: int) -> tuple[str, ...]:
    """What a rule names, besides its first arguments."""
    if isinstance(rule, str):
        return (rule,)
    if isinstance(rule, FunctionType):
        return argument_names(rule.__code__)[skip:]
    return ()
