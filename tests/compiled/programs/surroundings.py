"""Programs as a user writes them, beside the same in TensorFlow: errors, threads, TensorFlow around and inside."""

import contextlib
import threading
from typing import Any

import numpy as np
import tensorflow as tf

import tapegrad as tg
from tests.compiled.programs import drawn, here


def runtime_error(jit: bool) -> Any:
    W = drawn(5)
    w = tg.Variable(here(W))
    w2 = tf.Variable(W)

    @tg.function
    def f(i):
        r = tg.take(w, i)
        w.assign_add(tg.ones(5))
        return r

    o = [f(np.array([1, 2]))]
    try:
        f(np.array([1, 9]))
        raise AssertionError
    except IndexError:
        o.append(0.0)
    o += [f(np.array([0, 3])), w]

    @tf.function
    def f2(i):
        r = tf.gather(w2, i)
        w2.assign_add(tf.ones(5))
        return r

    o2 = [f2(tf.constant([1, 2]))]
    try:
        f2(tf.constant([1, 9]))
        raise AssertionError
    except tf.errors.InvalidArgumentError:
        o2.append(0.0)
    o2 += [f2(tf.constant([0, 3])), w2]
    return o, o2


def exception_mid_trace(jit: bool) -> Any:
    W = drawn(3)
    w = tg.Variable(here(W))
    x = drawn(3)

    @tg.function(jit_compile=jit)
    def f(x, bad):
        with tg.GradientTape() as t:
            loss = tg.sum(w * x)
            w.assign_add(tg.ones_like(w))
            if bad:
                raise KeyError("no")
        w.assign_sub(t.gradient(loss, w))
        return loss

    o = [f(x, False)]
    with contextlib.suppress(KeyError):
        f(x, True)
    with tg.GradientTape() as t:
        y = tg.sum(w**2)
    o += [w.numpy().copy(), t.gradient(y, w), f(x, False), w.numpy().copy()]
    w2 = tf.Variable(W)

    @tf.function(jit_compile=jit)
    def f2(x, bad):
        with tf.GradientTape() as t:
            loss = tf.reduce_sum(w2 * x)
            w2.assign_add(tf.ones_like(w2))
            if bad:
                raise KeyError("no")
        w2.assign_sub(t.gradient(loss, w2))
        return loss

    xc = tf.constant(x)
    o2 = [f2(xc, False)]
    with contextlib.suppress(KeyError):
        f2(xc, True)
    with tf.GradientTape() as t:
        y = tf.reduce_sum(w2**2)
    o2 += [w2.numpy().copy(), t.gradient(y, w2), f2(xc, False), w2.numpy().copy()]
    return o, o2


def threads(jit: bool) -> Any:
    W = drawn(3, 3)
    w = tg.Variable(here(W))
    xs = drawn(8, 4, 3)

    @tg.function(jit_compile=jit)
    def f(x):
        with tg.GradientTape() as t:
            loss = tg.sum(tg.tanh(x @ w) ** 2)
        return loss, t.gradient(loss, w)

    w2 = tf.Variable(W)

    @tf.function(jit_compile=jit)
    def f2(x):
        with tf.GradientTape() as t:
            loss = tf.reduce_sum(tf.tanh(x @ w2) ** 2)
        return loss, t.gradient(loss, w2)

    def run(f, conv):
        out = [None] * 8

        def go(i):
            for _ in range(5):
                out[i] = f(conv(xs[i]))

        ts = [threading.Thread(target=go, args=(i,)) for i in range(8)]
        [t.start() for t in ts]
        [t.join() for t in ts]
        return out

    return run(f, here), run(f2, tf.constant)


def keras_layer_inside(jit: bool) -> Any:

    W = drawn(3, 2)
    x = drawn(4, 3)
    lay = tf.Variable(W)
    w = tg.Variable(here(W))

    @tg.function(jit_compile=jit)
    def f(x):
        with tg.GradientTape() as t:
            h = tf.nn.relu(tf.matmul(x.raw, lay))  # TF code inside
            y = tg.sum(tg.asarray(h) * tg.tanh(x @ w))
        return y, t.gradient(y, [w])

    @tf.function(jit_compile=jit)
    def f2(x):
        with tf.GradientTape() as t:
            y = tf.reduce_sum(tf.nn.relu(x @ lay) * tf.tanh(x @ lay2))
        return y, t.gradient(y, [lay2])

    lay2 = tf.Variable(W)
    return f(here(x)), f2(tf.constant(x))


def tf_function_of_users(jit: bool) -> Any:
    W = drawn(3, 2)
    w = tg.Variable(here(W))
    v = tf.Variable(W)
    v2 = tf.Variable(W)
    u2 = tf.Variable(W)

    @tf.function(jit_compile=jit)
    def f(x):
        with tf.GradientTape() as t:
            h = tf.nn.relu(x @ v)
            with tg.GradientTape() as t2:
                y = tg.sum(tg.asarray(tf.stop_gradient(h)) * tg.tanh(tg.asarray(x) @ w))
            g = t2.gradient(y, w).raw
            loss = tf.reduce_sum(h**2)
        v.assign_sub(0.1 * t.gradient(loss, v))
        return y.raw, g, loss

    @tf.function(jit_compile=jit)
    def f2(x):
        with tf.GradientTape(persistent=True) as t:
            h = tf.nn.relu(x @ v2)
            y = tf.reduce_sum(tf.stop_gradient(h) * tf.tanh(x @ u2))
            loss = tf.reduce_sum(h**2)
        g = t.gradient(y, u2)
        v2.assign_sub(0.1 * t.gradient(loss, v2))
        return y, g, loss

    x = tf.constant(drawn(4, 3))
    return [f(x), f(x), v], [f2(x), f2(x), v2]


def dropout_random(jit: bool) -> Any:
    x = here(np.ones((100, 100), "f4"))

    @tg.function(jit_compile=jit)
    def f(x):
        m = tg.random.uniform((100, 100)) > 0.3
        with tg.GradientTape() as t:
            t.watch(x)
            y = tg.sum(tg.where(m, x / 0.7, 0.0))
        return y / 10000, t.gradient(y, x), m

    a, b = f(x), f(x)
    assert not np.array_equal(a[2].numpy(), b[2].numpy())
    np.testing.assert_allclose(a[1].numpy(), a[2].numpy() / 0.7, rtol=1e-5)
    assert abs(a[0].item() - 1) < 0.05
    return 0.0, 0.0
