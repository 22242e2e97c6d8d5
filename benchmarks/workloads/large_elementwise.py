"""Large elementwise: 10 ops on 4M float32, bound by memory bandwidth."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness.case import Arrays, Case, Made, Wrap

NAME = "large_elementwise"
TITLE = "10 elementwise ops on 4M float32 (GB/s of the eager step's traffic; above a copy = fusion)"
N = 4 * 1024 * 1024
# Bytes per element that the hand-written eager step moves: 116 forward, 192 backward.
TRAFFIC = (116 + 192) * N
CASES = [Case("4M float32", {"n": N}, "GB/s", TRAFFIC, ops=11, rtol=5e-4)]
MEMORY = {"n": 64}


def inputs(c: Case, rng: np.random.Generator) -> Arrays:
    n = c.p["n"]
    w = rng.random(n, "f4") + 0.25
    w[abs(w - 0.618) < 0.02] += 0.1  # keeps the relu away from its kink
    return {"x": rng.random(n, "f4") + 0.25, "w": w}


def ten(x: Any, w: Any, relu: Callable[[Any], Any]) -> Any:
    """Ten ops, each on the result of the one before."""
    y = x * w
    y = y + x
    y = y * w
    y = y - x
    y = relu(y)
    y = y * w
    y = y + x
    y = y * y
    y = y * w
    return y - x


def numpy_hand(c: Case, data: Arrays) -> Made:
    x, w = data["x"], data["w"]
    n = c.p["n"]

    def step():
        y1 = x * w
        y2 = y1 + x
        y3 = y2 * w
        y4 = y3 - x
        y5 = np.maximum(y4, 0)
        y6 = y5 * w
        y7 = y6 + x
        y8 = y7 * y7
        y9 = y8 * w
        y10 = y9 - x
        value = y10.mean()
        g = x.dtype.type(1 / n)
        gw = g * y8
        g = g * w
        g = g * y7
        g *= 2
        gx = g - x.dtype.type(1 / n)
        gw += g * y5
        g = g * w
        g *= y4 > 0
        gx -= g
        gw += g * y2
        g = g * w
        gx += g
        gx += g * w
        gw += g * x
        return [value, gx, gw]

    return step


def numpy_out(c: Case, data: Arrays) -> Made:
    x, w = data["x"], data["w"]
    n = c.p["n"]
    pool = [np.empty_like(x) for _ in range(9)]
    mask = np.empty(n, bool)

    def step():
        y2, y4, y5, y7, y8, g, s, gx, gw = pool
        np.multiply(x, w, out=y2)
        np.add(y2, x, out=y2)
        np.multiply(y2, w, out=y4)
        np.subtract(y4, x, out=y4)
        np.maximum(y4, 0, out=y5)
        np.multiply(y5, w, out=y7)
        np.add(y7, x, out=y7)
        np.multiply(y7, y7, out=y8)
        np.multiply(y8, w, out=s)
        np.subtract(s, x, out=s)
        value = s.mean()
        u = x.dtype.type(1 / n)
        np.multiply(y8, u, out=gw)
        np.multiply(w, 2 * u, out=g)
        np.multiply(g, y7, out=g)
        np.subtract(g, u, out=gx)
        np.multiply(g, y5, out=s)
        np.add(gw, s, out=gw)
        np.multiply(g, w, out=g)
        np.greater(y4, 0, out=mask)
        np.multiply(g, mask, out=g)
        np.subtract(gx, g, out=gx)
        np.multiply(g, y2, out=s)
        np.add(gw, s, out=gw)
        np.multiply(g, w, out=g)
        np.add(gx, g, out=gx)
        np.multiply(g, w, out=s)
        np.add(gx, s, out=gx)
        np.multiply(g, x, out=s)
        np.add(gw, s, out=gw)
        return [value, gx, gw]

    return step


def torch(T: Any, c: Case, data: Arrays) -> Made:
    x, w = (T.tensor(data[k], requires_grad=True) for k in "xw")

    def step():
        value = ten(x, w, T.relu).mean()
        return [value, *T.autograd.grad(value, [x, w])]

    return step


def tf(tf: Any, c: Case, data: Arrays, wrap: Wrap) -> Made:
    args = [tf.constant(data[k]) for k in "xw"]

    def run(*args):
        with tf.GradientTape() as tape:
            tape.watch(args)
            value = tf.reduce_mean(ten(*args, tf.nn.relu))
        return [value, *tape.gradient(value, args)]

    f = wrap(run)
    return lambda: f(*args)


def jax(jax: Any, c: Case, data: Arrays, wrap: Wrap) -> Made:
    import jax.numpy as jnp

    args = [jnp.asarray(data[k]) for k in "xw"]
    f = wrap(jax.value_and_grad(lambda x, w: jnp.mean(ten(x, w, jax.nn.relu)), (0, 1)))

    def step():
        value, grads = jax.block_until_ready(f(*args))
        return [value, *grads]

    return step


def autograd(ag: Any, c: Case, data: Arrays) -> Made:
    import autograd.numpy as anp

    args = [data[k] for k in "xw"]
    f = ag.make_vjp(lambda x, w: anp.mean(ten(x, w, lambda y: anp.maximum(y, 0))), (0, 1))

    def step():
        back, value = f(*args)
        return [value, *back(1.0)]

    return step


def mygrad(mg: Any, c: Case, data: Arrays) -> Made:
    from mygrad.nnet.activations import relu

    arrays = [data[k] for k in "xw"]

    def step():
        x, w = (mg.tensor(a, copy=False) for a in arrays)
        value = ten(x, w, relu).mean()
        value.backward()
        return [value, x.grad, w.grad]

    return step
