"""What a property says of one input."""

from __future__ import annotations

from typing import Any, final


@final
class Failure:
    """A property that does not hold: which one, in one sentence, and lines that say more."""

    __slots__ = ("lines", "property", "what")

    def __init__(self, property: str, what: str, lines: list[tuple[str, str]] | None = None) -> None:
        self.property = property
        self.what = what
        self.lines = lines or []

    def __repr__(self) -> str:
        return f"<{self.property}: {self.what}>"


@final
class Word:
    """An outcome that is not a failure."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name


HOLDS = Word("holds")
#: The property says nothing about such an input; not counted.
SILENT = Word("silent")
#: Neither can be said: counted, and never as a pass.
UNDECIDED = Word("unresolved")

Outcome = Failure | Word


def brief(x: Any, digits: int = 8) -> str:
    """An array on one line."""
    import numpy as np

    if x is None:
        return "None"
    return (
        np.array2string(np.asarray(x), separator=", ", threshold=12, precision=digits)
        .replace("\n", "")
        .replace("  ", " ")
    )
