"""Programs as a user writes them, beside the same in TensorFlow: derivatives inside and outside."""

from typing import Any

import numpy as np
import tensorflow as tf

import tapegrad as tg
from tests.compiled.programs import drawn, here


def nested(jit: bool) -> Any:
    W = drawn(3, 3)
    w = tg.Variable(here(W))
    x = drawn(2, 3)

    @tg.function
    def layer(x):
        return tg.tanh(tg.matmul(x, w))

    @tg.function(jit_compile=jit)
    def inner(x):
        w.assign_add(0.01 * tg.ones_like(w))
        return layer(layer(x))

    @tg.function(jit_compile=jit)
    def outer(x):
        with tg.GradientTape() as t:
            loss = tg.sum(inner(x) ** 2)
        g = t.gradient(loss, w)
        w.assign_sub(g)
        return loss, g, layer(x)

    o = [outer(x), outer(x), inner(x)]
    w2 = tf.Variable(W)

    @tf.function
    def layer2(x):
        return tf.tanh(tf.matmul(x, w2))

    @tf.function(jit_compile=jit)
    def inner2(x):
        w2.assign_add(0.01 * tf.ones_like(w2))
        return layer2(layer2(x))

    @tf.function(jit_compile=jit)
    def outer2(x):
        with tf.GradientTape() as t:
            loss = tf.reduce_sum(inner2(x) ** 2)
        g = t.gradient(loss, w2)
        w2.assign_sub(g)
        return loss, g, layer2(x)

    x = tf.constant(x)
    o2 = [outer2(x), outer2(x), inner2(x)]
    return [o, w], [o2, w2]


def tape_outside(jit: bool) -> Any:
    W = drawn(3, 4)
    w = tg.Variable(here(W))
    x = drawn(5, 3)
    f = tg.function(lambda x: {"y": tg.tanh(tg.matmul(x, w)), "n": tg.sum(x * x)}, jit_compile=jit)
    xt = here(x)
    with tg.GradientTape() as t2:
        t2.watch(xt)
        with tg.GradientTape() as t:
            t.watch(xt)
            r = f(xt)
            loss = tg.sum(r["y"] ** 2) * r["n"]
        g = t.gradient(loss, [xt, w])
        s = tg.sum(g[0] ** 2) + tg.sum(g[1] ** 3)
    h = t2.gradient(s, [xt, w])
    w2 = tf.Variable(W)
    f2 = tf.function(lambda x: {"y": tf.tanh(tf.matmul(x, w2)), "n": tf.reduce_sum(x * x)}, jit_compile=jit)
    xc = tf.constant(x)
    with tf.GradientTape() as t2:
        t2.watch(xc)
        with tf.GradientTape() as t:
            t.watch(xc)
            r = f2(xc)
            loss = tf.reduce_sum(r["y"] ** 2) * r["n"]
        g2 = t.gradient(loss, [xc, w2])
        s = tf.reduce_sum(g2[0] ** 2) + tf.reduce_sum(g2[1] ** 3)
    h2 = t2.gradient(s, [xc, w2])
    return [g, h], [g2, h2]


def custom_inside(jit: bool) -> Any:
    x = drawn(6) * 4

    @tg.custom_gradient
    def clipg(x):
        return x * 1.0, lambda g: tg.clip(g, -0.5, 0.5)

    @tg.custom_gradient
    def log1pexp(x):
        e = tg.exp(x)
        return tg.log(1 + e), lambda g: g * (1 - 1 / (1 + e))

    @tg.function(jit_compile=jit)
    def f(x):
        with tg.GradientTape() as t2:
            t2.watch(x)
            with tg.GradientTape() as t:
                t.watch(x)
                y = tg.sum(log1pexp(clipg(x) * 2) * x)
            g = t.gradient(y, x)
        return y, g, t2.gradient(g, x)

    @tf.custom_gradient
    def clipg2(x):
        return tf.identity(x), lambda g: tf.clip_by_value(g, -0.5, 0.5)

    @tf.custom_gradient
    def l2(x):
        e = tf.exp(x)
        return tf.math.log(1 + e), lambda g: g * (1 - 1 / (1 + e))

    @tf.function(jit_compile=jit)
    def f2(x):
        with tf.GradientTape() as t2:
            t2.watch(x)
            with tf.GradientTape() as t:
                t.watch(x)
                y = tf.reduce_sum(l2(clipg2(x) * 2) * x)
            g = t.gradient(y, x)
        return y, g, t2.gradient(g, x)

    return f(here(x)), f2(tf.constant(x))


