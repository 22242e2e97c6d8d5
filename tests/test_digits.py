"""Sums of many numbers keep the digits that their dtype has room for."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.registry.backends import making_on


@pytest.mark.parametrize("shape", [(100_000, 3), (2, 40_000, 3), (5_000, 2)])
def test_columns_of_many_rows_add_up_as_in_double_precision(shape: tuple[int, ...]) -> None:
    x = np.float32(1e6) + np.cos(np.arange(np.prod(shape))).astype(np.float32).reshape(shape)
    expected = x.astype(float).mean(axis=-2)
    assert tg.mean(tg.asarray(x), axis=-2).numpy() == pytest.approx(expected, rel=1e-6)


def test_the_cotangent_of_what_was_broadcast_over_many_rows_keeps_its_digits() -> None:
    g = np.full((100_000, 2), 0.1, np.float32)
    b = tg.asarray(np.zeros(2, np.float32))
    with tg.GradientTape() as tape:
        tape.watch(b)
        y = tg.asarray(g) + b
    assert tape.gradient(y, b, output_gradients=tg.asarray(g)).numpy() == pytest.approx(1e5 * float(g[0, 0]), rel=1e-5)


@pytest.mark.parametrize("dtype", [tg.float16, tg.bfloat16])
def test_running_sums_and_products_of_half_precision_do_not_come_to_a_halt(dtype: Any) -> None:
    half = tg.full((10_000,), 0.5, dtype=dtype)
    assert float(tg.cumulative_sum(half)[-1]) == pytest.approx(5000, rel=4e-3)
    assert float(tg.cumulative_sum(half, axis=0, include_initial=True)[-1]) == pytest.approx(5000, rel=4e-3)
    assert float(tg.cumulative_sum(tg.astype(half, tg.float32), dtype=dtype)[-1]) == pytest.approx(5000, rel=4e-3)
    grows = tg.full((400,), 1.0078125, dtype=dtype)
    assert float(tg.cumulative_prod(grows)[-1]) == pytest.approx(1.0078125**400, rel=4e-3)
    assert tg.cumulative_prod(grows).dtype == dtype


@pytest.mark.parametrize("axis", [0, 1])
def test_the_spread_of_many_large_numbers_is_that_about_their_mean(axis: int) -> None:
    x = (1e6 + 3 * np.cos(np.arange(40_000.0))).astype(np.float32).reshape((-1, 2) if axis == 0 else (2, -1))
    exact = x.astype(float)
    assert tg.var(tg.asarray(x), axis=axis).numpy() == pytest.approx(exact.var(axis=axis), rel=1e-3)
    found = tg.grad(lambda x: tg.sum(tg.std(x, axis=axis)))(tg.asarray(x)).numpy()
    slope = (exact - exact.mean(axis=axis, keepdims=True)) / (20_000 * exact.std(axis=axis, keepdims=True))
    np.testing.assert_allclose(found, slope, rtol=1e-2, atol=1e-2 * np.abs(slope).max())


@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32])
@pytest.mark.parametrize("backend", ["numpy", "tensorflow"])
def test_the_mean_of_large_integers_does_not_wrap(dtype: Any, backend: str) -> None:
    if backend == "tensorflow":
        pytest.importorskip("tensorflow")
    x = np.full(12, np.iinfo(dtype).max // 2 + 1, dtype)
    x[::2] -= dtype(1 << 20)
    with making_on(backend):
        assert float(tg.mean(tg.asarray(x))) == x.astype(float).mean()
        assert float(tg.std(tg.asarray(x))) == pytest.approx(1 << 19, rel=1e-2)
