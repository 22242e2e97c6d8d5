"""Chain of four 1024x1024 float32 matrix products, bound by the BLAS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.harness.case import Arrays, Case, Made, Wrap

NAME = "matmul"
TITLE = "chain of 4 matrix products 1024x1024 float32 (forward + backward, 12 products)"
N = 1024
CASES = [Case("1024x1024", {}, "GFLOP/s", 12 * 2 * N**3, ops=6, rtol=1e-3)]
NAMES = ["x", "w0", "w1", "w2", "w3"]


def inputs(c: Case, rng: np.random.Generator) -> Arrays:
    x = {k: rng.standard_normal((N, N), "f4") / 32 for k in NAMES}
    x["r"] = rng.standard_normal((N, N), "f4")
    return x


def numpy_hand(c: Case, data: Arrays) -> Made:
    y, ws, r = data["x"], [data[k] for k in NAMES[1:]], data["r"]

    def step():
        h = [y]
        for w in ws:
            h.append(h[-1] @ w)
        value = (h[-1] * r).sum()
        g, grads = r, []
        for a, w in zip(h[-2::-1], ws[::-1], strict=True):
            grads.append(a.T @ g)
            g = g @ w.T
        return [value, g, *grads[::-1]]

    return step


def _loss(args: Sequence[Any], r: Any, sum_: Callable[[Any], Any]) -> Any:
    y = args[0]
    for w in args[1:]:
        y = y @ w
    return sum_(y * r)


def torch(T: Any, c: Case, data: Arrays) -> Made:
    args = [T.tensor(data[k], requires_grad=True) for k in NAMES]
    r = T.tensor(data["r"])

    def step():
        value = _loss(args, r, T.sum)
        return [value, *T.autograd.grad(value, args)]

    return step


def tf(tf: Any, c: Case, data: Arrays, wrap: Wrap) -> Made:
    args = [tf.constant(data[k]) for k in NAMES]
    r = tf.constant(data["r"])

    def run(r, *args):
        with tf.GradientTape() as tape:
            tape.watch(args)
            value = _loss(args, r, tf.reduce_sum)
        return [value, *tape.gradient(value, args)]

    f = wrap(run)
    return lambda: f(r, *args)


def jax(jax: Any, c: Case, data: Arrays, wrap: Wrap) -> Made:
    import jax.numpy as jnp

    args = [jnp.asarray(data[k]) for k in NAMES]
    r = jnp.asarray(data["r"])
    f = wrap(jax.value_and_grad(lambda args, r: _loss(args, r, jnp.sum)))

    def step():
        value, grads = jax.block_until_ready(f(args, r))
        return [value, *grads]

    return step


def autograd(ag: Any, c: Case, data: Arrays) -> Made:
    import autograd.numpy as anp

    args, r = [data[k] for k in NAMES], data["r"]
    f = ag.value_and_grad(lambda args: _loss(args, r, anp.sum))

    def step():
        value, grads = f(args)
        return [value, *grads]

    return step


def mygrad(mg: Any, c: Case, data: Arrays) -> Made:
    arrays, r = [data[k] for k in NAMES], data["r"]

    def step():
        args = [mg.tensor(a, copy=False) for a in arrays]
        value = _loss(args, r, mg.sum)
        value.backward()
        return [value, *(a.grad for a in args)]

    return step
