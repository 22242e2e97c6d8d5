"""What is said of arguments that a function does not have: habits of PyTorch, NumPy and JAX get the right spelling."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from tapegrad.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tapegrad.registry.op import Op

P = ParamSpec("P")
R = TypeVar("R")

#: What others call a parameter, and the names that it may have here.
_ELSEWHERE = {
    "dim": ("axis", "axes"),
    "dims": ("axis", "axes"),
    "axis": ("axes",),
    "axes": ("axis",),
    "perm": ("axes",),
    "keepdim": ("keepdims",),
    "keep_dims": ("keepdims",),
    "ddof": ("correction",),
    "unbiased": ("correction",),
    "a_min": ("min",),
    "a_max": ("max",),
    "size": ("shape",),
    "repeats": ("repetitions",),
    "eps": ("epsilon",),
}


def takes_guesses(op: Op) -> bool:
    """Whether the function of an op looks at arguments in excess: one that has an axis or a shape, where habits differ.

    Elsewhere Python's own error is as good, and a function without keywords is called faster.
    """
    return any(p.name in ("axis", "axes", "shape") for p in op.params)


def misfit(op: Op, extra: tuple[Any, ...], words: dict[str, Any], signature: str) -> ArgumentError:
    """The error for positional arguments in excess, or keywords that are not there."""
    where = f"{op.name}({signature})"
    for word, value in words.items():
        if word in (*op.arrays, *(p.name for p in op.params)):
            continue
        name = _here(op, word)
        if name is not None:
            shown = int(value) if word == "unbiased" and isinstance(value, bool) else _text(value)
            return ArgumentError(f"{where}: there is no {word!r} here; write {name}={shown}")
        return ArgumentError(f"{where}: there is no {word!r} here")
    if words:
        word = next(iter(words))
        return ArgumentError(f"{where}: {word} is given by position; write {op.name}({word}, ...)")
    return ArgumentError(f"{where}: {_count(extra)} too many{_by_keyword(op, extra)}")


def _here(op: Op, word: str) -> str | None:
    from difflib import get_close_matches

    names = [p.name for p in op.params]
    found = [n for n in _ELSEWHERE.get(word, ()) if n in names] or get_close_matches(word, names, 1, 0.7)
    return found[0] if found else None


def _by_keyword(op: Op, extra: tuple[Any, ...]) -> str:
    """The way out for arguments that stand by position: a keyword, or a tuple."""
    free = [p.name for p in op.params if p.keyword_only]
    placed = [p for p in op.params if not p.keyword_only]
    if placed and placed[0].name in ("shape", "axes") and all(isinstance(x, int) for x in extra):
        return f"; {placed[0].name} is one tuple: write ({', '.join(['...', *map(_text, extra)])})"
    if op.arrays == ("arrays",) and hasattr(extra[0], "shape"):
        return f"; arrays is one sequence: write {op.name}([x, ...])"
    if len(extra) == 1 and free:
        # NumPy's second argument is the axis, but for norms, which have the order there, and transforms, which have the length.
        name = next((n for n in ("ord", "n", "s", "axis") if n in free and not isinstance(extra[0], bool)), free[0])
        return f"; write {name}={_text(extra[0])}"
    return f"; {', '.join(free)} are given by keyword" if len(free) > 1 else ""


def _count(extra: tuple[Any, ...]) -> str:
    return f"{_text(extra[0])} is one argument" if len(extra) == 1 else f"there are {len(extra)} arguments"


def _text(value: Any) -> str:
    if isinstance(value, type):
        return value.__name__
    return repr(value) if isinstance(value, int | float | str | tuple | list | None) else type(value).__name__


# -- functions that are no ops -------------------------------------------------------------------------
def guided(words: Mapping[str, str], way: str = "", **ways: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: the error for arguments that do not fit says what to write.

    * `words`: what others call a parameter, and its name here.
    * `way`: what is said of too many arguments by position, before the names of those that go by keyword; `{name}` in it is
      the function's.
    * `ways`: for a parameter that others have and that none here stands for, what to write; `{name}` likewise.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def called(*args: P.args, **kwargs: P.kwargs) -> R:
            try:
                return function(*args, **kwargs)
            except TypeError as error:
                if error.__traceback__ is None or error.__traceback__.tb_next is not None:
                    raise  # from inside: the arguments fit
                found = _guidance(function, args, kwargs, words, way, ways)
                if found is None:
                    raise
                raise ArgumentError(found) from None

        return called

    return decorate


def _guidance(
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    words: Mapping[str, str],
    way: str,
    ways: Mapping[str, str],
) -> str | None:
    """What to write instead; None where Python's own error says all."""
    import inspect
    from difflib import get_close_matches

    name, params = function.__name__, dict(inspect.signature(function).parameters)
    if params.pop("self", None):
        args = args[1:]
    where = f"{name}({', '.join(params)})"
    for word in kwargs:
        if word not in params:
            near = words.get(word) or next(iter(get_close_matches(word, params, 1, 0.7)), None)
            hint = f"; write {near}=..." if near in params else f"; write {ways[word].format(name=name)}" if word in ways else ""
            return f"{where}: there is no {word!r} here{hint}"
    placed = [p for p in params.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if len(args) <= len(placed):
        return None
    by_keyword = ", ".join(p.name for p in params.values() if p.kind is p.KEYWORD_ONLY)
    advice = [way.format(name=name)] if way else []
    advice += [f"{by_keyword} by keyword"] if by_keyword else []
    return f"{where}: got {len(args)} arguments by position; write {', and '.join(advice)}"
