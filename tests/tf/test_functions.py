"""tf.function: traced and compiled on TensorFlow's kernels, run at once on NumPy's."""

import numpy as np
import pytest

from tapegrad import tf
from tapegrad.registry.backends import making_on


@pytest.fixture
def on_tensorflow():
    with making_on("tensorflow"):
        yield


pytestmark = pytest.mark.interop("tensorflow")


@pytest.mark.usefixtures("on_tensorflow")
@pytest.mark.parametrize("jit", [False, True])
def test_a_training_step_is_what_it_is_without_compiling(jit):
    rng = np.random.default_rng(3)
    x, y = tf.constant(rng.normal(size=(6, 3)).astype(np.float32)), tf.constant([0, 1, 2, 3, 1, 0])
    start = rng.normal(size=(3, 4)).astype(np.float32)

    def losses(compiled):
        w, b = tf.Variable(start), tf.Variable(tf.zeros([4]))

        def step(x, y):
            with tf.GradientTape() as tape:
                logits = tf.nn.relu(x @ w + b) + tf.gather(w, [0])
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, logits))
            gradients, norm = tf.clip_by_global_norm(tape.gradient(loss, [w, b]), 0.5)
            for v, g in zip([w, b], gradients, strict=True):
                v.assign_sub(0.3 * g)
            right = tf.equal(tf.argmax(logits, 1, tf.int32), y)
            return {"loss": loss, "norm": norm, "right": tf.reduce_mean(tf.cast(right, tf.float32))}

        run = tf.function(step, jit_compile=jit) if compiled else step
        return [[float(v) for v in run(x, y).values()] for _ in range(3)], w.numpy()

    (found, w), (expected, own) = losses(True), losses(False)
    np.testing.assert_allclose(found, expected, rtol=1e-5)
    np.testing.assert_allclose(w, own, rtol=1e-5)


def test_python_runs_at_each_call_on_numpy_kernels():
    runs = []
    f = tf.function(lambda x: runs.append(1) or x)
    f(tf.ones([]))
    f(tf.ones([]))
    assert len(runs) == 2


@pytest.mark.usefixtures("on_tensorflow")
def test_python_runs_once_for_each_number_and_kind_of_tensor():
    runs = []

    @tf.function
    def f(x, n=1):
        runs.append(n)
        return x * n

    assert [f(tf.constant(2.0), n).numpy() for n in (1, 2, 1)] == [2.0, 4.0, 2.0]
    assert f(tf.constant(3)).dtype == tf.int32
    assert runs == [1, 2, 1]
    assert f.experimental_get_tracing_count() == 3


