"""What is said of a failure: at which smallest input, with what likely cause, where else, and how to see it again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.errors import ArgumentError
from tapegrad.testing import causes
from tapegrad.testing.outcome import HOLDS, Failure, brief
from tapegrad.testing.properties import PROPERTIES
from tapegrad.testing.report import argument_lines, reproduction
from tapegrad.testing.shrink import Shrinker
from tapegrad.testing.trial import Refused, Trial, filled, fresh

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapegrad.testing.inputs import Point
    from tapegrad.testing.session import Session

    Lines = list[tuple[str, str]]

_CALLS = 9  # what happens at every so many calls is not looked for beyond these
#: What a gradient that changes from call to call looks like to those that compare two of them.
_COMPARING = frozenset(["linear", "layout", "pure", "accumulate", "batch", "subsets", "rows", "permuted", "shared"])
#: What else is looked at where a failure is, and costs little.
_ASIDE = ("numeric", "linear", "forward", "second", "layout", "precision", "repeat")
#: What a vjp looks like whose arguments are in another order.
_MISTAKEN = frozenset(["numeric", "swept", "raises", "shape", "finite", "linear", "kink"])
_SECONDS, _SECONDS_COMPILED = 0.4, 6.0  # for shrinking: a new shape costs a JAX function about a second


def explain(session: Session, point: Point, failure: Failure) -> None:
    """Shrink a failure, and put into words what is wrong, where, and what to paste."""
    failure = _as_change(session, point, failure)
    name = failure.property
    where = [line for line in failure.lines if line[0] == "where"]
    if point.gs is None:
        t = _trial(session, point)
        point.gs = [g.copy() for g in t.gs] if t is not None else None
    told, computed = _cause(session, point) if name in ("numeric", "swept") else (None, False)
    order = _order(session, point) if told is None and name in _MISTAKEN else None
    told = order or told
    if name != "swept":
        point, failure = _shrunk(session, point, failure)
    result = session.result
    result.failure, result.point = failure, point
    t = _trial(session, point)
    gs = t.gs if t is not None else []
    lines = argument_lines(point, session.binding.names, gs)
    if t is not None and name in ("numeric", "kink", "finite", "swept"):
        with np.errstate(all="ignore"):
            try:
                t.derive()
                lines += _gradients(t.widened() or t, told, computed=computed)
            except Exception:  # the report does not fail with the function
                t = None
    if order is not None and ("cause", order) not in lines:
        lines.append(("cause", order))
    lines += failure.lines + [line for line in where if line not in failure.lines]
    if not where and name in ("numeric", "finite", "kink"):
        lines += [("where", text) for text in session.region() if text]
    if t is not None:
        lines += _also(session, point, name)
    if session.system.single and name in session.system.advice:
        lines.append(("way out", session.system.advice[name]))
    lines.append(("reproduce", _reproduction(session, point, gs, failure)))
    result.lines = lines


def _trial(session: Session, point: Point) -> Trial | None:
    try:
        return Trial(session.system, point, session.settings)
    except Refused:
        return None


def _as_change(session: Session, point: Point, failure: Failure) -> Failure:
    """A failure of what compares two calls, where calls differ by themselves, is one of `repeat`."""
    t = _trial(session, point)
    if t is None or failure.property not in _COMPARING:
        return failure
    with np.errstate(all="ignore"):
        try:
            t.derive()
            for _ in range(_CALLS):
                ys, pull = session.system.run(fresh(point.xs))
                if _apart(ys, t.ys_before):
                    what = "the function, called twice, gives two values; seed it, or give nondeterministic=1e-6"
                    return Failure("repeat", what)
                if _apart(filled(pull([g.copy() for g in t.gs]), t.active), t.grads):
                    return Failure("repeat", "the gradient is another one from call to call")
            again = PROPERTIES["repeat"][0](t)  # with another forward in between
        except Exception:  # whatever it raises now, the failure is what it was
            return failure
    return again if isinstance(again, Failure) else failure


def _apart(a: Sequence[Any], b: Sequence[Any]) -> bool:
    """By more than rounding."""
    return any(
        x.shape != y.shape or (x.size > 0 and not float(np.abs(x - y).max()) <= 1e-9 * float(np.abs(y).max()))
        for x, y in zip(a, b, strict=True)
    )


def _cause(session: Session, point: Point) -> tuple[str | None, bool]:
    """The likely cause, as the input shows it that has not been shrunk; and whether it could be looked for there."""
    t = _trial(session, point)
    with np.errstate(all="ignore"):
        try:
            if t is None:
                return None, False
            t.derive()
            t = t.widened() or t
            numeric = causes.numeric_gradient(t)
            return (causes.cause(t, numeric), True) if numeric is not None else (None, False)
        except Exception:  # the report does not fail with the function
            return None, False


def _order(session: Session, point: Point) -> str | None:
    """Whether a derivative that is written by hand has its arguments in another order."""
    t = _trial(session, point)
    if t is None or t.empty or not hasattr(session.system, "vjp"):
        return None
    with np.errstate(all="ignore"):
        numeric = causes.numeric_gradient(t)
        return None if numeric is None else causes.order_of_arguments(t, numeric)


def _gradients(t: Trial, told: str | None, *, computed: bool) -> Lines:
    """The gradients, as claimed and by differences, and the likely cause."""
    lines = []
    numeric = causes.numeric_gradient(t) if t.finite else None
    several = len(t.active) > 1
    wrong = range(len(t.active)) if numeric is None else causes.wrong_ones(t, numeric)
    for k in wrong:
        name = f" {t.settings.names[t.system.active[k]]}" if several else ""
        lines.append((f"vjp{name}", brief(t.grads[k])))
        if numeric is not None:
            shown = np.round(numeric[k], 9) if np.abs(numeric[k]).max(initial=0.0) > 1e-3 else numeric[k]
            lines.append((f"numeric{name}", brief(shown)))
    if numeric is not None:
        if told is None:
            told = causes.cause_here(t, numeric) if computed else causes.cause(t, numeric)
        if told is not None:
            lines.append(("cause", told))
    return lines


def _also(session: Session, point: Point, name: str) -> Lines:
    """Which other properties hold where this one fails."""
    told = []
    t: Trial | None = None
    for other in _ASIDE:
        if other == name or (other == "numeric" and name in ("swept", "kink", "finite")):
            continue
        try:
            with np.errstate(all="ignore"):
                if t is None:
                    t = Trial(session.system, point, session.settings)
                    t.derive()
                outcome: Any = PROPERTIES[other][0](t)
        except Exception:  # which says nothing that the report does not say already
            t = None
            continue
        if outcome is HOLDS or isinstance(outcome, Failure):
            told.append(f"{other} {'no' if outcome is HOLDS else 'yes'}")
    return [("also fails", ", ".join(told))] if told else []


def _shrunk(session: Session, point: Point, failure: Failure) -> tuple[Point, Failure]:
    name = session.settings.shrinking = failure.property

    def fails(candidate: Point) -> Failure | None:
        found = _fails_as(session, name, candidate)
        if found is not None and session.trial is not None:
            candidate.gs = session.trial.gs  # those of another shape were not what it was looked at with
        return found

    quick = session.system.framework in ("numpy", "tapegrad", "torch", "autograd")
    seconds = _SECONDS_COMPILED if session.system.compiles else _SECONDS if quick else 3.0
    shrinker = Shrinker(fails, session.binding.words, session.settings.domains, seconds=seconds)
    return shrinker.shrink(point, failure)


def _fails_as(session: Session, name: str, candidate: Point) -> Failure | None:
    """The failure of this property at an input; None where it holds there, or the function refuses it."""
    names = None if name == "raises" else (name if name in PROPERTIES else "numeric",)
    try:
        found = session.examine(candidate, names=names)
    except (Refused, ArgumentError):
        return None
    return found if found is not None and found.property == name else None


def _reproduction(session: Session, point: Point, gs: Sequence[Any], failure: Failure) -> str:
    arguments = session.binding.arguments(list(point.xs))
    vjp = getattr(session.system, "vjp", None)
    rest = f", vjp={_called(getattr(vjp, '__name__', ''), 'vjp')}" if vjp is not None else ""
    rest += f', only="{failure.property}", seed={session.seed:#x}'
    return reproduction(_called(session.name, "f"), point, session.binding.keys, arguments, gs, rest)


def _called(name: str, otherwise: str) -> str:
    """A name that can be written where the function is defined; a lambda has none."""
    return name if name.replace(".", "_").isidentifier() else otherwise
