"""Every law of the registry on TensorFlow's kernels: what the laws draw is made there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest
from hypothesis import settings

from tapegrad.registry.backends import making_on
from tapegrad.registry.op import OPS
from tapegrad.testing import LAWS, Case, LawError, Unresolved

if TYPE_CHECKING:
    from tapegrad.registry.op import Op
    from tapegrad.testing import Draw, Law

#: Of so many draws in a row one has to be resolved; else the law says nothing of this op here, as on NumPy's kernels.
TRIES = 3


#: In `ci` for every eighth op: what the engine and the way of arguments into tensors decide, alike for all ops; and kinks,
#: where gradients agree with those of NumPy's kernels (`test_agreement`).
NOT_EACH_TIME = ("nothing_is_written", "layout_does_not_matter", "calls_are_independent", "kinks_take_a_value_between")


def looked_at(law: Law, op: Op) -> bool:
    if not law.applies(op):
        return False
    return law.name not in NOT_EACH_TIME or settings().max_examples > 25 or crc32(op.name.encode()) % 8 == 0


def breach(law: Law, op: Op, draw: Draw) -> LawError | None:
    """How this draw, or one of those that follow where nothing can be said, breaks a law."""
    for next_one in draw.family(TRIES):
        given = next_one if law.takes_complex(op) else next_one.again(complex=False)
        try:
            law(Case(op, given))
        except LawError as error:
            return error
        except Unresolved:
            continue
        return None
    return None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("op", OPS.values(), ids=lambda op: op.name)
def test_laws_hold(op: Op, drawing: Any) -> None:
    laws = [law for law in LAWS.values() if looked_at(law, op)]
    with making_on("tensorflow"):
        found = [breach(law, op, draw) for law in laws for draw in drawing(op, law.name)]
    broken = [error for error in found if error is not None]
    if broken:
        raise ExceptionGroup(f"{op.name} breaks {len(broken)} laws", broken)