@pytest.mark.usefixtures("on_tensorflow")
def test_a_variable_is_made_in_the_first_call_and_kept():
    class Model(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = None

        @tf.function
        def __call__(self, x):
            if self.w is None:
                self.w = tf.Variable(tf.ones([2]) * 3.0)
                self.b = tf.Variable(lambda: tf.random.normal([2]))
            return x * self.w

    model = Model()
    assert model(tf.constant([1.0, 2.0])).numpy().tolist() == [3.0, 6.0]
    model.w.assign([1.0, 1.0])
    assert model(tf.constant([1.0, 2.0])).numpy().tolist() == [1.0, 2.0]
    assert len(model.trainable_variables) == 2


@pytest.mark.usefixtures("on_tensorflow")
def test_a_variable_cannot_begin_with_what_depends_on_the_arguments():
    f = tf.function(lambda x: tf.Variable(x * 2.0) + 0.0)
    with pytest.raises(ValueError, match="depends on the function's arguments"):
        f(tf.constant(1.0))


@pytest.mark.usefixtures("on_tensorflow")
def test_random_numbers_are_drawn_in_each_call_and_repeat_for_a_seed():
    f = tf.function(lambda: (tf.random.normal([3]), tf.nn.dropout(tf.ones([20]), 0.5)))

    def twice():
        tf.random.set_seed(5)
        return [v.numpy().tolist() for _ in range(2) for v in f()]

    first = twice()
    assert first[0] != first[2]
    assert first[1] != first[3]
    assert twice() == first


@pytest.mark.usefixtures("on_tensorflow")
def test_what_python_has_to_know_makes_a_function_run_at_once_and_is_logged(log):
    runs = []

    @tf.function
    def f(x):
        runs.append(1)
        return x if x > 0 else -x

    assert [f(tf.constant(v)).numpy() for v in (1.5, -2.5)] == [1.5, 2.5]
    assert len(runs) == 3  # once in vain
    assert [r.getMessage().partition(" runs ")[2][:36] for r in log.records] == ["at once from now on, as Python has t"]


@pytest.mark.usefixtures("on_tensorflow")
def test_without_autograph_a_tensor_is_no_python_bool():
    f = tf.function(lambda x: x if x > 0 else -x, autograph=False)
    with pytest.raises(TypeError, match=r"not allowed.*tf\.cond"):
        f(tf.constant(1.0))
    tf.config.run_functions_eagerly(True)
    try:
        assert f(tf.constant(-1.0)).numpy() == 1.0
    finally:
        tf.config.run_functions_eagerly(False)


@pytest.mark.usefixtures("on_tensorflow")
def test_what_was_written_while_traced_in_vain_is_written_once():
    v = tf.Variable(1.0)

    @tf.function
    def f(x):
        v.assign_add(x)
        return v * 1.0 if v > 2.0 else v * -1.0

    assert [f(tf.constant(1.0)).numpy(), f(tf.constant(1.0)).numpy(), v.numpy()] == [-2.0, 3.0, 3.0]


@pytest.mark.usefixtures("kernels")
def test_a_function_makes_variables_in_its_first_call_alone():
    kept = []

    @tf.function
    def f(x, n):
        if len(kept) < n:
            kept.append(tf.Variable(1.0))
        return kept[0] * x

    assert f(tf.constant(2.0), 1).numpy() == 2.0
    with pytest.raises(ValueError, match=r"singleton tf\.Variables created on the first call"):
        f(tf.constant(2.0), 2)
    assert tf.Variable(3.0).numpy() == 3.0  # outside, any may be made


def test_a_variable_that_nobody_keeps_would_be_made_in_each_call():
    f = tf.function(lambda x: tf.Variable(1.0) * x)
    with pytest.raises(ValueError, match="created once or created outside"):
        f(tf.constant(2.0))


@pytest.mark.usefixtures("on_tensorflow")
def test_cond_takes_one_of_two_results_and_its_derivative():
    f = tf.function(lambda x: tf.cond(x > 0, lambda: tf.math.log(x), lambda: x * 3.0))
    for value, y, g in ((2.0, np.log(2), 0.5), (-1.0, -3.0, 3.0)):
        x = tf.constant(value)
        with tf.GradientTape() as tape:
            tape.watch(x)
            found = f(x)
        np.testing.assert_allclose([found.numpy(), tape.gradient(found, x).numpy()], [y, g], rtol=1e-6)


@pytest.mark.usefixtures("on_tensorflow")
def test_prints_and_asserts_see_the_values_of_each_call(capfd):
    @tf.function
    def f(x):
        tf.print("x:", x)
        tf.debugging.assert_greater(x, 0.0)
        return x

    f(tf.constant(1.0))
    f(tf.constant(2.5))
    assert capfd.readouterr().err == "x: 1\nx: 2.5\n"
    with pytest.raises(tf.errors.InvalidArgumentError, match="Condition x > y did not hold"):
        f(tf.constant(-1.0))


@pytest.mark.usefixtures("on_tensorflow")
def test_indices_may_be_computed():
    f = tf.function(lambda x, i: (x[i], x[i + 1 :], x[-1], tf.one_hot(i, 3)))
    x = tf.constant([1.0, 2.0, 3.0])
    assert [y.numpy().tolist() for y in f(x, tf.constant(1))] == [2.0, [3.0], 3.0, [0.0, 1.0, 0.0]]
    assert f(x, tf.constant(-3))[0].numpy() == 1.0


@pytest.mark.usefixtures("on_tensorflow")
def test_slices_come_out_as_slices():
    table = tf.Variable([[1.0], [2.0], [3.0]])

    @tf.function
    def f(ids):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(table, ids))
        return tape.gradient(loss, table)

    found = f(tf.constant([2, 0]))
    assert isinstance(found, tf.IndexedSlices)
    assert found.indices.numpy().tolist() == [2, 0]


@pytest.mark.usefixtures("on_tensorflow")
def test_inside_is_known_inside():
    seen = []

    @tf.function
    def f(x):
        seen.append((tf.executing_eagerly(), tf.inside_function() if hasattr(tf, "inside_function") else True))
        with tf.init_scope():
            seen.append(tf.executing_eagerly())
        return x

    f(tf.constant(1.0))
    assert seen == [(False, True), True]
    assert tf.executing_eagerly()


@pytest.mark.parametrize("place", ["", "nest", "dtypes", "errors", "lookup", "data.experimental", "compat", "compat.v1", "io"])
def test_a_name_that_is_not_here_says_whose_name_it_is(place):
    space = tf
    for part in place.split(".") if place else ():
        space = getattr(space, part)
    with pytest.raises(AttributeError, match=rf"TensorFlow-style facade has no tf\.{place + '.' if place else ''}quite_unknown"):
        space.quite_unknown


