"""Keras's `fit` from a seed: arrays and a tf.data pipeline, dropout, callbacks, files of weights and of the whole model."""

import tempfile
from pathlib import Path

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

keras.utils.set_random_seed(5)
x = np.random.randn(128, 6).astype("float32")
y = (x @ np.arange(6.0) / 6 + 0.1 * np.random.randn(128)).astype("float32")
folder = Path(tempfile.mkdtemp())


def build():
    model = keras.Sequential(
        [
            layers.Input(shape=(6,)),
            layers.Dense(12, activation="relu", kernel_initializer="he_uniform"),
            layers.BatchNormalization(),
            layers.Dropout(0.2),
            layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.Adam(0.05), loss="mse", metrics=["mae"])
    return model


def show(name, history):
    print(name, {key: ["%.4f" % float(v) for v in values] for key, values in history.history.items()})


model = build()
callbacks = [
    keras.callbacks.EarlyStopping(patience=2, restore_best_weights=True),
    keras.callbacks.ReduceLROnPlateau(patience=1, factor=0.5),
    keras.callbacks.ModelCheckpoint(folder / "best.weights.h5", save_best_only=True, save_weights_only=True),
]
show("arrays", model.fit(x, y, validation_split=0.25, epochs=6, batch_size=16, callbacks=callbacks, verbose=0))
best = build()
best.load_weights(folder / "best.weights.h5")
print("best weights", np.allclose(best.predict(x, verbose=0), model.predict(x, verbose=0)))

rows = tf.data.Dataset.from_tensor_slices((x, y)).map(lambda a, b: (a * 0.5, b)).cache().shuffle(128).batch(32).prefetch(2)
model = build()
show("pipeline", model.fit(rows, epochs=3, validation_data=rows.take(1), verbose=0))
model.save(folder / "model.keras")
again = keras.models.load_model(folder / "model.keras")
print("iterations", int(again.optimizer.iterations), "evaluate", ["%.4f" % v for v in again.evaluate(x, y, verbose=0)])
show("resumed", again.fit(x, y, initial_epoch=3, epochs=5, verbose=0))
