"""`tf.raw_ops`: by keywords alone, each stands on a public function, with the words and the values of TensorFlow's."""

import inspect

import numpy as np
import pytest

from tapegrad import tf
from tapegrad.tf.raw import _TABLE, _WRITTEN

X = np.array([[0.5, -1.5, 2.0], [3.0, 0.25, -0.75]], np.float32)
NAMES = [entry.partition(":")[0] for line in _TABLE.strip().splitlines() for entry in line.partition("|")[2].split()]
CALLS = [
    ("Relu", {"features": X}), ("LeakyRelu", {"features": X}), ("Sum", {"input": X, "axis": [1], "keep_dims": True}),
    ("AddV2", {"x": X, "y": X}), ("MatMul", {"a": X, "b": X, "transpose_b": True}), ("ArgMax", {"input": X, "dimension": 1}),
    ("ConcatV2", {"values": [X, X], "axis": 1}), ("GatherV2", {"params": X, "indices": [2, 0], "axis": 1}),
    ("Pack", {"values": [X, X], "axis": 1}), ("Unpack", {"value": X, "num": 2}), ("Cast", {"x": X, "DstT": "int32"}),
    ("TopKV2", {"input": X, "k": 2}), ("OneHot", {"indices": [1, 0], "depth": 3, "on_value": 1.0, "off_value": 0.0}),
    ("Transpose", {"x": X, "perm": [1, 0]}), ("SelectV2", {"condition": X > 0, "t": X, "e": -X}), ("L2Loss", {"t": X}),
    ("SoftmaxCrossEntropyWithLogits", {"features": X, "labels": np.array([[0, 0, 1], [1, 0, 0]], np.float32)}),
    ("MaxPool", {"input": np.arange(16.0, dtype=np.float32).reshape(1, 4, 4, 1), "ksize": [1, 2, 2, 1], "strides": [1, 2, 2, 1],
                 "padding": "VALID"}),
    ("Conv2D", {"input": np.ones((1, 3, 3, 1), np.float32), "filter": np.ones((2, 2, 1, 1), np.float32), "strides": [1, 1, 1, 1],
                "padding": "EXPLICIT", "explicit_paddings": [0, 0, 1, 0, 0, 1, 0, 0]}),
    ("UnsortedSegmentSum", {"data": X, "segment_ids": [1, 1], "num_segments": 2}), ("Squeeze", {"input": X[None]}),
]


def test_an_op_takes_keywords_alone():
    with pytest.raises(TypeError, match=r"Relu only takes keyword args \(possible keys: \['features', 'name'\]\)"):
        tf.raw_ops.Relu(X)
    with pytest.raises(TypeError, match="missing a required argument: 'y'"):
        tf.raw_ops.Add(x=1.0)


@pytest.mark.interop("tensorflow")
@pytest.mark.parametrize(("name", "words"), CALLS)
def test_values_are_those_of_tensorflow(name, words):
    real = pytest.importorskip("tensorflow")
    ours, theirs = (space.nest.flatten(getattr(space.raw_ops, name)(**words)) for space in (tf, real))
    for a, b in zip(ours, theirs, strict=True):
        assert a.dtype.name == b.dtype.name
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)


@pytest.mark.interop("tensorflow")
def test_every_op_takes_the_words_of_tensorflow():
    real = pytest.importorskip("tensorflow")
    for name in [*NAMES, *_WRITTEN]:
        assert list(inspect.signature(getattr(tf.raw_ops, name)).parameters) == list(
            inspect.signature(getattr(real.raw_ops, name)).parameters
        ), name


def test_losses_have_derivatives():
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss, slope = tf.raw_ops.SparseSoftmaxCrossEntropyWithLogits(features=x, labels=[2, 0])
    np.testing.assert_allclose(tape.gradient(loss, x).numpy(), slope.numpy(), rtol=1e-6)
