"""Sums that are put off: what is added up in one go is what is added up one by one, and nothing is held once it is read."""

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg

RNG = np.random.default_rng(5)
W, B, X = (RNG.normal(size=s).astype(np.float32) for s in ((4, 3), (3,), (2, 4)))
#: Losses that use `w` and `b` once a step, so that their cotangents are products of matrices, sums over rows, products, pieces.
LOSSES: dict[str, Callable[..., Any]] = {
    "matrix products of one length": lambda x, w, b, n: sum((tg.sum(tg.tanh(tg.nn.linear(x * float(k), w, b))) for k in range(n)), 0.0),
    "matrix products of several lengths": lambda x, w, b, n: sum(
        (tg.sum(tg.nn.linear(x[: 1 + k % 2], w, b) ** 2) for k in range(n)), 0.0
    ),
    "biases of two ranks": lambda x, w, b, n: sum(
        (tg.sum(tg.exp((x @ w if k % 2 else tg.stack([x @ w] * 3)) + b)) for k in range(n)), 0.0
    ),
    "products": lambda x, w, b, n: sum((tg.sum((w + float(k)) * w * tg.exp(w)) + tg.sum(b * b) for k in range(n)), 0.0),
    "pieces beside products": lambda x, w, b, n: sum((tg.sum(w[1:] * w[:-1]) + tg.sum(w * w) + tg.sum(b[k % 3 :]) for k in range(n)), 0.0),
}


def cotangents(loss: Callable[..., Any], n: int, backend: str, dtype: str) -> list[Any]:
    x, w, b = (tg.asarray(v.astype(dtype), backend=backend) for v in (X, W, B))
    with tg.GradientTape() as tape:
        tape.watch([w, b])
        y = loss(x, w, b, n)
    return [g.numpy() for g in tape.gradient(y, [w, b])]


@pytest.mark.parametrize("n", [1, 3, 5, 70])
@pytest.mark.parametrize("what", LOSSES)
def test_gradients_are_those_of_numpy(what: str, n: int) -> None:
    for dtype, rtol in (("float32", 2e-5), ("float64", 1e-12)):
        for a, b in zip(*(cotangents(LOSSES[what], n, backend, dtype) for backend in ("tensorflow", "numpy")), strict=True):
            assert a.dtype == b.dtype == dtype
            np.testing.assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(b).max())


def test_a_product_that_is_put_off_holds_nothing_once_it_is_read() -> None:
    x = tg.asarray(np.full((8, 8), 1.5, np.float32), backend="tensorflow").array
    y = tg.asarray(np.full((8, 8), 2.5, np.float32), backend="tensorflow").array
    refs = [weakref.ref(x.bare), weakref.ref(y.bare)]
    before = x
    x *= y
    np.testing.assert_array_equal(before, 1.5)
    del before, y
    assert all(ref() is not None for ref in refs)
    np.testing.assert_array_equal(x, 3.75)
    assert all(ref() is None for ref in refs)


def test_what_is_large_is_computed_at_once() -> None:
    x = tg.asarray(np.ones((512, 512), np.float32), backend="tensorflow").array
    ref = weakref.ref(x.bare)
    x *= 2.0 * x
    assert ref() is None
    np.testing.assert_array_equal(x, 2)
