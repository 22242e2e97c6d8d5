"""`nn.LSTM` as programs use it: two layers over sequences, forward and backward."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness.case import Arrays, Case, Made

NAME = "recurrent"
TITLE = "nn.LSTM, 2 layers, hidden 32, batch 16, 50 steps (forward + backward)"
STEPS, B, D, H, LAYERS = 50, 16, 16, 32, 2
CASES = [Case("2 layers, 50 steps", {}, "ms", ops=LAYERS * STEPS, rtol=1e-3)]
_ONLY_TORCH = "layers of torch's; the cell alone is in `lstm`"
SKIP = dict.fromkeys(("tg_numpy", "tg_tf", "tg_function", "tg_xla"), _ONLY_TORCH)
NAMES = [f"{what}_l{layer}" for layer in range(LAYERS) for what in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")]


def inputs(c: Case, rng: np.random.Generator) -> Arrays:
    x = {"X": rng.standard_normal((STEPS, B, D), "f4")}
    for name in NAMES:
        width = (D if name.endswith("l0") else H) if "ih" in name else H
        shape = (4 * H, width) if "weight" in name else (4 * H,)
        x[name] = (rng.random(shape, "f4") * 2 - 1) / np.float32(H**0.5)
    return x


def numpy_hand(c: Case, data: Arrays) -> Made:
    ps = [data[k] for k in NAMES]

    def step():
        x, saved = data["X"], []
        for layer in range(LAYERS):
            x, kept = _forward(x, *ps[4 * layer : 4 * layer + 4])
            saved.append(kept)
        last = x[-1]
        dx = np.zeros_like(x)
        dx[-1] = 2 * last
        found = []
        for layer in reversed(range(LAYERS)):
            dx, *gs = _backward(dx, saved[layer], *ps[4 * layer : 4 * layer + 2])
            found = gs + found
        return [(last * last).sum(), *found]

    return step


def _forward(x: Any, w: Any, u: Any, b: Any, d: Any) -> Any:
    """One layer: its outputs, and what the way back needs."""
    sums = x @ w.T + (b + d)
    h, cell = np.zeros((2, B, H), x.dtype)
    outputs, saved = [], []
    for without_h in sums:
        z = without_h + h @ u.T
        i, f, o = (1 / (1 + np.exp(-z[:, k * H : (k + 1) * H])) for k in (0, 1, 3))
        g = np.tanh(z[:, 2 * H : 3 * H])
        new = f * cell + i * g
        top = np.tanh(new)
        saved.append((h, cell, i, f, g, o, top))
        h, cell = o * top, new
        outputs.append(h)
    return np.stack(outputs), (x, saved)


def _backward(dy: Any, kept: Any, w: Any, u: Any) -> Any:
    """The gradients of the layer's input and of its four parameters."""
    x, saved = kept
    dz = np.empty((len(x), B, 4 * H), x.dtype)
    dh, dc = np.zeros((2, B, H), x.dtype)
    for t in range(len(x) - 1, -1, -1):
        _, cell, i, f, g, o, top = saved[t]
        dh = dh + dy[t]
        dc = dc + dh * o * (1 - top * top)
        dz[t, :, :H] = dc * g * i * (1 - i)
        dz[t, :, H : 2 * H] = dc * cell * f * (1 - f)
        dz[t, :, 2 * H : 3 * H] = dc * i * (1 - g * g)
        dz[t, :, 3 * H :] = dh * top * o * (1 - o)
        dh, dc = dz[t] @ u, dc * f
    rows = dz.reshape(-1, 4 * H)
    before = np.stack([s[0] for s in saved]).reshape(-1, H)
    db = rows.sum(0)
    return dz @ w, rows.T @ x.reshape(-1, x.shape[-1]), rows.T @ before, db, db


def torch(T: Any, c: Case, data: Arrays) -> Made:
    net = T.nn.LSTM(D, H, num_layers=LAYERS)
    with T.no_grad():
        for name, p in net.named_parameters():
            p.copy_(T.tensor(data[name]))
    X, ps = T.tensor(data["X"]), [getattr(net, name) for name in NAMES]

    def step():
        y, _ = net(X)
        value = (y[-1] * y[-1]).sum()
        return [value, *T.autograd.grad(value, ps)]

    return step
