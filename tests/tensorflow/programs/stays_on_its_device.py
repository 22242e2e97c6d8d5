"""Run in a process of its own, with three logical CPUs: every op, and what learns, on the second of them.

Prints what has left the device, and what leaves it where the kernel of `exp` does not care where it is.  Takes names of
ops, for these alone.
"""

import json
import sys

import numpy as np
import on_one_device as watch
import tensorflow as tf
from on_one_device import AWAY, ON

import tapegrad as tg
from tapegrad import fft, linalg, nn, special  # noqa: F401  declares their ops
from tapegrad.registry.backends import tensorflow
from tapegrad.registry.op import OPS
from tapegrad.testing import Case, Draw
from tapegrad.testing.law import testable

LOOKED_AT = {}


def differentiated(case, xs):
    """The values and cotangents of first and second order, and tangents."""
    sources = [x for x in xs if isinstance(x, tg.Tensor) and x.dtype.kind in "fc"]
    with tg.GradientTape() as outer:
        outer.watch(sources)
        with tg.GradientTape() as tape:
            tape.watch(sources)
            ys = case.call(xs)
        found = [y for y in ys if isinstance(y, tg.Tensor)]
        if case.op.kind == "constant" or not sources:
            return found
        active = [y for y in found if y.dtype.kind in "fc"]
        if not active:
            return found
        gs = [g for g in tape.gradient(active, sources) if g is not None]
    hs = [h for h in outer.gradient(gs, sources) if h is not None] if gs else []
    with tg.ForwardAccumulator(sources, [tg.ones_like(x) for x in sources]) as forward:
        ts = [forward.jvp(y) for y in case.call(xs)]
    return [*found, *gs, *hs, *[t for t in ts if t is not None]]


def run(op, seed):
    case = Case(op, Draw(seed))
    if op.name == "transfer" or op.observe is not None:
        return
    with tg.device("CPU:1"):
        xs = [tg.asarray(x) if isinstance(x, np.ndarray | np.generic) else x for x in case.xs]
    if not any(isinstance(x, tg.Tensor) for x in xs):
        return
    before = len(AWAY)
    try:
        found = differentiated(case, xs)
    except tg.errors.NotDifferentiable:
        return
    except Exception as error:
        AWAY.append(f"{type(error).__name__}: {str(error)[:300]}")
        found = []
    LOOKED_AT[op.name] = LOOKED_AT.get(op.name, 0) + len(found)
    AWAY.extend(f"a result is on {y.device}" for y in found if y.device != ON)
    AWAY[before:] = [f"{op.name}: {text}" for text in dict.fromkeys(AWAY[before:])]


def learning():
    """A step of a network, with variables, optimiser arithmetic, a compiled function."""
    rng = np.random.default_rng(0)
    with tg.device("CPU:1"):
        w = tg.Variable(rng.normal(size=(4, 3)).astype(np.float32))
        b = tg.Variable(tg.zeros((3,)))
        x, labels = tg.asarray(rng.normal(size=(8, 4)).astype(np.float32)), tg.asarray(rng.integers(0, 3, 8))
        picks = tg.asarray(rng.integers(0, 4, 5))
        momentum = [tg.zeros_like(w), tg.zeros_like(b)]
    for _ in range(2):
        with tg.GradientTape() as tape:
            loss = tg.nn.cross_entropy(tg.nn.linear(x, w, b), labels)
        for v, m, g in zip((w, b), momentum, tape.gradient(loss, (w, b)), strict=True):
            v.assign_sub(0.1 * (0.9 * m + g))
            v.assign_add(tg.zeros_like(v))
            v.assign(v * 0.5)
            assert v.device == ON

    def of_rows(picks):
        with tg.GradientTape() as tape:
            loss = tg.sum(tg.nn.embedding(w, picks, sparse=True) ** 2)
        rows = tape.gradient(loss, w)
        w.assign_sub(0.1 * rows)
        return rows

    def rows_stay(rows):
        assert type(rows) is tg.SparseRows
        assert rows.values.device == rows.indices.device == rows.coalesce().values.device == w.device == ON

    rows_stay(of_rows(picks))

    with tg.GradientTape() as outer:  # what TensorFlow computes between, its ops told where
        outer.watch(x)
        with tf.device(ON):
            y = tg.sum(tf.function(tf.identity)(x)) * 2.0
    assert outer.gradient(y, x).device == ON

    for jit in (False, True):
        if jit:  # TensorFlow's own handles of variables lie on the first CPU, and XLA's functions want them beside the rest
            tf.config.experimental.set_device_policy("silent")

        @tg.function(jit_compile=jit)
        def step(x):
            with tg.GradientTape() as tape:
                loss = tg.sum(tg.tanh(x @ w + b) ** 2)
            w.assign_sub(0.1 * tape.gradient(loss, w))
            return loss

        for _ in range(2):
            assert step(x).device == ON
            assert w.device == ON
        compiled = tg.function(of_rows, jit_compile=jit)
        for _ in range(2):
            rows_stay(compiled(picks))
        inner = tg.function(lambda x: tg.sum(tg.tanh(x @ w) ** 2), jit_compile=jit)
        with tg.GradientTape() as outer:
            outer.watch(x)
            with tg.GradientTape() as tape:
                tape.watch(x)
                loss = inner(x)
            g = tape.gradient(loss, [x, w])
        assert all(d.device == ON for d in (loss, *g, *outer.gradient(g, [x, w])))


watch.refuse_to_fetch()
names = sys.argv[1:]
for op in OPS.values():
    if testable(op) and (not names or op.name in names):
        for seed in (1, 2):
            run(op, seed)
if not names:
    learning()
away, AWAY[:] = AWAY[:], []
looked_at = {"results": sum(LOOKED_AT.values()), "ops": len(LOOKED_AT)}
tf.config.experimental.set_device_policy("silent_for_int32")
tensorflow().exp = tensorflow().exp.__wrapped__
run(OPS["exp"], 1)
print(json.dumps({"away": away, **looked_at, "away where exp leaves": AWAY}))
