"""A recurrent model of characters with a state that is handed on, clipped gradients, and text drawn from it; masks of padding."""

import numpy as np
import tensorflow as tf
from tensorflow.keras import layers
from tensorflow.keras.utils import pad_sequences

tf.keras.utils.set_random_seed(2)
text = "the quick brown fox jumps over the lazy dog. " * 6
letters = sorted(set(text))
number = {letter: i for i, letter in enumerate(letters)}
dataset = tf.data.Dataset.from_tensor_slices([number[c] for c in text]).batch(13, drop_remainder=True)
dataset = dataset.map(lambda row: (row[:-1], row[1:])).shuffle(100).batch(4, drop_remainder=True)


class Writer(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.embedding = layers.Embedding(len(letters), 8)
        self.gru = layers.GRU(16, return_sequences=True, return_state=True)
        self.dense = layers.Dense(len(letters))

    def call(self, inputs, state=None, return_state=False, training=False):
        x = self.embedding(inputs)
        if state is None:
            state = self.gru.get_initial_state(batch_size=tf.shape(x)[0])
        x, state = self.gru(x, initial_state=state, training=training)
        x = self.dense(x)
        return (x, state) if return_state else x


model = Writer()
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
optimizer = tf.keras.optimizers.SGD(1.0, momentum=0.5)
for epoch in range(4):
    total = 0.0
    for inputs, targets in dataset:
        with tf.GradientTape() as tape:
            loss = loss_object(targets, model(inputs, training=True))
        grads = tape.gradient(loss, model.trainable_variables)
        grads, norm = tf.clip_by_global_norm(grads, 0.3)
        optimizer.apply_gradients(zip(grads, model.trainable_variables))
        total += float(loss)
    print("epoch %d loss %.4f" % (epoch, total))
    print("gradient's norm %.4f" % float(norm))

state, following, written = None, tf.constant([[number["t"]]]), []
for _ in range(12):
    logits, state = model(following, state=state, return_state=True)
    following = tf.random.categorical(logits[:, -1, :], num_samples=1)
    written.append(letters[int(following[0, 0])])
print("written:", "".join(written))

rows = [np.random.randint(1, 30, n).tolist() for n in np.random.randint(2, 9, 40)]
x, y = pad_sequences(rows, maxlen=8, padding="post"), np.array([row[0] % 2 for row in rows])
model = tf.keras.Sequential(
    [layers.Embedding(30, 8, mask_zero=True), layers.Bidirectional(layers.LSTM(6)), layers.Dense(1, activation="sigmoid")]
)
model.compile("sgd", "binary_crossentropy", metrics=["accuracy"])
history = model.fit(x, y, epochs=3, verbose=0).history
print("masked", {name: ["%.4f" % v for v in values] for name, values in history.items()})
