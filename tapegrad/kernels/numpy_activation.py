"""NumPy kernels of neural networks' activations, and of cotangents times their partials."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.kernels.numpy_bounds import at_least, between, own_number

#: A scalar of an array's own dtype, as an array: ufuncs take it in half the time that they need for a number of Python's.
_ONE = {np.dtype(t): np.ones((), t) for t in (np.float32, np.float64)}


def relu(x: Any) -> Any:
    """The larger of `x` and 0."""
    return at_least(x, 0)


#: Elements that are computed at once, where several steps follow on each other.
_BLOCK = 16384


def huber(x: Any, *, delta: float) -> Any:
    """x**2 / 2 between -delta and delta, beyond as straight lines; of large arrays a block at a time."""
    if type(x) is not np.ndarray or x.size < 2 * _BLOCK or not x.flags.c_contiguous or x.dtype not in _ONE:
        kept = between(x, -delta, delta)
        return kept * (x - own_number(x, 0.5) * kept)
    y = np.empty_like(x)
    source, target, half = x.reshape(-1), y.reshape(-1), np.array(0.5, x.dtype)
    kept = np.empty(_BLOCK, x.dtype)
    for start in range(0, x.size, _BLOCK):
        part, out = source[start : start + _BLOCK], target[start : start + _BLOCK]
        k = part.clip(-delta, delta, kept[: part.size])
        np.multiply(k, half, out)
        np.subtract(part, out, out)
        np.multiply(out, k, out)
    return y


def step(x: Any) -> Any:
    """1 where x > 0, else 0, in the dtype of x: a third of the time of `sign`."""
    return np.greater(x, 0).astype(x.dtype)


@np.errstate(over="ignore")  # as a decorator 0.6 us, as a context 1.0
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x)): exp of a large -x is infinite, and 1 / inf is the right 0."""
    if x.dtype.kind in "biu":
        x = x.astype(np.exp(x[:0] if x.ndim else x).dtype)  # minus an unsigned integer is none
    one = _ONE.get(x.dtype)
    if one is None or type(x) is not np.ndarray or not x.ndim:  # without axes an op gives a scalar, which is no buffer
        return 1 / (1 + np.exp(-x))
    y = np.negative(x)
    np.exp(y, y)
    np.add(y, one, y)
    return np.divide(one, y, y)


def square_grad(g: Any, x: Any) -> Any:
    """2 g x; of what is the same along an axis, as a sum sends it back, in a single pass.

    Measured for 262,144 float32: 23 us, else 46.
    """
    if type(g) is np.ndarray is type(x) and g.size >= 16384 and g.shape == x.shape and 0 in g.strides:
        return x * (2 * g[tuple([slice(None) if step else slice(1) for step in g.strides])])
    return g * (2 * x)


def tanh_grad(g: Any, y: Any) -> Any:
    """g (1 - y**2), in one buffer."""
    if type(y) is not np.ndarray or not y.ndim or not _alike(g, y):
        return g * (1 - y * y)
    c = y * y
    np.subtract(_ONE.get(y.dtype, 1), c, c)
    c *= g
    return c


def expit(x: Any) -> Any:
    """The same as SciPy has it, in a quarter of its time: half precision is computed in single, integers in double."""
    if x.dtype.kind in "biu":
        x = x.astype(np.float64)
    if x.dtype.itemsize == 2:
        return expit(x.astype(np.float32)).astype(x.dtype)
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


def sigmoid_grad(g: Any, y: Any) -> Any:
    """g y (1 - y), in one buffer."""
    if type(y) is not np.ndarray or not _alike(g, y):
        return g * (y * (1 - y))
    c = _ONE.get(y.dtype, 1) - y
    c *= y
    c *= g
    return c


def relu_grad(g: Any, y: Any) -> Any:
    """g where y > 0, else 0."""
    c = step(y) if hasattr(y, "dtype") else float(y > 0)
    if type(c) is not np.ndarray or not _alike(g, c):
        return g * c
    c *= g
    return c


def _alike(g: Any, y: Any) -> bool:
    return type(g) is np.ndarray and g.dtype is y.dtype and g.shape == y.shape
