"""What is said of a failure: at which smallest input, with what likely cause, and how to see it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.errors import ArgumentError
from tapegrad.testing import causes
from tapegrad.testing.properties import PROPERTIES
from tapegrad.testing.report import argument_lines, reproduction
from tapegrad.testing.shrink import Shrinker
from tapegrad.testing.trial import Refused, Trial

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapegrad.testing.inputs import Point
    from tapegrad.testing.outcome import Failure
    from tapegrad.testing.session import Session


def explain(session: Session, point: Point, failure: Failure) -> None:
    """Shrink a failure, and put into words what is wrong, where, and what to paste."""
    result = session.result
    name = failure.property
    where = [line for line in failure.lines if line[0] == "where"]
    if point.gs is None:
        t = _trial(session, point)
        point.gs = [g.copy() for g in t.gs] if t is not None else None
    if name != "swept":
        session.settings.shrinking = True
        point, failure = _shrunk(session, point, failure)
    result.failure, result.point = failure, point
    t = _trial(session, point)
    gs = t.gs if t is not None else []
    lines = argument_lines(point, session.binding.names, gs)
    if t is not None and name in ("numeric", "kink", "finite", "swept", "linear", "second"):
        with np.errstate(all="ignore"):
            try:
                t.derive()
                lines += causes.lines_of(t) if name in ("numeric", "swept") else []
            except Exception:  # the report does not fail with the function
                t = None
    lines += failure.lines + [line for line in where if line not in failure.lines]
    lines.append(("reproduce", _reproduction(session, point, gs, failure)))
    result.lines = lines


def _trial(session: Session, point: Point) -> Trial | None:
    try:
        return Trial(session.system, point, session.settings)
    except Refused:
        return None


def _shrunk(session: Session, point: Point, failure: Failure) -> tuple[Point, Failure]:
    name = failure.property

    def fails(candidate: Point) -> Failure | None:
        try:
            found = session.examine(
                candidate, names=None if name == "raises" else (name if name in PROPERTIES else "numeric",)
            )
        except (Refused, ArgumentError):
            return None
        if found is not None and found.property == name:
            t = _trial(session, candidate)
            if candidate.gs is None and t is not None:
                candidate.gs = [g.copy() for g in t.gs]
            return found
        return None

    slow = 0.4 if session.system.framework in ("numpy", "tapegrad", "torch", "autograd") else 3.0
    shrinker = Shrinker(fails, session.binding.words, session.settings.domains, seconds=slow)
    return shrinker.shrink(point, failure)


def _reproduction(session: Session, point: Point, gs: Sequence[Any], failure: Failure) -> str:
    keys = session.binding.keys
    arguments = session.binding.arguments(list(point.xs))
    rest = ""
    if isinstance(getattr(session.system, "vjp", None), type(lambda: 0)) and session.system.framework == "numpy":
        rest += ", vjp=..." if session.system.vjp.__name__ == "<lambda>" else f", vjp={session.system.vjp.__name__}"  # type: ignore[attr-defined]
    elif getattr(session.system, "vjp", None) is not None:
        rest += ", vjp=..."
    rest += f', only="{failure.property}", seed={session.seed:#x}'
    return reproduction(session.name, point, keys, arguments, gs, rest)
