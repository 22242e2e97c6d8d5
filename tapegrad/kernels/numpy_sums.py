"""Sums on NumPy arrays, and the softmax family that is built on them."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from tapegrad.kernels.numpy_shape import numbers

#: The dtypes of half precision: what is added up, or multiplied, in float32.
HALVES = frozenset(["float16", "bfloat16"])
_np: Any = np  # whose type hints know `keepdims` as True and as False, but not as a bool


def sum(x: Any, *, axis: Any = None, dtype: Any = None, keepdims: bool = False) -> Any:
    """The sum; half precision is added up in float32, small integers in 64 bits."""
    if dtype is not None:
        if x.dtype.kind == "c" and np.dtype(dtype).kind != "c":
            x = x.real
        return sum(x.astype(dtype), axis=axis, keepdims=keepdims).astype(dtype)
    if x.dtype.itemsize == 2 and x.dtype.name in HALVES:
        return _np.add.reduce(x, axis=axis, dtype=np.float32, keepdims=keepdims).astype(x.dtype)
    if x.dtype.kind in "bui":
        return np.sum(x, axis=axis, keepdims=keepdims)
    if type(axis) is tuple and x.size >= 4096 and _are_last(axis, x.ndim) and x.flags.c_contiguous:
        shape = x.shape[: x.ndim - len(axis)]
        y = sum(x.reshape(*shape, math.prod(x.shape[len(shape) :])), axis=-1)
        return y.reshape(*shape, *(1,) * len(axis)) if keepdims else y
    if type(axis) is int and x.ndim > 1 and x.size >= 64 and (axis == -1 or axis == x.ndim - 1) and _has_short_rows(x):
        # Measured: 17 us for 4,096 rows of 64, the reduction takes 115; 0.5 us for 64 of 10, which takes 2.2.
        ones = _ones(x.shape[-1], x.dtype.char)
        y = x.dot(ones) if x.ndim == 2 else np.matmul(x, ones)
        return y[..., None] if keepdims else y
    if axis is not None and x.ndim > 1 and x.size >= 1024 and x.dtype.char in "fd" and x.flags.c_contiguous:
        y = _over_rows(x, (axis,) if type(axis) is int else axis)
        if y is not None:
            return np.expand_dims(y, axis) if keepdims else y
    if axis is None and x.size >= 65536 and x.dtype.char in "fd" and x.flags.c_contiguous:
        y = _total(x.reshape(-1))
        return y.reshape((1,) * x.ndim) if keepdims else y
    return _np.add.reduce(x, axis=axis, keepdims=keepdims)


def _are_last(axes: tuple[int, ...], rank: int) -> bool:
    """Whether these are the last axes, of which some others are left: they are added up as one."""
    return 0 < len(axes) < rank and sorted([a % rank for a in axes]) == list(range(rank - len(axes), rank))


def _over_rows(x: Any, axes: Any) -> Any:
    """The sum over neighbouring axes before the last one, which then are gone; None where those are others, or few rows.

    A product with ones adds up rows in a fraction of the time of a reduction (measured: 3 us for 1,000 rows of 10, which takes
    16; 8 for 256 of 512, which takes 13; 11 for 16 times 1,024 of 8, which takes 250), and both add one row after the other.
    """
    shape = x.shape
    places = sorted([a % len(shape) for a in axes])
    if not places:
        return None
    first, after = places[0], places[-1] + 1
    if after - first != len(places) or after == len(shape):
        return None
    width, count = math.prod(shape[after:]), math.prod(shape[first:after])
    if count < (4 if first else 64) or not width:
        return None
    return _added_rows(x.reshape(*shape[:first], count, width)).reshape(*shape[:first], *shape[after:])


#: From so many rows on one total of all loses digits.
_MANY_ROWS = 2048


def _added_rows(x: Any) -> Any:
    """The sum of the rows of matrices, (..., n, k) -> (..., k).

    Many rows are added up by 512 first, for one total of all loses digits with each row (measured for 100,000 rows of three float32
    near a million: off by 300 in the mean, by 0.02 in parts, in 60 us and not 45).
    """
    n, char = x.shape[-2], x.dtype.char
    if n < _MANY_ROWS or char != "f":
        ones = _ones(n, char)
        return ones.dot(x) if x.ndim == 2 else np.matmul(ones, x)
    parts = n >> 9
    whole = parts << 9
    y = _added_rows(np.matmul(_ones(512, char), x[..., :whole, :].reshape(*x.shape[:-2], parts, 512, x.shape[-1])))
    return y + np.matmul(_ones(n - whole, char), x[..., whole:, :]) if whole < n else y


def _total(x: Any) -> Any:
    """The sum of a long vector, as rows of 1,024 first (measured for 262,144 elements: 21 us; the reduction takes 40)."""
    whole = len(x) & ~1023
    rows = np.matmul(x[:whole].reshape(-1, 1024), _ones(1024, x.dtype.char))
    return np.add.reduce(rows) + np.add.reduce(x[whole:]) if whole < len(x) else np.add.reduce(rows)


def _has_short_rows(x: Any) -> bool:
    """Whether rows are so short that BLAS, which adds in no certain order, is as exact as a sum in pairs."""
    return x.dtype.char in "fd" and 1 < x.shape[-1] <= 1024 and x.flags.c_contiguous


@functools.lru_cache(64)
def _ones(n: int, char: str) -> Any:
    return np.ones(n, char)


def sum_to(x: Any, shape: tuple[int, ...]) -> Any:
    """Undo a broadcast: the sum over all axes along which `shape` was repeated to give the shape of `x`."""
    extra = x.ndim - len(shape)
    if extra == 1 and x.ndim == 2 and shape[0] == x.shape[1] and x.dtype.kind == "f" and x.dtype.itemsize >= 4:
        # BLAS adds up rows several times faster than a reduction does (measured for 16x256: 0.5 us and 1.5; for 256x256: 2.8 and 8.3)
        return _ones(len(x), x.dtype.char).dot(x) if len(x) < _MANY_ROWS else _added_rows(x)
    axes = tuple(range(extra)) + tuple(
        i + extra for i, n in enumerate(shape) if n == 1 and x.shape[i + extra] != 1
    )
    if not axes:
        return x
    return sum(x, axis=axes if len(axes) > 1 else axes[0], keepdims=True).reshape(shape)[()]


# -- before an exponential -----------------------------------------------------------------------------------
#: Between these bounds exponentials and sums of them neither overflow nor lose digits.
_MILD = {"f": 40.0, "d": 300.0}
_ZERO = {"f": np.float32(0), "d": np.float64(0)}


def _is_mild(x: Any) -> bool:
    """Whether an array is known to stay between these bounds: then nothing has to be taken off before an exponential.

    Of small ones the sum of squares tells it (measured for 64x10: 0.7 us; the largest of each row, a look at them and a subtraction
    take 3.4), of large ones two looks at the whole (for 256x512: 16 us, else 54).
    """
    limit = _MILD.get(x.dtype.char)
    if limit is None or not x.size:
        return False
    if x.size < 1024:
        if not x.ndim or not x.flags.c_contiguous:
            return False
        flat = x.reshape(-1)
        return bool(np.vdot(flat, flat) < limit * limit)  # which, unlike `dot`, does not warn where it overflows
    return bool(np.maximum.reduce(x, axis=None) < limit) and bool(np.minimum.reduce(x, axis=None) > -limit)


def _most(x: Any, axis: Any) -> Any:
    """The largest element of each row, kept as an axis; -inf where there is none.

    Many short rows are looked at side by side (measured for 256x10: 3 us, else 13).
    """
    if x.ndim == 2 and axis in (1, -1) and 0 < x.shape[1] <= 32 and len(x) >= 64:
        return _np.maximum.reduce(np.ascontiguousarray(x.T), axis=0)[:, None]
    return _np.maximum.reduce(x, axis=axis, keepdims=True, **({"initial": -np.inf} if x.size == 0 else {}))


def _exponentials(x: Any, axis: Any) -> tuple[Any, Any, Any, bool]:
    """Of each row less what is taken off, their sum, what that was, and whether it is known to be finite.

    Nothing is taken off if all is mild, else the largest element, or 0 where that is infinite.
    """
    if _is_mild(x):
        e = np.exp(x)
        return e, sum(e, axis=axis, keepdims=True), _ZERO[x.dtype.char], True
    m = _most(x, axis)
    finite = _is_finite(m)
    if not finite:
        m = np.where(np.isfinite(m), m, np.zeros((), m.dtype))
    z = x - m
    e = np.exp(z, z) if type(z) is np.ndarray and z.dtype.kind in "fc" else np.exp(z)
    return e, sum(e, axis=axis, keepdims=True), m, finite


def _is_finite(m: Any) -> bool:
    """Whether all elements are."""
    return (type(m) is np.ndarray and is_seen_finite(m)) or bool(np.isfinite(m).all())


def is_seen_finite(x: Any) -> bool:
    """Whether one product tells that all elements are finite; False says nothing.

    (Measured for 64 of them: 0.6 us; `isfinite` and `all` take 1.6.  For 16x784 in float32 1 us.)
    """
    if x.dtype.char not in "fd" or not x.flags.c_contiguous:
        return False
    flat = x.reshape(-1)
    return math.isfinite(np.vdot(flat, flat))  # which, unlike `dot`, does not warn where it overflows


def softmax(x: Any, *, axis: Any = -1) -> Any:
    """exp(x) / sum(exp(x)); a row of -inf gives zeros, and one with +inf has no softmax: NaN."""
    e, s, _, finite = _exponentials(x, axis)
    return _shares(e, s, finite)


def _shares(e: Any, s: Any, finite: bool) -> Any:
    if not finite:
        s = np.where(np.isfinite(s), _nonzero(s), np.asarray(np.nan, s.dtype))
    return np.divide(e, s, e) if type(e) is np.ndarray else e / s


def logsumexp(x: Any, *, axis: Any = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x))); half precision is computed in float32."""
    if x.dtype.itemsize == 2 and x.dtype.name in HALVES:
        return logsumexp(x.astype(np.float32), axis=axis, keepdims=keepdims).astype(x.dtype)
    _, s, m, finite = _exponentials(x, axis)
    return _log_of_sum(s, m, finite, axis, keepdims)


