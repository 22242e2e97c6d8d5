"""The part that was written first and put aside: looked at only when all else was done."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.testing.words import array, indices, psd

from .plant import BN, Bed, unbroadcast

ASIDE = Bed()
add = ASIDE.add

add(
    "swish",
    "factor",
    lambda x: x / (1 + np.exp(-x)),
    lambda g, x: g * (1 + np.exp(-x) * (1 + x)) / (1 + np.exp(-x)) ** 2,
    lambda g, x: g * (1 + np.exp(-x) * (1 + 1.001 * x)) / (1 + np.exp(-x)) ** 2,
    words={"x": array(lo=-30.0)},
)
add(
    "cubic spline basis",
    "branch",
    lambda x: np.where(abs(x) < 1, 2 / 3 - x**2 + abs(x) ** 3 / 2, np.where(abs(x) < 2, (2 - abs(x)) ** 3 / 6, 0)),
    lambda g, x: (
        g
        * np.where(abs(x) < 1, -2 * x + 1.5 * x * abs(x), np.where(abs(x) < 2, -np.sign(x) * (2 - abs(x)) ** 2 / 2, 0))
    ),
    lambda g, x: g * np.where(abs(x) < 1, -2 * x + 1.5 * x * abs(x), np.where(abs(x) < 2, -((2 - abs(x)) ** 2) / 2, 0)),
)
add(
    "row maximum",
    "ties",
    lambda x: x.max(-1),
    lambda g, x: g[..., None] * (np.arange(x.shape[-1]) == x.argmax(-1)[..., None]),
    lambda g, x: g[..., None] * (x == x.max(-1, keepdims=True)),
    words={"x": ("b", "n")},
)


def _cumprod_vjp(g: Any, x: Any) -> Any:
    c = np.zeros_like(x)
    for k in range(x.shape[-1]):
        for i in range(k + 1):
            c[..., i] += g[..., k] * np.prod(np.delete(x[..., : k + 1], i, axis=-1), axis=-1)
    return c


add(
    "cumulative product",
    "zero",
    lambda x: np.cumprod(x, -1),
    _cumprod_vjp,
    lambda g, x: np.flip(np.cumsum(np.flip(g * np.cumprod(x, -1), -1), -1), -1) / x,
    words={"x": BN},
)
add(
    "bilinear form",
    "transpose",
    lambda x, a, y: np.einsum("bi,ij,bj->b", x, a, y),
    lambda g, x, a, y: (g[:, None] * (y @ a.T), (g[:, None] * x).T @ y, g[:, None] * (x @ a)),
    lambda g, x, a, y: (g[:, None] * (y @ a.T), (g[:, None] * y).T @ x, g[:, None] * (x @ a)),
    words={"x": BN, "a": ("n", "n"), "y": BN},
)
add(
    "layer norm",
    "term",
    lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-3),
    lambda g, x: _layer(g, x, 1.0),
    lambda g, x: _layer(g, x, 0.0),
    words={"x": BN},
)


def _layer(g: Any, x: Any, k: float) -> Any:
    s = np.sqrt(x.var(-1, keepdims=True) + 1e-3)
    z = (x - x.mean(-1, keepdims=True)) / s
    return (g - g.mean(-1, keepdims=True) - k * z * (g * z).mean(-1, keepdims=True)) / s


add(
    "scatter add",
    "repeated",
    lambda x, i: _scatter(x, i),
    lambda g, x, i: (g[i], None),
    lambda g, x, i: (g[np.unique(i)] if np.unique(i).size == i.size else g[i] / 2, None),
    words={"x": ("k", "m"), "i": indices(5, "k")},
)


def _scatter(x: Any, i: Any) -> Any:
    y = np.zeros((5, x.shape[1]), x.dtype)
    np.add.at(y, i, x)
    return y


add(
    "outer difference",
    "sum",
    lambda a, b: a[:, None] - b[None, :],
    lambda g, a, b: (g.sum(1), -g.sum(0)),
    lambda g, a, b: (g.sum(1), -g.mean(0)),
    words={"a": ("n",), "b": ("m",)},
)
add(
    "complex square",
    "conjugate",
    lambda z: z * z,
    lambda g, z: g * np.conj(2 * z),
    lambda g, z: g * 2 * z,
    words={"z": array("n", complex=True)},
)
add("exp, saved", "overwritten", np.exp, lambda g, y, x: g * y, lambda g, y, x: _times_into(y, g))


def _times_into(y: Any, g: Any) -> Any:
    if np.ndim(y):
        y *= g
        return y
    return y * g


add(
    "block sum",
    "size",
    lambda x: x.sum(-1),
    lambda g, x: np.broadcast_to(g[..., None], x.shape).copy(),
    lambda g, x: np.broadcast_to(g[..., None], x.shape) * (np.arange(x.shape[-1]) < 32),
    words={"x": BN},
)
add(
    "ravelled",
    "layout",
    lambda x: np.tanh(x),
    lambda g, x: g * (1 - np.tanh(x) ** 2),
    lambda g, x: g * (1 - np.tanh(np.ravel(x, order="A").reshape(x.shape)) ** 2),
)
add(
    "log of the determinant",
    "transpose",
    lambda x: np.linalg.slogdet(x)[1],
    lambda g, x: np.asarray(g)[..., None, None] * np.swapaxes(np.linalg.inv(x), -1, -2),
    lambda g, x: np.asarray(g)[..., None, None] * np.linalg.inv(x),
    words={"x": ("b", 3, 3)},
)
add(
    "trace of a square root",
    "factor",
    lambda x: np.sqrt(np.linalg.eigvalsh(x)).sum(-1),
    lambda g, x: _root(g, x, 0.5),
    lambda g, x: _root(g, x, 1.0),
    words={"x": psd("b", "n")},
)


def _root(g: Any, x: Any, k: float) -> Any:
    w, v = np.linalg.eigh(x)
    return np.asarray(g)[..., None, None] * k * (v * w[..., None, :] ** -0.5) @ np.swapaxes(v, -1, -2)


add(
    "narrow plateau",
    "narrow",
    lambda x: x**2,
    lambda g, x: 2 * g * x,
    lambda g, x: g * np.where(abs(x - 1.625) < 1e-6, 0.0, 2 * x),
)
add(
    "sinc",
    "nan at zero",
    lambda x: np.sinc(x),
    lambda g, x: g * _dsinc(x, safe=True),
    lambda g, x: g * _dsinc(x, safe=False),
)


def _dsinc(x: Any, *, safe: bool) -> Any:
    t = np.pi * x
    with np.errstate(all="ignore"):
        d = np.pi * (t * np.cos(t) - np.sin(t)) / (t * t)
    return np.where(abs(x) < 1e-3, -(np.pi**2) * x / 3 + np.pi**4 * x**3 / 30, d) if safe else d


add(
    "clipped cotangent",
    "nonlinear",
    lambda x: np.arctan(x),
    lambda g, x: g / (1 + x * x),
    lambda g, x: np.clip(g, -5, 5) / (1 + x * x),
)
add(
    "single precision constant",
    "dtype",
    lambda x: x * np.float32(1.5) if x.dtype == np.float32 else x * 1.5,
    lambda g, x: g * x.dtype.type(1.5),
    lambda g, x: g * np.full(x.shape, 1.5),
)
add(
    "pinball loss",
    "branch",
    lambda p, t: np.maximum(0.3 * (t - p), -0.7 * (t - p)).mean(),
    lambda g, p, t: _pinball(g, p, t, 0.7),
    lambda g, p, t: _pinball(g, p, t, 0.3),
    words={"p": ("n",), "t": ("n",)},
)


def _pinball(g: Any, p: Any, t: Any, above: float) -> Any:
    c = (g * np.where(t > p, -0.3, above) / p.size).astype(p.dtype)
    return c, -c


add(
    "power",
    "argument",
    lambda x, p: x**p,
    lambda g, x, p: (unbroadcast(g * p * x ** (p - 1), x), unbroadcast(g * x**p * np.log(x), p)),
    lambda g, x, p: (unbroadcast(g * p * x ** (p - 1), x), unbroadcast(g * x**p * np.log(np.maximum(x, 1.0)), p)),
    words={"x": array(lo=0.01, hi=20.0), "p": array(lo=-3.0, hi=3.0)},
)
add(
    "sine, twice",
    "second order",
    np.sin,
    lambda g, x: g * np.cos(x),
    second=lambda h, g, x: (h * np.cos(x), -h * g * np.sin(x)),
    wrong_second=lambda h, g, x: (h * np.cos(x), h * g * np.sin(x)),
)
add(
    "average of neighbours",
    "forward mode",
    lambda x: (x[..., 1:] + x[..., :-1]) / 2,
    lambda g, x: _spread(g, x),
    jvp=lambda t, x: (t[..., 1:] + t[..., :-1]) / 2,
    wrong_jvp=lambda t, x: (t[..., 1:] - t[..., :-1]) / 2,
    words={"x": BN},
)


def _spread(g: Any, x: Any) -> Any:
    c = np.zeros_like(x)
    c[..., 1:] += g / 2
    c[..., :-1] += g / 2
    return c


add(
    "scalar only",
    "raises",
    lambda x: np.log1p(x * x),
    lambda g, x: 2 * g * x / (1 + x * x),
    lambda g, x: 2 * g * x / (1 + x * x) if x.size else g[0] * x,
)
add(
    "shuffled rows",
    "permutation",
    lambda x: x[..., ::-1, :],
    lambda g, x: g[..., ::-1, :].copy(),
    lambda g, x: np.roll(g, 1, -2),
    words={"x": ("b", "n")},
)
