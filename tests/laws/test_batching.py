"""Batching equals the loop: values, and cotangents, of every op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings

import tapegrad as tg
from tapegrad.core.tensor import linked, tensor
from tapegrad.errors import ArgumentError, BatchedValueError
from tapegrad.kernels.batched import Batched
from tapegrad.registry.batching import batched, new_level
from tapegrad.registry.op import OPS
from tapegrad.testing import Case, Draw
from tapegrad.testing.strategies import draws
from tapegrad.testing.subject import is_floating

if TYPE_CHECKING:
    from tapegrad.registry.op import Op

SIZE = 3
#: Ops whose output's shape depends on values: the items of a batch could not be stacked.
UNSTACKABLE = ("unique_", "nonzero")
COUNTING = ("repeat", "run_index")
OPS_WITH_ARRAYS = [
    op
    for op in OPS.values()
    if op.arrays and not isinstance(op.laws, str) and not op.name.startswith(UNSTACKABLE)
]
DIFFERENTIABLE = [op for op in OPS_WITH_ARRAYS if op.kind != "constant"]
EXAMPLES = settings(max_examples=-(-settings().max_examples // 5))


def members(op: Op, x: Any) -> list[Any]:
    """A few arrays like this one: scaled a little, so that what is positive definite or sorted stays so.

    Integers and booleans have the same elements in another order, so that they stay in range.
    """
    if not is_floating(x):
        if op.name == "searchsorted":  # its integers are an order
            return [x] * SIZE
        return [np.roll(x.reshape(-1), k).reshape(x.shape) for k in range(SIZE)]
    return [np.asarray(x * np.asarray(1 + 0.015 * k, x.dtype), x.dtype) for k in range(SIZE)]


def item(y: Any, k: int) -> Any:
    """One item of an output, which is the same for all where the op looks at shapes alone."""
    raw = y.raw if isinstance(y, tg.Tensor) else y
    return np.asarray(raw.value[k] if type(raw) is Batched else raw)


def agree(a: Any, b: Any) -> None:
    assert a.shape == b.shape
    assert a.dtype == b.dtype
    scale = np.abs(b[np.isfinite(b)]).max(initial=1.0) if b.dtype.kind in "fc" else 0
    np.testing.assert_allclose(a, b, rtol=1e-9, atol=1e-11 * scale)


def case_of(op: Op, draw: Draw) -> Case:
    return Case(op, draw.again(complex=False) if draw.complex and (op.real or op.kind == "constant") else draw)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("which", ["all", "floating", "first", "integers"])
@pytest.mark.parametrize("op", OPS_WITH_ARRAYS, ids=lambda op: op.name)
@EXAMPLES
@given(draw=draws())
def test_a_batch_of_arguments_gives_what_the_loop_gives(op: Op, which: str, draw: Draw) -> None:
    case = case_of(op, draw)
    arrays = [i for i, x in enumerate(case.xs) if isinstance(x, np.ndarray | np.generic)]
    floating = [i for i in arrays if is_floating(case.xs[i])]
    inside = {
        "all": arrays,
        "floating": floating,
        "first": floating[:1],
        "integers": [i for i in arrays if i not in floating],
    }[which]
    if op.name in COUNTING:  # how often: that decides on the shape
        inside = [i for i in inside if i in floating]
    if not inside:
        return
    rows = {i: members(op, case.xs[i]) for i in inside}
    level = new_level(SIZE)
    together = case.call(
        [tensor(batched(np.stack(rows[i]), level)) if i in rows else x for i, x in enumerate(case.xs)]
    )
    for k in range(SIZE):
        alone = case.call([tg.asarray(rows[i][k]) if i in rows else x for i, x in enumerate(case.xs)])
        assert len(alone) == len(together)
        for a, b in zip(together, alone, strict=True):
            agree(item(a, k), np.asarray(b.raw if isinstance(b, tg.Tensor) else b))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("op", DIFFERENTIABLE, ids=lambda op: op.name)
@EXAMPLES
@given(draw=draws())
def test_a_batch_of_cotangents_gives_what_the_loop_gives(op: Op, draw: Draw) -> None:
    case = case_of(op, draw)
    xs = [tg.asarray(x) if is_floating(x) else x for x in case.xs]
    sources = [x for x in xs if isinstance(x, tg.Tensor)]
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(sources)
        ys = [y for y in case.call(xs) if is_floating(y.raw)]
    if not sources or not ys:
        return
    gs = [[np.asarray(draw.noise(y.shape, y.dtype)) for _ in range(SIZE)] for y in ys]
    level = new_level(SIZE)
    rows = [linked(batched(np.stack(g), level), None) for g in gs]
    together = tape.gradient(ys, sources, output_gradients=rows)
    for k in range(SIZE):
        alone = tape.gradient(ys, sources, output_gradients=[tg.asarray(g[k]) for g in gs])
        for a, b in zip(together, alone, strict=True):
            assert (a is None) == (b is None)
            if b is not None:
                agree(item(a, k), b.numpy())


def test_counts_that_differ_within_a_batch_are_refused() -> None:
    with pytest.raises(ArgumentError, match="different shapes"):
        tg.repeat(tg.asarray([1.5, 2.5]), tensor(batched(np.ones((3, 2), int))))


@pytest.mark.parametrize("name", ["unique_values", "unique_all", "nonzero"])
def test_what_depends_on_values_for_its_shape_refuses_a_batch(name: str) -> None:
    with pytest.raises(BatchedValueError, match="no batching rule"):
        OPS[name].entry(tensor(batched(np.ones((3, 2)))))


SEVERAL = [op for op in DIFFERENTIABLE if len(op.arrays) > 1 or op.variadic]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("op", SEVERAL, ids=lambda op: op.name)
@EXAMPLES
@given(draw=draws())
def test_an_argument_without_the_batch_has_the_sum_from_outside_and_each_ones_derivative_inside(
    op: Op, inside: bool, draw: Draw
) -> None:
    case = case_of(op, draw)
    arrays = [i for i, x in enumerate(case.xs) if isinstance(x, np.ndarray | np.generic)]
    floating = [i for i in arrays if is_floating(case.xs[i])]
    if len(arrays) < 2 or not floating:
        return
    one = floating[int(draw.rng.integers(len(floating)))]
    rows = {
        i: [tg.asarray(r) for r in members(op, case.xs[i])]
        for i in arrays
        if i != one and not (op.name in COUNTING and i not in floating)
    }
    if not rows:
        return
    w = tg.asarray(case.xs[one])
    alone = [case.call([w if i == one else rows[i][k] if i in rows else x for i, x in enumerate(case.xs)]) for k in range(SIZE)]
    gs = [np.asarray(draw.noise(y.raw.shape, y.raw.dtype)) for y in alone[0] if is_floating(y.raw)]
    if not gs:
        return

    def pulled(*batch: Any) -> Any:
        """Each item's outputs, weighted and summed, with their gradient for what all items share."""
        items = dict(zip(rows, batch, strict=True))

        def total(w: Any) -> Any:
            ys = case.call([w if i == one else items.get(i, x) for i, x in enumerate(case.xs)])
            ys = [y for y in ys if is_floating(y.dtype.type(0))]
            return [tg.sum(tg.real(y * g) if g.dtype.kind == "c" else y * g) for y, g in zip(ys, gs, strict=True)]

        return total

    def gradient(f: Any, w: Any) -> Any:
        with tg.GradientTape() as tape:
            tape.watch(w)
            ys = f(w)
        return tape.gradient(ys, w, unconnected_gradients="zero")

    stacked = [tg.stack(r) for r in rows.values()]
    loop = [gradient(pulled(*(r[k] for r in rows.values())), w + 0).numpy() for k in range(SIZE)]
    if inside:
        found = tg.vmap(lambda *batch: gradient(pulled(*batch), w + 0))(*stacked).numpy()
        for k in range(SIZE):
            agree(found[k], loop[k])
    else:
        found = gradient(lambda w: tg.vmap(lambda *batch: pulled(*batch)(w))(*stacked), w + 0).numpy()
        agree(found, np.sum(loop, axis=0, dtype=found.dtype))
