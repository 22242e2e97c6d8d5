"""Second order: Hessian-vector product, full Hessian, Jacobian."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.harness.case import Arrays, Case, Made, Wrap

NAME = "second_order"
TITLE = "second order"
SIZES = [64, 128, 128, 10]
BATCH = 64
CASES = [
    Case("HVP, MLP 64-128-128-10, batch 64", {"kind": "hvp"}, "us", ops=60, rtol=1e-3),
    Case("Hessian, Rosenbrock in 50 dimensions", {"kind": "hessian"}, "us", ops=700, rtol=1e-3),
    Case("Jacobian 100 -> 100", {"kind": "jacobian"}, "us", ops=400, rtol=1e-3, quick=False),
]
SKIP = {"mygrad": "no higher-order gradients, no Jacobian"}
NAMES = ["W0", "b0", "W1", "b1", "W2", "b2"]
DIRECTION = ["v" + k for k in NAMES]


def inputs(c: Case, rng: np.random.Generator) -> Arrays:
    if c.p["kind"] == "hvp":
        data = {"X": rng.standard_normal((BATCH, SIZES[0]), "f4"), "y": rng.integers(0, SIZES[-1], BATCH)}
        for i, (n, m) in enumerate(pairwise(SIZES)):
            data[f"W{i}"] = (rng.standard_normal((n, m)) / n**0.5).astype("f4")
            data[f"b{i}"] = rng.standard_normal(m).astype("f4") * 0.1
        for k in NAMES:
            data["v" + k] = rng.standard_normal(data[k].shape).astype("f4")
        return data
    if c.p["kind"] == "hessian":
        return {"x": 1 + 0.2 * rng.standard_normal(50).astype("f4")}
    return {
        "x": rng.standard_normal(100).astype("f4"),
        "A": rng.standard_normal((100, 100)).astype("f4") / 10,
        "B": rng.standard_normal((100, 100)).astype("f4") / 10,
    }


def rosenbrock(x: Any, sum_: Callable[[Any], Any]) -> Any:
    a, b = x[:-1], x[1:]
    d = b - a * a
    e = 1 - a
    return sum_(100 * (d * d) + e * e)


def numpy_hand(c: Case, data: Arrays) -> Made:
    return {"hvp": _numpy_hvp, "hessian": _numpy_hessian, "jacobian": _numpy_jacobian}[c.p["kind"]](data)


def _numpy_hvp(data: Arrays) -> Made:
    """Pearlmutter's R-operator: forward-over-reverse, by hand."""
    X, y = data["X"], data["y"]
    W0, b0, W1, b1, W2, b2 = (data[k] for k in NAMES)
    V0, c0, V1, c1, V2, c2 = (data[k] for k in DIRECTION)
    rows, n = np.arange(len(y)), len(y)

    def step():
        h0 = np.tanh(X @ W0 + b0)
        d0 = 1 - h0 * h0
        R0 = d0 * (X @ V0 + c0)
        h1 = np.tanh(h0 @ W1 + b1)
        d1 = 1 - h1 * h1
        R1 = d1 * (R0 @ W1 + h0 @ V1 + c1)
        z = h1 @ W2 + b2
        Rz = R1 @ W2 + h1 @ V2 + c2
        m = z.max(1, keepdims=True)
        e = np.exp(z - m)
        s = e.sum(1, keepdims=True)
        loss = (np.log(s) + m).mean() - z[rows, y].mean()
        p = e / s
        Rg2 = p * (Rz - (p * Rz).sum(1, keepdims=True)) / n
        g2 = p
        g2[rows, y] -= 1
        g2 /= n
        dh1 = g2 @ W2.T
        Rdh1 = Rg2 @ W2.T + g2 @ V2.T
        g1 = dh1 * d1
        Rg1 = Rdh1 * d1 - 2 * dh1 * h1 * R1
        dh0 = g1 @ W1.T
        Rdh0 = Rg1 @ W1.T + g1 @ V1.T
        Rg0 = Rdh0 * d0 - 2 * dh0 * h0 * R0
        first = [X.T @ Rg0, Rg0.sum(0)]
        second = [R0.T @ g1 + h0.T @ Rg1, Rg1.sum(0)]
        third = [R1.T @ g2 + h1.T @ Rg2, Rg2.sum(0)]
        return [loss, *first, *second, *third]

    return step


