"""Every op is held to every law that its declaration makes it subject to: one test for each pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, reject

from tapegrad.registry.op import OPS
from tapegrad.testing import LAWS, Case, Draw, Law, Unresolved
from tapegrad.testing.strategies import draws

if TYPE_CHECKING:
    from tapegrad.registry.op import Op


def holding(law: Law) -> Any:
    ops = [op for op in OPS.values() if law.applies(op)]

    @pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a mean over nothing warns, as NumPy's does
    @pytest.mark.parametrize("op", ops, ids=lambda op: op.name)
    @given(draw=draws())
    def test(op: Op, draw: Draw) -> None:
        if draw.complex and not law.takes_complex(op):
            draw = draw.again(complex=False)
        try:
            law(Case(op, draw))
        except Unresolved:
            reject()

    test.__name__ = test.__qualname__ = f"test_{law.name}"
    return test


for _law in LAWS.values():
    globals()[f"test_{_law.name}"] = holding(_law)


def test_every_law_is_for_some_op_and_every_op_has_laws() -> None:
    testable = [op for op in OPS.values() if not isinstance(op.laws, str)]
    assert all(any(law.applies(op) for op in testable) for law in LAWS.values())
    assert all(sum(law.applies(op) for law in LAWS.values()) >= 3 for op in testable)


def test_only_what_enters_and_leaves_a_batch_is_tested_elsewhere() -> None:
    elsewhere = {name for name, op in OPS.items() if isinstance(op.laws, str)}
    assert elsewhere == {"spread", "collect", "unbatch", "enbatch", "shift_of"}