def logsumexp_keeping(x: Any, *, axis: Any = None, keepdims: bool = False) -> tuple[Any, Any]:
    """That, and the softmax, of half precision in float32."""
    if x.dtype.itemsize == 2 and x.dtype.name in HALVES:
        y, shares = logsumexp_keeping(x.astype(np.float32), axis=axis, keepdims=keepdims)
        return y.astype(x.dtype), shares
    e, s, m, finite = _exponentials(x, axis)
    return _log_of_sum(s, m, finite, axis, keepdims), _limits(x, _shares(e, s, finite), s, finite, axis)


def shares(x: Any, *, axis: Any = -1) -> Any:
    """The derivative of logsumexp: the softmax, and where some elements are +inf what it tends to: they share alike in 1."""
    e, s, _, finite = _exponentials(x, axis)
    return _limits(x, _shares(e, s, finite), s, finite, axis)


def _limits(x: Any, y: Any, s: Any, finite: bool, axis: Any) -> Any:
    if finite or x.dtype.kind == "c":
        return y
    endless = s == np.inf
    if not endless.any():
        return y
    top = (x == np.inf).astype(y.dtype)
    return np.where(endless, top / _nonzero(sum(top, axis=axis, keepdims=True)), y)


def _log_of_sum(s: Any, m: Any, finite: bool, axis: Any, keepdims: bool) -> Any:
    """The logarithm of a sum of exponentials, and what was taken off them."""
    if finite:
        y = np.log(s)
    else:
        with np.errstate(divide="ignore"):  # log(0), of a row of -inf
            y = np.log(s)
    if m is not _ZERO.get(y.dtype.char):
        y += m
    if not keepdims:
        y = y.squeeze(axis)
    return y if y.ndim else y[()]


