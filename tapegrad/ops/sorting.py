"""Sorting and searching."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.registry import composite, constant
from tapegrad.registry.batch_rules import full_batch, over_axis


def _sortable(draw: Any) -> Any:
    return draw.array("n", "m", distinct=True), {"axis": draw.choice(0, 1, -1), "descending": draw.boolean()}


@constant(laws=_sortable)
def argsort(xp: Any, x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The indices that sort the array along an axis; equal elements stay in order."""
    return xp.argsort(x, axis=axis, descending=descending, stable=stable)


argsort.batch(lambda F, has, x, *, axis=-1, **params: over_axis("argsort")(F, has, x, axis=axis, **params))


@composite(real=True, laws=_sortable)
def sort(F: Any, x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The array sorted along an axis; of equal elements each keeps its own derivative, in order.

    Raises BoundsError for an axis that `x` does not have.
    """
    order = F.argsort(x, axis=axis, descending=descending, stable=stable)
    return F.take_along_axis(x, order, axis=axis)


def _searched(draw: Any) -> Any:
    x1, x2, side = draw.array("n", sort=True), draw.array("k"), {"side": draw.choice("left", "right")}
    return draw.choice((x1, x2, None, side), (x1[::-1].copy(), x2, np.arange(x1.shape[0])[::-1].copy(), side))


@composite(real=True, named=("sorter",), laws=_searched)
def searchsorted(F: Any, x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """Where the elements of `x2` would go in `x1` to keep it sorted; `sorter` are the indices that sort `x1`, if it is not.

    Of several places that would do, the first if `side` is "left", the last if it is "right".
    """
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted(x1, x2): expected side 'left' or 'right', got {side!r}")
    return F.insertion_index(x1 if sorter is None else F.take(x1, sorter, axis=0), x2, side)


@constant(
    laws=lambda draw: (draw.array("n", sort=True), draw.array("k"), {"side": draw.choice("left", "right")}), public=False
)
def insertion_index(xp: Any, x1: Any, x2: Any, /, side: str) -> Any:
    """Where the elements of `x2` would go in the sorted array `x1`, before equal ones or behind them."""
    return xp.insertion_index(x1, x2, side)


@insertion_index.batch
def _insertion_index_batch(F: Any, has: Any, x1: Any, x2: Any, *, side: str) -> Any:
    if not has[0]:
        return F.insertion_index(x1, x2, side)
    x1, x2 = full_batch(F, has, (x1, x2))  # a sorted row for each item: count the elements below
    x1 = F.reshape(x1, (*x1.shape[:1], *(1,) * (len(x2.shape) - 1), *x1.shape[1:]))
    below = F.less if side == "left" else F.less_equal
    return F.count_nonzero(below(x1, F.expand_dims(x2, axis=-1)), axis=-1)


@constant(outputs=("indices",), laws=lambda draw: (draw.integers(draw.size("n", least=0), 3, low=0, high=2),))
def nonzero(xp: Any, x: Any, /) -> Any:
    """The indices of the elements that are not zero, in row-major order: an array for each axis, of which there is one."""
    return xp.nonzero(x)
