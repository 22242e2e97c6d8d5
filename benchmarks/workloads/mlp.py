"""Training step of an MLP 784-256-128-10: forward, backward, SGD update."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.harness.case import Arrays, Case, Made, Wrap, moved

NAME = "mlp"
TITLE = "MLP 784-256-128-10 training step (softmax cross-entropy, SGD)"
SIZES = [784, 256, 128, 10]
LR = 0.1
CASES = [
    Case("batch 16", {"batch": 16}, "us", ops=9, check_steps=3, rtol=1e-3),
    Case("batch 256", {"batch": 256}, "us", ops=9, check_steps=3, rtol=1e-3, quick=False),
]
# Outputs are the loss and how far each parameter has moved after three steps.


def inputs(c: Case, rng: np.random.Generator) -> Arrays:
    x = {"X": rng.random((c.p["batch"], SIZES[0]), "f4"), "y": rng.integers(0, SIZES[-1], c.p["batch"])}
    for i, (n, m) in enumerate(pairwise(SIZES)):
        x[f"W{i}"] = (rng.standard_normal((n, m)) * (2 / n) ** 0.5).astype("f4")
        x[f"b{i}"] = rng.standard_normal(m).astype("f4") * 0.01
    return x


NAMES = ["W0", "b0", "W1", "b1", "W2", "b2"]


def numpy_hand(c: Case, data: Arrays) -> Made:
    post = moved(data, NAMES)
    X, y = data["X"], data["y"]
    W0, b0, W1, b1, W2, b2 = (data[k].copy() for k in NAMES)
    rows = np.arange(len(y))
    n = len(y)

    def step():
        h1 = np.maximum(X @ W0 + b0, 0)
        h2 = np.maximum(h1 @ W1 + b1, 0)
        z = h2 @ W2 + b2
        m = z.max(1, keepdims=True)
        e = np.exp(z - m)
        s = e.sum(1, keepdims=True)
        loss = (np.log(s) + m).mean() - z[rows, y].mean()
        g3 = e / s
        g3[rows, y] -= 1
        g3 /= n
        g2 = (g3 @ W2.T) * (h2 > 0)
        g1 = (g2 @ W1.T) * (h1 > 0)
        for p, g in (
            (W2, h2.T @ g3),
            (b2, g3.sum(0)),
            (W1, h1.T @ g2),
            (b1, g2.sum(0)),
            (W0, X.T @ g1),
            (b0, g1.sum(0)),
        ):
            np.subtract(p, LR * g, out=p)
        return [loss, W0, b0, W1, b1, W2, b2]

    return step, post


def torch(T: Any, c: Case, data: Arrays) -> Made:
    F = T.nn.functional
    post = moved(data, NAMES, {k: (lambda p: p.T) for k in ("W0", "W1", "W2")})
    X, y = T.tensor(data["X"]), T.tensor(data["y"])
    # nn.Linear's layout
    ps = [T.tensor(data[k].T.copy() if k[0] == "W" else data[k], requires_grad=True) for k in NAMES]
    W0, b0, W1, b1, W2, b2 = ps

    def step():
        h = T.relu(F.linear(X, W0, b0))
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
    W0, b0, W1, b1, W2, b2 = ps

    def run(X, y):
        with tf.GradientTape() as tape:
            h = tf.nn.relu(tf.nn.bias_add(tf.matmul(X, W0), b0))
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

    def loss(ps, X, y):
        W0, b0, W1, b1, W2, b2 = ps
        h = jax.nn.relu(X @ W0 + b0)
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


def autograd(ag: Any, c: Case, data: Arrays) -> Made:
    import autograd.numpy as anp
    from autograd.scipy.special import logsumexp

    post = moved(data, NAMES)
    X, y = data["X"], data["y"]
    ps = [data[k].copy() for k in NAMES]
    rows = anp.arange(len(y))

    def loss(ps):
        W0, b0, W1, b1, W2, b2 = ps
        h = anp.maximum(anp.dot(X, W0) + b0, 0)
        h = anp.maximum(anp.dot(h, W1) + b1, 0)
        z = anp.dot(h, W2) + b2
        return anp.mean(logsumexp(z, 1) - z[rows, y])

    f = ag.value_and_grad(loss)

    def step():
        value, grads = f(ps)
        for p, g in zip(ps, grads, strict=True):
            np.subtract(p, LR * g, out=p)
        return [value, *ps]

    return step, post


def mygrad(mg: Any, c: Case, data: Arrays) -> Made:
    from mygrad.nnet.activations import relu
    from mygrad.nnet.losses import softmax_crossentropy

    post = moved(data, NAMES)
    X, y = data["X"], data["y"]
    ps = [mg.tensor(data[k]) for k in NAMES]
    W0, b0, W1, b1, W2, b2 = ps

    def step():
        h = relu(mg.matmul(X, W0) + b0)
        h = relu(mg.matmul(h, W1) + b1)
        loss = softmax_crossentropy(mg.matmul(h, W2) + b2, y)
        loss.backward()
        for p in ps:
            p.data -= LR * p.grad
        return [loss, *ps]

    return step, post
