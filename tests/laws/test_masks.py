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


FLAT = [op for op in POINTWISE if op.kind == "elementwise" and len(op.arrays) == 1]


def flat_places(op: Op) -> tuple[Callable[[Any], Any], Any, Any] | None:
    """A real op with its parameters, numbers, and where its value is the same for all numbers around."""
    case = Case(op, Draw(3, complex=False))

    def call(x: Any) -> Any:
        return op.entry(x, **case.params)

    x = np.linspace(-4.2, 4.2, 61) + 0.01  # beyond, erf is 1 in all digits
    ys = [np.asarray(call(tg.asarray(x + d)).numpy()) for d in (-0.05, 0.0, 0.05)]
    flat = (ys[0] == ys[1]) & (ys[1] == ys[2])
    return (call, x, flat) if flat.any() and np.isfinite(ys[1]).all() else None


def test_some_ops_are_flat_somewhere() -> None:
    assert {"relu", "relu6", "hardtanh", "threshold", "hardshrink"} <= {op.name for op in FLAT if flat_places(op)}


@pytest.mark.parametrize("op", FLAT, ids=lambda op: op.name)
def test_where_a_value_does_not_change_whatever_comes_stays_out(op: Op) -> None:
    found = flat_places(op)
    if found is None:
        pytest.skip("it is nowhere flat")
    call, x, flat = found
    odd = np.where(flat, np.nan, 1.5)
    _, tangent = tg.jvp(call, (tg.asarray(x),), (tg.asarray(odd),))
    assert not np.asarray(tangent.numpy())[flat].any()
    v, x = tg.asarray(np.full(x.shape, 0.7)), tg.asarray(x)
    with tg.GradientTape() as outer:
        outer.watch([x, v])
        with tg.GradientTape() as inner:
            inner.watch(x)
            y = call(x)
        first = inner.gradient(y, x, output_gradients=v)
    second = outer.gradient(first, [x, v], output_gradients=tg.asarray(odd), unconnected_gradients="zero")
    for g in second:
        assert not np.asarray(g.numpy())[flat].any()


PICKING: dict[str, Callable[[Any], Any]] = {
    "max": tg.max,
    "max over an axis": lambda x: tg.max(tg.reshape(x, (2, 2)), axis=0),
    "min of the negative": lambda x: tg.min(-x),
    "nanmax": tg.nanmax,
    "median": lambda x: tg.median(x[1:]),
    "sort": lambda x: tg.sort(x)[2:],
    "max_pool1d": lambda x: tg.nn.max_pool1d(tg.reshape(x, (1, 4, 1)), 2),
    "relu": tg.nn.relu,
    "clip": lambda x: tg.clip(x, -0.5, None),
}


@pytest.mark.parametrize("pick", PICKING)
def test_an_infinite_derivative_of_what_is_not_picked_stays_out_in_all_modes(pick: str) -> None:
    def f(x: Any) -> Any:
        return tg.sum(PICKING[pick](tg.log(x)))

    x = tg.asarray(np.array([0.0, 2.5, 1.5, 2.0]))
    rows = tg.grad(f)
    assert np.isfinite(rows(x).numpy()).all()
    np.testing.assert_array_equal(tg.jacobian(f, mode="forward")(x).numpy(), rows(x).numpy())
    hessian = tg.jacobian(rows)(x).numpy()
    assert np.isfinite(hessian).all()
    for other in (tg.jacobian(rows, mode="forward"), tg.jacobian(tg.jacobian(f, mode="forward"))):
        np.testing.assert_allclose(other(x).numpy(), hessian, rtol=1e-12, atol=1e-14)


def test_a_zero_that_two_products_pass_on_stays_at_third_order() -> None:
    def f(p: Any) -> Any:
        return tg.sum(tg.where(p[:2] > 0, p[:2] ** p[2:], 0.0))

    p = tg.asarray(np.array([0.0, -1.0, 0.5, 0.5]))
    third = tg.grad(lambda p: tg.sum(tg.jacobian(tg.grad(f))(p)))(p)
    np.testing.assert_array_equal(third.numpy(), 0)
