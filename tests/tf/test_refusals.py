"""What TensorFlow refuses is refused, with its kind of error and the telling words of its message."""

import numpy as np
import pytest

from tapegrad import tf

INVALID = tf.errors.InvalidArgumentError

REFUSED = [
    ("tf.constant(3)[0]", INVALID, "Attempting to slice scalar input"),
    ("tf.zeros([2, 3])[..., ...]", INVALID, "Multiple ellipses"),
    ("tf.expand_dims([1], [0, 1])", INVALID, "must be a tensor with a single value"),
    ("tf.concat([tf.zeros([2, 2]), tf.zeros([3, 3])], 0)", INVALID, "Dimension 1 in both shapes must be equal"),
    ("tf.nn.softmax(1.0)", INVALID, "must have >= 1 dimension|logits"),
    ("tf.random.experimental.index_shuffle(5, [1, 2], 4)", INVALID, "max_index must be >= index, but 4 < 5"),
    ("tf.random.experimental.index_shuffle(-1, [1, 2], 4)", INVALID, "index must be >= 0, got -1"),
    ("tf.random.experimental.index_shuffle(0, [1, 2], -1)", INVALID, "max_index must be >= 0, got -1"),
    ("tf.random.uniform_candidate_sampler([[10]], 1, 1, True, 2)", INVALID, "out of range"),
    ("tf.reverse([[1, 2]], [5])", INVALID, "axis.* 5 is out of valid range"),
    ("tf.reverse([[1, 2]], [0, -2])", INVALID, "axis 0 specified more than once"),
    ("tf.roll([1, 2], 1, 7)", INVALID, "axis 7 is out of"),
    ("tf.broadcast_to([1, 2], [2, 1])", INVALID, r"Unable to broadcast tensor of shape \[2\] to tensor of shape \[2,1\]"),
    ("tf.bitcast(tf.zeros([1, 1], tf.int8), tf.int32)", INVALID, "Cannot bitcast from"),
    ("tf.unravel_index([2, 5], [3, 0])", INVALID, "dims cannot contain a dim of zero"),
    ("tf.unravel_index([9], [2, 3])", INVALID, "index is out of bound"),
    ("tf.unravel_index(tf.constant(1), [2**20, 2**20])", INVALID, "integer overflow"),
    ("tf.pad([1], [[-1, 0]])", INVALID, "must be non-negative"),
    ("tf.sequence_mask([1, 2], [3, 4])", ValueError, "`maxlen` must be scalar"),
    ("tf.one_hot([0], 2, on_value=tf.constant(1.5), dtype=tf.int32)", TypeError, "float32 of on_value does not match"),
    ("tf.one_hot([0], 2, tf.constant(1.5), tf.constant(1.5, tf.float64))", TypeError, "does not match"),
    ("tf.gather([1, 2], [0], axis=4)", INVALID, "axis in the range"),
    ("tf.gather([1, 2], [0.5])", INVALID, "float is not in the list of allowed values: int16, int32, int64"),
    ("tf.scatter_nd([[0, 0]], [1], [0, 3])", INVALID, "Indices and updates specified for empty"),
    ("tf.scatter_nd([[0], [1], [0]], [1, 2], [2])", INVALID, r"Dimensions \[0,1\) of indices\[shape=\[3,1\]\]"),
    ("tf.scatter_nd([[0], [1]], [1, 2], [2, 2])", INVALID, r"Dimensions \[1,2\) of input\[shape=\[2,2\]\]"),
    ("tf.unstack([1, 2], axis=3)", ValueError, r"`axis` = 3 not in range \[-1, 1\)"),
    ("tf.split([1, 2, 3], [5, -2])", INVALID, "Split size at index 1 must be >= 0. Got: -2"),
    ("tf.split([1, 2], [1, 1], num=3)", INVALID, "size of the split_tensor"),
    ("tf.fill([[0, 1], [2, 3]], 1)", INVALID, r"dims must represent a vector, got shape \[2,2\]"),
    ("tf.transpose([[1, 2]], [[0, 1]])", INVALID, "perm must be rank 1"),
    ("tf.reduce_sum([1.5], [0, 0])", INVALID, "Axes contains duplicate dimension: 0"),
    ("tf.argmax([])", INVALID, r"Reduction axis 0 is empty in shape \[0\]"),
    ("tf.math.top_k([1, 2], -1)", INVALID, "Need k >= 0, got -1"),
    ("tf.math.bincount([1, -1])", INVALID, "must be non-negative"),
    ("tf.math.bincount([1, 2], weights=[1.5])", INVALID, "same shape as `arr`"),
    ("tf.math.bincount([1, 2], weights=[1.5, 2.5], binary_output=True)", ValueError, "mutually exclusive"),
    ("tf.math.bincount([1, 2], axis=1)", ValueError, "Unsupported value for argument axis=1"),
    ("tf.math.confusion_matrix([-1, 1], [1, 1])", INVALID, "`labels` contains negative values"),
    ("tf.math.confusion_matrix([1, 1], [1, 3], num_classes=2)", INVALID, "`predictions` out of bound"),
    ("tf.clip_by_norm(tf.ones([2, 3, 1]), [1.5, 2.5])", ValueError, "are incompatible"),
    ("tf.math.segment_sum(1, [0])", INVALID, "must be at least rank 1"),
    ("tf.norm([[1.5, 2.0]], ord='fro')", ValueError, "'ord' must be a supported vector norm"),
    ("tf.norm([[1.5, 2.0]], axis=[1, 1])", ValueError, "a tuple of 2 unique integers"),
    ("tf.tensordot([[1, 2]], [[1, 2]], [[0], [7]])", IndexError, "out of range"),
    ("tf.tensordot([[1, 2]], [[1, 2]], 3)", ValueError, "`axes`"),
    ("tf.linalg.solve([[0.0, 0.0], [0.0, 0.0]], [[1.5], [1.5]])", INVALID, "Input matrix is not invertible"),
    ("tf.linalg.inv([[0.0, 0.0], [0.0, 0.0]])", INVALID, "Input is not invertible"),
    ("tf.linalg.diag([1.5], k=(1, 0))", INVALID, "must not be larger than"),
    ("tf.linalg.diag([[1.5]], k=(0, 1))", INVALID, "does not match the lower_diag_index and upper_diag_index"),
    ("tf.linalg.diag_part([[1.5]], k=3)", INVALID, "out of bound"),
    ("tf.linalg.diag_part([1.5])", INVALID, "at least 2-dim"),
    ("tf.linalg.set_diag([[1.5]], [1.5, 2.5])", INVALID, "Expected diagonal to have the shape"),
    ("tf.linalg.tensor_diag(1.5)", INVALID, "at least rank 1"),
    ("tf.math.divide_no_nan(tf.constant(1), tf.constant(2.5))", TypeError, "must have the same dtype"),
    ("tf.debugging.assert_equal([1, 2], [1, 2, 3])", INVALID, r"Incompatible shapes: \[2\] vs. \[3\]"),
    ("tf.debugging.assert_equal([1, 2], [1, 5])", INVALID, r"(?s)did not hold.*Indices of first 1 different values:\n\[\[1\]\]"),
    ("tf.debugging.assert_rank([1], 0.5)", TypeError, "must be of type tf.int32"),
    ("tf.debugging.assert_rank([1], [1])", ValueError, "Rank must be a scalar"),
    ("tf.debugging.assert_shapes([(tf.ones([2]), 2)])", ValueError, "must be an iterable"),
    ("tf.debugging.assert_shapes([(tf.ones([2]), 'NM')])", ValueError, "must have rank 2.  Received rank 1"),
    ("tf.debugging.assert_shapes([(tf.ones([2]), 'N'), (tf.ones([3]), 'N')])", ValueError, "Specified by tensor .* size 2"),
    ("tf.debugging.assert_shapes([(tf.ones([1, 2]), ('N', ...))])", ValueError, "only allowed as the first entry"),
    ("tf.data.Dataset.range(0, 5, 0)", INVALID, "step must be non-zero"),
    ("tf.data.Dataset.range(3).concatenate(tf.data.Dataset.from_tensors(0.5))", TypeError, "Incompatible dataset elements"),
    ("tf.data.Dataset.range(3).concatenate(tf.data.Dataset.zip((tf.data.Dataset.range(1),)))", TypeError, "Incompatible dataset elements"),
    ("tf.data.Dataset.zip()", TypeError, "at least one dataset"),
    ("tf.data.Dataset.zip(tf.data.Dataset.range(1), datasets=(tf.data.Dataset.range(1),))", TypeError, "cannot be set"),
    ("tf.data.Dataset.choose_from_datasets([], tf.data.Dataset.range(1))", ValueError, "should not be empty"),
    ("tf.data.Dataset.choose_from_datasets([tf.data.Dataset.range(1)], None)", TypeError, "should be a `tf.data.Dataset`"),
    ("tf.data.Dataset.choose_from_datasets([tf.data.Dataset.range(1)], tf.data.Dataset.from_tensors(0.5))", TypeError, "tf.int64"),
    ("list(tf.data.Dataset.choose_from_datasets([tf.data.Dataset.range(1)], tf.data.Dataset.range(1, 2)))", INVALID, "out of range"),
    ("tf.data.Dataset.sample_from_datasets([tf.data.Dataset.range(1)], [0.5, 0.5])", ValueError, "should have the same length"),
    ("tf.data.Dataset.sample_from_datasets([tf.data.Dataset.range(1)], [1])", TypeError, "`tf.float32` or `tf.float64`"),
    ("tf.data.Dataset.range(9).padded_batch(5, [1])", ValueError, r"padded shape \(1,\) is not compatible with the shape \(\)"),
    ("tf.data.Dataset.from_tensors([1, 2, 3]).padded_batch(5, [1])", ValueError, r"is not compatible with the shape \(3,\)"),
    ("tf.data.Dataset.from_tensors([1]).padded_batch(5, tf.constant([1.5]))", TypeError, "its element type was float32"),
    ("list(tf.data.Dataset.range(4).group_by_window(lambda k: 0, lambda k, x: x, 0))", INVALID, "Window size must be greater than zero"),
    ("tf.switch_case(1, [lambda: 1, lambda: 2])", TypeError, "'branch_index' must be a Tensor"),
    ("tf.switch_case(tf.constant(0), {0: lambda: 1, 2: lambda: 2})", ValueError, "must form contiguous range"),
    ("tf.cumsum([1, 2], axis=[0])", INVALID, "axis must be a scalar"),
    ("tf.sort([1, 2], axis=-4)", INVALID, "out of bounds"),
    ("tf.argsort([1, 2], axis=3)", INVALID, "out of bounds"),
    ("tf.signal.frame(1.5, 1, 1)", ValueError, r"Shape \(\) must have rank at least 1"),
    ("tf.signal.frame([1.5], [1], 1)", ValueError, "must have rank 0"),
    ("tf.image.adjust_contrast(tf.zeros([2, 2, 3]), [1.5, 2.5])", INVALID, "contrast_factor must be scalar"),
    ("tf.image.crop_to_bounding_box(tf.zeros([4, 4, 3]), -1, 0, 3, 3)", ValueError, "offset_height must be >= 0"),
    ("tf.image.crop_to_bounding_box(tf.zeros([4, 4, 3]), 0, 2, 3, 3)", ValueError, "width must be >= target"),
    ("tf.image.grayscale_to_rgb(tf.zeros([1, 1, 2]))", ValueError, "Last dimension of a grayscale image should be size 1"),
    ("tf.map_fn(lambda x: (x, x), tf.constant([1, 2]))", ValueError, "don't have the same nested structure"),
    ("tf.zeros_initializer()([2], tf.float32, size=1)", TypeError, "Received: size"),
    ("tf.constant_initializer([1, 2, 3])([2, 2])", TypeError, "has 3 elements, but got `shape`"),
    ("tf.constant_initializer(lambda: 1)", TypeError, "Invalid type for initial value: function"),
    ("tf.nn.max_pool2d(tf.zeros([1, 4, 4, 1]), 0, 1, 'SAME')", INVALID, "ksize must be positive"),
    ("tf.nn.avg_pool2d(tf.zeros([1, 4, 4, 1]), 2, 0, 'SAME')", INVALID, "strides must be positive"),
    ("tf.nn.max_pool(tf.zeros([4]), 1, 1, 'SAME')", ValueError, "must be 3, 4 or 5"),
    ("tf.strings.format('a {} {}', [1])", ValueError, "expects 2 tensors, but the inputs only has 1"),
    ("tf.strings.substr(['abcd', 'ab'], [1, 3], [1, 1])", INVALID, "pos 3 out of range"),
    ("tf.strings.substr('ab', [1], 1)", ValueError, "must have the same shape"),
    ("tf.io.decode_raw(['aa', 'bbb'], tf.uint8)", INVALID, "same size, but element 1 has size 3 != 2"),
    ("tf.io.decode_raw(['aaa'], tf.int16)", INVALID, "not a multiple of 2"),
    ("tf.py_function(lambda: 1 / 0, [], tf.float32)", tf.errors.UnknownError, "ZeroDivisionError: division by zero"),
    ("tf.py_function(lambda: int('a'), [], tf.int32)", INVALID, "ValueError: invalid literal"),
    ("tf.py_function(3, [], tf.int32)", ValueError, "Expected func to be callable"),
    ("tf.strings.unicode_transcode(b'\\xff', 'UTF-8', 'UTF-8', 'strict')", INVALID, "Invalid formatting on input string"),
    ("tf.strings.unicode_transcode('a', 'latin-99', 'UTF-8')", INVALID, "Could not create converter for input encoding"),
    ("tf.strings.unicode_transcode('a', 'UTF-8', 'UTF-7')", INVALID, "not in the list of allowed values"),
    ("tf.strings.unicode_encode([0x110000], 'UTF-8', 'strict')", INVALID, "out of range"),
    ("tf.strings.unicode_encode(3, 'UTF-8')", ValueError, "rank must be at least 1"),
    ("tf.image.adjust_gamma(tf.zeros([2, 2, 3]), -0.5)", INVALID, "Gamma should be a non-negative real number"),
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED, ids=[c for c, _, _ in REFUSED])
def test_a_call_that_tensorflow_refuses_is_refused_in_its_words(call, error, words):
    with pytest.raises(error, match=words):
        eval(call, {"tf": tf})


