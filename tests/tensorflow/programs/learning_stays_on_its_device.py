"""Run in a process of its own: every optimizer of both styles, and all that changes variables, on the second of three CPUs.

Prints what has left the device, by what was run, and what was run.
"""

# ruff: noqa: E402  Keras is told its backend before TensorFlow is there, and devices are configured before arrays are made
import json

import numpy as np

from tapegrad import tf as style

keras = style.keras
import on_one_device as watch
from on_one_device import AWAY, ON

import tapegrad as tg
from tapegrad import torch

FOUND = {}
RNG = np.random.default_rng(0)
#: Whose next step depends on numbers: how far along a line, whether a loss was finite.
DECIDE = ("torch LBFGS", "keras LossScaleOptimizer")


def run(name, prepare, steps=3):
    """Note what leaves the device in all steps but the first, which makes what an optimizer keeps."""
    problems = []
    try:
        step, where = prepare()
        for k in range(steps):
            if k:
                watch.DECIDES[0] = name in DECIDE
                watch.refuse_to_fetch()
            AWAY.clear()
            step()
            problems += AWAY if k else []
        problems += [f"ends on {d}" for d in where() if d != ON]
    except Exception as error:
        problems.append(f"{type(error).__name__}: {str(error)[:300]}")
    finally:
        watch.allow_to_fetch()
    FOUND[name] = sorted(set(problems))


def of_torch(name):
    def prepare():
        layer = torch.nn.Linear(4, 3, bias=name != "Muon")
        x = torch.randn(8, 4)
        optimizer = getattr(torch.optim, name)(layer.parameters(), lr=0.05)

        def loss():
            optimizer.zero_grad()
            y = (layer(x) ** 2).sum()
            y.backward()
            return y

        def step():
            if name == "LBFGS":
                optimizer.step(loss)
            else:
                loss()
                optimizer.step()

        return step, lambda: [p.array.device for p in layer.parameters()]

    return prepare


def of_torch_rows(name):
    """An optimizer of PyTorch's for a table of which a step touches a few rows, in two sweeps."""

    def prepare():
        table = torch.nn.Embedding(6, 3, sparse=True)
        first, then = torch.tensor([0, 5, 0]), torch.tensor([2, 5])
        optimizer = getattr(torch.optim, name)(table.parameters(), lr=0.05)

        def step():
            optimizer.zero_grad()
            for ids in (first, then):
                (torch.nn.functional.embedding(ids, table.weight, sparse=True) ** 2).sum().backward()
            assert table.weight.grad.is_sparse
            optimizer.step()

        return step, lambda: [table.weight.array.device]

    return prepare


def of_keras(name, words):
    def prepare():
        model = keras.Sequential([keras.layers.Dense(4, activation="tanh"), keras.layers.Dense(3)])
        x, y = (style.constant(RNG.normal(size=(8, n)).astype("f4")) for n in (5, 3))
        model(x)
        if name == "LossScaleOptimizer":
            optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))
        else:
            optimizer = getattr(keras.optimizers, name)(**words)

        def step():
            with style.GradientTape() as tape:
                loss = style.reduce_mean((model(x) - y) ** 2)
            optimizer.apply_gradients(zip(tape.gradient(loss, model.trainable_variables), model.trainable_variables, strict=True))

        return step, lambda: [v.value.array.device for v in model.trainable_variables]

    return prepare


def of_variables(change):
    def prepare():
        v = style.Variable(RNG.normal(size=(5, 2)).astype("f4"))
        rows = style.IndexedSlices(style.constant(RNG.normal(size=(3, 2)).astype("f4")), style.constant([0, 4, 0]))
        at, new = style.constant([[0, 1], [4, 0]]), style.constant([1.5, 2.5])
        return lambda: change(v, rows, at, new), lambda: [v.array.device]

    return prepare


CHANGES = {
    "assign": lambda v, rows, at, new: v.assign(v * 2.0),
    "assign_add": lambda v, rows, at, new: v.assign_add(v),
    "assign_sub": lambda v, rows, at, new: v.assign_sub(style.ones_like(v)),
    "part": lambda v, rows, at, new: v[1:3].assign(v[2:4] * 2.0),
    "part that adds": lambda v, rows, at, new: v[1].assign_add(new),
    **{
        f"scatter_{how}": lambda v, rows, at, new, how=how: getattr(v, f"scatter_{how}")(rows)
        for how in ("add", "sub", "mul", "div", "max", "min", "update")
    },
    **{
        f"scatter_nd_{how}": lambda v, rows, at, new, how=how: getattr(v, f"scatter_nd_{how}")(at, new)
        for how in ("add", "sub", "max", "min", "update")
    },
}


def names_of(module, base, without):
    found = vars(module).items()
    return sorted(n for n, c in found if isinstance(c, type) and issubclass(c, base) and c is not base and n not in without)


with tg.device(ON):
    for optimizer in ("SparseAdam", "SGD", "Adagrad"):
        run(f"torch {optimizer} of rows", of_torch_rows(optimizer))
    for optimizer in names_of(torch.optim, torch.optim.Optimizer, {"SparseAdam"}):
        run(f"torch {optimizer}", of_torch(optimizer))
    usual = keras.optimizers.Optimizer
    for optimizer in names_of(keras.optimizers, usual, {"MultiOptimizer"}):
        run(f"keras {optimizer}", of_keras(optimizer, {}))
    more = {"clipnorm": 1.0, "weight_decay": 0.01, "use_ema": True}
    run("keras Adam with all that may be asked of one", of_keras("Adam", more))
    for what, change in CHANGES.items():
        run(f"variable.{what}", of_variables(change))
print(json.dumps(FOUND))
