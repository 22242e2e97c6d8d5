"""Modules and layers are checked with their parameters, in each style."""

from __future__ import annotations

import importlib
from typing import Any, NamedTuple

import numpy as np
import pytest

from tapegrad.errors import ArgumentError
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


def not_differentiated_again(tf: Any) -> Any:
    class Once(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable([1.5, -2.5])

        def __call__(self, x: Any) -> Any:
            @tf.custom_gradient
            def scaled(x: Any, w: Any) -> Any:
                return w * x, lambda g: (tf.stop_gradient(w) * g, tf.reduce_sum(tf.stop_gradient(x) * g, axis=0))

            return scaled(x, tf.convert_to_tensor(self.w))

    return Once()


@pytest.mark.interop("tensorflow")
def test_second_derivatives_reach_the_variables_of_a_module() -> None:
    import tensorflow as tf

    for style in (tf, importlib.import_module("tapegrad.tf")):
        found = examine(not_differentiated_again(style), x=("b", 2), **FAST)
        assert getattr(found.failure, "property", None) in ("second", "forward"), str(found)
        assert examine(variables_of(style)[0], x=("b", 2), **FAST).properties["second"]


@pytest.mark.interop("tensorflow")
def test_a_module_that_is_bound_to_single_precision_is_checked_in_it() -> None:
    import tensorflow as tf

    class Bound(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.w = tf.Variable([[1.5, -2.5]])
            self.k = tf.constant(2.0)

        def __call__(self, x: Any) -> Any:
            return tf.nn.tanh(x @ self.w) * self.k

    result = examine(Bound(), x=("b", 1), **FAST)
    assert result.ok, str(result)
    assert result.properties["second"]


class Pair(NamedTuple):
    w: Any
    b: Any


def nested_in_tuples(tf: Any, wrong: bool) -> Any:
    class Nested(tf.Module):
        def __init__(self) -> None:
            super().__init__()
            self.parts = ((tf.Variable([1.5, -2.5]), "a name"), [Pair(tf.Variable(0.5), {"c": (tf.Variable(2.0),)})])

        def __call__(self, x: Any) -> Any:
            (w, _), (pair,) = self.parts
            b = tf.stop_gradient(pair.b["c"][0]) if wrong else pair.b["c"][0]
            return w * x * pair.w + b * b

    return Nested()


def test_variables_in_nested_tuples_of_a_module() -> None:
    from tapegrad import tf

    before = (made := nested_in_tuples(tf, wrong=False)).parts
    found = examine(made, x=("b", 2), **FAST)
    assert found.ok, str(found)
    assert made.parts is before
    assert "the gradient of variables[2] is zero" in str(examine(nested_in_tuples(tf, wrong=True), x=("b", 2), **FAST))


@pytest.mark.interop("tensorflow")
def test_variables_in_nested_tuples_of_a_module_of_tensorflow() -> None:
    import tensorflow as tf

    found = examine(nested_in_tuples(tf, wrong=False), x=("b", 2), **FAST)
    assert found.ok, str(found)
    assert "is zero" in str(examine(nested_in_tuples(tf, wrong=True), x=("b", 2), **FAST))


@pytest.mark.interop("tensorflow")
def test_a_module_whose_variables_cannot_be_reached_is_refused() -> None:
    import tensorflow as tf

    hidden = tf.Variable([1.5, -2.5])

    class Closed(tf.Module):
        trainable_variables = (hidden,)

        def __call__(self, x: Any) -> Any:
            return hidden * x

    with pytest.raises(ArgumentError, match="give a function of their values"):
        examine(Closed(), x=("b", 2), **FAST)


@pytest.mark.interop("tensorflow")
def test_a_layer_of_keras_in_double_precision_and_to_second_order() -> None:
    keras = pytest.importorskip("keras")
    if keras.backend.backend() != "tensorflow":
        pytest.skip("Keras is on another backend in this process")
    import tensorflow as tf

    class Wrong(keras.layers.Layer):  # type: ignore[name-defined,misc]
        def build(self, shape: Any) -> None:
            self.w = self.add_weight(shape=(shape[-1],), initializer="ones")

        def call(self, x: Any) -> Any:
            return self.w * x + tf.stop_gradient(self.w)

    for layer, ok in ((keras.layers.Dense(2, activation="tanh"), True), (Wrong(), False)):
        layer(np.zeros((2, 3), "float32"))
        before = layer.get_weights()
        word = "inputs" if ok else "x"
        result = examine(layer, inputs={word: ("b", 3)}, **FAST)
        assert result.ok is ok, str(result)
        assert all((a == b).all() for a, b in zip(before, layer.get_weights(), strict=True))
        if ok:
            assert result.properties["second"]
            assert not result.unresolved
        else:
            assert "variables[0]" in str(result)


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
