"""Incomplete gamma and beta functions: integrals up to x, as shares of the whole."""

from __future__ import annotations

from typing import Any

from tapegrad.ops.special import _number
from tapegrad.registry import elementwise, not_implemented


def _gamma_pair(draw: Any) -> Any:
    return draw.integers("n", low=1, high=5), draw.array("n", low=0.3, high=5)


def _density(F: Any, a: Any, x: Any) -> Any:
    """The integrand of `gammainc`."""
    a = _number(F, a, x)
    return F.exp(F.xlogy(a - 1, x) - x - F.gammaln(a))


@elementwise(real=True, singular=True, laws=_gamma_pair, public=False)
def gammainc(xp: Any, a: Any, x: Any, /) -> Any:
    """The integral of exp(-t) t**(a - 1) / gamma(a) from 0 to x, for a > 0 and x >= 0.  DLMF 8.2.4."""
    return xp.gammainc(a, x)


gammainc.partials(a=not_implemented, x=_density)


@elementwise(real=True, singular=True, laws=_gamma_pair, public=False)
def gammaincc(xp: Any, a: Any, x: Any, /) -> Any:
    """1 - gammainc(a, x), which keeps its digits for large x.  DLMF 8.2.4."""
    return xp.gammaincc(a, x)


gammaincc.partials(a=not_implemented, x=lambda F, a, x: -_density(F, a, x))


@elementwise(
    real=True, singular=True, public=False,
    laws=lambda draw: (
        draw.integers("n", low=1, high=4), draw.integers("n", low=1, high=4), draw.array("n", low=0.1, high=0.9)
    ),
)
def betainc(xp: Any, a: Any, b: Any, x: Any, /) -> Any:
    """The integral of t**(a - 1) (1 - t)**(b - 1) / beta(a, b) from 0 to x, for a, b > 0 and x from 0 to 1.  DLMF 8.17.2."""
    return xp.betainc(a, b, x)


def _share(F: Any, a: Any, b: Any, x: Any) -> Any:
    """The integrand of `betainc`."""
    a, b = _number(F, a, x), _number(F, b, x)
    return F.exp(F.xlogy(a - 1, x) + F.xlog1py(b - 1, -x) - F.betaln(a, b))


betainc.partials(a=not_implemented, b=not_implemented, x=_share)
