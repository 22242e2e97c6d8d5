"""Programs as a user writes them, beside the same in TensorFlow: models and their states."""

from typing import Any

import numpy as np
import tensorflow as tf

import tapegrad as tg
from tests.compiled.programs import drawn, here


def convnet(jit: bool) -> Any:
    K = drawn(3, 3, 2, 4)
    b = drawn(4)
    D = drawn(4 * 4 * 4, 3)
    x = drawn(5, 8, 8, 2)
    y = np.arange(5) % 3
    k, bb, d = [tg.Variable(here(v)) for v in (K, b, D)]

    @tg.function(jit_compile=jit)
    def f(x, y):
        with tg.GradientTape() as t:
            h = tg.nn.relu(tg.nn.conv2d(x, k, padding=1) + bb)
            h = tg.nn.max_pool2d(h, 2)
            loss = tg.nn.cross_entropy(tg.reshape(h, (x.shape[0], -1)) @ d, y)
        gs = t.gradient(loss, [k, bb, d])
        for v, g in zip([k, bb, d], gs, strict=True):
            v.assign_sub(0.05 * g)
        return loss, gs

    k2, b2, d2 = [tf.Variable(v) for v in (K, b, D)]

    @tf.function(jit_compile=jit)
    def f2(x, y):
        with tf.GradientTape() as t:
            h = tf.nn.relu(tf.nn.conv2d(x, k2, 1, "SAME") + b2)
            h = tf.nn.max_pool2d(h, 2, 2, "VALID")
            loss = tf.reduce_mean(
                tf.nn.sparse_softmax_cross_entropy_with_logits(y, tf.reshape(h, (tf.shape(x)[0], 64)) @ d2)
            )
        gs = t.gradient(loss, [k2, b2, d2])
        for v, g in zip([k2, b2, d2], gs, strict=True):
            v.assign_sub(0.05 * g)
        return loss, gs

    o, o2 = [], []
    for n in (5, 3, 4):
        o.append(f(x[:n], y[:n]))
        o2.append(f2(tf.constant(x[:n]), tf.constant(y[:n])))
    return [o, k], [o2, k2]


def attention(jit: bool) -> Any:
    q, k, v = drawn(2, 5, 4), drawn(2, 5, 4), drawn(2, 5, 4)
    lens = np.array([3, 5])

    @tg.function(jit_compile=jit)
    def f(q, k, v, n):
        with tg.GradientTape() as t:
            t.watch([q, k, v])
            s = tg.einsum("bqd,bkd->bqk", q, k) / q.shape[-1] ** 0.5
            m = tg.arange(k.shape[1])[None, :] < n[:, None]
            s = tg.where(m[:, None, :], s, -tg.inf)
            y = tg.einsum("bqk,bkd->bqd", tg.softmax(s, axis=-1), v)
            loss = tg.sum(y**2)
        return y, t.gradient(loss, [q, k, v])

    @tf.function(jit_compile=jit)
    def f2(q, k, v, n):
        with tf.GradientTape() as t:
            t.watch([q, k, v])
            s = tf.einsum("bqd,bkd->bqk", q, k) / q.shape[-1] ** 0.5
            m = tf.range(tf.shape(k)[1], dtype=tf.int64)[None, :] < n[:, None]
            s = tf.where(m[:, None, :], s, -np.inf)
            y = tf.einsum("bqk,bkd->bqd", tf.nn.softmax(s), v)
            loss = tf.reduce_sum(y**2)
        return y, t.gradient(loss, [q, k, v])

    o, o2 = [], []
    for T in (5, 4, 3):
        a = (q[:, :T], k[:, :T], v[:, :T], np.minimum(lens, T))
        o.append(f(*a))
        o2.append(f2(*map(tf.constant, a)))
    return o, o2


