"""A batch on TensorFlow's kernels gives what the loop gives: values, and cotangents, of every op."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.core.tensor import linked, tensor
from tapegrad.kernels.batched import Batched
from tapegrad.registry.backends import making_on, moved
from tapegrad.registry.batching import batched
from tapegrad.registry.op import OPS
from tapegrad.testing import Case
from tapegrad.testing.subject import is_floating

if TYPE_CHECKING:
    from tapegrad.registry.op import Op

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")

SIZE = 2
#: Ops whose output's shape depends on values: the items of a batch could not be stacked.
UNSTACKABLE = ("unique_", "nonzero")
#: What chooses between vectors or matrices that are equally good may choose otherwise in a batch; the laws look at
#: what is unique.
CHOOSING = ("eig", "qr", "svd")
TESTABLE = [
    op
    for op in OPS.values()
    if op.arrays and not isinstance(op.laws, str) and not op.name.startswith((*UNSTACKABLE, *CHOOSING))
]


def members(x: Any) -> list[Any]:
    """A few arrays like this one: scaled a little, so that what is positive definite or sorted stays so."""
    return [np.asarray(x * np.asarray(1 + 0.015 * k, x.dtype), x.dtype) for k in range(SIZE)]


def item(y: Any, k: int) -> Any:
    """One item of an output, which is the same for all where the op looks at shapes alone."""
    raw = y.array if isinstance(y, tg.Tensor) else y
    return np.asarray(raw.value[k] if type(raw) is Batched else raw)


def batch(rows: list[Any], level: Any) -> Any:
    return batched(moved(np.stack(rows), "tensorflow"), level)


def agree(a: Any, b: Any) -> None:
    assert a.shape == b.shape
    assert a.dtype == b.dtype
    scale = np.abs(b[np.isfinite(b)]).max(initial=1.0) if b.dtype.kind in "fc" else 0
    rtol = 1e3 * np.finfo(b.dtype).eps if b.dtype.kind in "fc" else 0
    np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * scale)


@pytest.mark.parametrize("op", TESTABLE, ids=lambda op: op.name)
def test_a_batch_of_arguments_gives_what_the_loop_gives(op: Op, drawing: Any) -> None:
    for draw in drawing(op, "batch of arguments"):
        arguments_agree(Case(op, draw))


def arguments_agree(case: Case) -> None:
    inside = [i for i, x in enumerate(case.xs) if is_floating(x)]
    if not inside:
        return
    rows = {i: members(case.xs[i]) for i in inside}
    with making_on("tensorflow"):
        level = batched(np.zeros(1)).level
        together = case.call([tensor(batch(rows[i], level)) if i in rows else x for i, x in enumerate(case.xs)])
        for k in range(SIZE):
            alone = case.call([tg.asarray(rows[i][k]) if i in rows else x for i, x in enumerate(case.xs)])
            for a, b in zip(together, alone, strict=True):
                agree(item(a, k), np.asarray(b.array))


@pytest.mark.parametrize("op", [op for op in TESTABLE if op.kind != "constant"], ids=lambda op: op.name)
def test_a_batch_of_cotangents_gives_what_the_loop_gives(op: Op, drawing: Any) -> None:
    for draw in drawing(op, "batch of cotangents"):
        cotangents_agree(Case(op, draw))


def cotangents_agree(case: Case) -> None:
    with making_on("tensorflow"):
        xs = [tg.asarray(x) if is_floating(x) else x for x in case.xs]
        sources = [x for x in xs if isinstance(x, tg.Tensor)]
        with tg.GradientTape(persistent=True) as tape:
            tape.watch(sources)
            ys = [y for y in case.call(xs) if y.dtype.kind in "fc"]
        if not sources or not ys:
            return
        gs = [[np.asarray(case.draw.noise(y.shape, y.dtype)) for _ in range(SIZE)] for y in ys]
        level = batched(np.zeros(1)).level
        rows = [linked(batch(g, level), None) for g in gs]
        together = tape.gradient(ys, sources, output_gradients=rows)
        for k in range(SIZE):
            alone = tape.gradient(ys, sources, output_gradients=[tg.asarray(g[k]) for g in gs])
            for a, b in zip(together, alone, strict=True):
                assert (a is None) == (b is None)
                if b is not None:
                    agree(item(a, k), b.numpy())