def test_a_session_is_made_for_its_settings_alone():
    session = tf.compat.v1.InteractiveSession(config=tf.compat.v1.ConfigProto())
    with pytest.raises(NotImplementedError, match="run the ops as they stand"):
        session.run(tf.ones(2))
    with pytest.raises(NotImplementedError, match="run the ops as they stand"):
        tf.compat.v1.Session()


def test_a_function_of_what_was_saved_says_how_it_is_had(tmp_path):
    class Scale(tf.Module):
        def __init__(self):
            super().__init__()
            self.by = tf.Variable(2.5)

        @tf.function
        def scaled(self, x):
            return x * self.by

    tf.saved_model.save(Scale(), str(tmp_path), options=tf.saved_model.SaveOptions())
    loaded = tf.saved_model.load(str(tmp_path))
    assert float(loaded.variables[0]) == 2.5
    with pytest.raises(AttributeError, match=r"no 'scaled'; build the object again and call loaded\.restore_into"):
        loaded.scaled(tf.constant(1.0))


@pytest.mark.usefixtures("kernels")
def test_gradients_of_a_graph_are_there_inside_of_a_function():
    v = tf.Variable(2.0)

    @tf.function
    def inner(x):
        return tf.gradients(x**2, x)[0]

    @tf.function
    def outer(x):
        y = x**3 * v
        first = tf.gradients(y, x)
        second = tf.gradients(first, [x, v])
        return [*first, *second, *tf.gradients([y, x], x, grad_ys=[tf.constant(2.0), None]), *tf.hessians(y, x), inner(x * 1.0)]

    for _ in range(2):
        assert [float(g) for g in outer(tf.constant(3.0))] == [54.0, 36.0, 27.0, 109.0, 36.0, 6.0]
    x = tf.Variable(3.0)
    with tf.GradientTape() as tape:
        y = outer(x)[0]
    assert tape.gradient(y, [x, v])[0] == 36.0
    with pytest.raises(RuntimeError, match=r"tf\.gradients is not supported when eager execution"):
        tf.gradients(v * v, v)
    with pytest.raises(NotImplementedError, match=r"made inside of the tf\.function of constants"):
        tf.function(lambda: tf.gradients(tf.constant(1.0), tf.constant(2.0)))()


def test_arrays_that_a_function_is_given_are_tensors_in_it():
    kinds = []

    @tf.function
    def f(x, y, words, plain):
        kinds.extend([type(x), type(y[0]), type(words["a"]), type(plain)])
        return x.shape[0]

    f(np.ones(2), (np.float32(1.5),), {"a": np.ones(1)}, 2.5)
    assert kinds == [tf.Tensor, tf.Tensor, tf.Tensor, float]


def test_variables_are_assigned_by_the_functions_of_old():
    v = tf.Variable([1.0, 2.0])
    assert tf.compat.v1.assign(v, [3.0, 4.0]).numpy().tolist() == [3.0, 4.0]
    tf.compat.v1.assign_add(v, [1.0, 1.0])
    tf.compat.v1.assign_sub(v, [0.5, 0.0])
    assert v.numpy().tolist() == [3.5, 5.0]
    with pytest.raises(AttributeError, match=r"variable\.assign\(value\) is a method"):
        tf.assign(v, [0.0, 0.0])


@pytest.mark.usefixtures("on_tensorflow")
def test_a_tensor_that_has_leaked_from_a_function_has_no_values():
    leaked = []
    f = tf.function(lambda x: leaked.append(x + 1.0) or x)
    f(tf.constant(1.5))
    with pytest.raises(AttributeError, match=r"no attribute 'numpy'.*return it"):
        leaked[0].numpy()


def test_a_signature_has_one_concrete_function():
    doubled = tf.function(lambda x: 2 * x)
    of_number = doubled.get_concrete_function(tf.constant(2.0))
    assert doubled.get_concrete_function(tf.constant(3.0)) is of_number
    assert doubled.get_concrete_function(tf.TensorSpec([], tf.float32)) is of_number
    others = [tf.constant(2), tf.constant([2.0]), tf.TensorSpec(None), tf.TensorSpec([], name="x")]
    assert all(doubled.get_concrete_function(x) is not of_number for x in others)


def test_a_concrete_function_tells_what_it_gives_once_it_was_called():
    v = tf.Variable(2.0)
    concrete = tf.function(lambda x: {"y": x * v, "n": 3}).get_concrete_function(tf.TensorSpec([None, 2]))
    with pytest.raises(RuntimeError, match="known after its first call"):
        concrete.outputs
    with pytest.raises(AttributeError, match="there are no graphs here; a concrete function has structured_input_signature"):
        concrete.graph
    concrete(tf.ones([3, 2]))
    assert concrete.output_dtypes["y"] == tf.float32
    assert [tuple(x.shape) for x in concrete.outputs][-1] == (3, 2)
    assert concrete.variables == concrete.trainable_variables == (v,)
