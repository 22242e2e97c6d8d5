"""Programs as a user writes them, beside the same in TensorFlow: control flow, shapes, errors, threads."""

from collections import namedtuple
from typing import Any

import numpy as np
import tensorflow as tf

import tapegrad as tg
from tests.compiled.programs import drawn, here


def reinforce_rollout(jit: bool) -> Any:
    W = drawn(3, 2) * 0.5
    s0 = drawn(4, 3)
    M = drawn(2, 3) * 0.3
    us = np.random.default_rng(3).random((5, 4, 2)).astype("f4")
    w = tg.Variable(here(W))

    @tg.function(jit_compile=jit)
    def step(s, us):
        with tg.GradientTape() as t:
            alive = tg.ones_like(s[:, 0])
            logp = 0.0
            ret = 0.0
            for k in range(5):
                logits = tg.matmul(s, w)
                a = tg.argmax(logits - tg.log(-tg.log(us[k])), axis=1)
                lp = tg.nn.log_softmax(logits, axis=1)
                logp = logp + alive * tg.take_along_axis(lp, a[:, None], axis=1)[:, 0]
                s = tg.tanh(s + tg.take(here(M), a, axis=0))
                r = tg.stop_gradient(s[:, 0])
                ret = ret + alive * r
                alive = tg.where(s[:, 1] > 0.9, 0.0, alive)
            loss = -tg.mean(logp * tg.stop_gradient(ret))
        g = t.gradient(loss, w)
        w.assign_sub(0.1 * g)
        return loss, g, tg.mean(ret)

    o = [step(s0, us) for _ in range(3)]
    w2 = tf.Variable(W)

    @tf.function(jit_compile=jit)
    def step2(s, us):
        with tf.GradientTape() as t:

            def body(k, s, alive, logp, ret):
                logits = tf.matmul(s, w2)
                a = tf.argmax(logits - tf.math.log(-tf.math.log(us[k])), axis=1)
                lp = tf.nn.log_softmax(logits)
                logp = logp + alive * tf.gather(lp, a, batch_dims=1)
                s = tf.tanh(s + tf.gather(M, a))
                ret = ret + alive * tf.stop_gradient(s[:, 0])
                alive = tf.where(s[:, 1] > 0.9, 0.0, alive)
                return k + 1, s, alive, logp, ret

            z = tf.zeros(4)
            _, _, _, logp, ret = tf.while_loop(
                lambda k, *a: k < 5, body, (0, s, tf.ones(4), z, z), maximum_iterations=5
            )
            loss = -tf.reduce_mean(logp * tf.stop_gradient(ret))
        g = t.gradient(loss, w2)
        w2.assign_sub(0.1 * g)
        return loss, g, tf.reduce_mean(ret)

    o2 = [step2(tf.constant(s0), tf.constant(us)) for _ in range(3)]
    return [o, w], [o2, w2]


def variable_lengths(jit: bool) -> Any:
    W = drawn(3, 2)
    w = tg.Variable(here(W))
    n_tr = []

    @tg.function(jit_compile=jit)
    def f(x, m):
        n_tr.append(1)
        with tg.GradientTape() as t:
            p = tg.nn.softmax(tg.matmul(x, w), axis=-1)
            loss = tg.sum(tg.sum(p * p, axis=-1) * m) / tg.sum(m) / x.shape[0]
        return loss, t.gradient(loss, w), tg.concat([x, x], axis=0)[: x.shape[0] + 1]

    w2 = tf.Variable(W)

    @tf.function(jit_compile=jit, input_signature=[tf.TensorSpec([None, 3]), tf.TensorSpec([None])])
    def f2(x, m):
        with tf.GradientTape() as t:
            p = tf.nn.softmax(tf.matmul(x, w2))
            loss = tf.reduce_sum(tf.reduce_sum(p * p, -1) * m) / tf.reduce_sum(m) / tf.cast(tf.shape(x)[0], tf.float32)
        return loss, t.gradient(loss, w2), tf.concat([x, x], 0)[: tf.shape(x)[0] + 1]

    o, o2 = [], []
    for n in (3, 5, 4, 7, 2, 9):
        x, m = drawn(n, 3), np.abs(drawn(n))
        o.append(f(x, m))
        o2.append(f2(tf.constant(x), tf.constant(m)))
    assert len(n_tr) == 2, n_tr
    return o, o2


def masks(jit: bool) -> Any:
    x = drawn(7)

    @tg.function
    def f(x):
        with tg.GradientTape() as t:
            t.watch(x)
            y = x[x > 0]
            loss = tg.sum(y**3) / y.shape[0]
        return y, t.gradient(loss, x), tg.nonzero(x > 0)[0]

    @tf.function
    def f2(x):
        with tf.GradientTape() as t:
            t.watch(x)
            y = tf.boolean_mask(x, x > 0)
            loss = tf.reduce_sum(y**3) / tf.cast(tf.size(y), tf.float32)
        return y, t.gradient(loss, x), tf.where(x > 0)[:, 0]

    return [f(here(x)), f(here(-x))], [f2(tf.constant(x)), f2(tf.constant(-x))]


