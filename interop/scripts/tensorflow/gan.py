"""A convolutional GAN on digits, in the way of the DCGAN tutorial: two tapes in one step, two optimizers."""

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_digits
from tensorflow.keras import layers

tf.random.set_seed(5)
images = (load_digits().images[:256, ..., None] / 8.0 - 1.0).astype("float32")
BATCH_SIZE, noise_dim = 64, 16
rng = np.random.default_rng(6)
train_dataset = tf.data.Dataset.from_tensor_slices(images).batch(BATCH_SIZE)


def make_generator_model():
    model = tf.keras.Sequential()
    model.add(layers.Input(shape=(noise_dim,)))
    model.add(layers.Dense(2 * 2 * 16, use_bias=False))
    model.add(layers.BatchNormalization())
    model.add(layers.LeakyReLU())
    model.add(layers.Reshape((2, 2, 16)))
    assert model.output_shape == (None, 2, 2, 16)
    model.add(layers.Conv2DTranspose(8, (5, 5), strides=(2, 2), padding="same", use_bias=False))
    model.add(layers.BatchNormalization())
    model.add(layers.LeakyReLU())
    model.add(layers.Conv2DTranspose(1, (5, 5), strides=(2, 2), padding="same", use_bias=False, activation="tanh"))
    assert model.output_shape == (None, 8, 8, 1)
    return model


def make_discriminator_model():
    model = tf.keras.Sequential()
    model.add(layers.Conv2D(8, (5, 5), strides=(2, 2), padding="same", input_shape=[8, 8, 1]))
    model.add(layers.LeakyReLU())
    model.add(layers.Dropout(0.0))
    model.add(layers.Conv2D(16, (5, 5), strides=(2, 2), padding="same"))
    model.add(layers.LeakyReLU())
    model.add(layers.Flatten())
    model.add(layers.Dense(1))
    return model


cross_entropy = tf.keras.losses.BinaryCrossentropy(from_logits=True)


def discriminator_loss(real_output, fake_output):
    real_loss = cross_entropy(tf.ones_like(real_output), real_output)
    fake_loss = cross_entropy(tf.zeros_like(fake_output), fake_output)
    return real_loss + fake_loss


def generator_loss(fake_output):
    return cross_entropy(tf.ones_like(fake_output), fake_output)


generator, discriminator = make_generator_model(), make_discriminator_model()
for net in (generator, discriminator):
    net.set_weights([rng.normal(scale=0.1, size=w.shape).astype("float32") if w.ndim > 1 else w for w in net.get_weights()])
generator_optimizer = tf.keras.optimizers.Adam(1e-3, beta_1=0.5)
discriminator_optimizer = tf.keras.optimizers.Adam(1e-3, beta_1=0.5)
print(generator.count_params(), discriminator.count_params())


@tf.function
def train_step(images):
    noise = tf.random.normal([BATCH_SIZE, noise_dim])
    with tf.GradientTape() as gen_tape, tf.GradientTape() as disc_tape:
        generated_images = generator(noise, training=True)
        real_output = discriminator(images, training=True)
        fake_output = discriminator(generated_images, training=True)
        gen_loss = generator_loss(fake_output)
        disc_loss = discriminator_loss(real_output, fake_output)
    gradients_of_generator = gen_tape.gradient(gen_loss, generator.trainable_variables)
    gradients_of_discriminator = disc_tape.gradient(disc_loss, discriminator.trainable_variables)
    generator_optimizer.apply_gradients(zip(gradients_of_generator, generator.trainable_variables))
    discriminator_optimizer.apply_gradients(zip(gradients_of_discriminator, discriminator.trainable_variables))
    return gen_loss, disc_loss


for epoch in range(2):
    for image_batch in train_dataset:
        gen_loss, disc_loss = train_step(image_batch)
    finite = bool(tf.math.is_finite(gen_loss)) and 0.2 < float(disc_loss) < 3
    print("epoch", epoch, "finite and near", finite, tuple(image_batch.shape))

seed = tf.constant(rng.normal(size=(BATCH_SIZE, noise_dim)).astype("float32"))
generator.set_weights([rng.normal(scale=0.1, size=w.shape).astype("float32") if w.ndim > 1 else w for w in generator.get_weights()])
for layer in generator.layers:
    if isinstance(layer, layers.BatchNormalization):
        layer.set_weights([np.ones_like(w) for w in layer.get_weights()])
discriminator.set_weights([rng.normal(scale=0.1, size=w.shape).astype("float32") for w in discriminator.get_weights()])
with tf.GradientTape(persistent=True) as tape:
    fake = generator(seed, training=True)
    loss = generator_loss(discriminator(fake))
print("loss %.4f" % loss, "mean %.4f" % tf.reduce_mean(fake))
print("gradient", ["%.5f" % tf.norm(g) for g in tape.gradient(loss, generator.trainable_variables)])
predictions = generator(seed, training=False)
print("after one look", tuple(predictions.shape), "%.4f" % tf.math.reduce_std(predictions))
