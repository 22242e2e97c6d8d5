"""Functions with a derivative that is written by hand, for tests of it."""

import math
from typing import Any

import tapegrad as tg


@tg.custom_gradient
def log1pexp(x: tg.Tensor) -> Any:
    e = tg.exp(x)
    return tg.log(1 + e), lambda g: g * (1 - 1 / (1 + e))


@tg.custom_gradient
def square(x: tg.Tensor) -> Any:
    return x * x, lambda g: g * 2 * x


@tg.custom_gradient
def sevenfold(x: tg.Tensor) -> Any:
    """Its value, and seven as its derivative, which is wrong and so shows whose derivative was taken."""
    return x * 1, lambda g: g * 7


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def gradient(function: Any, *xs: Any, of: Any = None) -> Any:
    xs = tuple(x if isinstance(x, tg.Tensor) else tg.asarray(x) for x in xs)
    with tg.GradientTape() as tape:
        tape.watch([x for x in xs if x.dtype.kind in "fc"])
        y = function(*xs)
    return tape.gradient(y, list(xs) if of is None else of)
