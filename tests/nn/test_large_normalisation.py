"""Large arrays are normalised a block at a time, whatever their order in memory: as the ops' own text has it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.kernels import numpy as kernels
from tapegrad.kernels import numpy_norm
from tapegrad.ops.nn_norm import standardize, standardize_cotangent

RNG = np.random.default_rng(8)
#: Shape, axes that are normalised over, and the order of axes in memory.
FORMS: list[tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]] = [
    ((700, 60), (-1,), (0, 1)),
    ((700, 60), (0,), (0, 1)),
    ((700, 60), (-1,), (1, 0)),
    ((40, 10, 9, 12), (0, 2, 3), (0, 1, 2, 3)),
    ((40, 10, 9, 12), (0, 2, 3), (1, 2, 3, 0)),
    ((40, 10, 9, 12), (2, 3), (0, 1, 2, 3)),
    ((40, 10, 9, 12), (2, 3), (1, 0, 2, 3)),
    ((40, 10, 9, 12), (0, 1, 2, 3), (0, 1, 2, 3)),
    ((40, 10, 9, 12), (1, 3), (0, 1, 2, 3)),
]


def _array(shape: tuple[int, ...], order: tuple[int, ...], dtype: str) -> Any:
    x = RNG.normal(0.7, 1.5, [shape[k] for k in order]).astype(dtype)
    return x.transpose([order.index(k) for k in range(len(order))])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "axis", "order"), FORMS)
def test_values_and_cotangents(shape: Any, axis: Any, order: Any, dtype: str) -> None:
    x, g = _array(shape, order, dtype), _array(shape, tuple(range(len(shape))), dtype)
    x.flags.writeable = g.flags.writeable = False
    tolerance: dict[str, Any] = {"rtol": 3e-5, "atol": 3e-5} if dtype == "float32" else {"rtol": 1e-11, "atol": 1e-12}
    found = numpy_norm.standardize(x, axis=axis, epsilon=0.1)
    y, mean, variance = standardize.body(kernels, x, axis=axis, epsilon=0.1)
    for ours, expected in zip(found, (y, mean, variance), strict=True):
        assert (ours.shape, ours.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(ours, expected, **tolerance)
    s = np.sqrt(variance + variance.dtype.type(0.1))
    more = [RNG.normal(size=mean.shape).astype(dtype) for _ in range(2)]
    got = numpy_norm.standardize_cotangent(g, y, s, *more, axis=axis)
    expected = standardize_cotangent.body(kernels, g, y, s, *more, axis=axis)
    assert (got.shape, got.dtype) == (expected.shape, expected.dtype)
    np.testing.assert_allclose(got, expected, **tolerance)


def test_most_forms_are_seen_as_blocks() -> None:
    seen = [numpy_norm._form(_array(shape, order, "float32"), axis) for shape, axis, order in FORMS]
    assert [form is not None for form in seen] == [True] * 6 + [False, True, False]
