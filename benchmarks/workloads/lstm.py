"""LSTM cell unrolled by a Python loop: 100 steps, hidden 64, batch 16."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.harness.case import Arrays, Case, Made, Wrap

NAME = "lstm"
TITLE = "LSTM cell unrolled 100 steps, hidden 64, batch 16 (forward + backward)"
STEPS, B, D, H = 100, 16, 64, 64
NAMES = ["Wx", "Wh", "b", "h0"]
CASES = [Case("100 steps", {}, "ms", ops=STEPS * 16, rtol=1e-3)]
# tf_function unrolls the same loop; tf_xla and jax_jit use their scan: unrolled, tf_xla compiled for 84 s on a busy
# machine.
Function = Callable[[Any], Any]


def inputs(c: Case, rng: np.random.Generator) -> Arrays:
    return {
        "X": rng.standard_normal((STEPS, B, D)).astype("f4"),
        "Wx": (rng.standard_normal((D, 4 * H)) / D**0.5).astype("f4"),
        "Wh": (rng.standard_normal((H, 4 * H)) / H**0.5).astype("f4"),
        "b": rng.standard_normal(4 * H).astype("f4") * 0.1,
        "h0": rng.standard_normal((B, H)).astype("f4") * 0.1,
    }


def numpy_hand(c: Case, data: Arrays) -> Made:
    X, Wx, Wh, b, h0 = (data[k] for k in ("X", *NAMES))

    def sigmoid(z):
        return 1 / (1 + np.exp(-z))

    def step():
        h, cell = h0, np.zeros_like(h0)
        saved = []
        for t in range(STEPS):
            z = X[t] @ Wx + h @ Wh + b
            i, f = sigmoid(z[:, :H]), sigmoid(z[:, H : 2 * H])
            g, o = np.tanh(z[:, 2 * H : 3 * H]), sigmoid(z[:, 3 * H :])
            new = f * cell + i * g
            tc = np.tanh(new)
            saved.append((h, cell, i, f, g, o, tc))
            h, cell = o * tc, new
        value = (h * h).sum()
        dWx, dWh, db = np.zeros_like(Wx), np.zeros_like(Wh), np.zeros_like(b)
        dh, dc = 2 * h, np.zeros_like(h)
        dz = np.empty((B, 4 * H), h.dtype)
        for t in range(STEPS - 1, -1, -1):
            h, cell, i, f, g, o, tc = saved[t]
            dc = dc + dh * o * (1 - tc * tc)
            dz[:, :H] = dc * g * i * (1 - i)
            dz[:, H : 2 * H] = dc * cell * f * (1 - f)
            dz[:, 2 * H : 3 * H] = dc * i * (1 - g * g)
            dz[:, 3 * H :] = dh * tc * o * (1 - o)
            dWx += X[t].T @ dz
            dWh += h.T @ dz
            db += dz.sum(0)
            dh = dz @ Wh.T
            dc = dc * f
        return [value, dWx, dWh, db, dh]

    return step


def lstm_cell(z4: Sequence[Any], h: Any, cell: Any, sigmoid: Function, tanh: Function) -> tuple[Any, Any]:
    """The next h and cell, from the four gates before their activations."""
    i, f, g, o = z4
    cell = sigmoid(f) * cell + sigmoid(i) * tanh(g)
    return sigmoid(o) * tanh(cell), cell


def torch(T: Any, c: Case, data: Arrays) -> Made:
    X = T.tensor(data["X"])
    ps = [T.tensor(data[k], requires_grad=True) for k in NAMES]
    Wx, Wh, b, h0 = ps
    zero = T.zeros(B, H)

    def step():
        h, cell = h0, zero
        for t in range(STEPS):
            z = X[t] @ Wx + h @ Wh + b
            h, cell = lstm_cell(T.chunk(z, 4, 1), h, cell, T.sigmoid, T.tanh)
        value = (h * h).sum()
        return [value, *T.autograd.grad(value, ps)]

    return step


def tf(tf: Any, c: Case, data: Arrays, wrap: Wrap) -> Made:
    X = tf.constant(data["X"])
    ps = [tf.constant(data[k]) for k in NAMES]

    def run(X, *ps):
        Wx, Wh, b, h0 = ps
        with tf.GradientTape() as tape:
            tape.watch(ps)

            def body(carry, x):
                h, cell = carry
                z = tf.matmul(x, Wx) + tf.matmul(h, Wh) + b
                return lstm_cell(tf.split(z, 4, 1), h, cell, tf.sigmoid, tf.tanh)

            carry = h0, tf.zeros_like(h0)
            if wrap.mode == "xla":
                h = tf.scan(body, X, carry)[0][-1]
            else:
                for t in range(STEPS):
                    carry = body(carry, X[t])
                h = carry[0]
            value = tf.reduce_sum(h * h)
        return [value, *tape.gradient(value, ps)]

    f = wrap(run)
    return lambda: f(X, *ps)


def jax(jax: Any, c: Case, data: Arrays, wrap: Wrap) -> Made:
    import jax.numpy as jnp

    X = jnp.asarray(data["X"])
    ps = [jnp.asarray(data[k]) for k in NAMES]

    def loss(ps, X):
        Wx, Wh, b, h0 = ps

        def body(carry, x):
            h, cell = carry
            z = x @ Wx + h @ Wh + b
            return lstm_cell(jnp.split(z, 4, 1), h, cell, jax.nn.sigmoid, jnp.tanh), None

        (h, _), _ = jax.lax.scan(body, (h0, jnp.zeros_like(h0)), X)
        return jnp.sum(h * h)

    f = wrap(jax.value_and_grad(loss))

    def step():
        value, grads = jax.block_until_ready(f(ps, X))
        return [value, *grads]

    return step


def autograd(ag: Any, c: Case, data: Arrays) -> Made:
    import autograd.numpy as anp
    from autograd.scipy.special import expit

    X = data["X"]
    ps = [data[k] for k in NAMES]

    def loss(ps):
        Wx, Wh, b, h0 = ps
        h, cell = h0, anp.zeros((B, H), "f4")
        for t in range(STEPS):
            z = anp.dot(X[t], Wx) + anp.dot(h, Wh) + b
            z4 = z[:, :H], z[:, H : 2 * H], z[:, 2 * H : 3 * H], z[:, 3 * H :]
            h, cell = lstm_cell(z4, h, cell, expit, anp.tanh)
        return anp.sum(h * h)

    f = ag.value_and_grad(loss)

    def step():
        value, grads = f(ps)
        return [value, *grads]

    return step


def mygrad(mg: Any, c: Case, data: Arrays) -> Made:
    from mygrad.nnet.activations import sigmoid

    X = data["X"]
    ps = [mg.tensor(data[k]) for k in NAMES]
    Wx, Wh, b, h0 = ps
    zero = data["h0"] * 0

    def step():
        h, cell = h0, zero
        for t in range(STEPS):
            z = mg.matmul(X[t], Wx) + mg.matmul(h, Wh) + b
            z4 = z[:, :H], z[:, H : 2 * H], z[:, 2 * H : 3 * H], z[:, 3 * H :]
            h, cell = lstm_cell(z4, h, cell, sigmoid, mg.tanh)
        value = (h * h).sum()
        value.backward()
        return [value, *(p.grad for p in ps)]

    return step
