"""A variational autoencoder with a hand-made encoder; noise comes from NumPy so that runs can be compared."""

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

rng = np.random.default_rng(5)
x = (load_digits().data[:512] / 16).astype(np.float32)


def dense(n, m):
    return tf.Variable((rng.normal(size=(n, m)) / np.sqrt(n)).astype(np.float32)), tf.Variable(tf.zeros((m,)))


layers = [dense(64, 32), dense(32, 8), dense(4, 32), dense(32, 64)]
params = tf.nest.flatten(layers)


def apply(layer, h):
    return tf.add(tf.matmul(h, layer[0]), layer[1])


def elbo(batch, noise):
    mean, log_variance = tf.split(apply(layers[1], tf.nn.elu(apply(layers[0], batch))), 2, axis=1)
    z = mean + noise * tf.exp(log_variance * 0.5)
    logits = apply(layers[3], tf.nn.elu(apply(layers[2], z)))
    cross = tf.nn.sigmoid_cross_entropy_with_logits(labels=batch, logits=logits)
    kl = -0.5 * tf.reduce_sum(1 + log_variance - mean**2 - tf.exp(log_variance), axis=1)
    return tf.reduce_mean(tf.reduce_sum(cross, axis=1)), tf.reduce_mean(kl)


for epoch in range(4):
    for batch in tf.data.Dataset.from_tensor_slices(x).batch(64, drop_remainder=True):
        noise = rng.normal(size=(64, 4)).astype(np.float32)
        with tf.GradientTape() as tape:
            reconstruction, kl = elbo(batch, noise)
            loss = reconstruction + kl
        for p, g in zip(params, tape.gradient(loss, params)):
            p.assign_sub(0.02 * tf.clip_by_norm(g, 5.0))
    print(f"epoch {epoch}: {loss:.3f} = {reconstruction:.3f} + {kl:.3f}")
print("grad of the last bias: %.5f" % tf.reduce_sum(tf.abs(g)))
