"""Layers are given sparse tensors as they are, and multiply by what is there."""

import numpy as np
import pytest

from tapegrad import tf

pytestmark = [pytest.mark.interop("keras"), pytest.mark.usefixtures("keras")]

EDGES = [[0, 0], [0, 1], [1, 0], [1, 1], [2, 2], [2, 3], [3, 2], [3, 3]]


def convolution(units):
    class Convolution(tf.keras.layers.Layer):
        def build(self, shapes):
            self.w = self.add_weight(name="w", shape=(shapes[0][-1], units))

        def call(self, inputs, training=None):
            x, graph = inputs
            return tf.sparse.sparse_dense_matmul(graph, tf.sparse.sparse_dense_matmul(x, self.w))

    return Convolution()


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.usefixtures("kernels")
def test_a_graph_layer_learns_from_sparse_features(compiled):
    tf.keras.utils.set_random_seed(1)
    graph = tf.SparseTensor(EDGES, [0.5] * 8, [4, 4])
    x, labels = tf.sparse.from_dense(np.eye(4, dtype=np.float32)), tf.constant([0, 0, 1, 1])
    layer, optimizer = convolution(2), tf.keras.optimizers.Adam(0.1)
    layer((x, graph))

    def step(x, graph):
        with tf.GradientTape() as tape:
            logits = layer((x, graph), training=True)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
        optimizer.apply_gradients(zip(tape.gradient(loss, layer.trainable_variables), layer.trainable_variables, strict=True))
        return loss

    optimizer.build(layer.trainable_variables)
    run = tf.function(step) if compiled else step
    losses = [float(run(x, graph)) for _ in range(20)]
    assert losses[-1] < 0.3 * losses[0]


def test_a_dense_layer_of_a_sparse_tensor_is_that_of_the_dense_one():
    x = np.asarray([[0.0, 1.5, 0.0], [-2.0, 0.0, 0.5]], np.float32)
    layer = tf.keras.layers.Dense(4, activation="tanh")
    np.testing.assert_allclose(layer(tf.sparse.from_dense(x)), layer(x), rtol=1e-6)


def few_numbers(rows=24, columns=6):
    x = np.random.default_rng(3).normal(size=(rows, columns)).astype(np.float32)
    return np.where(x > 0.4, x, 0)


def trained(x, y=None, *, sparse, **words):
    keras = tf.keras
    keras.utils.set_random_seed(5)
    inputs = keras.Input((6,), sparse=sparse)
    hidden = keras.layers.Dense(4, activation="relu")(inputs)
    model = keras.Model(inputs, keras.layers.Dense(1)(hidden))
    model.compile(keras.optimizers.Adam(0.05), "mse")
    history = model.fit(x, y, epochs=3, verbose=0, **words).history
    data = x if y is not None else x.map(lambda rows, _: rows)
    return [*history["loss"], *history.get("val_loss", []), *model.predict(data, verbose=0).ravel()]


@pytest.mark.parametrize("words", [{}, {"shuffle": False}, {"validation_split": 0.25}], ids=str)
def test_a_sparse_tensor_is_fitted_as_the_dense_one(words):
    x, y = few_numbers(), np.arange(24, dtype=np.float32) / 24
    x[7:10] = 0  # rows without a value
    dense, sparse = (trained(v, y, sparse=v is not x, batch_size=5, **words) for v in (x, tf.sparse.from_dense(x)))
    np.testing.assert_allclose(sparse, dense, rtol=1e-4, atol=1e-6)


def test_a_dataset_of_sparse_rows_is_fitted_as_the_dense_one():
    x, y = few_numbers(), np.arange(24, dtype=np.float32)[:, None] / 24
    dense, sparse = (
        trained(tf.data.Dataset.from_tensor_slices((v, y)).batch(5), sparse=v is not x) for v in (x, tf.sparse.from_dense(x))
    )
    np.testing.assert_allclose(sparse, dense, rtol=1e-4, atol=1e-6)


def test_a_model_of_dense_tensors_takes_a_sparse_one():
    x = few_numbers()
    model = tf.keras.Sequential([tf.keras.Input((6,)), tf.keras.layers.Dense(2, activation="tanh")])
    np.testing.assert_allclose(model(tf.sparse.from_dense(x)), model(x), rtol=1e-6)


@pytest.mark.parametrize("name", ["add", "multiply", "maximum", "concatenate", "sum", "mean", "max", "abs", "transpose"])
def test_functions_of_a_sparse_tensor_give_the_numbers_of_the_dense_one(name):
    x, function = few_numbers(), getattr(tf.keras.ops, name)
    s = tf.sparse.from_dense(x)
    if name in ("add", "multiply", "maximum"):
        found, wanted = function(s, x + 1), function(x, x + 1)
    elif name == "concatenate":
        found, wanted = function([s, x], axis=1), function([x, x], axis=1)
    else:
        found, wanted = function(s), function(x)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


ENCODERS = {
    "words": (lambda **w: tf.keras.layers.StringLookup(vocabulary=["a", "b"], **w), [["a", "b"], ["z", "z"]]),
    "numbers": (lambda **w: tf.keras.layers.IntegerLookup(vocabulary=[4, 5], **w), [[4, 5], [9, 9]]),
    "categories": (lambda **w: tf.keras.layers.CategoryEncoding(4, **w), [[0, 1], [2, 2]]),
    "texts": (lambda **w: tf.keras.layers.TextVectorization(vocabulary=["a", "b"], **w), ["a b b", "z"]),
}


@pytest.mark.parametrize("mode", ["multi_hot", "count"])
@pytest.mark.parametrize("what", ENCODERS)
def test_layers_that_encode_give_sparse_tensors_where_they_are_asked_for(what, mode):
    make, given = ENCODERS[what]
    found, wanted = (make(output_mode=mode, sparse=sparse)(given) for sparse in (True, False))
    assert isinstance(found, tf.SparseTensor)
    np.testing.assert_array_equal(tf.sparse.to_dense(found), wanted)


def test_texts_as_ragged_rows_are_looked_up_and_fitted_without_what_fills_rows_up():
    keras = tf.keras
    words = keras.layers.TextVectorization(ragged=True, vocabulary=["the", "fox", "dog", "runs"])
    texts = ["the fox runs", "dog", "the dog runs the fox", "fox fox"]
    rows = words(texts)
    assert isinstance(rows, tf.RaggedTensor)
    model = keras.Sequential([keras.layers.Embedding(6, 3), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(0.5), "mse")
    history = model.fit(rows, np.asarray([1.0, 0, 1, 0]), epochs=30, batch_size=3, verbose=0).history
    assert history["loss"][-1] < 0.5 * history["loss"][0]
    one_by_one = [model(words([text]).to_tensor()).numpy().item() for text in texts]
    np.testing.assert_allclose(model.predict(rows, verbose=0).ravel(), one_by_one, rtol=1e-5, atol=1e-7)
