"""Calls at the edges of what TensorFlow takes: bands of matrices, empty tensors, narrow integers, what occurs how often."""

import itertools

import numpy as np
import pytest

from tapegrad import tf

BANDS = list(itertools.product(("RIGHT_LEFT", "LEFT_RIGHT", "LEFT_LEFT", "RIGHT_RIGHT"), ((-1, 1), (0, 2), (-2, -1), (1, 1))))


def read_band(x, low, high, align):
    """The diagonals of a matrix by a loop, as the documentation of `tf.linalg.diag_part` says it."""
    rows = {k: np.diagonal(x, k) for k in range(high, low - 1, -1)}
    longest = max(map(len, rows.values()))
    above, below = align.split("_")
    found = np.full((len(rows), longest), 9.5)
    for m, (k, row) in enumerate(rows.items()):
        left = "LEFT" in ({above, below} if k == 0 else {above if k > 0 else below})
        found[m, slice(0, len(row)) if left else slice(longest - len(row), None)] = row
    return found[0] if low == high else found


@pytest.mark.parametrize(("align", "k"), BANDS)
def test_a_band_is_what_a_loop_over_diagonals_reads(align, k):
    x = np.random.default_rng(0).normal(size=(3, 4))
    found = tf.linalg.diag_part(tf.constant(x), k=k, padding_value=9.5, align=align)
    np.testing.assert_array_equal(found, read_band(x, *k, align))


@pytest.mark.parametrize(("align", "k"), BANDS)
def test_a_band_made_into_a_matrix_and_read_again_is_the_band(align, k):
    x = tf.constant(np.random.default_rng(1).normal(size=(2, 3, 4)))
    band = tf.linalg.diag_part(x, k=k, align=align)
    matrix = tf.linalg.diag(band, k=k, num_rows=3, num_cols=4, align=align, padding_value=0.25)
    np.testing.assert_array_equal(tf.linalg.diag_part(matrix, k=k, align=align), band)
    np.testing.assert_array_equal(tf.linalg.set_diag(tf.fill([2, 3, 4], tf.constant(0.25, tf.float64)), band, k=k, align=align), matrix)


@pytest.mark.parametrize("align", ["RIGHT_LEFT", "LEFT_RIGHT"])
def test_gradients_of_bands_are_those_of_differences(align):
    x = tf.constant(np.random.default_rng(2).normal(size=(3, 4)))
    for f in (
        lambda x: tf.linalg.diag_part(x, k=(-1, 2), align=align) ** 2,
        lambda x: tf.linalg.diag(x, k=(-1, 1), align=align) ** 2,
        lambda x: tf.linalg.set_diag(x, x[:, :3] ** 2, k=(-1, 1), align=align),
    ):
        theory, numeric = tf.test.compute_gradient(f, [x])
        np.testing.assert_allclose(theory[0], numeric[0], atol=1e-6)


def test_what_occurs_how_often_in_each_row():
    x = tf.constant([[1, 2, 2], [0, 0, 5]])
    np.testing.assert_array_equal(tf.math.bincount(x, axis=-1), [[0, 1, 2, 0, 0, 0], [2, 0, 0, 0, 0, 1]])
    np.testing.assert_array_equal(tf.math.bincount(x, axis=-1, binary_output=True, maxlength=3), [[0, 1, 1], [1, 0, 0]])
    np.testing.assert_array_equal(tf.math.bincount(x, binary_output=True), [1, 1, 1, 0, 0, 1])
    np.testing.assert_array_equal(tf.math.bincount([], minlength=3), [0, 0, 0])
    weights = tf.Variable([[0.5, 1.5, 2.5], [3.5, 4.5, 5.5]])
    with tf.GradientTape() as tape:
        y = tf.math.bincount(x, weights, axis=-1)
    np.testing.assert_array_equal(y, [[0, 0.5, 4, 0, 0, 0], [8, 0, 0, 0, 0, 5.5]])
    np.testing.assert_array_equal(tape.gradient(y, weights, tf.reshape(tf.range(12.0), [2, 6])), [[1, 2, 2], [6, 6, 11]])


