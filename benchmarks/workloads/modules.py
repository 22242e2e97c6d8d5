"""Training step of an MLP made of `nn.Module`s, with an optimizer: 784-256-128-10, batch 16."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from benchmarks.harness.case import Arrays, Case, Made, moved

NAME = "modules"
TITLE = "nn.Module MLP 784-256-128-10 and torch.optim, training step, batch 16"
SIZES = [784, 256, 128, 10]
BATCH, LR, BETAS, EPS = 16, {"SGD": 0.1, "Adam": 1e-3}, (0.9, 0.999), 1e-8
# Adam divides by the root of squares: what is next to zero there decides the sign of a step, so its check is looser.
CASES = [
    Case("SGD", {"optimizer": "SGD"}, "us", ops=9, check_steps=3, rtol=1e-3),
    Case("SGD with momentum", {"optimizer": "SGD", "momentum": 0.9}, "us", ops=9, check_steps=3, rtol=1e-3, quick=False),
    Case("Adam", {"optimizer": "Adam"}, "us", ops=9, check_steps=3, rtol=1e-2),
]
_ONLY_TORCH = "modules and optimizers of torch's"
SKIP = dict.fromkeys(("tg_numpy", "tg_tf", "tg_function", "tg_xla"), _ONLY_TORCH)
NAMES = ["W0", "b0", "W1", "b1", "W2", "b2"]


def inputs(c: Case, rng: np.random.Generator) -> Arrays:
    x = {"X": rng.random((BATCH, SIZES[0]), "f4"), "y": rng.integers(0, SIZES[-1], BATCH)}
    for i, (n, m) in enumerate(pairwise(SIZES)):
        x[f"W{i}"] = (rng.standard_normal((m, n)) * (2 / n) ** 0.5).astype("f4")
        x[f"b{i}"] = rng.standard_normal(m).astype("f4") * 0.01
    return x


def numpy_hand(c: Case, data: Arrays) -> Made:
    post = moved(data, NAMES)
    X, y = data["X"], data["y"]
    ps = [data[k].copy() for k in NAMES]
    rows = np.arange(BATCH)
    update = _updates(c, ps)

    def step():
        W0, b0, W1, b1, W2, b2 = ps
        h1 = np.maximum(X @ W0.T + b0, 0)
        h2 = np.maximum(h1 @ W1.T + b1, 0)
        z = h2 @ W2.T + b2
        m = z.max(1, keepdims=True)
        e = np.exp(z - m)
        s = e.sum(1, keepdims=True)
        loss = (np.log(s) + m).mean() - z[rows, y].mean()
        g3 = e / s
        g3[rows, y] -= 1
        g3 /= BATCH
        g2 = (g3 @ W2) * (h2 > 0)
        g1 = (g2 @ W1) * (h1 > 0)
        update([g1.T @ X, g1.sum(0), g2.T @ h1, g2.sum(0), g3.T @ h2, g3.sum(0)])
        return [loss, *ps]

    return step, post


def _updates(c: Case, ps: list[Any]) -> Any:
    lr = LR[c.p["optimizer"]]
    first = [np.zeros_like(p) for p in ps]
    second = [np.zeros_like(p) for p in ps]
    momentum = c.p.get("momentum", 0)
    count = 0

    def descend(gs):
        for p, g, m in zip(ps, gs, first, strict=True):
            if momentum:
                np.multiply(m, momentum, out=m)
                np.add(m, g, out=m)
            np.subtract(p, lr * (m if momentum else g), out=p)

    def adam(gs):
        nonlocal count
        count += 1
        a, b = BETAS
        size, root = lr / (1 - a**count), (1 - b**count) ** 0.5
        for p, g, m, v in zip(ps, gs, first, second, strict=True):
            np.add(a * m, (1 - a) * g, out=m)
            np.add(b * v, (1 - b) * g * g, out=v)
            np.subtract(p, size * m / (np.sqrt(v) / root + EPS), out=p)

    return adam if c.p["optimizer"] == "Adam" else descend


def torch(T: Any, c: Case, data: Arrays) -> Made:
    nn, F = T.nn, T.nn.functional

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.fc1, self.fc2, self.fc3 = (nn.Linear(n, m) for n, m in pairwise(SIZES))

        def forward(self, x):
            x = F.relu(self.fc1(x))
            x = F.relu(self.fc2(x))
            return self.fc3(x)

    net = Net()
    ps = list(net.parameters())
    with T.no_grad():
        for p, k in zip(ps, NAMES, strict=True):
            p.copy_(T.tensor(data[k]))
    X, y = T.tensor(data["X"]), T.tensor(data["y"])
    criterion = nn.CrossEntropyLoss()
    if c.p["optimizer"] == "Adam":
        optimizer = T.optim.Adam(net.parameters(), lr=LR["Adam"], betas=BETAS, eps=EPS)
    else:
        optimizer = T.optim.SGD(net.parameters(), lr=LR["SGD"], momentum=c.p.get("momentum", 0))

    def step():
        optimizer.zero_grad()
        loss = criterion(net(X), y)
        loss.backward()
        optimizer.step()
        return [loss, *ps]

    return step, moved(data, NAMES)
