"""Elementwise functions whose values at infinities and NaN the array API fixes otherwise than NumPy gives them."""

from __future__ import annotations

from typing import Any

import numpy as np


def expm1(x: Any) -> Any:
    """exp(x) - 1; for complex x that are 0 or not finite as `exp` has it (NumPy 2.4: expm1(inf + 0j) is nan+nanj)."""
    if x.dtype.kind != "c":
        return np.expm1(x)
    odd = ~np.isfinite(x) | (x == 0)
    if not odd.any():
        return np.expm1(x)
    with np.errstate(invalid="ignore"):
        return np.where(odd, np.exp(x) - x.dtype.type(1), np.expm1(x))[()]


def tanh(x: Any) -> Any:
    """The hyperbolic tangent; at a complex x with an infinite real part the zero has the sign of the imaginary part.

    NumPy's zero has the sign of sin(2 * imag(x)), as C99 has it.
    """
    y = np.tanh(x)
    if y.dtype.kind == "c":
        ends = np.isinf(x.real) & np.isfinite(x.imag)
        if ends.any():
            y = np.array(y)
            y.real[ends] = np.copysign(1, x.real)[ends]
            y.imag[ends] = np.copysign(0, x.imag)[ends]
            y = y[()]
    return y
