"""An LSTM cell written out, unrolled over characters; gradients clipped by their global norm."""

import numpy as np
import tensorflow as tf

TEXT = "the quick brown fox jumps over the lazy dog; pack my box with five dozen liquor jugs. " * 4
chars = sorted(set(TEXT))
ids = np.array([chars.index(c) for c in TEXT], dtype=np.int32)
rng = np.random.default_rng(7)
size, vocab, steps, batch = 24, len(chars), 16, 4


def variable(*shape):
    return tf.Variable(rng.normal(scale=0.2, size=shape).astype(np.float32))


embedding, W, U, b = variable(vocab, size), variable(size, 4 * size), variable(size, 4 * size), variable(4 * size)
V, c0 = variable(size, vocab), variable(vocab)
params = [embedding, W, U, b, V, c0]


def cell(x, h, c):
    i, f, g, o = tf.split(x @ W + h @ U + b, 4, axis=1)
    c = tf.sigmoid(f + 1.0) * c + tf.sigmoid(i) * tf.tanh(g)
    return tf.sigmoid(o) * tf.tanh(c), c


columns = ids[: len(ids) // batch * batch].reshape(batch, -1)
for epoch in range(2):
    h = c = tf.zeros([batch, size])
    for start in range(0, columns.shape[1] - steps - 1, steps):
        inputs, targets = columns[:, start : start + steps], columns[:, start + 1 : start + 1 + steps]
        h, c = tf.stop_gradient(h), tf.stop_gradient(c)
        with tf.GradientTape() as tape:
            logits = []
            for t in range(steps):
                h, c = cell(tf.nn.embedding_lookup(embedding, inputs[:, t]), h, c)
                logits.append(h @ V + c0)
            logits = tf.stack(logits, axis=1)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(targets, logits))
        grads = tape.gradient(loss, params)
        clipped, norm = tf.clip_by_global_norm(grads, 1.0)
        for p, g in zip(params, clipped):
            p.assign_sub(0.5 * tf.convert_to_tensor(g))
    print("epoch %d loss %.4f gradient norm %.4f" % (epoch, loss, norm))
print("embedding gradient is sparse:", isinstance(grads[0], tf.IndexedSlices))
x, h, c, word = chars.index("t"), tf.zeros([1, size]), tf.zeros([1, size]), "t"
for _ in range(8):
    h, c = cell(tf.gather(embedding, [x]), h, c)
    x = int(tf.argmax(tf.nn.softmax(h @ V + c0), axis=1)[0])
    word += chars[x]
print(repr(word))
