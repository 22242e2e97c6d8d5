"""Gradients of complex functions, and values and gradients at odd points, against PyTorch's: one convention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tapegrad as tg

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[..., Any]

pytestmark = [pytest.mark.interop("torch"), pytest.mark.filterwarnings("ignore")]
RNG = np.random.default_rng(0x7A9E)


def complex_array(*shape: int) -> Any:
    return RNG.uniform(-2, 2, shape) + 1j * RNG.uniform(-2, 2, shape)


def ours(f: Function, g: Any, *xs: Any) -> list[Any]:
    tensors = [tg.asarray(x) for x in xs]
    with tg.GradientTape() as tape:
        tape.watch(tensors)
        y = f(*tensors)
    return [y.numpy(), *(c.numpy() for c in tape.gradient(y, tensors, output_gradients=tg.asarray(g)))]


def theirs(f: Function, g: Any, *xs: Any) -> list[Any]:
    import torch

    tensors = [torch.tensor(x, requires_grad=True) for x in xs]
    y = f(*tensors)
    return [
        y.detach().resolve_conj().numpy(),
        *(c.resolve_conj().numpy() for c in torch.autograd.grad(y, tensors, torch.tensor(g))),
    ]


def agree(name: str, f: Function, h: Function, g: Any, *xs: Any) -> None:
    for found, expected in zip(ours(f, g, *xs), theirs(h, g, *xs), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12, err_msg=name)


UNARY = {
    **{name: name for name in ("exp", "expm1", "log", "log2", "log10", "log1p", "sqrt", "square", "reciprocal")},
    **{name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "asinh", "acosh", "sigmoid", "negative")},
    **{name: name for name in ("asin", "acos", "atan", "atanh", "abs", "real", "imag")},
    "sign": "sgn",
    "conj": "conj_physical",
}


@pytest.mark.parametrize("name", UNARY)
def test_a_complex_function_has_pytorchs_gradient(name: str) -> None:
    import torch

    x = complex_array(7)
    f = getattr(tg, name, None) or getattr(tg.nn, name)
    h = (lambda t: getattr(t, name)) if name in ("real", "imag") else getattr(torch, UNARY[name])
    real = name in ("abs", "real", "imag")
    agree(name, f, h, RNG.uniform(-1, 1, 7) if real else complex_array(7), x)


@pytest.mark.parametrize("name", ["add", "subtract", "multiply", "divide", "pow"])
@pytest.mark.parametrize("second", ["complex", "real"])
def test_a_complex_function_of_two_arrays_has_pytorchs_gradients(name: str, second: str) -> None:
    import torch

    other = complex_array(2, 3) if second == "complex" else RNG.uniform(0.5, 2, (2, 3))
    agree(name, getattr(tg, name), getattr(torch, name), complex_array(2, 3), complex_array(3), other)


LINEAR_ALGEBRA: dict[str, tuple[Function, str, tuple[Any, ...], Any]] = {
    "matmul": (tg.matmul, "matmul", (complex_array(2, 3), complex_array(3, 4)), complex_array(2, 4)),
    "matmul of vectors": (tg.matmul, "matmul", (complex_array(3), complex_array(3)), complex_array()),
    "vecdot": (tg.vecdot, "linalg.vecdot", (complex_array(2, 3), complex_array(2, 3)), complex_array(2)),
    "solve": (
        tg.linalg.solve,
        "linalg.solve",
        (complex_array(3, 3) + 5 * np.eye(3), complex_array(3, 2)),
        complex_array(3, 2),
    ),
    "sum": (tg.sum, "sum", (complex_array(2, 3),), complex_array()),
    "prod": (tg.prod, "prod", (complex_array(5),), complex_array()),
    "cumulative_prod": (tg.cumulative_prod, "cumprod", (complex_array(5),), complex_array(5)),
    "logsumexp": (tg.nn.logsumexp, "logsumexp", (complex_array(5),), complex_array()),
    "mean": (tg.mean, "mean", (complex_array(2, 3),), complex_array()),
    "std": (tg.std, "std", (complex_array(6),), np.array(0.7)),
}


@pytest.mark.parametrize("name", LINEAR_ALGEBRA)
def test_complex_linear_algebra_and_reductions_have_pytorchs_gradients(name: str) -> None:
    import torch

    f, path, xs, g = LINEAR_ALGEBRA[name]
    h: Any = torch
    for part in path.split("."):
        h = getattr(h, part)
    extra: dict[str, Any] = {"cumprod": {"dim": 0}, "logsumexp": {"dim": 0}, "std": {"correction": 0}}.get(path, {})
    agree(name, f, lambda *ts: h(*ts, **extra), g, *xs)


REAL_POINTS = {
    "sqrt": [0.0, 4.0],
    "abs": [0.0, -0.0, -1.5],
    "reciprocal": [0.0, -0.0, 2.0],
    "log": [0.0, 0.5],
    "asin": [1.0, -1.0, 0.3],
    "atanh": [1.0, 0.3],
    "sign": [0.0, 2.0],
    "relu": [0.0, -1.0, 3.0],
    "tanh": [800.0, -800.0, 0.0],
    "sigmoid": [800.0, -800.0, 0.0],
    "softplus": [300.0, -300.0, 0.0],
    "exp": [-1000.0, 0.0],
}


@pytest.mark.parametrize("name", REAL_POINTS)
def test_values_and_gradients_at_odd_points_are_pytorchs(name: str) -> None:
    import torch

    f = getattr(tg, name, None) or getattr(tg.nn, name)
    h = getattr(torch, name, None) or getattr(torch.nn.functional, name)
    x = np.array(REAL_POINTS[name])
    agree(name, f, h, np.ones(len(x)), x)


@pytest.mark.parametrize("row", [[np.inf, 1.0], [np.inf, np.inf], [-np.inf, 2.0], [1e308, -1e308]])
@pytest.mark.parametrize("name", ["logsumexp", "softmax", "log_softmax"])
def test_the_softmax_family_over_infinities_is_pytorchs(name: str, row: list[float]) -> None:
    import torch

    x = np.array(row)
    y = getattr(tg.nn, name)(tg.asarray(x), axis=0).numpy()
    np.testing.assert_allclose(y, getattr(torch, name)(torch.tensor(x), dim=0).numpy(), rtol=1e-13)
