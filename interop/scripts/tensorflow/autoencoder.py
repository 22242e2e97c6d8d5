"""Two autoencoders of digits: a dense one and a convolutional one for noisy pictures, with tf.data and early stopping."""

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from tensorflow.keras import layers, losses
from tensorflow.keras.models import Model

x = (load_digits().images / 16.0).astype("float32")
x_train, x_test = x[:512], x[512:640]
rng = np.random.default_rng(0)


def same_start(model):
    model.set_weights([(rng.normal(size=w.shape) * 0.2).astype("float32") if w.ndim > 1 else w for w in model.get_weights()])


class Autoencoder(Model):
    def __init__(self, latent_dim, shape):
        super(Autoencoder, self).__init__()
        self.latent_dim = latent_dim
        self.encoder = tf.keras.Sequential([layers.Flatten(), layers.Dense(latent_dim, activation="relu")])
        self.decoder = tf.keras.Sequential(
            [layers.Dense(int(tf.math.reduce_prod(shape)), activation="sigmoid"), layers.Reshape(shape)]
        )

    def call(self, x):
        encoded = self.encoder(x)
        return self.decoder(encoded)


autoencoder = Autoencoder(16, x_test.shape[1:])
autoencoder(x_test[:1])
same_start(autoencoder)
autoencoder.compile(optimizer=tf.keras.optimizers.Adam(0.005), loss=losses.MeanSquaredError())
stop = tf.keras.callbacks.EarlyStopping(monitor="val_loss", patience=2, restore_best_weights=True)
seen = autoencoder.fit(
    x_train, x_train, epochs=3, batch_size=64, shuffle=False, validation_data=(x_test, x_test), callbacks=[stop], verbose=0
)
print("dense", ["%.4f" % v for v in seen.history["val_loss"]])
encoded_imgs = autoencoder.encoder(x_test).numpy()
decoded_imgs = autoencoder.decoder(encoded_imgs).numpy()
print(encoded_imgs.shape, decoded_imgs.shape, "error %.4f" % np.mean((decoded_imgs - x_test) ** 2))

noisy = tf.clip_by_value(x_train[..., tf.newaxis] + 0.2 * rng.normal(size=(512, 8, 8, 1)).astype("float32"), 0.0, 1.0)


class Denoise(Model):
    def __init__(self):
        super(Denoise, self).__init__()
        self.encoder = tf.keras.Sequential(
            [
                layers.Input(shape=(8, 8, 1)),
                layers.Conv2D(8, (3, 3), activation="relu", padding="same", strides=2),
                layers.Conv2D(4, (3, 3), activation="relu", padding="same", strides=2),
            ]
        )
        self.decoder = tf.keras.Sequential(
            [
                layers.Conv2DTranspose(4, kernel_size=3, strides=2, activation="relu", padding="same"),
                layers.Conv2DTranspose(8, kernel_size=3, strides=2, activation="relu", padding="same"),
                layers.Conv2D(1, kernel_size=(3, 3), activation="sigmoid", padding="same"),
            ]
        )

    def call(self, x):
        return self.decoder(self.encoder(x))


denoise = Denoise()
denoise(noisy[:1])
same_start(denoise)
pairs = tf.data.Dataset.from_tensor_slices((noisy, x_train[..., None])).batch(64, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
denoise.compile(optimizer="adam", loss="mae", metrics=["mse"])
seen = denoise.fit(pairs, epochs=2, verbose=0)
print("denoising", {k: ["%.4f" % e for e in v] for k, v in sorted(seen.history.items())})
with tf.GradientTape() as tape:
    loss = tf.reduce_mean(losses.binary_crossentropy(x_train[:64, ..., None], denoise(noisy[:64])))
print("gradient", ["%.5f" % tf.norm(g) for g in tape.gradient(loss, denoise.trainable_weights)])
