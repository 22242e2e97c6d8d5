"""Tapes, ops and variables inside a `tf.function` of the user's own."""

import time
from typing import Any

import numpy as np
import pytest

import tapegrad as tg

pytestmark = [pytest.mark.interop("tensorflow"), pytest.mark.filterwarnings("ignore")]
tf: Any = pytest.importorskip("tensorflow")


@pytest.fixture(params=[False, True], ids=["plain", "xla"])
def jit(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def rows(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=(n, 3)).astype(np.float32)


def variable(*shape: int, backend: str = "tensorflow") -> tg.Variable:
    return tg.Variable(tg.asarray(np.linspace(0.1, 0.7, int(np.prod(shape)), dtype=np.float32).reshape(shape), backend=backend))


def network(x: Any, w: Any, labels: Any) -> list[Any]:
    """Two orders of derivatives."""
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as tape:
            tape.watch(x)
            loss = tg.nn.cross_entropy(tg.matmul(tg.tanh(x), w), labels)
        first = tape.gradient(loss, [x, w])
        s = tg.sum(first[0] ** 2)
    return [loss, *first, *outer.gradient(s, [x, w])]


def test_a_tape_inside_is_traced_once_for_all_lengths(jit: bool) -> None:
    w = variable(3, 4)
    traces = []

    @tf.function(jit_compile=jit, input_signature=[tf.TensorSpec([None, 3]), tf.TensorSpec([None], tf.int64)])
    def step(x: Any, labels: Any) -> Any:
        traces.append(1)
        return network(x, w, labels)

    for n in (4, 5, 1, 2):
        labels = np.arange(n) % 4
        for a, b in zip(
            step(tf.constant(rows(n)), tf.constant(labels)), network(tg.asarray(rows(n)), w, tg.asarray(labels)), strict=True
        ):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-6)
    assert len(traces) == 1


def test_autograph_leaves_tapegrad_alone() -> None:
    w = variable(3, 4)
    f = tf.function(lambda x: network(x, w, tg.asarray([0, 1])))
    start = time.perf_counter()
    f(tf.constant(rows(2)))
    assert time.perf_counter() - start < 6  # 18 s where it rewrites all that is called


@pytest.mark.parametrize("backend", ["numpy", "tensorflow"])
def test_variables_are_read_anew_in_each_call_and_differentiated_from_outside(backend: str, jit: bool) -> None:
    w = variable(2, backend=backend)
    f = tf.function(lambda x: tf.sin(x) * (w * tg.ones(2)), jit_compile=jit)
    x = tg.asarray([0.5, 0.6])

    def derivatives(f: Any) -> list[np.ndarray]:
        with tg.GradientTape() as outer:
            outer.watch(x)
            with tg.GradientTape() as tape:
                y = tg.sum(f(x) ** 2)
            g = tape.gradient(y, w)
        return [v.numpy() for v in (y, g, *outer.gradient(g, [x, w]))]

    for values in ([0.25, 0.5], [3.0, 4.0]):
        w.assign(values)
        for a, b in zip(derivatives(f), derivatives(lambda x: tg.sin(x) * w), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5)
    assert f.experimental_get_tracing_count() == 1


def test_an_assignment_is_refused_and_leaves_the_variable_as_it_was() -> None:
    w = variable(2)
    before = w.numpy().copy()

    @tf.function
    def f(x: Any) -> Any:
        w.assign_add(x)
        return x

    with pytest.raises(Exception, match=r"assign_add\(value\): .* compile the step by tapegrad.function, or return the new value"):
        f(tf.ones(2))
    np.testing.assert_array_equal(w.numpy(), before)


def test_python_loops_and_conditions_that_python_can_decide() -> None:
    @tf.function
    def f(x: Any) -> Any:
        y = tg.asarray(x)
        for _ in range(3):
            y = tg.sin(y)
        for r in y:
            y = y + r
        return y * 2.0 if y.shape[0] == 2 else y

    x = tg.asarray([0.5, 1.0])
    y = tg.sin(tg.sin(tg.sin(x)))
    np.testing.assert_allclose(f(tf.constant(x.numpy())).numpy(), (2 * (y + tg.sum(y))).numpy(), rtol=1e-6)


