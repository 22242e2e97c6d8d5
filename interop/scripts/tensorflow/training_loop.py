"""A training loop written from scratch: tf.data with map, shuffle and cache, metrics, a schedule, a checkpoint manager."""

import tempfile

import numpy as np
import tensorflow as tf
from sklearn.datasets import load_iris

tf.random.set_seed(9)
features, labels = load_iris(return_X_y=True)
order = np.random.default_rng(1).permutation(150)
features, labels = features[order].astype(np.float32), labels[order]
mean, std = features.mean(0), features.std(0)


def normalise(x, y):
    return (x - mean) / std, tf.cast(y, tf.int32)


train = tf.data.Dataset.from_tensor_slices((features[:120], labels[:120])).map(normalise, num_parallel_calls=tf.data.AUTOTUNE)
train = train.cache().repeat(1).batch(16).prefetch(tf.data.AUTOTUNE)
test = tf.data.Dataset.from_tensor_slices((features[120:], labels[120:])).map(normalise).batch(30)
print(train.element_spec)


class Dense(tf.Module):
    def __init__(self, n_in, n_out, name=None):
        super().__init__(name=name)
        init = np.random.default_rng(n_in).normal(scale=n_in**-0.5, size=(n_in, n_out))
        self.w = tf.Variable(init, dtype=tf.float32, name="w")
        self.b = tf.Variable(tf.zeros([n_out]), name="b")

    @tf.Module.with_name_scope
    def __call__(self, x):
        return tf.matmul(x, self.w) + self.b


class Net(tf.Module):
    def __init__(self):
        super().__init__(name="net")
        self.layers = [Dense(4, 12), Dense(12, 12), Dense(12, 3)]
        self.calls = tf.Variable(0, trainable=False)

    def __call__(self, x):
        self.calls.assign_add(1)
        for layer in self.layers[:-1]:
            x = tf.nn.swish(layer(x))
        return self.layers[-1](x)


model = Net()
print(len(model.trainable_variables), len(model.variables), [v.shape for v in model.trainable_variables])
schedule = tf.keras.optimizers.schedules.ExponentialDecay(0.1, decay_steps=8, decay_rate=0.8)
optimizer = tf.keras.optimizers.RMSprop(schedule, rho=0.9, momentum=0.5)
loss_fn = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
train_acc = tf.keras.metrics.SparseCategoricalAccuracy()
test_loss = tf.keras.metrics.Mean()


@tf.function
def train_step(x, y):
    with tf.GradientTape() as tape:
        logits = model(x)
        value = loss_fn(y, logits)
    variables = model.trainable_variables
    grads = tape.gradient(value, variables)
    optimizer.apply_gradients(zip(grads, variables))
    train_acc.update_state(y, logits)
    return value, tf.linalg.global_norm(grads)


with tempfile.TemporaryDirectory() as folder:
    checkpoint = tf.train.Checkpoint(step=tf.Variable(0), net=model)
    manager = tf.train.CheckpointManager(checkpoint, folder, max_to_keep=2)
    for epoch in range(3):
        for step, (x, y) in train.enumerate():
            value, norm = train_step(x, y)
            checkpoint.step.assign_add(1)
            if int(step) % 4 == 0:
                tf.print("loss", tf.round(value * 1000) / 1000, output_stream="file:///dev/null")
                print("epoch", epoch, "step", int(step), "loss %.4f" % float(value), "gradient %.3f" % float(norm))
        manager.save()
        for x, y in test:
            test_loss.update_state(loss_fn(y, model(x)))
        print("accuracy %.3f, test loss %.4f" % (train_acc.result(), test_loss.result()))
        train_acc.reset_state()
        test_loss.reset_state()
    before = model.layers[0].w.numpy()
    model.layers[0].w.assign(tf.zeros_like(model.layers[0].w))
    checkpoint.restore(manager.latest_checkpoint)
    print(len(manager.checkpoints), np.array_equal(before, model.layers[0].w), int(checkpoint.step), int(model.calls) > 20)

predicted = tf.concat([tf.argmax(model(x), axis=-1) for x, _ in test], axis=0)
truth = tf.concat([y for _, y in test], axis=0)
print(tf.math.confusion_matrix(truth, predicted).numpy())
