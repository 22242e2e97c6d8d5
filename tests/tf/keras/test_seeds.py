"""A seed gives the numbers that it gives on TensorFlow: weights, dropout, the order of samples, and so all that follows."""

import subprocess
import sys

import numpy as np
import pytest

pytestmark = pytest.mark.interop("keras")

PROGRAM = """
import sys
import numpy as np
if sys.argv[1] == "real":
    import tensorflow as tf
else:
    import tapegrad.tf as tf
    tf.keras.layers
    import tapegrad.registry.backends as backends
    backends.backend(sys.argv[1])
keras = tf.keras
keras.utils.set_random_seed(42)
lines = []
def show(x):
    lines.append(np.ravel(np.asarray(keras.ops.convert_to_numpy(x), "float64")).tolist())
for seed in (3, 2**31 + 5, None, keras.random.SeedGenerator(7)):
    show(keras.random.normal((3,), seed=seed))
    show(keras.random.truncated_normal((9,), 2, 0.5, seed=seed))
    show(keras.random.uniform((3,), -1, 5, dtype="float64", seed=seed))
    show(keras.random.randint((5,), -3, 50, seed=seed))
    show(keras.random.shuffle(np.arange(9), seed=seed))
    show(keras.random.dropout(np.ones((4, 4), "float32"), 0.3, (4, 1), seed=seed))
    show(keras.random.categorical(np.log([[0.1, 0.2, 0.7], [0.3, 0.3, 0.4]]), 5, seed=seed))
model = keras.Sequential([keras.layers.Embedding(9, 4), keras.layers.LSTM(5, dropout=0.2), keras.layers.Dropout(0.5)])
model.add(keras.layers.Dense(1, kernel_initializer="he_normal"))
show(model(np.arange(6).reshape(2, 3), training=True))
model.compile("sgd", "mse")
x, y = np.random.randint(0, 9, (40, 5)), np.random.rand(40)
for _ in range(2):
    history = model.fit(x, y, epochs=3, batch_size=8, verbose=0, validation_split=0.2).history
    show(history["loss"])
    show(history["val_loss"])
model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(8, "relu"), keras.layers.Dropout(0.5), keras.layers.Dense(1)])
model.compile("adam", "mse")
show(model.fit(np.random.rand(40, 3), np.random.rand(40), epochs=3, verbose=0).history["loss"])
rows = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (a + 1, b)).shuffle(30).batch(8)
model = keras.Sequential([keras.layers.Embedding(11, 4), keras.layers.GRU(5), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.1, momentum=0.5), "mse")
valid = tf.data.Dataset.from_tensor_slices((x, y)).batch(4)
for _ in range(2):
    history = model.fit(rows, epochs=3, verbose=0, validation_data=valid, validation_steps=2).history
    show(history["loss"] + history["val_loss"])
with tf.GradientTape() as tape:
    loss = tf.reduce_sum(model(x) ** 2)
gradients = tape.gradient(loss, model.trainable_variables)
assert [isinstance(g, tf.IndexedSlices) for g in gradients] == [True] + [False] * 5
show(tf.linalg.global_norm(gradients))
augment = keras.Sequential([keras.layers.RandomFlip(), keras.layers.RandomRotation(0.2), keras.layers.RandomContrast(0.3)])
show([augment(np.arange(90.0).reshape(1, 6, 5, 3), training=True) / 90 for _ in range(2)])
show(tf.random.normal((3,)))
show(tf.random.categorical(np.log([[0.1, 0.2, 0.7]]), 6))
print(repr(lines))
"""


#: Tables whose rows are read many times in a batch, in formulas that square gradients.
WORDS = (
    PROGRAM.partition("for seed in")[0]
    + """
x, y = np.random.randint(0, 9, (40, 5)), np.random.rand(40)
for optimizer in ("adam", "rmsprop", keras.optimizers.Adam(0.1, clipnorm=0.1), keras.optimizers.Nadam(0.1, global_clipnorm=0.1)):
    model = keras.Sequential([keras.layers.Embedding(9, 4), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)])
    model.compile(optimizer, "mse")
    show(model.fit(x, y, epochs=3, batch_size=8, verbose=0).history["loss"])
print(repr(lines))
"""
)


def lines(where, program=PROGRAM):
    found = subprocess.run([sys.executable, "-c", program, where], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr[-2000:]
    return eval(found.stdout)


@pytest.mark.interop("tensorflow")
def test_numbers_and_what_is_trained_with_them_are_those_of_tensorflow():
    wanted = lines("real")
    for kernels in ("numpy", "tensorflow"):
        for a, b in zip(wanted, lines(kernels), strict=True):
            np.testing.assert_allclose(b, a, rtol=2e-4, atol=2e-6)


@pytest.mark.interop("tensorflow")
def test_tables_are_trained_as_by_tensorflow():
    for a, b in zip(lines("real", WORDS), lines("numpy", WORDS), strict=True):
        np.testing.assert_allclose(b, a, rtol=2e-4, atol=2e-6)


def test_a_seed_gives_the_weights_that_it_gives_on_tensorflow(keras):
    keras.utils.set_random_seed(42)
    layer = keras.layers.Dense(2)
    layer.build((None, 2))
    kernel = [[0.8773804903030396, 0.39835691452026367], [-0.3460865616798401, 1.1022447347640991]]
    np.testing.assert_allclose(layer.get_weights()[0], kernel, rtol=1e-6)


def test_a_range_that_is_empty_is_refused(keras):
    with pytest.raises(ValueError, match=r"expected minval < maxval, got 4 and 4"):
        keras.random.randint((2,), 4, 4)
