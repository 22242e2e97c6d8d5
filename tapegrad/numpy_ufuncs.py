"""What a ufunc of NumPy's does along an axis or at places of a tensor: `reduce`, `accumulate`, `reduceat`, `outer` and `at`.

Each is made of calls of the ufunc itself, which records, where no op of ours is it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.core.tensor import Tensor
from tapegrad.errors import ArgumentError, BoundsError, DetachedError, ShapeError
from tapegrad.numpy_compositions import read, values_of
from tapegrad.ops.exchange import is_recorded
from tapegrad.ops.inplace import fitting, rebind
from tapegrad.registry.op import OPS
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from collections.abc import Callable

    Call = Callable[..., Any]


# -- along an axis ---------------------------------------------------------------------------------------
def _two(ufunc: Any, method: str) -> None:
    if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature is not None:
        raise ArgumentError(f"np.{ufunc.__name__}.{method}: expected a ufunc of two inputs and one output")


def _lines(x: Any, axis: Any, what: str) -> Any:
    """An axis in front, as an array that is read a line at a time."""
    if not isinstance(axis, int | np.integer) or not -x.ndim <= axis < x.ndim:
        raise BoundsError(f"{what}: expected one axis of {x.ndim}, got {axis!r}")
    return F.moveaxis(x, int(axis), 0)


def reduce(ufunc: Any, call: Call, x: Any, *, axis: Any = 0, keepdims: bool = False, initial: Any = None) -> Any:
    """One element after the other, from the first on, or from `initial`."""
    _two(ufunc, "reduce")
    what, x = f"np.{ufunc.__name__}.reduce", read(x)
    axes = range(x.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    gone = sorted((int(a) % max(x.ndim, 1) for a in axes), reverse=True)
    if len(gone) > 1 and ufunc.identity is None and ufunc.__name__ in _ORDERED:
        raise ArgumentError(f"{what}(axis={axis!r}): expected one axis, for it matters which comes first")
    shape = tuple(1 if i in gone else n for i, n in enumerate(x.shape))
    for a in gone:
        lines = _lines(x, a, what)
        if not len(lines) and initial is None and ufunc.identity is None:
            raise ShapeError(f"{what}: expected elements along axis {a}, got shape {tuple(x.shape)}")
        first = initial if initial is not None else ufunc.identity if not len(lines) else None
        y = F.broadcast_to(F.astype(read(first), x.dtype), lines.shape[1:]) if first is not None else lines[0]
        for i in range(first is None, len(lines)):
            y = call(y, lines[i])
        x, initial = y, None
    return F.reshape(x, shape) if keepdims else x


#: Ufuncs without an identity whose result depends on the order.
_ORDERED = frozenset(["subtract", "divide", "true_divide", "power", "float_power", "floor_divide", "remainder", "fmod"])


def accumulate(ufunc: Any, call: Call, x: Any, *, axis: int = 0) -> Any:
    """The results so far, along an axis."""
    _two(ufunc, "accumulate")
    lines = _lines(read(x), axis, f"np.{ufunc.__name__}.accumulate")
    found = [lines[0]] if len(lines) else []
    for i in range(1, len(lines)):
        found.append(call(found[-1], lines[i]))
    return F.moveaxis(F.stack(found) if found else lines, 0, int(axis))


def reduceat(ufunc: Any, run: Call, x: Any, indices: Any, *, axis: int = 0) -> Any:
    """For each index what `reduce` gives from there to before the next one; the element itself where the next is no later."""
    _two(ufunc, "reduceat")
    what = f"np.{ufunc.__name__}.reduceat"
    lines, places = _lines(read(x), axis, what), values_of(indices)
    n = len(lines)
    if places.ndim != 1 or places.dtype.kind not in "iu" or (places < 0).any() or (places >= n).any():
        raise BoundsError(f"{what}: expected a row of indices, 0 <= index < {n}, got {indices!r}")
    if not len(places):
        return F.moveaxis(lines[:0], 0, int(axis))
    ends = np.append(places[1:], n)
    ends = np.where(ends > places, ends, places + 1)
    if ufunc is np.add:  # all elements of all parts in one row, each added where its part belongs
        lengths = ends - places
        part = np.repeat(np.arange(len(places)), lengths)
        taken = np.arange(len(part)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + np.repeat(places, lengths)
        found = F.put_add(F.take(lines, taken, axis=0), index=(part,), shape=(len(places), *lines.shape[1:]))
    else:
        found = F.stack([run(lines[i:j]) for i, j in zip(places.tolist(), ends.tolist(), strict=True)])
    return F.moveaxis(found, 0, int(axis))


def outer(call: Call, a: Any, b: Any) -> Any:
    """All pairs of elements."""
    a, b = read(a), read(b)
    return call(F.reshape(a, (*a.shape, *(1,) * b.ndim)), b)


# -- at places -------------------------------------------------------------------------------------------
def at(ufunc: Any, call: Call, x: Any, index: Any, *more: Any) -> None:
    """Leave in each place that the index picks what the ufunc gives there; where it picks one again, of what it gave before."""
    what = f"np.{ufunc.__name__}.at"
    if ufunc.nout != 1 or ufunc.signature is not None or len(more) != ufunc.nin - 1:
        raise ArgumentError(f"{what}: expected a ufunc of one output, and {ufunc.nin - 1} arrays after the index, got {len(more)}")
    index = _index(index)
    if not isinstance(x, Tensor):
        if any(isinstance(v, Tensor) and is_recorded(v.read()[1]) for v in more):
            raise DetachedError(f"{what}: a NumPy array cannot keep the derivative of a recorded tensor; make the array a tensor")
        ufunc.at(x, index, *map(values_of, more))
        return
    places = np.arange(x.size).reshape(x.shape)[index]
    others = [F.reshape(F.broadcast_to(read(v), places.shape), (-1,)) for v in more]
    flat = places.ravel()
    if ufunc is np.add or ufunc is np.subtract:
        (v,) = (fitting(x, o, what) for o in others)
        rebind(x, call(x, F.reshape(F.put_add(v, index=(flat,), shape=(x.size,)), x.shape)))
        return
    y = F.reshape(x, (-1,))
    for chosen in _occurrences(flat):
        new = call(F.take(y, flat[chosen], axis=0), *(F.take(o, chosen, axis=0) for o in others))
        y = OPS["put"].entry(y, fitting(x, new, what), (flat[chosen],))
    rebind(x, F.reshape(y, x.shape))


def _index(index: Any) -> Any:
    """An index for NumPy's arrays; an empty list picks nothing."""
    if isinstance(index, tuple):
        return tuple(map(_index, index))
    if index is None or index is Ellipsis or isinstance(index, slice | int):
        return index
    found = values_of(index)
    return found.astype(np.intp) if isinstance(index, list) and not found.size else found


def _occurrences(flat: Any) -> list[Any]:
    """Where numbers occur for the first time, for the second time, and so on."""
    order = np.argsort(flat, kind="stable")
    ordered = flat[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])) if len(flat) else flat
    count = np.arange(len(flat)) - np.repeat(starts, np.diff(np.append(starts, len(flat))))
    return [np.sort(order[count == k]) for k in range(int(count.max(initial=-1)) + 1)]


__all__ = ["accumulate", "at", "outer", "reduce", "reduceat"]
