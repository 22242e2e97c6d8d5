"""Planted in functions of elements, of one argument and of two."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.testing.words import array

from .plant import BN, Bed, unbroadcast

ELEMENTS = Bed()
add = ELEMENTS.add


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
