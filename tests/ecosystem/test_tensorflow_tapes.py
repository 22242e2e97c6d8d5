"""TensorFlow's own code under a tape: its functions, tensors and variables, to any order."""

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DTypeError, NotDifferentiable, SpentError

pytestmark = [pytest.mark.interop("tensorflow"), pytest.mark.filterwarnings("ignore")]
tf: Any = pytest.importorskip("tensorflow")
X = np.asarray([0.5, 0.7], np.float32)
VARIABLE = tf.Variable([2.0, 3.0])


@tf.function
def function(x: Any) -> Any:
    return tf.sin(x) * VARIABLE * tf.reduce_sum(x**2)


@tf.function(input_signature=[tf.TensorSpec([None, 2])])
def of_any_length(x: Any) -> Any:
    return tf.reduce_sum(tf.tanh(x) * VARIABLE, axis=1)


def layered(x: Any) -> Any:
    return tf.nn.relu(tf.linalg.matvec([[0.5, -1.0], [2.0, 0.25]], x)) * VARIABLE


ARRAYS = {
    "on NumPy": lambda: tg.asarray(X),
    "on TensorFlow": lambda: tg.asarray(X, backend="tensorflow"),
    "TensorFlow's": lambda: tf.constant(X),
}


def orders(tape: Any, f: Any, x: Any) -> list[np.ndarray]:
    """Derivatives of three orders, of an argument and of a variable that is captured."""
    with tape() as third:
        third.watch(x)
        with tape() as second:
            second.watch(x)
            with tape() as first:
                first.watch(x)
                y = f(x)
            one = first.gradient(y, [x, VARIABLE])
        two = second.gradient(one, [x, VARIABLE])
    return [g.numpy() for g in (*one, *two, *third.gradient(two, [x, VARIABLE]))]


@pytest.mark.parametrize("kind", ARRAYS)
def test_a_function_of_tensorflow_is_one_op_to_any_order(kind: str) -> None:
    for found, expected in zip(
        orders(tg.GradientTape, function, ARRAYS[kind]()), orders(tf.GradientTape, function, tf.constant(X)), strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-4)


@pytest.mark.parametrize("kind", ["on NumPy", "on TensorFlow"])
def test_ops_of_both_between_each_other(kind: str) -> None:
    w = tg.Variable(ARRAYS[kind]() * 2.0)

    def run(tape: Any, x: Any, w: Any, sin: Any, total: Any) -> list[np.ndarray]:
        with tape() as outer:
            outer.watch(x)
            with tape() as inner:
                inner.watch(x)
                a = function(sin(x * w))
                loss = total(function(function(a) * total(a * w)) ** 2)
            first = inner.gradient(loss, [x, w, VARIABLE])
            s = total(first[0] * first[0]) + total(first[2] * first[1])
        return [g.numpy() for g in (*first, *outer.gradient(s, [x, w, VARIABLE]))]

    found = run(tg.GradientTape, ARRAYS[kind](), w, tg.sin, tg.sum)
    expected = run(tf.GradientTape, tf.constant(X), tf.Variable(w.numpy()), tf.sin, tf.reduce_sum)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3)


def test_forward_mode_and_both_modes_around_each_other() -> None:
    x, t = tg.asarray(X), tg.asarray([1.0, 2.0])
    y, s = tf.constant(X), tf.constant([1.0, 2.0])

    def loss(x: Any) -> Any:
        return tg.sum(function(x) * x)

    with tf.autodiff.ForwardAccumulator(y, s) as theirs:
        with tf.GradientTape() as inner:
            inner.watch(y)
            value = tf.reduce_sum(function(y) * y)
        slope = inner.gradient(value, y)
    with tg.ForwardAccumulator(x, t) as ours:
        z = loss(x)
    np.testing.assert_allclose(ours.jvp(z).numpy(), theirs.jvp(value).numpy(), rtol=1e-5)
    np.testing.assert_allclose(tg.jvp(tg.grad(loss), (x,), (t,))[1].numpy(), theirs.jvp(slope).numpy(), rtol=1e-4)
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.ForwardAccumulator(x, t) as ours:
            z = loss(x)
        d = ours.jvp(z)
    np.testing.assert_allclose(outer.gradient(d, x).numpy(), theirs.jvp(slope).numpy(), rtol=1e-4)


def test_jacobians_and_hessians() -> None:
    x, y = tg.asarray(X), tf.constant(X)
    with tf.GradientTape() as outer:
        outer.watch(y)
        with tf.GradientTape(persistent=True) as inner:
            inner.watch(y)
            z = function(y)
            total = tf.reduce_sum(z)
        slope = inner.gradient(total, y)
    np.testing.assert_allclose(tg.jacobian(lambda x: tg.asarray(function(x)))(x).numpy(), inner.jacobian(z, y).numpy(), rtol=1e-5)
    np.testing.assert_allclose(tg.hessian(lambda x: tg.sum(function(x)))(x).numpy(), outer.jacobian(slope, y).numpy(), rtol=1e-4)


@pytest.mark.parametrize("kind", ARRAYS)
def test_functions_with_a_signature_are_traced_once_and_any_length_fits(kind: str) -> None:
    for n in (1, 3, 2):
        rows = np.linspace(0.1, 0.9, 2 * n, dtype=np.float32).reshape(n, 2)
        x = tf.constant(rows) if kind == "TensorFlow's" else tg.asarray(rows, backend="numpy" if "NumPy" in kind else "tensorflow")
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = of_any_length(x)
        np.testing.assert_allclose(tape.gradient(y, x).numpy(), (1 - np.tanh(rows) ** 2) * [2, 3], rtol=1e-5)
    assert of_any_length.experimental_get_tracing_count() == 1


