"""What is not chosen has no part in the derivative, whatever its value and its own derivative are: for every pointwise op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import DeclarationError
from tapegrad.registry.op import OPS
from tapegrad.testing import Case, Draw
from tapegrad.testing.subject import is_floating

if TYPE_CHECKING:
    from collections.abc import Callable

    from tapegrad.registry.op import Op

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # values that are not chosen warn as NumPy's do

POINTWISE = [
    op
    for op in OPS.values()
    if op.pointwise and op.kind in ("elementwise", "primitive", "linear", "composite") and not isinstance(op.laws, str)
]
#: Ways to leave elements out; each gives zeros or nothing for them.
CHOICES: dict[str, Callable[[Any, Any], Any]] = {
    "where": lambda y, out: tg.where(out, 0, y),
    "where, the other branch": lambda y, out: tg.where(~out, y, 0),
    "index": lambda y, out: y[~out],
    "put": lambda y, out: tg.put(y, tg.zeros((), dtype=y.dtype), index=out),
}
ODD = [np.nan, np.inf, -np.inf, 1e200, 0.0]
BY_INTENT = ("ieee_sqrt",)  # differentiated as IEEE arithmetic has it


def with_odd(op: Op, odd: float) -> tuple[Case, Any, Any] | None:
    """A case whose floating arguments are `odd` in some places; and the places, in the shape of the value."""
    for seed in range(40):
        case = Case(op, Draw(seed, complex=False))
        y = case.call([tg.asarray(x) if is_floating(x) else x for x in case.xs])[0]
        fits = [is_floating(x) and np.shape(x) == y.shape for x in case.xs]
        if y.ndim and y.size > 1 and y.dtype == np.float64 and any(fits):
            out = np.arange(y.size).reshape(y.shape) % 2 == 0
            return case, [np.where(out, odd, x) if fit else x for x, fit in zip(case.xs, fits, strict=True)], out
    return None


def gradients(case: Case, xs: Any, choose: Callable[[Any, Any], Any], out: Any, order: int) -> list[Any]:
    """The gradients of a weighted sum of what is chosen, or of a weighted sum of these."""
    weights = np.linspace(0.7, 1.9, out.size).reshape(out.shape)
    tensors = [tg.asarray(x) if is_floating(x) else x for x in xs]
    sources = [x for x in tensors if isinstance(x, tg.Tensor)]
    with tg.GradientTape() as outer:
        outer.watch(sources)
        with tg.GradientTape() as inner:
            inner.watch(sources)
            y = choose(case.call(tensors)[0] * weights, out)
        first = inner.gradient(y, sources, unconnected_gradients="zero")
        total = [tg.sum(g * np.cos(np.arange(g.size)).reshape(g.shape)) for g in first]
    return first if order == 1 else outer.gradient(total, sources, unconnected_gradients="zero")


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("choice", CHOICES)
@pytest.mark.parametrize("op", [op for op in POINTWISE if op.name not in BY_INTENT], ids=lambda op: op.name)
def test_what_is_left_out_changes_nothing(op: Op, choice: str, order: int) -> None:
    looked = 0
    for odd in ODD:
        found = with_odd(op, odd)
        if found is None:
            continue
        case, xs, out = found
        got = gradients(case, xs, CHOICES[choice], out, order)
        usual = gradients(case, case.xs, CHOICES[choice], out, order)
        for a, b in zip(got, usual, strict=True):
            if b.shape == out.shape:
                looked += 1
                np.testing.assert_array_equal(a.numpy()[out], 0, err_msg=f"odd: {odd}")
                np.testing.assert_allclose(a.numpy()[~out], b.numpy()[~out], rtol=1e-12, atol=1e-14, err_msg=f"odd: {odd}")
    if not looked:
        pytest.skip("the laws of this op draw no array in the shape of its value")


def test_a_guard_uses_what_the_pullback_has_saved() -> None:
    with pytest.raises(DeclarationError, match="names what the pullback does not"):
        OPS["abs"].guard(x=lambda F, g, y: F.mul_zero(g, y))
    with pytest.raises(DeclarationError, match="given to a primitive"):
        OPS["sin"].guard(x=lambda F, g, x: F.mul_zero(g, F.cos(x)))
