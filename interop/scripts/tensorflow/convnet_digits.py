"""A convolutional net from tf.nn ops on scikit-learn's digits, inside a tf.function."""

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

rng = np.random.default_rng(3)
images, labels = load_digits(return_X_y=True)
images = (images / 16).astype("float32").reshape(-1, 8, 8, 1)
labels = labels.astype("int32")


def weights(*shape):
    return tf.Variable((rng.normal(size=shape) * np.sqrt(2 / np.prod(shape[:-1]))).astype("float32"))


k1, k2, w, b = weights(3, 3, 1, 8), weights(3, 3, 8, 16), weights(64, 10), tf.Variable(tf.zeros(10))
gamma, beta = tf.Variable(tf.ones(8)), tf.Variable(tf.zeros(8))
params = [k1, k2, w, b, gamma, beta]
velocity = [tf.Variable(tf.zeros_like(p), trainable=False) for p in params]


def model(x):
    h = tf.nn.conv2d(x, k1, strides=1, padding="SAME")
    mean, variance = tf.nn.moments(h, axes=[0, 1, 2])
    h = tf.nn.relu(tf.nn.batch_normalization(h, mean, variance, beta, gamma, 1e-5))
    h = tf.nn.max_pool2d(h, ksize=2, strides=2, padding="VALID")
    h = tf.nn.leaky_relu(tf.nn.conv2d(h, k2, strides=[1, 1, 1, 1], padding="SAME"), alpha=0.1)
    h = tf.nn.avg_pool2d(h, 2, 2, "VALID")
    return tf.reshape(h, [-1, 64]) @ w + b


@tf.function
def step(x, y):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.nn.softmax_cross_entropy_with_logits(tf.one_hot(y, 10), model(x)))
    grads = tape.gradient(loss, params)
    for p, v, g in zip(params, velocity, grads):
        v.assign(0.9 * v + g)
        p.assign_sub(0.02 * v)
    return loss, tf.linalg.global_norm(grads)


for epoch in range(2):
    for i in range(0, 1500, 100):
        loss, norm = step(tf.constant(images[i : i + 100]), tf.constant(labels[i : i + 100]))
        if i % 500 == 0:
            print("epoch %d step %d loss %.4f grad %.4f" % (epoch, i, loss, norm))
predicted = tf.argmax(model(images[1500:]), axis=-1, output_type=tf.int32)
print("accuracy %.3f" % tf.reduce_mean(tf.cast(predicted == labels[1500:], tf.float32)).numpy())
