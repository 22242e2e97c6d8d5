"""Model subclasses with their own train_step and test_step: fit, evaluate, callbacks, sample weights, class metrics."""

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(7)
x, y = load_digits(return_X_y=True)
x = (x / 16).astype("float32")
x_train, y_train, x_test, y_test = x[:640], y[:640], x[640:800], y[640:800]

loss_tracker = keras.metrics.Mean(name="loss")
acc_metric = keras.metrics.SparseCategoricalAccuracy(name="accuracy")


class CustomModel(keras.Model):
    def train_step(self, data):
        if len(data) == 3:
            x, y, sample_weight = data
        else:
            sample_weight = None
            x, y = data
        with tf.GradientTape() as tape:
            y_pred = self(x, training=True)
            loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, y_pred, from_logits=True))
            loss += tf.add_n(self.losses)
        trainable_vars = self.trainable_variables
        gradients = tape.gradient(loss, trainable_vars)
        gradients, norm = tf.clip_by_global_norm(gradients, 1.0)
        self.optimizer.apply_gradients(zip(gradients, trainable_vars))
        loss_tracker.update_state(loss)
        acc_metric.update_state(y, y_pred, sample_weight=sample_weight)
        return {"loss": loss_tracker.result(), "accuracy": acc_metric.result()}

    def test_step(self, data):
        x, y = data
        y_pred = self(x, training=False)
        loss_tracker.update_state(tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, y_pred, from_logits=True)))
        acc_metric.update_state(y, y_pred)
        return {m.name: m.result() for m in self.metrics}

    @property
    def metrics(self):
        return [loss_tracker, acc_metric]


class LossHistory(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        self.losses = []

    def on_epoch_end(self, epoch, logs=None):
        self.losses.append(float(logs["loss"]))


inputs = keras.Input(shape=(64,))
h = layers.Dense(32, activation="relu", kernel_regularizer=keras.regularizers.L2(1e-4), name="hidden")(inputs)
h = layers.BatchNormalization()(h)
outputs = layers.Dense(10, name="scores")(h)
model = CustomModel(inputs, outputs)
rng = np.random.default_rng(3)
for layer in model.layers:
    if layer.name in ("hidden", "scores"):
        kernel, bias = layer.get_weights()
        layer.set_weights([(rng.normal(size=kernel.shape) * 0.15).astype("float32"), bias])
model.compile(optimizer=keras.optimizers.SGD(learning_rate=0.1, momentum=0.9))
history = LossHistory()
model.fit(x_train, y_train, epochs=3, batch_size=64, shuffle=False, verbose=0, callbacks=[history])
print("losses", ["%.4f" % v for v in history.losses])
weights = np.where(y_train == 3, 2.0, 1.0).astype("float32")
again = model.fit(x_train, y_train, sample_weight=weights, epochs=1, batch_size=64, shuffle=False, verbose=0)
print({k: ["%.4f" % float(a) for a in v] for k, v in again.history.items()})
result = model.evaluate(x_test, y_test, batch_size=80, verbose=0, return_dict=True)
print({k: "%.4f" % float(v) for k, v in result.items()})
print("predictions", model.predict(x_test[:4], verbose=0).argmax(axis=-1), model.count_params())
