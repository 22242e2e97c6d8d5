"""Statistics: quantiles, moments that pass over NaN, covariances, integrals of samples."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.dtypes import float32, is_inexact
from tapegrad.errors import ArgumentError, DetachedError, RangeError, ShapeError
from tapegrad.kernels.batched import Batched
from tapegrad.ops.exchange import is_recorded
from tapegrad.ops.reductions import is_half
from tapegrad.registry import composite

if TYPE_CHECKING:
    from collections.abc import Callable

#: Which part of the way from the lower of two neighbours to the higher a quantile lies, `low` being the lower one's place.
_PARTS: dict[str, Callable[..., Any]] = {
    "linear": lambda xp, place, low: place - low,
    "lower": lambda xp, place, low: xp.zeros_like(place),
    "higher": lambda xp, place, low: xp.where(place > low, 1.0, 0.0),
    "midpoint": lambda xp, place, low: xp.where(place > low, 0.5, 0.0),
    "nearest": lambda xp, place, low: xp.round(place) - low,
}


def _floating(F: Any, x: Any) -> Any:
    """Floating numbers; integers in double precision, as NumPy takes them."""
    return x if is_inexact(x.dtype) else F.astype(x, np.dtype(np.float64))


def _rows(F: Any, x: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """The array with these axes (all, if None) as one, the last; and the shape that keeps them, of length 1."""
    rank = len(x.shape)
    axes = tuple(range(rank)) if axis is None else tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    moved = F.moveaxis(x, axes, tuple(range(-len(axes), 0)))
    kept = list(x.shape)
    for i in axes:
        kept[i] = 1
    before = moved.shape[: rank - len(axes)]
    return F.reshape(moved, (*before, math.prod(moved.shape[rank - len(axes) :]))), tuple(kept)


def _probabilities(what: str, q: Any) -> Any:
    """The numbers between 0 and 1 for which quantiles are asked, in double precision: they have no derivative."""
    node = getattr(q, "node", None)
    raw = getattr(q, "array", q)
    if type(raw) is Batched:
        raise raw.refused(what, "give numbers that are the same for all items")
    if is_recorded(node):
        raise DetachedError(f"{what} has no derivative, and is a recorded tensor: write q.numpy()")
    at = np.asarray(raw, np.float64)
    if not np.all((at >= 0) & (at <= 1)):
        raise RangeError(f"{what}: expected numbers from 0 to 1, got {at.tolist()}")
    return at


def _check_method(what: str, method: str) -> None:
    if method not in _PARTS:
        raise ArgumentError(f"{what}(x, method={method!r}): expected one of {', '.join(map(repr, _PARTS))}")


def _between(F: Any, a: Any, b: Any, part: Any) -> Any:
    """What lies a part of the way from `a` to `b`; exact where they are equal, and right where one is infinite."""
    gap = b - a
    y = F.where(part < 0.5, a + gap * part, b - gap * (1 - part))
    weighed = F.where(part == 0, a, F.where(part == 1, b, a * (1 - part) + b * part))
    return F.where(F.isinf(a) | F.isinf(b), weighed, y)


def _along(draw: Any) -> Any:
    x = draw.array(draw.size("n", least=1), 4, distinct=True)
    return x, {"axis": draw.choice(None, 0, -1, (1, 0)), "keepdims": draw.boolean()}


def _quantiles(draw: Any) -> Any:
    x, words = _along(draw)
    return x, {"q": draw.choice(0.3, 0.75, (0.1, 0.5), 1), "method": draw.choice(*_PARTS), **words}


@composite(real=True, laws=_quantiles)
def quantile(
    F: Any, x: Any, /, q: Any, *, axis: Any = None, keepdims: bool = False, method: str = "linear"
) -> Any:
    """The value below which a part `q` of the elements lies, over axes (all, if None); NaN for what holds a NaN.

    * `q`: a number from 0 to 1, or an array of them, whose axes come first in the result.  It has no derivative.
    * `method`: where no element lies at that place: "linear" interpolation between the two next to it, the "lower", the
      "higher", the "midpoint" or the "nearest" (of two equally near ones that of even index).

    Definition 7 of R. J. Hyndman, Y. Fan, "Sample quantiles in statistical packages", 1996.  The derivative goes to the
    two elements, by their weights; of equal ones to those that the sort puts there.

    Raises RangeError for a `q` outside of 0 to 1.
    """
    at = _probabilities("quantile(x, q)", q)
    _check_method("quantile", method)
    rows, kept = _rows(F, _floating(F, x), axis)
    n = rows.shape[-1]
    if not n:
        raise ShapeError(f"quantile(x, q): expected elements, got shape {tuple(x.shape)}")
    rows = F.sort(rows, axis=-1)  # NaNs last
    place = at.reshape(-1) * (n - 1)
    low = np.floor(place)
    part = np.asarray(_PARTS[method](np, place, low)).astype(rows.dtype)
    first = low.astype(np.int64)
    a, b = (F.take(rows, k, axis=-1) for k in (first, np.minimum(first + 1, n - 1)))
    last = rows[..., -1:]
    y = F.where(F.isnan(last), last, _between(F, a, b, part))
    return _in_front(F, y, at.shape, kept if keepdims else rows.shape[:-1])


def _in_front(F: Any, y: Any, shape: tuple[int, ...], rest: tuple[int, ...]) -> Any:
    """The last axis of an array, which stands for axes of this shape, before the others."""
    return F.reshape(F.moveaxis(y, -1, 0), (*shape, *rest))


@composite(real=True, laws=_quantiles)
def nanquantile(
    F: Any, x: Any, /, q: Any, *, axis: Any = None, keepdims: bool = False, method: str = "linear"
) -> Any:
    """`quantile` of those elements that are not NaN; NaN where all are."""
    at = _probabilities("nanquantile(x, q)", q)
    _check_method("nanquantile", method)
    rows, kept = _rows(F, _floating(F, x), axis)
    if not rows.shape[-1]:
        raise ShapeError(f"nanquantile(x, q): expected elements, got shape {tuple(x.shape)}")
    rows = F.sort(rows, axis=-1)  # NaNs last
    count = F.sum(F.astype(F.logical_not(F.isnan(rows)), np.dtype(np.float64)), axis=-1, keepdims=True)
    last = F.where(count > 1, count - 1, 0 * count)
    place = last * at.reshape(-1)
    low = F.floor(place)
    part = F.astype(_PARTS[method](F, place, low), rows.dtype)
    high = F.where(low < last, low + 1, low)
    a, b = (F.take_along_axis(rows, F.astype(k, np.dtype(np.int64)), axis=-1) for k in (low, high))
    return _in_front(F, _between(F, a, b, part), at.shape, kept if keepdims else rows.shape[:-1])


@composite(real=True, laws=_along)
def median(F: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The middle element over axes (all, if None), or the mean of the two in the middle; NaN for what holds a NaN."""
    return F.quantile(x, 0.5, axis=axis, keepdims=keepdims)


