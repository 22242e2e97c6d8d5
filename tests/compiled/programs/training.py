"""Programs as a user writes them, beside the same in TensorFlow: training steps."""

from typing import Any

import numpy as np
import tensorflow as tf

import tapegrad as tg
from tests.compiled.programs import drawn, here


def gan(jit: bool) -> Any:
    G = [drawn(2, 8), drawn(8, 2)]
    D = [drawn(2, 8), drawn(8, 1)]
    z = drawn(6, 2)
    real = drawn(6, 2)
    g = [tg.Variable(here(v)) for v in G]
    d = [tg.Variable(here(v)) for v in D]

    def gen(z):
        return tg.matmul(tg.tanh(tg.matmul(z, g[0])), g[1])

    def disc(x):
        return tg.matmul(tg.nn.leaky_relu(tg.matmul(x, d[0]), slope=0.2), d[1])

    @tg.function(jit_compile=jit)
    def step(z, real):
        with tg.GradientTape() as gt, tg.GradientTape() as dt:
            fake = gen(z)
            r, f = disc(real), disc(fake)
            gl = tg.mean(tg.nn.softplus(-f))
            dl = tg.mean(tg.nn.softplus(-r)) + tg.mean(tg.nn.softplus(f))
        for v, gr in zip(g, gt.gradient(gl, g), strict=True):
            v.assign_sub(0.1 * gr)
        for v, gr in zip(d, dt.gradient(dl, d), strict=True):
            v.assign_sub(0.1 * gr)
        return gl, dl

    o = [step(z, real) for _ in range(3)]
    g2 = [tf.Variable(v) for v in G]
    d2 = [tf.Variable(v) for v in D]

    def gen2(z):
        return tf.matmul(tf.tanh(tf.matmul(z, g2[0])), g2[1])

    def disc2(x):
        return tf.matmul(tf.nn.leaky_relu(tf.matmul(x, d2[0]), 0.2), d2[1])

    @tf.function(jit_compile=jit)
    def step2(z, real):
        with tf.GradientTape() as gt, tf.GradientTape() as dt:
            fake = gen2(z)
            r, f = disc2(real), disc2(fake)
            gl = tf.reduce_mean(tf.nn.softplus(-f))
            dl = tf.reduce_mean(tf.nn.softplus(-r)) + tf.reduce_mean(tf.nn.softplus(f))
        for v, gr in zip(g2, gt.gradient(gl, g2), strict=True):
            v.assign_sub(0.1 * gr)
        for v, gr in zip(d2, dt.gradient(dl, d2), strict=True):
            v.assign_sub(0.1 * gr)
        return gl, dl

    o2 = [step2(z, real) for _ in range(3)]
    return [o, g, d], [o2, g2, d2]


def accumulation(jit: bool) -> Any:
    W = drawn(3, 2)
    xs = drawn(4, 5, 3)
    ys = drawn(4, 5, 2)
    w = tg.Variable(here(W))
    acc = tg.Variable(here(np.zeros_like(W)), trainable=False)
    n = tg.Variable(here(np.int64(0)), trainable=False)

    @tg.function(jit_compile=jit)
    def micro(x, y):
        with tg.GradientTape() as t:
            loss = tg.mean((tg.matmul(x, w) - y) ** 2)
        acc.assign_add(t.gradient(loss, w))
        n.assign_add(1)
        return loss

    @tg.function(jit_compile=jit)
    def apply():
        w.assign_sub(0.1 * acc / tg.astype(n, "float32"))
        acc.assign(tg.zeros_like(acc))
        n.assign(0)

    o = []
    for _k in range(2):
        for x, y in zip(xs, ys, strict=True):
            o.append(micro(x, y))
        apply()
    w2 = tf.Variable(W)
    acc2 = tf.Variable(np.zeros_like(W), trainable=False)
    n2 = tf.Variable(np.int64(0), trainable=False)

    @tf.function(jit_compile=jit)
    def micro2(x, y):
        with tf.GradientTape() as t:
            loss = tf.reduce_mean((tf.matmul(x, w2) - y) ** 2)
        acc2.assign_add(t.gradient(loss, w2))
        n2.assign_add(1)
        return loss

    @tf.function(jit_compile=jit)
    def apply2():
        w2.assign_sub(0.1 * acc2 / tf.cast(n2, tf.float32))
        acc2.assign(tf.zeros_like(acc2))
        n2.assign(0)

    o2 = []
    for _k in range(2):
        for x, y in zip(xs, ys, strict=True):
            o2.append(micro2(tf.constant(x), tf.constant(y)))
        apply2()
    return [o, w, acc, n], [o2, w2, acc2, n2]


