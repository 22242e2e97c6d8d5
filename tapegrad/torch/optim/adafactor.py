"""Adafactor: squares of gradients kept as a row and a column."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.dtypes import finfo
from tapegrad.registry.space import space_of_type
from tapegrad.torch.optim._memory import kept, larger, opened, root, scalar
from tapegrad.torch.optim._stepper import Stepper, counted, rate


class Adafactor(Stepper):
    """p -= alpha u / max(1, rms(u) / d) with u = g / sqrt(v), where v of a matrix is the outer product of its rows' and columns' means.

    N. Shazeer, M. Stern, "Adafactor: adaptive learning rates with sublinear memory cost", 2018, algorithm 4.
    """

    _decoupled = True

    def __init__(
        self,
        params: Any,
        lr: float = 1e-2,
        beta2_decay: float = -0.8,
        eps: tuple[float | None, float] = (None, 1e-3),
        d: float = 1.0,
        weight_decay: float = 0.0,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
    ) -> None:
        for words, value, ok in (
            ("Learning rate should be >= 0", lr, lr >= 0),
            ("beta2_decay should be <= 0", beta2_decay, beta2_decay <= 0),
            ("epsilon1 should be >= 0", eps[0], eps[0] is None or eps[0] >= 0),
            ("epsilon2 should be >= 0", eps[1], eps[1] >= 0),
            ("Clipping threshold d should be >= 1", d, d >= 1),
            ("weight_decay should be >= 0", weight_decay, weight_decay >= 0),
        ):
            if not ok:
                raise ValueError(f"{words} but is: {value}")
        defaults = {
            "lr": lr, "beta2_decay": beta2_decay, "eps": eps, "d": d, "weight_decay": weight_decay,
            "foreach": foreach, "maximize": maximize,
        }  # fmt: skip
        super().__init__(params, defaults)

    def _start(self, group: dict[str, Any], p: Any, state: dict[str, Any]) -> None:
        if p.is_complex():
            raise RuntimeError("Adafactor does not support complex parameters")
        state["step"] = scalar(0.0)
        shape = tuple(p.shape)
        if len(shape) > 1:
            state["row_var"] = p.new_zeros((*shape[:-1], 1))
            state["col_var"] = p.new_zeros((*shape[:-2], 1, shape[-1]))
        else:
            state["variance"] = p.new_zeros(shape)

    def _update(self, options: Any, p: Any, g: Any, state: dict[str, Any]) -> Any:
        lr, (eps1, eps2), d = rate(options), options["eps"], options["d"]
        if eps1 is None:
            eps1 = finfo(np.dtype(getattr(p.dtype, "as_numpy_dtype", p.dtype))).eps
        step = counted(state)
        weight = step ** options["beta2_decay"]
        alpha = _at_least(eps2, _rms(p)) * min(lr, 1 / step**0.5)
        if options["weight_decay"]:
            p *= 1 - lr * options["weight_decay"]
        xp = space_of_type(type(g))
        square = g * g
        if square.ndim > 1:
            rows = _moved(state["row_var"], xp.mean(square, axis=-1, keepdims=True), weight)
            columns = _moved(state["col_var"], xp.mean(square, axis=-2, keepdims=True), weight)
            v = xp.matmul(rows, columns) / larger(xp.mean(rows, axis=-2, keepdims=True), eps1)
        else:
            v = _moved(state["variance"], square, weight) * 1.0
        u = g / root(larger(v, eps1 * eps1))
        p -= u * (alpha / _at_least(1.0, _rms(u) / d))
        return p


def _rms(a: Any) -> Any:
    """The root of the mean of the squares: a number, or an array of no axes on the device of `a`."""
    mean = space_of_type(type(a)).mean(a * a)
    return (float(mean) if isinstance(mean, np.ndarray | np.generic) else mean) ** 0.5


def _at_least(bound: float, a: Any) -> Any:
    """The larger of both."""
    return max(bound, a) if type(a) is float else space_of_type(type(a)).maximum(a, bound)


def _moved(mean: Any, value: Any, weight: float) -> Any:
    """A kept mean, moved towards a value."""
    array = opened(mean)
    array += weight * (value - array)
    kept(mean, array)
    return array


__all__ = ["Adafactor"]
