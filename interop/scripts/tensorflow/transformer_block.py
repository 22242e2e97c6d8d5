"""Keras's transformer tutorial: own layers with positions and attention, a warm-up schedule, masks, a model saved and loaded."""

import os
import tempfile

import numpy as np
import tensorflow as tf
from tensorflow import keras
from tensorflow.keras import layers

maxlen, vocab_size, embed_dim = 10, 30, 8
rng = np.random.default_rng(4)
x = rng.integers(1, vocab_size, (192, maxlen))
y = (x[:, :5].sum(1) > x[:, 5:].sum(1)).astype("int32")


@keras.utils.register_keras_serializable("tutorial")
class TransformerBlock(layers.Layer):
    def __init__(self, embed_dim, num_heads, ff_dim, rate=0.0, **kwargs):
        super().__init__(**kwargs)
        self.settings = {"embed_dim": embed_dim, "num_heads": num_heads, "ff_dim": ff_dim, "rate": rate}
        self.att = layers.MultiHeadAttention(num_heads=num_heads, key_dim=embed_dim)
        self.ffn = keras.Sequential([layers.Dense(ff_dim, activation="gelu"), layers.Dense(embed_dim)])
        self.layernorm1 = layers.LayerNormalization(epsilon=1e-6)
        self.layernorm2 = layers.LayerNormalization(epsilon=1e-6)
        self.dropout1 = layers.Dropout(rate)

    def build(self, input_shape):
        self.att.build(input_shape, input_shape)
        self.ffn.build(input_shape)
        self.layernorm1.build(input_shape)
        self.layernorm2.build(input_shape)

    def call(self, inputs, training=False):
        attn_output = self.att(inputs, inputs)
        out1 = self.layernorm1(inputs + self.dropout1(attn_output, training=training))
        return self.layernorm2(out1 + self.ffn(out1))

    def get_config(self):
        return {**super().get_config(), **self.settings}


@keras.utils.register_keras_serializable("tutorial")
class TokenAndPositionEmbedding(layers.Layer):
    def __init__(self, maxlen, vocab_size, embed_dim, **kwargs):
        super().__init__(**kwargs)
        self.maxlen, self.vocab_size, self.embed_dim = maxlen, vocab_size, embed_dim

    def build(self, input_shape):
        self.token_emb = self.add_weight(shape=(self.vocab_size, self.embed_dim), initializer="uniform", name="token")
        self.pos_emb = self.add_weight(shape=(self.maxlen, self.embed_dim), initializer="uniform", name="position")

    def call(self, x):
        length = tf.shape(x)[-1]
        positions = tf.range(start=0, limit=length, delta=1)
        return tf.nn.embedding_lookup(self.token_emb, x) + tf.gather(self.pos_emb, positions)

    def get_config(self):
        return {**super().get_config(), "maxlen": self.maxlen, "vocab_size": self.vocab_size, "embed_dim": self.embed_dim}


class CustomSchedule(keras.optimizers.schedules.LearningRateSchedule):
    def __init__(self, d_model, warmup_steps=20):
        self.d_model = tf.cast(d_model, tf.float32)
        self.warmup_steps = warmup_steps

    def __call__(self, step):
        step = tf.cast(step, dtype=tf.float32) + 1.0
        return tf.math.rsqrt(self.d_model) * tf.math.minimum(tf.math.rsqrt(step), step * (self.warmup_steps**-1.5)) * 0.1

    def get_config(self):
        return {"d_model": int(self.d_model), "warmup_steps": self.warmup_steps}


inputs = layers.Input(shape=(maxlen,), dtype="int32")
h = TokenAndPositionEmbedding(maxlen, vocab_size, embed_dim)(inputs)
h = TransformerBlock(embed_dim, 2, 16)(h)
h = layers.GlobalAveragePooling1D()(h)
outputs = layers.Dense(2, activation="softmax")(h)
model = keras.Model(inputs=inputs, outputs=outputs)
model.set_weights([(rng.normal(size=w.shape) * 0.3).astype("float32") if w.ndim > 1 else w for w in model.get_weights()])
model.compile(keras.optimizers.SGD(CustomSchedule(embed_dim), momentum=0.9), "sparse_categorical_crossentropy", metrics=["accuracy"])
history = model.fit(x[:160], y[:160], batch_size=32, epochs=3, shuffle=False, validation_data=(x[160:], y[160:]), verbose=0)
for key, values in sorted(history.history.items()):
    print(key, ["%.4f" % v for v in values])
print(model.count_params(), [w.path.split("/")[-1] for w in model.trainable_weights][:6])

with tf.GradientTape() as tape:
    loss = keras.losses.SparseCategoricalCrossentropy()(y[:32], model(x[:32]))
grads = tape.gradient(loss, model.trainable_weights)
print("gradient", ["%.5f" % float(tf.norm(tf.convert_to_tensor(g))) for g in grads])

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.keras")
    model.save(path)
    again = keras.models.load_model(path, compile=False)
print("loaded", np.abs(again.predict(x[:4], verbose=0) - model.predict(x[:4], verbose=0)).max() < 1e-6)

scores = tf.random.stateless_normal([2, 1, 4, 4], seed=[1, 2])
mask = 1 - tf.linalg.band_part(tf.ones((4, 4)), -1, 0)
weights = tf.nn.softmax(scores + mask * -1e9, axis=-1)
print("masked", tf.round(weights[0, 0] * 100).numpy().astype(int).tolist())
