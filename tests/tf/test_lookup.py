"""Tables from keys to values: those that change, those of files, and those with buckets for what they do not know."""

import numpy as np
import pytest

from tapegrad import tf

TEXT = b"the quick brown fox jumps over the lazy dog " * 6
LENGTHS = (0, 3, 7, 12, 20, 40, 64, 65, 200)  # each of the ways in which texts of different lengths are hashed
BUCKETS = [263, 354, 920, 84, 216, 780, 144, 939, 353]


def test_buckets_of_texts_are_those_of_tensorflow():
    found = tf.strings.to_hash_bucket_fast([TEXT[:n] for n in LENGTHS], 1000)
    assert found.numpy().tolist() == BUCKETS


@pytest.mark.interop("tensorflow")
def test_buckets_of_random_bytes_are_those_of_tensorflow():
    import tensorflow

    rng = np.random.default_rng(3)
    texts = [bytes(rng.integers(0, 256, n, dtype=np.uint8)) for n in (*range(150), 256, 999)]
    many = 2**62 + 12345
    wanted = tensorflow.strings.to_hash_bucket_fast(tensorflow.constant(texts), many).numpy()
    np.testing.assert_array_equal(tf.strings.to_hash_bucket_fast(tf.constant(texts), many), wanted)


def test_a_table_that_changes():
    table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
    table.insert(["a", "b"], [1, 2])
    table.insert(["b"], [3])
    assert table.lookup(["a", "b", "c"]).numpy().tolist() == [1, 3, -1]
    assert table.lookup(["a", "c"], dynamic_default_values=tf.constant([8, 9], tf.int64)).numpy().tolist() == [1, 9]
    table.remove(tf.constant(["a", "unknown"]))
    assert table.size() == 1
    assert [x.numpy().tolist() for x in table.export()] == [[b"b"], [3]]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected shape \[2\] for value, got \[1\]"):
        table.insert(["a", "b"], [1])
    with pytest.raises(TypeError, match="must be"):
        table.remove(tf.constant([1]))


def test_values_of_a_table_may_be_vectors():
    table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, [0.0, 0.5])
    table.insert(tf.constant([4], tf.int64), [[1.5, 2.5]])
    assert table[tf.constant([[4], [5]], tf.int64)].numpy().tolist() == [[[1.5, 2.5]], [[0.0, 0.5]]]


def test_a_dense_table_refuses_the_keys_that_it_needs():
    table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, default_value=-7, empty_key=0, deleted_key=-1)
    table.insert(tf.constant([1, 2], tf.int64), tf.constant([8, 9], tf.int64))
    assert table.lookup(tf.constant([1, 5], tf.int64)).numpy().tolist() == [8, -7]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Using the empty_key as a table key is not allowed"):
        table.insert(tf.constant([0], tf.int64), tf.constant([1], tf.int64))


def test_what_a_vocabulary_does_not_know_goes_into_a_bucket():
    vocabulary = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    table = tf.lookup.StaticVocabularyTable(vocabulary, 3)
    found = table.lookup(tf.constant(["b", "zz", "yy", "some", "a"])).numpy()
    assert found[[0, 4]].tolist() == [1, 0]
    assert found[1:4].tolist() == (2 + tf.strings.to_hash_bucket_fast(["zz", "yy", "some"], 3).numpy()).tolist()
    assert table.size() == 5


def test_tables_of_files(tmp_path):
    lines, columns = tmp_path / "lines.txt", tmp_path / "columns.txt"
    lines.write_text("x\ny\nz\n", "utf-8")
    columns.write_text("x\t5\ny\t6\n", "utf-8")
    index = tf.lookup.TextFileIndex
    numbers = tf.lookup.TextFileInitializer(str(lines), tf.string, index.WHOLE_LINE, tf.int64, index.LINE_NUMBER)
    assert tf.lookup.StaticHashTable(numbers, -1).lookup(tf.constant(["y", "q"])).numpy().tolist() == [1, -1]
    pairs = tf.lookup.TextFileInitializer(str(columns), tf.string, 0, tf.int64, 1)
    assert tf.lookup.StaticHashTable(pairs, -1).lookup(tf.constant(["y", "q"])).numpy().tolist() == [6, -1]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Invalid number of columns in line 0: expected 3 but got 2"):
        tf.lookup.TextFileInitializer(str(columns), tf.string, 0, tf.int64, 2)
