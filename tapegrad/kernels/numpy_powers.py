"""Powers of NumPy's arrays.

NumPy's own `pow` of floats takes 400 ns for each element below zero, where one above takes 1: measured with 2.4 on AVX-512, whose
vector code leaves signs to the C library.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_NUMBERS = (int, float)


def pow(x1: Any, x2: Any) -> Any:
    """`x1` to the power `x2`; whole powers of floats by products, or from the sizes with the sign put back."""
    if type(x2) in _NUMBERS and type(x1) is np.ndarray and x1.dtype.char in "fd" and x2 % 1 == 0 and not -1 <= x2 <= 2:
        if x2 in (3, 4):
            y = x1 * x1
            y *= x1 if x2 == 3 else y
            return y
        y = np.pow(np.abs(x1), x2)
        return np.copysign(y, x1) if x2 % 2 == 1 else y
    if type(x1) in _NUMBERS and x1 == 2 and type(x2) is np.ndarray and x2.dtype.char in "fd":
        return np.exp2(x2)  # measured for 10,000 float32: 3 us, the power 20
    return x1**x2
