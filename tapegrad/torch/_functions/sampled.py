"""Functions given by samples: their derivatives and integrals; and the powers of points."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tapegrad.ops.statistics  # noqa: F401  declares its ops
from tapegrad.torch._dtypes import DEFAULT
from tapegrad.torch._functions._build import FUNCTIONS, define, function
from tapegrad.torch._functions.pointwise import _inexact
from tapegrad.torch._shapes import dimension
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor


def _along(x: Any, d: int, start: int | None, stop: int | None) -> Any:
    return S.getitem(x, (*[slice(None)] * d, slice(start, stop)))


def _integral(op: Any, y: Any, x: Any, dx: Any, dim: int) -> Any:
    d = dimension(dim, len(y.array.shape))
    if y.array.dtype.kind in "bui":
        y = y.to(DEFAULT[0])
    if x is None:
        return op(y, axis=d, dx=dx)
    return op(y, x if x.array.dtype.kind in "fVc" else x.to(DEFAULT[0]), axis=d)


@function
def trapezoid(y: Any, x: Any = None, *, dx: Any = 1.0, dim: int = -1) -> Any:
    """The integral along an axis by the trapezoidal rule, at the points `x` or with steps of `dx`."""
    return _integral(S.trapezoid, y, x, dx, dim)


@function
def cumulative_trapezoid(y: Any, x: Any = None, *, dx: Any = 1.0, dim: int = -1) -> Any:
    """The integral up to each point but the first, along an axis."""
    return _integral(S.cumulative_trapezoid, y, x, dx, dim)


FUNCTIONS["trapz"] = trapezoid


@function
def gradient(input: Any, *, spacing: Any = 1, dim: Any = None, edge_order: int = 1) -> tuple[Any, ...]:
    """Estimates of the partial derivatives of a function given on a grid, by differences of second order inside.

    At the ends they are of first order, or of second with `edge_order=2`.  `spacing` is a step for all axes, or one for each, or the
    coordinates along each.
    """
    n = len(input.array.shape)
    spacing = 1 if spacing is None else spacing
    dims = list(range(n)) if dim is None else [dimension(d, n) for d in ([dim] if isinstance(dim, int) else dim)]
    given = list(spacing) if isinstance(spacing, (list, tuple)) else [spacing] * len(dims)
    if len(given) != len(dims):
        raise RuntimeError(
            f"torch.gradient expected spacing to be unspecified, a scalar, or a list of length equal to 'self.dim() = {n}', but got a "
            f"list of length {len(given)}"
        )
    return tuple(_slope(input, d, h, edge_order) for d, h in zip(dims, given, strict=True))


def _slope(x: Any, d: int, spacing: Any, edge_order: int) -> Any:
    size = x.array.shape[d]
    if size < edge_order + 1:
        raise RuntimeError("torch.gradient expected each dimension size to be at least edge_order+1")
    if isinstance(spacing, Tensor) and spacing.array.shape:
        steps = np.diff(np.asarray(spacing.array, np.float64))
    else:
        steps = np.full(size - 1, float(spacing))
    kind = x.array.dtype if x.array.dtype.kind in "fcV" else np.float32

    def weighted(parts: list[Any], weights: list[Any]) -> Any:
        total = None
        for part, w in zip(parts, weights, strict=True):
            column = np.asarray(w, kind).reshape(-1, *[1] * (len(x.array.shape) - d - 1))
            term = S.multiply(part, column)
            total = term if total is None else S.add(total, term)
        return total

    before, after = steps[:-1], steps[1:]
    inner = weighted(
        [_along(x, d, None, -2), _along(x, d, 1, -1), _along(x, d, 2, None)],
        [-after / (before * (before + after)), (after - before) / (before * after), before / (after * (before + after))],
    )
    if edge_order == 1:
        first = weighted([_along(x, d, 0, 1), _along(x, d, 1, 2)], [[-1 / steps[0]], [1 / steps[0]]])
        last = weighted([_along(x, d, -2, -1), _along(x, d, -1, None)], [[-1 / steps[-1]], [1 / steps[-1]]])
    else:
        a, b = steps[0], steps[1]
        first = weighted(
            [_along(x, d, i, i + 1) for i in range(3)], [[-(2 * a + b) / (a * (a + b))], [(a + b) / (a * b)], [-a / (b * (a + b))]]
        )
        a, b = steps[-1], steps[-2]
        last = weighted(
            [_along(x, d, -1, None), _along(x, d, -2, -1), _along(x, d, -3, -2)],
            [[(2 * a + b) / (a * (a + b))], [-(a + b) / (a * b)], [a / (b * (a + b))]],
        )
    return S.concat([first, inner, last], axis=d)


@function
def vander(x: Any, N: int | None = None, *, increasing: bool = False) -> Any:
    """The powers of each element in a row, falling from N - 1 to 0, or rising."""
    n = x.array.shape[0] if N is None else N
    rows = [S.pow(x, i) if i else S.ones_like(x) for i in range(n)]
    return S.stack(rows if increasing else rows[::-1], axis=-1)


def _logaddexp2(x: Any, other: Any) -> Any:
    scale = math.log(2.0)
    return S.divide(S.logaddexp(S.multiply(x, scale), S.multiply(other, scale)), scale)


define(
    {"logaddexp2(input, other)": "_logaddexp2(input, other)", "mvlgamma(input, p)": "S.multigammaln(_inexact(input), d=p)"},
    {"_logaddexp2": _logaddexp2, "_inexact": _inexact},
)
define({"mvlgamma(input, p)": "S.multigammaln(_inexact(input), d=p)"}, {"_inexact": _inexact}, functions=False, methods=False, inplace=True)
