"""A step on arrays goes where the same formula goes op by op, and nobody who has read a variable sees it written to."""

import numpy as np
import pytest

import tapegrad as tg

pytestmark = pytest.mark.interop("keras")

SHAPES = [(3, 4), (4,), (), (2, 3, 4)]
FORMULAS = [
    ("SGD", {}),
    ("SGD", {"momentum": 0.9}),
    ("SGD", {"momentum": 0.9, "nesterov": True}),
    ("RMSprop", {"centered": True, "momentum": 0.5}),
    ("Adam", {"amsgrad": True}),
    ("Adam", {"clipnorm": 0.5, "use_ema": True}),
    ("AdamW", {}),
    ("Adadelta", {}),
    ("Adagrad", {}),
    ("Adamax", {}),
    ("Nadam", {}),
    ("Ftrl", {}),
    ("Lion", {}),
    ("Adafactor", {}),
    ("Lamb", {}),
    ("Muon", {}),
]


@pytest.fixture
def steps(keras):
    from tapegrad.keras.backend import optimizer_steps

    return optimizer_steps


def after(keras, name, words, dtype):
    rng = np.random.default_rng(3)
    variables = [keras.Variable(rng.standard_normal(s).astype(dtype), dtype=dtype) for s in SHAPES]
    optimizer = getattr(keras.optimizers, name)(0.01, **words)
    for _ in range(3):
        grads = [tg.asarray(rng.standard_normal(s).astype(dtype)) for s in SHAPES]
        optimizer.apply_gradients(zip(grads, variables, strict=True))
    return [v.numpy() for v in (*variables, *optimizer.variables)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(("name", "words"), FORMULAS)
def test_a_formula_on_arrays_goes_where_it_goes_op_by_op(keras, steps, monkeypatch, name, words, dtype):
    if not hasattr(keras.optimizers, name):
        pytest.skip(f"this version of Keras has no {name}")
    taken = []
    monkeypatch.setattr(steps, "_Step", lambda *given, make=steps._Step: (taken.append(1), make(*given))[1])
    found = after(keras, name, words, dtype)
    assert taken
    taken.clear()
    monkeypatch.setattr(steps, "_is_formula", lambda cls: False)
    for x, y in zip(found, after(keras, name, words, dtype), strict=True):
        assert x.dtype == y.dtype
        np.testing.assert_allclose(x, y, rtol=50 * np.finfo(dtype).eps)
    assert not taken


def test_every_optimizer_of_keras_goes_the_same_way_with_arrays_and_without(keras, steps, monkeypatch):
    found = vars(keras.optimizers).items()
    made = {n: c for n, c in found if isinstance(c, type) and hasattr(c, "update_step")}
    plain = sorted(set(made) - {"Optimizer", "LossScaleOptimizer", "MultiOptimizer"})
    assert len(plain) > 10
    with_arrays = {n: after(keras, n, {}, "float32") for n in plain}
    monkeypatch.setattr(steps, "_is_formula", lambda cls: False)
    for n in plain:
        for x, y in zip(with_arrays[n], after(keras, n, {}, "float32"), strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-5, err_msg=n)


def test_what_was_read_of_a_variable_stays_as_it_was(keras):
    v = keras.Variable(np.ones(3, "float32"))
    s = keras.Variable(2.0)
    optimizer = keras.optimizers.Adam(0.5)
    optimizer.build([v, s])
    momentum = optimizer.variables[2]
    seen = [*map(keras.ops.convert_to_tensor, (v, momentum, s)), v._value.array]
    before = [np.array(x) for x in seen]
    optimizer.apply_gradients([(tg.asarray(np.ones(3, "float32")), v), (tg.asarray(np.float32(1)), s)])
    assert [np.asarray(x).tolist() for x in seen] == [x.tolist() for x in before]
    assert v.numpy().tolist() == pytest.approx([0.5] * 3, abs=1e-4)
    assert float(s) == pytest.approx(1.5, abs=1e-4)


def test_a_gradient_that_is_the_variable_itself_is_not_written_to(keras):
    v = keras.Variable(np.array([1.0, 2.0], "float32"))
    keras.optimizers.SGD(0.5, momentum=0.5).apply_gradients([(v.value, v)])
    assert v.numpy().tolist() == [0.5, 1.0]


def test_a_step_of_a_script_s_own_is_called(keras):
    calls = []

    class Mine(keras.optimizers.SGD):
        def update_step(self, gradient, variable, learning_rate):
            calls.append(type(gradient))
            super().update_step(gradient, variable, learning_rate)

    class Counting(keras.optimizers.SGD):
        def assign_sub(self, variable, value):
            calls.append(variable)
            super().assign_sub(variable, value)

    for made in (Mine, Counting):
        v = keras.Variable([1.0, 2.0])
        made(0.5).apply_gradients([(tg.asarray(np.ones(2, "float32")), v)])
        assert v.numpy().tolist() == [0.5, 1.5]
    assert len(calls) == 2
    assert calls[1] is not None


def test_a_schedule_gives_the_rate(keras):
    v = keras.Variable([1.0])
    optimizer = keras.optimizers.SGD(keras.optimizers.schedules.PiecewiseConstantDecay([0], [1.0, 0.25]))
    for _ in range(2):
        optimizer.apply_gradients([(tg.asarray(np.ones(1, "float32")), v)])
    assert v.numpy().tolist() == [-0.25]


# -- gradients of some rows -------------------------------------------------------------------------------------
ROWS = np.array([1, 3, 1, 1, 0])
VALUES = np.random.default_rng(5).standard_normal((5, 2)).astype("float32")


def whole(values):
    found = np.zeros((5, 2), "float32")
    np.add.at(found, ROWS, values)
    return found


def after_rows(keras, optimizer, gradient):
    v = keras.Variable(np.ones((5, 2), "float32"))
    for _ in range(2):
        optimizer.apply_gradients([(gradient, v)])
    return v.numpy()


@pytest.fixture
def slices(monkeypatch):
    """The look of a facade whose gradients of picked rows are these rows, as TensorFlow's are."""
    from tapegrad.keras import look

    monkeypatch.setattr(look, "has_slices", lambda: True)


@pytest.mark.parametrize(("name", "words"), [("SGD", {}), ("SGD", {"momentum": 0.9}), ("Lion", {})])
def test_rows_are_summed_where_a_formula_is_linear_in_them(keras, slices, name, words):
    by_rows = after_rows(keras, getattr(keras.optimizers, name)(0.1, **words), tg.SparseRows(ROWS, VALUES, (5, 2)))
    dense = after_rows(keras, getattr(keras.optimizers, name)(0.1, **words), tg.asarray(whole(VALUES)))
    np.testing.assert_allclose(by_rows, dense, rtol=1e-6)


def test_adam_squares_each_of_the_rows_that_are_the_same(keras, slices):
    found = after_rows(keras, keras.optimizers.Adam(0.1, epsilon=0.01), tg.SparseRows(ROWS, VALUES, (5, 2)))
    x, m, v = np.ones((5, 2)), 0, 0
    for step in (1, 2):
        m = m + (whole(VALUES) - m) * 0.1
        v = v + (whole(VALUES**2) - v) * 0.001
        x = x - 0.1 * np.sqrt(1 - 0.999**step) / (1 - 0.9**step) * m / (np.sqrt(v) + 0.01)
    np.testing.assert_allclose(found, x, rtol=1e-5)


def test_a_bound_is_one_for_each_row(keras, slices):
    found = after_rows(keras, keras.optimizers.SGD(0.1, clipvalue=0.2), tg.SparseRows(ROWS, VALUES, (5, 2)))
    np.testing.assert_allclose(found, 1 - 2 * 0.1 * whole(np.clip(VALUES, -0.2, 0.2)), rtol=1e-5)
    found = after_rows(keras, keras.optimizers.SGD(0.1, clipnorm=0.2), tg.SparseRows(ROWS, VALUES, (5, 2)))
    np.testing.assert_allclose(found, 1 - 2 * 0.1 * whole(VALUES * 0.2 / np.linalg.norm(VALUES)), rtol=1e-5)


@pytest.mark.parametrize("words", [{"loss_scale_factor": 2.0}, {"gradient_accumulation_steps": 2}])
def test_rows_are_added_up_where_gradients_are_computed_with(keras, slices, words):
    by_rows = after_rows(keras, keras.optimizers.Adam(0.1, **words), tg.SparseRows(ROWS, VALUES, (5, 2)))
    dense = after_rows(keras, keras.optimizers.Adam(0.1, **words), tg.asarray(whole(VALUES)))
    np.testing.assert_allclose(by_rows, dense, rtol=1e-6)
