"""Numbers that are written in a function's code: where its branches are."""

from __future__ import annotations

import math
from types import CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

OFFSETS = (0.0, 1e-9, 1e-7, 1e-5, 1e-3)
_DEPTH = 5
_MOST = 40  # numbers; a table of coefficients says nothing about branches


def numbers_in(*functions: Any) -> list[float]:
    """The numbers in the code of these functions, of their closures, and of what they call in the same package.

    >>> def clipped(x):
    ...     return x if x < 2.5 else 2.5 + 0 * x
    >>> numbers_in(clipped)
    [2.5]
    """
    seen: dict[float, None] = {}
    visited: set[int] = set()
    for f in functions:
        for c in _numbers(f, _DEPTH, visited):
            if math.isfinite(c) and c not in (0.0, 1.0, -1.0):
                seen[c] = None
    return list(seen)[:_MOST]


def candidates(numbers: list[float]) -> list[float]:
    """Inputs at and next to numbers, on both sides of zero."""
    found: dict[float, None] = {}
    for c in [*numbers, *(-c for c in numbers), 1.0, -1.0, 0.0]:
        for d in OFFSETS:
            found[c + d] = found[c - d] = None
    return list(found)


def sizes(numbers: list[float]) -> list[int]:
    """Lengths at which code could branch, and the next ones."""
    whole = sorted({int(c) for c in numbers if c == int(c) and 4 < c <= 300})
    return [n for c in whole[-2:] for n in (c, c + 1)]


def _numbers(f: Any, depth: int, visited: set[int]) -> Iterator[float]:
    if depth < 0 or id(f) in visited:
        return
    visited.add(id(f))
    if isinstance(f, MethodType):
        f = f.__func__
    f = getattr(f, "__wrapped__", f) if not isinstance(f, type) else f
    if isinstance(f, bool):
        return
    if isinstance(f, int | float):
        yield float(f)
    elif isinstance(f, tuple | list | frozenset) and len(f) <= 8:
        for part in f:
            yield from _numbers(part, depth, visited)
    elif isinstance(f, FunctionType):
        yield from _of_function(f, depth, visited)
    elif isinstance(f, CodeType):
        yield from _of_code(f, depth, visited)
    elif isinstance(f, type):
        for part in vars(f).values():
            if isinstance(part, FunctionType | staticmethod | classmethod | int | float):
                yield from _numbers(getattr(part, "__func__", part), depth - 1, visited)
    elif hasattr(f, "__dict__") and not isinstance(f, FunctionType) and depth:
        for part in list(vars(f).values())[:50]:
            if isinstance(part, FunctionType | float | int | MethodType):
                yield from _numbers(part, depth - 1, visited)
        if type(f).__module__ not in ("builtins", "numpy"):
            yield from _numbers(type(f), depth - 1, visited)


def _of_function(f: FunctionType, depth: int, visited: set[int]) -> Iterator[float]:
    yield from _of_code(f.__code__, depth, visited)
    for default in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()):
        yield from _numbers(default, 0, visited)
    for cell in f.__closure__ or ():
        try:
            yield from _numbers(cell.cell_contents, depth - 1, visited)
        except ValueError:  # a cell that is not filled yet
            continue
    package = str(f.__globals__.get("__name__", "")).partition(".")[0]
    for name in f.__code__.co_names:
        found = f.__globals__.get(name)
        if isinstance(found, int | float):
            yield from _numbers(found, depth, visited)
        elif isinstance(found, FunctionType | type) and found.__module__.partition(".")[0] == package:
            yield from _numbers(found, depth - 1, visited)


def _of_code(code: CodeType, depth: int, visited: set[int]) -> Iterator[float]:
    for c in code.co_consts:
        if isinstance(c, CodeType):
            yield from _of_code(c, depth, visited)
        elif isinstance(c, int | float | tuple | frozenset) and not isinstance(c, bool):
            visited.discard(id(c))
            yield from _numbers(c, 0, visited)
