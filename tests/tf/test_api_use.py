"""The names that 95 of 100 plain scripts with a GradientTape use, by a count of public ones: each is there."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from tapegrad import tf

#: In the order in which names complete most scripts; "no" is a name that TensorFlow 2.21 has no more.
NAMES = [line.split() for line in (Path(__file__).parent / "api_names.txt").read_text("utf-8").splitlines()]
#: Where Keras 3, which both have, differs from what scripts of its predecessors write.
GONE = {"Metric.reset_states": "Keras 3 calls it reset_state; TensorFlow 2.21 has it no more"}


def needs_keras(name):
    return name.startswith(KERAS)


KERAS = ("tf.keras", "Keras", "Metric", "Optimizer", "tf.losses", "tf.metrics", "tf.optimizers", "tf.initializers")
OWNERS = {
    "GradientTape": lambda: tf.GradientTape,
    "Tensor": lambda: tf.Variable,  # scripts call some methods of variables on what looks like a tensor
    "Variable": lambda: tf.Variable,
    "Dataset": lambda: tf.data.Dataset,
    "KerasModel": lambda: tf.keras.Sequential,
    "Optimizer": lambda: tf.keras.optimizers.Adam,
    "Metric": lambda: tf.keras.metrics.Mean,
}
#: Of methods that only some layers have, or that an object has when it was made.
ON_INSTANCES = {
    "KerasModel.bias": lambda: _built_layer().bias,
    "KerasModel.kernel": lambda: _built_layer().kernel,
    "KerasModel.optimizer": lambda: _compiled().optimizer,
    "KerasModel.output": lambda: _functional().output,
    "KerasModel.input": lambda: _functional().input,
    "KerasModel.inputs": lambda: _functional().inputs,
    "KerasModel.output_shape": lambda: _functional().output_shape,
}


def _built_layer():
    layer = tf.keras.layers.Dense(2)
    layer.build((None, 3))
    return layer


def _functional():
    inputs = tf.keras.Input((3,))
    return tf.keras.Model(inputs, tf.keras.layers.Dense(2)(inputs))


def _compiled():
    model = _functional()
    model.compile("sgd", "mse")
    return model


def found(name):
    if name in ON_INSTANCES:
        return ON_INSTANCES[name]()
    first, *rest = name.split(".")
    x = tf if first == "tf" else OWNERS[first]()
    for part in rest:
        x = getattr(x, part)
    return x


@pytest.mark.parametrize("name", [n for n, there in NAMES if there == "yes" and not needs_keras(n)])
def test_a_name_that_scripts_use_is_there(name):
    found(name)


@pytest.mark.parametrize("name", [n for n, there in NAMES if there == "yes" and needs_keras(n) and n not in GONE])
def test_a_name_of_keras_that_scripts_use_is_there(name):
    if find_spec("keras") is None:  # importing it here would load it with another backend
        pytest.skip("not installed: keras")
    found(name)


def test_a_name_that_is_missing_says_so_and_names_a_near_one():
    with pytest.raises(AttributeError, match=r"no tf\.reduce_men; did you mean tf\.reduce_mean"):
        tf.reduce_men
    with pytest.raises(AttributeError, match=r"no tf\.math\.lgo; did you mean tf\.math\.log"):
        tf.math.lgo