@pytest.mark.parametrize("dtype", [tf.int8, tf.uint16, tf.int32, tf.int64])
def test_integers_divide_without_nan_into_floats(dtype):
    found = tf.math.divide_no_nan(tf.constant([7, 5], dtype), tf.constant([2, 0], dtype))
    assert found.dtype == (tf.float64 if dtype.size >= 4 else tf.float32)
    np.testing.assert_array_equal(found, [3.5, 0])


def test_narrow_integers_are_summed_in_the_dtype_that_is_asked_for():
    a, b = tf.constant([[100, 100]], tf.int8), tf.constant([[100], [100]], tf.uint8)
    np.testing.assert_array_equal(tf.matmul(a, b, output_type=tf.int32), [[20000]])
    many = tf.fill([40000], tf.constant(3, tf.int16))
    assert tf.reduce_mean(many).numpy() == 3


def test_a_difference_of_complex_numbers_is_squared_with_its_conjugate():
    np.testing.assert_array_equal(tf.math.squared_difference(tf.constant([1 + 2j]), tf.constant([0j])), [5 + 0j])


def test_an_empty_index_picks_the_whole_tensor():
    x = tf.reshape(tf.range(6.0), [2, 3])
    assert tf.gather_nd(x, tf.zeros([4, 0], tf.int32)).shape == (4, 2, 3)
    assert tf.gather_nd(x, tf.zeros([2, 5, 0], tf.int32), batch_dims=1).shape == (2, 5, 3)


def test_indices_out_of_range_are_zeros_where_that_is_asked_for():
    x = tf.Variable([10.5, 1.5, 2.5])
    with tf.GradientTape() as tape:
        y = tf.gather_nd(x, [[0], [7], [1]], bad_indices_policy="IGNORE")
    np.testing.assert_array_equal(y, [10.5, 0, 1.5])
    np.testing.assert_array_equal(tf.convert_to_tensor(tape.gradient(y, x)), [1, 1, 0])


def test_empty_tensors_have_empty_answers():
    assert tf.searchsorted(tf.zeros([2, 0]), tf.zeros([2, 3])).numpy().tolist() == [[0] * 3] * 2
    assert tf.searchsorted(tf.zeros([2, 4]), tf.zeros([2, 0])).shape == (2, 0)
    assert tf.bitcast(tf.zeros([0, 4], tf.int8), tf.int32).shape == (0,)
    assert tf.bitcast(tf.zeros([2, 0]), tf.uint8).shape == (2, 0, 4)
    assert [tf.reduce_all([]).numpy(), tf.reduce_any([]).numpy()] == [True, False]
    assert tf.pad(7, tf.zeros([0, 2], tf.int32)).numpy() == 7


def test_texts_are_padded_and_scattered():
    x = tf.constant([["a", "b"]])
    assert tf.pad(x, [[1, 0], [0, 1]], constant_values="-").numpy().tolist() == [[b"-"] * 3, [b"a", b"b", b"-"]]
    assert tf.pad(x, [[0, 0], [1, 1]], "SYMMETRIC").numpy().tolist() == [[b"a", b"a", b"b", b"b"]]
    assert tf.scatter_nd([[2], [0], [2]], [True, False, True], [3]).numpy().tolist() == [False, False, True]
    assert tf.scatter_nd([[2], [0]], ["x", "y"], [3]).numpy().tolist() == [b"y", b"", b"x"]


def test_the_largest_of_an_inner_axis_with_its_indices():
    x = tf.Variable([[1.5, 4.0], [3.5, 2.0], [2.5, 6.0]])
    with tf.GradientTape() as tape:
        values, indices = tf.nn.approx_max_k(x, 2, reduction_dimension=0)
    np.testing.assert_array_equal(values, [[3.5, 6], [2.5, 4]])
    np.testing.assert_array_equal(indices, [[1, 2], [2, 0]])
    np.testing.assert_array_equal(tape.gradient(values, x), [[0, 1], [1, 0], [1, 1]])
    np.testing.assert_array_equal(tf.nn.approx_min_k(x, 1, reduction_dimension=0)[0], [[1.5, 2]])


