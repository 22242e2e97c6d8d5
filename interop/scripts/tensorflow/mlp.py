"""A tf.Module trained with mini-batches of tf.data and a hand-written Adam."""

import numpy as np
import tensorflow as tf

rng = np.random.RandomState(1)


class Dense(tf.Module):
    def __init__(self, n, m, name=None):
        super().__init__(name=name)
        self.w = tf.Variable((rng.randn(n, m) * np.sqrt(2.0 / n)).astype(np.float32), name="w")
        self.b = tf.Variable(tf.zeros([m]), name="b")

    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


class MLP(tf.Module):
    def __init__(self, sizes, name=None):
        super().__init__(name=name)
        self.layers = [Dense(n, m) for n, m in zip(sizes, sizes[1:])]

    def __call__(self, x):
        for layer in self.layers[:-1]:
            x = tf.nn.relu(layer(x))
        return self.layers[-1](x)


class Adam:
    def __init__(self, lr=1e-2, b1=0.9, b2=0.999, eps=1e-7):
        self.lr, self.b1, self.b2, self.eps, self.t, self.slots = lr, b1, b2, eps, 0.0, {}

    def apply_gradients(self, pairs):
        self.t += 1.0
        for i, (g, v) in enumerate(pairs):
            m, s = self.slots.setdefault(i, (tf.Variable(tf.zeros_like(v)), tf.Variable(tf.zeros_like(v))))
            m.assign(self.b1 * m + (1 - self.b1) * g)
            s.assign(self.b2 * s + (1 - self.b2) * tf.square(g))
            step = (m / (1 - self.b1**self.t)) / (tf.sqrt(s / (1 - self.b2**self.t)) + self.eps)
            v.assign_sub(self.lr * step)


x = rng.uniform(-1, 1, size=(320, 2)).astype(np.float32)
y = (x[:, 0] * x[:, 1] > 0).astype(np.int64)
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(32)
net, optimizer = MLP([2, 16, 16, 2]), Adam()
print("variables:", len(net.trainable_variables), sum(int(tf.size(v)) for v in net.variables))
for epoch in range(6):
    losses = []
    for points, labels in dataset:
        with tf.GradientTape() as tape:
            logits = net(points)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
        gradients = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(gradients, net.trainable_variables))
        losses.append(loss)
    print("epoch {}: loss {:.4f}".format(epoch, tf.reduce_mean(losses)))
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(net(x), axis=1), y), tf.float32))
print("accuracy %.3f" % float(accuracy))
print("grad", ["%.4f" % tf.norm(g) for g in gradients])
