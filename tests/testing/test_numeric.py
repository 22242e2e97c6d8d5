"""Whether the numeric side tells right derivatives from wrong ones, and says so when it cannot tell."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tapegrad.testing import numeric
from tapegrad.testing.noise import Noise, table
from tapegrad.testing.numeric import OK, UNRESOLVED, WRONG, all_finite, compare

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[[Any], Any]


def single(x: Any) -> Any:
    return np.sin(x.astype(np.float32)).astype(np.float64)


FUNCTIONS: dict[str, tuple[Function, Function, float]] = {
    "sin": (np.sin, np.cos, 0.7),
    "exp": (np.exp, np.exp, 3.1),
    "log at 1e9": (np.log, np.reciprocal, 1e9),
    "a fast sine": (lambda x: np.sin(2000 * x), lambda x: 2000 * np.cos(2000 * x), 0.7),
    "near a kink": (lambda x: np.abs(x - 0.7), lambda x: np.sign(x - 0.7), 0.7 + 1e-5),
    "single precision inside": (single, np.cos, 0.7),
    "tiny": (lambda x: 1e-8 * np.sin(x), lambda x: 1e-8 * np.cos(x), 0.7),
    "huge": (lambda x: 1e12 * np.sin(x), lambda x: 1e12 * np.cos(x), 0.7),
    "near the end of the domain": (np.sqrt, lambda x: 0.5 / np.sqrt(x), 1e-9),
    "constant": (lambda x: 0 * x + 1, lambda x: 0 * x, 0.7),
    "softplus far out": (lambda x: np.logaddexp(x, 0), lambda x: 1 / (1 + np.exp(-x)), -30.0),
}


def verdict(f: Function, slope: Any, at: float) -> str:
    x = np.array([at])
    return compare(lambda xs: [f(xs[0])], [x], [0.1 * x], [np.array([0.8])], [0.8 * np.asarray(slope)]).state


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_right_derivative_passes(name: str) -> None:
    f, df, x = FUNCTIONS[name]
    assert verdict(f, df(np.array([x])), x) == OK


@pytest.mark.parametrize("factor", [1.01, 0.5, -1, 0])
@pytest.mark.parametrize("name", [n for n in FUNCTIONS if n != "constant"])
def test_a_wrong_derivative_fails(name: str, factor: float) -> None:
    f, df, x = FUNCTIONS[name]
    assert verdict(f, factor * df(np.array([x])), x) == WRONG


@pytest.mark.parametrize("name", ["sin", "exp", "tiny", "huge"])
@pytest.mark.parametrize("error", [1e-4, 1e-6])
def test_a_small_error_fails_where_the_function_is_tame(name: str, error: float) -> None:
    f, df, x = FUNCTIONS[name]
    assert verdict(f, (1 + error) * df(np.array([x])), x) == WRONG


def test_a_slope_where_there_is_none_fails() -> None:
    assert verdict(lambda x: 0 * x + 1, np.array([1e-3]), 0.7) == WRONG


@pytest.mark.parametrize("noise", [1e-1, 1e-3, 1e-4])
def test_noise_is_unresolved(noise: float) -> None:
    rng = np.random.default_rng(0)
    assert verdict(lambda x: np.sin(x) + noise * rng.standard_normal(x.shape), np.cos([0.7]), 0.7) == UNRESOLVED


def test_a_gradient_of_nan_fails_where_values_are_finite_and_is_unresolved_elsewhere() -> None:
    assert verdict(np.sin, np.array([np.nan]), 0.7) == WRONG
    assert verdict(lambda x: x * np.nan, np.array([np.nan]), 0.7) == UNRESOLVED


def test_complex_arguments_have_real_inner_products() -> None:
    x, u, g = np.array([0.3 + 0.4j]), np.array([0.02 - 0.05j]), np.array([1.2 - 0.7j])
    right = g * np.conj(2 * x)
    states = [compare(lambda xs: [xs[0] ** 2], [x], [u], [g], [c]).state for c in (right, g * 2 * x, np.conj(right))]
    assert states == [OK, WRONG, WRONG]


def test_a_claim_that_is_right_at_once_is_not_weighed_element_by_element(monkeypatch: pytest.MonkeyPatch) -> None:
    weighed: list[bool] = []
    before = numeric._Line.weigh
    monkeypatch.setattr(numeric._Line, "weigh", lambda line: (weighed.append(True), before(line)))
    x, g, u = np.linspace(0.3, 1.7, 12), np.linspace(1.0, 2.0, 12), np.linspace(-0.1, 0.12, 12)

    def verdict(claim: Any) -> str:
        return compare(lambda xs: [np.sin(xs[0])], [x], [u], [g], [claim]).state

    assert verdict(g * np.cos(x)) == OK
    assert not weighed
    assert verdict(g * np.cos(x) * (1 + 1e-6)) == WRONG
    assert weighed


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "float16"])
@pytest.mark.parametrize(
    ("number", "finite"), [(1.0, True), (1e30, True), (1e300, True), (np.inf, False), (-np.inf, False), (np.nan, False)]
)
def test_numbers_are_finite_also_where_their_squares_are_not(dtype: str, number: float, finite: bool) -> None:
    with np.errstate(all="ignore"):
        x = np.array([0.5, number]).astype(dtype)
        assert all_finite(x) == bool(np.isfinite(x).all())
        if dtype in ("float64", "complex128"):
            assert all_finite(x) == finite


def test_noise_has_no_small_numbers_either_sign_and_another_place_for_each_seed() -> None:
    drawn = [Noise(table(7), seed) for seed in range(40)]
    for like in (np.empty((3, 4)), np.empty(700), np.empty(5, np.complex128), np.empty(3, np.float32)):
        made = [noise.like(like) for noise in drawn]
        assert all(x.shape == like.shape and x.dtype == like.dtype for x in made)
        assert all((abs(x) >= 0.199).all() and (abs(x) <= 1.001).all() for x in made)
        assert len({x.tobytes() for x in made}) == len(made)
        flat = np.concatenate([x.reshape(-1).real for x in made])
        assert 0.4 < (flat > 0).mean() < 0.6
    assert {noise.index(3) for noise in drawn} == {0, 1, 2}
