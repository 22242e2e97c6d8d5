"""A critic with gradient penalty: a tape inside a tape."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(4)


def net(sizes):
    return [
        (tf.Variable((rng.normal(size=(n, m)) / np.sqrt(n)).astype("float32")), tf.Variable(tf.zeros(m)))
        for n, m in zip(sizes, sizes[1:])
    ]


def run(layers, x, activation):
    for w, b in layers[:-1]:
        x = activation(x @ w + b)
    return x @ layers[-1][0] + layers[-1][1]


critic, generator = net([2, 32, 32, 1]), net([2, 32, 2])
c_params, g_params = [v for pair in critic for v in pair], [v for pair in generator for v in pair]
for step in range(15):
    for _ in range(3):
        angle = rng.uniform(0, 2 * np.pi, size=32)
        real = tf.constant(np.stack([np.cos(angle), np.sin(angle)], 1), tf.float32)
        noise = rng.normal(size=(32, 2)).astype("float32")
        alpha = rng.uniform(size=(32, 1)).astype("float32")
        fake = run(generator, noise, tf.nn.relu)
        with tf.GradientTape() as tape:
            mixed = alpha * real + (1 - alpha) * fake
            with tf.GradientTape(watch_accessed_variables=False) as inner:
                inner.watch(mixed)
                score = run(critic, mixed, tf.nn.softplus)
            slope = inner.gradient(score, mixed)
            penalty = tf.reduce_mean((tf.norm(slope, axis=1) - 1.0) ** 2)
            cost = tf.reduce_mean(run(critic, fake, tf.nn.softplus)) - tf.reduce_mean(run(critic, real, tf.nn.softplus))
            cost += 10.0 * penalty
        grads = tape.gradient(cost, c_params, unconnected_gradients=tf.UnconnectedGradients.ZERO)
        for p, g in zip(c_params, grads):
            p.assign_sub(0.01 * g)
    with tf.GradientTape() as tape:
        g_cost = -tf.reduce_mean(run(critic, run(generator, noise, tf.nn.relu), tf.nn.softplus))
    for p, g in zip(g_params, tape.gradient(g_cost, g_params)):
        p.assign_sub(0.01 * g)
    if step % 5 == 0:
        print("step %d: %.4f penalty %.4f generator %.4f" % (step, cost, penalty, g_cost))
print("grad norms", ["%.5f" % tf.norm(g).numpy() for g in grads])
