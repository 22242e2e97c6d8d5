"""tf.custom_gradient: a stable log1pexp, clipped gradients, a straight-through estimator, reversal, recomputation."""

import numpy as np
import tensorflow as tf


@tf.custom_gradient
def log1pexp(x):
    e = tf.exp(x)

    def grad(upstream):
        return upstream * (1 - 1 / (1 + e))

    return tf.math.log(1 + e), grad


@tf.custom_gradient
def clip_gradients(y):
    def backward(dy):
        return tf.clip_by_norm(dy, 0.5)

    return y, backward


@tf.custom_gradient
def straight_through(x):
    return tf.round(x), lambda dy: dy


@tf.custom_gradient
def reverse(x, factor=2.0):
    return tf.identity(x), lambda dy: -factor * dy


x = tf.constant([-2.0, 0.0, 20.0])
with tf.GradientTape(persistent=True) as tape:
    tape.watch(x)
    plain = tf.math.log(1 + tf.exp(x))
    stable = log1pexp(x)
    clipped = clip_gradients(x * x)
    rounded = straight_through(x * 1.3)
    turned = reverse(x)
print("plain grad", tape.gradient(plain, x).numpy())
print("stable grad", tape.gradient(stable, x).numpy(), log1pexp(tf.constant(100.0)).numpy())
print("clipped grad", tape.gradient(clipped, x).numpy())
print("straight grad", tape.gradient(rounded, x).numpy(), rounded.numpy())
print("reversed grad", tape.gradient(turned, x).numpy())

v = tf.Variable([0.5, -0.5])
block = tf.recompute_grad(lambda t: tf.sin(t) * tf.exp(t))
with tf.GradientTape() as tape:
    y = tf.reduce_sum(block(v))
print("recomputed grad", tape.gradient(y, v).numpy())
with tf.GradientTape() as outer:
    with tf.GradientTape() as inner:
        y = tf.reduce_sum(log1pexp(v) ** 2)
    g = inner.gradient(y, v)
print("second grad", outer.gradient(g, v).numpy())
with tf.autodiff.ForwardAccumulator(v, tf.constant([1.0, 0.0])) as acc:
    z = tf.reduce_prod(tf.tanh(v))
print("forward gradient", acc.jvp(z).numpy())
print("constant:", tf.GradientTape().__class__.__name__, np.float32(z).round(5))
