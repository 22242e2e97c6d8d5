"""`tapegrad.function`: steps compiled through TensorFlow, plain and by XLA."""

import logging
import threading

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, BoundsError, RandomnessError, ShapeError

pytestmark = pytest.mark.interop("tensorflow")


@pytest.fixture(params=["numpy", "tensorflow"])
def backend(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["plain", "xla"])
def jit(request):
    return request.param


def variable(values, backend):
    return tg.Variable(tg.asarray(np.asarray(values, np.float32), backend=backend))


def array(*values):
    return np.asarray(values, np.float32)


def test_a_training_step_is_what_it_is_without_compiling(backend, jit):
    def made():
        w, b = variable([[1.0, 2.0], [3.0, -1.0]], backend), variable([0.5, 0.0], backend)
        steps = tg.Variable(tg.asarray(0, backend=backend), trainable=False)

        def step(x, y):
            with tg.GradientTape() as tape:
                loss = tg.mean((tg.tanh(tg.nn.linear(x, w, b)) - y) ** 2)
            for v, g in zip((w, b), tape.gradient(loss, (w, b)), strict=True):
                v.assign_sub(0.1 * g)
            steps.assign_add(1)
            return loss

        return step, w, b, steps

    x, y = array([1, 2], [3, 4], [0, 1]), array([0, 1], [1, 0], [0.5, 0.5])
    eager, *expected = made()
    step, *found = made()
    compiled = tg.function(step, jit_compile=jit)
    for _ in range(5):
        np.testing.assert_allclose(compiled(x, y).numpy(), eager(tg.asarray(x), tg.asarray(y)).numpy(), rtol=1e-5)
    for v, e in zip(found, expected, strict=True):
        np.testing.assert_allclose(v.numpy(), e.numpy(), rtol=1e-5)
        assert v.dtype == e.dtype
    assert compiled.trace_count == 1


def test_variables_may_be_assigned_between_calls(backend):
    w = variable([1.0, 2.0], backend)

    @tg.function
    def double():
        w.assign(w * 2.0)
        return w

    assert double() is w
    w.assign_add(array(1, 1))
    double()
    np.testing.assert_array_equal(w.numpy(), [6, 10])
    w.assign([1.0, 1.0])
    np.testing.assert_array_equal((w * 3.0).numpy(), [3, 3])
    double()
    np.testing.assert_array_equal(w.numpy(), [2, 2])
    assert type(w.raw).__module__.startswith("numpy" if backend == "numpy" else "tensorflow")
    assert double.trace_count == 1


def test_a_variable_that_is_read_after_it_is_assigned_has_the_new_value(jit):
    w = variable([1.0], "tensorflow")

    @tg.function(jit_compile=jit)
    def f():
        before = w + 0.0
        w.assign_add(array(1))
        w.assign_add(array(1))
        return before, w * 10.0

    before, after = f()
    assert (before.item(), after.item(), w.numpy().item()) == (1, 30, 3)


def test_structures_go_in_and_come_out():
    @tg.function
    def f(a, *, options):
        return {"sum": a["x"] + a["y"][0], "constant": 3, "none": None, "pair": (options["k"] * a["x"], "text")}

    x = tg.asarray(array(1, 2))
    found = f({"x": x, "y": [array(3, 4)]}, options={"k": 2})
    np.testing.assert_array_equal(found["sum"].numpy(), [4, 6])
    np.testing.assert_array_equal(found["pair"][0].numpy(), [2, 4])
    assert (found["constant"], found["none"], found["pair"][1]) == (3, None, "text")


def test_python_runs_once_for_each_kind_of_arguments():
    seen = []

    @tg.function
    def f(x, k):
        seen.append(k)
        return x * k

    x = tg.asarray(array(1, 2))
    for k in (2, 2, 3, 2):
        np.testing.assert_array_equal(f(x, k).numpy(), [k, 2 * k])
    assert seen == [2, 3]


def test_one_and_true_are_different_constants():
    @tg.function
    def f(x, flag):
        return x + 1 if flag is True else x - 1

    x = tg.asarray(array(0))
    assert [f(x, True).item(), f(x, 1).item(), f(x, 1.0).item()] == [1, -1, -1]


def test_another_length_is_traced_once_more_and_then_left_open(jit):
    w = variable(np.ones((3, 2)), "tensorflow")

    @tg.function(jit_compile=jit)
    def f(x):
        with tg.GradientTape() as tape:
            y = tg.mean(tg.nn.softmax(tg.matmul(x, w) + tg.sum(x, axis=1, keepdims=True)) ** 2)
        return y, tape.gradient(y, w)

    for n in (2, 3, 4, 5, 7):
        x = np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32)
        with tg.GradientTape() as tape:
            v = tg.Variable(np.ones((3, 2), np.float32))
            y = tg.mean(tg.nn.softmax(tg.matmul(x, v) + tg.sum(x, axis=1, keepdims=True)) ** 2)
        found = f(x)
        np.testing.assert_allclose(found[0].numpy(), y.numpy(), rtol=1e-5)
        np.testing.assert_allclose(found[1].numpy(), tape.gradient(y, v).numpy(), rtol=1e-4, atol=1e-7)
    assert f.trace_count == 2


