"""The laws that every op obeys, and how an op is held to them.

The laws themselves are in `derivatives` (what the gradient is), `conduct` (dtypes, memory, repetition) and `values`
(what the op computes, edges and kinks); which apply to an op follows from its declaration alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tapegrad.testing import conduct, derivatives, values
from tapegrad.testing.case import Case
from tapegrad.testing.law import LAWS, Law, LawError, Unresolved, testable

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tapegrad.registry.op import Op
    from tapegrad.testing.draw import Draw


def laws_of(op: Op) -> list[Law]:
    """The laws that an op is held to."""
    return [entry for entry in LAWS.values() if entry.applies(op)]


def broken(op: Op, draws: Iterable[Draw], laws: Sequence[Law] | None = None) -> LawError | None:
    """The first breach of a law that is found, or None."""
    given = list(draws)
    for entry in laws if laws is not None else laws_of(op):
        for draw in given:
            if draw.complex and not entry.takes_complex(op):
                continue
            try:
                entry(Case(op, draw.again()))
            except LawError as error:
                return error
            except Unresolved:
                continue
    return None


__all__ = ["LAWS", "Law", "LawError", "Unresolved", "broken", "conduct", "derivatives", "laws_of", "testable", "values"]
