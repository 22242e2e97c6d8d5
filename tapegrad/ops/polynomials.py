"""Orthogonal polynomials of a degree, each by the recurrence of three terms of its family (DLMF 18.9.1, table 18.9.1).

A degree is an integer; below 0 the polynomial is 0.  Derivatives are those of the recurrence, which are exact.
"""

from __future__ import annotations

from typing import Any

from tapegrad.registry import composite

#: By family: p1 = (a x + b), and from p[k], p[k-1] to p[k+1] = ((c x + d) p[k] - e p[k-1]) / f, as functions of k.
_RECURRENCES: dict[str, tuple[tuple[float, float], Any]] = {
    "chebyshev_t": ((1, 0), lambda k: (2, 0, 1, 1)),
    "chebyshev_u": ((2, 0), lambda k: (2, 0, 1, 1)),
    "chebyshev_v": ((2, -1), lambda k: (2, 0, 1, 1)),
    "chebyshev_w": ((2, 1), lambda k: (2, 0, 1, 1)),
    "hermite_h": ((2, 0), lambda k: (2, 0, 2 * k, 1)),
    "hermite_he": ((1, 0), lambda k: (1, 0, k, 1)),
    "laguerre_l": ((-1, 1), lambda k: (-1, 2 * k + 1, k, k + 1)),
    "legendre_p": ((1, 0), lambda k: (2 * k + 1, 0, k, k + 1)),
}
FAMILIES = tuple(_RECURRENCES)


def _draw(draw: Any) -> Any:
    return draw.array("n", low=-1.5, high=1.5), {"family": draw.choice(*FAMILIES), "degree": draw.choice(0, 1, 2, 3, 5)}


@composite(real=True, laws=_draw, public=False)
def orthogonal_polynomial(F: Any, x: Any, /, *, family: str, degree: int) -> Any:
    """The polynomial of a degree of one of the classical families."""
    first, step = _RECURRENCES[family]
    before, now = F.zeros_like(x), F.ones_like(x)
    if degree < 0:
        return before
    for k in range(degree):
        if not k:
            a, b = first
            before, now = now, x * a + b if b else x * a
            continue
        c, d, e, f = step(k)
        after = (x * c + d if d else x * c) * now - before * e
        before, now = now, after / f if f != 1 else after
    return now
