"""Right derivatives of awkward functions are not refused: each was, once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError
from tapegrad.testing import array, examine

pytestmark = pytest.mark.filterwarnings("ignore")
SEEDS = range(3)


def nuclear(x: Any) -> Any:
    return np.linalg.svd(x, compute_uv=False).sum(-1)


def nuclear_vjp(g: Any, x: Any) -> Any:
    u, _, v = np.linalg.svd(x, full_matrices=False)
    return g[..., None, None] * (u @ v)


def spectral(w: Any) -> Any:
    return np.linalg.svd(w, compute_uv=False)[0]


def spectral_vjp(g: Any, w: Any) -> Any:
    u, _, v = np.linalg.svd(w, full_matrices=False)
    return g * np.outer(u[:, 0], v[0])


AWKWARD: dict[str, tuple[Any, Any, dict[str, Any]]] = {
    "a saw, whose teeth are shorter than most steps": (lambda x: x - np.floor(x), lambda g, x: 1.0 * g, {}),
    "steps, likewise": (np.floor, lambda g, x: 0 * g, {}),
    "a bump narrower than all usual steps": (
        lambda x: np.tanh(1e4 * (x - 5e5)),
        lambda g, x: g * 1e4 / np.cosh(np.clip(1e4 * (x - 5e5), -300, 300)) ** 2,
        {},
    ),
    "a ball of gradients at its end": (nuclear, nuclear_vjp, {"x": ("n", "m")}),
    "values that stand still, in single precision inside": (
        lambda x: np.tanh(x.astype(np.float32)).astype(x.dtype),
        lambda g, x: g / np.cosh(np.clip(x, -300, 300)) ** 2,
        {},
    ),
    "steps that are narrower than single precision resolves": (
        lambda x: np.round(x, 3),
        lambda g, x: 0 * g,
        {"x": array("n", lo=6e5, hi=7e5)},
    ),
    "steps of a sum, likewise": (
        lambda x: np.round(x, 3).sum(-1),
        lambda g, x: 0 * x,
        {"x": array("b", "n", lo=2e6, hi=3e6)},
    ),
    "the largest singular value at zero": (spectral, spectral_vjp, {"w": ("n", "m")}),
    "a branch cut": (np.log, lambda g, z: g / np.conj(z), {"x": array("n", complex=True)}),
    "a branch cut with a kink": (np.sqrt, lambda g, y, z: g / np.conj(2 * y), {"x": array("n", complex=True)}),
}


@pytest.mark.parametrize("name", AWKWARD)
def test_an_awkward_function_passes(name: str) -> None:
    f, vjp, words = AWKWARD[name]
    for seed in SEEDS:
        result = examine(f, vjp=vjp, seed=seed, **words)
        assert result.ok, str(result)


def test_where_the_second_derivative_jumps_any_convention_is_right() -> None:
    for f in (lambda x: x * tg.maximum(x, 0.0), lambda p: tg.sort(p["a"] * p["b"])):
        words = {"p": {"a": ("n",), "b": ("n",)}} if f.__code__.co_varnames[0] == "p" else {"x": ("n",)}
        result = examine(f, seed=5, inputs=words)
        assert result.ok, str(result)


def test_a_second_derivative_that_no_neighbour_has_is_still_wrong() -> None:
    @tg.custom_gradient
    def slope(x: Any) -> Any:  # 2 max(x, 0), with 7 in the corner
        return 2 * tg.maximum(x, 0.0), lambda g: g * tg.where(x == 0, 7.0, tg.where(x > 0, 2.0, 0.0))

    @tg.custom_gradient
    def f(x: Any) -> Any:
        return x * tg.maximum(x, 0.0), lambda g: g * slope(x)

    result = examine(f, x=("n",), framework="tapegrad", seed=1, kinks="fail")
    assert result.failure is not None
    assert result.failure.property == "second"


def test_a_zero_gradient_of_what_is_computed_in_single_precision_is_wrong() -> None:
    result = examine(lambda x: np.tanh(x.astype(np.float32)).astype(x.dtype), vjp=lambda g, x: 0 * g, seed=1)
    assert not result.ok


@pytest.mark.parametrize("seed", range(5))
def test_single_precision_inside_where_its_values_stand_still(seed: int) -> None:
    def bell(x: Any) -> Any:  # close to 0 its value is 1 over whole stretches of arguments
        return np.exp(-(x.astype(np.float32) ** 2)).astype(x.dtype)

    def vjp(g: Any, y: Any, x: Any, *, factor: float = -2.0) -> Any:
        return (factor * g * x * y).astype(x.dtype)

    right = examine(bell, vjp=vjp, seed=seed)
    assert right.ok, str(right)
    assert not examine(bell, vjp=lambda g, y, x: vjp(g, y, x, factor=-2.02), seed=seed).ok


def add_twice(g: Any, a: Any, b: Any) -> Any:
    return g, g


def test_one_array_as_the_gradient_of_two_arguments_is_a_note() -> None:
    words: dict[str, Any] = {"vjp": add_twice, "a": ("n",), "b": ("n",), "seed": 1, "profile": "fast"}
    noted = examine(lambda a, b: a + b, **words)
    assert noted.ok, str(noted)
    assert "not counted as wrong: the gradients of a and b are one array" in str(noted)
    assert not examine(lambda a, b: a + b, dtypes="fail", **words).ok
    proved = examine(lambda a, b: a + b, prove=True, **words)
    assert "caught" in str(proved)


def test_additions_of_frameworks_give_one_array_rightly() -> None:
    assert examine(tg.add, x1=("n",), x2=("n",), seed=1, profile="fast").ok
    torch = pytest.importorskip("torch")

    class Add(torch.autograd.Function):  # type: ignore[name-defined,misc]
        @staticmethod
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            return a + b

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g, g

    for f in (torch.add, Add.apply):
        found = examine(lambda a, b, f=f: f(a, b), a=("n",), b=("n",), framework="torch", seed=1, profile="fast")
        assert found.ok, str(found)


def test_a_function_that_is_finite_nowhere_but_for_empty_arrays_is_refused() -> None:
    with pytest.raises(ArgumentError, match="takes none of the inputs drawn"):
        examine(lambda x: np.sqrt(-1 - x * x), vjp=lambda g, x: g, x=("n",), seed=1)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.tanh(x.astype(np.float32)).astype(x.dtype),
        lambda x: 1.1 * np.sin(x.astype(np.float32)).astype(np.float64),
        lambda x: 1e12 + x,
        lambda x: (1.7 * x.astype(np.float32)).astype(np.float64) * x,
    ],
)
def test_a_zero_gradient_of_what_is_rounded_inside_is_wrong(f: Any) -> None:
    for seed in SEEDS:
        assert not examine(f, vjp=lambda g, x: 0 * g, seed=seed).ok


def test_where_the_first_derivative_has_a_corner_a_second_one_that_is_not_finite_is_noted() -> None:
    torch = pytest.importorskip("torch")

    def f(x: Any) -> Any:
        return x / (1 + torch.linalg.norm(x, dim=-1, keepdim=True))

    result = examine(f, x=("b", 1), framework="torch", profile="fast", seed=1)
    assert result.ok, str(result)
    assert "the second derivative is not finite, where the gradient has a corner" in str(result)
    strict = examine(f, x=("b", 1), framework="torch", profile="fast", seed=1, kinks="fail")
    assert strict.failure is not None
    assert strict.failure.property == "second"


def test_at_a_jump_a_tangent_that_is_not_finite_says_nothing() -> None:
    torch = pytest.importorskip("torch")
    result = examine(torch.atan2, input=("n",), other=("n",), profile="fast", seed=5, only="forward")
    assert result.ok, str(result)


def test_what_pytorch_does_not_differentiate_twice_is_not_looked_at_twice() -> None:
    torch = pytest.importorskip("torch")
    result = examine(torch.nn.functional.pdist, input=(4, 3), framework="torch", profile="fast", seed=5)
    assert result.ok, str(result)
    assert "second" not in result.properties


def test_a_fault_all_around_a_complex_number_in_the_code_is_found() -> None:
    def vjp(g: Any, z: Any) -> Any:
        return g / np.conj(z) * np.where(abs(z - 1) < 1e-5, 1.5, 1)

    for seed in range(20):
        assert not examine(np.log, vjp=vjp, x=array("n", complex=True), only="swept", profile="fast", seed=seed).ok
