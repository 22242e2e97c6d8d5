"""What is said of arguments that an op does not have: habits of PyTorch and NumPy get the right spelling."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.errors import ArgumentError

if TYPE_CHECKING:
    from tapegrad.registry.op import Op

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
    if len(extra) == 1 and free:
        name = "axis" if "axis" in free and not isinstance(extra[0], bool) else free[0]
        return f"; write {name}={_text(extra[0])}"
    return f"; {', '.join(free)} are given by keyword" if len(free) > 1 else ""


def _count(extra: tuple[Any, ...]) -> str:
    return f"{_text(extra[0])} is one argument" if len(extra) == 1 else f"there are {len(extra)} arguments"


def _text(value: Any) -> str:
    return repr(value) if isinstance(value, int | float | str | tuple | list | None) else type(value).__name__
