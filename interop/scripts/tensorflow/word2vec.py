"""Skip-gram with sampled negatives: gradients of tf.gather are IndexedSlices, applied row by row."""

import numpy as np
import tensorflow as tf

WORDS = "the king loves the queen and the queen loves the king while the dog chases the cat and the cat fears the dog".split()
vocabulary = sorted(set(WORDS))
ids = [vocabulary.index(w) for w in WORDS]
pairs = np.array([(ids[i], ids[j]) for i in range(len(ids)) for j in range(max(0, i - 2), min(len(ids), i + 3)) if i != j])
rng = np.random.RandomState(0)
U = tf.Variable(rng.uniform(-0.06, 0.06, size=(len(vocabulary), 8)).astype("float32"))
V = tf.Variable(tf.zeros([len(vocabulary), 8]))
for epoch in range(10):
    rng.shuffle(pairs)
    total = 0.0
    for batch in tf.data.Dataset.from_tensor_slices(pairs).batch(16):
        negative = rng.randint(0, len(vocabulary), size=(len(batch), 3))
        with tf.GradientTape() as tape:
            u = tf.gather(U, batch[:, 0])
            good = tf.reduce_sum(u * tf.gather(V, batch[:, 1]), axis=1)
            wrong = tf.squeeze(tf.matmul(tf.gather(V, negative), u[:, :, tf.newaxis]), axis=2)
            loss = -tf.reduce_mean(tf.math.log_sigmoid(good) + tf.reduce_sum(tf.math.log_sigmoid(-wrong), axis=1))
        for p, g in zip([U, V], tape.gradient(loss, [U, V])):
            p.scatter_sub(tf.IndexedSlices(2.0 * g.values, g.indices))
        total += float(loss)
    if epoch % 3 == 0:
        print("epoch %d: %.4f" % (epoch, total), "grad rows", g.values.shape)
a, b = U[vocabulary.index("king")], U[vocabulary.index("queen")]
cosine = tf.reduce_sum(tf.nn.l2_normalize(a, axis=0) * tf.nn.l2_normalize(b, axis=0))
print("similarity %.4f" % cosine)
values, places = tf.math.top_k(tf.linalg.matvec(U, a), k=3)
print([vocabulary[i] for i in places.numpy()], np.round(values.numpy(), 3))
