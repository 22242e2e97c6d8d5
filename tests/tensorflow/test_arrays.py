"""TensorFlow's tensors as arrays: into tensors and out of them, where they meet others, what is imported when."""

import subprocess
import sys

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, BoundsError, DTypeError, MatrixError, ShapeError
from tapegrad.registry.backends import making_on

tf = pytest.importorskip("tensorflow")


def on_tensorflow(x: tg.Tensor) -> bool:
    return isinstance(x.raw, tf.Tensor)


def test_a_tensor_of_tensorflow_is_taken_as_it_is() -> None:
    t = tf.constant([0.25, 0.5])
    assert tg.asarray(t).raw is t


def test_a_variable_of_tensorflow_is_read() -> None:
    v = tf.Variable([0.25, 0.5])
    np.testing.assert_array_equal(tg.sum(v).numpy(), 0.75)


def test_numpy_sees_the_memory_of_the_tensor_and_may_not_write_to_it() -> None:
    t = tf.constant([0.25, 0.5])
    view = tg.asarray(t).numpy()
    assert np.shares_memory(view, memoryview(t))
    assert not view.flags.writeable


def test_values_of_bfloat16_come_out() -> None:
    x = tg.asarray(tf.constant([0.25, 0.5], tf.bfloat16))
    assert x.dtype == tg.bfloat16
    np.testing.assert_array_equal(x.numpy().astype(np.float32), [0.25, 0.5])


@pytest.mark.parametrize("x", [[0.25], np.asarray([0.25]), 0.25, [[1, 2]], [True]])
def test_asarray_moves_what_is_given_to_tensorflow_if_asked(x: object) -> None:
    made, expected = tg.asarray(x, backend="tensorflow"), tg.asarray(x)
    assert on_tensorflow(made)
    assert (made.dtype, made.shape) == (expected.dtype, expected.shape)


def test_a_recorded_tensor_moves_there_and_its_cotangent_back() -> None:
    x = tg.asarray([0.25, 0.5])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.sum(tg.asarray(x, backend="tensorflow") ** 2)
    assert on_tensorflow(y)
    g = tape.gradient(y, x)
    assert not on_tensorflow(g)
    np.testing.assert_array_equal(g.numpy(), [0.5, 1.0])


def test_asarray_without_a_copy_refuses_to_move() -> None:
    with pytest.raises(ValueError, match="values have to be copied"):
        tg.asarray(np.zeros(2), backend="tensorflow", copy=False)


def test_an_unknown_backend_is_refused() -> None:
    with pytest.raises(ArgumentError, match=r"expected one of 'numpy', 'tensorflow', got 'jax'"):
        tg.asarray([1.0], backend="jax")


@pytest.mark.parametrize(
    "make",
    [
        lambda: tg.zeros((2,)),
        lambda: tg.arange(3),
        lambda: tg.linspace(0.0, 1.0, 3),
        lambda: tg.eye(2),
        lambda: tg.full((2,), 3.5),
        lambda: tg.asarray([1.5]),
        lambda: tg.Variable([1.5]),
        lambda: tg.random.normal((2,)),
    ],
)
def test_new_arrays_are_made_by_the_default_backend(make: object) -> None:
    assert callable(make)
    with making_on("tensorflow"):
        assert on_tensorflow(make())
    assert not on_tensorflow(make())


def test_a_function_that_makes_arrays_takes_a_backend() -> None:
    assert on_tensorflow(tg.ones((2, 3), backend="tensorflow"))


def test_random_numbers_are_the_same_on_all_kernels() -> None:
    tg.random.seed(7)
    a = tg.random.normal((3,)).numpy()
    tg.random.seed(7)
    with making_on("tensorflow"):
        np.testing.assert_array_equal(tg.random.normal((3,)).numpy(), a)


@pytest.mark.parametrize("compute", [lambda x, c: x + c, lambda x, c: c * x, lambda x, c: tg.matmul(c, x), lambda x, c: tg.stack([c, x])])
def test_a_constant_of_numpy_moves_to_tensorflow(compute: object) -> None:
    assert callable(compute)
    x, c = tf.constant([[0.5, 1.5], [2.5, 3.5]]), np.asarray([[1, 2], [3, 4]], np.float32)
    y = compute(tg.asarray(x), tg.asarray(c))
    assert on_tensorflow(y)
    np.testing.assert_array_equal(y.numpy(), compute(tg.asarray(x.numpy()), tg.asarray(c)).numpy())


def test_python_numbers_are_weak() -> None:
    x = tg.asarray(tf.constant([1, 2], tf.uint8))
    assert (x + 1).dtype == tg.uint8
    assert (x * 0.5).dtype == tg.float64
    assert (tg.asarray(tf.constant([1.0], tf.bfloat16)) * 2.5).dtype == tg.bfloat16


def test_an_integer_that_does_not_fit_is_refused() -> None:
    with pytest.raises(OverflowError, match="out of bounds for uint8"):
        tg.asarray(tf.constant([1], tf.uint8)) + 300


