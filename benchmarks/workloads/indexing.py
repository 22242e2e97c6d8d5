"""Indexing: gather of embedding rows, and repeated slicing along the last axis."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness.case import Arrays, Case, Made, Wrap

NAME = "indexing"
TITLE = "indexing (forward + backward)"
ROWS, DIM, IDS, STEPS, BATCH = 50_000, 64, 4096, 1000, 8
CASES = [
    Case("embedding 4,096 of 50k x 64, dense gradient", {"kind": "dense"}, "us", ops=3, rtol=1e-3),
    Case(
        "embedding 4,096 of 50k x 64, sparse gradient",
        {"kind": "sparse"},
        "us",
        ops=3,
        rtol=1e-3,
        quick=False,
        skip={"jax_jit": "no sparse gradients", "autograd": "no sparse gradients", "mygrad": "no sparse gradients"},
    ),
    Case("x[:, t] for 1,000 t on 8x1000", {"kind": "slices"}, "ms", ops=3000, rtol=1e-3),
]
# Half of the ids are spread over the table, half come from 100 frequent ones, as in text.
# Slices: compiled peers use their scan over x.T. On a busy machine 1,000 unrolled steps took 27 s to trace in
# tf_function and did not compile within 90 s in tf_xla and jax_jit.
# tf.gather's gradient is sparse (IndexedSlices) by nature; the dense case converts it.


def inputs(c: Case, rng: np.random.Generator) -> Arrays:
    if c.p["kind"] == "slices":
        return {"x": rng.standard_normal((BATCH, STEPS), "f4"), "w": 0.998 + 0.002 * rng.random(BATCH, "f4")}
    ids = np.concatenate([rng.integers(0, ROWS, IDS // 2), rng.integers(0, 100, IDS // 2)])
    return {"table": rng.standard_normal((ROWS, DIM), "f4"), "ids": rng.permutation(ids)}


def numpy_hand(c: Case, data: Arrays) -> Made:
    kind = c.p["kind"]
    if kind == "slices":
        x, w = data["x"], data["w"]

        def step():
            h = np.zeros_like(w)
            saved = []
            for t in range(STEPS):
                saved.append(h)
                h = h * w + x[:, t]
            value = (h * h).sum()
            g, gw, gx = 2 * h, np.zeros_like(w), np.empty_like(x)
            for t in range(STEPS - 1, -1, -1):
                gx[:, t] = g
                gw = gw + g * saved[t]
                g = g * w
            return [value, gx, gw]

        return step
    table, ids = data["table"], data["ids"]

    def step():
        e = table[ids]
        value = (e * e).sum() * 0.5
        if kind == "sparse":
            return [value, ids, e]
        g = np.zeros_like(table)
        scatter_add(g, ids, e)
        return [value, g]

    def densify(out):
        value, ids, rows = out
        g = np.zeros_like(table)
        np.add.at(g, ids, rows)
        return [value, g]

    return (step, densify) if kind == "sparse" else step


def scatter_add(out: np.ndarray, ids: np.ndarray, rows: np.ndarray) -> None:
    """out[ids] += rows with repeated ids: the k-th occurrence of every id in the k-th pass.

    On this shape about ten times faster than np.add.at.
    """
    order = np.argsort(ids, kind="stable")
    s = ids[order]
    first = np.flatnonzero(np.concatenate(([True], s[1:] != s[:-1])))
    count = np.diff(np.append(first, len(s)))
    while len(first):
        at = order[first]
        out[ids[at]] += rows[at]
        more = count > 1
        first, count = first[more] + 1, count[more] - 1


def torch(T: Any, c: Case, data: Arrays) -> Made:
    kind = c.p["kind"]
    if kind == "slices":
        x, w = T.tensor(data["x"], requires_grad=True), T.tensor(data["w"], requires_grad=True)
        zero = T.zeros(BATCH)

        def step():
            h = zero
            for t in range(STEPS):
                h = h * w + x[:, t]
            value = (h * h).sum()
            return [value, *T.autograd.grad(value, [x, w])]

        return step
    table, ids = T.tensor(data["table"], requires_grad=True), T.tensor(data["ids"])
    embedding, sparse = T.nn.functional.embedding, kind == "sparse"

    def step():
        e = embedding(ids, table, sparse=sparse)
        value = (e * e).sum() * 0.5
        return [value, *T.autograd.grad(value, [table])]

    return step


def tf(tf: Any, c: Case, data: Arrays, wrap: Wrap) -> Made:
    kind = c.p["kind"]
    if kind == "slices":
        x, w = tf.constant(data["x"]), tf.constant(data["w"])

        def run(x, w):
            with tf.GradientTape() as tape:
                tape.watch([x, w])
                h = tf.zeros_like(w)
                if wrap.mode != "eager":
                    h = tf.scan(lambda h, xt: h * w + xt, tf.transpose(x), h)[-1]
                else:
                    for t in range(STEPS):
                        h = h * w + x[:, t]
                value = tf.reduce_sum(h * h)
            return [value, *tape.gradient(value, [x, w])]

        f = wrap(run)
        return lambda: f(x, w)
    table, ids = tf.constant(data["table"]), tf.constant(data["ids"])

    def run(table, ids):
        with tf.GradientTape() as tape:
            tape.watch(table)
            e = tf.gather(table, ids)
            value = tf.reduce_sum(e * e) * 0.5
        g = tape.gradient(value, table)
        return [value, tf.convert_to_tensor(g) if kind == "dense" else g]

    f = wrap(run)
    return lambda: f(table, ids)


def jax(jax: Any, c: Case, data: Arrays, wrap: Wrap) -> Made:
    import jax.numpy as jnp

    if c.p["kind"] == "slices":
        args = jnp.asarray(data["x"]), jnp.asarray(data["w"])

        def loss(x, w):
            h, _ = jax.lax.scan(lambda h, xt: (h * w + xt, None), jnp.zeros_like(w), x.T)
            return jnp.sum(h * h)

        f = wrap(jax.value_and_grad(loss, (0, 1)))
    else:
        args = jnp.asarray(data["table"]), jnp.asarray(data["ids"])

        def loss(table, ids):
            e = table[ids]
            return jnp.sum(e * e) * 0.5

        f = wrap(jax.value_and_grad(loss, (0,)))

    def step():
        value, grads = jax.block_until_ready(f(*args))
        return [value, *grads]

    return step


def autograd(ag: Any, c: Case, data: Arrays) -> Made:
    import autograd.numpy as anp

    if c.p["kind"] == "slices":
        args = [data["x"], data["w"]]

        def loss(args):
            x, w = args
            h = anp.zeros(BATCH, "f4")
            for t in range(STEPS):
                h = h * w + x[:, t]
            return anp.sum(h * h)
    else:
        args, ids = [data["table"]], data["ids"]

        def loss(args):
            e = args[0][ids]
            return anp.sum(e * e) * 0.5

    f = ag.value_and_grad(loss)

    def step():
        value, grads = f(args)
        return [value, *grads]

    return step


def mygrad(mg: Any, c: Case, data: Arrays) -> Made:
    if c.p["kind"] == "slices":
        xa, wa = data["x"], data["w"]
        zero = wa * 0

        def step():
            x, w = mg.tensor(xa, copy=False), mg.tensor(wa, copy=False)
            h = zero
            for t in range(STEPS):
                h = h * w + x[:, t]
            value = (h * h).sum()
            value.backward()
            return [value, x.grad, w.grad]

        return step
    ta, ids = data["table"], data["ids"]

    def step():
        table = mg.tensor(ta, copy=False)
        e = table[ids]
        value = (e * e).sum() * 0.5
        value.backward()
        return [value, table.grad]

    return step