def test_shapes_are_compared_with_numbers_and_checked_by_symbols():
    assert tf.zeros([3]).shape == 3
    tf.debugging.assert_shapes([(tf.ones([4, 2, 3]), ("*", "r", "c")), (tf.ones([3]), "c"), (tf.constant(1.5), (1,)), (tf.ones(5), None)])
    assert [tf.math.is_strictly_increasing(x).numpy() for x in ([1, 2, 4], [1, 1])] == [True, False]
    assert [tf.math.is_non_decreasing(x).numpy() for x in ([[1, 1], [2, 3]], [2, 1])] == [True, False]


def test_halves_are_normalised_by_wider_moments():
    x = tf.constant([[1.5, 2.5]], tf.float16)
    found = tf.nn.batch_normalization(x, tf.constant([0.5, 0.5]), tf.constant([4.0, 1.0]), tf.constant([1.0, 2.0]), None, 0.0)
    assert found.dtype == tf.float16
    np.testing.assert_allclose(found, [[1.5, 4.0]])


def values(dataset):
    return [np.asarray(x).tolist() for x in dataset.as_numpy_iterator()]


def test_sequences_of_like_lengths_are_batched_together():
    lengths = [1, 5, 2, 7, 3, 6, 9, 2]
    rows = tf.data.Dataset.from_generator(lambda: ([n] * n for n in lengths), output_signature=tf.TensorSpec([None], tf.int32))
    batches = values(rows.bucket_by_sequence_length(len, [4, 8], [3, 2, 1]))
    assert [[row[0] for row in b] for b in batches] == [[5, 7], [1, 2, 3], [9], [2], [6]]
    assert batches[0] == [[5] * 5 + [0] * 2, [7] * 7]
    to_edges = values(rows.take(6).bucket_by_sequence_length(len, [4, 8], [3, 2, 1], pad_to_bucket_boundary=True))
    assert [len(b[0]) for b in to_edges] == [7, 3, 7]
    with pytest.raises(tf.errors.InvalidArgumentError, match="must have length < max"):
        values(rows.bucket_by_sequence_length(len, [4, 8], [3, 2, 1], pad_to_bucket_boundary=True))
    with pytest.raises(ValueError, match="expected 3, got 1"):
        rows.bucket_by_sequence_length(len, [4, 8], [3])


def test_failed_elements_are_left_out():
    rows = tf.data.Dataset.range(6).map(lambda k: 12 // (k - 2))
    assert values(rows.ignore_errors()) == [-6, -12, 12, 6, 4]
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):
        values(rows)
    with pytest.raises(tf.errors.InvalidArgumentError, match="division by zero"):  # a batch cannot go on
        values(rows.batch(2).ignore_errors())


def test_elements_of_a_dataset_by_their_numbers():
    rows = tf.data.Dataset.range(10).map(lambda k: k * k).batch(3)
    assert tf.data.experimental.at(rows, 2).numpy().tolist() == [36, 49, 64]
    with pytest.raises(tf.errors.OutOfRangeError):
        tf.data.experimental.at(rows, 4)


@pytest.mark.parametrize("kind", ["", "GZIP", "ZLIB"])
def test_compressed_files_are_read_and_written(tmp_path, kind):
    path = str(tmp_path / "records")
    with tf.io.TFRecordWriter(path, tf.io.TFRecordOptions(kind)) as w:
        for text in (b"one", b"two" * 900):
            w.write(text)
    assert values(tf.data.TFRecordDataset(tmp_path / "records", kind)) == [b"one", b"two" * 900]
    if kind:
        with pytest.raises(tf.errors.DataLossError):
            values(tf.data.TFRecordDataset(path))


