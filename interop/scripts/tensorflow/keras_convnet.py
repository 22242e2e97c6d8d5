"""A Sequential convnet on digits: batch normalisation, pooling, SGD with momentum and a schedule."""

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits

rng = np.random.default_rng(2)
images, labels = load_digits(return_X_y=True)
images = (images / 16).reshape(-1, 8, 8, 1).astype("float32")
model = tf.keras.Sequential(
    [
        tf.keras.Input(shape=(8, 8, 1)),
        tf.keras.layers.Conv2D(8, 3, padding="same", use_bias=False),
        tf.keras.layers.BatchNormalization(),
        tf.keras.layers.ReLU(),
        tf.keras.layers.MaxPooling2D(),
        tf.keras.layers.Conv2D(16, (3, 3), activation="tanh"),
        tf.keras.layers.GlobalAveragePooling2D(),
        tf.keras.layers.Dense(10, activation="softmax"),
    ]
)
for v in model.trainable_variables:
    if len(v.shape) > 1:
        v.assign(rng.normal(scale=np.sqrt(2 / np.prod(v.shape[:-1])), size=v.shape).astype("float32"))
schedule = tf.keras.optimizers.schedules.ExponentialDecay(0.1, decay_steps=10, decay_rate=0.8)
optimizer = tf.keras.optimizers.SGD(schedule, momentum=0.9)
for i in range(0, 1200, 100):
    batch, target = images[i : i + 100], tf.one_hot(labels[i : i + 100], 10)
    with tf.GradientTape() as tape:
        p = model(batch, training=True)
        loss = tf.reduce_mean(tf.keras.losses.categorical_crossentropy(target, p))
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    if i % 300 == 0:
        print("step %d loss %.4f grad %.4f" % (i // 100, loss, tf.linalg.global_norm(gradients)))
predicted = np.argmax(model(images[1200:], training=False), axis=1)
print("accuracy %.3f" % np.mean(predicted == labels[1200:]))
print("moving mean %.4f" % tf.norm(model.layers[1].moving_mean).numpy())
print("parameters", model.count_params(), len(model.trainable_variables), len(model.non_trainable_variables))
