"""u'' + u = 0 by nested tapes in float64, with a persistent tape and a Jacobian at the end."""

import numpy as np
import tensorflow as tf

tf.keras.backend.set_floatx("float64")
rng = np.random.default_rng(6)
sizes = [1, 16, 16, 1]
W = [tf.Variable(rng.normal(size=(n, m)) * np.sqrt(2 / (n + m))) for n, m in zip(sizes, sizes[1:])]
b = [tf.Variable(np.zeros(m)) for m in sizes[1:]]
params = W + b


def u(t):
    for w, c in zip(W[:-1], b[:-1]):
        t = tf.math.tanh(t @ w + c)
    return t @ W[-1] + b[-1]


t = tf.reshape(tf.linspace(tf.constant(0.0, tf.float64), 3.0, 40), [-1, 1])
zero = tf.zeros((1, 1), dtype=tf.float64)
for step in range(60):
    with tf.GradientTape() as tape:
        with tf.GradientTape() as second:
            second.watch(t)
            with tf.GradientTape() as first:
                first.watch(t)
                y = u(t)
            dy = first.gradient(y, t)
        residual = second.gradient(dy, t) + y
        with tf.GradientTape() as start:
            start.watch(zero)
            y0 = u(zero)
        loss = tf.reduce_mean(residual**2) + tf.reduce_sum(y0**2) + tf.reduce_sum((start.gradient(y0, zero) - 1) ** 2)
    grads = tape.gradient(loss, params)
    for p, g in zip(params, grads):
        p.assign_sub(0.01 * g)
    if step % 20 == 0:
        print("step %d loss %.6f" % (step, loss))
print("error %.5f" % tf.reduce_max(tf.abs(u(t) - tf.sin(t))))
print("gradient", " ".join("%.6f" % tf.norm(g) for g in grads))
with tf.GradientTape(persistent=True) as tape:
    tape.watch(t)
    y = u(t)
print("jacobian %.6f" % tf.norm(tape.jacobian(y, t)), "batch %.6f" % tf.norm(tape.batch_jacobian(y, t)))
del tape