def sorting(jit: bool) -> Any:
    x = drawn(4, 6)
    i = np.array([0, 2, 3])
    j = np.array([1, 5, -1])

    @tg.function(jit_compile=jit)
    def f(x, i, j):
        with tg.GradientTape() as t:
            t.watch(x)
            y = tg.sort(x, axis=1)[:, -3:]
            z = x[i, j]
            c = tg.cumulative_sum(x, axis=1)
            loss = tg.sum(y**2) + tg.sum(z**3) + tg.sum(c**2) + tg.sum(tg.roll(x, 2, axis=1) * x)
        return y, z, t.gradient(loss, x), tg.argsort(x, axis=1)

    @tf.function(jit_compile=jit)
    def f2(x, i, j):
        with tf.GradientTape() as t:
            t.watch(x)
            y = tf.sort(x, 1)[:, -3:]
            z = tf.gather_nd(x, tf.stack([i, tf.where(j < 0, j + 6, j)], 1))
            c = tf.cumsum(x, 1)
            loss = tf.reduce_sum(y**2) + tf.reduce_sum(z**3) + tf.reduce_sum(c**2) + tf.reduce_sum(tf.roll(x, 2, 1) * x)
        return y, z, t.gradient(loss, x), tf.cast(tf.argsort(x, 1), tf.int64)

    return f(here(x), i, j), f2(tf.constant(x), tf.constant(i), tf.constant(j))


def fft_complex(jit: bool) -> Any:
    x = drawn(8)

    @tg.function(jit_compile=jit)
    def f(x):
        with tg.GradientTape() as t:
            t.watch(x)
            y = tg.fft.rfft(x)
            loss = tg.sum(tg.abs(y) ** 2 * tg.asarray(np.arange(5, dtype="f4")))
        return loss, t.gradient(loss, x), y

    @tf.function(jit_compile=jit)
    def f2(x):
        with tf.GradientTape() as t:
            t.watch(x)
            y = tf.signal.rfft(x)
            loss = tf.reduce_sum(tf.abs(y) ** 2 * np.arange(5, dtype="f4"))
        return loss, t.gradient(loss, x), y

    return f(here(x)), f2(tf.constant(x))


def special(jit: bool) -> Any:
    x = np.abs(drawn(6)) + 0.3

    @tg.function(jit_compile=jit)
    def f(x):
        with tg.GradientTape() as t:
            t.watch(x)
            y = tg.special.gammaln(x) + tg.special.erf(x) * tg.special.digamma(x)
            loss = tg.sum(y)
        return y, t.gradient(loss, x)

    @tf.function(jit_compile=jit)
    def f2(x):
        with tf.GradientTape() as t:
            t.watch(x)
            y = tf.math.lgamma(x) + tf.math.erf(x) * tf.math.digamma(x)
            loss = tf.reduce_sum(y)
        return y, t.gradient(loss, x)

    return f(here(x)), f2(tf.constant(x))


def structures(jit: bool) -> Any:
    NT = namedtuple("NT", "a b")
    x = drawn(3)

    @tg.function(jit_compile=jit)
    def f(d, flag=None, *rest, mode="x"):
        r = d["p"].a * 2 if mode == "x" else d["p"].b
        for q in rest:
            r = r + q
        return {"r": r, "none": None, "n": 3, "t": (NT(r, r + 1), [r * 0])}

    @tf.function(jit_compile=jit)
    def f2(d, flag=None, *rest, mode="x"):
        r = d["p"].a * 2 if mode == "x" else d["p"].b
        for q in rest:
            r = r + q
        return {"r": r, "none": None, "n": 3, "t": (NT(r, r + 1), [r * 0])}

    def run(f, c):
        o = [
            f({"p": NT(c(x), c(x * 2)), "z": 1}),
            f({"p": NT(c(x), c(x * 2)), "z": 1}, None, c(x), 2.0, mode="y"),
            f({"p": NT(c(x), 3.0), "z": "s"}, True, c(x[:1])),
        ]
        return [[q["r"], q["n"], q["t"]] for q in o] + [[type(q["none"]).__name__ == "NoneType" and 0.0] for q in o]

    return run(f, here), run(f2, tf.constant)


def while_inside(jit: bool) -> Any:
    # a loop of TensorFlow's around tapegrad's ops, no tape across
    x = drawn(3)

    @tg.function(jit_compile=jit)
    def f(x):
        def body(k, y):
            z = tg.asarray(y)
            with tg.GradientTape() as t:
                t.watch(z)
                loss = tg.sum((z**2 - 2) ** 2)
            return k + 1, (z - 0.05 * t.gradient(loss, z)).raw

        k, y = tf.while_loop(lambda k, y: k < 20, body, (0, x.raw), maximum_iterations=20)
        return tg.asarray(y), k

    @tf.function(jit_compile=jit)
    def f2(x):
        def body(k, y):
            with tf.GradientTape() as t:
                t.watch(y)
                loss = tf.reduce_sum((y**2 - 2) ** 2)
            return k + 1, y - 0.05 * t.gradient(loss, y)

        k, y = tf.while_loop(lambda k, y: k < 20, body, (0, x), maximum_iterations=20)
        return y, k

    return f(here(x)), f2(tf.constant(x))


def while_with_variables(jit: bool) -> Any:
    W = drawn(3)
    w = tg.Variable(here(W))
    w2 = tf.Variable(W)
    x = drawn(3)

    @tg.function(jit_compile=jit)
    def f(x):
        def body(k, y):
            return k + 1, tg.tanh(tg.asarray(y) + w).raw

        _k, y = tf.while_loop(lambda k, y: k < 5, body, (0, x.raw), maximum_iterations=5)
        w.assign_add(tg.asarray(y))
        return y

    @tf.function(jit_compile=jit)
    def f2(x):
        def body(k, y):
            return k + 1, tf.tanh(y + w2)

        _k, y = tf.while_loop(lambda k, y: k < 5, body, (0, x), maximum_iterations=5)
        w2.assign_add(y)
        return y

    return [f(here(x)), f(here(x)), w], [f2(tf.constant(x)), f2(tf.constant(x)), w2]
