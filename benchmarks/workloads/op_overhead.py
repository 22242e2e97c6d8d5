"""Cost of one operation: a chain of 200 elementwise ops on tiny arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness.case import Arrays, Case, Made, Wrap

NAME = "op_overhead"
TITLE = "op overhead: chain of 200 elementwise ops"
N = 200
CASES = [
    Case("8x8", {"shape": (8, 8)}, "us/op", N, ops=N + 1),
    Case("scalar", {"shape": ()}, "us/op", N, ops=N),
    Case(
        "8x8 forward only, recorded",
        {"shape": (8, 8), "forward": True},
        "us/op",
        N,
        ops=N + 1,
        quick=False,
        skip={
            "jax_eager": "",
            "jax_jit": "nothing is recorded in a compiled step",
            "tf_function": "nothing is recorded in a compiled step",
            "tf_xla": "nothing is recorded in a compiled step",
        },
    ),
]
JAX_EAGER = True


def inputs(c: Case, rng: np.random.Generator) -> Arrays:
    shape = c.p["shape"]
    x = np.asarray(rng.random(shape, "f4"), "f4")  # an array for shape () too
    w = np.asarray(rng.random(shape, "f4") * 0.5, "f4")
    return {"x": x, "w": w}


def chain(x: Any, w: Any) -> Any:
    """N ops, each on the result of the one before."""
    y = x
    for _ in range(N // 2):
        y = y * w
        y = y + w
    return y


def numpy_hand(c: Case, data: Arrays) -> Made:
    x, w = data["x"], data["w"]
    if c.p.get("forward"):

        def step():
            y = x
            saved = []
            for _ in range(N // 2):
                saved.append(y)
                y = y * w
                y = y + w
            return [y.sum()]

        return step

    def step():
        y = x
        saved = []
        for _ in range(N // 2):
            saved.append(y)
            y = y * w
            y = y + w
        value = y.sum()
        g = np.ones_like(y)
        gw = np.zeros_like(w)
        for s in reversed(saved):
            gw = gw + g
            gw = gw + g * s
            g = g * w
        return [value, g, gw]

    return step


def torch(T: Any, c: Case, data: Arrays) -> Made:
    x, w = (T.tensor(data[k], requires_grad=True) for k in ("x", "w"))

    def forward():
        return [chain(x, w).sum()]

    def step():
        value = chain(x, w).sum()
        return [value, *T.autograd.grad(value, [x, w])]

    return forward if c.p.get("forward") else step


def tf(tf: Any, c: Case, data: Arrays, wrap: Wrap) -> Made:
    x, w = tf.constant(data["x"]), tf.constant(data["w"])

    def forward(x, w):
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            return [tf.reduce_sum(chain(x, w))]

    def run(x, w):
        with tf.GradientTape() as tape:
            tape.watch([x, w])
            value = tf.reduce_sum(chain(x, w))
        return [value, *tape.gradient(value, [x, w])]

    f = wrap(forward if c.p.get("forward") else run)
    return lambda: f(x, w)


def jax(jax: Any, c: Case, data: Arrays, wrap: Wrap) -> Made:
    import jax.numpy as jnp

    args = jnp.asarray(data["x"]), jnp.asarray(data["w"])
    f = wrap(jax.value_and_grad(lambda x, w: jnp.sum(chain(x, w)), (0, 1)))

    def step():
        value, grads = jax.block_until_ready(f(*args))
        return [value, *grads]

    return step


def autograd(ag: Any, c: Case, data: Arrays) -> Made:
    import autograd.numpy as anp

    x, w = data["x"], data["w"]

    def loss(x, w):
        return anp.sum(chain(x, w))

    vjp = ag.make_vjp(loss, (0, 1))
    if c.p.get("forward"):
        return lambda: [vjp(x, w)[1]]

    def step():
        back, value = vjp(x, w)
        return [value, *back(1.0)]

    return step


def mygrad(mg: Any, c: Case, data: Arrays) -> Made:
    xa, wa = data["x"], data["w"]

    def forward():
        x, w = mg.tensor(xa, copy=False), mg.tensor(wa, copy=False)
        return [chain(x, w).sum()]

    def step():
        x, w = mg.tensor(xa, copy=False), mg.tensor(wa, copy=False)
        value = chain(x, w).sum()
        value.backward()
        return [value, x.grad, w.grad]

    return forward if c.p.get("forward") else step