def test_a_tensor_is_no_other_kind_of_argument_than_one_of_tensorflow() -> None:
    f = tf.function(lambda x: x * 2.0)
    x = tg.asarray(X, backend="tensorflow")
    f(tf.constant(X))
    f(x)
    with tg.GradientTape() as tape:
        tape.watch(x)
        f(x)
    assert f.experimental_get_tracing_count() == 1


def test_eager_code_of_tensorflow_and_its_variables() -> None:
    x = tf.constant(X)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tg.sum(layered(x) ** 2)
        z = tg.sin(x) * VARIABLE
    with tf.GradientTape() as theirs:
        theirs.watch(x)
        expected = tf.reduce_sum(layered(x) ** 2)
    for a, b in zip(tape.gradient(y, [x, VARIABLE]), theirs.gradient(expected, [x, VARIABLE]), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-5)
    np.testing.assert_allclose(tape.gradient(z, VARIABLE).numpy(), np.sin(X), rtol=1e-6)


def test_variables_are_watched_once_a_tape_knows_of_tensorflow() -> None:
    table = tf.Variable(np.arange(6, dtype=np.float32).reshape(3, 2))

    @tf.function
    def rows(i: Any) -> Any:
        return tf.gather(table, i)

    with tg.GradientTape() as tape:
        y = tg.sum(rows(tg.asarray([2, 0, 2])) ** 2)
    np.testing.assert_array_equal(tape.gradient(y, table).numpy(), [[0, 2], [0, 0], [16, 20]])
    with tg.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(VARIABLE)
        y = tg.sum(rows(tf.constant([1])) * VARIABLE)
    assert tape.gradient(y, [table, VARIABLE])[0] is None


def test_what_only_another_tape_watched_has_no_derivative_and_time_without_recording_is_left_out() -> None:
    x = tf.constant(X)
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as inner:
            y = tf.sin(x)
            z = tg.sum(y)
    assert inner.gradient(z, x) is None
    np.testing.assert_allclose(outer.gradient(z, x).numpy(), np.cos(X), rtol=1e-6)
    with tg.GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            y = tf.sin(x)
        z = tg.sum(y * tf.cos(x))
    np.testing.assert_allclose(tape.gradient(z, x).numpy(), -np.sin(X) ** 2, rtol=1e-6)
    after = tf.sin(x)
    with tg.GradientTape() as tape:
        pass
    assert not hasattr(after, "node")


def test_a_tape_of_tensorflow_around_goes_on() -> None:
    x = tf.constant(X)
    with tf.GradientTape() as theirs:
        theirs.watch(x)
        with tg.GradientTape() as ours:
            ours.watch(x)
            y = tg.sum(function(x))
        slope = ours.gradient(y, x)
    np.testing.assert_allclose(slope.numpy(), orders(tf.GradientTape, function, x)[0], rtol=1e-5)
    assert theirs.gradient(y.raw, x) is not None


def test_what_was_recorded_is_let_go_of() -> None:
    x = tg.asarray(X)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = function(x)
    beside = weakref.ref(tape._recorder.beside)
    tape.gradient(y, x)
    gc.collect()
    assert beside() is None
    with pytest.raises(SpentError):
        tape.gradient(y, x)


def test_errors_name_what_to_do() -> None:
    x = tf.constant(X)
    with tg.GradientTape() as tape:
        with pytest.raises(DTypeError, match=r"watch\(value\): expected a floating dtype, got int32; .*tf.cast"):
            tape.watch(tf.constant([1, 2]))
        y = tg.sin(x)
    with pytest.raises(ArgumentError, match=r"got EagerTensor; call tape.watch with it before it is used"):
        tape.gradient(y, x)
    z = tf.constant(np.eye(2) + 0.5, tf.complex64)
    with tg.GradientTape() as tape:
        tape.watch(z)
        y = tf.linalg.logm(z)
    with pytest.raises(NotDifferentiable, match=r"it has no derivative of an op of its own .*MatrixLogarithm"):
        tape.gradient(y, z)


def test_a_tape_that_is_left_however_leaves_none_of_tensorflow_behind() -> None:
    pywrap = pytest.importorskip("tensorflow.python.pywrap_tfe")
    x = tf.constant(X)

    def fails() -> None:
        with tg.GradientTape() as tape:
            tape.watch(x)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert pywrap.TFE_Py_TapeSetIsEmpty()
    forgotten = tg.GradientTape()
    forgotten.__enter__()
    forgotten.watch(x)
    del forgotten
    assert pywrap.TFE_Py_TapeSetIsEmpty()
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tf.sin(x)
    with tape:  # goes on
        z = tf.cos(x) * y
    np.testing.assert_allclose(tape.gradient(z, x).numpy(), np.cos(X) ** 2 - np.sin(X) ** 2, rtol=1e-5)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tf.sin(x)
        tape.reset()
        tape.watch(x)
        z = tf.cos(x)
    np.testing.assert_allclose(tape.gradient(z, x).numpy(), -np.sin(X), rtol=1e-6)
    assert pywrap.TFE_Py_TapeSetIsEmpty()


def test_threads_have_tapes_of_their_own() -> None:
    f = tf.function(lambda x: tf.sin(x) * x)
    found: dict[int, Any] = {}

    def run(i: int) -> None:
        x = tg.asarray([0.1 * i])
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = tg.sum(f(x))
        found[i] = tape.gradient(y, x).item()

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    np.testing.assert_allclose([found[i] for i in range(4)], [np.sin(x) + x * np.cos(x) for x in (0, 0.1, 0.2, 0.3)], rtol=1e-5)
