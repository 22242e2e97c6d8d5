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
    with pytest.raises(tf.errors.InvalidArgumentError, match="at axis 1"):
        x + tf.constant([[1.5, 2.5], [2.5, 3.5]])
    with pytest.raises(IndexError, match="there are 2 rows"):
        x[2]
    with pytest.raises(tf.errors.InvalidArgumentError, match="rise from 0 to the number of values, 3"):
        tf.RaggedTensor.from_row_splits([1, 2, 3], [0, 2, 4])


def test_characters_of_several_texts_are_rows():
    words = ["añb", "", "c"]
    assert tf.strings.unicode_split(words, "UTF-8").to_list() == [[b"a", "ñ".encode(), b"b"], [], [b"c"]]
    codes, starts = tf.strings.unicode_decode_with_offsets(words, "UTF-8")
    assert codes.to_list() == [[97, 241, 98], [], [99]]
    assert starts.to_list() == [[0, 1, 3], [], [0]]
    assert tf.strings.unicode_encode(codes, "UTF-8").numpy().tolist() == [w.encode() for w in words]


def test_batches_of_elements_of_different_lengths():
    data = tf.data.Dataset.from_tensor_slices([1, 0, 3]).map(lambda n: (tf.range(n), n))
    found = [(x.to_list(), n.numpy().tolist()) for x, n in data.ragged_batch(2)]
    assert found == [([[0], []], [1, 0]), ([[0, 1, 2]], [3])]


def test_keys_in_rows_are_looked_up():
    vocabulary = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64))
    table = tf.lookup.StaticHashTable(vocabulary, -1)
    assert table.lookup(tf.strings.split(["a z", "b"])).to_list() == [[1, -1], [2]]


def test_sequences_of_examples_are_filled_up():
    def example(*numbers):
        feature = tf.train.Feature(int64_list=tf.train.Int64List(value=numbers))
        return tf.train.Example(features=tf.train.Features(feature={"n": feature})).SerializeToString()

    wanted = {"n": tf.io.FixedLenSequenceFeature([2], tf.int64, allow_missing=True)}
    assert tf.io.parse_single_example(example(1, 2, 3, 4), wanted)["n"].numpy().tolist() == [[1, 2], [3, 4]]
    several = tf.io.parse_example([example(1, 2), example(), example(3, 4, 5, 6)], wanted)["n"]
    assert several.numpy().tolist() == [[[1, 2], [0, 0]], [[0, 0], [0, 0]], [[3, 4], [5, 6]]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be a multiple of 2"):
        tf.io.parse_single_example(example(1), wanted)


def test_the_derivative_goes_through_spread_tensors_reductions_and_mapped_rows():
    w, scale = tf.constant([1.5, -2.5, 3.0]), tf.constant([[2.0], [0.5]])
    with tf.GradientTape() as tape:
        tape.watch([w, scale])
        x = tf.RaggedTensor.from_row_lengths(w, [2, 1])
        means = tf.reduce_mean(tf.square(x) * scale, axis=1)
        sums = tf.map_fn(lambda row: tf.reduce_sum(row**3), x, fn_output_signature=tf.float32)
        loss = tf.reduce_sum(means) + tf.reduce_sum(sums)
    found = tape.gradient(loss, [w, scale])
    np.testing.assert_allclose(found[0], [3.0 + 6.75, -5.0 + 18.75, 3.0 + 27.0], rtol=1e-6)
    np.testing.assert_allclose(found[1], [[(1.5**2 + 2.5**2) / 2], [9.0]], rtol=1e-6)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("how", ["sum", "mean", "max", "min", "prod", "variance", "std", "logsumexp"])
def test_a_reduction_of_rows_of_one_length_is_that_of_the_dense_tensor(how, axis):
    dense = tf.constant(np.random.default_rng(4).normal(size=(3, 4)))
    reduce = getattr(tf.math, f"reduce_{how}")
    for keepdims in (False, True):
        found = reduce(tf.RaggedTensor.from_tensor(dense), axis, keepdims)
        np.testing.assert_allclose(found, reduce(dense, axis, keepdims), rtol=1e-12)
