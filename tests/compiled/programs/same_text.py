"""Programs of one text for both: `N` gives names, of tapegrad's or of TensorFlow's, and `both` runs it with each."""

import functools
from collections import namedtuple
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

import tapegrad as tg
from tests.compiled.programs import drawn, here


class Ours:
    """What programs call, in tapegrad."""

    tape = tg.GradientTape
    constant = staticmethod(here)
    total, mean, every, matmul, einsum, solve = map(
        staticmethod, (tg.sum, tg.mean, tg.all, tg.matmul, tg.einsum, tg.linalg.solve)
    )
    exp, log, sin, tanh, where, isfinite = map(staticmethod, (tg.exp, tg.log, tg.sin, tg.tanh, tg.where, tg.isfinite))
    cast, transpose, norm, cholesky = map(
        staticmethod, (tg.astype, tg.matrix_transpose, tg.linalg.vector_norm, tg.linalg.cholesky)
    )

    def __init__(self, jit: bool) -> None:
        self.function = functools.partial(tg.function, jit_compile=jit)

    def variable(self, x: Any, **words: Any) -> Any:
        return tg.Variable(here(x), **words)

    def rows(self, x: Any, i: Any) -> Any:
        return tg.take(x, i, axis=0)

    def subtract_rows(self, v: Any, rows: Any) -> None:
        v.assign_sub(rows)


class Theirs:
    """The same in TensorFlow."""

    tape = tf.GradientTape
    constant = staticmethod(tf.constant)
    total, mean, every, matmul, einsum, solve = map(
        staticmethod, (tf.reduce_sum, tf.reduce_mean, tf.reduce_all, tf.matmul, tf.einsum, tf.linalg.solve)
    )
    exp, log, sin, tanh, where, isfinite = map(
        staticmethod, (tf.exp, tf.math.log, tf.sin, tf.tanh, tf.where, tf.math.is_finite)
    )
    cast, transpose, norm, cholesky = map(
        staticmethod, (tf.cast, tf.linalg.matrix_transpose, tf.norm, tf.linalg.cholesky)
    )
    variable = staticmethod(tf.Variable)

    def __init__(self, jit: bool) -> None:
        self._jit = jit

    def function(self, f: Any = None, *, shapes: Any = None) -> Any:
        return self.function if f is None else tf.function(f, jit_compile=self._jit, reduce_retracing=True)

    def rows(self, x: Any, i: Any) -> Any:
        return tf.gather(x, i)

    def subtract_rows(self, v: Any, rows: Any) -> None:
        v.scatter_sub(rows)


def both(program: Callable[..., Any]) -> Callable[[bool], Any]:
    """The program with the names of each, on the same numbers."""

    def run(jit: bool) -> Any:
        known: list[np.ndarray] = []

        def draws(*shape: int) -> np.ndarray:
            known.append(drawn(*shape))
            return known[-1]

        ours = program(Ours(jit), draws)
        again = iter(known)
        return ours, program(Theirs(jit), lambda *shape: next(again))

    functools.update_wrapper(run, program)
    return run


def _momentum(N: Any, draws: Any, dtype: str) -> Any:
    weights = [N.variable(draws(8, 16) * 0.3), N.variable(draws(16, 4) * 0.3)]
    moments = [N.variable(np.zeros(s, np.float32), trainable=False) for s in ((8, 16), (16, 4))]
    x, y = N.constant(draws(32, 8)), N.constant(draws(32, 4))

    @N.function
    def step(x, y):
        with N.tape() as tape:
            a, b = (N.cast(w, dtype) for w in weights)
            p = N.cast(N.matmul(N.tanh(N.matmul(N.cast(x, dtype), a)), b), "float32")
            loss = N.mean((p - y) ** 2)
        for w, m, g in zip(weights, moments, tape.gradient(loss, weights), strict=True):
            m.assign(m * 0.9 + N.cast(g, "float32"))
            w.assign_sub(0.1 * m)
        return loss

    return [step(x, y) for _ in range(4)]


@both
def trained_in_bfloat16(N, draws):
    return _momentum(N, draws, "bfloat16")


