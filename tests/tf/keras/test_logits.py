"""Cross-entropies of softmax and sigmoid are computed from what these were taken of, where Keras on TensorFlow does so."""

import gc
import subprocess
import sys

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.keras import logits

pytestmark = pytest.mark.interop("keras")

#: Probabilities of these are 0 and 1 in single precision.
X = np.array([[30.0, -40.0, 5.0], [1.0, 50.0, -60.0]], np.float32)
LABELS = np.array([1, 2])
ONE_HOT = np.eye(3, dtype="float32")[LABELS]
EXACT = (70 + 110) / 2
KEPT_AWAY = -np.log(np.float32(1e-7))


@pytest.mark.parametrize("name", ["CategoricalCrossentropy", "SparseCategoricalCrossentropy"])
def test_a_saturated_softmax_has_its_exact_loss_and_a_gradient(keras, name):
    x = tg.Variable(X)
    layer = keras.layers.Dense(3, "softmax", kernel_initializer="identity")
    with tg.GradientTape() as tape:
        loss = getattr(keras.losses, name)()(LABELS if "Sparse" in name else ONE_HOT, layer(x))
    assert float(loss) == pytest.approx(EXACT)
    np.testing.assert_allclose(tape.gradient(loss, x), [[0.5, -0.5, 0], [0, 0.5, -0.5]], atol=1e-6)


def test_a_saturated_sigmoid_has_its_exact_loss(keras):
    y = keras.activations.sigmoid(tg.asarray(X))
    assert float(keras.losses.BinaryCrossentropy()(1 - ONE_HOT, y)) == pytest.approx(
        np.mean(np.logaddexp(0, X) - X * (1 - ONE_HOT)), rel=1e-6
    )


def test_only_the_result_itself_is_known(keras):
    y = keras.activations.softmax(tg.asarray(X))
    for other in (y * 1.0, keras.ops.reshape(y, (2, 3)) + 0, keras.activations.softmax(tg.asarray(X.T), axis=0) + 0):
        if other.shape == y.shape:
            assert float(keras.losses.CategoricalCrossentropy()(ONE_HOT, other)) == pytest.approx(KEPT_AWAY, rel=1e-3)
    with pytest.warns(UserWarning, match="produced by a Softmax activation"):
        loss = keras.losses.CategoricalCrossentropy(from_logits=True)(ONE_HOT, y)
    assert float(loss) == pytest.approx(EXACT)


def test_nothing_is_remembered_of_a_tensor_that_is_gone(keras):
    gc.collect()
    before = len(logits._NOTED)
    y = keras.activations.softmax(tg.asarray(X))
    assert len(logits._NOTED) == before + 1
    del y
    assert len(logits._NOTED) == before


def test_functions_of_tensorflow_are_known_where_it_compiles():
    program = """
import numpy as np
import tapegrad.tf as tf
x, y = np.array([[30.0, -40.0, 5.0]], "float32"), np.array([[0.0, 1.0, 0.0]], "float32")
loss = tf.keras.losses.CategoricalCrossentropy()
class Net(tf.keras.Model):
    def call(self, x):
        return tf.nn.softmax(x)
net = Net()
found = [float(loss(y, net(x))), float(tf.function(lambda: loss(y, net(x)))()), float(loss(y, tf.function(net)(x)))]
for eagerly in (False, True):
    net.compile(loss=loss, run_eagerly=eagerly)
    found.append(net.evaluate(x, y, verbose=0))
print([round(v) for v in found])
"""
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert found.stdout.split("\n")[0] == "[16, 70, 16, 70, 16]", found.stderr[-2000:]
