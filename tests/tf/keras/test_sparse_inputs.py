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