@both
def trained_in_float16(N, draws):
    return _momentum(N, draws, "float16")


@both
def loss_scale_after_an_overflow(N, draws):
    w, x = N.variable(draws(6) * 0.1), N.constant(draws(4, 6) * 200)
    scale, good = N.variable(np.float32(2**14)), N.variable(np.int64(0))
    ours = tg.LossScale(2.0**14, backend="tensorflow", interval=3) if type(N) is Ours else None

    @N.function
    def step(x):
        with N.tape() as tape:
            y = N.total(N.cast(x, "float16") * N.cast(w, "float16"), axis=1)
            loss = N.mean(N.cast(y, "float32") ** 2)
            scaled = loss * scale if ours is None else ours.scale(loss)
        g = tape.gradient(scaled, w)
        if ours is not None:
            g = ours.unscale(g)
            w.assign(N.where(ours.update(g), w - 1e-6 * g, w))
            return loss, ours.value
        g = g / scale
        ok = N.every(N.isfinite(g))
        w.assign(N.where(ok, w - 1e-6 * g, w))
        k = N.where(ok, good + 1, 0)
        scale.assign(N.where(ok, N.where(k >= 3, scale * 2, scale), scale / 2))
        good.assign(N.where(k >= 3, N.cast(0, "int64"), k))
        return loss, scale * 1.0

    return [step(x) for _ in range(7)], w


@both
def parameters_that_are_handed_on(N, draws):
    p, x = {"a": N.constant(draws(3, 2)), "b": [N.constant(draws(2)), None]}, N.constant(draws(4, 3))

    @N.function
    def step(p, s, x, *, rate=0.1):
        with N.tape() as tape:
            tape.watch([p["a"], p["b"][0]])
            loss = N.total(N.tanh(N.matmul(x, p["a"]) + p["b"][0]) ** 2)
        da, db = tape.gradient(loss, [p["a"], p["b"][0]])
        s = {"n": s["n"] + 1, "m": (0.9 * s["m"][0] + da, 0.9 * s["m"][1] + db)}
        return {"a": p["a"] - rate * s["m"][0], "b": [p["b"][0] - rate * s["m"][1], None]}, s, loss

    s, losses = {"n": N.constant(np.int32(0)), "m": (p["a"] * 0.0, p["b"][0] * 0.0)}, []
    for k in range(4):
        p, s, loss = step(p, s, x, rate=0.1 if k < 2 else 0.05)
        losses.append(loss)
    return losses, p["a"], p["b"][0], s["n"]


Pair = namedtuple("Pair", "a b")


@both
def named_tuples(N, draws):
    @N.function
    def f(pair):
        return Pair(pair.b * 2, Pair(pair.a + 1, pair.b))

    found = f(Pair(N.constant(draws(2)), N.constant(draws(3))))
    assert type(found) is type(found.b) is Pair
    return found.a, found.b.a, found.b.b


@both
def second_derivatives_over_an_open_batch(N, draws):
    w, found = N.variable(draws(4, 3)), []

    @N.function(shapes=[(None, 4)])
    def f(x):
        return N.mean(N.tanh(N.matmul(x, w)) ** 2)

    for n in (3, 5):
        x = N.constant(draws(n, 4))
        with N.tape() as outer:
            outer.watch(x)
            with N.tape() as tape:
                tape.watch(x)
                loss = f(x)
            g = tape.gradient(loss, x)
            square = N.total(g**2)
        found += [loss, g, outer.gradient(square, x)]
    return found


@both
def third_derivatives_from_outside(N, draws):
    w, x = N.variable(draws(3)), N.constant(draws(3))
    f = N.function(lambda x: N.total(N.exp(N.sin(x * w))))
    with N.tape() as third:
        third.watch(x)
        with N.tape() as second:
            second.watch(x)
            with N.tape() as first:
                first.watch(x)
                y = f(x)
            a = first.gradient(y, x)
            total = N.total(a)
        b = second.gradient(total, x)
        square = N.total(b * b)
    return y, a, b, third.gradient(square, [x, w])


