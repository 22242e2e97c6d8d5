"""Where values lose their derivative, noted for tapes that are asked to explain that."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, final

from tapegrad.core.recorder import NOTING, state

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tapegrad.core.node import Node


@final
class Cut:
    """One place: what was called there, on values of which nodes (none: whatever was computed there)."""

    __slots__ = ("name", "nodes", "place")

    def __init__(self, name: str, place: str, nodes: tuple[Node, ...]) -> None:
        self.name = name
        self.place = place
        self.nodes = nodes


def noted(name: str, nodes: Iterable[Node | None]) -> None:
    """Note that a function gives values without the derivative of what these nodes made."""
    active = state.active.recorders
    for r in NOTING:
        if r in active and r.cuts is not None:
            known = tuple(n for n in nodes if n is not None and r in n.owners.recorders)
            if known:
                r.cuts.append(Cut(name, place(), known))


def paused(name: str) -> None:
    """Note that recording is switched off."""
    active = state.active.recorders
    for r in NOTING:
        if r in active and r.cuts is not None:
            r.cuts.append(Cut(name, place(), ()))


_PACKAGE = os.path.dirname(os.path.dirname(__file__)) + os.sep


def place() -> str:
    """File and line of the caller's program: the first frame that is not of this package, nor an op's."""
    frame = sys._getframe(1)
    while frame.f_back is not None:
        name = frame.f_code.co_filename
        if not name.startswith((_PACKAGE, "<tapegrad op ")) and frame.f_globals.get("__name__") != "contextlib":
            break
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
