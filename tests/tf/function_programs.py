"""Programs around `tf.function` that run with TensorFlow and with the facade: what Python decides by values, and variables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

PROGRAMS: list[Callable[[Any], Iterator[Any]]] = []


def program(f: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    PROGRAMS.append(f)
    return f


def _slope(tf: Any, f: Any, x: Any) -> Any:
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.gradient(y, x)


@program
def branches_on_values(tf: Any) -> Iterator[Any]:
    @tf.function
    def bent(x: Any) -> Any:
        if x > 1.5:  # noqa: SIM108  AutoGraph's statement
            y = x * x
        else:
            y = 3.0 * x
        return y

    @tf.function
    def leaves_early(x: Any) -> Any:
        if tf.reduce_sum(x) > 0.0:
            return x
        return -x

    @tf.function
    def chooses(x: Any) -> Any:
        return x * 2.0 if x > 0.0 else x, (x > 0.0) and (x < 5.0), not (x > 2.0)

    for value in (2.5, -0.5):
        yield _slope(tf, bent, tf.constant(value))
        yield leaves_early(tf.constant([value, 0.25]))
        yield chooses(tf.constant(value))


@program
def loops_on_values(tf: Any) -> Iterator[Any]:
    @tf.function
    def halved(x: Any) -> Any:
        count = 0
        while x > 1.0:
            x = x / 2.0
            count += 1
        return x, count

    @tf.function
    def with_break(n: Any) -> Any:
        total = 0
        for i in tf.range(n):
            if i == 5:
                break
            if i == 2:
                continue
            total += i
        return total

    @tf.function
    def collected(n: Any) -> Any:
        squares = tf.TensorArray(tf.float32, size=0, dynamic_size=True)
        for i in tf.range(n):
            squares = squares.write(i, tf.cast(i, tf.float32) ** 2)
        return squares.stack()

    yield halved(tf.constant(11.0))
    yield _slope(tf, lambda x: halved(x)[0], tf.constant(11.0))
    yield with_break(tf.constant(9))
    yield collected(tf.constant(4))


@program
def loops_of_tensorflow(tf: Any) -> Iterator[Any]:
    v = tf.Variable(1.5)

    @tf.function
    def powered(x: Any, n: Any) -> Any:
        return tf.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * x), [0, tf.ones_like(x)])[1]

    @tf.function
    def assigning(x: Any) -> Any:
        return tf.cond(x > 0.0, lambda: v.assign_add(x) + 0.0, lambda: v - x)

    @tf.function
    def numbered(i: Any, x: Any) -> Any:
        return tf.switch_case(i, [lambda: x, lambda: x * x, lambda: -x])

    yield _slope(tf, lambda x: powered(x, tf.constant(3)), tf.constant([1.5, -2.5]))
    yield assigning(tf.constant(2.0)), v.numpy()
    yield assigning(tf.constant(-2.0)), v.numpy()
    yield [numbered(tf.constant(i), tf.constant(1.5)) for i in range(3)]
    yield tf.function(lambda x: tf.case([(x > 2.0, lambda: x), (x > 1.0, lambda: 2.0 * x)], default=lambda: -x))(tf.constant(1.5))


@program
def shapes_that_values_decide(tf: Any) -> Iterator[Any]:
    x, n = tf.constant([1.5, -2.5, 0.25]), tf.constant(3)
    yield _slope(tf, tf.function(lambda x: tf.reduce_sum(tf.boolean_mask(x, x > 0.0) ** 2)), x)
    yield tf.function(lambda x: tf.where(x > 0.0))(x)
    yield tf.function(lambda i: tf.unique(i)[0])(tf.constant([3, 1, 3]))
    yield tf.function(lambda n: (tf.range(n), tf.fill([n], 0.5), tf.zeros([n, 2]), tf.one_hot(1, n), tf.reshape(x, [n, 1])))(n)
    yield tf.function(lambda i: tf.math.segment_sum(x, i))(tf.constant([0, 0, 1]))
    yield tf.function(lambda i: tf.repeat(x, i))(tf.constant([1, 0, 2]))
    yield tf.function(lambda n: tf.roll(x, n - 2, 0))(n)
    yield tf.function(lambda t: tf.strings.join([t, "b"]))(tf.constant("a"))


@program
def python_inside(tf: Any) -> Iterator[Any]:
    x = tf.constant([1.5, -2.5])
    yield tf.function(lambda x: tf.numpy_function(np.sort, [x], tf.float32))(x)
    yield tf.function(lambda x: tf.py_function(lambda a: float(a.numpy()[0]) * a, [x], tf.float32))(x)
    outer = tf.function(lambda x: tf.function(lambda y: y if y[0] > 0.0 else -y)(x) * 2.0)
    yield outer(x), outer(-x)
    yield tf.function(lambda x: tf.gradients(x * x, x))(x)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * 1.0
    yield tape.gradient(y, x)
    yield tf.function(lambda x: tf.gradients(x * x, x))(x)  # after a tape that is spent has watched it


@program
def variables_that_a_function_makes(tf: Any) -> Iterator[Any]:
    class Layer:
        def __init__(self) -> None:
            self.w: Any = None

        @tf.function
        def __call__(self, x: Any) -> Any:
            if self.w is None:
                self.w = tf.Variable(2.5)
            return self.w * x

    layer = Layer()
    yield layer(tf.constant(1.5)), layer(tf.constant(2.5))
    v = tf.Variable(1.0)

    @tf.function
    def twice() -> Any:
        v.assign_add(1.0)
        return v.assign(v * 2.0) + v

    yield twice(), twice(), v


@program
def variables_that_were_written_are_watched(tf: Any) -> Iterator[Any]:
    def names(f: Callable[[Any], Any]) -> list[str]:
        v = tf.Variable([1.5, 2.5], name="v")
        with tf.GradientTape() as tape:
            f(v)
        return [w.name for w in tape.watched_variables()]

    yield names(lambda v: v.assign([0.5, 1.0]))
    yield names(lambda v: v.assign([0.5, 1.0], read_value=False))
    yield names(lambda v: v.assign_sub([0.5, 1.0]))
    yield names(lambda v: v.scatter_add(tf.IndexedSlices([0.5], [0])))
    yield names(lambda v: v[0].assign(0.5))
    yield names(lambda v: v.shape)


@program
def signatures_that_are_none(tf: Any) -> Iterator[Any]:
    yield lambda: tf.function(lambda x: x, input_signature=tf.TensorSpec([]))(1.0)
    f = tf.function(lambda x, y=2.0: x * y).get_concrete_function(tf.TensorSpec([None], tf.float32))
    yield lambda: f([1.0, 2.0])
    yield f(tf.constant([1.0, 2.0]))


@program
def tapes_as_strict_as_theirs(tf: Any) -> Iterator[Any]:
    x, m = tf.constant([1.5, 2.5]), tf.constant([[1.5, 2.5]])

    def stopped_twice() -> None:
        with tf.GradientTape() as tape, tape.stop_recording(), tape.stop_recording():
            pass

    def asked(output_gradients: Any) -> Any:
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x, output_gradients=output_gradients)

    yield stopped_twice
    yield lambda: asked(np.array([1.0, 2.0]))
    yield lambda: asked(np.array([1.0, 2.0], np.float32))
    with tf.GradientTape() as tape:
        tape.watch(m)
        y = m * m
    yield lambda: tape.batch_jacobian(y, m, experimental_use_pfor=False)
    slices = tf.IndexedSlices(tf.constant([[1.5], [2.5]]), tf.constant([0, 0]), tf.constant([3, 1]))
    yield str(slices)
    yield tf.cast(slices, tf.float64), tf.identity(slices)
    yield tf.nest.flatten(slices, expand_composites=True)


@program
def what_stays_on_the_host(tf: Any) -> Iterator[Any]:
    @tf.function
    def next_of(iterator: Any) -> Any:
        return next(iterator) * 2

    yield next_of(iter(tf.data.Dataset.from_tensor_slices([3, 5])))
    texts = tf.ragged.constant([["a", "b"], [], ["c", "d", "e"]])
    yield texts[1:], texts[:, :1], tf.concat([texts, texts], axis=1), tf.gather(texts, [2, 0]), tf.reverse(texts, [1])
    lengths = tf.data.Dataset.range(4).map(tf.range)
    yield list(lengths.apply(tf.data.experimental.dense_to_ragged_batch(2)))
