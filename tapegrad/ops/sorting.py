"""Sorting and searching."""

from __future__ import annotations

from typing import Any

from tapegrad.registry import composite, constant
from tapegrad.registry.batching import over_axis


def _sortable(draw: Any) -> Any:
    return draw.array("n", "m", distinct=True), {"axis": draw.choice(0, 1, -1), "descending": draw.boolean()}


@constant(laws=_sortable)
def argsort(xp: Any, x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The indices that sort the array along an axis; equal elements stay in order."""
    return xp.argsort(x, axis=axis, descending=descending, stable=stable)


argsort.batch(lambda F, has, x, *, axis=-1, **params: over_axis("argsort")(F, has, x, axis=axis, **params))


@composite(real=True, laws=_sortable)
def sort(F: Any, x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The array sorted along an axis; of equal elements each keeps its own derivative, in order."""
    order = F.argsort(x, axis=axis, descending=descending, stable=stable)
    return F.take_along_axis(x, order, axis=axis)


@constant(laws=lambda draw: (draw.array("n", sort=True), draw.array("k"), {"side": "left"}))
def searchsorted(xp: Any, x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None) -> Any:
    """Where the elements of `x2` would go in the sorted array `x1` to keep it sorted."""
    return xp.searchsorted(x1, x2, side=side, sorter=sorter)


@constant(outputs=("indices",), laws=lambda draw: (draw.integers(draw.size("n", least=0), 3, low=0, high=2),))
def nonzero(xp: Any, x: Any, /) -> Any:
    """The indices of the elements that are not zero, in row-major order: an array for each axis, of which there is one."""
    if not x.shape:
        from tapegrad.errors import ShapeError

        raise ShapeError("nonzero(x): expected x.ndim >= 1, got 0; write nonzero(reshape(x, (1,)))")
    return xp.nonzero(x)
