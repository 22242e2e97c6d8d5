"""NumPy's functions that fit, count and rank, on recorded tensors: NumPy's values, and derivatives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError

RNG = np.random.default_rng(8)
A, B = RNG.standard_normal((5, 3)), RNG.standard_normal((5, 2))
X, Y = np.linspace(-1.3, 1.1, 6), RNG.standard_normal((6, 2))
PLACES = np.array([0, 2, 2, 1, 0, 5])

CALLS: dict[str, tuple[Any, ...]] = {
    "lstsq of a vector": (lambda a, b: np.linalg.lstsq(a, b[:, 0]), A, B),
    "lstsq": (lambda a, b: np.linalg.lstsq(a, b, rcond=None), A, B),
    "lstsq of few rows": (lambda a, b: np.linalg.lstsq(a[:2], b[:2]), A, B),
    "lstsq of rank 1": (lambda a: np.linalg.lstsq(a, np.ones(3), rcond=1e-9), np.outer([1.0, 2.0, 3.0], [1.0, 0.5])),
    "polyfit": (lambda x, y: np.polyfit(x, y, 2), X, Y),
    "polyfit of a vector": (lambda x, y: np.polyfit(x, y[:, 0], 3, w=np.arange(1.0, 7)), X, Y),
    "cond": (lambda a: np.linalg.cond(a[:3]), A),
    "cond by columns": (lambda a: np.linalg.cond(a[:3], 1), A),
    "cond, inverted": (lambda a: np.linalg.cond(a, p=-2), A),
    "bincount": (lambda x: np.bincount(PLACES, x), X),
    "bincount of more": (lambda x: np.bincount(PLACES, weights=x, minlength=9), X),
    "partition": (lambda x: np.sort(np.partition(x, 2)), X),
    "resize": (lambda x: np.resize(x, (2, 5)), X),
    "ldexp": (lambda x: np.ldexp(x, np.array([0, 1, 2, -1, 3, 4])), X),
    "cbrt": (np.cbrt, X),
}


def recorded(f: Any, *arrays: Any) -> tuple[Any, list[Any]]:
    tensors = [tg.asarray(a) for a in arrays]
    with tg.GradientTape() as tape:
        tape.watch(tensors)
        found = f(*tensors)
        first = found[0] if isinstance(found, tuple) else found
        total = tg.sum(first * np.cos(np.arange(first.size)).reshape(first.shape))
    return found, tape.gradient(total, tensors, unconnected_gradients="zero")


@pytest.mark.parametrize("name", CALLS)
def test_values_are_those_of_numpy_and_gradients_those_of_differences(name: str) -> None:
    f, *arrays = CALLS[name]
    found, gradients = recorded(f, *arrays)
    expected = f(*arrays)
    pairs = zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]
    for one, other in pairs:
        np.testing.assert_allclose(one.numpy() if isinstance(one, tg.Tensor) else one, other, rtol=1e-9, atol=1e-12)
    if name == "lstsq of rank 1":
        return  # nearby matrices have another rank

    def total(*arrays: Any) -> Any:
        y = f(*arrays)
        y = np.asarray(y[0] if isinstance(y, tuple) else y)
        return np.sum(y * np.cos(np.arange(y.size)).reshape(y.shape))

    for i, g in enumerate(gradients):
        direction = RNG.standard_normal(arrays[i].shape)
        ends = [[a + (h * direction if k == i else 0) for k, a in enumerate(arrays)] for h in (1e-6, -1e-6)]
        slope = (total(*ends[0]) - total(*ends[1])) / 2e-6
        np.testing.assert_allclose(np.sum(g.numpy() * direction), slope, rtol=1e-5, atol=1e-7)


def test_the_cube_root_is_infinitely_steep_at_zero_and_a_zero_from_upstream_stays_one() -> None:
    def slope(x: float, weight: float) -> float:
        return float(tg.grad(lambda x: weight * np.cbrt(x))(tg.asarray(x, dtype=tg.float64)))

    assert slope(0.0, 1.0) == np.inf
    assert slope(0.0, 0.0) == 0
    assert slope(-8.0, 1.0) == pytest.approx(1 / 12)


def test_none_in_the_place_of_an_array_is_none() -> None:
    assert np.asarray(np.bincount(tg.asarray([1, 2, 2]), None, 4)).tolist() == [0, 1, 2, 0]
    assert np.asarray(np.average(tg.asarray([1.0, 4.0]), None, None)).tolist() == 2.5


def test_what_does_not_fit_is_refused() -> None:
    x = tg.Variable(X)
    with pytest.raises(ArgumentError, match="one weight for each"):
        np.bincount(PLACES[:3], x)
    with pytest.raises(ArgumentError, match="integers >= 0"):
        np.bincount(-PLACES, x)
    with pytest.raises(ArgumentError, match="one number >= 0"):
        np.polyfit(x, Y[:, 0], [1, 2])
    with pytest.raises(ArgumentError, match="places among 6"):
        np.partition(x, 6)
