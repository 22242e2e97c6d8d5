"""Linear regression with tf.Variable, GradientTape and assign_sub."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(0)
x = rng.uniform(-1, 1, size=(100, 1)).astype(np.float32)
y = 3.0 * x - 0.5 + rng.normal(scale=0.1, size=x.shape).astype(np.float32)
w = tf.Variable([[0.0]], name="w")
b = tf.Variable(tf.zeros([1]), name="b")
for epoch in range(60):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(tf.matmul(x, w) + b - y))
    dw, db = tape.gradient(loss, [w, b])
    w.assign_sub(0.3 * dw)
    b.assign_sub(0.3 * db)
    if epoch % 20 == 0:
        print("epoch", epoch, "loss %.5f" % loss.numpy(), "grad %.5f" % dw.numpy()[0, 0])
print(w.numpy(), b.numpy())
tf.print("w =", tf.squeeze(w))
print(w.dtype, w.shape, loss.shape)
