"""Functions of functions: the Hessian, forward, reverse and mixed, and the gradient of each example."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.harness.case import Arrays, Case, Made, Wrap

NAME = "transforms"
TITLE = "transforms"
#: The Hessian is that of the sum of c tanh(B tanh(A x)), with B (M,N) and A (N,D).
D, N, M = 64, 128, 32
MODES = ("forward-over-reverse", "reverse-over-reverse", "reverse-over-forward", "forward-over-forward")
CASES = [
    *(Case(f"{mode} Hessian, {D}-d", {"mode": mode}, "ms", rtol=1e-3, quick=False) for mode in MODES),
    Case("per-example gradients, MLP 64-64-10, batch 128", {"mode": None}, "ms", rtol=1e-3, quick=False),
]
SKIP = dict.fromkeys(("tf_eager", "tf_function", "tf_xla", "autograd", "mygrad"), "no such transforms")
EXAMPLES, SIZES = 128, (64, 64, 10)
NAMES = ["W0", "b0", "W1", "b1"]


def inputs(c: Case, rng: np.random.Generator) -> Arrays:
    if c.p["mode"]:
        return {
            "x": rng.standard_normal(D).astype("f4"),
            "A": (rng.standard_normal((N, D)) / D**0.5).astype("f4"),
            "B": (rng.standard_normal((M, N)) / N**0.5).astype("f4"),
            "c": rng.standard_normal(M).astype("f4"),
        }
    data = {"X": rng.standard_normal((EXAMPLES, SIZES[0]), "f4"), "y": rng.integers(0, SIZES[-1], EXAMPLES)}
    for i, (n, m) in enumerate(pairwise(SIZES)):
        data[f"W{i}"] = (rng.standard_normal((n, m)) / n**0.5).astype("f4")
        data[f"b{i}"] = rng.standard_normal(m).astype("f4") * 0.1
    return data


def numpy_hand(c: Case, data: Arrays) -> Made:
    return _numpy_hessian(data) if c.p["mode"] else _numpy_examples(data)


def _numpy_hessian(data: Arrays) -> Made:
    x, A, B, c = (data[k] for k in "xABc")

    def step():
        h = np.tanh(A @ x)
        t = np.tanh(B @ h)
        slope, bend = 1 - h * h, c * (1 - t * t)
        J = slope[:, None] * A
        BJ = B @ J
        return [BJ.T @ ((-2 * t * bend)[:, None] * BJ) + A.T @ ((bend @ B * -2 * h * slope)[:, None] * A)]

    return step


def _numpy_examples(data: Arrays) -> Made:
    X, y = data["X"], data["y"]
    W0, b0, W1, b1 = (data[k] for k in NAMES)
    rows = np.arange(len(y))

    def step():
        h = np.tanh(X @ W0 + b0)
        z = h @ W1 + b1
        e = np.exp(z - z.max(1, keepdims=True))
        g = e / e.sum(1, keepdims=True)
        g[rows, y] -= 1
        d = g @ W1.T * (1 - h * h)
        return [X[:, :, None] * d[:, None, :], d, h[:, :, None] * g[:, None, :], g]

    return step


def torch(T: Any, c: Case, data: Arrays) -> Made:
    F, func = T.nn.functional, T.func
    if c.p["mode"]:
        x, A, B, w = (T.tensor(data[k]) for k in "xABc")
        by = {"forward": func.jacfwd, "reverse": func.jacrev}
        outer, inner = (by[kind] for kind in c.p["mode"].split("-over-"))
        derivative = outer(inner(lambda x: T.sum(w * T.tanh(B @ T.tanh(A @ x)))))
        return lambda: [derivative(x)]
    X, y = T.tensor(data["X"]), T.tensor(data["y"])
    ps = tuple(T.tensor(data[k]) for k in NAMES)

    def loss(ps, x, y):
        W0, b0, W1, b1 = ps
        return F.cross_entropy(T.tanh(x @ W0 + b0) @ W1 + b1, y)

    each = func.vmap(func.grad(loss), in_dims=(None, 0, 0))
    return lambda: list(each(ps, X, y))


def jax(jax: Any, c: Case, data: Arrays, wrap: Wrap) -> Made:
    import jax.numpy as jnp

    if c.p["mode"]:
        x, A, B, w = (jnp.asarray(data[k]) for k in "xABc")
        by = {"forward": jax.jacfwd, "reverse": jax.jacrev}
        outer, inner = (by[kind] for kind in c.p["mode"].split("-over-"))

        def value(x, A, B, w):
            return jnp.sum(w * jnp.tanh(B @ jnp.tanh(A @ x)))

        f = wrap(outer(inner(value)))
        return lambda: [jax.block_until_ready(f(x, A, B, w))]
    X, y = jnp.asarray(data["X"]), jnp.asarray(data["y"])
    ps = tuple(jnp.asarray(data[k]) for k in NAMES)

    def loss(ps, x, y):
        W0, b0, W1, b1 = ps
        z = jnp.tanh(x @ W0 + b0) @ W1 + b1
        return jax.nn.logsumexp(z) - z[y]

    f = wrap(jax.vmap(jax.grad(loss), in_axes=(None, 0, 0)))
    return lambda: list(jax.block_until_ready(f(ps, X, y)))
