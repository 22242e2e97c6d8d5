"""Every op is held to every law that its declaration makes it subject to: one test for each pair."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, reject, settings

from tapegrad.registry.op import OPS
from tapegrad.testing import LAWS, Case, Draw, Law, Unresolved
from tapegrad.testing.strategies import draws

if TYPE_CHECKING:
    from tapegrad.registry.op import Op


#: How many cases are looked at for each example of Hypothesis, which by itself takes as long as one of them.
FAMILY = 3


def holding(law: Law) -> Any:
    ops = [op for op in OPS.values() if law.applies(op)]

    @pytest.mark.filterwarnings("ignore::RuntimeWarning")  # a mean over nothing warns, as NumPy's does
    @pytest.mark.parametrize("op", ops, ids=lambda op: op.name)
    @settings(max_examples=-(-settings().max_examples // FAMILY))
    @given(draw=draws())
    def test(op: Op, draw: Draw) -> None:
        if draw.complex and not law.takes_complex(op):
            draw = draw.again(complex=False)
        unresolved = 0
        for member in draw.family(FAMILY):
            try:
                law(Case(op, member))
            except Unresolved:
                unresolved += 1
        if unresolved == FAMILY:
            reject()

    test.__name__ = test.__qualname__ = f"test_{law.name}"
    return test


for _law in LAWS.values():
    globals()[f"test_{_law.name}"] = holding(_law)


def test_every_law_is_for_some_op_and_every_op_has_laws() -> None:
    testable = [op for op in OPS.values() if not isinstance(op.laws, str)]
    assert all(any(law.applies(op) for op in testable) for law in LAWS.values())
    assert all(sum(law.applies(op) for law in LAWS.values()) >= 3 for op in testable)


def test_only_what_enters_and_leaves_a_batch_and_samples_are_tested_elsewhere() -> None:
    elsewhere = {name for name, op in OPS.items() if isinstance(op.laws, str)}
    assert elsewhere == {"spread", "collect", "unbatch", "enbatch", "gamma_sample", "dirichlet_sample"}


NUMERIC = ("pullback_is_the_derivative", "second_derivative")


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", NUMERIC)
def test_differences_decide_in_most_cases_for_every_op(name: str) -> None:
    law = LAWS[name]
    undecided = []
    for op in (op for op in OPS.values() if law.applies(op)):
        unresolved = 0
        for seed in range(12):
            try:
                law(Case(op, Draw(seed)))
            except Unresolved:
                unresolved += 1
        if unresolved > 8:
            undecided.append(f"{op.name}: {unresolved} of 12")
    assert not undecided
