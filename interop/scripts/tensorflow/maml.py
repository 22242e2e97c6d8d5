"""MAML on sinusoids: the inner step is recorded by the outer tape."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(9)
params = [
    tf.Variable(rng.normal(size=(1, 20)), dtype=tf.float32),
    tf.Variable(np.zeros(20), dtype=tf.float32),
    tf.Variable(rng.normal(size=(20, 1)) / np.sqrt(20), dtype=tf.float32),
    tf.Variable(np.zeros(1), dtype=tf.float32),
]


def net(x, p):
    return tf.tanh(x @ p[0] + p[1]) @ p[2] + p[3]


for step in range(20):
    total = [tf.zeros_like(p) for p in params]
    value = 0.0
    for _ in range(4):
        x = rng.uniform(-5, 5, size=(20, 1)).astype(np.float32)
        y = (rng.uniform(0.1, 5) * np.sin(x + rng.uniform(0, np.pi))).astype(np.float32)
        with tf.GradientTape() as outer:
            with tf.GradientTape() as inner:
                loss = tf.reduce_mean((net(x[:10], params) - y[:10]) ** 2)
            grads = inner.gradient(loss, params)
            fast = [p - 0.01 * g for p, g in zip(params, grads)]
            meta = tf.reduce_mean((net(x[10:], fast) - y[10:]) ** 2) / 4.0
        total = [t + g for t, g in zip(total, outer.gradient(meta, params))]
        value += meta.numpy()
    for p, g in zip(params, total):
        p.assign_sub(0.02 * tf.clip_by_value(g, -1.0, 1.0))
    if step % 5 == 0:
        print("step %d: %.4f" % (step, value), "grad", ["%.4f" % tf.norm(g) for g in total])
