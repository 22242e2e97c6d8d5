"""Sparse tensors: what they compute is what the dense tensors that they stand for give, derivatives of every order included."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapegrad import tf


@st.composite
def matrices(draw):
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    places = draw(st.lists(st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1)), unique=True, max_size=6))
    places = np.array(places or [(0, 0)], np.int64)
    values = np.array(draw(st.lists(st.integers(-3, 3), min_size=len(places), max_size=len(places))), np.float64) * 0.75
    return places, values, (rows, columns)


def whole(places, values, shape):
    return tf.tensor_scatter_nd_update(tf.zeros(shape, tf.float64), places, values)


SAME = {
    "product": (tf.sparse.sparse_dense_matmul, lambda d, b: d @ b),
    "product of the adjoint": (
        lambda s, b: (
            tf.sparse.sparse_dense_matmul(s, tf.transpose(b), adjoint_a=True, adjoint_b=True)
            if s.shape[0] == s.shape[1]
            else tf.sparse.sparse_dense_matmul(s, b)
        ),
        lambda d, b: tf.matmul(d, b, transpose_a=True) if d.shape[0] == d.shape[1] else d @ b,
    ),
    "dense before sparse": (
        lambda s, b: tf.sparse.sparse_dense_matmul(b, s, adjoint_a=True, adjoint_b=True),
        lambda d, b: tf.transpose(d @ b),
    ),
    "sum of rows": (lambda s, b: tf.sparse.reduce_sum(s, 1), lambda d, b: tf.reduce_sum(d, 1)),
    "with a dense one": (lambda s, b: tf.sparse.add(s, tf.ones(s.shape, tf.float64)), lambda d, b: d + 1.0),
    "with itself": (lambda s, b: tf.sparse.to_dense(tf.sparse.add(s, s)), lambda d, b: d + d),
    "transposed": (lambda s, b: tf.sparse.to_dense(tf.sparse.transpose(s)), lambda d, b: tf.transpose(d)),
    "reshaped": (lambda s, b: tf.sparse.to_dense(tf.sparse.reshape(s, [-1])), lambda d, b: tf.reshape(d, [-1])),
    "twice": (lambda s, b: tf.sparse.to_dense(tf.sparse.concat(0, [s, s])), lambda d, b: tf.concat([d, d], 0)),
    "scaled by columns": (lambda s, b: tf.sparse.to_dense(s * b[:, 0]), lambda d, b: d * b[:, 0]),
}


@pytest.mark.usefixtures("kernels")
@pytest.mark.parametrize("name", SAME)
@given(matrices())
def test_a_sparse_matrix_computes_what_its_dense_one_does(name, matrix):
    places, values, shape = matrix
    sparse, dense = SAME[name]
    b = tf.constant(np.arange(1.0, 2 * shape[1] + 1).reshape(shape[1], 2) * 0.25)
    found = []
    for f, make in (
        (sparse, lambda v: tf.sparse.reorder(tf.SparseTensor(places, v, shape))),
        (dense, lambda v: whole(places, v, shape)),
    ):
        v = tf.constant(values)
        with tf.GradientTape() as outer:
            outer.watch([v, b])
            with tf.GradientTape() as tape:
                tape.watch([v, b])
                y = f(make(v), b)
                loss = tf.reduce_sum(y**3)
            gradients = tape.gradient(loss, [v, b], unconnected_gradients="zero")
            again = tf.reduce_sum(gradients[0] ** 2) + tf.reduce_sum(gradients[1] ** 2)
        second = outer.gradient(again, [v, b], unconnected_gradients="zero")
        with tf.autodiff.ForwardAccumulator(v, tf.ones_like(v)) as accumulator:
            moved = f(make(v), b)
        found.append([y, *gradients, *second, accumulator.jvp(moved, unconnected_gradients="zero")])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-12)


def test_a_convolution_on_a_graph_learns():
    tf.random.set_seed(1)
    edges = [[0, 0], [0, 1], [1, 0], [1, 1], [2, 2], [2, 3], [3, 2], [3, 3]]
    graph = tf.SparseTensor(edges, [0.5] * 8, [4, 4])
    x, labels = tf.constant(np.eye(4, dtype=np.float32)), tf.constant([0, 0, 1, 1])
    w = tf.Variable(tf.random.normal([4, 2]))

    @tf.function
    def loss(graph, x):
        logits = tf.sparse.sparse_dense_matmul(graph, x @ w)
        return tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))

    first = loss(graph, x)
    for _ in range(30):
        with tf.GradientTape() as tape:
            value = loss(graph, x)
        w.assign_sub(tape.gradient(value, w))
    assert value < 0.3 * first


def test_features_of_any_length_are_sparse():
    def example(*numbers):
        feature = tf.train.Feature(int64_list=tf.train.Int64List(value=numbers))
        return tf.train.Example(features=tf.train.Features(feature={"n": feature})).SerializeToString()

    wanted = {"n": tf.io.VarLenFeature(tf.int64)}
    one = tf.io.parse_single_example(example(4, 5), wanted)["n"]
    assert tf.sparse.to_dense(one).numpy().tolist() == [4, 5]
    several = tf.io.parse_example([example(4, 5), example(), example(6)], wanted)["n"]
    assert tf.sparse.to_dense(several, -1).numpy().tolist() == [[4, 5], [-1, -1], [6, -1]]
    data = tf.data.Dataset.from_tensors(several).unbatch().batch(2)
    assert [tf.sparse.to_dense(x).numpy().tolist() for x in data] == [[[4, 5], [0, 0]], [[6, 0]]]


def test_a_dense_tensor_is_not_made_silently():
    x = tf.sparse.eye(2)
    with pytest.raises(ValueError, match=r"unsupported type .*tf\.sparse\.to_dense\(x\)"):
        tf.matmul(x, tf.eye(2))
    with pytest.raises(TypeError, match=r"Input must be a SparseTensor.*tf\.sparse\.from_dense"):
        tf.sparse.to_dense(tf.eye(2))
