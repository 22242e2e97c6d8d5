"""tf.GradientTape and its relatives: examples that need no TensorFlow."""

import numpy as np
import pytest

from tapegrad import tf

pytestmark = pytest.mark.usefixtures("kernels")


def test_integer_targets_are_logged_and_give_none(log):
    x = tf.constant(1.5)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        n = tf.cast(x, tf.int32)
    assert tape.gradient(n, x) is None
    assert "target tensor must be floating" in log.text


def test_an_integer_that_is_watched_is_logged(log):
    n = tf.constant(1)
    with tf.GradientTape() as tape:
        tape.watch(n)
        y = n * n
    assert "watched tensor must be floating" in log.text
    assert tape.gradient(tf.cast(y, tf.float32), n) is None


def test_a_persistent_gradient_inside_its_block_is_logged_once(log):
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**3
        tape.gradient(y, x)
        tape.gradient(y, x)
    assert log.text.count("significantly less efficient") == 1


def test_words_of_errors():
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        with pytest.raises(ValueError, match="still recording"):
            tape.__enter__()
    with pytest.raises(ValueError, match="not recording"):
        tape.reset()
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="A non-persistent GradientTape can only be used"):
        tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="non-persistent"):
        tape.jacobian(y, x)
    with pytest.raises(RuntimeError, match="not recording"), tape.stop_recording():
        pass
    with pytest.raises(ValueError, match="ndarray"):
        tf.GradientTape().watch(np.ones(2))


def test_jacobians_row_by_row_want_a_persistent_tape():
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(RuntimeError, match="persistent=True"):
        tape.jacobian(y, x, experimental_use_pfor=False)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x * x[0]
    loop = tape.jacobian(y, x, experimental_use_pfor=False)
    np.testing.assert_allclose(loop.numpy(), tape.jacobian(y, x).numpy())


def test_gradients_of_rows_are_slices_and_train():
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(tf.nn.embedding_lookup(table, [2, 0, 2]))
    g = tape.gradient(y, table)
    assert isinstance(g, tf.IndexedSlices)
    assert g.shape == (3, 2)
    np.testing.assert_array_equal((0.5 * g).numpy(), [[0.5, 0.5], [0, 0], [1, 1]])
    table.scatter_sub(g)
    np.testing.assert_array_equal(table.numpy(), [[0, 1], [3, 4], [3, 4]])


def test_a_custom_gradient_takes_tensors_by_keyword():
    @tf.custom_gradient
    def f(x, y):
        return x * y, lambda g: (10.0 * g * y, 20.0 * g * x)

    x, y = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = f(x, y=y)
    assert [g.numpy() for g in tape.gradient(z, [x, y])] == [30.0, 40.0]


def test_a_custom_gradient_with_variables():
    v = tf.Variable(3.0)

    @tf.custom_gradient
    def f(x):
        def grad_fn(g, variables=None):
            assert [w is v for w in variables] == [True]
            return g * 7.0, [g * 11.0]

        return x * v, grad_fn

    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert [g.numpy() for g in tape.gradient(y, [x, v])] == [7.0, 11.0]


def test_a_wrong_number_of_gradients_is_named():
    @tf.custom_gradient
    def f(x, y):
        return x * y, lambda g: g

    x, y = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        z = f(x, y)
    with pytest.raises(ValueError, match="expected to return 2 gradients, but returned 1"):
        tape.gradient(z, [x, y])


def test_recompute_grad_runs_the_function_again():
    calls = []

    @tf.recompute_grad
    def f(x):
        calls.append(1)
        return tf.sin(x) ** 2

    x = tf.constant(0.5)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), np.sin(1.0), rtol=1e-6)
    assert len(calls) == 2


def test_vectorized_map_calls_its_function_once():
    calls = []

    def f(row):
        calls.append(1)
        return tf.reduce_sum(row * row)

    np.testing.assert_allclose(tf.vectorized_map(f, tf.constant([[1.0, 2.0], [3.0, 4.0]])).numpy(), [5, 25])
    assert len(calls) == 1


def test_a_function_checks_its_signature():
    @tf.function(input_signature=[tf.TensorSpec([None], tf.float32)])
    def f(x):
        return tf.where(x[0] > 0, x * x, -x)

    assert f([2.0]).numpy() == [4.0]
    assert f(tf.constant([-2.0])).numpy() == [2.0]
    with pytest.raises(TypeError, match="Can not cast"):
        f(tf.constant(1.0))
    assert f.get_concrete_function()(tf.constant([3.0])).numpy() == [9.0]


def test_a_function_is_a_method():
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable(3.0)

        @tf.function
        def __call__(self, x):
            return self.w * x

    model = Model()
    with tf.GradientTape() as tape:
        y = model(2.0)
    assert tape.gradient(y, model.trainable_variables)[0].numpy() == 2.0


def test_forward_over_reverse():
    x, t = tf.constant([1.0, 2.0]), tf.constant([1.0, 0.5])
    with tf.autodiff.ForwardAccumulator(x, t) as acc:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(x**3)
        g = tape.gradient(y, x)
    np.testing.assert_allclose(acc.jvp(g).numpy(), 6 * x.numpy() * t.numpy())
