"""What TensorFlow refuses is refused, with its kind of error and the telling words of its message."""

import pytest

from tapegrad import tf

INVALID = tf.errors.InvalidArgumentError

REFUSED = [
    ("tf.constant(3)[0]", INVALID, "Attempting to slice scalar input"),
    ("tf.zeros([2, 3])[..., ...]", INVALID, "Multiple ellipses"),
    ("tf.expand_dims([1], [0, 1])", INVALID, "must be a tensor with a single value"),
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
]


@pytest.mark.parametrize(("call", "error", "words"), REFUSED, ids=[c for c, _, _ in REFUSED])
def test_a_call_that_tensorflow_refuses_is_refused_in_its_words(call, error, words):
    with pytest.raises(error, match=words):
        eval(call, {"tf": tf})