def vmap_inside(jit: bool) -> Any:
    W = drawn(3, 2)
    X = drawn(6, 3)
    w = tg.Variable(here(W))

    @tg.function(jit_compile=jit)
    def f(X):
        per = tg.vmap(lambda x: tg.sum(tg.tanh(x @ w) ** 2))
        return (
            per(X),
            tg.vmap(tg.grad(lambda x: tg.sum(tg.tanh(x @ w) ** 2)))(X),
            tg.vmap(tg.jacobian(lambda x: tg.tanh(x @ w)))(X),
        )

    w2 = tf.Variable(W)

    @tf.function(jit_compile=jit)
    def f2(X):
        with tf.GradientTape(persistent=True) as t:
            t.watch(X)
            y = tf.tanh(tf.matmul(X, w2))
            p = tf.reduce_sum(y**2, 1)
            s = tf.reduce_sum(p)
        return p, t.gradient(s, X), t.batch_jacobian(y, X)

    o = [f(X) for X in (X, drawn(4, 3), X[:5])]

    o2 = [f2(tf.constant(X))]
    return o[0], o2[0]


def hvp_jvp_inside(jit: bool) -> Any:
    x = drawn(5)
    v = drawn(5)

    def fun(x):
        return tg.sum(tg.sin(x) * x**3)

    @tg.function(jit_compile=jit)
    def f(x, v):
        with tg.ForwardAccumulator(x, v) as acc:
            with tg.GradientTape() as t:
                t.watch(x)
                y = fun(x)
            g = t.gradient(y, x)
        return g, acc.jvp(g), tg.jvp(fun, (x,), (v,)), tg.hessian(fun)(x) @ v

    @tf.function(jit_compile=jit)
    def f2(x, v):
        def fun(x):
            return tf.reduce_sum(tf.sin(x) * x**3)

        with tf.autodiff.ForwardAccumulator(x, v) as acc:
            with tf.GradientTape() as t:
                t.watch(x)
                y = fun(x)
            g = t.gradient(y, x)
        h = acc.jvp(g)
        with tf.autodiff.ForwardAccumulator(x, v) as a2:
            y = fun(x)
        return g, h, (y, a2.jvp(y)), h

    return f(here(x), here(v)), f2(tf.constant(x), tf.constant(v))


def persistent_unconnected(jit: bool) -> Any:
    a, b, c = (drawn(3) for _ in range(3))

    @tg.function(jit_compile=jit)
    def f(a, b, c):
        with tg.GradientTape(persistent=True, watch_accessed_variables=False) as t:
            t.watch([a, b, c])
            y = a * b
            z = tg.sum(y**2)
            with t.stop_recording():
                q = tg.sum(a * c)
            z = z + q
        return (
            t.gradient(z, [a, y]),
            t.gradient(z, {"c": c, "b": b}, unconnected_gradients="zero"),
            t.jacobian(y, [a, b]),
        )

    @tf.function(jit_compile=jit)
    def f2(a, b, c):
        with tf.GradientTape(persistent=True, watch_accessed_variables=False) as t:
            t.watch([a, b, c])
            y = a * b
            z = tf.reduce_sum(y**2)
            with t.stop_recording():
                q = tf.reduce_sum(a * c)
            z = z + q
        return (
            t.gradient(z, [a, y]),
            t.gradient(z, {"c": c, "b": b}, unconnected_gradients=tf.UnconnectedGradients.ZERO),
            t.jacobian(y, [a, b]),
        )

    return f(here(a), here(b), here(c)), f2(*map(tf.constant, (a, b, c)))


