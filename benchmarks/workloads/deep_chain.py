"""Deep chain: 20,000 scalar ops, then backward: graph traversal and memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness.case import Arrays, Case, Made, Wrap

NAME = "deep_chain"
TITLE = "deep chain of 20,000 scalar ops (forward + backward)"
N = 20_000
CASES = [Case("20,000 ops", {"n": N}, "us/op", N, ops=N, rtol=5e-3)]
MEMORY = {"n": 40}  # override for the warm-up of the memory child
SKIP = {
    "tf_function": "not tried: tracing 3,000 unrolled ops (indexing) already took 27 s on a busy machine",
    "tf_xla": "not tried: 3,000 unrolled ops (indexing) did not compile within 90 s on a busy machine",
    "jax_jit": "not tried: 3,000 unrolled ops (indexing) did not compile within 90 s on a busy machine",
}


def inputs(c: Case, rng: np.random.Generator) -> Arrays:
    return {"x": np.full((), 0.5, "f4"), "a": np.full((), 0.9995, "f4"), "b": np.full((), 0.0004, "f4")}


def chain(x: Any, a: Any, b: Any, n: int) -> Any:
    """n ops, each on the result of the one before."""
    y = x
    for _ in range(n // 2):
        y = y * a
        y = y + b
    return y


def numpy_hand(c: Case, data: Arrays) -> Made:
    x, a, b = data["x"], data["a"], data["b"]
    n = c.p["n"]

    def step():
        y = x
        saved = []
        for _ in range(n // 2):
            saved.append(y)
            y = y * a
            y = y + b
        g = np.ones_like(y)
        ga, gb = np.zeros_like(a), np.zeros_like(b)
        for s in reversed(saved):
            gb = gb + g
            ga = ga + g * s
            g = g * a
        return [y, g, ga, gb]

    return step


def torch(T: Any, c: Case, data: Arrays) -> Made:
    x, a, b = (T.tensor(data[k], requires_grad=True) for k in "xab")

    def step():
        y = chain(x, a, b, c.p["n"])
        return [y, *T.autograd.grad(y, [x, a, b])]

    return step


def tf(tf: Any, c: Case, data: Arrays, wrap: Wrap) -> Made:
    args = [tf.constant(data[k]) for k in "xab"]

    def run(*args):
        with tf.GradientTape() as tape:
            tape.watch(args)
            y = chain(*args, c.p["n"])
        return [y, *tape.gradient(y, args)]

    f = wrap(run)
    return lambda: f(*args)


def autograd(ag: Any, c: Case, data: Arrays) -> Made:
    args = [data[k] for k in "xab"]
    f = ag.make_vjp(lambda x, a, b: chain(x, a, b, c.p["n"]), (0, 1, 2))

    def step():
        back, y = f(*args)
        return [y, *back(1.0)]

    return step


def mygrad(mg: Any, c: Case, data: Arrays) -> Made:
    arrays = [data[k] for k in "xab"]

    def step():
        x, a, b = (mg.tensor(v, copy=False) for v in arrays)
        y = chain(x, a, b, c.p["n"])
        y.backward()
        return [y, x.grad, a.grad, b.grad]

    return step