def _numpy_hessian(data: Arrays) -> Made:
    x = data["x"]
    n = len(x)
    i = np.arange(n - 1)

    def step():
        a, b = x[:-1], x[1:]
        d = b - a * a
        e = 1 - a
        value = (100 * (d * d) + e * e).sum()
        h = np.zeros((n, n), x.dtype)
        h[i, i] = 1200 * a * a - 400 * b + 2
        h[i + 1, i + 1] += 200
        off = -400 * a
        h[i, i + 1] = off
        h[i + 1, i] = off
        return [value, h]

    return step


def _numpy_jacobian(data: Arrays) -> Made:
    x, A, B = data["x"], data["A"], data["B"]

    def step():
        h = np.tanh(A @ x)
        y = np.tanh(B @ h)
        return [y, ((1 - y * y)[:, None] * B * (1 - h * h)) @ A]

    return step


def torch(T: Any, c: Case, data: Arrays) -> Made:
    kind = c.p["kind"]
    if kind == "hvp":
        return _torch_hvp(T, data)
    x = T.tensor(data["x"])
    if kind == "hessian":

        def f(x):
            return rosenbrock(x, T.sum)

        derivative = T.func.hessian(f)
    else:
        A, B = T.tensor(data["A"]), T.tensor(data["B"])

        def f(x):
            return T.tanh(B @ T.tanh(A @ x))

        derivative = T.func.jacrev(f)
    return lambda: [f(x), derivative(x)]


def _torch_hvp(T: Any, data: Arrays) -> Made:
    F = T.nn.functional
    X, y = T.tensor(data["X"]), T.tensor(data["y"])
    ps = [T.tensor(data[k], requires_grad=True) for k in NAMES]
    vs = [T.tensor(data[k]) for k in DIRECTION]
    W0, b0, W1, b1, W2, b2 = ps

    def step():
        h = T.tanh(X @ W0 + b0)
        h = T.tanh(h @ W1 + b1)
        loss = F.cross_entropy(h @ W2 + b2, y)
        grads = T.autograd.grad(loss, ps, create_graph=True)
        dot = sum((g * v).sum() for g, v in zip(grads, vs, strict=True))
        return [loss, *T.autograd.grad(dot, ps)]

    return step


def tf(tf: Any, c: Case, data: Arrays, wrap: Wrap) -> Made:
    kind = c.p["kind"]
    if kind == "hvp":
        return _tf_hvp(tf, data, wrap)
    if kind == "hessian":
        args = [tf.constant(data["x"])]

        def run(x):
            with tf.GradientTape() as outer:
                outer.watch(x)
                with tf.GradientTape() as inner:
                    inner.watch(x)
                    value = rosenbrock(x, tf.reduce_sum)
                g = inner.gradient(value, x)
            return [value, outer.jacobian(g, x)]
    else:
        args = [tf.constant(data[k]) for k in "xAB"]

        def run(x, A, B):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.tanh(tf.linalg.matvec(B, tf.tanh(tf.linalg.matvec(A, x))))
            return [y, tape.jacobian(y, x)]

    f = wrap(run)
    return lambda: f(*args)


def _tf_hvp(tf: Any, data: Arrays, wrap: Wrap) -> Made:
    X, y = tf.constant(data["X"]), tf.constant(data["y"])
    ps = [tf.constant(data[k]) for k in NAMES]
    vs = [tf.constant(data[k]) for k in DIRECTION]

    def run(ps, vs, X, y):
        W0, b0, W1, b1, W2, b2 = ps
        with tf.GradientTape() as outer:
            outer.watch(ps)
            with tf.GradientTape() as inner:
                inner.watch(ps)
                h = tf.tanh(tf.matmul(X, W0) + b0)
                h = tf.tanh(tf.matmul(h, W1) + b1)
                z = tf.matmul(h, W2) + b2
                loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(y, z))
            grads = inner.gradient(loss, ps)
            dot = tf.add_n([tf.reduce_sum(g * v) for g, v in zip(grads, vs, strict=True)])
        return [loss, *outer.gradient(dot, ps)]

    f = wrap(run)
    return lambda: f(ps, vs, X, y)


