"""Layers of one's own: weights made in `build`, losses inside, regularizers, constraints, configurations, plain variables."""

import numpy as np
import tensorflow as tf
from tensorflow import keras

keras.utils.set_random_seed(3)


class Linear(keras.layers.Layer):
    def __init__(self, units=32, **kwargs):
        super().__init__(**kwargs)
        self.units = units

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], self.units), initializer="random_normal", name="w")
        self.b = self.add_weight(shape=(self.units,), initializer="zeros", regularizer="l2", name="b")

    def call(self, inputs):
        return tf.matmul(inputs, self.w) + self.b

    def get_config(self):
        return {**super().get_config(), "units": self.units}


class Total(keras.layers.Layer):
    def __init__(self, size):
        super().__init__()
        self.total = self.add_weight(shape=(size,), initializer="zeros", trainable=False)

    def call(self, inputs):
        self.total.assign_add(tf.reduce_sum(inputs, axis=0))
        return self.total


class Penalty(keras.layers.Layer):
    def call(self, inputs):
        self.add_loss(1e-2 * tf.reduce_mean(inputs**2))
        return inputs


class Block(keras.layers.Layer):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.penalty = Linear(8), Linear(4), Penalty()
        self.scale = tf.Variable(1.5)
        self.head = keras.layers.Dense(
            1,
            kernel_regularizer=keras.regularizers.L1L2(1e-3, 1e-2),
            kernel_constraint=keras.constraints.MaxNorm(0.5),
            activity_regularizer="l1",
        )

    def call(self, x):
        x = tf.nn.relu(self.first(x)) * self.scale
        return self.head(self.penalty(tf.nn.relu(self.second(x))))


total = Total(2)
print("totals", total(tf.ones((2, 2))).numpy(), total(tf.ones((2, 2))).numpy(), total.trainable_weights)
block = Block()
print("shape", block(tf.ones((3, 16))).shape, [v.path for v in block.weights if "penalty" in v.path])
print("losses", ["%.5f" % float(v) for v in block.losses])
x = np.random.randn(64, 16).astype("float32")
target = x.mean(1, keepdims=True)
optimizer = keras.optimizers.RMSprop(1e-2)
for step in range(6):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(block(x) - target)) + tf.add_n(block.losses)
    grads = tape.gradient(loss, block.trainable_weights)
    optimizer.apply_gradients(zip(grads, block.trainable_weights))
    print("step %d loss %.5f norm of the kernel %.4f" % (step, float(loss), float(tf.norm(block.head.kernel))))
print("grads", ["%.5f" % float(tf.norm(g)) for g in grads])
copy = Linear.from_config(Linear(7, name="seven").get_config())
print("copy", copy.name, copy.units)
model = keras.Sequential([keras.Input((4,)), copy, keras.layers.Lambda(lambda v: tf.nn.softmax(v))])
print("softmax %.5f" % float(tf.reduce_max(model(np.eye(4, dtype="float32")))), model.output_shape, model.count_params())
