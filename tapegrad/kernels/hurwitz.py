"""Derivatives of Hurwitz' zeta function for its first argument, of any order, for any kernels' arrays."""

from __future__ import annotations

import math
from typing import Any

#: Terms that are added up one by one, before the sum of all others is an integral with corrections.
_TERMS = 20
#: Bernoulli numbers over factorials: B[2 k] / (2 k)!, for k = 1, 2, ...
_CORRECTIONS = tuple(
    b / math.factorial(2 * k)
    for k, b in enumerate(
        (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798, -174611 / 330), start=1
    )
)


def zeta_slope(xp: Any, n: int, s: Any, q: Any) -> Any:
    """The n-th derivative for s of the sum of (k + q)**-s over k = 0, 1, ..., for s > 1, q > 0: by Euler and Maclaurin (DLMF 25.2.9).

    Each term of the formula is (k + q)**-s times a rational function of s, so its derivatives follow by the product rule.
    """
    if n < 0:
        return 0 * (s + q)
    defined = (s > 1) & (q > 0)
    s, q = xp.where(defined, s, 2.0), xp.where(defined, q, 1.0)
    y: Any = 0.0
    for k in range(_TERMS):
        z = xp.log(q + k)
        y = y + (-z) ** n * xp.exp(-s * z) if n else y + xp.exp(-s * z)
    end = q + _TERMS
    z = xp.log(end)
    power = [(-1.0) ** j * z**j * xp.exp(-s * z) if j else xp.exp(-s * z) for j in range(n + 1)]
    pole = [(-1.0) ** j * math.factorial(j) * (s - 1) ** -(j + 1.0) for j in range(n + 1)]
    rising: list[Any] = [s, 1.0, *[0.0] * n][: n + 1]
    y = y + end * _of_product(power, pole) + 0.5 * power[n]
    scale = 1 / end
    for k, c in enumerate(_CORRECTIONS):
        y = y + c * scale * _of_product(power, rising)
        for i in (2 * k + 1, 2 * k + 2):
            rising = [(s + i) * rising[j] + (j * rising[j - 1] if j else 0.0) for j in range(n + 1)]
        scale = scale / (end * end)
    return xp.where(defined, y, math.nan)


def _of_product(first: list[Any], second: list[Any]) -> Any:
    """The highest derivative of a product, from all derivatives of both factors."""
    n = len(first) - 1
    return sum(math.comb(n, j) * first[j] * second[n - j] for j in range(n + 1))
