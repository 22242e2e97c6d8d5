"""Partials of which a part waits for the sum over what was repeated: as exact as the products one by one, or not taken."""

from __future__ import annotations

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import DeclarationError
from tapegrad.registry.op import OPS

SHAPES = [((64, 3), (3,)), ((3, 64), (3, 1)), ((2, 40, 3), (40, 1)), ((20, 20), ()), ((4, 5), (5,)), ((0, 3), (3,))]


def _gradient(x1: np.ndarray, x2: np.ndarray, g: np.ndarray) -> np.ndarray:
    a, b = tg.asarray(x1), tg.asarray(x2)
    with tg.GradientTape() as tape:
        tape.watch([a, b])
        with np.errstate(all="ignore"):
            y = a / b
    return tape.gradient(y, b, output_gradients=tg.asarray(g)).numpy()


def _exact(x1: np.ndarray, x2: np.ndarray, g: np.ndarray) -> np.ndarray:
    """In extended precision, one by one; a zero from upstream counts for nothing."""
    wide = np.longdouble
    with np.errstate(all="ignore"):
        c = np.where(g == 0, 0, -g.astype(wide) * (x1.astype(wide) / x2.astype(wide)) / x2.astype(wide))
    axes = tuple(range(c.ndim - x2.ndim)) + tuple(i + c.ndim - x2.ndim for i, n in enumerate(x2.shape) if n == 1)
    return c.sum(axes, keepdims=True).reshape(x2.shape)


def _values(shape: tuple[int, ...], dtype: type, seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng(seed).standard_normal(shape), dtype)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("full", "part"), SHAPES)
def test_the_divisor_of_many(full: tuple[int, ...], part: tuple[int, ...], dtype: type) -> None:
    x1, x2, g = _values(full, dtype), _values(part, dtype, 1), _values(full, dtype, 2)
    got = _gradient(x1, x2, g)
    assert got.dtype == dtype
    assert got.shape == x2.shape
    np.testing.assert_allclose(got, _exact(x1, x2, g).astype(dtype), rtol=2e3 * np.finfo(dtype).eps, atol=1e2 * np.finfo(dtype).eps)


@pytest.mark.parametrize(
    ("x1", "x2", "g"),
    [
        (1e-30, 1e-30, 1e-30),  # the product of quotient and cotangent would be zero
        (1e35, 1e5, 1e10),  # and here infinite
        (1e-8, 1e-8, 1e-38),
        (1e-38, 1.0, 1e-3),
        (1.0, 1e-6, 1.0),
    ],
)
def test_at_extremes(x1: float, x2: float, g: float) -> None:
    a, b, c = np.full((64, 3), x1, "f4"), np.full(3, x2, "f4"), np.full((64, 3), g, "f4")
    exact = _exact(a, b, c).astype("f4")
    np.testing.assert_allclose(_gradient(a, b, c), exact, rtol=1e-5, atol=1e-37)


def test_zero_from_upstream_stays_zero_where_the_divisor_is() -> None:
    x1, x2, g = np.ones((64, 2)), np.array([0.0, 2.0]), np.ones((64, 2))
    g[:, 0] = 0
    assert np.array_equal(_gradient(x1, x2, g), [0.0, -16.0])


def test_nan_is_not_hidden() -> None:
    x1 = np.ones((64, 2))
    x1[5, 1] = np.nan
    got = _gradient(x1, np.array([1.0, 2.0]), np.ones((64, 2)))
    assert got[0] == -64
    assert np.isnan(got[1])


def test_what_cannot_be_declared() -> None:
    with pytest.raises(DeclarationError, match="partial does not name x1"):
        OPS["divide"].summed(x2=lambda F, g, x1: None)
    with pytest.raises(DeclarationError, match="elementwise"):
        OPS["sum"].summed(x=lambda F, g: None)
    assert "x1" not in OPS["divide"].summed_rules
