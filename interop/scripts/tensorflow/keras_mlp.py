"""Keras layers in a custom loop: a Model subclass, Adam, a metric, a regulariser, weights saved and restored."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import Model, layers

rng = np.random.default_rng(5)
x = rng.normal(size=(256, 8)).astype("float32")
y = (x[:, :3].sum(axis=1) > 0).astype("int32")


class Classifier(Model):
    def __init__(self):
        super().__init__()
        self.d1 = layers.Dense(16, activation="relu", kernel_regularizer=tf.keras.regularizers.l2(1e-3))
        self.drop = layers.Dropout(0.3)
        self.d2 = layers.Dense(2)

    def call(self, inputs, training=False):
        return self.d2(self.drop(self.d1(inputs), training=training))


model = Classifier()
model(x[:1])
model.set_weights([rng.normal(scale=0.3, size=w.shape).astype("float32") for w in model.get_weights()])
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.Adam(learning_rate=0.01)
mean, accuracy = tf.keras.metrics.Mean(name="loss"), tf.keras.metrics.SparseCategoricalAccuracy()
dataset = tf.data.Dataset.from_tensor_slices((x, y)).batch(64).prefetch(1)
for epoch in range(4):
    mean.reset_state()
    accuracy.reset_state()
    for points, labels in dataset:
        with tf.GradientTape() as tape:
            logits = model(points, training=False)
            loss = loss_object(labels, logits) + sum(model.losses)
        grads = tape.gradient(loss, model.trainable_variables)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        mean.update_state(loss)
        accuracy.update_state(labels, logits)
    print("epoch %d: loss %.4f accuracy %.3f" % (epoch, float(mean.result()), float(accuracy.result())))
print("grads", ["%.4f" % float(tf.norm(g)) for g in grads])
print("iterations", int(optimizer.iterations), "weights", [w.shape for w in model.get_weights()])
