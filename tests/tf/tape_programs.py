"""Programs around tapes that run with TensorFlow and with the facade: each yields what it finds, or functions to be called."""

from __future__ import annotations

import collections
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

PROGRAMS: list[Callable[[Any], Iterator[Any]]] = []


def program(f: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    PROGRAMS.append(f)
    return f


@program
def nothing_is_watched_by_itself(tf: Any) -> Iterator[Any]:
    v = tf.Variable(2.0)
    w = tf.Variable(3.0)
    with tf.GradientTape(watch_accessed_variables=False) as t:
        t.watch(v)
        y = v * w
    yield t.watched_variables()
    yield t.gradient(y, [v, w])


@program
def a_tape_is_spent(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = x * x
    yield t.gradient(y, x)
    yield lambda: t.gradient(y, x)
    yield lambda: t.jacobian(y, x)
    yield lambda: t.batch_jacobian(y, x)
    yield t.watched_variables


@program
def a_gradient_inside_the_block(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = x * x
        g = t.gradient(y, x)
        z = g * x
    yield g
    yield lambda: t.gradient(z, x)


@program
def gradients_of_gradients_inside_the_block(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        y = x**3
        g = t.gradient(y, x)
        gg = t.gradient(g, x)
    yield g
    yield gg
    yield t.gradient(gg, x)
    yield t.gradient(g, x)


@program
def a_tape_entered_twice(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    t = tf.GradientTape()
    with t:
        t.watch(x)
        y = x * x
        yield t.__enter__
    with t:
        z = y * x
    yield t.gradient(z, x)


@program
def a_persistent_tape_goes_on(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    t = tf.GradientTape(persistent=True)
    with t:
        t.watch(x)
        y = x * x
    y2 = y * x
    with t:
        z = y * x
        z2 = y2 * x
    yield t.gradient(z, x)
    yield t.gradient(z2, x)
    yield t.gradient(y, x)


@program
def a_spent_tape_entered_again(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    t = tf.GradientTape()
    with t:
        t.watch(x)
        y = x * x
    t.gradient(y, x)
    with t:
        t.watch(x)
        z = x * x * x
    yield lambda: t.gradient(z, x)


@program
def reset_forgets(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    v = tf.Variable(3.0)
    with tf.GradientTape() as t:
        t.watch(x)
        x * v
        t.reset()
        yield t.watched_variables()
        z = x * v
    yield t.watched_variables()
    yield t.gradient(z, [x, v])
    yield t.reset


@program
def recording_is_stopped_where_there_is_none(tf: Any) -> Iterator[Any]:
    x = tf.Variable(3.0)
    for persistent in (False, True):
        t = tf.GradientTape(persistent=persistent)
        yield t.stop_recording().__enter__
        with t:
            y = x * x
        yield t.stop_recording().__enter__
        yield t.gradient(y, x)
        yield t.stop_recording().__enter__


@program
def an_outer_tape_goes_on_recording(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    with tf.GradientTape() as o:
        o.watch(x)
        with tf.GradientTape() as t:
            t.watch(x)
            y = x * x
            with t.stop_recording():
                z = y * x
        g = t.gradient(y, x)
    yield o.gradient([z, g], x)


@program
def recording_goes_on_after_an_error(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    with tf.GradientTape() as t:
        t.watch(x)
        try:
            with t.stop_recording():
                raise KeyError("a")
        except KeyError:
            pass
        y = x * x
    yield t.gradient(y, x)


@program
def targets_without_derivative(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        y = tf.cast(x, tf.int32)
        b = x > 1
        z = x * x
    yield t.gradient(y, x)
    yield t.gradient(b, x)
    yield t.gradient([y, z], x)
    yield t.gradient(tf.constant("s"), x)
    yield t.gradient(y, x, unconnected_gradients="zero")
    yield t.gradient(y, [x], unconnected_gradients=tf.UnconnectedGradients.ZERO)


@program
def sources_without_derivative(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    n = tf.constant(3)
    s = tf.constant("q")
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        z = x * tf.cast(n, tf.float32)
    yield t.gradient(z, [x, n])
    yield t.gradient(z, [x, s])
    yield lambda: t.gradient(z, n, unconnected_gradients="zero")


@program
def sources_in_a_structure(tf: Any) -> Iterator[Any]:
    P = collections.namedtuple("P", "a b")
    p = P(tf.constant(2.0), [tf.constant(3.0), {"k": tf.constant(4.0)}])
    with tf.GradientTape() as t:
        t.watch(p)
        y = p.a * p.b[0] * p.b[1]["k"]
    g = t.gradient(y, p)
    yield type(g).__name__
    yield g.a
    yield g.b


@program
def a_target_that_is_its_source(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    y = tf.constant(3.0)
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
    yield t.gradient(x, x)
    yield t.gradient(y, y)
    yield t.gradient(y, x)
    yield t.gradient([x, x], x)
    v = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as t:
        v * 2.0
    yield t.gradient(v, v)
    with tf.GradientTape(persistent=True) as t:
        pass
    yield t.gradient(v, v)


@program
def sources_on_the_way(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        y = x * x
        z = y * y
    yield t.gradient(z, [y, x, z])
    yield t.gradient([y, z], y)


@program
def wrong_output_gradients(tf: Any) -> Iterator[Any]:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        y = x * x
        z = tf.reduce_sum(x)
    yield lambda: t.gradient(y, x, output_gradients=tf.constant([1.0, 10.0, 3.0]))
    yield lambda: t.gradient(y, x, output_gradients=tf.constant([1.0, 10.0], tf.float64))
    yield lambda: t.gradient(y, x, output_gradients=tf.constant([1, 10]))
    yield lambda: t.gradient(z, x, output_gradients=tf.constant([1.0, 2.0]))


@program
def unconnected_sources(tf: Any) -> Iterator[Any]:
    x = tf.constant([1.0, 2.0])
    w = tf.Variable([[1.0, 2.0]])
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        y = tf.reduce_sum(x)
    yield t.gradient(y, [x, w])
    yield t.gradient(y, [x, w], unconnected_gradients="zero")
    yield t.gradient(y, [x, w], unconnected_gradients=tf.UnconnectedGradients.ZERO)
    yield t.jacobian(y, [x, w])
    yield t.jacobian(y, [x, w], unconnected_gradients="zero")


@program
def batch_jacobians(tf: Any) -> Iterator[Any]:
    x = tf.reshape(tf.range(6.0), (2, 3))
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        y = x * x * tf.reduce_sum(x, 1, keepdims=True)
    yield t.batch_jacobian(y, x)
    yield t.batch_jacobian(y, x, experimental_use_pfor=False)
    z = tf.constant([1.0, 2.0, 3.0])
    yield lambda: t.batch_jacobian(y, z)
    yield lambda: t.batch_jacobian(y, tf.constant(1.0))
    yield lambda: t.batch_jacobian(y, tf.zeros((2, 3)))
    yield lambda: t.batch_jacobian(y, tf.zeros((2, 3)), unconnected_gradients="zero")
    yield lambda: t.jacobian(y, tf.zeros((2, 3)))


@program
def a_jacobian_of_a_jacobian(tf: Any) -> Iterator[Any]:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as o:
        o.watch(x)
        with tf.GradientTape() as t:
            t.watch(x)
            y = x**3
        j = t.jacobian(y, x)
    yield j
    yield o.jacobian(j, x)


@program
def hessians(tf: Any) -> Iterator[Any]:
    x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    with tf.GradientTape(persistent=True) as o:
        o.watch(x)
        with tf.GradientTape() as t:
            t.watch(x)
            y = tf.reduce_sum(tf.exp(x / 4) * tf.transpose(x))
        g = t.gradient(y, x)
    yield o.jacobian(g, x)
    yield o.batch_jacobian(g, x)


@program
def tapes_that_overlap(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    a = tf.GradientTape(persistent=True)
    b = tf.GradientTape(persistent=True)
    a.__enter__()
    a.watch(x)
    y = x * x
    b.__enter__()
    b.watch(x)
    z = x * y
    a.__exit__(None, None, None)
    w = z * x
    b.__exit__(None, None, None)
    yield a.gradient(y, x)
    yield a.gradient(z, x)
    yield a.gradient(w, x)
    yield b.gradient(y, x)
    yield b.gradient(z, x)
    yield b.gradient(w, x)
    yield b.gradient(w, y)


@program
def a_tape_sees_its_thread_alone(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    out = []

    def work():
        with tf.GradientTape() as t:
            t.watch(x)
            y = x * x
        out.append(t.gradient(y, x))
        out.append(x * 3)

    with tf.GradientTape() as t:
        t.watch(x)
        th = threading.Thread(target=work)
        th.start()
        th.join()
        y = out[1] + x
    yield out[0]
    yield t.gradient(y, x)


@program
def a_variable_assigned_inside(tf: Any) -> Iterator[Any]:
    v = tf.Variable(2.0)
    with tf.GradientTape(persistent=True) as t:
        y = v * v
        v.assign(5.0)
        z = v * v
        v.assign_add(1.0)
        w = v * 3.0
    yield t.gradient(y, v)
    yield t.gradient(z, v)
    yield t.gradient(w, v)
    yield t.gradient(y + z if False else z, v)


@program
def values_that_were_read(tf: Any) -> Iterator[Any]:
    v = tf.Variable(2.0)
    r = v.read_value()
    with tf.GradientTape(persistent=True) as t:
        a = v.read_value()
        b = v.value()
        y = a * b * r
        t.watch(r)
        z = r * r
    yield t.gradient(y, v)
    yield t.gradient(z, r)
    yield t.gradient(y, a)


@program
def through_numpy_there_is_no_derivative(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        y = tf.constant((x * x).numpy()) * x
        z = float(x * x) * x
        w = np.square(x) * x
    yield t.gradient(y, x)
    yield t.gradient(z, x)
    yield t.gradient(w, x)


@program
def complex_numbers(tf: Any) -> Iterator[Any]:
    z = tf.constant(1 + 2j)
    with tf.GradientTape(persistent=True) as t:
        t.watch(z)
        y = z * z
        a = tf.abs(z)
        r = tf.math.real(z)
        c = tf.math.conj(z) * z
    for v in (y, a, r, c):
        yield t.gradient(v, z)


@program
def floats_of_other_widths(tf: Any) -> Iterator[Any]:
    for d in (tf.float16, tf.bfloat16, tf.float64):
        x = tf.constant(2.0, d)
        with tf.GradientTape() as t:
            t.watch(x)
            y = x * x
        yield t.gradient(y, x)


@program
def the_gradient_of_a_ragged_tensor_has_its_rows(tf: Any) -> Iterator[Any]:
    r = tf.ragged.constant([[1.0, 2.0], [], [3.0]])
    with tf.GradientTape(persistent=True) as t:
        t.watch(r)
        y = tf.reduce_sum(r * r)
        z = tf.reduce_sum(tf.reduce_sum(r, axis=1) ** 2)
    yield t.gradient(y, r).to_list()
    yield t.gradient(z, {"rows": r})["rows"].to_list()


@program
def none_is_no_source_and_no_target(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        y = x * x
    yield lambda: t.gradient(y, [x, None])
    yield lambda: t.gradient([y, None], x)
    yield lambda: t.gradient(None, x)
    yield lambda: t.watch(None)
    yield t.gradient(y, [x])
