"""Derivatives of the incomplete gamma and beta functions for their parameters, of any order, for any kernels' arrays.

A share P(x) is the integral of a density up to x, so its derivative for a parameter is that of the density's derivative: which
is the density times a polynomial in derivatives of its logarithm (Bell 1934).  In u = log(t), or log(t / (1 - t)), the
integrand is smooth and falls off at least exponentially, and the rule of Takahasi and Mori, "Double exponential formulas for
numerical integration" (1974), takes all its digits from 200 points.  The integral is taken over the smaller tail.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

_STEP = 1 / 24
_T = np.arange(-4.0, 4.6, _STEP)
#: Points and weights for an integral from 0 to infinity of what falls off exponentially, with a scale of about 1.
_POINTS = np.exp(_T - np.exp(-_T))
_WEIGHTS = _POINTS * (1 + np.exp(-_T)) * _STEP


def gamma_density_slope(xp: Any, n: int, a: Any, x: Any) -> Any:
    """The n-th derivative for a of exp(-x) x**(a - 1) / gamma(a); 0 for n < 0."""
    if n < 0:
        return 0 * (a + x)
    inside = xp.where((x > 0) & (x < math.inf), x, 1.0)
    y = xp.exp(_log_gamma_density(xp, a, inside)) / inside
    y = y * _bell([xp.log(inside) - xp.polygamma(0, a), *(-xp.polygamma(j, a) for j in range(1, n))]) if n else y
    ends = xp.where((a > 1) | (x == math.inf), 0.0, xp.where(a == 1, 1.0, math.inf)) if n == 0 else 0.0
    return _where_defined(xp, xp.where(inside == x, y, ends), a, x)


def gammainc_slope(xp: Any, n: int, a: Any, x: Any) -> Any:
    """The n-th derivative for a of `gammainc(a, x)`, n > 0."""
    inside = xp.where((x > 0) & (x < math.inf), x, 1.0)
    known = xp.where((a > 0) & (a < math.inf), a, 1.0)
    y = _gamma_slope_over_density(xp, n, known, inside) * xp.exp(_log_gamma_density(xp, known, inside))
    return _where_defined(xp, xp.where(inside == x, y, 0.0), a, x)


def gamma_quantile_slope(xp: Any, n: int, a: Any, x: Any) -> Any:
    """The n-th derivative for a of `gammainc(a, x)`, over its derivative for x: where both are too small for numbers, too."""
    inside = xp.where((x > 0) & (x < math.inf), x, 1.0)
    known = xp.where((a > 0) & (a < math.inf), a, 1.0)
    return _where_defined(xp, xp.where(inside == x, _gamma_slope_over_density(xp, n, known, inside) * inside, 0.0), a, x)


def _gamma_slope_over_density(xp: Any, n: int, known: Any, inside: Any) -> Any:
    """The n-th derivative of the share for `a`, over x times the density."""
    below = inside <= xp.maximum(known, 1.0)
    away = xp.expand_dims(xp.where(below, -1.0, 1.0) * _gamma_scale(xp, known, inside, below), axis=-1) * _POINTS
    slopes = [xp.expand_dims(v, axis=-1) for v in (-xp.polygamma(j, known) for j in range(n))]
    wide_a, wide_x = xp.expand_dims(known, axis=-1), xp.expand_dims(inside, axis=-1)
    first = xp.log(wide_x) + away + slopes[0]
    fall = wide_a * away - wide_x * xp.expm1(xp.minimum(away, 700.0))
    return -xp.sum(xp.exp(fall) * _bell([first, *slopes[1:]]) * away / _POINTS * _WEIGHTS, axis=-1)


def _where_defined(xp: Any, y: Any, a: Any, x: Any) -> Any:
    return xp.where((a > 0) & (x >= 0), y, math.nan)


def _log_gamma_density(xp: Any, a: Any, x: Any) -> Any:
    """a log(x) - x - gammaln(a); for large a by Stirling's series (DLMF 5.11.1), where the terms would cancel."""
    high = a > 20
    b = xp.where(high, a, 20.0)
    off = (x - b) / b
    rest = 1 / (12 * b) - 1 / (360 * b**3) + 1 / (1260 * b**5) - 1 / (1680 * b**7)
    near = xp.maximum(off, -0.5)
    series = b * (xp.where(near > off, xp.log(x / b), xp.log1p(near)) - off) + 0.5 * xp.log(b / (2 * math.pi)) - rest
    low = xp.where(high, 20.0, a)
    return xp.where(high, series, low * xp.log(x) - x - xp.gammaln(low))


def _gamma_scale(xp: Any, a: Any, x: Any, below: Any) -> Any:
    """How far from log(x), downwards or upwards, the integrand has fallen to 1 / e: by Newton's method, from beyond."""
    s = xp.where(below, (1 + x) / a, xp.log1p((2 + a + 4 * a**0.5) / x))
    sign = xp.where(below, -1.0, 1.0)
    for _ in range(12):
        step = xp.expm1(sign * s)
        s = s - xp.maximum(x * step - a * sign * s - 1, 0.0) / xp.maximum(sign * (x * (step + 1) - a), 1e-300)
    return s


def beta_density_slope(xp: Any, n: int, m: int, a: Any, b: Any, x: Any) -> Any:
    """The derivative, n times for a and m times for b, of x**(a - 1) (1 - x)**(b - 1) / beta(a, b); 0 for n < 0 or m < 0."""
    if n < 0 or m < 0:
        return 0 * (a + b + x)
    inside = xp.where((x > 0) & (x < 1), x, 0.5)
    y = xp.exp((a - 1) * xp.log(inside) + (b - 1) * xp.log1p(-inside) - xp.betaln(a, b))
    y = y * _bell_of_two(n, m, _beta_slopes(xp, n, m, a, b, xp.log(inside), xp.log1p(-inside)))
    return xp.where((a > 0) & (b > 0) & (x >= 0) & (x <= 1), xp.where(inside == x, y, 0.0), math.nan)