# -- axes and counts that are no integers, dtypes that an op does not take -------------------------------
X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize("f", [
    lambda k: tf.reduce_sum(X, k), lambda k: tf.reduce_max(X, axis=[k]), lambda k: tf.cumsum(X, k), lambda k: tf.concat([X, X], k),
    lambda k: tf.expand_dims(X, k), lambda k: tf.argmin(X, k), lambda k: tf.nn.softmax(X, k), lambda k: tf.sort(X, k),
    lambda k: tf.gather(X, [0], axis=k), lambda k: tf.split(X, 1, k), lambda k: tf.squeeze(X[None], k),
])
def test_an_axis_is_an_integer(f):
    with pytest.raises(TypeError, match=r"Cannot convert 1\.5 to EagerTensor of dtype int32"):
        f(1.5)
    with pytest.raises((ValueError, TypeError), match=r"string is not in the list|Cannot convert"):
        f("abc")
    with pytest.raises(ValueError, match="Attempt to convert a value"):
        f(object())


@pytest.mark.parametrize(("f", "dtype"), [
    (tf.sort, tf.complex64), (tf.argsort, tf.bool), (tf.argmax, tf.complex64), (tf.math.softplus, tf.complex64), (tf.sort, tf.string),
    (tf.argmin, tf.string),
])
def test_order_is_of_real_numbers(f, dtype):
    x = tf.fill([2, 3], "a") if dtype == tf.string else tf.cast(X, dtype)
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"Value for attr 'T' of {dtype.name} is not in the list"):
        f(x)


