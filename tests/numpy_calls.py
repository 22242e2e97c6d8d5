"""A NumPy function on a recorded tensor, against NumPy's values and differences of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import tapegrad as tg

if TYPE_CHECKING:
    from collections.abc import Callable


def check(function: Callable[[Any], Any], x: np.ndarray, *, step: float = 1e-6) -> None:
    """The value is NumPy's, and records; its gradient is that of central differences."""
    wanted = np.asarray(function(x.copy()))
    t = tg.asarray(x.copy())
    source = t
    with tg.GradientTape() as tape:
        tape.watch(t)
        source = tg.positive(t)  # a function may write into its argument
        y = function(source)
    assert isinstance(y, tg.Tensor)
    assert (y.shape, y.dtype) == (wanted.shape, wanted.dtype)
    np.testing.assert_allclose(y.numpy(), wanted, rtol=1e-12, atol=1e-14)
    weight = np.random.default_rng(1).normal(size=wanted.shape)
    found = tape.gradient(y, t, output_gradients=tg.asarray(weight.astype(wanted.dtype))).numpy()
    expected = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[i] = step
        change = np.asarray(function(x + e)) - np.asarray(function(x - e))
        expected[i] = np.sum(np.real(weight * change)) / (2 * step)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=2e-7)
