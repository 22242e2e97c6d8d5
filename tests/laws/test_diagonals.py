"""A batch that is known to be zero but for a diagonal gives what the same batch gives in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.kernels.batched import Batched
from tapegrad.registry.batching import batched_space, new_level
from tapegrad.registry.op import OPS

if TYPE_CHECKING:
    from tapegrad.registry.op import Op

WITH_A_RULE = [op for op in OPS.values() if op.diagonal_rule is not None]


def _full(x: Batched) -> Batched:
    return Batched(x.value.copy(), x.level)


@pytest.mark.parametrize("shape", [(3,), (2, 3), (), (1,)])
@pytest.mark.parametrize("op", WITH_A_RULE, ids=lambda op: op.name)
def test_as_in_full(op: Op, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    elements = rng.standard_normal(shape)
    kept = 0
    for others in ((*shape,), (4, *shape), (*shape[:-1], 1), ()):
        for swapped in (False, True):
            level = new_level(elements.size)
            x, y = Batched.of_diagonal(elements, level), rng.standard_normal(others)
            try:
                expected = getattr(batched_space(), op.key)(*((y, _full(x)) if swapped else (_full(x), y)))
            except ValueError:  # a product of matrices that do not fit
                continue
            got = getattr(batched_space(), op.key)(*((y, x) if swapped else (x, y)))
            kept += got.diagonal is not None
            assert got.shape == expected.shape
            assert got.dtype == expected.dtype
            np.testing.assert_allclose(got.value, expected.value, rtol=1e-14)
    if op.pointwise:
        assert kept


def test_shape_and_dtype_need_no_zeros() -> None:
    x = Batched.of_diagonal(np.ones((2, 3), np.float32), new_level(6))
    assert (x.shape, x.ndim, x.size, x.dtype) == ((2, 3), 2, 6, np.float32)
    with pytest.raises(AttributeError, match="strides"):
        _ = x.strides
    assert x.value.shape == (6, 2, 3)
    assert np.array_equal(x.value.reshape(6, 6), np.eye(6))


@pytest.mark.parametrize("name", ["tanh", "sin", "sqrt", "exp", "negative"])
def test_jacobian_of_elementwise_functions(name: str) -> None:
    x = tg.asarray(np.array([[0.5, 1.0], [2.0, 3.0]]))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = getattr(tg, name)(x) * 2.0
    rows = tape.jacobian(y, x, vectorized=False)
    assert np.allclose(tape.jacobian(y, x).numpy(), rows.numpy(), rtol=1e-14)


def test_an_infinite_slope_is_on_the_diagonal_alone() -> None:
    x = tg.asarray(np.array([0.0, 4.0]))
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.sqrt(x)
    assert np.array_equal(tape.jacobian(y, x).numpy(), [[np.inf, 0.0], [0.0, 0.25]])


def test_jacobian_under_an_outer_tape() -> None:
    x, a = tg.asarray(np.array([0.3, -0.7])), tg.asarray(np.array([[1.0, 2.0], [3.0, -1.0]]))
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as inner:
            inner.watch(x)
            y = tg.tanh(a @ x)
        jacobian = inner.jacobian(y, x)
        size = tg.sum(jacobian * jacobian)
    t = np.tanh(a.numpy() @ x.numpy())
    expected = sum(
        2 * (1 - t[i] ** 2) * -2 * t[i] * (1 - t[i] ** 2) * np.sum(a.numpy()[i] ** 2) * a.numpy()[i] for i in range(2)
    )
    assert np.allclose(outer.gradient(size, x).numpy(), expected)
