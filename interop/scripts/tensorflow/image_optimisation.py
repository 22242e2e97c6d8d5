"""An image as the variable: content and style losses, total variation, a resized copy."""

import numpy as np
import tensorflow as tf

rng = np.random.default_rng(8)
k1 = tf.constant(rng.normal(size=(3, 3, 3, 8)) * 0.2, dtype=tf.float32)
k2 = tf.constant(rng.normal(size=(3, 3, 8, 12)) * 0.1, dtype=tf.float32)


def features(x):
    x = tf.nn.avg_pool(tf.nn.relu(tf.nn.conv2d(x, k1, 1, "SAME")), 2, 2, "SAME")
    return tf.nn.relu(tf.nn.conv2d(x, k2, strides=1, padding="VALID"))


def gram(x):
    result = tf.linalg.einsum("bijc,bijd->bcd", x, x)
    shape = tf.shape(x)
    return result / tf.cast(shape[1] * shape[2], tf.float32)


content, style = (tf.constant(rng.uniform(size=(1, 16, 16, 3)).astype(np.float32)) for _ in range(2))
wanted, texture = features(content), gram(features(style))
image = tf.Variable(content)
for i in range(25):
    with tf.GradientTape() as tape:
        y = features(image)
        loss = tf.reduce_mean(tf.math.squared_difference(y, wanted))
        loss += 10.0 * tf.reduce_mean((gram(y) - texture) ** 2)
        loss += 1e-4 * tf.reduce_sum(tf.image.total_variation(image))
    grad = tape.gradient(loss, image)
    image.assign(tf.clip_by_value(image - 0.02 * tf.sign(grad) * tf.minimum(1.0, tf.abs(grad) * 1e3), 0.0, 1.0))
    if i % 8 == 0:
        print("%d: loss %.5f grad %.5f" % (i, loss, tf.norm(grad)))
print("image %.5f" % tf.reduce_mean(image).numpy(), image.shape)
print("small %.5f" % tf.reduce_mean(tf.image.resize(image, [8, 8])).numpy())