def test_branches_and_loops_of_the_graph_over_tensorflows_ops_inside_a_tape() -> None:
    @tf.function
    def f(x: Any) -> Any:
        with tg.GradientTape() as tape:
            tape.watch(x)
            if tf.reduce_sum(x) > 0:  # noqa: SIM108  AutoGraph's statement
                y = tf.sin(x)
            else:
                y = tf.cos(x)
            for _ in tf.range(2):
                y = y * x
            loss = tg.sum(y)
        return tape.gradient(loss, x)

    x = np.asarray([0.5, 1.5], np.float32)
    np.testing.assert_allclose(f(tf.constant(x)).numpy(), np.cos(x) * x**2 + 2 * x * np.sin(x), rtol=1e-5)
    np.testing.assert_allclose(f(tf.constant(-x)).numpy(), -np.sin(-x) * x**2 + 2 * -x * np.cos(x), rtol=1e-5)


def test_ops_in_branches_and_loops_of_the_graph_without_a_tape_around() -> None:
    @tf.function
    def f(x: Any) -> Any:
        if tf.reduce_sum(x) > 0:  # noqa: SIM108  AutoGraph's statement
            y = tg.sin(x)
        else:
            y = tg.cos(x)
        for _ in tf.range(2):
            with tg.GradientTape() as tape:  # one inside of the loop
                tape.watch(y)
                z = tg.sum(y**3)
            y = tape.gradient(z, y)
        return y

    x = np.asarray([0.5], np.float32)
    np.testing.assert_allclose(f(tf.constant(x)).numpy(), 3 * (3 * np.sin(x) ** 2) ** 2, rtol=1e-5)


def test_a_tape_around_branches_and_loops_of_the_graph_in_which_tapegrad_computes() -> None:
    @tf.function
    def branch(x: Any) -> Any:
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = x
            if tf.reduce_sum(x) > 0:
                y = tg.sin(x)
            z = tg.sum(y)
        return tape.gradient(z, x)

    @tf.function
    def repeated(x: Any) -> Any:
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = x
            for _ in tf.range(3):
                y = tg.sin(y)
            z = tg.sum(y)
        return tape.gradient(z, x)

    x = tf.constant([0.5, 1.5])
    np.testing.assert_allclose(branch(x).numpy(), np.cos(x), rtol=1e-6)
    with tg.GradientTape() as tape:
        z = tg.asarray(x.numpy())
        tape.watch(z)
        y = tg.sin(tg.sin(tg.sin(z)))
    np.testing.assert_allclose(repeated(x).numpy(), tape.gradient(y, z).numpy(), rtol=1e-6)


def test_a_recorded_tensor_inside_of_a_branch_of_the_graph_says_what_to_write() -> None:
    @tf.function
    def f(x: Any) -> Any:
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = tg.cos(x)
            if tf.reduce_sum(x) > 0:
                y = tg.sin(y)
            z = tg.sum(y)
        return tape.gradient(z, x)

    with pytest.raises(Exception, match=r"tapegrad.where for an `if`, a range of Python's for a loop"):
        f(tf.ones(2))


def test_a_condition_on_a_tensor_says_what_to_write() -> None:
    @tf.function
    def f(x: Any) -> Any:
        return x if tg.sum(x) > 0 else -x

    with pytest.raises(Exception, match=r"write tapegrad.where\(condition, a, b\) for an `if`"):
        f(tf.ones(2))


def test_a_tape_of_tensorflow_outside_sees_through() -> None:
    w = tf.Variable([2.0])
    x = tf.constant([0.5])
    inside, compiled = tf.function(lambda x: tg.sin(x) * w), tg.function(lambda x: tg.sin(x) * tg.asarray(w))
    for f in (inside, lambda x: (tg.sin(x) * tg.asarray(w)).raw, lambda x: compiled(x).raw):
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        gx, gw = tape.gradient(y, [x, w])
        np.testing.assert_allclose(gx.numpy(), 2 * np.cos(0.5), rtol=1e-6)
        np.testing.assert_allclose(gw.numpy(), np.sin(0.5), rtol=1e-6)
