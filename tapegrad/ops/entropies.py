"""Entropies and divergences, term by term, and products with a logarithm that are zero where the factor is."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.registry import elementwise


def _positive_pair(draw: Any) -> Any:
    return draw.array("n", low=0.1, high=4), draw.array("n", low=0.2, high=4)


def _log(F: Any, x: Any) -> Any:
    """log(x), which for a Python number is one too: it has no dtype to impose."""
    if hasattr(x, "shape"):
        return F.log(x)
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan


def _where_both(F: Any, x: Any, y: Any) -> Any:
    """y, and 1 where x and y are 0: there x / y is taken as 0, for x log(y) is 0 for every y if x is."""
    return F.where((x == 0) & (y == 0), F.ones((), dtype=y.dtype), y) if hasattr(y, "shape") else y


@elementwise(singular=True, laws=_positive_pair, public=False)
def xlogy(xp: Any, x1: Any, x2: Any, /) -> Any:
    """x1 log(x2), and 0 where x1 is 0; there the derivative for x1 still is log(x2)."""
    return xp.xlogy(x1, x2)


xlogy.partials(x1=lambda F, x2: _log(F, x2), x2=lambda F, x1, x2: x1 / _where_both(F, x1, x2))


@elementwise(singular=True, laws=_positive_pair, public=False)
def xlog1py(xp: Any, x1: Any, x2: Any, /) -> Any:
    """x1 log(1 + x2), and 0 where x1 is 0; there the derivative for x1 still is log(1 + x2)."""
    return xp.xlog1py(x1, x2)


xlog1py.partials(
    x1=lambda F, x2: F.log1p(x2) if hasattr(x2, "shape") else _log(F, 1 + x2),
    x2=lambda F, x1, x2: x1 / _where_both(F, x1, 1 + x2),
)


@elementwise(real=True, singular=True, domain=(0.05, 4), public=False)
def entr(xp: Any, x: Any, /) -> Any:
    """-x log(x); 0 at 0, where the derivative is infinite, and -inf below."""
    return xp.entr(x)


entr.partials(x=lambda F, x: -1 - F.log(x))


@elementwise(real=True, singular=True, laws=_positive_pair, public=False)
def rel_entr(xp: Any, x1: Any, x2: Any, /) -> Any:
    """x1 log(x1 / x2); 0 where x1 is 0 and x2 is not negative, inf where one is negative."""
    return xp.rel_entr(x1, x2)


rel_entr.partials(
    x1=lambda F, x1, x2: 1 + _log(F, x1) - _log(F, x2), x2=lambda F, x1, x2: -x1 / _where_both(F, x1, x2)
)


@elementwise(real=True, singular=True, laws=_positive_pair, public=False)
def kl_div(xp: Any, x1: Any, x2: Any, /) -> Any:
    """x1 log(x1 / x2) - x1 + x2, which is never negative; x2 where x1 is 0, inf where one is negative."""
    return xp.kl_div(x1, x2)


kl_div.partials(x1=lambda F, x1, x2: _log(F, x1) - _log(F, x2), x2=lambda F, x1, x2: 1 - x1 / _where_both(F, x1, x2))