def jax(jax: Any, c: Case, data: Arrays, wrap: Wrap) -> Made:
    import jax.numpy as jnp

    kind = c.p["kind"]
    if kind == "hvp":
        return _jax_hvp(jax, data, wrap)
    if kind == "hessian":
        args = [jnp.asarray(data["x"])]

        def g(x):
            return rosenbrock(x, jnp.sum)

        f = wrap(lambda x: [g(x), jax.hessian(g)(x)])
    else:
        args = [jnp.asarray(data[k]) for k in "xAB"]

        def g(x, A, B):
            return jnp.tanh(B @ jnp.tanh(A @ x))

        f = wrap(lambda x, A, B: [g(x, A, B), jax.jacrev(g)(x, A, B)])
    return lambda: jax.block_until_ready(f(*args))


def _jax_hvp(jax: Any, data: Arrays, wrap: Wrap) -> Made:
    import jax.numpy as jnp

    X, y = jnp.asarray(data["X"]), jnp.asarray(data["y"])
    ps = [jnp.asarray(data[k]) for k in NAMES]
    vs = [jnp.asarray(data[k]) for k in DIRECTION]

    def loss(ps, X, y):
        W0, b0, W1, b1, W2, b2 = ps
        h = jnp.tanh(X @ W0 + b0)
        h = jnp.tanh(h @ W1 + b1)
        z = h @ W2 + b2
        return jnp.mean(jax.nn.logsumexp(z, 1) - jnp.take_along_axis(z, y[:, None], 1)[:, 0])

    def run(ps, vs, X, y):
        def dot(ps):
            value, grads = jax.value_and_grad(loss)(ps, X, y)
            return sum(jnp.vdot(g, v) for g, v in zip(grads, vs, strict=True)), value

        hv, value = jax.grad(dot, has_aux=True)(ps)
        return [value, *hv]

    f = wrap(run)
    return lambda: jax.block_until_ready(f(ps, vs, X, y))


def autograd(ag: Any, c: Case, data: Arrays) -> Made:
    import autograd.numpy as anp

    kind = c.p["kind"]
    if kind == "hvp":
        return _autograd_hvp(ag, data)
    x = data["x"]
    if kind == "hessian":

        def f(x):
            return rosenbrock(x, anp.sum)

        derivative = ag.hessian(f)
    else:
        A, B = data["A"], data["B"]

        def f(x):
            return anp.tanh(anp.dot(B, anp.tanh(anp.dot(A, x))))

        derivative = ag.jacobian(f)
    return lambda: [f(x), derivative(x)]


def _autograd_hvp(ag: Any, data: Arrays) -> Made:
    import autograd.numpy as anp
    from autograd.scipy.special import logsumexp

    X, y = data["X"], data["y"]
    rows = anp.arange(len(y))
    ps, vs = [data[k] for k in NAMES], [data[k] for k in DIRECTION]

    def loss(ps):
        W0, b0, W1, b1, W2, b2 = ps
        h = anp.tanh(anp.dot(X, W0) + b0)
        h = anp.tanh(anp.dot(h, W1) + b1)
        z = anp.dot(h, W2) + b2
        return anp.mean(logsumexp(z, 1) - z[rows, y])

    first = ag.value_and_grad(loss)

    def dot(ps):
        value, grads = first(ps)
        return sum(anp.sum(g * v) for g, v in zip(grads, vs, strict=True)), value

    second = ag.grad_and_aux(dot)

    def step():
        hv, value = second(ps)
        return [value, *hv]

    return step
