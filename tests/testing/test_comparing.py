"""Two implementations of one function; the signatures of other checkers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError
from tapegrad.testing import GradientCheckError, array, check_grads, compare, torch_gradcheck, torch_gradgradcheck

pytestmark = pytest.mark.filterwarnings("ignore")
FAST = {"profile": "fast", "seed": 1}


def test_equal_functions_of_one_framework() -> None:
    assert compare(tg.tanh, lambda x: 1 - 2 / (tg.exp(2 * x) + 1), **FAST).ok


def test_values_that_differ_are_shrunk_and_shown() -> None:
    with pytest.raises(GradientCheckError, match=r"the values differ by 1\b(.|\n)*array\(\[0\.\]\)"):
        compare(tg.sin, lambda x: tg.sin(x) + 1.0, x=("n",), **FAST)


def test_gradients_that_differ() -> None:
    @tg.custom_gradient
    def wrong(x: Any) -> Any:
        return tg.sin(x), lambda g: 1.001 * g * tg.cos(x)

    with pytest.raises(GradientCheckError, match="the gradients of x differ"):
        compare(tg.sin, wrong, x=("n",), **FAST)


def test_numpy_functions_without_a_derivative() -> None:
    assert compare(np.sin, lambda x: np.cos(x - np.pi / 2), gradients=False, **FAST).ok


@pytest.mark.interop("torch")
def test_across_frameworks() -> None:
    import torch

    assert compare(lambda x: tg.softmax(x, axis=-1), lambda x: torch.softmax(x, -1), x=("b", "n"), **FAST).ok
    with pytest.raises(GradientCheckError, match="the values differ"):
        compare(lambda x: tg.softmax(x, axis=-1), lambda x: torch.softmax(x, 0), x=("b", "n"), **FAST)


@pytest.mark.interop("torch")
def test_values_alone_across_frameworks() -> None:
    import torch

    def softplus(x: Any) -> Any:
        return np.log1p(np.exp(x))

    def of_torch(x: Any) -> Any:
        return torch.nn.functional.softplus(x)

    assert compare(softplus, of_torch, x=array("n", hi=15), gradients=False, **FAST).ok
    assert compare(of_torch, softplus, x=array("n", hi=15), gradients=False, **FAST).ok


def test_two_functions_of_one_name_are_told_apart() -> None:
    def of(k: float) -> Any:
        def wave(x: Any) -> Any:
            return tg.sin(k * x)

        return wave

    other = of(2.0)
    other.__module__ = "elsewhere"
    with pytest.raises(
        GradientCheckError, match=r"test_comparing\.wave and elsewhere\.wave: the gradients of x differ"
    ):
        compare(of(1.0), other, x=("n",), **FAST)


@pytest.mark.interop("torch")
def test_gradcheck_as_in_pytorch() -> None:
    import torch

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 1.0

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return 2 * g

    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    assert torch_gradcheck(torch.sin, (x,), fast_mode=True) is True
    assert torch_gradgradcheck(torch.sin, (x,)) is True
    for dtype in (torch.float32, torch.bfloat16):
        single = x.detach().to(dtype).requires_grad_()
        assert torch_gradcheck(torch.sin, (single,)) is True
        assert torch_gradcheck(Wrong.apply, (single,), raise_exception=False) is False
    assert torch_gradcheck(Wrong.apply, x, raise_exception=False) is False
    with pytest.raises(GradientCheckError):
        torch_gradcheck(Wrong.apply, (x,))
    with pytest.raises(ArgumentError, match="no input requires grad"):
        torch_gradcheck(torch.sin, (x.detach(),))


@pytest.mark.interop("jax")
def test_check_grads_as_in_jax() -> None:
    import jax.numpy as jnp

    check_grads(jnp.sin, (jnp.ones(3),), 2)
    with pytest.raises(ArgumentError, match="'fwd' and 'rev'"):
        check_grads(jnp.sin, (jnp.ones(3),), 1, modes=["forward"])
