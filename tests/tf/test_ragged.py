"""Ragged tensors: rows of different lengths, their derivatives, and where scripts meet them."""

import numpy as np
import pytest

from tapegrad import tf

pytestmark = pytest.mark.usefixtures("kernels")


def test_texts_of_different_lengths_are_padded_for_an_embedding():
    table = tf.Variable(np.arange(8.0).reshape(4, 2))
    words = tf.strings.split(["the cat sat", "a cat", ""])
    assert words.to_list() == [[b"the", b"cat", b"sat"], [b"a", b"cat"], []]
    numbers = tf.ragged.map_flat_values(tf.strings.length, words)
    with tf.GradientTape() as tape:
        rows = tf.nn.embedding_lookup(table, numbers)
        sums = tf.reduce_sum(rows, axis=1)
        loss = tf.reduce_sum(rows.to_tensor() ** 2)
    assert sums.numpy().tolist() == [[18.0, 21.0], [8.0, 10.0], [0.0, 0.0]]
    count = np.bincount([3, 3, 3, 1, 3], minlength=4)[:, None]
    np.testing.assert_allclose(tf.convert_to_tensor(tape.gradient(loss, table)), 2 * count * table.numpy())


def test_the_second_derivative_reaches_the_values():
    w = tf.constant([1.0, -2.0, 3.0])
    with tf.GradientTape() as outer:
        outer.watch(w)
        with tf.GradientTape() as tape:
            tape.watch(w)
            x = tf.RaggedTensor.from_row_lengths(w, [2, 0, 1])
            loss = tf.reduce_sum((x * x * x).to_tensor())
        gradient = tape.gradient(loss, w)
    np.testing.assert_allclose(outer.gradient(gradient, w), 6 * w.numpy())


def test_a_data_set_of_rows_and_batches():
    data = tf.data.Dataset.from_tensor_slices((tf.ragged.constant([[1, 2], [], [3]]), [7, 8, 9]))
    assert [(x.numpy().tolist(), int(y)) for x, y in data] == [([1, 2], 7), ([], 8), ([3], 9)]
    padded = data.padded_batch(3)
    assert next(iter(padded))[0].numpy().tolist() == [[1, 2], [0, 0], [3, 0]]
    inner = tf.data.Dataset.from_tensor_slices(tf.ragged.constant([[[1], [2, 3]], [], [[4]]])).batch(2)
    assert [x.to_list() for x in inner] == [[[[1], [2, 3]], []], [[[4]]]]


def test_what_needs_one_length_says_what_to_write():
    x = tf.ragged.constant([[1.5], [2.5, 3.5]])
    with pytest.raises(ValueError, match=r"x\.to_tensor\(\)"):
        tf.linalg.matmul(x, x)
    with pytest.raises(NotImplementedError, match=r"x\.to_tensor\(\)"):
        x + tf.constant([[1.5], [2.5]])
    with pytest.raises(IndexError, match="there are 2 rows"):
        x[2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="rise from 0 to the number of values, 3"):
        tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 4])
