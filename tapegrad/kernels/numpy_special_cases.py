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


def floor_divide(x1: Any, x2: Any) -> Any:
    """The quotient, rounded down; by an infinity it is a zero, of an infinity an infinity (NumPy 2.4: -1 and NaN)."""
    inf1, inf2 = np.isinf(x1), np.isinf(x2)
    if not (inf1.any() or inf2.any()):
        return np.floor_divide(x1, x2)
    with np.errstate(all="ignore"):
        odd = (inf1 & np.isfinite(x2) & (x2 != 0)) | (inf2 & np.isfinite(x1))
        return np.where(odd, np.divide(x1, x2), np.floor_divide(x1, x2))[()]
