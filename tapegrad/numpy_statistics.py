"""NumPy's statistics and functions of signals, written in several of ours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.core.tensor import Tensor
from tapegrad.dtypes import is_inexact
from tapegrad.errors import ArgumentError, DetachedError, ShapeError
from tapegrad.numpy_compositions import read
from tapegrad.ops.exchange import is_recorded
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from collections.abc import Callable


def _constant(what: str, value: Any) -> Any:
    """The value of an argument for which there is no derivative."""
    if not isinstance(value, Tensor):
        return np.asarray(value)
    raw, node = value.read()
    if is_recorded(node):
        raise DetachedError(f"{what} has no derivative, and is a recorded tensor: write {what.rpartition('(')[2][:-1]}.numpy()")
    return np.asarray(raw)


def _floating(x: Any) -> Any:
    """A tensor of floating numbers; integers in double precision, as NumPy takes them."""
    x = read(x)
    return x if is_inexact(x.dtype) else F.astype(x, np.dtype(np.float64))


def _to_the_end(x: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """The array with these axes (all, if None) as one, the last; and the shape that keeps them, of length 1."""
    axes = tuple(range(x.ndim)) if axis is None else tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    moved = F.moveaxis(x, axes, tuple(range(-len(axes), 0)))
    kept = list(x.shape)
    for i in axes:
        kept[i] = 1
    return F.reshape(moved, (*moved.shape[: x.ndim - len(axes)], -1)), tuple(kept)


# -- order ---------------------------------------------------------------------------------------------
def _quantile(x: Any, q: Any, /, *, axis: Any = None, method: str = "linear", keepdims: bool = False) -> Any:
    """The value below which a part `q` of the elements lies, by linear interpolation between the two next to it.

    NaN for what holds a NaN.  R. J. Hyndman, Y. Fan, "Sample quantiles in statistical packages", 1996, definition 7.
    """
    if method != "linear":
        raise ArgumentError(f"np.quantile(method={method!r}): tapegrad has 'linear' alone")
    at = np.asarray(_constant("np.quantile(q)", q), np.float64)
    if not np.all((at >= 0) & (at <= 1)):
        raise ArgumentError("np.quantile(q): expected numbers from 0 to 1 (np.percentile: from 0 to 100)")
    rows, kept = _to_the_end(_floating(x), axis)
    n = rows.shape[-1]
    if not n:
        raise ShapeError(f"np.quantile(x, q): expected elements, got shape {tuple(read(x).shape)}")
    rows = F.sort(rows, axis=-1)  # NaNs last
    place = at.reshape(-1) * (n - 1)
    low = np.floor(place).astype(np.int64)
    part = (place - low).astype(rows.dtype)
    a, b = (F.take(rows, i, axis=-1) for i in (low, np.minimum(low + 1, n - 1)))
    y = F.where(part < 0.5, a + (b - a) * part, b - (b - a) * (1 - part))
    y = F.where(F.isnan(rows[..., -1:]), rows[..., -1:], y)
    return F.reshape(F.moveaxis(y, -1, 0), (*at.shape, *(kept if keepdims else rows.shape[:-1])))


def _percentile(x: Any, q: Any, /, **words: Any) -> Any:
    return _quantile(x, _constant("np.percentile(q)", q) / 100, **words)


def _median(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    return _quantile(x, 0.5, axis=axis, keepdims=keepdims)


# -- what passes over NaN ------------------------------------------------------------------------------
def _without_nan(name: str, instead: float) -> Callable[..., Any]:
    def run(x: Any, /, **words: Any) -> Any:
        x = read(x)
        return getattr(F, name)(F.where(F.isnan(x), instead, x), **words)

    return run


def _extreme(name: str, instead: float) -> Callable[..., Any]:
    """The largest or smallest of what is no NaN; NaN where all are."""

    def run(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
        x = _floating(x)
        lost = F.isnan(x)
        y = getattr(F, name)(F.where(lost, instead, x), axis=axis, keepdims=keepdims)
        return F.where(F.all(lost, axis=axis, keepdims=keepdims), np.nan, y)

    return run


def _nanmean(x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    x = _floating(x)
    lost = F.isnan(x)
    total = F.sum(F.where(lost, 0, x), axis=axis, keepdims=keepdims)
    return total / F.astype(F.sum(F.logical_not(lost), axis=axis, keepdims=keepdims), x.dtype)


def _nanvar(x: Any, /, *, axis: Any = None, correction: float = 0, keepdims: bool = False) -> Any:
    x = _floating(x)
    lost = F.isnan(x)
    d = F.where(lost, 0, x - _nanmean(x, axis=axis, keepdims=True))
    count = F.astype(F.sum(F.logical_not(lost), axis=axis, keepdims=keepdims), x.dtype) - correction
    return F.where(count > 0, F.sum(F.abs(d) ** 2, axis=axis, keepdims=keepdims) / F.where(count > 0, count, 1), np.nan)


def _nanstd(x: Any, /, **words: Any) -> Any:
    return F.sqrt(_nanvar(x, **words))


# -- moments of several variables ----------------------------------------------------------------------
def _cov(
    x: Any, y: Any = None, /, *, rowvar: bool = True, bias: bool = False, ddof: int | None = None
) -> Any:
    """Covariances of variables, one a row (a column, if not `rowvar`); those of `y` come after those of `x`."""
    rows = _variables(x, rowvar)
    if y is not None:
        rows = F.concat([rows, _variables(y, rowvar)], axis=0)
    d = rows - F.mean(rows, axis=1, keepdims=True)
    found = F.matmul(d, F.conj(F.matrix_transpose(d))) / (rows.shape[1] - ((0 if bias else 1) if ddof is None else ddof))
    return F.reshape(found, ()) if rows.shape[0] == 1 else found


def _variables(x: Any, rowvar: bool) -> Any:
    x = _floating(x)
    if x.ndim > 2:
        raise ShapeError(f"np.cov(m): expected at most two axes, got shape {tuple(x.shape)}")
    if x.ndim < 2:
        return F.reshape(x, (1, -1))
    return x if rowvar or x.shape[0] == 1 else F.matrix_transpose(x)


def _corrcoef(x: Any, y: Any = None, /, *, rowvar: bool = True) -> Any:
    c = _cov(x, y, rowvar=rowvar)
    if not c.ndim:
        return c / c
    size = F.sqrt(F.real(F.diagonal(c)))
    found = c / F.expand_dims(size, axis=1) / size
    return found if c.dtype.kind == "c" else F.clip(found, -1, 1)


# -- signals -------------------------------------------------------------------------------------------
def _trapezoid(y: Any, x: Any = None, /, *, dx: float = 1.0, axis: int = -1) -> Any:
    """The integral of samples `y` at `x`, or `dx` apart, by the trapezoidal rule."""
    y = F.moveaxis(_floating(y), axis, -1)
    if x is not None:
        x = read(x)
        dx = F.diff(x if x.ndim == 1 else F.moveaxis(x, axis, -1), axis=-1)
    return F.sum((y[..., 1:] + y[..., :-1]) * dx, axis=-1) * 0.5


def _convolve(a: Any, v: Any, /, *, mode: str = "full") -> Any:
    """The discrete convolution of two rows of numbers."""
    a, v = read(a), read(v)
    if a.ndim != 1 or v.ndim != 1 or not a.shape[0] or not v.shape[0]:
        raise ShapeError(f"np.convolve(a, v): expected two rows with elements, got shapes {tuple(a.shape)} and {tuple(v.shape)}")
    if mode not in ("full", "same", "valid"):
        raise ArgumentError(f"np.convolve(mode={mode!r}): expected 'full', 'same' or 'valid'")
    if v.shape[0] > a.shape[0]:
        a, v = v, a
    n, m = a.shape[0], v.shape[0]
    before, after = {"full": (m - 1, m - 1), "same": (m // 2, (m - 1) // 2), "valid": (0, 0)}[mode]
    padded = F.pad(a, ((before, after),))
    windows = np.arange(n + before + after - m + 1)[:, None] + np.arange(m)[::-1]
    return F.matmul(F.take(padded, windows, axis=0), v)


def _correlate(a: Any, v: Any, /, *, mode: str = "valid") -> Any:
    a, v = read(a), read(v)
    if v.ndim == a.ndim == 1 and v.shape[0] > a.shape[0]:
        return F.conj(F.flip(_correlate(v, a, mode=mode)))
    return _convolve(a, F.flip(F.conj(v)), mode=mode)


def _interp(x: Any, xp: Any, fp: Any, /, *, left: Any = None, right: Any = None) -> Any:
    """The values at `x` of the lines through the points (xp, fp); beyond them those of the ends, or `left` and `right`."""
    at = _constant("np.interp(xp)", xp)
    x, fp = _floating(x), _floating(fp)
    k = np.clip(np.searchsorted(at, np.asarray(x.read()[0]), side="right") - 1, 0, max(len(at) - 2, 0))
    after = np.minimum(k + 1, len(at) - 1)
    gap = np.where(at[after] == at[k], 1, at[after] - at[k])
    low, high = F.take(fp, k, axis=0), F.take(fp, after, axis=0)
    y = low + (high - low) * ((x - at[k]) / gap)
    y = F.where(x < at[0], fp[0] if left is None else left, y)
    return F.where(x > at[-1], fp[-1] if right is None else right, F.where(x == at[-1], fp[-1], y))


def _polyval(p: Any, x: Any, /) -> Any:
    """The polynomial with coefficients `p`, that of the highest power first, by Horner's rule."""
    p, x = read(p), read(x)
    y = F.zeros_like(x)
    for k in range(p.shape[0]):
        y = y * x + p[k]
    return y


STATISTICS: dict[str, Callable[..., Any]] = {
    "convolve": _convolve,
    "corrcoef": _corrcoef,
    "correlate": _correlate,
    "cov": _cov,
    "interp": _interp,
    "median": _median,
    "nanmax": _extreme("max", -np.inf),
    "nanmean": _nanmean,
    "nanmin": _extreme("min", np.inf),
    "nanprod": _without_nan("prod", 1),
    "nanstd": _nanstd,
    "nansum": _without_nan("sum", 0),
    "nanvar": _nanvar,
    "percentile": _percentile,
    "polyval": _polyval,
    "quantile": _quantile,
    "trapezoid": _trapezoid,
}
