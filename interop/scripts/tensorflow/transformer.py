"""One block of attention with a causal mask and layer normalisation, trained to copy."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(11)
vocab, width, heads, length = 10, 16, 2, 8


def make(*shape, scale=None):
    scale = shape[0] ** -0.5 if scale is None else scale
    return tf.Variable(tf.constant(rng.standard_normal(shape) * scale, dtype=tf.float32))


P = {
    "embed": make(vocab, width, scale=0.5),
    "place": make(length, width, scale=0.1),
    "qkv": make(width, 3 * width),
    "out": make(width, width),
    "up": make(width, 32),
    "down": make(32, width),
    "head": make(width, vocab),
    "gain": tf.Variable(tf.ones([2, width])),
}


def norm(x, gain):
    mean = tf.reduce_mean(x, axis=-1, keepdims=True)
    variance = tf.reduce_mean(tf.math.squared_difference(x, mean), axis=-1, keepdims=True)
    return gain * (x - mean) * tf.math.rsqrt(variance + 1e-5)


def split(x):
    return tf.transpose(tf.reshape(x, (tf.shape(x)[0], length, heads, width // heads)), perm=[0, 2, 1, 3])


def model(tokens):
    x = tf.gather(P["embed"], tokens) + P["place"][tf.newaxis]
    q, k, v = (split(part) for part in tf.split(norm(x, P["gain"][0]) @ P["qkv"], 3, axis=-1))
    scores = tf.matmul(q, k, transpose_b=True) / tf.sqrt(tf.cast(width // heads, tf.float32))
    mask = 1.0 - tf.linalg.band_part(tf.ones((length, length)), -1, 0)
    attention = tf.nn.softmax(scores - 1e9 * mask, axis=-1)
    mixed = tf.reshape(tf.transpose(attention @ v, [0, 2, 1, 3]), [-1, length, width])
    x = x + tf.einsum("bld,de->ble", mixed, P["out"])
    x = x + tf.tensordot(tf.nn.gelu(norm(x, P["gain"][1]) @ P["up"]), P["down"], axes=1)
    return x @ P["head"]


for step in range(30):
    first = rng.integers(0, vocab, (16, 4))
    tokens = np.concatenate([first, first], axis=1)
    with tf.GradientTape() as tape:
        logits = model(tokens)
        loss = tf.reduce_mean(
            tf.keras.losses.sparse_categorical_crossentropy(tokens[:, 4:], logits[:, 3:-1], from_logits=True)
        )
    grads = tape.gradient(loss, P)
    for name, p in P.items():
        p.assign_sub(0.2 * tf.convert_to_tensor(grads[name]))
    if step % 10 == 0:
        print("step %d loss %.4f grad of head %.4f" % (step, loss, tf.norm(grads["head"])))
print("last %.4f" % loss.numpy())
