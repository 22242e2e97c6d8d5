"""Picking elements, and the adjoint of picking: adding them back where they came from."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.kernels.batched import Batched
from tapegrad.kernels.numpy_scatter import is_basic, picks_once
from tapegrad.registry import constant, linear, no_derivative
from tapegrad.registry.batch_rules import full_batch, shifted
from tapegrad.registry.places import at_hand


def _picked(draw: Any) -> Any:
    x = draw.array(*draw.choice(("n",), ("n", 4), ("n", 3, "m"), ()))
    return x, {"index": draw.index(*x.shape)}


@linear(accumulates=True, masks="index", laws=_picked)
def getitem(xp: Any, x: Any, /, index: Any) -> Any:
    """`x[index]`, for every kind of index that NumPy has.

    The derivative of an element that is picked more than once is the sum over all picks.

    Raises BoundsError for an index out of range, or of another kind.
    """
    return xp.getitem(x, index)


getitem.adjoint(x=lambda F, g, x, index: F.put_add(g, index, x.shape))


def _inside(index: Any) -> tuple[tuple[Any, ...], int]:
    """An index of an item as one of the batch, and where the batch's axis then is in what it picks.

    It stays first, but for arrays that are not side by side: NumPy puts the axes of those before all others.
    """
    index = index if type(index) is tuple else (index,)
    for i in index:
        if type(i) is Batched:
            raise i.refused("getitem(x, index)", "write x[index] on tensors, or use take, or take_along_axis")
    places = [k for k, i in enumerate(index) if i is not None and i is not Ellipsis and type(i) is not slice]
    apart = not is_basic(index) and places[-1] - places[0] >= len(places)
    rank = max((1 if _is_mask(index[k]) else np.ndim(index[k]) for k in places), default=0)
    return (slice(None), *index), rank if apart else 0


def _is_mask(i: Any) -> bool:
    return type(i) is bool or (getattr(i, "dtype", None) is not None and i.dtype.kind == "b")


@getitem.batch
def _getitem_batch(F: Any, has: Any, x: Any, *, index: Any) -> Any:
    inside, place = _inside(index)
    y = F.getitem(x, inside)
    return F.moveaxis(y, place, 0) if place else y


def _placed(draw: Any) -> Any:
    shape = draw.shape(*draw.choice(("n",), ("n", 4), ("n", 3, "m")))
    index = draw.index(*shape)
    return draw.filled(draw.picked(index, shape)), {"index": index, "shape": shape}


@linear(laws=_placed)
def put_add(xp: Any, x: Any, /, index: Any, shape: tuple[int, ...]) -> Any:
    """Zeros of a shape with `x` added at an index; where an element is picked again, all are added up."""
    return xp.put_add(x, index, shape)


put_add.adjoint(x=lambda F, g, index: F.getitem(g, index))


@put_add.batch
def _put_add_batch(F: Any, has: Any, x: Any, *, index: Any, shape: Any) -> Any:
    inside, place = _inside(index)
    return F.put_add(F.moveaxis(x, 0, place) if place else x, inside, (x.shape[0], *shape))


def _overwritten(draw: Any) -> Any:
    shape = draw.shape(*draw.choice(("n",), ("n", 4), ("n", 3, "m"), ()))
    index = draw.index(*shape)
    picked = draw.picked(index, shape)
    value = draw.choice(picked, picked[1:], tuple(1 if draw.boolean() else n for n in picked), ())
    return draw.filled(shape), draw.filled(value), {"index": index}


@linear(masks=True, laws=_overwritten)
def put(xp: Any, x: Any, value: Any, /, index: Any) -> Any:
    """A copy of `x` with `value` at an index; it is what `x[index] = value` leaves in `x`.

    `value` broadcasts to what the index picks.  Of several values for one element the last one in row-major order
    stays, and it alone has a derivative; that of an overwritten element of `x` is zero.
    """
    return xp.put(x, value, index)


def _put_adjoint(F: Any, g: Any, value: Any, index: Any) -> Any:
    c = F.getitem(g, index)
    if not picks_once(index):
        c = F.where(F.last_picks(g, index), c, 0)
    if c.shape == value.shape:
        return c
    inner = value.shape[max(len(value.shape) - len(c.shape), 0) :]
    return F.reshape(F.sum_to(c, inner), value.shape)


put.adjoint(x=lambda F, g, index: F.put(g, F.zeros((), dtype=g.dtype), index), value=_put_adjoint)


@constant(laws=_picked, public=False)
def last_picks(xp: Any, x: Any, /, index: Any) -> Any:
    """Whether each pick of an index is the last one of its element, whose value stays when several are put there."""
    return xp.last_picks(x, index)


@last_picks.batch
def _last_picks_batch(F: Any, has: Any, x: Any, *, index: Any) -> Any:
    item = F.last_picks(F.zeros(x.shape[1:], dtype=x.dtype), index)  # the same for all
    return F.broadcast_to(item, (x.shape[0], *item.shape))


@put.batch
def _put_batch(F: Any, has: Any, x: Any, value: Any, *, index: Any) -> Any:
    x, value = full_batch(F, has, (x, value))
    shape = x.shape[1:]
    rank = np.empty(shape, np.bool_)[index].ndim
    extra = max(len(value.shape) - 1 - rank, 0)
    missing = max(rank - (len(value.shape) - 1), 0)
    value = F.reshape(value, (value.shape[0], *(1,) * missing, *value.shape[1 + extra :]))
    inside, place = _inside(index)
    return F.put(x, F.moveaxis(value, 0, place) if place else value, inside)


@linear(
    accumulates=True,
    laws=lambda draw: draw.choice(
        (draw.array("n", 4), draw.integers("k", low=-4, high=4), {"axis": 1}),
        (draw.array(3, "n"), draw.integers("k", low=-3, high=3), {"axis": -2}),
        (draw.array(3, 2), draw.integers("k", low=-6, high=6), {}),
        (draw.array(5), draw.integers("k", low=-5, high=5), {}),
    ),
)
def take(xp: Any, x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """The elements of `x` at integer indices along an axis; negative ones count from the end.

    Raises BoundsError for an index out of range, DTypeError for one that is no integer.
    """
    return xp.take(x, indices, axis=axis)


def _take_adjoint(F: Any, g: Any, x: Any, indices: Any, axis: int | None) -> Any:
    if axis is None:
        if len(x.shape) != 1:
            flat = F.put_along_axis_add(F.reshape(g, (-1,)), F.reshape(indices, (-1,)), (math.prod(x.shape),), 0)
            return F.reshape(flat, x.shape)  # so not `take_add`, which may be put off
        axis = 0
    return F.take_add(g, indices, x.shape, axis % len(x.shape))


take.adjoint(x=_take_adjoint, indices=no_derivative)


@take.batch
def _take_batch(F: Any, has: Any, x: Any, indices: Any, *, axis: Any = None) -> Any:
    if has[0] and not has[1]:
        if axis is None:
            x = F.reshape(x, (x.shape[0], math.prod(x.shape[1:])))
        return F.take(x, indices, axis=1 if axis is None else shifted(axis, len(x.shape) - 1))
    if not has[0]:
        if axis is None:
            x = F.reshape(x, (-1,))
        axis = (0 if axis is None else axis) % len(x.shape)
        return F.moveaxis(F.take(x, indices, axis=axis), axis, 0)
    if axis is None:
        x = F.reshape(x, (x.shape[0], math.prod(x.shape[1:])))
    axis = 0 if axis is None else axis % (len(x.shape) - 1)
    rows = F.moveaxis(x, axis + 1, 1)
    n, k = rows.shape[:2]
    y = F.take(F.reshape(rows, (n * k, *rows.shape[2:])), _offset(F, indices, n, k), axis=0)
    places = tuple(range(1, len(indices.shape)))
    return F.moveaxis(y, places, tuple(p + axis for p in places))


def _offset(F: Any, indices: Any, n: int, k: int) -> Any:
    """Indices into each of `n` rows of `k` as indices into all of them; refused where they would be in another row."""
    values = at_hand(indices)
    if values is not None and values.size and not (values.min() >= -k and values.max() < k):
        raise IndexError(f"expected {-k} <= indices < {k}, got {values.min()} to {values.max()}")
    start = F.reshape(F.arange(n) * k, (n, *(1,) * (len(indices.shape) - 1)))
    return F.remainder(indices, k) + start


@linear(
    laws=lambda draw: (draw.array("n", 3), draw.integers(3, low=-4, high=4), {"shape": (draw.size("n"), 4), "axis": 1}),
    public=False,
)
def take_add(xp: Any, x: Any, indices: Any, /, shape: tuple[int, ...], axis: int) -> Any:
    """Zeros of a shape with `x` added where `take` would take: its adjoint."""
    return xp.take_add(x, indices, shape, axis)


take_add.adjoint(x=lambda F, g, indices, axis: F.take(g, indices, axis=axis), indices=no_derivative)


@take_add.batch
def _take_add_batch(F: Any, has: Any, x: Any, indices: Any, *, shape: Any, axis: int) -> Any:
    if not has[1]:
        return F.take_add(x, indices, (x.shape[0], *shape), axis + 1)
    x, indices = full_batch(F, has, (x, indices))
    n, k = x.shape[0], shape[axis]
    places = tuple(range(1, len(indices.shape)))
    rows = F.moveaxis(x, tuple(p + axis for p in places), places)
    rest = tuple(s for i, s in enumerate(shape) if i != axis)
    y = F.take_add(rows, _offset(F, indices, n, k), (n * k, *rest), 0)
    return F.moveaxis(F.reshape(y, (n, k, *rest)), 1, axis + 1)


@linear(laws=lambda draw: (draw.array("n", 4), draw.integers("n", 2, low=-4, high=4), {"axis": 1}))
def take_along_axis(xp: Any, x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """The elements of `x` at indices along an axis, different ones for each slice: what `argsort` gives, applied."""
    return xp.take_along_axis(x, indices, axis=axis)


take_along_axis.adjoint(
    x=lambda F, g, x, indices, axis: F.put_along_axis_add(g, indices, x.shape, axis), indices=no_derivative
)


@take_along_axis.batch
def _take_along_axis_batch(F: Any, has: Any, x: Any, indices: Any, *, axis: int = -1) -> Any:
    x, indices = full_batch(F, has, (x, indices))
    return F.take_along_axis(x, indices, axis=shifted(axis, len(x.shape) - 1))


@linear(
    laws=lambda draw: (
        draw.array("n", 2),
        draw.integers("n", 2, low=-4, high=4),
        {"shape": (draw.size("n"), 4), "axis": 1},
    ),
    public=False,
)
def put_along_axis_add(xp: Any, x: Any, indices: Any, /, shape: tuple[int, ...], axis: int) -> Any:
    """Zeros of a shape with `x` added where `take_along_axis` would take: its adjoint."""
    return xp.put_along_axis_add(x, indices, shape, axis)


put_along_axis_add.adjoint(
    x=lambda F, g, indices, axis: F.take_along_axis(g, indices, axis=axis), indices=no_derivative
)


@put_along_axis_add.batch
def _put_along_axis_add_batch(F: Any, has: Any, x: Any, indices: Any, *, shape: Any, axis: int) -> Any:
    x, indices = full_batch(F, has, (x, indices))
    return F.put_along_axis_add(x, indices, (x.shape[0], *shape), shifted(axis, len(shape)))


@linear(
    weak=True, pointwise=True, masks=True, laws=lambda draw: (draw.array("n", 3) > 0, draw.array("n", 3), draw.array(3))
)
def where(xp: Any, condition: Any, x1: Any, x2: Any, /) -> Any:
    """`x1` where the condition holds and `x2` elsewhere; what is not chosen gets a derivative of exactly 0.

    Raises ShapeError where the three do not broadcast.
    """
    return xp.where(condition, x1, x2)


where.adjoint(
    condition=no_derivative,
    x1=lambda F, g, condition, x1: F.sum_to(F.where(condition, g, 0), x1.shape),
    x2=lambda F, g, condition, x2: F.sum_to(F.where(condition, 0, g), x2.shape),
)