def mixed_precision(jit: bool) -> Any:
    W = drawn(8, 4) * 0.3
    x = drawn(16, 8)
    y = drawn(16, 4)
    w = tg.Variable(here(W))
    sc = tg.LossScale(2.0**10, backend="tensorflow", interval=2)

    @tg.function(jit_compile=jit)
    def step(x, y):
        with tg.GradientTape() as t:
            p = tg.matmul(tg.astype(x, "float16"), tg.astype(w, "float16"))
            loss = tg.mean((tg.astype(p, "float32") - y) ** 2)
            s = sc.scale(loss)
        g = sc.unscale(t.gradient(s, w))
        ok = sc.update(g)
        w.assign(tg.where(ok, w - 0.1 * g, w))
        return loss

    o = [step(x, y) for _ in range(4)]
    w2 = tf.Variable(W)
    scale = tf.Variable(2.0**10)
    good = tf.Variable(0)

    @tf.function(jit_compile=jit)
    def step2(x, y):
        with tf.GradientTape() as t:
            p = tf.matmul(tf.cast(x, tf.float16), tf.cast(w2, tf.float16))
            loss = tf.reduce_mean((tf.cast(p, tf.float32) - y) ** 2)
            s = loss * scale
        g = t.gradient(s, w2) / scale
        ok = tf.reduce_all(tf.math.is_finite(g))
        w2.assign(tf.where(ok, w2 - 0.1 * g, w2))
        k = tf.where(ok, good + 1, 0)
        scale.assign(tf.where(ok, tf.where(k >= 2, scale * 2, scale), scale / 2))
        good.assign(tf.where(k >= 2, 0, k))
        return loss

    o2 = [step2(tf.constant(x), tf.constant(y)) for _ in range(4)]
    return [o, w, sc.value], [o2, w2, scale]


def adam_clip(jit: bool) -> Any:
    Ws = [drawn(4, 6), drawn(6), drawn(6, 3)]
    X = drawn(10, 4)
    Y = np.arange(10) % 3
    ws = [tg.Variable(here(v)) for v in Ws]
    ms = [tg.Variable(here(np.zeros_like(v)), trainable=False) for v in Ws]
    vs = [tg.Variable(here(np.zeros_like(v)), trainable=False) for v in Ws]
    it = tg.Variable(here(np.float32(0)), trainable=False)

    @tg.function(jit_compile=jit)
    def step(X, Y):
        with tg.GradientTape() as t:
            h = tg.nn.relu(tg.matmul(X, ws[0]) + ws[1])
            loss = tg.nn.cross_entropy(tg.matmul(h, ws[2]), Y)
        gs = t.gradient(loss, ws)
        norm = tg.sqrt(sum(tg.sum(g * g) for g in gs))
        f = 1.0 / tg.maximum(norm / 0.5, 1.0)
        it.assign_add(1.0)
        for w, m, v, g in zip(ws, ms, vs, [g * f for g in gs], strict=True):
            m.assign(0.9 * m + 0.1 * g)
            v.assign(0.99 * v + 0.01 * g * g)
            w.assign_sub(0.05 * (m / (1 - 0.9**it)) / (tg.sqrt(v / (1 - 0.99**it)) + 1e-7))
        return loss, norm

    o = [step(X, Y) for _ in range(4)]
    ws2 = [tf.Variable(v) for v in Ws]
    ms2 = [tf.Variable(np.zeros_like(v)) for v in Ws]
    vs2 = [tf.Variable(np.zeros_like(v)) for v in Ws]
    it2 = tf.Variable(0.0)

    @tf.function(jit_compile=jit)
    def step2(X, Y):
        with tf.GradientTape() as t:
            h = tf.nn.relu(tf.matmul(X, ws2[0]) + ws2[1])
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(Y, tf.matmul(h, ws2[2])))
        gs = t.gradient(loss, ws2)
        gs, norm = tf.clip_by_global_norm(gs, 0.5)
        it2.assign_add(1.0)
        for w, m, v, g in zip(ws2, ms2, vs2, gs, strict=True):
            m.assign(0.9 * m + 0.1 * g)
            v.assign(0.99 * v + 0.01 * g * g)
            w.assign_sub(0.05 * (m / (1 - 0.9**it2)) / (tf.sqrt(v / (1 - 0.99**it2)) + 1e-7))
        return loss, norm

    o2 = [step2(tf.constant(X), tf.constant(Y)) for _ in range(4)]
    return [o, ws, ms, vs], [o2, ws2, ms2, vs2]