@pytest.mark.parametrize("check", [tf.debugging.assert_equal, tf.debugging.assert_less, tf.debugging.assert_none_equal])
def test_comparisons_are_of_one_dtype(check):
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"input #1\(zero-based\) was expected to be a float tensor"):
        check(tf.constant(1.0), tf.constant(1.0, tf.float64))


def test_shapes_that_have_to_be_one():
    with pytest.raises(tf.errors.InvalidArgumentError, match="must match"):
        tf.math.confusion_matrix([0, 1], [1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be of same shape"):
        tf.linalg.cross(X, X[:1])
    with pytest.raises(tf.errors.InvalidArgumentError, match="expected to be a float tensor but is a double tensor"):
        tf.searchsorted(tf.constant([1.0, 2.0]), tf.constant([1.5], tf.float64))


def test_functions_that_keep_zeros_take_sparse_tensors_and_others_say_what_to_do():
    x = tf.SparseTensor([[0, 1]], [-4.0], [1, 3])
    for f, y in ((tf.abs, 4.0), (tf.negative, 4.0), (tf.sign, -1.0), (tf.square, 16.0)):
        assert f(x).values.numpy().tolist() == [y]
    with pytest.raises(ValueError, match=r"write tf\.sparse\.to_dense\(x\)"):
        tf.exp(x)
    tf.debugging.assert_shapes([(x, (1, "n")), (tf.ones(3), ("n",))])


def test_lengths_of_their_own_compute():
    three, unknown = tf.compat.v1.Dimension(3), tf.compat.v1.Dimension(None)
    assert (three + 4, 7 - three, three * 2 // 4, unknown * 2) == (7, 4, 1, unknown)
    assert (three < 4, three < unknown) == (True, None)
    with pytest.raises(ValueError, match="Dimensions 3 and 4 are not compatible"):
        three.merge_with(4)
