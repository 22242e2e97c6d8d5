"""Programs with written derivatives, and accumulators, that run with TensorFlow and with the facade: each yields what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

PROGRAMS: list[Callable[[Any], Iterator[Any]]] = []


def program(f: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    PROGRAMS.append(f)
    return f


@program
def custom_gradients_of_several_outputs(tf: Any) -> Iterator[Any]:
    @tf.custom_gradient
    def f(x):
        def grad(a, b):
            return a * 10 + b * 100

        return (x * 2, x * 3), grad

    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        a, b = f(x)
    yield t.gradient(a, x)
    yield t.gradient(b, x)
    yield t.gradient([a, b], x)


@program
def custom_gradients_of_a_dict(tf: Any) -> Iterator[Any]:
    @tf.custom_gradient
    def f(x):
        def grad(*gs):
            return gs[0] * 10 + gs[1] * 100

        return {"a": x * 2, "b": x * 3}, grad

    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        r = f(x)
    yield r
    yield t.gradient(r["b"], x)


@program
def custom_gradients_for_a_structure(tf: Any) -> Iterator[Any]:
    @tf.custom_gradient
    def f(p):
        def grad(g):
            return {"a": g * 1, "b": g * 2}

        return p["a"] * p["b"], grad

    p = {"a": tf.constant(2.0), "b": tf.constant(5.0)}

    def run():
        with tf.GradientTape(persistent=True) as t:
            t.watch(p)
            r = f(p)
        return t.gradient(r, p)

    yield run


@program
def custom_gradients_of_methods(tf: Any) -> Iterator[Any]:
    class M:
        def __init__(self):
            self.k = 3.0

        @tf.custom_gradient
        def f(self, x):
            def grad(g):
                return g * self.k

            return x * 2, grad

        @staticmethod
        @tf.custom_gradient
        def s(x):
            return x, lambda g: g * 7

    x = tf.constant(2.0)

    def run():
        with tf.GradientTape(persistent=True) as t:
            t.watch(x)
            y = M.s(x)
        return t.gradient(y, x)

    yield run()

    def run2():
        m = M()
        with tf.GradientTape(persistent=True) as t:
            t.watch(x)
            y = m.f(x)
        return t.gradient(y, x)

    yield run2


@program
def custom_gradients_with_variables(tf: Any) -> Iterator[Any]:
    v = tf.Variable(3.0)

    @tf.custom_gradient
    def f(x):
        def grad(g, variables=None):
            return g * 2, [g * 5 for _ in variables]

        return x * v, grad

    x = tf.constant(2.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = f(x)
    yield t.gradient(y, [x, v])

    @tf.custom_gradient
    def h(x):
        def grad(g):
            return g * 2

        return x * v, grad

    def run():
        with tf.GradientTape() as t:
            t.watch(x)
            y = h(x)
        return t.gradient(y, [x, v])

    yield run

    @tf.custom_gradient
    def k(x):
        def grad(g, variables):
            return g * 2, []

        return x * v, grad

    def run():
        with tf.GradientTape() as t:
            t.watch(x)
            y = k(x)
        return t.gradient(y, [x, v])

    yield run

    @tf.custom_gradient
    def m(x):
        def grad(g, **kw):
            return g * 2, [g * 9]

        return x * v, grad

    def run():
        with tf.GradientTape() as t:
            t.watch(x)
            y = m(x)
        return t.gradient(y, [x, v])

    yield run


@program
def a_custom_gradient_for_a_variable(tf: Any) -> Iterator[Any]:
    v = tf.Variable(3.0)

    @tf.custom_gradient
    def f(x):
        def grad(g):
            return g * 2

        return x * 1.0, grad

    def run():
        with tf.GradientTape() as t:
            y = f(v)
        return t.gradient(y, v)

    yield run


@program
def second_derivatives_of_custom_gradients(tf: Any) -> Iterator[Any]:
    @tf.custom_gradient
    def f(x):
        def grad(g):
            return g * x * x * x

        return x * x, grad

    x = tf.constant(2.0)
    with tf.GradientTape() as o:
        o.watch(x)
        with tf.GradientTape() as t:
            t.watch(x)
            y = f(x)
        g = t.gradient(y, x)
    yield g
    yield o.gradient(g, x)


@program
def custom_gradients_inside_custom_gradients(tf: Any) -> Iterator[Any]:
    @tf.custom_gradient
    def f(x):
        @tf.custom_gradient
        def df(x):
            return x * 100.0, lambda g: g * 1000.0

        return x, lambda g: g * df(x)

    x = tf.constant(2.0)
    with tf.GradientTape() as o:
        o.watch(x)
        with tf.GradientTape() as t:
            t.watch(x)
            y = f(x)
        g = t.gradient(y, x)
    yield g
    yield o.gradient(g, x)


@program
def custom_gradients_and_keywords(tf: Any) -> Iterator[Any]:
    @tf.custom_gradient
    def f(x, k=2.0, *, s="a"):
        return x * k, lambda g: g * 50

    x = tf.constant(2.0)

    def run(**kw):
        with tf.GradientTape() as t:
            t.watch(x)
            y = f(x, **kw)
        return t.gradient(y, x)

    yield run
    yield lambda: run(s="b")
    yield lambda: run(k=3.0)
    yield lambda: f(x=x)


@program
def recomputing(tf: Any) -> Iterator[Any]:
    v = tf.Variable(3.0)
    n = []

    @tf.recompute_grad
    def f(x):
        n.append(1)
        return tf.sin(x) * v

    x = tf.constant(2.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = f(x)
    yield y
    yield t.gradient(y, [x, v])
    yield len(n)

    @tf.recompute_grad
    def g(x, y):
        return x * y, x + y

    with tf.GradientTape() as t:
        t.watch(x)
        a, b = g(x, y=x) if False else g(x, x)
    yield t.gradient([a, b], x)


@program
def passing_through(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.5)
    v = tf.Variable(1.0)
    f = tf.grad_pass_through(tf.round)
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        y = f(x) * x
        z = tf.grad_pass_through(lambda x: x * v)(x)
    yield y
    yield t.gradient(y, x)
    yield t.gradient(z, [x, v])


@program
def pushforwards(tf: Any) -> Iterator[Any]:
    x = tf.constant([1.0, 2.0])
    with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 0.0])) as a:
        y = tf.reduce_sum(x**3)
        z = tf.constant(1.0)
    yield a.jvp(y)
    yield a.jvp(z)
    yield a.jvp(z, unconnected_gradients="zero")
    yield a.jvp([y, {"a": z}])
    yield a.jvp(x)


@program
def accumulators_in_accumulators(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as a:
        with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as b:
            y = x**4
        d = b.jvp(y)
    yield d
    yield a.jvp(d)
    yield a.jvp(y)
    yield b.jvp(d)


@program
def forward_over_reverse(tf: Any) -> Iterator[Any]:
    x = tf.constant([1.0, 2.0])
    with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 2.0])) as a:
        with tf.GradientTape() as t:
            t.watch(x)
            y = tf.reduce_prod(x**2)
        g = t.gradient(y, x)
    yield a.jvp(g)


@program
def reverse_over_forward(tf: Any) -> Iterator[Any]:
    x = tf.constant([1.0, 2.0])
    with tf.GradientTape() as t:
        t.watch(x)
        with tf.autodiff.ForwardAccumulator(x, tf.constant([1.0, 2.0])) as a:
            y = tf.reduce_prod(x**2)
        d = a.jvp(y)
    yield d
    yield t.gradient(d, x)


@program
def accumulators_and_assigned_variables(tf: Any) -> Iterator[Any]:
    v = tf.Variable(2.0)
    with tf.autodiff.ForwardAccumulator(v, tf.constant(1.0)) as a:
        y = v * v
        v.assign(10.0)
        z = v * v
    yield a.jvp(y)
    yield a.jvp(z)
    yield a.jvp(v)


@program
def pushforwards_of_integers(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as a:
        y = tf.cast(x, tf.int32)
    yield a.jvp(y)
    yield a.jvp(y, unconnected_gradients="zero")


@program
def what_is_stopped(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        y = tf.stop_gradient(x) * x
        z = tf.stop_gradient(x * x)
        w = tf.nest.map_structure(tf.stop_gradient, [x, x])
    yield t.gradient(y, x)
    yield t.gradient(z, x)
    yield t.gradient(w[0], x)
    with tf.autodiff.ForwardAccumulator(x, tf.constant(1.0)) as a:
        y = tf.stop_gradient(x) * x
    yield a.jvp(y)


@program
def gradients_of_rows_of_rows(tf: Any) -> Iterator[Any]:
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    with tf.GradientTape() as o:
        with tf.GradientTape() as t:
            y = tf.reduce_sum(tf.gather(v, [2, 0]) ** 3)
        g = t.gradient(y, v)
        h = tf.reduce_sum(tf.convert_to_tensor(g))
    yield o.gradient(h, v)


@program
def loops_of_python(tf: Any) -> Iterator[Any]:
    x = tf.constant(2.0)
    with tf.GradientTape() as t:
        t.watch(x)
        y = x
        for _ in range(5):
            y = y * x
        if y > 10:
            y = y * 2
        while y < 1000:
            y = y * x
    yield y
    yield t.gradient(y, x)


@program
def strings_and_flags_among_the_arguments_of_a_written_derivative(tf: Any) -> Iterator[Any]:
    @tf.custom_gradient
    def f(x, mode, doubled):
        return (x * 2.0 if doubled else x), lambda g: (g * 7.0, None, None)

    @tf.custom_gradient
    def g(x, mode):
        return x * 2.0, lambda up: (up * 7.0, None, None)

    x = tf.constant(2.0)
    with tf.GradientTape(persistent=True) as t:
        t.watch(x)
        y, z = f(x, "mode", True), g(x, "mode")
    yield t.gradient(y, x)
    yield lambda: t.gradient(z, x)


@program
def an_accumulator_does_not_follow_integers_and_is_entered_once(tf: Any) -> Iterator[Any]:
    n, x = tf.constant(3), tf.constant(2.0)
    with tf.autodiff.ForwardAccumulator([n, x], [tf.constant(1), tf.constant(1.0)]) as a:
        y = n * n
        z = x * x
        yield a.__enter__
    yield [a.jvp(y), a.jvp(z)]
