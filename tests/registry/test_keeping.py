"""Ops that keep more than their value: what is kept, when it is computed, what it means to higher derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import DeclarationError
from tapegrad.registry import elementwise, primitive
from tapegrad.registry.batching import batched_space
from tapegrad.registry.op import OPS, Op
from tapegrad.registry.space import keeping, space_of
from tapegrad.testing import Case, Draw

KEEPING = [op for op in OPS.values() if op.kept]
runs: list[str] = []


@primitive(public=False, laws=lambda draw: (draw.array("n"),))
def cubed_slope(xp: Any, x: Any, /, scale: float) -> Any:
    """3 scale x**2."""
    runs.append("slope")
    return 3 * scale * x * x


cubed_slope.pullback(x=lambda F, g, x, scale: g * (6 * scale * x))


@primitive(public=False, laws=lambda draw: (draw.array("n"),))
def cubed(xp: Any, x: Any, /, scale: float) -> Any:
    """scale x**3."""
    runs.append("value")
    return scale * x * x * x


cubed.keeping(slope=cubed_slope)
cubed.pullback(x=lambda F, g, slope: g * slope)
batched_space()  # which learns of an op that is there, or is declared later
for _op in (cubed, cubed_slope):  # the laws of all ops are no matter of theirs
    del OPS[_op.key]


@pytest.fixture(autouse=True)
def _counted() -> None:
    runs.clear()


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("backend", ["numpy", pytest.param("tensorflow", marks=pytest.mark.interop)])
@pytest.mark.parametrize("op", KEEPING, ids=lambda op: op.name)
def test_the_kernel_gives_the_value_and_those_of_the_ops_kept(op: Op, backend: str, seed: int) -> None:
    if backend == "tensorflow":
        pytest.importorskip("tensorflow")
    case = Case(op, Draw(seed))
    raws = [tg.asarray(x, backend=backend).array for x in case.xs]
    space = space_of(raws)
    found = keeping(space, op)(*raws, **case.params)
    for y, other in zip(found, (op, *op.kept.values()), strict=True):
        expected = getattr(space, other.key)(*raws, **{p.name: case.params[p.name] for p in other.params if p.name in case.params})
        assert (y.shape, y.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(np.asarray(y), np.asarray(expected), rtol=1e-12, atol=1e-15)


def test_there_are_some() -> None:
    assert OPS["cross_entropy"] in KEEPING


def test_what_is_kept_is_computed_where_the_op_is_recorded() -> None:
    x = tg.asarray([1.0, 2.0])
    cubed(x, 2.0)
    assert runs == ["value"]
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = cubed(x, 2.0)
    assert sorted(runs) == ["slope", "value", "value"]
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), [6, 24])
    assert len(runs) == 3, "it was computed again"


def test_to_the_third_derivative() -> None:
    x = tg.asarray([1.0, 2.0], dtype=tg.float64)
    with tg.GradientTape() as third:
        third.watch(x)
        with tg.GradientTape() as second:
            second.watch(x)
            with tg.GradientTape() as first:
                first.watch(x)
                y = cubed(x, 2.0)
            d1 = first.gradient(y, x)
        d2 = second.gradient(d1, x)
    d3 = third.gradient(d2, x)
    for got, expected in ((d1, [6, 24]), (d2, [12, 24]), (d3, [12, 12])):
        np.testing.assert_allclose(got.numpy(), expected)
    assert runs.count("slope") == 1


def test_in_forward_mode_and_of_both_modes() -> None:
    x, t = tg.asarray([1.0, 2.0]), tg.asarray([1.0, 0.5])
    np.testing.assert_allclose(tg.jvp(lambda x: cubed(x, 2.0), (x,), (t,))[1].numpy(), [6, 12])
    slope = tg.grad(lambda x: tg.sum(cubed(x, 2.0)))
    np.testing.assert_allclose(tg.jvp(slope, (x,), (t,))[1].numpy(), [12, 12])


def test_in_a_batch() -> None:
    xs = tg.asarray([[1.0, 2.0], [3.0, 4.0]])
    got = tg.vmap(tg.grad(lambda x: tg.sum(cubed(x, 2.0))))(xs)
    np.testing.assert_allclose(got.numpy(), 6 * xs.numpy() ** 2)
    logits, labels = tg.asarray(np.arange(12.0).reshape(2, 3, 2)), tg.asarray([[0, 1, 1], [1, 0, 0]])
    each = tg.vmap(tg.grad(tg.nn.cross_entropy))(logits, labels)
    for i in range(2):
        np.testing.assert_allclose(each.numpy()[i], tg.grad(tg.nn.cross_entropy)(logits[i], labels[i]).numpy(), rtol=1e-12)


def test_the_loss_of_no_examples_is_recorded_as_it_is_computed() -> None:
    x, labels = tg.zeros((0, 3)), tg.asarray(np.zeros(0, int))
    with tg.GradientTape() as tape:
        tape.watch(x)
        with np.errstate(invalid="ignore"):
            loss = tg.nn.cross_entropy(x, labels)
    assert np.isnan(loss.numpy())
    assert tape.gradient(loss, x).shape == (0, 3)


def test_half_precision_of_many_examples_and_classes() -> None:
    x = tg.zeros((1000, 100), dtype=tg.float16)
    with tg.GradientTape() as tape:
        tape.watch(x)
        loss = tg.nn.cross_entropy(x, tg.zeros(1000, dtype=tg.int64))
    np.testing.assert_allclose(tape.gradient(loss, x).numpy()[0, 1], 1e-5, rtol=0.01)


def test_what_cannot_be_kept_is_refused() -> None:
    with pytest.raises(DeclarationError, match="before its pullback"):
        cubed.keeping(other=cubed_slope)
    with pytest.raises(DeclarationError, match="a primitive of one output, before"):
        OPS["sin"].keeping(slope=OPS["cos"])

    @primitive(public=False, laws=lambda draw: (draw.array("n"),))
    def squared(xp: Any, x: Any, /) -> Any:
        """x**2."""
        return x * x

    with pytest.raises(DeclarationError, match="of the same arrays, with parameters of this op's names, got"):
        squared.keeping(slope=cubed_slope)
    with pytest.raises(DeclarationError, match="of the same arrays, with parameters of this op's names, got"):
        squared.keeping(slope=elementwise(public=False)(squared.body))
    del OPS[squared.key]
