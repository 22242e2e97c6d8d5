"""In which look the results of another package's function come back: plain tensors, or those of a facade among its arguments."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any

from tapegrad.core.tensor import Tensor, linked, standing_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator


def each(function: Callable[[Any], Any], x: Any) -> Any:
    """A structure of lists, tuples and dicts with a function applied to all else in it."""
    kind = type(x)
    if isinstance(x, tuple):
        made = [each(function, v) for v in x]
        return kind(*made) if hasattr(x, "_fields") else kind(made)
    if kind is list:
        return [each(function, v) for v in x]
    if kind is dict:
        return {k: each(function, v) for k, v in x.items()}
    return function(x)


def leaves(x: Any) -> Iterator[Any]:
    """What lists, tuples and dicts hold, themselves left out."""
    if isinstance(x, tuple | list):
        for v in x:
            yield from leaves(v)
    elif isinstance(x, dict):
        for v in x.values():
            yield from leaves(v)
    else:
        yield x


def look_of(arguments: Any) -> str:
    """The facade of the first tensor that belongs to one: "torch", "tf", or "" for none."""
    for x in leaves(arguments):
        if isinstance(x, Tensor):
            parts = (c.__module__.split(".") for c in type(x).__mro__)
            look = next((p[1] for p in parts if p[0] == "tapegrad" and p[1] in ("torch", "tf")), "")
            if look:
                return look
    return ""


def dressed(y: Any, look: str) -> Any:
    """Tensors among results, all in one look; anything else as it is."""

    def one(x: Any) -> Any:
        x = standing_for(x)
        if not isinstance(x, Tensor):
            return x
        if look_of([x]) == look:
            return x
        plain = linked(*x.read())
        if not look:
            return plain
        if look == "tf":
            from tapegrad.tf.style import S

            return S.adopt(plain)
        from tapegrad.torch._tensor import STYLE

        return STYLE.adopt(plain)

    return each(one, y)


def nearest(name: str, names: Iterable[str]) -> str:
    """The name that is most like one that is missing: it begins alike, in the same module; "" if none does."""
    place, _, last = name.rpartition(".")

    def likeness(other: str) -> tuple[int, bool, float]:
        where, _, end = other.rpartition(".")
        alike = next((i for i, (a, b) in enumerate(zip(last, end, strict=False)) if a != b), min(len(last), len(end)))
        return alike, where == place, difflib.SequenceMatcher(None, last, end).ratio()

    best = max(names, key=likeness, default="")
    return best if likeness(best)[0] >= min(3, len(last)) or likeness(best)[2] > 0.6 else ""
