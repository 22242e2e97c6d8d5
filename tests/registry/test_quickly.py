"""Kernels that are asked before an op's own text, and may decline."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.registry.op import OPS
from tapegrad.registry.space import NUMPY, Space


@pytest.mark.parametrize("name", [n.removesuffix("_quickly") for n in vars(NUMPY.kernels) if n.endswith("_quickly")])
def test_it_belongs_to_an_op_without_a_kernel(name: str) -> None:
    assert name in OPS
    assert not hasattr(NUMPY.kernels, name)


def test_the_op_computes_where_the_kernel_declines() -> None:
    def others_quickly(x: Any, *, axis: Any = None, value: Any = None) -> Any:
        return None if (x == 0).any() else "quick"

    kernels = {k: v for k, v in vars(NUMPY.kernels).items() if not k.endswith("_quickly")}
    space = Space("made up", 0, SimpleNamespace(**kernels, others_quickly=others_quickly))
    assert space.others(np.array([2.0, 3.0])) == "quick"
    assert space.others(np.array([2.0, 0.0, 5.0])).tolist() == [0.0, 10.0, 0.0]


@pytest.mark.parametrize("least", [1.0, 0.0])
@pytest.mark.parametrize("f", [tg.prod, lambda x: tg.sum(tg.cumulative_prod(x))], ids=["prod", "cumulative_prod"])
def test_higher_derivatives_are_those_of_the_ops_text(f: Any, least: float) -> None:
    x = tg.asarray(np.array([1.5, least, -2.0, 0.5]))
    reverse = tg.hessian(f)(x).numpy()
    step = 1e-5
    rows = []
    for k in range(4):
        ends = [tg.grad(f)(x + tg.asarray(sign * step * np.eye(4)[k])).numpy() for sign in (1, -1)]
        rows.append((ends[0] - ends[1]) / (2 * step))
    np.testing.assert_allclose(reverse, rows, rtol=1e-8, atol=1e-9)
