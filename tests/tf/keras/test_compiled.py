"""Keras in compiled functions on TensorFlow's kernels, called with batches of several lengths, is what it is at once."""

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.interop("keras"), pytest.mark.interop("tensorflow")]

PROGRAM = """
import numpy as np
import tapegrad as tg
tg.set_default_backend("tensorflow")
import tapegrad.tf as tf
K = tf.keras
L, S = K.layers, K.Sequential
K.utils.set_random_seed(1)
rng = np.random.default_rng(0)

def attention():
    x = K.Input((4, 6))
    y = L.LayerNormalization()(L.MultiHeadAttention(2, 3)(x, x) + x)
    return K.Model(x, L.Dense(1)(L.GlobalAveragePooling1D()(y)))

MODELS = {
    "dense": (lambda: S([L.Dense(3, "relu"), L.GroupNormalization(1), L.PReLU(), L.Dense(2), L.Softmax()]), (5,)),
    "images": (
        lambda: S([L.Conv2D(3, 3, padding="same"), L.BatchNormalization(), L.MaxPooling2D(), L.Flatten(), L.Dense(2)]),
        (8, 8, 1),
    ),
    "upwards": (
        lambda: S([L.Dense(16), L.Reshape((4, 4, 1)), L.Conv2DTranspose(2, 3, strides=2), L.GlobalAveragePooling2D()]), (5,)
    ),
    "separable": (
        lambda: S([L.DepthwiseConv2D(3), L.SeparableConv2D(2, 2), L.AveragePooling2D(2), L.UpSampling2D(), L.ZeroPadding2D()]),
        (9, 9, 2),
    ),
    "sequences": (lambda: S([L.LSTM(3, return_sequences=True), L.GRU(2), L.Dense(1)]), (5, 2)),
    "both_ways": (lambda: S([L.Embedding(5, 3), L.Bidirectional(L.LSTM(2)), L.LayerNormalization()]), "int"),
    "masked": (lambda: S([L.Embedding(5, 3, mask_zero=True), L.LSTM(2), L.Dense(1)]), "int"),
    "in_time": (lambda: S([L.Conv1D(3, 3, padding="causal"), L.TimeDistributed(L.Dense(2)), L.SimpleRNN(2)]), (6, 2)),
    "attention": (attention, (4, 6)),
}
for name, (make, shape) in MODELS.items():
    model, optimizer = make(), K.optimizers.SGD(0.01)
    batches = [rng.integers(0, 5, (n, 6)) if shape == "int" else rng.normal(size=(n, *shape)).astype("f4") for n in (4, 4, 3, 2)]
    model(batches[0])
    mean = K.metrics.Mean()
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean(tf.square(model(x, training=True)))
        optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables))
        mean.update_state(loss)
        return loss
    start, found = model.get_weights(), []
    for run in (step, tf.function(step)):
        model.set_weights(start)
        mean.reset_state()
        found.append([float(run(tf.constant(x))) for x in batches] + [float(mean.result())])
    np.testing.assert_allclose(*found, rtol=1e-4, err_msg=name)
    print(name)

inputs = K.Input((4,))
model = K.Model(inputs, L.Dense(3)(L.Dense(5, "relu")(inputs)))
loss_of, right = K.losses.SparseCategoricalCrossentropy(from_logits=True), K.metrics.SparseCategoricalAccuracy()
def judged(x, y):
    with tf.GradientTape() as tape:
        logits = model(x, training=True)
        loss = loss_of(y, logits)
    right.update_state(y, logits)
    return loss, tape.gradient(loss, model.trainable_variables)[0]
compiled = tf.function(judged)
for n in (4, 4, 3, 2):
    x, y = tf.constant(rng.normal(size=(n, 4)).astype("f4")), tf.constant(rng.integers(0, 3, n))
    for a, b in zip(judged(x, y), compiled(x, y)):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-6)
assert int(right.count) == 26
print("labels")
"""


def test_a_step_of_each_kind_of_layer():
    found = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert len(found.stdout.split()) == 10, found.stderr[-2000:]
