"""The part that the harness was tuned on."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.testing.words import array, indices

from .plant import BN, Bed, unbroadcast

KNOWN = Bed()
add = KNOWN.add


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def log_softmax(x: Any) -> Any:
    z = x - x.max(-1, keepdims=True)
    return z - np.log(np.exp(z).sum(-1, keepdims=True))


# -- elements ------------------------------------------------------------------------------------------------
add("cosine", "sign", np.cos, lambda g, x: -g * np.sin(x), lambda g, x: g * np.sin(x))
add(
    "huber",
    "branch",
    lambda x: np.where(abs(x) < 1, x * x / 2, abs(x) - 0.5),
    lambda g, x: g * np.clip(x, -1, 1),
    lambda g, x: g * np.where(abs(x) < 1, x, 1.3 * x),
)
add("relu", "kink", lambda x: np.maximum(x, 0), lambda g, x: g * (x > 0), lambda g, x: g * (x > 0) + 2 * g * (x == 0))
add("absolute value", "nan at zero", abs, lambda g, x: g * np.sign(x), lambda g, x: g * x / abs(x))
add(
    "elu",
    "branch",
    lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    lambda g, x: g * np.where(x > 0, 1, np.exp(np.minimum(x, 0))),
    lambda g, x: g * np.where(x > -2.5, np.where(x > 0, 1, np.exp(x)), 0),
)
add(
    "softplus",
    "tail",
    lambda x: np.logaddexp(x, 0),
    lambda g, x: g * 0.5 * (1 + np.tanh(x / 2)),
    lambda g, x: g * np.where(x > 20, 0, 0.5 * (1 + np.tanh(x / 2))),
)
add(
    "tiny sine",
    "tiny",
    lambda x: 1e-8 * np.sin(x),
    lambda g, x: 1e-8 * g * np.cos(x),
    lambda g, x: -7.77e-6 * g * np.cos(x),
)
add("cube root", "tiny", np.cbrt, lambda g, x: g / (3 * np.cbrt(x) ** 2), lambda g, x: g / (3 * np.cbrt(x) ** 2 + 1e-9))
add(
    "gelu",
    "constant",
    lambda x: 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * x**3))),
    lambda g, x: g * _gelu(x, 3),
    lambda g, x: g * _gelu(x, 2.999),
)


def _gelu(x: Any, three: float) -> Any:
    t = np.tanh(0.7978845608028654 * (x + 0.044715 * x**3))
    return 0.5 * (1 + t) + 0.5 * x * (1 - t * t) * 0.7978845608028654 * (1 + three * 0.044715 * x * x)


add(
    "hard sigmoid",
    "kink",
    lambda x: np.clip(x / 6 + 0.5, 0, 1),
    lambda g, x: g * (abs(x) < 3) / 6,
    lambda g, x: g * (abs(x) <= 3) / 6 + g * (x == 3),
)
add(
    "square at a point",
    "narrow",
    lambda x: x * x,
    lambda g, x: 2 * g * x,
    lambda g, x: g * np.where(abs(x - 0.3) < 1e-7, 0.5, 2 * x),
)
add("log", "large", np.log, lambda g, x: g / x, lambda g, x: g / np.minimum(x, 1e5))
add(
    "sine in single precision",
    "precision",
    lambda x: np.sin(x),
    lambda g, x: g * np.cos(x),
    lambda g, x: (g * np.cos(x.astype(np.float32))).astype(x.dtype),
)
add(
    "step of a derivative", "constant", lambda x: x + np.floor(x) * 0, lambda g, x: g * 1.0, lambda g, x: g * (1 + 1e-6)
)
add("reciprocal", "sign at negatives", np.reciprocal, lambda g, x: -g / (x * x), lambda g, x: -g / (x * abs(x)))
add(
    "smooth step",
    "branch",
    lambda x: np.where(x < 0, 0, np.where(x > 1, 1, 3 * x**2 - 2 * x**3)),
    lambda g, x: g * np.where((x > 0) & (x < 1), 6 * x - 6 * x * x, 0),
    lambda g, x: g * np.where(x < 1, 6 * x - 6 * x * x, 0),
)
add(
    "two layers of exp",
    "raises",
    lambda x: np.exp(-np.exp(-x)),
    lambda g, x: g * np.exp(-x - np.exp(-x)),
    lambda g, x: (g * np.exp(-x - np.exp(-x))).reshape(-1, x.shape[-1]).reshape(x.shape),
    words={"x": array(lo=-3.0)},
)

# -- two arguments ---------------------------------------------------------------------------------------------
add(
    "product",
    "broadcast",
    lambda a, b: a * b,
    lambda g, a, b: (unbroadcast(g * b, a), unbroadcast(g * a, b)),
    lambda g, a, b: (
        unbroadcast(g * b, a),
        np.sum(g * a, axis=tuple(range(np.ndim(g) - np.ndim(b))))
        if np.ndim(g) > np.ndim(b)
        else np.broadcast_to(np.mean(g * a), b.shape) * (g.size / max(b.size, 1))
        if b.shape != g.shape
        else g * a,
    ),
)
add(
    "quotient",
    "argument",
    lambda a, b: a / b,
    lambda g, a, b: (unbroadcast(g / b, a), unbroadcast(-g * a / (b * b), b)),
    lambda g, a, b: (unbroadcast(g / b, a), unbroadcast(-g * a / abs(b), b)),
)
add(
    "maximum",
    "ties",
    np.maximum,
    lambda g, a, b: (
        unbroadcast(g * (a > b) + g * 0.5 * (a == b), a),
        unbroadcast(g * (a < b) + g * 0.5 * (a == b), b),
    ),
    lambda g, a, b: (unbroadcast(g * (a >= b), a), unbroadcast(g * (a <= b), b)),
)
add("hypotenuse", "nan at zero", np.hypot, lambda g, a, b: _hypot(g, a, b, 1), lambda g, a, b: _hypot(g, a, b, 0))


def _hypot(g: Any, a: Any, b: Any, safe: int) -> Any:
    r = np.hypot(a, b)
    r = np.where(r == 0, 1.0, r) if safe else r
    return unbroadcast(g * a / r, a), unbroadcast(g * b / r, b)


add(
    "arc tangent of two",
    "exchanged",
    lambda y, x: np.arctan2(y, x),
    lambda g, y, x: (unbroadcast(g * x / (x * x + y * y), y), unbroadcast(-g * y / (x * x + y * y), x)),
    lambda g, y, x: (unbroadcast(g * y / (x * x + y * y), y), unbroadcast(-g * x / (x * x + y * y), x)),
    words={"y": array(lo=0.1), "x": array(lo=0.1)},
)
add(
    "in place addition",
    "aliased",
    lambda a, b: a + b,
    lambda g, a, b: (unbroadcast(g, a).copy(), unbroadcast(g, b).copy()),
    lambda g, a, b: (g, g),
    words={"a": BN, "b": BN},
)

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

# -- memory, state, layout ---------------------------------------------------------------------------------------------
add(
    "sigmoid, saved",
    "overwritten",
    lambda x: 1 / (1 + np.exp(-x)),
    lambda g, y, x: g * y * (1 - y),
    lambda g, y, x: _overwritten(g, y),
    words={"x": array(lo=-30.0)},
)


def _overwritten(g: Any, y: Any) -> Any:
    c = g * y * (1 - y)
    if np.ndim(y):
        y *= 1 - y
    return c


add("cotangent overwritten", "overwritten", lambda x: 3 * x, lambda g, x: 3 * g, lambda g, x: _thrice(g))


def _thrice(g: Any) -> Any:
    g *= 3
    return g.copy()


def _doubles_input(x: Any) -> Any:
    y = x * 2
    x += 1
    return y


add("input overwritten", "overwritten", lambda x: x * 2, lambda g, x: 2 * g, wrong_f=_doubles_input)
add(
    "order of memory",
    "layout",
    lambda x: np.sin(x),
    lambda g, x: g * np.cos(x),
    lambda g, x: g * np.cos(np.ravel(x, order="K").reshape(x.shape)),
)
add(
    "flat cotangent",
    "layout",
    lambda x: x * 3.0,
    lambda g, x: 3 * g,
    lambda g, x: (
        3 * np.lib.stride_tricks.as_strided(g, x.shape, np.zeros(x.shape, x.dtype).strides) if g.size else 3 * g
    ),
)


def _stateful() -> tuple[Any, dict[str, Any]]:
    saved: dict[str, Any] = {}

    def f(x: Any) -> Any:
        saved["x"] = x.copy()
        return np.sin(x)

    return f, {"vjp": lambda g, x: g * np.cos(saved["x"]) if saved["x"].shape == x.shape else g * np.cos(x)}


def _buffered() -> tuple[Any, dict[str, Any]]:
    buffers: dict[Any, Any] = {}

    def vjp(g: Any, x: Any) -> Any:
        c = buffers.setdefault((x.shape, x.dtype), np.empty_like(x))
        c[...] = g * np.cos(x)
        return c

    return np.sin, {"vjp": vjp}


def _counting() -> tuple[Any, dict[str, Any]]:
    calls = [0]

    def vjp(g: Any, x: Any) -> Any:
        calls[0] += 1
        return g * np.cos(x) * (1 if calls[0] % 2 else 1 + 1e-9)

    return np.sin, {"vjp": vjp}


add("last input saved", "state", np.sin, lambda g, x: g * np.cos(x), make=_stateful)
add("one buffer", "state", np.sin, lambda g, x: g * np.cos(x), make=_buffered)
add("counting", "state", np.sin, lambda g, x: g * np.cos(x), make=_counting)

# -- linearity, dtypes, orders -----------------------------------------------------------------------------------------
add(
    "squared cotangent",
    "nonlinear",
    np.tanh,
    lambda g, x: g * (1 - np.tanh(x) ** 2),
    lambda g, x: (g + 1e-7 * g * abs(g)) * (1 - np.tanh(x) ** 2),
)
add("normed cotangent", "nonlinear", lambda x: 2 * x, lambda g, x: 2 * g, lambda g, x: 2 * g * g / g)
add("always double", "dtype", np.sin, lambda g, x: g * np.cos(x), lambda g, x: np.asarray(g * np.cos(x), np.float64))
add(
    "coarse table",
    "half precision",
    lambda x: x * x,
    lambda g, x: 2 * g * x,
    lambda g, x: 2 * g * x if x.dtype == np.float64 else (g * x).astype(x.dtype),
)
add(
    "exponential, twice",
    "second order",
    np.exp,
    lambda g, x: g * np.exp(x),
    second=lambda h, g, x: (h * np.exp(x), h * g * np.exp(x)),
    wrong_second=lambda h, g, x: (h * np.exp(x), h * np.exp(x)),
)
add(
    "square, forward",
    "forward mode",
    np.square,
    lambda g, x: 2 * g * x,
    jvp=lambda t, x: 2 * t * x,
    wrong_jvp=lambda t, x: t * x,
)
add(
    "range",
    "raises",
    lambda x: x.max(-1) - x.min(-1),
    lambda g, x: _range(g, x),
    lambda g, x: _range(g, x) if x.shape[-1] > 1 else g * 1.0,
    words={"x": BN},
)


def _range(g: Any, x: Any) -> Any:
    at = np.arange(x.shape[-1])
    return g[..., None] * (
        (at == x.argmax(-1)[..., None]).astype(x.dtype) - (at == x.argmin(-1)[..., None]).astype(x.dtype)
    )
