"""`tf.experimental.numpy`: NumPy's functions on tensors, with NumPy's dtypes, and with derivatives."""

import numpy as np
import pytest

from tapegrad import tf

tnp = tf.experimental.numpy


@pytest.fixture(autouse=True)
def no_methods_of_arrays_are_left_behind():
    before = dict(vars(tf.Tensor))
    yield
    for name, value in dict(vars(tf.Tensor)).items():
        if name not in before:
            delattr(tf.Tensor, name)
        elif before[name] is not value:
            setattr(tf.Tensor, name, before[name])


@pytest.mark.parametrize(("found", "dtype"), [
    (lambda: tnp.array([1, 2]), "int64"), (lambda: tnp.array([1.0, 2]), "float64"), (lambda: tnp.zeros((2,)), "float64"),
    (lambda: tnp.add(tf.ones(2), np.ones(2)), "float64"), (lambda: tnp.add(tf.ones(2), tf.constant([1, 2])), "float64"),
    (lambda: tnp.array([1, 2], tf.float32), "float32"), (lambda: tnp.mean(tnp.array([1, 2])), "float64"),
    (lambda: tnp.arange(3), "int64"), (lambda: tnp.allclose([1.0], [1.0]), "bool"), (lambda: tnp.real(2.5), "float64"),
])
def test_dtypes_are_those_of_numpy(found, dtype):
    y = found()
    assert isinstance(y, tf.Tensor)
    assert y.dtype == dtype


@pytest.mark.parametrize("f", [
    lambda m, x: m.sum(m.sin(x) * x), lambda m, x: m.sum(m.einsum("ij,kj->ik", x, x)), lambda m, x: m.std(x) + m.max(x),
    lambda m, x: m.sum(m.where(x > 0, x, 2 * x)), lambda m, x: m.sum(m.stack([x, m.exp(x)]) ** 2),
    lambda m, x: m.sum(m.moveaxis(x, 0, 1) @ x), lambda m, x: m.sum(m.pad(x, 1, "constant") * 3.0), lambda m, x: m.trace(x @ x.T),
    lambda m, x: m.sum(m.take(x, [0, 2], axis=1)), lambda m, x: m.prod(m.clip(x, 0.5, 2.0)), lambda m, x: m.average(m.abs(x)),
])
def test_functions_of_numpy_have_derivatives(f):
    x = tf.constant(np.array([[0.7, -1.2, 1.4], [0.3, 1.1, -0.6]]))
    tnp.experimental_enable_numpy_behavior()
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(tnp, x)
    g = tape.gradient(y, x).numpy()
    np.testing.assert_allclose(y.numpy(), f(np, x.numpy()), rtol=1e-12)
    for place in np.ndindex(2, 3):
        step = np.zeros((2, 3))
        step[place] = 1e-6
        slope = (f(np, x.numpy() + step) - f(np, x.numpy() - step)) / 2e-6
        np.testing.assert_allclose(g[place], slope, atol=1e-7, rtol=1e-6)


def test_random_numbers_repeat_for_a_seed():
    tnp.random.seed(3)
    first = tnp.random.randn(2, 3).numpy()
    tnp.random.seed(3)
    np.testing.assert_array_equal(tnp.random.standard_normal((2, 3)).numpy(), first)
    assert set(np.unique(tnp.random.randint(2, size=50).numpy())) <= {0, 1}
    assert tnp.random.uniform([0.0, 5.0], [1.0, 6.0]).numpy().astype(int).tolist() == [0, 5]


def test_tensors_get_the_methods_of_arrays_when_asked():
    tnp.experimental_enable_numpy_behavior()
    x = tf.constant([[1.0, 2.0, 3.0]])
    assert x.T.shape == (3, 1)
    assert x.reshape(3).numpy().tolist() == x.ravel().numpy().tolist() == [1.0, 2.0, 3.0]
    assert x.astype(tf.int32).dtype == tf.int32
    assert float(x.max()) == 3.0
    with pytest.raises(ValueError, match="dtype_conversion_mode must be"):
        tnp.experimental_enable_numpy_behavior(dtype_conversion_mode="none")
