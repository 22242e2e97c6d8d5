"""Signals and curves: convolution of rows, interpolation between points, polynomials."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.errors import ArgumentError, ShapeError
from tapegrad.registry import composite

if TYPE_CHECKING:
    from collections.abc import Callable

#: How many elements of a padding stand before a signal and behind it, for a filter of m.
_MODES: dict[str, Callable[[int], tuple[int, int]]] = {
    "full": lambda m: (m - 1, m - 1),
    "same": lambda m: (m // 2, (m - 1) // 2),
    "valid": lambda m: (0, 0),
}


def _two_rows(draw: Any) -> Any:
    a, v = draw.array(draw.size("n", least=1)), draw.array(draw.size("m", least=1))
    return a, v, {"mode": draw.choice(*_MODES)}


@composite(laws=_two_rows)
def convolve(F: Any, a: Any, v: Any, /, *, mode: str = "full") -> Any:
    """The discrete convolution of two rows, (n,) and (m,): "full" (n + m - 1,), "same" (the longer's), "valid" (where they overlap).

    Raises ShapeError for anything but two rows with elements.
    """
    return _convolved(F, "convolve", a, v, mode)


def _convolved(F: Any, what: str, a: Any, v: Any, mode: str) -> Any:
    if len(a.shape) != 1 or len(v.shape) != 1 or not a.shape[0] or not v.shape[0]:
        raise ShapeError(f"{what}(a, v): expected two rows with elements, got shapes {tuple(a.shape)} and {tuple(v.shape)}")
    if mode not in _MODES:
        raise ArgumentError(f"{what}(a, v, mode={mode!r}): expected 'full', 'same' or 'valid'")
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    n, m = a.shape[0], v.shape[0]
    before, after = _MODES[mode](m)
    padded = F.pad(a, ((before, after),))
    windows = np.arange(n + before + after - m + 1)[:, None] + np.arange(m)[::-1]
    return F.matmul(F.take(padded, windows, axis=0), v)


@composite(laws=_two_rows)
def correlate(F: Any, a: Any, v: Any, /, *, mode: str = "valid") -> Any:
    """The cross-correlation of two rows, sum_n a[n + k] conj(v[n]); shapes as for `convolve`."""
    if len(a.shape) == len(v.shape) == 1 and v.shape[0] > a.shape[0]:  # the shorter one moves, and the order is turned
        return F.conj(F.flip(_convolved(F, "correlate", v, F.flip(F.conj(a)), mode)))
    return _convolved(F, "correlate", a, F.flip(F.conj(v)), mode)


def _curve(draw: Any) -> Any:
    points = draw.array(draw.size("n", least=2), sort=True, distinct=True)
    return draw.array("k"), points, draw.array("n"), {"left": draw.choice(None, 0.5), "right": draw.choice(None, -1.0)}


@composite(real=True, laws=_curve)
def interp(F: Any, x: Any, xp: Any, fp: Any, /, *, left: Any = None, right: Any = None) -> Any:
    """The values at `x` of the lines through the points (xp, fp), (n,) each with rising `xp`.

    * `left`, `right`: what stands before the first point and behind the last; the values there, if None.

    All three have a derivative; at a point that of `x` is the slope of the line behind it, at the last one of that before it.

    Raises ShapeError where the points are not two rows of one length.
    """
    n = xp.shape[0]
    if len(xp.shape) != 1 or tuple(fp.shape) != tuple(xp.shape) or not n:
        raise ShapeError(f"interp(x, xp, fp): expected points (n,) and (n,), got {tuple(xp.shape)} and {tuple(fp.shape)}")
    place = F.searchsorted(xp, F.reshape(x, (-1,)), side="right") - 1
    k = F.reshape(F.clip(place, 0, max(n - 2, 0)), x.shape)
    after = F.clip(k + 1, 0, n - 1)
    start, end = F.take(xp, k, axis=0), F.take(xp, after, axis=0)
    low, high = F.take(fp, k, axis=0), F.take(fp, after, axis=0)
    gap = end - start
    part = (x - start) / F.where(gap == 0, F.ones_like(gap), gap)
    y = F.where(part < 0.5, low + (high - low) * part, high - (high - low) * (1 - part))  # exact at both points
    y = F.where(x < xp[0], fp[0] if left is None else left, y)
    return F.where(x > xp[-1], fp[-1] if right is None else right, y)


@composite(laws=lambda draw: (draw.array(draw.choice(0, 1, 4)), draw.array("n", 2)))
def polyval(F: Any, p: Any, x: Any, /) -> Any:
    """The polynomial with coefficients `p`, (n,), that of the highest power first, at each element of `x`; by Horner's rule."""
    y = F.zeros_like(x)
    for k in range(p.shape[0]):
        y = y * x + p[k]
    return y
