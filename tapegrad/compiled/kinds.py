"""Which shapes one trace serves: lengths that have been seen to differ are left open."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

if TYPE_CHECKING:
    from collections.abc import Sequence


@final
class Letter:
    """An open length.  Where it stands twice, the lengths are the same: a batch and its labels grow together."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "?"


Shapes = tuple[tuple["int | Letter", ...], ...]


def declared(shapes: Sequence[Sequence[int | None]]) -> Shapes:
    """The shapes that a user has written, with None for an open length: nothing is known of which are the same."""
    return tuple(tuple(Letter() if n is None else n for n in shape) for shape in shapes)


def covers(known: Shapes, shapes: tuple[tuple[int, ...], ...], *, least: int = 2) -> bool:
    """Whether a function that was traced for `known` takes these shapes.

    Lengths below `least` are not taken for open ones: an axis of length 1 is repeated, and the graph has been built for
    one that is not.
    """
    stands: dict[Any, int] = {}
    for k, s in zip(known, shapes, strict=True):
        if len(k) != len(s):
            return False
        for a, n in zip(k, s, strict=True):
            if type(a) is Letter:
                if n < least or stands.setdefault(a, n) != n:
                    return False
            elif a != n:
                return False
    return True


def merged(known: Shapes, shapes: tuple[tuple[int, ...], ...]) -> Shapes | None:
    """Shapes that stand for both, lengths left open where they differ; None if one of these is 0 or 1."""
    letters: dict[Any, Letter] = {}
    found: list[tuple[int | Letter, ...]] = []
    for k, s in zip(known, shapes, strict=True):
        lengths: list[int | Letter] = []
        for a, n in zip(k, s, strict=True):
            if type(a) is int and a == n:
                lengths.append(n)
            elif n < 2 or (type(a) is int and a < 2):
                return None
            else:
                lengths.append(letters.setdefault((a, n), Letter()))
        found.append(tuple(lengths))
    return tuple(found)


def sizes(shapes: Shapes) -> list[list[int | None]]:
    """The shapes as TensorFlow has them, with None for an open length."""
    return [[None if type(n) is Letter else n for n in shape] for shape in shapes]
