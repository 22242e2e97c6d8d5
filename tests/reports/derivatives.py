"""First and second derivatives at a point, in double precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import tapegrad as tg

Function = Callable[..., Any]


def array(x: Any) -> tg.Tensor:
    """A double-precision tensor, real or complex."""
    x = np.asarray(x)
    return tg.asarray(x if x.dtype.kind == "c" else x.astype(float), copy=True)


def gradients(f: Function, *xs: Any) -> list[Any]:
    """The gradient of sum(f(*xs)) for each argument."""
    tensors = [array(x) for x in xs]
    with tg.GradientTape() as tape:
        tape.watch(tensors)
        y = tg.sum(f(*tensors))
    return [g.numpy() for g in tape.gradient(y, tensors, unconnected_gradients="zero")]


def gradient(f: Function, x: Any) -> Any:
    """The gradient of sum(f(x))."""
    return gradients(f, x)[0]


def hessian(f: Function, x: Any) -> Any:
    """The Jacobian of the gradient of sum(f(x)): reverse mode over reverse mode, in one batch."""
    x = array(x)
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as inner:
            inner.watch(x)
            y = tg.sum(f(x))
        g = inner.gradient(y, x, unconnected_gradients="zero")
    return outer.jacobian(g, x, unconnected_gradients="zero").numpy()


def hessian_forward(f: Function, x: Any) -> Any:
    """The same, a column at a time: forward mode over reverse mode."""
    x = array(x)
    columns = []
    for i in np.ndindex(*x.shape):
        t = np.zeros(x.shape)
        t[i] = 1
        with tg.ForwardAccumulator(x, array(t)) as accumulator:
            with tg.GradientTape() as tape:
                tape.watch(x)
                y = tg.sum(f(x))
            g = tape.gradient(y, x, unconnected_gradients="zero")
        column = accumulator.jvp(g, unconnected_gradients="zero")
        columns.append(column.numpy())
    return np.stack(columns, axis=-1).reshape(x.shape * 2)


def successive(f: Function, x: float, order: int) -> list[float]:
    """The first derivatives of a function of one number, as many as `order`."""
    point = array(x)
    found = []

    def derivative(n: int) -> Any:
        if n == 0:
            return f(point)
        with tg.GradientTape() as tape:
            tape.watch(point)
            y = derivative(n - 1)
        g = tape.gradient(y, point, unconnected_gradients="zero")
        found.append(float(g))
        return g

    derivative(order)
    return found