def test_tapes_on_tensorflow() -> None:
    x = tg.asarray(tf.constant([0.5, 1.5]))
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = tg.sum(x**3)
        g = tape.gradient(y, x)
    h = outer.gradient(g, x)
    np.testing.assert_allclose(g.numpy(), [0.75, 6.75])
    np.testing.assert_allclose(h.numpy(), [3.0, 9.0])
    assert on_tensorflow(h)


def test_a_variable_on_tensorflow_learns() -> None:
    w = tg.Variable(tg.asarray([1.5, -2.5], backend="tensorflow"))
    before = w.raw
    with tg.GradientTape() as tape:
        loss = tg.sum(w * w)
    w.assign_sub(0.1 * tape.gradient(loss, w))
    np.testing.assert_allclose(w.numpy(), [1.2, -2.0])
    np.testing.assert_array_equal(before.numpy(), [1.5, -2.5])


@pytest.mark.parametrize(
    ("compute", "error", "match"),
    [
        (lambda: tg.zeros((2, 3), backend="tensorflow") + tg.zeros((4,), backend="tensorflow"), ShapeError, r"add\(x1, x2\)"),
        (lambda: tg.take(tg.zeros((3,), backend="tensorflow"), tg.asarray([5], backend="tensorflow")), BoundsError, "take"),
        (lambda: tg.zeros((3,), backend="tensorflow")[7], BoundsError, "getitem"),
        (lambda: tg.linalg.inv(tg.zeros((2, 2), backend="tensorflow")), MatrixError, r"inv\(x\)"),
        (lambda: tg.maximum(tg.asarray([1j], backend="tensorflow"), 0), DTypeError, "maximum"),
    ],
)
def test_errors_name_the_op_and_keep_what_tensorflow_said(compute: object, error: type[Exception], match: str) -> None:
    assert callable(compute)
    with pytest.raises(error, match=match) as caught:
        compute()
    assert caught.value.__cause__ is not None


def test_a_matrix_that_is_not_positive_definite_has_a_factor_of_nan() -> None:
    # NumPy's kernels raise; here that would take a fetch from the device.
    assert np.isnan(tg.linalg.cholesky(-tg.eye(2, backend="tensorflow")).numpy()).any()


def test_an_error_names_dtypes_shapes_and_devices() -> None:
    with pytest.raises(ShapeError, match=r"x1: float32 \(2, 3\) on CPU:0, x2: float32 \(4,\) on"):
        tg.zeros((2, 3), backend="tensorflow") + tg.zeros((4,), backend="tensorflow")


def run(program: str, **environment: str) -> str:
    import os

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ, **environment}
    )
    return done.stdout.strip()


def test_tensorflow_is_imported_when_the_environment_asks_for_it_and_an_array_is_made() -> None:
    program = """
import sys, tapegrad as tg
tg.sin(tg.asarray([1.0], backend="numpy"))
before = "tensorflow" in sys.modules
print(before, type(tg.zeros(2).raw).__name__, "tensorflow" in sys.modules)
"""
    assert run(program, TAPEGRAD_BACKEND="tensorflow") == "False EagerTensor True"


def test_tensorflow_is_imported_when_it_is_asked_for_by_name() -> None:
    import os

    program = """
import sys, tapegrad as tg
tg.sin(tg.asarray([1.0]))
sys.modules["tensorflow"] = None  # an import of it fails
try:
    tg.set_default_backend("tensorflow")
except ImportError as error:
    print(error)
"""
    found = run(program, **{name: "" for name in os.environ if name == "TAPEGRAD_BACKEND"})
    assert found.startswith("the backend 'tensorflow' needs TensorFlow")


def test_kernels_and_rules_fetch_nothing_from_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    from tapegrad.kernels.tensorflow_array import TFArray

    x = tg.asarray(np.linspace(-1, 1, 48, dtype=np.float32).reshape(1, 6, 4, 2), backend="tensorflow")
    w = tg.asarray(np.linspace(-1, 1, 36, dtype=np.float32).reshape(3, 3, 2, 2), backend="tensorflow")
    labels = tg.asarray([1], backend="tensorflow")

    def fetched(*args: object, **words: object) -> None:
        raise AssertionError("a value is fetched from the device")

    for name in ("__array__", "__int__", "__float__", "__bool__", "__index__"):
        monkeypatch.setattr(TFArray, name, fetched)
    with tg.GradientTape() as tape:
        tape.watch([x, w])
        y = tg.nn.relu(tg.nn.conv(x, w, padding="same"))
        y = tg.nn.max_pool(y, 2)
        y = tg.reshape(y, (1, -1))
        y = tg.softmax(tg.take(y, labels, axis=1) + y[:, ::-1], axis=-1)
        loss = tg.nn.cross_entropy(tg.sort(y, axis=-1), labels) + tg.mean(tg.std(y))
    for g in tape.gradient(loss, [x, w]):
        assert on_tensorflow(g)
