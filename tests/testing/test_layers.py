"""Modules and layers are checked with their parameters, in each style."""

from __future__ import annotations

from typing import Any

import pytest

from tapegrad.testing import examine

pytestmark = pytest.mark.filterwarnings("ignore")
FAST = {"seed": 3, "profile": "fast"}


def test_a_module_of_tapegrads_pytorch_style() -> None:
    from tapegrad import torch

    class Wrong(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inner = torch.nn.Linear(3, 2)

        def forward(self, x: Any) -> Any:
            return self.inner(x) * self.inner.weight.detach().sum()

    assert examine(torch.nn.Linear(3, 2), input=("b", 3), **FAST).ok
    result = examine(Wrong(), x=("b", 3), **FAST)
    assert "the gradient is not the derivative" in str(result)
    assert "parameters['inner.weight']" in str(result)


def variables_of(tf: Any) -> tuple[Any, Any]:
    class Scaled(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable([1.5, -2.5])

        def __call__(self, x: Any) -> Any:
            return self.w * x

    class Wrong(Scaled):
        def __call__(self, x: Any) -> Any:
            return self.w * x + tf.stop_gradient(self.w)

    return Scaled(), Wrong()


def test_a_module_of_tapegrads_tensorflow_style() -> None:
    from tapegrad import tf

    right, wrong = variables_of(tf)
    assert examine(right, x=("b", 2), **FAST).ok
    result = examine(wrong, x=("b", 2), **FAST)
    assert "the gradient of variables[0]" in str(result)


@pytest.mark.interop("tensorflow")
def test_a_module_of_tensorflow() -> None:
    import tensorflow as tf

    right, wrong = variables_of(tf)
    before = right.w.numpy().tolist()
    assert examine(right, x=("b", 2), **FAST).ok
    assert right.w.numpy().tolist() == before
    assert "the gradient of variables[0]" in str(examine(wrong, x=("b", 2), **FAST))


@pytest.mark.interop("torch")
def test_a_check_of_pytorch_leaves_the_number_of_threads_as_it_is() -> None:
    import torch

    before = torch.get_num_threads()
    seen = []

    def f(x: Any) -> Any:
        seen.append(torch.get_num_threads())
        return torch.sin(x)

    assert examine(f, x=("n",), framework="torch", **FAST).ok
    assert seen[-1] == 1
    assert torch.get_num_threads() == before


def test_a_parameter_that_is_called_inputs() -> None:
    assert examine(lambda inputs: 2 * inputs, vjp=lambda g, x: 2 * g, inputs=("n",), **FAST).ok
    assert examine(lambda seed: 2 * seed, vjp=lambda g, x: 2 * g, inputs={"seed": ("n",)}, **FAST).ok
