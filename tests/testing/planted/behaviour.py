"""Planted in how a derivative behaves: memory, state, layout, linearity, dtypes, orders."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.testing.words import array

from .plant import BN, Bed

BEHAVIOUR = Bed()
add = BEHAVIOUR.add


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