def batchnorm_running(jit: bool) -> Any:
    x = drawn(8, 4)
    g0, b0 = drawn(4), drawn(4)
    ga, be = tg.Variable(here(g0)), tg.Variable(here(b0))
    mu = tg.Variable(here(np.zeros(4, "f4")), trainable=False)
    va = tg.Variable(here(np.ones(4, "f4")), trainable=False)

    @tg.function(jit_compile=jit)
    def f(x, training):
        if training:
            m, v = tg.mean(x, axis=0), tg.var(x, axis=0)
            mu.assign(0.9 * mu + 0.1 * m)
            va.assign(0.9 * va + 0.1 * v)
        else:
            m, v = mu, va
        return (x - m) / tg.sqrt(v + 1e-3) * ga + be

    with tg.GradientTape() as t:
        loss = tg.sum(f(x, True) ** 3)
    o = [loss, t.gradient(loss, [ga, be]), f(x, False), mu, va, f(x, True), mu]
    ga2, be2 = tf.Variable(g0), tf.Variable(b0)
    mu2 = tf.Variable(np.zeros(4, "f4"))
    va2 = tf.Variable(np.ones(4, "f4"))

    @tf.function(jit_compile=jit)
    def f2(x, training):
        if training:
            m, v = tf.nn.moments(x, [0])
            mu2.assign(0.9 * mu2 + 0.1 * m)
            va2.assign(0.9 * va2 + 0.1 * v)
        else:
            m, v = mu2, va2
        return (x - m) / tf.sqrt(v + 1e-3) * ga2 + be2

    xx = tf.constant(x)
    with tf.GradientTape() as t:
        loss = tf.reduce_sum(f2(xx, True) ** 3)
    o2 = [loss, t.gradient(loss, [ga2, be2]), f2(xx, False), mu2, va2, f2(xx, True), mu2]
    # snapshot semantic: variables in list read at the end both
    return o, o2


def ema_swap(jit: bool) -> Any:
    W = drawn(4)
    w = tg.Variable(here(W))
    e = tg.Variable(here(W), trainable=False)

    @tg.function(jit_compile=jit)
    def f(x):
        with tg.GradientTape() as t:
            loss = tg.sum(w * x) ** 2
        w.assign_sub(0.1 * t.gradient(loss, w))
        e.assign(0.9 * e + 0.1 * w)
        return w * 1, e

    @tg.function(jit_compile=jit)
    def swap():
        a = w + 0
        w.assign(e)
        e.assign(a)

    x = drawn(4)
    o = []
    for _ in range(2):
        r = f(x)
        o.append([r[0].numpy(), r[1].numpy()])
        swap()
        o.append([w.numpy(), e.numpy()])
        w.assign(w.numpy() * 2)
        o.append(f(x)[0].numpy())
    w2 = tf.Variable(W)
    e2 = tf.Variable(W, trainable=False)

    @tf.function(jit_compile=jit)
    def f2(x):
        with tf.GradientTape() as t:
            loss = tf.reduce_sum(w2 * x) ** 2
        w2.assign_sub(0.1 * t.gradient(loss, w2))
        e2.assign(0.9 * e2 + 0.1 * w2)
        return w2 * 1, e2

    @tf.function(jit_compile=jit)
    def swap2():
        a = w2 + 0
        w2.assign(e2)
        e2.assign(a)

    o2 = []
    xc = tf.constant(x)
    for _ in range(2):
        r = f2(xc)
        o2.append([r[0].numpy(), r[1].numpy()])
        swap2()
        o2.append([w2.numpy(), e2.numpy()])
        w2.assign(w2.numpy() * 2)
        o2.append(f2(xc)[0].numpy())
    return o, o2