def test_binary_files_are_cut_into_pieces(tmp_path):
    path = tmp_path / "bytes"
    path.write_bytes(b"headaabbccend")
    read = tf.data.FixedLengthRecordDataset
    assert values(read([str(path)], 2, 4, 3)) == [b"aa", b"bb", b"cc"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not an exact multiple of the record length"):
        values(read(str(path), 4, 4, 3))


def test_an_iteration_goes_on_after_an_element_that_does_not_fit():
    rows = tf.data.Dataset.from_generator(lambda: iter([1, "two", 3]), output_signature=tf.TensorSpec([], tf.int32))
    it = iter(rows)
    assert next(it).numpy() == 1
    with pytest.raises(tf.errors.InvalidArgumentError, match="could not be converted to the expected type"):
        next(it)
    assert next(it).numpy() == 3


def test_a_cache_is_whole_when_all_that_comes_was_read():
    calls = []
    rows = tf.data.Dataset.range(3).map(lambda k: calls.append(0) or k).cache()
    assert [int(k) for k in rows.take(3)] == [int(k) for k in rows] == [0, 1, 2]
    assert len(calls) == 3


def test_weights_of_sampled_datasets_may_change():
    parts = [tf.data.Dataset.from_tensors(k).repeat() for k in range(3)]
    weights = tf.data.Dataset.from_tensor_slices([[0.0, 1.0, 0.0], [0.5, 0.0, 0.0], [0.0, 0.0, 0.25]])
    assert values(tf.data.Dataset.sample_from_datasets(parts, weights)) == [1, 0, 2]
    assert values(tf.data.Dataset.sample_from_datasets(parts, [0.0, 0.0, 0.0])) == []


def test_batches_of_sizes_in_turn():
    assert values(tf.data.Dataset.range(9).batch(4).rebatch([2, 1])) == [[0, 1], [2], [3, 4], [5], [6, 7], [8]]
    assert [len(b) for b in values(tf.data.Dataset.range(9).batch(4).rebatch([2, 3], drop_remainder=True))] == [2, 3, 2]


def test_numbers_as_texts_by_both_names():
    assert tf.as_string([1, 2]).numpy().tolist() == tf.strings.as_string([1, 2]).numpy().tolist() == [b"1", b"2"]


def test_nothing_is_transformed_into_nothing():
    for n in (1, 2, 3):
        empty = tf.zeros([0] * n, tf.complex64)
        name = "" if n == 1 else f"{n}d"
        assert getattr(tf.signal, f"fft{name}")(empty).shape == getattr(tf.signal, f"ifft{name}")(empty).shape == (0,) * n
        assert getattr(tf.signal, f"irfft{name}")(empty).dtype == tf.float32
        assert getattr(tf.signal, f"rfft{name}")(tf.zeros([0] * n, tf.float64)).dtype == tf.complex128
    assert tf.scan(lambda a, x: a + x, tf.zeros([0]), tf.constant(1.5)).shape == (0,)


def test_watched_variables_come_in_the_order_in_which_they_were_made():
    first, second, third = (tf.Variable(1.5) for _ in range(3))
    with tf.GradientTape() as tape:
        third * first * second
    assert [v is w for v, w in zip(tape.watched_variables(), (first, second, third), strict=True)] == [True] * 3


def test_a_batch_jacobian_needs_an_axis_beside_the_batch():
    with tf.GradientTape(persistent=True) as tape:
        x = tf.constant([1.5, 2.5])
        tape.watch(x)
        y = x * x
    with pytest.raises(ValueError, match="must have rank at least 2"):
        tape.batch_jacobian(y, x)


def test_parts_of_texts_each_from_its_own_place():
    found = tf.strings.substr([["hello"], ["world"]], [1, 2], [2, 3])
    assert found.numpy().tolist() == [[b"el", b"llo"], [b"or", b"rld"]]
    assert tf.strings.regex_replace("abc", "b+", r"<\0>").numpy() == b"a<b>c"
    assert tf.strings.as_string([1 + 2j], precision=1).numpy().tolist() == [b"(1.0,2.0)"]
    assert tf.strings.as_string(["hi"], width=4).numpy().tolist() == [b"  hi"]
    assert tf.io.decode_raw(tf.constant([], tf.string), tf.int16).shape == (0, 0)


def test_gamma_numbers_of_a_small_alpha_are_positive():
    assert (tf.random.gamma([99], 1e-5, seed=1).numpy() > 0).all()


def test_moments_and_crelu_of_integers():
    assert [v.numpy() for v in tf.nn.moments(tf.constant([1, 2, 4, 9]), [0])] == [4, 9]
    assert tf.nn.crelu(tf.constant([1, -2])).numpy().tolist() == [1, 0, 0, 2]
    np.testing.assert_allclose(tf.nn.selu(tf.constant([1.5], tf.bfloat16)).numpy().astype(np.float32), [1.5703125])


@pytest.mark.parametrize("name", ["elu", "selu", "leaky_relu", "relu", "relu6", "silu", "gelu", "softplus", "softsign", "crelu"])
def test_activations_keep_bfloat16(name):
    assert getattr(tf.nn, name)(tf.constant([1.5, -2.5], tf.bfloat16)).dtype == tf.bfloat16


@pytest.mark.parametrize(
    ("data", "encoding", "words", "expected"),
    [
        (b"a\xffb", "UTF-8", {}, "a\ufffdb"),
        (b"a\xffb", "UTF-8", {"errors": "ignore"}, "ab"),
        (b"a\xf0", "UTF-8", {"replacement_char": 63}, "a?"),
        (b"\x00\xff", "UTF-8", {"replacement_char": 32, "replace_control_characters": True}, "  "),
        (b"\xe2\x82\xac\xe2x", "UTF-8", {}, "\u20ac\ufffdx"),
        (b"\xff\xfe*\x00", "UTF-16", {}, "*"),
        (b"\x00*", "UTF-16", {}, "*"),
        (b"\xfe\xff\x00*", "UTF-16-BE", {}, "\ufeff*"),
        (b"\x00\x01\x04\x37", "UTF-32", {}, "\U00010437"),
        (b"\xe4", "ISO-8859-1", {}, "\xe4"),
    ],
)
def test_texts_change_their_encoding(data, encoding, words, expected):
    assert tf.strings.unicode_transcode(data, encoding, "UTF-8", **words).numpy().decode() == expected
    assert tf.strings.unicode_transcode([data], encoding, "UTF-16-BE", **words).numpy()[0].decode("utf-16-be") == expected


def test_texts_are_split_into_characters_with_their_places():
    codes, places = tf.strings.unicode_decode_with_offsets("a\u20acb", "UTF-8")
    assert (codes.numpy().tolist(), places.numpy().tolist()) == ([97, 0x20AC, 98], [0, 1, 4])
    assert tf.strings.unicode_split("a\u20acb", "UTF-8").numpy().tolist() == [b"a", "\u20ac".encode(), b"b"]
    encoded = tf.strings.unicode_encode([[72, 0xD83D, -1], [105, 33, 0x20AC]], "UTF-8", "ignore")
    assert encoded.numpy().tolist() == [b"H", "i!\u20ac".encode()]
    assert tf.strings.join([]).numpy() == b""
    assert tf.strings.reduce_join(tf.zeros([2, 0], tf.string), 1).numpy().tolist() == [b"", b""]


def test_a_stage_without_elements_knows_what_they_would_be():
    rows = tf.data.Dataset.range(4).map(lambda k: (k, tf.zeros([3])))
    for empty in (rows.repeat(0), rows.take(0), rows.skip(9), rows.filter(lambda k, x: k > 9), rows.shuffle(2).take(0).cache()):
        assert [tuple(s.shape) for s in empty.element_spec] == [(), (3,)]
        assert [tuple(s.shape) for s in empty.batch(2).element_spec] == [(None,), (None, 3)]


def test_elements_of_datasets_in_datasets_are_what_the_inner_ones_say():
    windows = tf.data.Dataset.range(9).window(4, shift=2)
    assert windows.flat_map(lambda w: w.batch(4)).element_spec.shape.as_list() == [None]
    pairs = tf.data.Dataset.range(9).map(lambda k: (k, k)).window(4).flat_map(lambda a, b: tf.data.Dataset.zip((a.batch(4), b.batch(2))))
    assert [s.shape.as_list() for s in pairs.element_spec] == [[None], [None]]
    assert windows.interleave(lambda w: w.batch(4, drop_remainder=True)).element_spec.shape.as_list() == [4]
