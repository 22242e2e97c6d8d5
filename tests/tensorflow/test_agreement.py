"""NumPy's kernels and TensorFlow's agree on values, dtypes, cotangents and tangents of every op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tapegrad.registry.backends import making_on
from tapegrad.registry.op import OPS
from tapegrad.testing import Case, law
from tapegrad.testing.subject import floating

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.registry.op import Op

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

TESTABLE = [op for op in OPS.values() if law.testable(op)]
NO_VALUES = ("empty", "empty_like")


def both(compute: Callable[[], Any]) -> tuple[Any, Any]:
    """What is computed on NumPy's kernels and on TensorFlow's, errors included."""
    found = []
    for name in ("numpy", "tensorflow"):
        with making_on(name):
            try:
                found.append(compute())
            except Exception as error:
                found.append(error)
    return found[0], found[1]


def refused(expected: Any, found: Any) -> bool:
    """Whether both refuse these arguments, with the same error."""
    if isinstance(expected, Exception) or isinstance(found, Exception):
        if type(expected) is not type(found):
            error = AssertionError(f"NumPy's kernels: {expected!r}, TensorFlow's: {found!r}")
            raise error from next(e for e in (found, expected) if isinstance(e, Exception))
        return True
    return False


def tolerance(case: Case, *groups: Any) -> float:
    return 1e3 * case.op.tolerance * law.eps_of(*groups)


def at_least_rounding(xs: list[Any]) -> float:
    """What a result may be off by that is zero but for rounding, relative to what is tolerated of others."""
    return 1e-2 * min(law.largest([x for x in xs if hasattr(x, "dtype")]), 1.0)


@pytest.mark.parametrize("op", TESTABLE, ids=lambda op: op.name)
def test_values_dtypes_and_derivatives(op: Op, drawing: Any) -> None:
    for what in ("agreement", "another"):
        for draw in drawing(op, what):
            agree(Case(op, draw))


@pytest.mark.parametrize("op", [op for op in TESTABLE if law.differentiable(op)], ids=lambda op: op.name)
def test_at_kinks(op: Op, drawing: Any) -> None:
    for draw in drawing(op, "kinks"):
        agree(Case(op, draw.again(complex=False, ties=True)))


def agree(case: Case) -> None:
    """Refuse values, dtypes and derivatives that differ."""
    ys, found = both(lambda: case.subject.value(case.xs))
    if refused(ys, found):
        return
    law.fits(found, ys, f"value of {case}")
    if case.op.name not in NO_VALUES:
        law.same(found, ys, tolerance(case, floating(ys)), f"value of {case}", scale=at_least_rounding(case.xs))
    if not law.differentiable(case.op) or not case.differentiable or not floating(ys):
        return
    gs, ts = case.cotangents(ys), case.tangents()
    rtol = 10 * tolerance(case, floating(ys), case.active)
    for what, given, compute in (
        ("cotangent", gs, lambda: case.subject.vjp(case.xs, gs)),
        ("recorded cotangent", gs, lambda: case.subject.vjp(case.xs, gs, watched=True)),
        ("tangent", ts, lambda: case.subject.jvp(case.xs, ts)),
    ):
        a, b = both(compute)
        if not refused(a, b):
            law.fits(b, [np.asarray(x) if x is not None else y for x, y in zip(a, b, strict=True)], what)
            law.same(b, a, rtol, f"{what} of {case}", scale=1e-2 * law.largest(given))
