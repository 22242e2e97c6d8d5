"""Every law of the registry on TensorFlow's kernels: what the laws draw is made there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, reject, settings

from tapegrad.registry.backends import making_on
from tapegrad.registry.op import OPS
from tapegrad.testing import LAWS, Case, Draw, Law, Unresolved
from tapegrad.testing.strategies import draws

if TYPE_CHECKING:
    from tapegrad.registry.op import Op

#: One example here for so many on NumPy's kernels, whose laws decide what is right; here it is that nothing depends on them.
SLOWER = 25


def holding(law: Law) -> Any:
    ops = [op for op in OPS.values() if law.applies(op)]

    @pytest.mark.filterwarnings("ignore::RuntimeWarning")
    @pytest.mark.parametrize("op", ops, ids=lambda op: op.name)
    @settings(max_examples=-(-settings().max_examples // SLOWER))
    @given(draw=draws())
    def test(op: Op, draw: Draw) -> None:
        if draw.complex and not law.takes_complex(op):
            draw = draw.again(complex=False)
        with making_on("tensorflow"):
            try:
                law(Case(op, draw))
            except Unresolved:
                reject()

    test.__name__ = test.__qualname__ = f"test_{law.name}"
    return test


for _law in LAWS.values():
    globals()[f"test_{_law.name}"] = holding(_law)