def log_softmax(x: Any, *, axis: Any = -1) -> Any:
    """x - logsumexp(x); a row of -inf gives -inf.  Exact for large x too: the largest is taken off first."""
    z = _lowered(x, axis)
    return z - np.log(_nonzero(sum(np.exp(z), axis=axis, keepdims=True)))


def _lowered(x: Any, axis: Any) -> Any:
    """Each row less its largest element; a row of -inf stays so, and one with +inf has no softmax: NaN."""
    m = _most(x, axis)
    if not _is_finite(m):
        m = np.where(m == -np.inf, np.zeros((), m.dtype), m)
    return x - m


def _nonzero(s: Any) -> Any:
    return s if s.all() else np.where(s == 0, np.ones((), s.dtype), s)


def softplus(x: Any, *, beta: float = 1.0) -> Any:
    """max(x, 0) + log1p(exp(-abs(x))): half the time of NumPy's logaddexp."""
    if beta != 1:
        x = x * beta
    with np.errstate(under="ignore"):
        y = np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))
    return y if beta == 1 else y / beta


def divided_last(g: Any, y: Any, x2: Any) -> Any:
    """The cotangent of divisors of many rows or columns: they divide the sums, which are few, a pass less over all quotients.

    Only divisors of middling size, so that products too small for their dtype are nothing beside the result; and where all is
    finite.  Else None.
    """
    if not (type(g) is type(y) is type(x2) is np.ndarray) or x2.size << 4 > y.size or x2.dtype.char not in "fd" or y.dtype is not x2.dtype:
        return None
    sizes = np.abs(x2)
    if not sizes.size or sizes.min() < 1e-6 or sizes.max() > 1e6:
        return None
    c = sum_to(g * y, x2.shape)
    return c / -x2 if c.dtype is x2.dtype and np.isfinite(c).all() else None


