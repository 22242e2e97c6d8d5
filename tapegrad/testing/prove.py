"""Which mistakes in the user's own derivative this very check would catch: it plants them, one at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.testing.inputs import Source
from tapegrad.testing.mutators import MUTATORS, Mutant
from tapegrad.testing.report import Result
from tapegrad.testing.trial import Refused, Settings, Trial, fresh

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tapegrad.testing.inputs import Point
    from tapegrad.testing.session import Session
    from tapegrad.testing.systems.base import System

_POINTS = 60


@final
class Proof:
    """How many planted mistakes were caught, and which were not; `idle`: those that make no difference here."""

    def __init__(self) -> None:
        self.caught: dict[str, str] = {}
        self.missed: list[str] = []
        self.idle: list[str] = []

    @property
    def planted(self) -> int:
        return len(self.caught) + len(self.missed)

    def __repr__(self) -> str:
        text = f"caught {len(self.caught)} of {self.planted} planted mistakes"
        return f"{text}; not: {', '.join(self.missed)}" if self.missed else text


def prove(session: Session) -> Proof:
    """Plant each mistake in the derivative of a session's function, and run the same check on it."""
    proof = Proof()
    right = session.system
    points = _elsewhere(session)
    try:
        for name in MUTATORS:
            if not _differs(right, name, points, session.settings):
                proof.idle.append(name)
                continue
            session.system = Mutant(right, name)
            found = _failure(session)
            if found is None:
                proof.missed.append(name)
            else:
                proof.caught[name] = found
    finally:
        session.system = right
    return proof


def _failure(session: Session) -> str | None:
    """The property that fails first, not shrunk and not explained."""
    session.result = Result(session.name, session.profile.name, session.seed)
    session.rng = np.random.Generator(np.random.PCG64(session.seed))
    session.source.rng = session.rng
    session.limits()
    before = session.settings
    session.settings = Settings(
        before.domains,
        before.names,
        nondeterministic=before.nondeterministic,
        kinks=before.kinks,
        dtypes=before.dtypes,
        order=before.order,
        any_shape=list(before.any_shape),
        any_length=list(before.any_length),
        hermitian=list(before.hermitian),
        noises=before.noises,
    )
    noted = session.settings.noted
    try:
        found = session.first_failure()
    except Exception:  # also where the property that would have told it is not asked for
        return "raises"
    finally:
        session.settings = before
    if found is None:
        return "a note" if noted and not before.noted else None
    return found[1].property


def _elsewhere(session: Session) -> list[Point]:
    """Inputs that are not those of the check."""
    source = Source(
        session.binding.words,
        np.random.Generator(np.random.PCG64(session.seed ^ 0x5EED)),
        mined=session.source.mined,
        sizes=session.source.extra_sizes,
    )
    source.domains = list(session.source.domains)
    kept: list[Point] = []
    for _, point in zip(range(3 * _POINTS), source.points(1000), strict=False):
        try:
            Trial(session.system, point, session.settings)
        except Refused:
            continue
        kept.append(point)
        if len(kept) >= _POINTS:
            break
    return kept


def _differs(right: System, name: str, points: Iterable[Point], settings: Settings) -> bool:
    """Whether a mistake makes any difference: to gradients, or to what is not its to change."""
    mutant = Mutant(right, name)
    for point in points:
        t = Trial(right, point, settings)
        gs = [g.copy() for g in t.gs]
        with np.errstate(all="ignore"):
            expected = t.pull([g.copy() for g in gs])
            xs = fresh(point.xs)
            try:
                ys, pull = mutant.run(xs)
                given = _in_fortran_order(gs)
                found = pull(given)
                again = pull(given)
                if "last forward" in name:
                    mutant.run([x + 0.25 if i in right.active else x for i, x in enumerate(xs)])
                    again = pull(_in_fortran_order(gs))
                copies = [None if c is None else c.copy() for c in found]
                pull([g + 1 for g in gs])
            except (ValueError, TypeError, IndexError):
                return True
        same = _same(found, expected) and _same(again, expected) and _same(found, copies)
        if not (same and _same(given, gs) and _same(ys, t.ys_before) and _same(xs, point.xs)):
            return True
    return "dtype" in name or "double precision" in name


def _in_fortran_order(gs: list[Any]) -> list[Any]:
    return [np.asfortranarray(g.copy()) if g.ndim else g.copy() for g in gs]  # else it would get an axis


def _same(a: list[Any], b: list[Any]) -> bool:
    for x, y in zip(a, b, strict=True):
        if not isinstance(x, np.ndarray) or not isinstance(y, np.ndarray):
            if (x is None) != (y is None):
                return False
            continue
        if x.shape != y.shape or x.dtype != y.dtype:
            return False
        if x.size and x.dtype.kind in "fc":
            scale = float(np.nanmax(np.abs(y), initial=0.0))
            if not np.allclose(x, y, rtol=1e-12, atol=1e-13 * scale, equal_nan=True):
                return False
    return True