@both
def jacobians_from_outside(N, draws):
    w, x = N.variable(draws(3, 3)), N.constant(draws(3))
    f = N.function(lambda x: N.tanh(N.einsum("i,ij->j", x, w)) * x[0])
    with N.tape(persistent=True) as tape:
        tape.watch(x)
        y = f(x)
    return y, tape.jacobian(y, x), tape.jacobian(y, w)


@both
def a_state_through_several_calls(N, draws):
    w, start = N.variable(draws(3)), N.constant(np.float32(1))
    f = N.function(lambda x, s: (N.total(N.sin(w * x)) * s, s * 0.9))
    with N.tape() as tape:
        tape.watch(start)
        s, loss = start, 0.0
        for _ in range(4):
            y, s = f(N.constant(draws(3)), s)
            loss = loss + y
    return loss, tape.gradient(loss, [w, start])


@both
def variables_among_the_arguments(N, draws):
    a, b, x = N.variable(draws(2)), N.variable(draws(2)), N.constant(draws(2))

    @N.function
    def step(vs, x):
        with N.tape() as tape:
            loss = N.total(vs[0] * N.exp(vs[1] * x))
        for v, g in zip(vs, tape.gradient(loss, vs), strict=True):
            v.assign_sub(0.1 * g)
        return loss

    return [step([a, b], x), step([b, a], x), step([a, b], x)], a, b


@both
def assigned_between_two_reads(N, draws):
    w = N.variable(np.float32(2))

    @N.function
    def f(x):
        with N.tape() as tape:
            a = w * x
            w.assign(3.0)
            b = w * x * x
            w.assign_add(1.0)
            loss = a + b
        return loss, tape.gradient(loss, w), w * 1.0

    return f(N.constant(np.float32(1.5))), f(N.constant(np.float32(0.5))), w


@both
def spectral_norm(N, draws):
    w, u, x = N.variable(draws(5, 3)), N.variable(draws(5, 1), trainable=False), N.constant(draws(7, 5))

    @N.function
    def step(x):
        v = N.matmul(N.transpose(w), u)
        v = v / N.norm(v)
        new = N.matmul(w, v)
        new = new / N.norm(new)
        u.assign(new)
        with N.tape() as tape:
            s = N.total(N.matmul(N.transpose(new), N.matmul(w, v)))
            loss = N.total(N.tanh(N.matmul(x, w / s)))
        w.assign_sub(0.05 * tape.gradient(loss, w))
        return loss, s

    return [step(x) for _ in range(3)], w, u


@both
def kalman_filter(N, draws):
    A, C = N.variable(np.eye(2, dtype=np.float32) + draws(2, 2) * 0.1), N.variable(draws(1, 2))
    z = N.constant(draws(4, 1, 1))

    @N.function
    def f(z):
        with N.tape() as tape:
            m, P, loss = N.constant(np.zeros((2, 1), np.float32)), N.constant(np.eye(2, dtype=np.float32)), 0.0
            for k in range(4):
                m, P = N.matmul(A, m), N.matmul(A, N.matmul(P, N.transpose(A))) + 0.1 * np.eye(2, dtype=np.float32)
                S = N.matmul(C, N.matmul(P, N.transpose(C))) + 0.5
                r, K = z[k] - N.matmul(C, m), N.transpose(N.solve(S, N.matmul(C, P)))
                loss = loss + N.total(r * N.solve(S, r)) + 2 * N.total(N.log(N.cholesky(S)))
                m, P = m + N.matmul(K, r), P - N.matmul(K, N.matmul(C, P))
        return loss, tape.gradient(loss, [A, C])

    return f(z)


@both
def rows_of_a_table(N, draws):
    table, w, i = N.variable(draws(10, 3)), N.variable(draws(3)), N.constant(np.array([1, 3, 1, 7], np.int32))

    @N.function
    def step(i):
        with N.tape() as tape:
            loss = N.total(N.tanh(N.einsum("ij,j->i", N.rows(table, i), w)) ** 2)
        rows, g = tape.gradient(loss, [table, w])
        N.subtract_rows(table, rows)
        w.assign_sub(0.1 * g)
        return loss

    return [step(i) for _ in range(3)], table, w
