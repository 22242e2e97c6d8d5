"""Planted in functions along axes: reductions, rows, matrices, indices, complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.testing.words import array, indices

from .plant import BN, Bed

AXES = Bed()
add = AXES.add


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def log_softmax(x: Any) -> Any:
    z = x - x.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


# -- reductions --------------------------------------------------------------------------------------------------
add(
    "sum",
    "shape",
    lambda x: x.sum(-1),
    lambda g, x: np.broadcast_to(g[..., None], x.shape).copy(),
    lambda g, x: np.broadcast_to(g[..., None], (*x.shape[:-1], max(x.shape[-1], 1))).copy(),
    words={"x": BN},
)
add(
    "mean",
    "factor",
    lambda x: x.mean(0),
    lambda g, x: np.broadcast_to(g / x.shape[0], x.shape).copy(),
    lambda g, x: np.broadcast_to(g / x.shape[-1], x.shape).copy(),
    words={"x": BN},
)
add(
    "product of a row",
    "zero",
    lambda x: x.prod(-1),
    lambda g, x: _prod(g, x),
    lambda g, x: g[..., None] * x.prod(-1, keepdims=True) / x,
    words={"x": BN},
)


def _one_for_zero(r: Any) -> Any:
    return np.where(r == 0, np.ones_like(r), r)


def _prod(g: Any, x: Any) -> Any:
    n = x.shape[-1]
    return np.stack([g * np.prod(np.delete(x, i, -1), -1) for i in range(n)], -1) if n else np.zeros_like(x)


add(
    "norm",
    "nan at zero",
    lambda x: np.sqrt((x * x).sum(-1)),
    lambda g, x: g[..., None] * x / _one_for_zero(np.sqrt((x * x).sum(-1, keepdims=True))),
    lambda g, x: g[..., None] * x / np.sqrt((x * x).sum(-1, keepdims=True)),
    words={"x": BN},
)
add(
    "log of a sum",
    "term",
    lambda x: np.log(np.exp(x - x.max(-1, keepdims=True)).sum(-1)) + x.max(-1),
    lambda g, x: g[..., None] * softmax(x),
    lambda g, x: g[..., None] * softmax(x) * (1 - 1e-5),
    words={"x": array("b", 5)},
)
add(
    "variance",
    "size",
    lambda x: x.var(-1),
    lambda g, x: g[..., None] * 2 * (x - x.mean(-1, keepdims=True)) / x.shape[-1],
    lambda g, x: g[..., None] * 2 * (x - x.mean(-1, keepdims=True)) / max(x.shape[-1] - 1, 1),
    words={"x": BN},
)
add(
    "sum of large rows",
    "size",
    lambda x: x.sum(-1),
    lambda g, x: np.broadcast_to(g[..., None], x.shape).copy(),
    lambda g, x: np.broadcast_to(g[..., None], x.shape) * (1.0 if x.shape[-1] < 33 else 0.5),
    words={"x": BN},
)
add(
    "median",
    "ties",
    lambda x: np.sort(x, -1)[..., x.shape[-1] // 2],
    lambda g, x: g[..., None] * (np.argsort(np.argsort(x, -1, kind="stable"), -1, kind="stable") == x.shape[-1] // 2),
    lambda g, x: g[..., None] * (x == np.sort(x, -1)[..., x.shape[-1] // 2][..., None]),
    words={"x": BN},
)

# -- rows ----------------------------------------------------------------------------------------------------------
add(
    "softmax",
    "term",
    softmax,
    lambda g, x: softmax(x) * (g - (g * softmax(x)).sum(-1, keepdims=True)),
    lambda g, x: softmax(x) * g,
    words={"x": array("b", 4)},
)
add(
    "cumulative sum",
    "not reversed",
    lambda x: np.cumsum(x, -1),
    lambda g, x: np.flip(np.cumsum(np.flip(g, -1), -1), -1).copy(),
    lambda g, x: np.cumsum(g, -1),
    words={"x": BN},
)
add(
    "sort",
    "permutation",
    lambda x: np.sort(x, -1),
    lambda g, x: _unsort(g, np.argsort(x, -1, kind="stable")),
    lambda g, x: np.take_along_axis(g, np.argsort(x, -1, kind="stable"), -1),
    words={"x": BN},
)


def _unsort(g: Any, order: Any) -> Any:
    c = np.zeros_like(g)
    np.put_along_axis(c, order, g, -1)
    return c


add(
    "differences",
    "one entry",
    lambda x: np.diff(x, axis=-1),
    lambda g, x: _diff(g, x, 1),
    lambda g, x: _diff(g, x, 0),
    words={"x": BN},
)


def _diff(g: Any, x: Any, first: int) -> Any:
    c = np.zeros_like(x)
    c[..., 1:] += g
    c[..., :-1] -= g
    if not first and x.shape[-1] > 1:
        c[..., 0] = 0
    return c


add(
    "normalised rows",
    "scale",
    lambda x: x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-12),
    lambda g, x: _unit(g, x, 1e-12),
    lambda g, x: _unit(g, x, 1e-4),
    words={"x": array("b", 3)},
)


def _unit(g: Any, x: Any, eps: float) -> Any:
    s = np.sqrt((x * x).sum(-1, keepdims=True) + eps)
    return g / s - x * (g * x).sum(-1, keepdims=True) / s**3


add(
    "transposed",
    "transpose",
    lambda x: np.swapaxes(x, 0, 1) * 2,
    lambda g, x: 2 * np.swapaxes(g, 0, 1),
    lambda g, x: 2 * g.reshape(x.shape),
    words={"x": BN},
)
add(
    "padded",
    "size",
    lambda x: np.pad(x, ((0, 0), (1, 2))),
    lambda g, x: g[:, 1:-2].copy(),
    lambda g, x: (
        g[:, 1 : 1 + min(x.shape[1], 6)] if x.shape[1] <= 6 else np.pad(g[:, 1:7], ((0, 0), (0, x.shape[1] - 6)))
    ),
    words={"x": BN},
)

# -- matrices --------------------------------------------------------------------------------------------------------
add(
    "matrix product",
    "transpose",
    lambda a, b: a @ b,
    lambda g, a, b: (g @ b.T, a.T @ g),
    lambda g, a, b: (g @ b.T, (a.T @ g).T.reshape(b.shape)),
    words={"a": ("n", "k"), "b": ("k", "m")},
)
add(
    "linear layer",
    "sum",
    lambda x, w, b: x @ w + b,
    lambda g, x, w, b: (g @ w.T, x.T @ g, g.sum(0)),
    lambda g, x, w, b: (g @ w.T, x.T @ g, g[0] if len(g) else 0 * b),
    words={"x": ("b", "n"), "w": ("n", "m"), "b": ("m",)},
)
add(
    "inverse",
    "sign",
    lambda x: np.linalg.inv(x),
    lambda g, x: -np.swapaxes(np.linalg.inv(x), -1, -2) @ g @ np.swapaxes(np.linalg.inv(x), -1, -2),
    lambda g, x: -np.swapaxes(np.linalg.inv(x), -1, -2) @ g @ np.linalg.inv(x),
    words={"x": (3, 3)},
)
add(
    "gram matrix",
    "half",
    lambda x: x @ x.T,
    lambda g, x: (g + g.T) @ x,
    lambda g, x: 2 * g @ x,
    words={"x": ("n", "m")},
)
add(
    "quadratic form",
    "symmetric only",
    lambda x, a: np.einsum("i,ij,j->", x, a, x),
    lambda g, x, a: (g * (a + a.T) @ x, g * np.outer(x, x)),
    lambda g, x, a: (2 * g * a @ x, g * np.outer(x, x)),
    words={"x": ("n",), "a": ("n", "n")},
)

# -- indices ---------------------------------------------------------------------------------------------------------
add(
    "rows picked",
    "repeated",
    lambda x, i: x[i],
    lambda g, x, i: (_rows(g, x, i), None),
    lambda g, x, i: (_rows_once(g, x, i), None),
    words={"x": (4, "m"), "i": indices(4, "k")},
)


def _rows(g: Any, x: Any, i: Any) -> Any:
    c = np.zeros_like(x)
    np.add.at(c, i, g)
    return c


def _rows_once(g: Any, x: Any, i: Any) -> Any:
    c = np.zeros_like(x)
    c[i] = g
    return c


add(
    "cross entropy",
    "index",
    lambda x, i: -log_softmax(x)[np.arange(len(i)), i],
    lambda g, x, i: (g[:, None] * (softmax(x) - (np.arange(4) == i[:, None])), None),
    lambda g, x, i: (g[:, None] * (softmax(x) - (np.arange(4) == np.minimum(i, 2)[:, None])), None),
    words={"x": array("b", 4), "i": indices(4, "b")},
)

# -- complex -----------------------------------------------------------------------------------------------------------
add(
    "complex product",
    "conjugate",
    lambda a, b: a * b,
    lambda g, a, b: (g * np.conj(b), g * np.conj(a)),
    lambda g, a, b: (g * np.conj(b), g * a),
    words={"a": array("n", complex=True), "b": array("n", complex=True)},
)
add(
    "squared modulus",
    "conjugate",
    lambda z: (z * np.conj(z)).real,
    lambda g, z: 2 * g * z,
    lambda g, z: 2 * g * np.conj(z),
    words={"z": array("n", complex=True)},
)
add(
    "real part",
    "dtype",
    lambda z: z.real.copy(),
    lambda g, z: g.astype(z.dtype),
    lambda g, z: g,
    words={"z": array("n", complex=True)},
)
