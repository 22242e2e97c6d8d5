"""Optimizers of Keras on variables of two kinds, schedules, clipping, averages of weights, accumulation, and mixed precision."""

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers, mixed_precision

for name in ("SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "Nadam", "Ftrl", "Lion"):
    v, w = tf.Variable([1.0, -2.0, 3.0]), keras.Variable([[1.0, 0.5], [-0.5, 2.0]])
    optimizer = getattr(keras.optimizers, name)(learning_rate=0.1)
    for _ in range(4):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(v**2) + tf.reduce_sum(tf.sin(w.value))
        optimizer.apply_gradients(zip(tape.gradient(loss, [v, w]), [v, w]))
    print(name, ["%.5f" % n for n in v.numpy()], ["%.5f" % n for n in w.numpy().ravel()])

schedules = keras.optimizers.schedules
for schedule in (
    schedules.ExponentialDecay(0.1, 2, 0.9, staircase=True),
    schedules.CosineDecay(0.1, 10, warmup_target=0.2, warmup_steps=3),
    schedules.PolynomialDecay(0.1, 10),
    schedules.PiecewiseConstantDecay([3, 6], [1.0, 0.5, 0.1]),
):
    print(type(schedule).__name__, ["%.5f" % float(schedule(step)) for step in (0, 1, 3, 5, 9)])

for words in (
    {"clipnorm": 0.1},
    {"clipvalue": 0.05},
    {"global_clipnorm": 0.2},
    {"use_ema": True, "ema_momentum": 0.5},
    {"gradient_accumulation_steps": 2},
    {"learning_rate": schedules.CosineDecay(0.05, 8)},
):
    keras.utils.set_random_seed(8)
    x, y = np.random.randn(64, 5).astype("float32"), np.random.randn(64, 1).astype("float32")
    model = keras.Sequential([keras.Input((5,)), layers.Dense(8, "tanh"), layers.Dense(1)])
    model.compile(keras.optimizers.Adam(**{"learning_rate": 0.05, **words}), "mse")
    history = model.fit(x, y, epochs=3, batch_size=16, verbose=0).history
    print(list(words), ["%.4f" % v for v in history["loss"]], "%.4f" % np.abs(model.get_weights()[0]).sum())

mixed_precision.set_global_policy("mixed_float16")
dense = layers.Dense(8, activation="relu")
inputs = keras.Input((5,))
model = keras.Model(inputs, layers.Dense(3, activation="softmax", dtype="float32")(dense(inputs)))
print("policy", dense.compute_dtype, dense.kernel.dtype, model(x).dtype)
optimizer = mixed_precision.LossScaleOptimizer(keras.optimizers.SGD(0.1))
losses = []
for _ in range(3):
    with tf.GradientTape() as tape:
        loss = keras.losses.SparseCategoricalCrossentropy()(np.arange(64) % 3, model(x, training=True))
        scaled = optimizer.scale_loss(loss)
    optimizer.apply_gradients(zip(tape.gradient(scaled, model.trainable_variables), model.trainable_variables))
    losses.append("%.2f" % float(loss))
print("scaled", losses, "%.0f" % float(scaled / loss))
mixed_precision.set_global_policy("float32")
