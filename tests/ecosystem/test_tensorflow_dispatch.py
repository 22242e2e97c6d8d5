"""TensorFlow's own functions on tensors of tapegrad: what they record, and what they refuse."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
import tapegrad.tf as facade
from tapegrad.errors import ArgumentError, DetachedError

pytestmark = [pytest.mark.interop("tensorflow"), pytest.mark.filterwarnings("ignore")]
RNG = np.random.default_rng(9)
X = RNG.uniform(0.2, 0.9, (3, 4))
W = RNG.uniform(0.2, 0.9, (4, 2))


@pytest.fixture(scope="module")
def tf() -> Any:
    import tensorflow

    return tensorflow


# Functions of TensorFlow and a tensor; each is compared with itself on a tensor of TensorFlow's.
CALLS = {
    "sin": lambda tf, x: tf.sin(x),
    "math.sin": lambda tf, x: tf.math.sin(x),
    "reduce_sum": lambda tf, x: tf.reduce_sum(x, axis=1, keepdims=True),
    "reduce_mean": lambda tf, x: tf.reduce_mean(x),
    "reduce_logsumexp": lambda tf, x: tf.reduce_logsumexp(x, 1),
    "matmul": lambda tf, x: tf.matmul(x, tf.constant(W)),
    "matmul, the second": lambda tf, x: tf.matmul(tf.constant(W), x, transpose_a=True, transpose_b=True),
    "matmul of an array": lambda tf, x: tf.matmul(x, W),
    "add of a number": lambda tf, x: tf.add(x, 2.5),
    "tensor + x": lambda tf, x: tf.constant(X) + x,
    "x * tensor": lambda tf, x: x * tf.constant(X),
    "tensor / x": lambda tf, x: tf.constant(X) / x,
    "tensor @ x": lambda tf, x: tf.constant(W.T) @ tf.transpose(x),
    "variable * x": lambda tf, x: tf.multiply(tf.Variable(X), x),
    "concat": lambda tf, x: tf.concat([tf.constant(X), x], axis=1),
    "concat, named": lambda tf, x: tf.concat(values=(x, X), axis=0),
    "stack": lambda tf, x: tf.stack([x[0], tf.constant(X[1]), 2 * x[2]]),
    "unstack": lambda tf, x: tf.unstack(x, axis=1)[2],
    "split": lambda tf, x: tf.split(x, 2, axis=1)[1],
    "add_n": lambda tf, x: tf.add_n([x, x, tf.constant(X)]),
    "reshape": lambda tf, x: tf.reshape(x, (2, -1)),
    "cast": lambda tf, x: tf.cast(tf.cast(x, tf.float32), tf.float64),
    "where": lambda tf, x: tf.where(x > 0.5, x, tf.constant(X) ** 2),
    "gather": lambda tf, x: tf.gather(x, [0, 0, 2], axis=1),
    "einsum": lambda tf, x: tf.einsum("ij,jk->ki", x, tf.constant(W)),
    "meshgrid": lambda tf, x: tf.meshgrid(x[0], x[1])[1],
    "clip_by_value": lambda tf, x: tf.clip_by_value(x, 0.3, 0.7),
    "linalg.norm": lambda tf, x: tf.linalg.norm(x, axis=1),
    "softmax": lambda tf, x: tf.nn.softmax(x),
    "relu": lambda tf, x: tf.nn.relu(x - 0.5),
    "cross entropy": lambda tf, x: tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 3, 1], logits=x),
    "moments": lambda tf, x: tf.nn.moments(x, axes=[0])[1],
    "name": lambda tf, x: tf.math.square(x, name="squared"),
    "identity of a list": lambda tf, x: tf.convert_to_tensor([x[0], x[2]]),
    "fft": lambda tf, x: tf.abs(tf.signal.fft(tf.cast(x, tf.complex128))),
}


def by_tensorflow(tf: Any, f: Any) -> tuple[Any, Any]:
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(tf, x)
    g = np.cos(np.arange(np.size(y))).reshape(y.shape)
    return y.numpy(), tape.gradient(y, x, output_gradients=tf.constant(g)).numpy()


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("backend", ["numpy", "tensorflow"])
def test_a_function_of_tensorflow_records_a_plain_tensor(tf: Any, name: str, backend: str) -> None:
    value, gradient = by_tensorflow(tf, CALLS[name])
    x = tg.asarray(X, backend=backend)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = CALLS[name](tf, x)
    assert type(y) is tg.Tensor
    np.testing.assert_allclose(y.numpy(), value, rtol=1e-6)
    g = tg.asarray(np.cos(np.arange(y.size)).reshape(y.shape))
    np.testing.assert_allclose(tape.gradient(y, x, output_gradients=g).numpy(), gradient, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("name", CALLS)
def test_a_function_of_tensorflow_gives_the_facades_tensors_for_the_facades(tf: Any, name: str) -> None:
    value, gradient = by_tensorflow(tf, CALLS[name])
    x = facade.constant(X)
    with facade.GradientTape() as tape:
        tape.watch(x)
        y = CALLS[name](tf, x)
    assert type(y) is facade.Tensor
    np.testing.assert_allclose(y.numpy(), value, rtol=1e-6)
    g = facade.constant(np.cos(np.arange(value.size)).reshape(value.shape))
    np.testing.assert_allclose(tape.gradient(y, x, output_gradients=g).numpy(), gradient, rtol=1e-6, atol=1e-9)


def test_a_function_with_dispatch_gives_plain_tensors_though_nobody_records(tf: Any) -> None:
    assert type(tf.sin(tg.asarray(X))) is tg.Tensor
    assert type(tf.concat([tg.asarray(X), tf.constant(X)], 0)) is tg.Tensor


def test_tensors_of_tensorflow_are_computed_by_its_kernels_and_its_tape_goes_on_watching(tf: Any) -> None:
    x, v = tg.asarray(X), tf.Variable(X)
    with tf.GradientTape() as theirs, tg.GradientTape() as ours:
        ours.watch(x)
        loss = tf.reduce_sum(tf.multiply(x, tf.square(v)))
    np.testing.assert_allclose(np.asarray(ours.gradient(loss, x).numpy()), X**2)
    np.testing.assert_allclose(theirs.gradient(loss.raw, v).numpy(), 2 * X * X)


@pytest.fixture
def without_facade(tf: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As if the facade had none of TensorFlow's functions."""
    tf.sin(tg.asarray(X))  # it is installed
    monkeypatch.setattr(importlib.import_module("tapegrad.ecosystem.tensorflow_functions")._Call, "ours", lambda call: None)


