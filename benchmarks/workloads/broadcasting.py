"""Broadcasting and reductions: batch norm, logsumexp, softmax attention."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness.case import Arrays, Case, Made, Wrap

NAME = "broadcasting"
TITLE = "broadcasting and reductions (forward + backward)"
CASES = [
    Case("batch norm 256x512 from primitives", {"kind": "batchnorm"}, "us", ops=13, rtol=1e-3),
    Case("logsumexp 256x512", {"kind": "logsumexp"}, "us", ops=3, rtol=1e-3, quick=False),
    Case("softmax attention 8x64x64", {"kind": "attention"}, "us", ops=7, rtol=1e-3),
]
EPS = 1e-5


def inputs(c: Case, rng: np.random.Generator) -> Arrays:
    kind = c.p["kind"]
    if kind == "batchnorm":
        return {
            "x": rng.standard_normal((256, 512), "f4") * 2 + 1,
            "gamma": rng.random(512, "f4") + 0.5,
            "beta": rng.standard_normal(512, "f4"),
            "r": rng.standard_normal((256, 512), "f4"),
        }
    if kind == "logsumexp":
        return {"x": rng.standard_normal((256, 512), "f4") * 3, "r": rng.standard_normal(256, "f4")}
    return {k: rng.standard_normal((8, 64, 64), "f4") for k in "qkvr"}


ARGS = {"batchnorm": ["x", "gamma", "beta"], "logsumexp": ["x"], "attention": ["q", "k", "v"]}


def numpy_hand(c: Case, data: Arrays) -> Made:
    kind = c.p["kind"]
    if kind == "batchnorm":
        x, gamma, beta, r = (data[k] for k in ("x", "gamma", "beta", "r"))
        n = len(x)

        def step():
            xc = x - x.mean(0)
            inv = 1 / np.sqrt((xc * xc).mean(0) + EPS)
            xh = xc * inv
            y = xh * gamma + beta
            value = (y * r).sum()
            db = r.sum(0)
            dg = (r * xh).sum(0)
            dx = (r - db / n - xh * (dg / n)) * (gamma * inv)
            return [value, dx, dg, db]

        return step
    if kind == "logsumexp":
        x, r = data["x"], data["r"]

        def step():
            m = x.max(1, keepdims=True)
            e = np.exp(x - m)
            s = e.sum(1, keepdims=True)
            value = ((np.log(s) + m)[:, 0] * r).sum()
            return [value, e * (r[:, None] / s)]

        return step
    q, k, v, r = (data[n] for n in "qkvr")

    def step():
        s = q @ k.swapaxes(1, 2) * 0.125
        e = np.exp(s - s.max(2, keepdims=True))
        p = e / e.sum(2, keepdims=True)
        value = ((p @ v) * r).sum()
        dv = p.swapaxes(1, 2) @ r
        dp = r @ v.swapaxes(1, 2)
        ds = p * (dp - (dp * p).sum(2, keepdims=True)) * 0.125
        return [value, ds @ k, ds.swapaxes(1, 2) @ q, dv]

    return step


def batch_norm(x: Any, gamma: Any, beta: Any, mean: Callable[..., Any], sqrt: Callable[[Any], Any]) -> Any:
    """Batch norm over axis 0 from primitives; `mean(x, axis)`."""
    xc = x - mean(x, 0)
    var = mean(xc * xc, 0)
    return xc / sqrt(var + EPS) * gamma + beta


def torch(T: Any, c: Case, data: Arrays) -> Made:
    kind = c.p["kind"]
    args = [T.tensor(data[k], requires_grad=True) for k in ARGS[kind]]
    r = T.tensor(data["r"])

    def step():
        if kind == "batchnorm":
            y = batch_norm(*args, T.mean, T.sqrt)
        elif kind == "logsumexp":
            y = T.logsumexp(args[0], 1)
        else:
            q, k, v = args
            y = T.softmax(q @ k.transpose(1, 2) * 0.125, 2) @ v
        value = (y * r).sum()
        return [value, *T.autograd.grad(value, args)]

    return step


def tf(tf: Any, c: Case, data: Arrays, wrap: Wrap) -> Made:
    kind = c.p["kind"]
    args = [tf.constant(data[k]) for k in ARGS[kind]]
    r = tf.constant(data["r"])

    def run(r, *args):
        with tf.GradientTape() as tape:
            tape.watch(args)
            if kind == "batchnorm":
                y = batch_norm(*args, tf.reduce_mean, tf.sqrt)
            elif kind == "logsumexp":
                y = tf.reduce_logsumexp(args[0], 1)
            else:
                q, k, v = args
                y = tf.matmul(tf.nn.softmax(tf.matmul(q, k, transpose_b=True) * 0.125), v)
            value = tf.reduce_sum(y * r)
        return [value, *tape.gradient(value, args)]

    f = wrap(run)
    return lambda: f(r, *args)


def jax(jax: Any, c: Case, data: Arrays, wrap: Wrap) -> Made:
    import jax.numpy as jnp

    kind = c.p["kind"]
    args = [jnp.asarray(data[k]) for k in ARGS[kind]]
    r = jnp.asarray(data["r"])

    def loss(args, r):
        if kind == "batchnorm":
            y = batch_norm(*args, jnp.mean, jnp.sqrt)
        elif kind == "logsumexp":
            y = jax.nn.logsumexp(args[0], 1)
        else:
            q, k, v = args
            y = jax.nn.softmax(q @ k.swapaxes(1, 2) * 0.125, 2) @ v
        return jnp.sum(y * r)

    f = wrap(jax.value_and_grad(loss))

    def step():
        value, grads = jax.block_until_ready(f(args, r))
        return [value, *grads]

    return step


def autograd(ag: Any, c: Case, data: Arrays) -> Made:
    import autograd.numpy as anp
    from autograd.scipy.special import logsumexp

    kind = c.p["kind"]
    args, r = [data[k] for k in ARGS[kind]], data["r"]

    def loss(args):
        if kind == "batchnorm":
            y = batch_norm(*args, anp.mean, anp.sqrt)
        elif kind == "logsumexp":
            y = logsumexp(args[0], 1)
        else:
            q, k, v = args
            s = anp.matmul(q, anp.swapaxes(k, 1, 2)) * 0.125
            y = anp.matmul(anp.exp(s - logsumexp(s, 2, keepdims=True)), v)
        return anp.sum(y * r)

    f = ag.value_and_grad(loss)

    def step():
        value, grads = f(args)
        return [value, *grads]

    return step


def mygrad(mg: Any, c: Case, data: Arrays) -> Made:
    from mygrad.nnet.activations import softmax

    kind = c.p["kind"]
    arrays, r = [data[k] for k in ARGS[kind]], data["r"]

    def step():
        args = [mg.tensor(a, copy=False) for a in arrays]
        if kind == "batchnorm":
            y = batch_norm(*args, mg.mean, mg.sqrt)
        elif kind == "logsumexp":
            m = arrays[0].max(1, keepdims=True)  # mygrad has no logsumexp
            y = mg.log(mg.sum(mg.exp(args[0] - m), 1)) + m[:, 0]
        else:
            q, k, v = args
            y = mg.matmul(softmax(mg.matmul(q, mg.swapaxes(k, 1, 2)) * 0.125), v)
        value = (y * r).sum()
        value.backward()
        return [value, *(a.grad for a in args)]

    return step