def transforms_of_compiled(jit: bool) -> Any:
    W = drawn(3, 2)
    w = tg.Variable(here(W))
    x = drawn(3)
    X = drawn(4, 3)
    f = tg.function(lambda x: tg.tanh(x @ w), jit_compile=jit)
    xt = here(x)
    Xt = here(X)
    with tg.GradientTape(persistent=True) as t:
        t.watch(xt)
        y = f(xt)
    o = [
        t.jacobian(y, [xt, w]),
        tg.vmap(f)(Xt),
        tg.jacobian(f)(xt),
        tg.vmap(tg.grad(lambda x: tg.sum(f(x) ** 2)))(Xt),
        tg.jvp(f, (xt,), (xt,)),
    ]
    w2 = tf.Variable(W)
    f2 = tf.function(
        lambda x: (
            tf.tensordot(tf.reshape(x, (-1, 3)), w2, 1) if 0 else tf.tanh(tf.linalg.matvec(w2, x, transpose_a=True))
        ),
        jit_compile=jit,
    )
    xc = tf.constant(x)
    Xc = tf.constant(X)
    with tf.GradientTape(persistent=True) as t:
        t.watch([xc, Xc])
        y = f2(xc)
        Y = tf.map_fn(f2, Xc) if not jit else tf.tanh(Xc @ w2)
        s = tf.reduce_sum(tf.tanh(Xc @ w2) ** 2)
    J = t.jacobian(y, [xc, w2]) if not jit else None
    if J is None:
        with tf.GradientTape(persistent=True) as t2:
            t2.watch(xc)
            yy = tf.tanh(tf.linalg.matvec(w2, xc, transpose_a=True))
        J = t2.jacobian(yy, [xc, w2])
    with tf.autodiff.ForwardAccumulator(xc, xc) as acc:
        yy = tf.tanh(tf.linalg.matvec(w2, xc, transpose_a=True))
    o2 = [J, Y, J[0], t.gradient(s, Xc), (yy, acc.jvp(yy))]
    return o, o2


def declared_and_outside(jit: bool) -> Any:
    W = drawn(3, 2)
    w = tg.Variable(here(W))
    w2 = tf.Variable(W)
    f = tg.function(lambda x: (tg.sum(tg.tanh(x @ w) ** 2), x * 2), jit_compile=jit, shapes=[(None, 3)])
    f2 = tf.function(
        lambda x: (tf.reduce_sum(tf.tanh(x @ w2) ** 2), x * 2),
        jit_compile=jit,
        input_signature=[tf.TensorSpec((None, 3))],
    )
    o, o2 = [], []
    for n in (1, 4, 0, 3):
        x = drawn(n, 3)
        xt, xc = here(x), tf.constant(x)
        with tg.GradientTape() as t:
            t.watch(xt)
            a, b = f(xt)
            loss = a + tg.sum(b**3)
        o.append(t.gradient(loss, [xt, w]))
        with tf.GradientTape() as t:
            t.watch(xc)
            a, b = f2(xc)
            loss = a + tf.reduce_sum(b**3)
        o2.append(t.gradient(loss, [xc, w2]))
    return o, o2


def none_gradients_integers(jit: bool) -> Any:
    W = drawn(3)
    w = tg.Variable(here(W))
    n = tg.Variable(here(np.int32(2)), trainable=False)
    u = tg.Variable(here(W))

    @tg.function(jit_compile=jit)
    def f(x, k):
        with tg.GradientTape() as t:
            loss = tg.sum(w * x) * tg.astype(n + k, "float32")
        n.assign_add(1)
        return t.gradient(loss, [w, u]), n + 0, loss

    w2 = tf.Variable(W)
    n2 = tf.Variable(2)
    u2 = tf.Variable(W)

    @tf.function(jit_compile=jit)
    def f2(x, k):
        with tf.GradientTape() as t:
            loss = tf.reduce_sum(w2 * x) * tf.cast(n2 + k, tf.float32)
        n2.assign_add(1)
        return t.gradient(loss, [w2, u2]), n2 + 0, loss

    x = drawn(3)
    return [f(x, np.int32(3)), f(x, 4)], [f2(tf.constant(x), tf.constant(3)), f2(tf.constant(x), 4)]
