"""The properties that `check` looks at, as laws of the registry's own ops."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.testing.inputs import Point
from tapegrad.testing.law import LawError, Unresolved
from tapegrad.testing.outcome import UNDECIDED, Failure
from tapegrad.testing.properties import PROPERTIES
from tapegrad.testing.systems.taped import Taped
from tapegrad.testing.trial import Refused, Settings, Trial

if TYPE_CHECKING:
    from tapegrad.testing.case import Case


def uphold(case: Case, name: str) -> None:
    """Raise LawError where a property of `check` fails for a case, Unresolved where it cannot be told."""
    t = trial_of(case)
    if t is None:
        return
    outcome: Any = PROPERTIES[name][0](t)
    if outcome is UNDECIDED:
        raise Unresolved(f"{case.op.name}: {name} is not decided here")
    if isinstance(outcome, Failure):
        raise LawError("\n".join([f"{case.op.name}: {outcome.what}", *(f"  {k}: {text}" for k, text in outcome.lines)]))


def trial_of(case: Case) -> Trial | None:
    """An op with its arguments, run; None where there is nothing to differentiate."""
    if not case.differentiable:
        return None
    xs = case.xs
    system = Taped(case.op.name, case.call, case.subject.active, ())
    names = [f"argument {i}" for i in range(len(xs))]
    domains = [(-math.inf, math.inf)] * len(xs)
    settings = Settings(domains, names, directions=case.draw.direction)
    point = Point(xs, "drawn", int(case.draw.rng.integers(2**31)), tame=True)
    try:
        t = Trial(system, point, settings)
    except Refused as error:
        raise Unresolved(f"{case.op.name}: {error}") from error
    if not t.ys:
        return None
    with np.errstate(all="ignore"):
        t.derive()
    return t
