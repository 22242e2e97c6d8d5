"""Windows that are symmetric unless told otherwise: `torch.signal.windows`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.special

from tapegrad.torch._dtypes import DEFAULT, NAMES, numpy_of
from tapegrad.torch._functions.create import finished


def _window(make: Callable[..., Any]) -> Callable[..., Any]:
    """A function of a window's length from one of its points (an array) and the distance of its ends."""
    name = make.__name__

    @functools.wraps(make)
    def window(
        M: int,
        *args: Any,
        sym: bool = True,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        **words: Any,
    ) -> Any:
        dtype = DEFAULT[0] if dtype is None else dtype
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        if dtype not in (NAMES["float32"], NAMES["float64"]):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
        kind = numpy_of(dtype)
        steps = M - 1 if sym or M < 2 else M
        made = make(np.arange(M, dtype=np.float64), steps, *args, **words)
        return finished((np.ones(M) if M == 1 else made).astype(kind), requires_grad, None, device)

    del window.__wrapped__  # its parameters are not those of `make`
    return window


def _sum_of_cosines(i: Any, steps: int, weights: Iterable[float]) -> Any:
    turn = 2 * np.pi * i / max(steps, 1)
    return sum((-1) ** k * a * np.cos(k * turn) for k, a in enumerate(weights)) + np.zeros(len(i))


@_window
def general_cosine(i: Any, steps: int, a: Iterable[float]) -> Any:
    """A sum of cosines with these weights, whose signs alternate."""
    weights = list(a)
    if not weights:
        raise ValueError("Coefficients cannot be empty")
    return _sum_of_cosines(i, steps, weights)


@_window
def general_hamming(i: Any, steps: int, alpha: float = 0.54) -> Any:
    """alpha - (1 - alpha) cos(x) over a turn."""
    return _sum_of_cosines(i, steps, [alpha, 1 - alpha])


@_window
def hamming(i: Any, steps: int) -> Any:
    """0.54 - 0.46 cos(x) over a turn."""
    return _sum_of_cosines(i, steps, [0.54, 0.46])


@_window
def hann(i: Any, steps: int) -> Any:
    """0.5 - 0.5 cos(x) over a turn."""
    return _sum_of_cosines(i, steps, [0.5, 0.5])


@_window
def blackman(i: Any, steps: int) -> Any:
    """0.42 - 0.5 cos(x) + 0.08 cos(2 x) over a turn."""
    return _sum_of_cosines(i, steps, [0.42, 0.5, 0.08])


@_window
def nuttall(i: Any, steps: int) -> Any:
    """Four cosines, whose lobes beside the first are the smallest.  A. Nuttall (1981), minimum 4-term."""
    return _sum_of_cosines(i, steps, [0.3635819, 0.4891775, 0.1365995, 0.0106411])


@_window
def bartlett(i: Any, steps: int) -> Any:
    """A triangle whose ends are 0."""
    return 1 - np.abs(2 * i / max(steps, 1) - 1)


@_window
def cosine(i: Any, steps: int) -> Any:
    """Half a sine, between its zeros."""
    return np.sin(np.pi / max(steps + 1, 1) * (i + 0.5))


@_window
def exponential(i: Any, steps: int, *, center: float | None = None, tau: float = 1.0) -> Any:
    """exp(-|i - center| / tau)."""
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    return np.exp(-np.abs(i - (steps / 2 if center is None else center)) / tau)


@_window
def gaussian(i: Any, steps: int, *, std: float = 1.0) -> Any:
    """exp(-d**2 / (2 std**2)) of the distance d from the middle."""
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    return np.exp(-(((i - steps / 2) / std) ** 2) / 2)


@_window
def kaiser(i: Any, steps: int, *, beta: float = 12.0) -> Any:
    """The quotient of i0 at beta sqrt(1 - x**2), x from -1 to 1, and at beta."""
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    x = 2 * i / max(steps, 1) - 1
    return scipy.special.i0(beta * np.sqrt(np.maximum(1 - x * x, 0))) / scipy.special.i0(beta)


__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann", "kaiser",
    "nuttall",
]  # fmt: skip
