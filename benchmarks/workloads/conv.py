"""Convolutional net: LeNet-5 training step on 32x1x28x28."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness.case import Arrays, Case, Made, Wrap, moved

NAME = "conv"
TITLE = "LeNet-5 training step on 32x1x28x28 (forward, backward, SGD)"
B, LR = 32, 0.1
CASES = [Case("batch 32", {}, "ms", ops=17, check_steps=3, rtol=2e-3)]
SKIP = {"autograd": "no convolution for training"}
NAMES = ["K0", "k0", "K1", "k1", "W0", "b0", "W1", "b1", "W2", "b2"]
# Reference layout: images NHWC, kernels HWIO, dense weights (in, out) with rows in NHWC order.


def inputs(c: Case, rng: np.random.Generator) -> Arrays:
    def normal(*shape, fan):
        return (rng.standard_normal(shape) * (2 / fan) ** 0.5).astype("f4")

    x = {
        "X": rng.standard_normal((B, 28, 28, 1)).astype("f4"),
        "y": rng.integers(0, 10, B),
        "K0": normal(5, 5, 1, 6, fan=25),
        "K1": normal(5, 5, 6, 16, fan=150),
        "W0": normal(400, 120, fan=400),
        "W1": normal(120, 84, fan=120),
        "W2": normal(84, 10, fan=84),
    }
    for k, n in (("k0", 6), ("k1", 16), ("b0", 120), ("b1", 84), ("b2", 10)):
        x[k] = normal(n, fan=200)
    return x


def numpy_hand(c: Case, data: Arrays) -> Made:
    from numpy.lib.stride_tricks import sliding_window_view

    post = moved(data, NAMES)
    X, y = data["X"], data["y"]
    ps = [data[k].copy() for k in NAMES]
    K0, k0, K1, k1, W0, b0, W1, b1, W2, b2 = ps
    rows = np.arange(B)

    def columns(a):
        w = sliding_window_view(a, (5, 5), axis=(1, 2))  # B, H, W, C, 5, 5
        return np.ascontiguousarray(w.transpose(0, 1, 2, 4, 5, 3)).reshape(-1, 25 * a.shape[3])

    # Each of these is several times faster than the obvious way (max over a reshaped array, sum over the long axis,
    # columns added back with the channels innermost).
    def pool(a):
        t = np.maximum(a[:, ::2], a[:, 1::2])
        return np.maximum(t[:, :, ::2], t[:, :, 1::2])

    def unpool(g, a, m):
        out = np.empty_like(a)
        for i in (0, 1):
            for j in (0, 1):
                np.multiply(g, a[:, i::2, j::2] == m, out=out[:, i::2, j::2])
        return out

    def total(g):
        return np.ones(len(g), g.dtype) @ g

    def input_gradient(g, kernel):
        """Of the second convolution; pixels outermost, so that rows added are long."""
        gt = np.ascontiguousarray(g.reshape(B, 100, 16).transpose(1, 0, 2)).reshape(-1, 16)
        parts = (gt @ np.ascontiguousarray(kernel.reshape(25, 6, 16).transpose(0, 2, 1))).reshape(5, 5, 10, 10, -1)
        out = np.zeros((14, 14, B * 6), g.dtype)
        for i in range(5):
            for j in range(5):
                out[i : i + 10, j : j + 10] += parts[i, j]
        return out.reshape(14, 14, B, 6).transpose(2, 0, 1, 3)

    def step():
        c0 = columns(np.pad(X, ((0, 0), (2, 2), (2, 2), (0, 0))))
        a0 = np.maximum(c0 @ K0.reshape(25, 6) + k0, 0).reshape(B, 28, 28, 6)
        p0 = pool(a0)
        c1 = columns(p0)
        a1 = np.maximum(c1 @ K1.reshape(150, 16) + k1, 0).reshape(B, 10, 10, 16)
        p1 = pool(a1)
        f = p1.reshape(B, 400)
        h1 = np.maximum(f @ W0 + b0, 0)
        h2 = np.maximum(h1 @ W1 + b1, 0)
        z = h2 @ W2 + b2
        m = z.max(1, keepdims=True)
        e = np.exp(z - m)
        s = e.sum(1, keepdims=True)
        loss = (np.log(s) + m).mean() - z[rows, y].mean()
        g = e / s
        g[rows, y] -= 1
        g /= B
        gW2, gb2 = h2.T @ g, g.sum(0)
        g = (g @ W2.T) * (h2 > 0)
        gW1, gb1 = h1.T @ g, g.sum(0)
        g = (g @ W1.T) * (h1 > 0)
        gW0, gb0 = f.T @ g, g.sum(0)
        g = unpool((g @ W0.T).reshape(p1.shape), a1, p1) * (a1 > 0)
        g = g.reshape(-1, 16)
        gK1, gk1 = (c1.T @ g).reshape(K1.shape), total(g)
        g = (unpool(input_gradient(g, K1), a0, p0) * (a0 > 0)).reshape(-1, 6)
        gK0, gk0 = (c0.T @ g).reshape(K0.shape), total(g)
        for p, g in zip(ps, (gK0, gk0, gK1, gk1, gW0, gb0, gW1, gb1, gW2, gb2), strict=True):
            np.subtract(p, LR * g, out=p)
        return [loss, *ps]

    return step, post


# Layout of torch and mygrad (NCHW images, OIHW kernels), and the way back to the reference's.
_CANONICAL = {
    "K0": lambda p: p.transpose(2, 3, 1, 0),
    "K1": lambda p: p.transpose(2, 3, 1, 0),
    "W0": lambda p: p.reshape(120, 16, 5, 5).transpose(2, 3, 1, 0).reshape(400, 120),
    "W1": lambda p: p.T,
    "W2": lambda p: p.T,
}


def _nchw(data: Arrays) -> Arrays:
    """The inputs in the layout of torch and mygrad."""
    return {
        "X": data["X"].transpose(0, 3, 1, 2).copy(),
        "K0": data["K0"].transpose(3, 2, 0, 1).copy(),
        "K1": data["K1"].transpose(3, 2, 0, 1).copy(),
        "W0": data["W0"].reshape(5, 5, 16, 120).transpose(3, 2, 0, 1).reshape(120, 400).copy(),
        "W1": data["W1"].T.copy(),
        "W2": data["W2"].T.copy(),
        **{k: data[k] for k in ("y", "k0", "k1", "b0", "b1", "b2")},
    }


def torch(T: Any, c: Case, data: Arrays) -> Made:
    F = T.nn.functional
    post = moved(data, NAMES, _CANONICAL)
    data = _nchw(data)
    X, y = T.tensor(data["X"]), T.tensor(data["y"])
    ps = [T.tensor(data[k], requires_grad=True) for k in NAMES]
    K0, k0, K1, k1, W0, b0, W1, b1, W2, b2 = ps

    def step():
        h = F.max_pool2d(T.relu(F.conv2d(X, K0, k0, padding=2)), 2)
        h = F.max_pool2d(T.relu(F.conv2d(h, K1, k1)), 2)
        h = T.relu(F.linear(h.reshape(B, 400), W0, b0))
        h = T.relu(F.linear(h, W1, b1))
        loss = F.cross_entropy(F.linear(h, W2, b2), y)
        grads = T.autograd.grad(loss, ps)
        with T.no_grad():
            for p, g in zip(ps, grads, strict=True):
                p.sub_(g, alpha=LR)
        return [loss, *ps]

    return step, post


def tf(tf: Any, c: Case, data: Arrays, wrap: Wrap) -> Made:
    post = moved(data, NAMES)
    X, y = tf.constant(data["X"]), tf.constant(data["y"])
    ps = [tf.Variable(data[k]) for k in NAMES]
    K0, k0, K1, k1, W0, b0, W1, b1, W2, b2 = ps

    def run(X, y):
        with tf.GradientTape() as tape:
            h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(X, K0, 1, "SAME"), k0))
            h = tf.nn.max_pool2d(h, 2, 2, "VALID")
            h = tf.nn.relu(tf.nn.bias_add(tf.nn.conv2d(h, K1, 1, "VALID"), k1))
            h = tf.reshape(tf.nn.max_pool2d(h, 2, 2, "VALID"), (B, 400))
            h = tf.nn.relu(tf.nn.bias_add(tf.matmul(h, W0), b0))
            h = tf.nn.relu(tf.nn.bias_add(tf.matmul(h, W1), b1))
            z = tf.nn.bias_add(tf.matmul(h, W2), b2)
            loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, z))
        for p, g in zip(ps, tape.gradient(loss, ps), strict=True):
            p.assign_sub(LR * g)
        return loss

    f = wrap(run)
    return (lambda: [f(X, y), *ps]), post


def jax(jax: Any, c: Case, data: Arrays, wrap: Wrap) -> Made:
    import jax.numpy as jnp

    post = moved(data, NAMES)
    X, y = jnp.asarray(data["X"]), jnp.asarray(data["y"])
    ps = [jnp.array(data[k]) for k in NAMES]

    def conv(a, k, pad):
        return jax.lax.conv_general_dilated(a, k, (1, 1), pad, dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def pool(a):
        return jax.lax.reduce_window(a, -jnp.inf, jax.lax.max, (1, 2, 2, 1), (1, 2, 2, 1), "VALID")

    def loss(ps, X, y):
        K0, k0, K1, k1, W0, b0, W1, b1, W2, b2 = ps
        h = pool(jax.nn.relu(conv(X, K0, "SAME") + k0))
        h = pool(jax.nn.relu(conv(h, K1, "VALID") + k1)).reshape(B, 400)
        h = jax.nn.relu(h @ W0 + b0)
        h = jax.nn.relu(h @ W1 + b1)
        z = h @ W2 + b2
        return jnp.mean(jax.nn.logsumexp(z, 1) - jnp.take_along_axis(z, y[:, None], 1)[:, 0])

    def run(ps, X, y):
        value, grads = jax.value_and_grad(loss)(ps, X, y)
        return value, [p - LR * g for p, g in zip(ps, grads, strict=True)]

    f = wrap(run, donate_argnums=0)

    def step():
        nonlocal ps
        value, ps = jax.block_until_ready(f(ps, X, y))
        return [value, *ps]

    return step, post


def mygrad(mg: Any, c: Case, data: Arrays) -> Made:
    from mygrad.nnet.activations import relu
    from mygrad.nnet.layers import conv_nd, max_pool
    from mygrad.nnet.losses import softmax_crossentropy

    post = moved(data, NAMES, _CANONICAL)
    data = _nchw(data)
    X, y = data["X"], data["y"]
    ps = [mg.tensor(data[k]) for k in NAMES]
    K0, k0, K1, k1, W0, b0, W1, b1, W2, b2 = ps

    def step():
        h = conv_nd(X, K0, stride=1, padding=2) + k0.reshape(1, 6, 1, 1)
        h = max_pool(relu(h), (2, 2), 2)
        h = conv_nd(h, K1, stride=1) + k1.reshape(1, 16, 1, 1)
        h = max_pool(relu(h), (2, 2), 2).reshape(B, 400)
        h = relu(mg.matmul(h, W0.T) + b0)
        h = relu(mg.matmul(h, W1.T) + b1)
        loss = softmax_crossentropy(mg.matmul(h, W2.T) + b2, y)
        loss.backward()
        for p in ps:
            p.data -= LR * p.grad
        return [loss, *ps]

    return step, post