@pytest.mark.usefixtures("without_facade")
def test_what_the_facade_lacks_tensorflow_computes_and_a_tape_beside_records(tf: Any) -> None:
    square = X[:, :3] + 3 * np.eye(3)
    x = tg.asarray(square)
    assert isinstance(tf.signal.dct(x), tf.Tensor)
    v = tf.constant(square)
    with tg.GradientTape() as tape, tf.GradientTape() as theirs:
        tape.watch(x)
        theirs.watch(v)
        ours, expected = (tf.signal.dct(z) ** 2 for z in (x, v))
        stacked = tf.signal.dct([x, x])  # a list where no tensors are expected in one
    assert isinstance(ours, tf.Tensor)
    np.testing.assert_allclose(tape.gradient(ours, x).numpy(), theirs.gradient(expected, v).numpy(), rtol=1e-6)
    assert stacked.shape == (2, 3, 3)


def test_conversions(tf: Any) -> None:
    x = tg.asarray(X)
    assert isinstance(tf.constant(x), tf.Tensor)
    np.testing.assert_array_equal(tf.Variable(x).numpy(), X)
    np.testing.assert_array_equal(next(iter(tf.data.Dataset.from_tensor_slices(x))).numpy(), X[0])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(tf.sin)(x)
        with pytest.raises(DetachedError, match="lose its derivative"):
            tf.constant(x)  # reads the memory
        with pytest.raises((TypeError, ValueError)):
            tf.constant([x[0, 0], x[0, 1]])
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), np.cos(X))
    z = facade.constant(X)
    with facade.GradientTape() as tape:
        tape.watch(z)
        y = tf.function(tf.sin)(z)
        loss = facade.reduce_sum(facade.convert_to_tensor(y))
    np.testing.assert_allclose(tape.gradient(loss, z).numpy(), np.cos(X))


@pytest.mark.usefixtures("without_facade")
def test_the_pytorch_style_has_no_tape_that_could_go_on(tf: Any) -> None:
    torch = pytest.importorskip("tapegrad.torch")
    x = torch.tensor(X[:, :3] + 3 * np.eye(3), requires_grad=True)
    with pytest.raises(ArgumentError, match=r"tf.signal.dct would lose the derivative .*has no function of that"):
        tf.signal.dct(x * 2)
    with pytest.raises(DetachedError, match="lose its derivative"):
        tf.function(tf.sin)(x * 2)


def test_tensors_on_tensorflows_kernels_become_its_tensors_without_a_copy(tf: Any) -> None:
    x = tg.asarray(X, backend="tensorflow")
    assert tf.Variable(x).shape == (3, 4)
    assert x.__tf_tensor__() is x.raw
    assert x.__tf_tensor__(dtype=tf.float64, name="x").dtype == tf.float64
