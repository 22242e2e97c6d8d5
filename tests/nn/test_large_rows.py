"""Large arrays take other ways than small ones to sums and exponentials: they have to come to the same."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tapegrad as tg

RNG = np.random.default_rng(9)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("shape", "axis"), [((70, 1000), -1), ((70, 1000), 1), ((9, 8, 64), 2), ((66000,), None), ((300, 300), None)])
def test_sums_of_many_elements(dtype: str, shape: Any, axis: Any) -> None:
    x = (RNG.random(shape) + 0.5).astype(dtype)
    for keepdims in (False, True):
        y = tg.sum(x, axis=axis, keepdims=keepdims)
        expected = np.sum(x.astype(np.longdouble), axis=axis, keepdims=keepdims)
        assert y.dtype == dtype
        assert y.shape == expected.shape
        np.testing.assert_allclose(y.numpy(), expected.astype(dtype), rtol=8 * np.finfo(dtype).eps)


def test_sums_carry_nan_and_infinities() -> None:
    x = np.ones((100, 100), np.float32)
    x[3, 5], x[4, 6], x[5, 7], x[5, 8] = np.nan, np.inf, np.inf, -np.inf
    with np.errstate(invalid="ignore"):  # inf - inf, of which NumPy's sum warns too
        y = tg.sum(x, axis=1).numpy()
        assert math.isnan(tg.sum(np.concatenate([x] * 10)).item())
    np.testing.assert_array_equal(y[2:7], [100, np.nan, np.inf, np.nan, 100])


def rows(kind: str) -> Any:
    x = RNG.normal(0, 3, (40, 50))
    if kind == "high":
        x += 5000
    elif kind == "wide":
        x *= 300
    elif kind == "masked":
        x[2, 3:], x[5] = -np.inf, -np.inf
    return x


@pytest.mark.parametrize("f", [tg.nn.softmax, tg.nn.log_softmax, tg.nn.logsumexp])
@pytest.mark.parametrize("kind", ["mild", "high", "wide", "masked"])
def test_the_softmax_family_is_the_same_row_by_row(f: Any, kind: str) -> None:
    x = rows(kind)
    t = tg.asarray(x)
    with tg.GradientTape() as tape:
        tape.watch(t)
        y = f(t, axis=-1)
    g = np.cos(np.arange(y.size)).reshape(y.shape)
    found = tape.gradient(y, t, output_gradients=tg.asarray(g)).numpy()
    for i, row in enumerate(x):  # too small for the other way
        r = tg.asarray(row)
        with tg.GradientTape() as tape:
            tape.watch(r)
            z = f(r, axis=-1)
        np.testing.assert_allclose(y.numpy()[i], z.numpy(), rtol=1e-12, atol=1e-300)
        one = tape.gradient(z, r, output_gradients=tg.asarray(g[i])).numpy()
        np.testing.assert_allclose(found[i], one, rtol=1e-9, atol=1e-15)


def test_a_nan_stays_in_its_row() -> None:
    x = rows("mild")
    x[7, 7] = np.nan
    y = tg.nn.softmax(x, axis=-1).numpy()
    assert np.isnan(y[7]).all()
    assert np.isfinite(np.delete(y, 7, 0)).all()


@pytest.mark.parametrize("kind", ["mild", "wide"])
def test_rows_of_logsumexp_have_a_second_derivative(kind: str) -> None:
    x = tg.asarray(rows(kind))
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as inner:
            inner.watch(x)
            y = tg.sum(tg.nn.logsumexp(x, axis=1))
        g = inner.gradient(y, x)
        total = tg.sum(g * g)
    p = tg.nn.softmax(x, axis=1).numpy()
    expected = 2 * p * (p - np.sum(p * p, 1, keepdims=True))
    np.testing.assert_allclose(outer.gradient(total, x).numpy(), expected, rtol=1e-8, atol=1e-14)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_huber_losses_of_many_are_those_of_each(dtype: str) -> None:
    x = RNG.normal(0, 2, (3, 15_000)).astype(dtype)
    x[0, :4] = 0.7, -0.7, np.inf, np.nan
    for order in (x, x[:, ::-1], x.T):
        found = tg.nn.huber_loss(order, np.zeros_like(order), delta=0.7, reduction="none").numpy()
        with np.errstate(invalid="ignore"):
            expected = np.where(np.abs(order) <= 0.7, order**2 / 2, 0.7 * (np.abs(order) - 0.35))
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=1e-6 if dtype == "float32" else 1e-14)