@composite(real=True, laws=_along)
def nanmedian(F: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The median of those elements that are not NaN; NaN where all are."""
    return F.nanquantile(x, 0.5, axis=axis, keepdims=keepdims)


# -- what passes over NaN ------------------------------------------------------------------------------
def _words(draw: Any) -> Any:
    x = draw.array("n", 3)
    return x, {"axis": draw.choice(None, 0, -1, (0, 1)), "keepdims": draw.boolean()}


@composite(laws=_words)
def nansum(F: Any, x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum over axes of those elements that are not NaN; 0 where all are."""
    return F.sum(F.where(F.isnan(x), 0, x), axis=axis, dtype=dtype, keepdims=keepdims)


@composite(laws=_words)
def nanprod(F: Any, x: Any, /, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The product over axes of those elements that are not NaN; 1 where all are."""
    return F.prod(F.where(F.isnan(x), 1, x), axis=axis, dtype=dtype, keepdims=keepdims)


@composite(real=True, laws=_along)
def nanmax(F: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The largest over axes of those elements that are not NaN; NaN where all are."""
    return _extreme(F, F.max, -math.inf, x, axis, keepdims)


@composite(real=True, laws=_along)
def nanmin(F: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The smallest over axes of those elements that are not NaN; NaN where all are."""
    return _extreme(F, F.min, math.inf, x, axis, keepdims)


def _extreme(F: Any, reduce: Any, instead: float, x: Any, axis: Any, keepdims: bool) -> Any:
    if not is_inexact(x.dtype):
        return reduce(x, axis=axis, keepdims=keepdims)
    lost = F.isnan(x)
    y = reduce(F.where(lost, instead, x), axis=axis, keepdims=keepdims)
    return F.where(F.all(lost, axis=axis, keepdims=keepdims), math.nan, y)


def _present(F: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    """How many elements are not NaN, in the dtype of the array."""
    return F.sum(F.astype(F.logical_not(F.isnan(x)), F.real(x).dtype), axis=axis, keepdims=keepdims)


@composite(laws=_along)
def nanmean(F: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False) -> Any:
    """The mean over axes of those elements that are not NaN; NaN where all are."""
    if is_half(x):
        return F.cast(F.nanmean(F.cast(x, float32), axis=axis, keepdims=keepdims), x.dtype)
    x = _floating(F, x)
    return F.nansum(x, axis=axis, keepdims=keepdims) / _present(F, x, axis, keepdims)


def _spread(draw: Any) -> Any:
    x = draw.array(draw.size("n", least=2), 3)
    return x, {"axis": draw.choice(None, 0, -1, (0, 1)), "correction": draw.choice(0, 1), "keepdims": draw.boolean()}


@composite(laws=_spread)
def nanvar(F: Any, x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The variance over axes of those elements that are not NaN; NaN where not more of them are left than `correction`."""
    if is_half(x):
        return F.cast(F.nanvar(F.cast(x, float32), axis=axis, correction=correction, keepdims=keepdims), x.dtype)
    d, count = _deviations(F, x, axis, correction, keepdims)
    return _over(F, F.sum(F.real(d * F.conj(d)), axis=axis, keepdims=keepdims), count)


def _deviations(F: Any, x: Any, axis: Any, correction: float, keepdims: bool) -> tuple[Any, Any]:
    """The distances from the mean, 0 for a NaN; and the number of others less `correction`."""
    x = _floating(F, x)
    d = F.where(F.isnan(x), 0, x - F.nanmean(x, axis=axis, keepdims=True))
    return d, _present(F, x, axis, keepdims) - correction


def _over(F: Any, x: Any, count: Any) -> Any:
    """x / count, NaN where that is not positive."""
    enough = count > 0
    return F.where(enough, x / F.where(enough, count, F.ones_like(count)), math.nan)


@composite(laws=_spread, domain=(-2, 2))
def nanstd(F: Any, x: Any, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False) -> Any:
    """The standard deviation over axes of those elements that are not NaN, see `nanvar`; 0 is its derivative where all are equal."""
    if is_half(x):
        return F.cast(F.nanstd(F.cast(x, float32), axis=axis, correction=correction, keepdims=keepdims), x.dtype)
    d, count = _deviations(F, x, axis, correction, keepdims)
    return _over(F, F.norm2(d, axis=axis, keepdims=keepdims), F.sqrt(F.where(count > 0, count, 0 * count)))


# -- moments of several variables ----------------------------------------------------------------------
def _observed(draw: Any) -> Any:
    x = draw.array(3, draw.size("n", least=4))
    n = x.shape[1]
    weights = draw.array(n, low=0.5, high=2, complex=False)
    return draw.choice(
        (x, None, None, None, {"correction": draw.choice(0, 1)}),
        (x, draw.array(2, n), None, weights, {}),
        (x[0], None, np.arange(1, n + 1), weights, {}),
        (x.T, None, np.arange(1, n + 1), None, {"rowvar": False}),
    )


@composite(named=("fweights", "aweights"), laws=_observed)
def cov(
    F: Any,
    x: Any,
    y: Any = None,
    /,
    *,
    rowvar: bool = True,
    correction: float = 1.0,
    fweights: Any = None,
    aweights: Any = None,
) -> Any:
    """The covariances of variables, (v, n) -> (v, v), a variable a row (a column, if not `rowvar`); of one, (n,) -> ().

    * `y`: more variables, which come after those of `x`.
    * `correction`: what is taken from the count of observations: 1 for the unbiased estimate.
    * `fweights`, `aweights`: how often each observation was made, and how much it counts, (n,) each.  With the latter, the
      weights' sum less `correction` times its average of weights takes the count's place, as in NumPy.
    """
    rows = _variables(F, x, rowvar)
    if y is not None:
        rows = F.concat([rows, _variables(F, y, rowvar)], axis=0)
    n = rows.shape[1]
    w = _weights(F, rows, fweights, aweights)
    if w is None:
        d = rows - F.mean(rows, axis=1, keepdims=True)
        found = F.matmul(d, F.conj(F.matrix_transpose(d))) / (n - correction)
    else:
        total = F.sum(w)
        d = rows - F.sum(rows * w, axis=1, keepdims=True) / total
        lost = correction if aweights is None else correction * F.sum(w * aweights) / total
        found = F.matmul(d * w, F.conj(F.matrix_transpose(d))) / (total - lost)
    return F.reshape(found, ()) if rows.shape[0] == 1 else found


def _variables(F: Any, x: Any, rowvar: bool) -> Any:
    x = _floating(F, x)
    if len(x.shape) > 2:
        raise ShapeError(f"cov(x): expected at most two axes, got shape {tuple(x.shape)}")
    if len(x.shape) < 2:
        return F.reshape(x, (1, -1))
    return x if rowvar or x.shape[0] == 1 else F.matrix_transpose(x)


def _weights(F: Any, rows: Any, *given: Any) -> Any:
    """The product of the weights that there are; counts in the real dtype of the variables."""
    found = None
    for name, weights in zip(("fweights", "aweights"), given, strict=True):
        if weights is None:
            continue
        if tuple(weights.shape) != rows.shape[1:]:
            raise ShapeError(
                f"cov(x, {name}): expected one for each of {rows.shape[1]} observations, got shape {tuple(weights.shape)}"
            )
        w = weights if is_inexact(weights.dtype) else F.astype(weights, F.real(rows).dtype)
        found = w if found is None else found * w
    return found


@composite(laws=lambda draw: (draw.array(3, draw.size("n", least=4)), None))
def corrcoef(F: Any, x: Any, y: Any = None, /, *, rowvar: bool = True) -> Any:
    """The correlations of variables, (v, n) -> (v, v): covariances over the products of standard deviations; see `cov`."""
    c = F.cov(x, y, rowvar=rowvar)
    if not len(c.shape):
        return c / c
    size = F.sqrt(F.real(F.diagonal(c)))
    found = c / F.expand_dims(size, axis=1) / size
    return found if c.dtype.kind == "c" else F.clip(found, -1, 1)


# -- integrals of samples --------------------------------------------------------------------------------
def _sampled(draw: Any) -> Any:
    y = draw.array(draw.size("n", least=1), 4)
    n = y.shape[0]
    return draw.choice(
        (y, None, {"dx": 0.3, "axis": draw.choice(0, -1)}),
        (y, draw.array(4, sort=True, complex=False), {}),
        (y, draw.array(n, 4, complex=False), {"axis": 0}),
    )


@composite(laws=_sampled)
def trapezoid(F: Any, y: Any, x: Any = None, /, *, dx: float = 1.0, axis: int = -1) -> Any:
    """The integral of samples `y` along an axis, at the places `x` or `dx` apart, by the trapezoidal rule.

    * `x`: along the axis, (n,), or in a shape that broadcasts with that of `y`, with the same number of axes from that one on.
    """
    return F.sum(_areas(F, y, x, dx, axis), axis=-1)


@composite(laws=_sampled)
def cumulative_trapezoid(F: Any, y: Any, x: Any = None, /, *, dx: float = 1.0, axis: int = -1) -> Any:
    """The integral of samples up to each one but the first, along an axis; see `trapezoid`."""
    return F.moveaxis(F.cumulative_sum(_areas(F, y, x, dx, axis), axis=-1), -1, axis)


def _areas(F: Any, y: Any, x: Any, dx: Any, axis: int) -> Any:
    """The areas between neighbours along an axis, which becomes the last."""
    rank = len(y.shape)
    y = F.moveaxis(_floating(F, y), axis, -1)
    if x is not None:
        dx = F.diff(x if len(x.shape) == 1 else F.moveaxis(x, axis % rank - rank, -1), axis=-1)
    return (y[..., 1:] + y[..., :-1]) * dx * 0.5