def test_under_tapes_a_call_is_differentiable_to_any_order(backend, jit):
    a = variable(3.0, backend)

    @tg.function(jit_compile=jit)
    def f(x):
        return tg.sin(x) * a**3, x

    x = tg.asarray(array(0.5, 0.7), backend=backend)

    def third(g):
        with tg.GradientTape() as t3:
            t3.watch(x)
            with tg.GradientTape() as t2:
                t2.watch(x)
                with tg.GradientTape() as t1:
                    t1.watch(x)
                    y = g(x)[0]
                one = t1.gradient(y, x)
            two = t2.gradient(one, [x, a])
        return [one, *two, *t3.gradient(two[0], [x, a])]

    for found, expected in zip(third(f), third(f.python_function), strict=True):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)


def test_the_derivative_uses_the_values_of_the_call():
    w = variable([2.0], "tensorflow")

    @tg.function
    def f(x):
        y = x * w
        w.assign_add(array(5))
        return y

    x = tg.asarray(array(3))
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
        z = f(x)
    assert [g.item() for g in tape.gradient([y, z], [x])] == [2 + 7]
    assert w.numpy().item() == 12


def test_random_numbers_are_drawn_in_each_call(jit):
    @tg.function(jit_compile=jit)
    def noisy(x):
        return x + tg.random.normal((3,)), tg.random.uniform(()), tg.random.permutation(4)

    x = array(0, 0, 0)
    tg.random.seed(5)
    found = [noisy(x) for _ in range(2)]
    tg.random.seed(5)
    for y, u, p in found:
        np.testing.assert_array_equal(y.numpy(), tg.random.normal((3,)).numpy())
        np.testing.assert_array_equal(u.numpy(), tg.random.uniform(()).numpy())
        np.testing.assert_array_equal(p.numpy(), tg.random.permutation(4).numpy())
    t = tg.asarray(x)
    with tg.GradientTape() as tape:
        tape.watch(t)
        y = noisy(t)[0]
    with pytest.raises(RandomnessError, match="take the gradient inside"):
        tape.gradient(y, t)


def test_a_function_inside_a_function_is_part_of_it():
    seen = []

    @tg.function
    def inner(x):
        seen.append("inner")
        return x * 2.0

    @tg.function
    def outer(x):
        return inner(inner(x))

    assert outer(array(1)).item() == 4
    assert outer(array(2)).item() == 8
    assert seen == ["inner", "inner"]


def test_methods_are_compiled_for_each_instance():
    class Model:
        def __init__(self, value):
            self.w = variable([value], "tensorflow")

        @tg.function
        def __call__(self, x):
            return x * self.w

    a, b = Model(2.0), Model(3.0)
    assert [a(array(1)).item(), b(array(1)).item(), a(array(5)).item()] == [2, 3, 10]


def test_copies_of_variables_on_numpy_are_announced(caplog):
    w = tg.Variable(np.ones((4, 5), np.float32), name="weights")
    f = tg.function(lambda x: tg.sum(x * w))
    with caplog.at_level(logging.INFO, "tapegrad"):
        f(array(1))
        f(array(2))
    (record,) = caplog.records
    assert "weights" in record.getMessage()
    assert "80 bytes" in record.getMessage()


def test_tracing_again_and_again_is_reported(caplog):
    f = tg.function(lambda x, k: x * k)
    with caplog.at_level(logging.WARNING, "tapegrad"):
        for k in range(10):
            f(array(1), k)
    (record,) = caplog.records
    assert "tapegrad.asarray" in record.getMessage()


def test_other_spellings_of_a_call_are_no_other_kinds_of_arguments(caplog):
    f = tg.function(lambda x, n=2, *, m=3: x * n * m)
    x = array(1)
    with caplog.at_level(logging.WARNING, "tapegrad"):
        for call in (
            lambda: f(x), lambda: f(x, 2), lambda: f(x, n=2), lambda: f(x=x, n=2), lambda: f(n=2, x=x), lambda: f(x, m=3, n=2),
            lambda: f(x=x, m=3), lambda: f(x, 2, m=3),
        ):  # fmt: skip
            np.testing.assert_array_equal(call().numpy(), [6])
        for word in "abcdefgh":
            with pytest.raises(TypeError, match="unexpected keyword argument"):
                f(x, **{word: 1})
    assert not caplog.records
    assert f.trace_count == 1


