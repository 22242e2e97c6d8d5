"""What a report says beyond the smallest input: the likely cause, where else, what changes from call to call."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tapegrad.testing import array, examine

pytestmark = pytest.mark.filterwarnings("ignore")


def report(f: Any, vjp: Any, **words: Any) -> dict[str, str]:
    result = examine(f, vjp=vjp, seed=2, **words)
    assert not result.ok
    assert result.failure is not None
    return {"": str(result), "property": result.failure.property, **dict(result.lines)}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (lambda g, z: 2 * g * z, "has a factor where its conjugate belongs"),
        (lambda g, z: np.conj(2 * g * np.conj(z)), "is the conjugate of the derivative"),
        (lambda g, z: (2 * g * np.conj(z)).real.astype(z.dtype), "is the real part of the derivative"),
        (lambda g, z: 2j * g * np.conj(z), "is i times the derivative"),
        (lambda g, z: -2 * g * np.conj(z), "has the wrong sign"),
    ],
)
def test_what_has_become_of_a_complex_gradient(wrong: Any, told: str) -> None:
    assert told in report(lambda z: z * z, wrong, z=array(3, complex=True))["cause"]


def test_a_factor_of_lengths() -> None:
    def mean(x: Any) -> Any:
        return x.mean(0)

    def over_the_other_axis(g: Any, x: Any) -> Any:
        return np.broadcast_to(g / x.shape[1], x.shape).copy()

    assert ": 3/5, the lengths of two axes" in report(mean, over_the_other_axis, x=(3, 5))["cause"]

    def variance(x: Any) -> Any:
        return x.var(-1, ddof=1)

    def biased(g: Any, x: Any) -> Any:
        return 2 * g[..., None] * (x - x.mean(-1, keepdims=True)) / x.shape[-1]

    assert ": 4/5, where an axis has the length 5" in report(variance, biased, x=("b", 5))["cause"]


def test_an_accident_of_the_smallest_input_is_not_called_the_cause() -> None:
    def normalised(x: Any) -> Any:
        d = x - x.mean(-1, keepdims=True)
        return d / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5)

    def without_a_term(g: Any, x: Any) -> Any:
        d = x - x.mean(-1, keepdims=True)
        return (g - g.mean(-1, keepdims=True)) / np.sqrt((d * d).mean(-1, keepdims=True) + 1e-5)

    assert "cause" not in report(normalised, without_a_term, x=("b", "n"))


def test_where_else_a_branch_is_wrong_also_if_an_input_has_shown_it() -> None:
    found = report(np.log1p, lambda g, x: g / np.maximum(1 + x, 1e-3), x=array("n", lo=-1))
    assert "points are wrong, all with x <= -0.99" in found["where"]
    found = report(
        np.exp, lambda g, z: g * np.conj(np.exp(z)) * np.where(abs(z.imag) > 4.5, 1.01, 1), x=array("n", complex=True)
    )
    assert "all with 4.5 <= abs(x.imag)" in found["where"]
    assert "nearly all of 1,000" in report(np.sin, lambda g, x: 2 * g * np.cos(x), x=("n",))["where"]


def test_what_else_fails_there() -> None:
    also = report(np.sin, lambda g, x: 2 * g * np.cos(x) * np.sign(g), x=("n",))["also fails"]
    assert "linear yes" in also
    assert "layout no" in also


def test_what_changes_from_call_to_call_is_said_to_do_so() -> None:
    calls = [0]

    def counting(g: Any, x: Any) -> Any:
        calls[0] += 1
        return g * np.cos(x) * (1.0 if calls[0] % 7 else 1.0001)

    assert report(np.sin, counting)["property"] == "repeat"
    rng = np.random.default_rng(0)
    found = report(
        lambda x: x * (rng.random(x.shape) < 0.5),
        lambda g, x: g * (rng.random(x.shape) < 0.5),
        skip=("numeric", "repeat"),
    )
    assert "called twice, gives two" in found[""]
    assert found["property"] == "repeat"


def test_digits_that_matter_are_shown_and_a_lambda_has_a_name_to_paste() -> None:
    found = report(lambda x: np.sin(x) + 0, lambda g, x: g * np.where(abs(x - 1.4375) < 1e-5, 0.0, np.cos(x)))
    assert "1.4375" in found["x"]
    assert found["reproduce"].startswith("check(f, np.array(")
    assert "vjp=vjp" in found["reproduce"]


@pytest.mark.parametrize(
    ("f", "vjp", "words", "told"),
    [
        (np.sin, lambda x, g: g * np.cos(x), {}, "the vjp takes (x, g); it is called with (g, x)"),
        (
            lambda x: (x**2).sum(-1),
            lambda x, g: 2 * x * g[..., None],
            {"x": ("b", "n")},
            "the vjp takes (x, g); it is called with (g, x)",
        ),
        (
            lambda x, w: x @ w,
            lambda x, w, g: (g @ w.T, x.T @ g),
            {"x": ("b", "n"), "w": ("n", "m")},
            "the vjp takes (x, w, g); it is called with (g, x, w)",
        ),
        (np.tanh, lambda y, x, g: g * (1 - y * y), {}, "the vjp takes (y, x, g); it is called with (g, y, x)"),
        (np.tanh, lambda g, x, y: g * (1 - y * y), {}, "the vjp takes (g, x, y); it is called with (g, y, x)"),
    ],
)
def test_a_vjp_whose_arguments_are_in_another_order(f: Any, vjp: Any, words: dict[str, Any], told: str) -> None:
    for seed in range(3):
        assert told in str(examine(f, vjp=vjp, seed=seed, **words))


@pytest.mark.parametrize("slope", [np.cos, lambda x: np.cos(x)])  # noqa: PLW0108
def test_a_derivative_in_the_place_of_a_vjp(slope: Any) -> None:
    for seed in range(3):
        told = str(examine(np.sin, vjp=slope, x=("n",), seed=seed))
        assert "gives the derivative alone; write vjp=lambda g, x: g * ..." in told
