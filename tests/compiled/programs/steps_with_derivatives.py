"""Programs as a user writes them, beside the same in TensorFlow: steps whose loss or direction is itself a derivative."""

from typing import Any

import numpy as np
import tensorflow as tf

import tapegrad as tg
from tests.compiled.programs import drawn, here


def gradient_penalty(jit: bool) -> Any:
    W = [drawn(3, 5), drawn(5, 1)]
    x = drawn(4, 3)
    w = [tg.Variable(here(v)) for v in W]
    w2 = [tf.Variable(v) for v in W]

    @tg.function(jit_compile=jit)
    def f(x):
        with tg.GradientTape() as o:
            with tg.GradientTape(watch_accessed_variables=False) as t:
                t.watch(x)
                d = tg.tanh(x @ w[0]) @ w[1]
            g = t.gradient(d, x)
            p = tg.mean((tg.sqrt(tg.sum(g**2, axis=1) + 1e-6) - 1) ** 2)
            loss = tg.mean(d) + 10 * p
        return loss, o.gradient(loss, w)

    @tf.function(jit_compile=jit)
    def f2(x):
        with tf.GradientTape() as o:
            with tf.GradientTape(watch_accessed_variables=False) as t:
                t.watch(x)
                d = tf.tanh(x @ w2[0]) @ w2[1]
            g = t.gradient(d, x)
            p = tf.reduce_mean((tf.sqrt(tf.reduce_sum(g**2, 1) + 1e-6) - 1) ** 2)
            loss = tf.reduce_mean(d) + 10 * p
        return loss, o.gradient(loss, w2)

    return f(here(x)), f2(tf.constant(x))


def maml(jit: bool) -> Any:
    W = drawn(3, 1)
    w = tg.Variable(here(W))
    w2 = tf.Variable(W)
    xs, ys = drawn(2, 5, 3), drawn(2, 5, 1)

    @tg.function(jit_compile=jit)
    def f(xs, ys):
        with tg.GradientTape() as o:
            tot = 0.0
            for x, y in zip(xs, ys, strict=True):
                cur = w * 1
                for _ in range(2):
                    with tg.GradientTape() as t:
                        t.watch(cur)
                        loss = tg.mean((x @ cur - y) ** 2)
                    cur = cur - 0.1 * t.gradient(loss, cur)
                tot = tot + tg.mean((x @ cur - y) ** 2)
        return tot, o.gradient(tot, w)

    @tf.function(jit_compile=jit)
    def f2(xs, ys):
        with tf.GradientTape() as o:
            tot = 0.0
            for k in range(2):
                x, y = xs[k], ys[k]
                cur = w2 * 1
                for _ in range(2):
                    with tf.GradientTape() as t:
                        t.watch(cur)
                        loss = tf.reduce_mean((x @ cur - y) ** 2)
                    cur = cur - 0.1 * t.gradient(loss, cur)
                tot = tot + tf.reduce_mean((x @ cur - y) ** 2)
        return tot, o.gradient(tot, w2)

    return f(here(xs), here(ys)), f2(tf.constant(xs), tf.constant(ys))


def ode_checkpoint(jit: bool) -> Any:
    W = drawn(3, 3) * 0.3
    w = tg.Variable(here(W))
    w2 = tf.Variable(W)
    x = drawn(2, 3)

    def rk(x, F, h=0.1):
        a = F(x)
        b = F(x + h / 2 * a)
        c = F(x + h / 2 * b)
        d = F(x + h * c)
        return x + h / 6 * (a + 2 * b + 2 * c + d)

    @tg.function(jit_compile=jit)
    def f(x):
        with tg.GradientTape() as t:
            step = tg.checkpoint(lambda x: rk(x, lambda z: tg.tanh(z @ w)))
            for _ in range(4):
                x = step(x)
            loss = tg.sum(x**2)
        return loss, t.gradient(loss, w)

    @tf.function(jit_compile=jit)
    def f2(x):
        with tf.GradientTape() as t:
            for _ in range(4):
                x = rk(x, lambda z: tf.tanh(z @ w2))
            loss = tf.reduce_sum(x**2)
        return loss, t.gradient(loss, w2)

    return f(here(x)), f2(tf.constant(x))


def newton(jit: bool) -> Any:
    x = drawn(4)
    Q = drawn(4, 4)
    Q = Q @ Q.T + np.eye(4, dtype="f4")

    @tg.function(jit_compile=jit)
    def f(x):
        def fun(x):
            return 0.5 * x @ (tg.asarray(Q) @ x) + tg.sum(x**4)

        for _ in range(3):
            x = x - tg.linalg.solve(tg.hessian(fun)(x), tg.grad(fun)(x))
        return x, fun(x)

    @tf.function(jit_compile=jit)
    def f2(x):
        for _ in range(3):
            H = Q + tf.linalg.diag(12 * x**2)
            g = tf.linalg.matvec(Q, x) + 4 * x**3
            x = x - tf.linalg.solve(H, g[:, None])[:, 0]
        return x, 0.5 * tf.tensordot(x, tf.linalg.matvec(Q, x), 1) + tf.reduce_sum(x**4)

    return f(here(x)), f2(tf.constant(x))