def test_a_variable_that_is_made_and_assigned_inside_and_kept_nowhere_is_refused(jit):
    def local(x):
        v = variable([1.0], "tensorflow")
        v.assign_add(x)
        return v * 2.0

    with pytest.raises(ArgumentError, match="made and assigned inside, and kept nowhere"):
        tg.function(local, jit_compile=jit)(array(2))

    def handed_on(x):
        v = variable([1.0], "tensorflow")
        v.assign_add(x)
        return v

    np.testing.assert_array_equal(tg.function(handed_on, jit_compile=jit)(array(2)).numpy(), [3])
    kept = []

    def kept_outside(x):
        if not kept:
            kept.append(variable([1.0], "tensorflow"))
        return kept[0].assign_add(x) * 2.0

    f = tg.function(kept_outside, jit_compile=jit)
    np.testing.assert_array_equal([f(array(2)).numpy(), f(array(3)).numpy()], [[6], [12]])


def test_threads_that_call_a_function_first_at_once_trace_it_once(jit):
    w = variable([0.0], "tensorflow")
    f = tg.function(lambda x: w.assign_add(1.0 * x), jit_compile=jit)
    barrier, errors = threading.Barrier(4), []

    def run():
        barrier.wait()
        try:
            for _ in range(5):
                f(array(1))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not errors
    assert f.trace_count == 1
    np.testing.assert_array_equal(w.numpy(), [20])


def test_random_numbers_are_those_of_the_same_seed_without_compiling(jit):
    f = tg.function(lambda: tg.random.normal(3) * 2.0, jit_compile=jit)
    found = []
    for draw in (f, f, lambda: tg.random.normal(3) * 2.0):
        tg.random.seed(3)
        found.append([draw().numpy() for _ in range(3)])
    np.testing.assert_array_equal(found[0], found[1])
    np.testing.assert_allclose(found[0], found[2], rtol=1e-6)
    assert not np.array_equal(found[0][0], found[0][1])


def test_an_error_while_tracing_leaves_variables_as_they_were(backend):
    w = variable([1.0, 2.0], backend)

    @tg.function
    def f(x):
        w.assign(w * 2.0)
        return tg.matmul(w, x)

    with pytest.raises(ShapeError):
        f(array(1, 2, 3))
    np.testing.assert_array_equal(w.numpy(), [1, 2])
    with tg.GradientTape() as tape:
        y = tg.sum(w * w)
    np.testing.assert_array_equal(tape.gradient(y, w).numpy(), [2, 4])


def test_threads_that_do_not_trace_see_values():
    w = variable([1.0], "tensorflow")
    other, wait, seen = threading.Event(), threading.Event(), []

    @tg.function
    def f(x):
        other.set()
        assert wait.wait(20)
        return x * w

    def look():
        assert other.wait(20)
        seen.append(float(w.numpy()[0]))
        wait.set()

    thread = threading.Thread(target=look)
    thread.start()
    f(array(1))
    thread.join()
    assert seen == [1.0]


def test_what_is_no_function_is_refused():
    with pytest.raises(ArgumentError, match="expected a function, got int"):
        tg.function(3)


def test_what_is_large_and_known_is_computed_in_the_graph_and_not_held_by_it():
    @tg.function
    def f(x):
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = tg.mean(x * tg.asarray(np.float32(2.0), backend="tensorflow"))
        return tape.gradient(y, x) + tg.zeros(x.shape, backend="tensorflow")

    x = tg.asarray(np.ones(100_000, np.float32), backend="tensorflow")
    np.testing.assert_allclose(f(x).numpy()[0], 2e-5)
    ((_, concrete),) = next(iter(f._graphs.values()))._kinds
    assert not concrete.captured_inputs  # numbers and shapes are constants of the graph


def test_what_fails_in_a_call_leaves_all_variables_as_they_were():
    w, v = variable(np.zeros(3), "tensorflow"), variable(np.zeros(3), "tensorflow")
    table = variable(np.zeros((3, 2)), "tensorflow")

    @tg.function
    def f(x, i):
        w.assign_add(tg.ones(3))
        with tg.GradientTape() as tape:
            y = tg.sum(tg.nn.embedding(table, tg.asarray([0, 1]), sparse=True))
        table.assign_add(tape.gradient(y, table))
        v.assign_add(tg.ones(3) * x[i])
        return x[i] * 2

    x = tg.asarray(array(1.0, 2.0), backend="tensorflow")
    i, outside = (tg.asarray(np.asarray(n), backend="tensorflow") for n in (1, 7))
    f(x, i)
    for _ in range(5):
        with pytest.raises(BoundsError):
            f(x, outside)
    assert (w.tolist(), v.tolist(), table.tolist()) == ([1, 1, 1], [2, 2, 2], [[1, 1], [1, 1], [0, 0]])
    f(x, i)
    assert (w.tolist(), v.tolist(), table.tolist()) == ([2, 2, 2], [4, 4, 4], [[2, 2], [2, 2], [0, 0]])