def logaddexp(x1: Any, x2: Any) -> Any:
    """log(exp(x1) + exp(x2)); of large arrays as the larger one plus log1p: a tenth of the time of NumPy's."""
    if not (type(x1) is type(x2) is np.ndarray) or x1.dtype is not x2.dtype or x1.dtype.char not in "fd" or x1.size + x2.size < 4096:
        return np.logaddexp(x1, x2)
    with np.errstate(invalid="ignore", under="ignore"):
        y = np.asarray(x1 - x2)  # infinities of one sign leave NaN
        np.abs(y, out=y)
        np.negative(y, out=y)
        np.exp(y, out=y)
        np.log1p(y, out=y)
        y += np.maximum(x1, x2)
        if math.isnan(y.min(initial=0.0)):
            same = np.equal(x1, x2)
            y = np.where(same, np.add(x1, math.log(2), dtype=y.dtype), y)
    return y


# -- cross entropy ---------------------------------------------------------------------------------------------
def cross_entropy(x: Any, labels: Any) -> Any:
    """The mean of logsumexp(x) - x[label] over rows."""
    z = x - _most(x, 1)
    return _mean_loss(sum(np.exp(z), axis=1), z[numbers(len(x)), labels])


def _mean_loss(s: Any, picked: Any) -> Any:
    return np.add.reduce(np.log(s) - picked) / s.dtype.type(len(s))


def cross_entropy_grad(x: Any, labels: Any) -> Any:
    """(softmax(x) - one_hot(labels)) / n."""
    return cross_entropy_keeping(x, labels)[1]


def cross_entropy_keeping(x: Any, labels: Any) -> tuple[Any, Any]:
    """Both, from the same exponentials."""
    rows = numbers(len(x))
    z = x - _most(x, 1)
    picked = z[rows, labels]
    e = np.exp(z, z) if z.dtype.kind == "f" else np.exp(z)
    s = sum(e, axis=1)
    part = e.dtype.type(1 / len(x) if len(x) else 0)
    e *= (part / s)[:, None]
    e[rows, labels] -= part
    return _mean_loss(s, picked), e
