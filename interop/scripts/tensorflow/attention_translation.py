"""Sequence to sequence with GRUs and attention, in the way of the translation tutorial: padded text, masked loss."""

import numpy as np
import tensorflow as tf

pairs = [
    ("go .", "va !"), ("run !", "cours !"), ("wow !", "ca alors !"), ("help !", "a l aide !"),
    ("i see .", "je comprends ."), ("i tried .", "j ai essaye ."), ("i won !", "j ai gagne !"), ("relax .", "calme toi ."),
]  # fmt: skip


class LanguageIndex:
    def __init__(self, sentences):
        words = sorted({w for s in sentences for w in s.split()})
        self.word2idx = {"<pad>": 0, **{w: i + 1 for i, w in enumerate(words)}}
        self.idx2word = {i: w for w, i in self.word2idx.items()}


sources = [f"<start> {a} <end>" for a, _ in pairs]
targets = [f"<start> {b} <end>" for _, b in pairs]
inp_lang, targ_lang = LanguageIndex(sources), LanguageIndex(targets)


def padded(sentences, lang):
    ids = [[lang.word2idx[w] for w in s.split()] for s in sentences]
    return tf.keras.utils.pad_sequences(ids, padding="post")


input_tensor, target_tensor = padded(sources, inp_lang), padded(targets, targ_lang)
rng = np.random.default_rng(2)


class Encoder(tf.keras.Model):
    def __init__(self, vocab_size, embedding_dim, enc_units):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(vocab_size, embedding_dim)
        self.gru = tf.keras.layers.GRU(
            enc_units, return_sequences=True, return_state=True, recurrent_initializer="glorot_uniform"
        )

    def call(self, x, hidden):
        x = self.embedding(x)
        return self.gru(x, initial_state=hidden)


class BahdanauAttention(tf.keras.layers.Layer):
    def __init__(self, units):
        super().__init__()
        self.W1 = tf.keras.layers.Dense(units)
        self.W2 = tf.keras.layers.Dense(units)
        self.V = tf.keras.layers.Dense(1)

    def call(self, query, values):
        query_with_time_axis = tf.expand_dims(query, 1)
        score = self.V(tf.nn.tanh(self.W1(query_with_time_axis) + self.W2(values)))
        attention_weights = tf.nn.softmax(score, axis=1)
        context_vector = tf.reduce_sum(attention_weights * values, axis=1)
        return context_vector, attention_weights


class Decoder(tf.keras.Model):
    def __init__(self, vocab_size, embedding_dim, dec_units):
        super().__init__()
        self.embedding = tf.keras.layers.Embedding(vocab_size, embedding_dim)
        self.gru = tf.keras.layers.GRU(dec_units, return_sequences=True, return_state=True)
        self.fc = tf.keras.layers.Dense(vocab_size)
        self.attention = BahdanauAttention(dec_units)

    def call(self, x, hidden, enc_output):
        context_vector, attention_weights = self.attention(hidden, enc_output)
        x = self.embedding(x)
        x = tf.concat([tf.expand_dims(context_vector, 1), x], axis=-1)
        output, state = self.gru(x)
        output = tf.reshape(output, (-1, output.shape[2]))
        return self.fc(output), state, attention_weights


units = 12
encoder = Encoder(len(inp_lang.word2idx), 8, units)
decoder = Decoder(len(targ_lang.word2idx), 8, units)
enc_output, enc_hidden = encoder(input_tensor, tf.zeros((8, units)))
decoder(target_tensor[:, :1], enc_hidden, enc_output)
for part in (encoder, decoder):
    part.set_weights([rng.normal(scale=0.3, size=w.shape).astype("float32") for w in part.get_weights()])

optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
loss_object = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True, reduction="none")


def loss_function(real, pred):
    mask = tf.math.logical_not(tf.math.equal(real, 0))
    loss_ = loss_object(real, pred)
    mask = tf.cast(mask, dtype=loss_.dtype)
    loss_ *= mask
    return tf.reduce_mean(loss_)


@tf.function
def train_step(inp, targ, enc_hidden):
    loss = 0.0
    with tf.GradientTape() as tape:
        enc_output, enc_hidden = encoder(inp, enc_hidden)
        dec_hidden = enc_hidden
        dec_input = tf.expand_dims([targ_lang.word2idx["<start>"]] * 4, 1)
        for t in range(1, targ.shape[1]):
            predictions, dec_hidden, _ = decoder(dec_input, dec_hidden, enc_output)
            loss += loss_function(targ[:, t], predictions)
            dec_input = tf.expand_dims(targ[:, t], 1)
    batch_loss = loss / int(targ.shape[1])
    variables = encoder.trainable_variables + decoder.trainable_variables
    gradients = tape.gradient(loss, variables)
    optimizer.apply_gradients(zip(gradients, variables))
    return batch_loss, tf.linalg.global_norm([tf.convert_to_tensor(g) for g in gradients])


dataset = tf.data.Dataset.from_tensor_slices((input_tensor, target_tensor)).batch(4, drop_remainder=True)
for epoch in range(4):
    total_loss = 0
    for batch, (inp, targ) in enumerate(dataset.take(2)):
        batch_loss, norm = train_step(inp, targ, tf.zeros((4, units)))
        total_loss += batch_loss
    print("Epoch {} Loss {:.4f} gradient {:.3f}".format(epoch + 1, total_loss / 2, norm))


def evaluate(sentence):
    attention_plot = np.zeros((target_tensor.shape[1], input_tensor.shape[1]))
    inputs = tf.convert_to_tensor(padded([f"<start> {sentence} <end>", sources[3]], inp_lang)[:1])
    inputs = tf.pad(inputs, [[0, 0], [0, input_tensor.shape[1] - inputs.shape[1]]])
    enc_out, dec_hidden = encoder(inputs, [tf.zeros((1, units))][0])
    dec_input = tf.expand_dims([targ_lang.word2idx["<start>"]], 0)
    result = []
    for t in range(target_tensor.shape[1]):
        predictions, dec_hidden, attention_weights = decoder(dec_input, dec_hidden, enc_out)
        attention_plot[t] = tf.reshape(attention_weights, (-1,)).numpy()
        predicted_id = tf.argmax(predictions[0]).numpy()
        result.append(targ_lang.idx2word[predicted_id])
        if result[-1] == "<end>":
            break
        dec_input = tf.expand_dims([predicted_id], 0)
    return " ".join(result), attention_plot[: len(result)]


words, plot = evaluate("i see .")
print(words, plot.shape, "%.4f" % plot.sum())