def betainc_slope(xp: Any, n: int, m: int, a: Any, b: Any, x: Any) -> Any:
    """The derivative, n times for a and m times for b, of `betainc(a, b, x)`, n + m > 0."""
    defined = (a > 0) & (b > 0) & (x >= 0) & (x <= 1)
    inside = xp.where((x > 0) & (x < 1), x, 0.5)
    a, b = (xp.where((v > 0) & (v < math.inf), v, 1.0) for v in (a, b))
    y = _beta_slope_over_density(xp, n, m, a, b, inside)
    y = y * xp.exp(a * xp.log(inside) + b * xp.log1p(-inside) - xp.betaln(a, b))
    return xp.where(defined, xp.where(inside == x, y, 0.0), math.nan)


def beta_quantile_slope(xp: Any, n: int, m: int, a: Any, b: Any, x: Any) -> Any:
    """The derivative of `betainc`, n times for a and m times for b, over 1 - x times that for x; x is kept off 0 and 1."""
    inside = xp.maximum(xp.minimum(x, 1.0 - 2.0**-53), 1e-300)
    defined = (a > 0) & (b > 0) & (x >= 0) & (x <= 1)
    a, b = (xp.where((v > 0) & (v < math.inf), v, 1.0) for v in (a, b))
    return xp.where(defined, _beta_slope_over_density(xp, n, m, a, b, inside) * inside, math.nan)


def _beta_slope_over_density(xp: Any, n: int, m: int, a: Any, b: Any, inside: Any) -> Any:
    """The derivative of the share, n times for a and m times for b, over x (1 - x) times the density."""
    below = inside * (a + b) <= a
    # Of two tails that are mirrored, the lower one: from 1 - x down, for b and a.
    p, q = xp.where(below, a, b), xp.where(below, b, a)
    lower = xp.where(below, xp.log(inside), xp.log1p(-inside))
    upper = xp.where(below, xp.log1p(-inside), xp.log(inside))
    away = -xp.expand_dims(_beta_scale(xp, p, q, lower, upper), axis=-1) * _POINTS
    p, q, lower, upper = (xp.expand_dims(v, axis=-1) for v in (p, q, lower, upper))
    beyond = -xp.log1p(xp.exp(lower) * xp.expm1(away))  # log of 1 / (1 - t + t exp(away))
    fall = p * (away + beyond) + q * beyond
    logs = (lower + away + beyond, upper + beyond)
    wide, wide_a, wide_b = (xp.expand_dims(v, axis=-1) for v in (below, a, b))
    log_t, log_rest = xp.where(wide, logs[0], logs[1]), xp.where(wide, logs[1], logs[0])
    turned = _bell_of_two(n, m, _beta_slopes(xp, n, m, wide_a, wide_b, log_t, log_rest))
    return xp.sum(-xp.exp(fall) * turned * away / _POINTS * _WEIGHTS, axis=-1) * xp.where(below, 1.0, -1.0)


def _beta_scale(xp: Any, p: Any, q: Any, lower: Any, upper: Any) -> Any:
    """How far below log(t / (1 - t)) the integrand has fallen to 1 / e: by Newton's method, from beyond."""
    t, rest = xp.exp(lower), xp.exp(upper)
    s = (1 - (p + q) * upper) / p
    for _ in range(12):
        size = rest + t * xp.exp(-s)
        over = p * s + (p + q) * xp.log(size) - 1
        s = s - xp.maximum(over, 0.0) / xp.maximum(p - (p + q) * (1 - rest / size), 1e-300)
    return s


def _beta_slopes(xp: Any, n: int, m: int, a: Any, b: Any, log_t: Any, log_rest: Any) -> dict[tuple[int, int], Any]:
    """The derivatives of the logarithm of the density of a beta variable, as often as this for a and b."""
    both = [xp.polygamma(j, a + b) for j in range(n + m)]
    found: dict[tuple[int, int], Any] = {}
    for i in range(n + 1):
        for j in range(m + 1):
            if i + j:
                slope = both[i + j - 1]
                slope = slope if j else slope - xp.polygamma(i - 1, a) + (log_t if i == 1 else 0.0)
                found[i, j] = slope if i else slope - xp.polygamma(j - 1, b) + (log_rest if j == 1 else 0.0)
    return found


def _bell(slopes: list[Any]) -> Any:
    """The n-th derivative of exp(f), over exp(f), from the first n derivatives of f."""
    found: list[Any] = [1.0]
    for n in range(1, len(slopes) + 1):
        found.append(sum(math.comb(n - 1, i) * slopes[i] * found[n - 1 - i] for i in range(n)))
    return found[-1]


def _bell_of_two(n: int, m: int, slopes: dict[tuple[int, int], Any]) -> Any:
    """The same for two variables, n times for the first and m times for the second."""
    if n + m == 0:
        return 1.0
    i, j = (1, 0) if n else (0, 1)  # the derivative that is taken last
    total: Any = 0.0
    for k in range(n - i + 1):
        for h in range(m - j + 1):
            rest = _bell_of_two(n - i - k, m - j - h, slopes)
            total = total + math.comb(n - i, k) * math.comb(m - j, h) * slopes[i + k, j + h] * rest
    return total
