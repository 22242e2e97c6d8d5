"""Numbers kept within bounds, on NumPy arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np


def at_least(x: Any, low: Any) -> Any:
    """`x`, or `low` where `x` is below it."""
    return x.clip(low, math.inf) if _is_large(x) and type(low) in (int, float) else np.maximum(x, low)


def at_most(x: Any, high: Any) -> Any:
    """`x`, or `high` where `x` is above it."""
    return x.clip(-math.inf, high) if _is_large(x) and type(high) in (int, float) else np.minimum(x, high)


def between(x: Any, low: float, high: float) -> Any:
    """`x`, kept between two numbers."""
    return x.clip(low, high) if _is_large(x) else np.minimum(np.maximum(x, own_number(x, low)), own_number(x, high))


def finite_or(x: Any, *, nan: float, high: float, low: float) -> Any:
    """`x`, with numbers in place of NaN, inf and -inf; where there are none in a single look."""
    y = np.array(x)
    if not np.isfinite(y).all():
        np.copyto(y, nan, where=np.isnan(x), casting="unsafe")
        np.copyto(y, high, where=np.equal(x, math.inf), casting="unsafe")
        np.copyto(y, low, where=np.equal(x, -math.inf), casting="unsafe")
    return y if y.ndim else y[()]


def _is_large(x: Any) -> bool:
    """Whether NumPy keeps an array between numbers in a third of the time that its maximum and minimum take."""
    return type(x) is np.ndarray and x.size >= 1024 and x.dtype.char in "fd"


def own_number(x: Any, number: float) -> Any:
    """A number of Python's in the dtype of `x`, where NumPy would widen it: beside bfloat16 a float counts as float32."""
    dtype = getattr(x, "dtype", None)
    return number if dtype is None or dtype.kind != "V" else dtype.type(number)
