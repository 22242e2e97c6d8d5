"""TensorFlow kernels of sin(pi x) / (pi x) and its derivatives."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.kernels.tensorflow_arithmetic import abs
from tapegrad.kernels.tensorflow_basics import equal, isfinite, isnan, less_equal, logical_and, logical_not, real, where
from tapegrad.kernels.tensorflow_calls import F32
from tapegrad.kernels.tensorflow_functions import cos, sin
from tapegrad.kernels.tensorflow_promotion import converted
from tapegrad.kernels.tensorflow_rounding import floor, round
from tapegrad.kernels.tensorflow_special import by_integer, floats


def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x)."""
    (x,), d = floats(x)
    x = converted(x, F32) if d.itemsize == 2 else x
    zero = equal(x, 0)
    y = _turned_sine(x, 0) / (math.pi * where(zero, 1, x))
    infinite = logical_and(logical_not(isfinite(x)), logical_not(isnan(x)))
    return converted(where(zero, 1, where(infinite, 0, y)), d)


def _turned_sine(x: Any, quarter: int) -> Any:
    """sin(pi (x + quarter / 2)), exact where x is large."""
    whole = round(real(x))
    r = math.pi * (x - converted(whole, x.dtype))
    up = whole + quarter // 2
    odd = equal(up - 2 * floor(0.5 * up), 1)
    y = cos(r) if quarter % 2 else sin(r)
    return where(odd, -y, y)


@by_integer
def sinc_derivative(n: int, x: Any) -> Any:
    """The n-th derivative of `sinc`: where x is large upwards from that of sin(pi x) / pi, by Taylor's series elsewhere."""
    small = less_equal(abs(x), max(0.5, 0.4 * n))
    z = where(small, x, 0)
    first = (n + 1) // 2
    y: Any = 0 * z
    for k in range(first + 16 + 3 * n, first - 1, -1):
        y = y * (z * z) + (-1) ** k * math.pi ** (2 * k) / (math.factorial(2 * k - n) * (2 * k + 1))
    if 2 * first - n:
        y = y * z
    z = where(small, 1, x)
    far = _turned_sine(z, 0) / (math.pi * z)
    for k in range(1, n + 1):
        far = (math.pi ** (k - 1) * _turned_sine(z, k) - k * far) / z
    infinite = logical_and(logical_not(isfinite(x)), logical_not(isnan(x)))
    return where(small, y, where(infinite, 0, far))
