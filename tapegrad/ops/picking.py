"""Indices that differ within a batch: `x[i]` and `x[i] = value` where `i` is one of many.

Such an index is an array that ops compute with, not a parameter, so picking is a gather along one flattened axis, and
writing replaces rows of it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from tapegrad.core.tensor import Tensor, tensor
from tapegrad.errors import ArgumentError, BoundsError, DTypeError
from tapegrad.kernels.batched import Batched
from tapegrad.registry import linear, no_derivative
from tapegrad.registry.batch_rules import full_batch
from tapegrad.registry.places import at_hand
from tapegrad.registry.space import F


class _Plan(NamedTuple):
    """How an index picks: basic parts first, then rows of what has the other axes flattened in front."""

    slices: tuple[Any, ...]  # one for each axis
    axes: tuple[int, ...]  # those with integers
    rows: Any  # integers into those axes, flattened; a tensor
    added: tuple[bool, ...]  # for each axis of the result that no integers make: whether it is a new one
    place: int  # where the axes of the integers are in the result


def pick(x: Tensor, index: Any) -> Tensor:
    """`x[index]`, where a part of the index differs within a batch."""
    plan = _plan(x, index)
    block = F.getitem(x, plan.slices)
    found = F.take(_flattened(block, plan), plan.rows, axis=0)
    count = len(plan.rows.shape)
    lengths = iter(found.shape[count:])
    found = F.reshape(found, (*found.shape[:count], *(1 if new else next(lengths) for new in plan.added)))
    found = F.moveaxis(found, tuple(range(count)), tuple(range(plan.place, plan.place + count)))
    return found


def put(x: Tensor, value: Any, index: Any) -> Tensor:
    """What `x[index] = value` leaves in `x`, where a part of the index differs within a batch."""
    if type(index) is Batched and index.dtype.kind == "b":
        return _masked(x, value, index)
    plan = _plan(x, index)
    block = F.getitem(x, plan.slices)
    rows = _flattened(block, plan)
    count, rest = len(plan.rows.shape), rows.shape[1:]
    lengths = iter(rest)
    others = [1 if new else next(lengths) for new in plan.added]
    shape = (*others[: plan.place], *plan.rows.shape, *others[plan.place :])
    value = F.moveaxis(F.broadcast_to(value, shape), tuple(range(plan.place, plan.place + count)), tuple(range(count)))
    flat = F.reshape(value, (math.prod(plan.rows.shape), *rest))
    changed = F.put_rows(rows, flat, F.reshape(plan.rows, (-1,)))
    moved = [n for i, n in enumerate(block.shape) if i in plan.axes]
    changed = F.moveaxis(F.reshape(changed, (*moved, *rest)), tuple(range(len(moved))), plan.axes)
    whole = all(s == slice(None) for s in plan.slices)
    return changed if whole else F.put(x, changed, plan.slices)


def _masked(x: Tensor, value: Any, mask: Batched) -> Tensor:
    rest = len(x.shape) - len(mask.shape)
    if tuple(x.shape[: len(mask.shape)]) != mask.shape:
        raise BoundsError(f"x[mask] = value: expected a mask of shape {x.shape[: len(mask.shape)]}, got {mask.shape}")
    if len(value.shape) > rest:
        raise mask.refused("x[mask] = value", "the mask picks another number of elements in each; write tapegrad.where(mask, value, x)")
    return F.where(F.reshape(tensor(mask), (*mask.shape, *(1,) * rest)), value, x)


def _flattened(block: Any, plan: _Plan) -> Any:
    """The block with the axes that integers pick from as one, in front."""
    front = F.moveaxis(block, plan.axes, tuple(range(len(plan.axes))))
    count = len(plan.axes)
    return F.reshape(front, (math.prod(front.shape[:count]), *front.shape[count:]))


def _plan(x: Tensor, index: Any) -> _Plan:
    parts = _expanded(x, index if type(index) is tuple else (index,))
    slices: list[Any] = []
    axes: list[int] = []
    integers: list[Any] = []
    added: list[bool] = []
    places: list[int] = []  # where in the index integers are
    before = 0
    for k, part in enumerate(parts):
        if part is None or type(part) is slice:
            if type(part) is slice:
                slices.append(part)
            added.append(part is None)
            continue
        if not axes:
            before = len(added)
        places.append(k)
        axes.append(len(slices))
        slices.append(slice(None))
        integers.append(part)
    together = places[-1] - places[0] < len(places)
    rows: Any = 0
    for axis, part in zip(axes, integers, strict=True):
        n = x.shape[axis]
        _check(part, n, axis)
        i = tensor(np.asarray(part)) if type(part) is int else tensor(part)
        rows = rows * n + F.where(i < 0, i + n, i)
    return _Plan(tuple(slices), tuple(axes), rows, tuple(added), before if together else 0)


def _expanded(x: Tensor, parts: tuple[Any, ...]) -> list[Any]:
    """The parts of an index, one for each axis of `x` and each new one; masks as the integers that they stand for."""
    found: list[Any] = []
    for part in parts:
        if type(part) is Batched and part.dtype.kind == "b":
            raise part.refused("x[mask]", "the mask picks another number of elements in each; write tapegrad.where(mask, x, 0)")
        if type(part) is bool or getattr(getattr(part, "dtype", None), "kind", "i") == "b":
            found.extend(np.nonzero(np.asarray(part)))
        elif part is None or part is Ellipsis or type(part) is slice or type(part) is int:
            found.append(part)
        else:
            if part.dtype.kind not in "iu":
                raise DTypeError(f"x[index]: an index is of integers or booleans, got {part.dtype}")
            found.append(part)
    taken = sum(1 for part in found if part is not None and part is not Ellipsis)
    if taken > len(x.shape):
        raise BoundsError(f"x[index]: expected at most {len(x.shape)} indices for shape {x.shape}, got {taken}")
    fill = [slice(None)] * (len(x.shape) - taken)
    dots = [k for k, part in enumerate(found) if part is Ellipsis]
    if len(dots) > 1:
        raise ArgumentError("x[index]: an index has one `...` at most")
    if dots:
        return [*found[: dots[0]], *fill, *found[dots[0] + 1 :]]
    return [*found, *fill]


def _check(part: Any, n: int, axis: int) -> None:
    """Refuse integers that are out of range, where they can be looked at."""
    values = at_hand(part)
    if values is not None and values.size and not (values.min() >= -n and values.max() < n):
        raise BoundsError(f"x[index]: expected {-n} <= index < {n} for axis {axis}, got {values.min()} to {values.max()}")


def _replaced(draw: Any) -> Any:
    n = draw.size("n", least=1)
    return draw.array("n", 2), draw.array("k", 2), draw.integers("k", low=0, high=n)


@linear(laws=_replaced, public=False)
def put_rows(xp: Any, x: Any, value: Any, indices: Any, /) -> Any:
    """A copy of `x` with other rows at some indices; of several rows for one index the last stays."""
    return xp.put(x, value, (indices,))


def _put_rows_adjoint(F: Any, g: Any, value: Any, indices: Any) -> Any:
    order = F.arange(value.shape[0])
    last = F.take(F.put_rows(F.zeros((g.shape[0],), dtype=order.dtype), order, indices), indices, axis=0)
    stays = F.reshape(F.equal(last, order), (value.shape[0], *(1,) * (len(value.shape) - 1)))
    return F.where(stays, F.take(g, indices, axis=0), 0)


put_rows.adjoint(
    x=lambda F, g, value, indices: F.put_rows(g, F.zeros(value.shape, dtype=g.dtype), indices),
    value=_put_rows_adjoint,
    indices=no_derivative,
)


@put_rows.batch
def _put_rows_batch(F: Any, has: Any, x: Any, value: Any, indices: Any) -> Any:
    x, value, indices = full_batch(F, has, (x, value, indices))
    n, k, m = x.shape[0], x.shape[1], indices.shape[1]
    start = F.reshape(F.arange(n) * k, (n, 1))
    y = F.put_rows(
        F.reshape(x, (n * k, *x.shape[2:])),
        F.reshape(value, (n * m, *value.shape[2:])),
        F.reshape(F.remainder(indices, k) + start, (n * m,)),
    )
    return F.reshape(y, x.shape)