def gaussian_process(jit: bool) -> Any:
    x = drawn(6)
    y = drawn(6)
    ls = tg.Variable(here(np.float32(0.7)))

    @tg.function(jit_compile=jit)
    def f(x, y):
        with tg.GradientTape() as t:
            K = tg.exp(-(((x[:, None] - x[None, :]) / ls) ** 2) / 2) + 0.1 * tg.eye(x.shape[0])
            L = tg.linalg.cholesky(K)
            a = tg.linalg.solve(K, y)
            loss = 0.5 * tg.sum(y * a) + tg.sum(tg.log(tg.linalg.diagonal(L)))
        return loss, t.gradient(loss, ls)

    ls2 = tf.Variable(0.7)

    @tf.function(jit_compile=jit)
    def f2(x, y):
        with tf.GradientTape() as t:
            K = tf.exp(-(((x[:, None] - x[None, :]) / ls2) ** 2) / 2) + 0.1 * tf.eye(6)
            L = tf.linalg.cholesky(K)
            a = tf.linalg.solve(K, y[:, None])[:, 0]
            loss = 0.5 * tf.reduce_sum(y * a) + tf.reduce_sum(tf.math.log(tf.linalg.diag_part(L)))
        return loss, t.gradient(loss, ls2)

    return f(here(x), here(y)), f2(tf.constant(x), tf.constant(y))


def methods(jit: bool) -> Any:
    W = drawn(3, 2)

    class M:
        def __init__(s, k):
            s.w = tg.Variable(here(W * k))
            s.lr = 0.1 * k
            s.n = 0

        @tg.function(jit_compile=jit)
        def step(s, x, *, scale=1.0):
            with tg.GradientTape() as t:
                loss = tg.sum((x @ s.w) ** 2) * scale
            s.w.assign_sub(s.lr * t.gradient(loss, s.w))
            return loss

    class M2:
        def __init__(s, k):
            s.w = tf.Variable(W * k)
            s.lr = 0.1 * k

        @tf.function(jit_compile=jit)
        def step(s, x, *, scale=1.0):
            with tf.GradientTape() as t:
                loss = tf.reduce_sum((x @ s.w) ** 2) * scale
            s.w.assign_sub(s.lr * t.gradient(loss, s.w))
            return loss

    x = drawn(4, 3)
    a, b = M(1), M(0.5)
    o = [a.step(x), b.step(x), a.step(x, scale=0.5), a.w, b.w]
    a, b = M2(1), M2(0.5)
    xc = tf.constant(x)
    o2 = [a.step(xc), b.step(xc), a.step(xc, scale=0.5), a.w, b.w]
    return o, o2


def lazy_variable(jit: bool) -> Any:
    W = drawn(3, 2)
    x = drawn(4, 3)

    class L:
        w = None

    holder = L()

    @tg.function(jit_compile=jit)
    def f(x):
        if holder.w is None:
            holder.w = tg.Variable(here(W))
        with tg.GradientTape() as t:
            y = tg.sum(tg.tanh(x @ holder.w))
        holder.w.assign_sub(t.gradient(y, holder.w))
        return y

    holder2 = L()

    @tf.function(jit_compile=jit)
    def f2(x):
        if holder2.w is None:
            holder2.w = tf.Variable(W)
        with tf.GradientTape() as t:
            y = tf.reduce_sum(tf.tanh(x @ holder2.w))
        holder2.w.assign_sub(t.gradient(y, holder2.w))
        return y

    xc = tf.constant(x)
    return [f(x), f(x), holder.w], [f2(xc), f2(xc), holder2.w]


def numpy_variables(jit: bool) -> Any:
    W = drawn(3)
    w = tg.Variable(W)
    w2 = tf.Variable(W)
    x = drawn(3)

    @tg.function(jit_compile=jit)
    def f(x):
        with tg.GradientTape() as t:
            loss = tg.sum(tg.exp(w * x))
        w.assign_sub(0.1 * t.gradient(loss, w))
        return loss

    o = []
    for _ in range(3):
        o.append(f(x))
        w.assign_add(np.ones(3, "f4") * 0.01)
        o.append(w.numpy().copy())
        with tg.GradientTape() as t:
            y = tg.sum(w**2)
        w.assign_sub(0.1 * t.gradient(y, w))

    @tf.function(jit_compile=jit)
    def f2(x):
        with tf.GradientTape() as t:
            loss = tf.reduce_sum(tf.exp(w2 * x))
        w2.assign_sub(0.1 * t.gradient(loss, w2))
        return loss

    o2 = []
    for _ in range(3):
        o2.append(f2(tf.constant(x)))
        w2.assign_add(np.ones(3, "f4") * 0.01)
        o2.append(w2.numpy().copy())
        with tf.GradientTape() as t:
            y = tf.reduce_sum(w2**2)
        w2.assign_sub(0.1 * t.gradient(y, w2))
    return [o, w], [o2, w2]
