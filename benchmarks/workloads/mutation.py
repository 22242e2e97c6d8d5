"""Views and ops in place, and the way back through them."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.harness.case import Arrays, Case, Made

NAME = "mutation"
TITLE = "views and ops in place (forward + backward)"
N = 100
CASES = [
    Case("mul_ and add_, 200 on 8x8", {"kind": "whole"}, "us/op", 2 * N, ops=2 * N),
    Case("200 rows written into a buffer", {"kind": "rows"}, "us/op", 2 * N, ops=4 * N, rtol=1e-3),
    Case("mul_ through a view, 100 on 8x8", {"kind": "views"}, "us/op", N, ops=2 * N),
    Case("view, t and select, 100 times", {"kind": "taken"}, "us/op", 3 * N, ops=5 * N),
]
_ONLY_TORCH = "arrays of tapegrad's own style do not change in place"
SKIP = dict.fromkeys(("tg_numpy", "tg_tf", "tg_function", "tg_xla"), _ONLY_TORCH)


def inputs(c: Case, rng: np.random.Generator) -> Arrays:
    if c.p["kind"] == "rows":
        return {"x": rng.standard_normal((2 * N, 8), "f4"), "w": 0.9 + 0.05 * rng.random(8, "f4")}
    w = 0.99 + 0.02 * rng.random(8 if c.p["kind"] == "views" else (8, 8), "f4")
    if c.p["kind"] == "taken":
        w = w * np.float32(0.5)  # each step adds a row to all
    return {"x": rng.standard_normal((8, 8), "f4"), "w": w}


def numpy_hand(c: Case, data: Arrays) -> Made:
    return globals()[f"_{c.p['kind']}_by_hand"](data["x"], data["w"])


def _whole_by_hand(x: Any, w: Any) -> Made:
    def step():
        h = x.copy()
        saved = []
        for _ in range(N):
            saved.append(h)
            h = h * w
            h += w
        g = 2 * h
        gw = np.zeros_like(w)
        for old in reversed(saved):
            gw += g
            gw += g * old
            g = g * w
        return [(h * h).sum(), g, gw]

    return step


def _rows_by_hand(x: Any, w: Any) -> Made:
    def step():
        buffer = np.zeros_like(x)
        row = np.zeros_like(w)
        saved = []
        for t in range(2 * N):
            saved.append(row)
            row = row * w + x[t]
            buffer[t] = row
        gb = 2 * buffer
        gx, gw, g = np.empty_like(x), np.zeros_like(w), np.zeros_like(w)
        for t in range(2 * N - 1, -1, -1):
            g = g + gb[t]
            gx[t] = g
            gw += g * saved[t]
            g = g * w
        return [(buffer * buffer).sum(), gx, gw]

    return step


def _views_by_hand(x: Any, w: Any) -> Made:
    def step():
        h = x * 1.5
        saved = []
        for t in range(N):
            saved.append(h[t % 8].copy())
            h[t % 8] *= w
        g = 2 * h
        gw = np.zeros_like(w)
        for t in range(N - 1, -1, -1):
            gw += g[t % 8] * saved[t]
            g[t % 8] *= w
        return [(h * h).sum(), g * 1.5, gw]

    return step


def _taken_by_hand(x: Any, w: Any) -> Made:
    def step():
        hs = [x]
        for t in range(N):
            hs.append(hs[-1].T * w + hs[-1][t % 8])
        g = 2 * hs[-1]
        gw = np.zeros_like(w)
        for t in range(N - 1, -1, -1):
            gw += g * hs[t].T
            row = g.sum(0)
            g = (g * w).T
            g[t % 8] += row
        return [(hs[-1] * hs[-1]).sum(), g, gw]

    return step


def torch(T: Any, c: Case, data: Arrays) -> Made:
    x, w = (T.tensor(data[k], requires_grad=True) for k in ("x", "w"))
    kind = c.p["kind"]

    def whole():
        h = x * 1.0
        for _ in range(N):
            h.mul_(w)
            h.add_(w)
        return h

    def rows():
        buffer = T.zeros(2 * N, 8)
        row = T.zeros(8)
        for t in range(2 * N):
            row = row * w + x[t]
            buffer[t] = row
        return buffer

    def views():
        h = x * 1.5
        for t in range(N):
            h[t % 8].mul_(w)
        return h

    def taken():
        h = x
        for t in range(N):
            h = h.reshape(64).view(8, 8).t() * w + h[t % 8]
        return h

    run = {"whole": whole, "rows": rows, "views": views, "taken": taken}[kind]

    def step():
        h = run()
        value = (h * h).sum()
        return [value, *T.autograd.grad(value, (x, w))]

    return step
