"""Picking elements, and the adjoint of picking: adding them back where they came from."""

from __future__ import annotations

from typing import Any

from tapegrad.registry import linear, no_derivative


@linear(accumulates=True, laws=lambda draw: (draw.array("n", 4), {"index": draw.index("n", 4)}))
def getitem(xp: Any, x: Any, /, index: Any) -> Any:
    """`x[index]`, for every kind of index that NumPy has.

    The derivative of an element that is picked more than once is the sum over all picks.
    """
    return xp.getitem(x, index)


getitem.adjoint(x=lambda F, g, x, index: F.put_add(g, index, x.shape))


@linear(laws=lambda draw: (draw.array("n", 2), {"index": (slice(None), slice(1, 3)), "shape": (draw.size("n"), 4)}))
def put_add(xp: Any, x: Any, /, index: Any, shape: tuple[int, ...]) -> Any:
    """Zeros of a shape with `x` added at an index; where an element is picked again, all are added up."""
    return xp.put_add(x, index, shape)


put_add.adjoint(x=lambda F, g, index: F.getitem(g, index))


@linear(
    accumulates=True,
    laws=lambda draw: (draw.array("n", 4), draw.integers("k", low=0, high=4), {"axis": 1}),
)
def take(xp: Any, x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """The elements of `x` at integer indices along an axis; negative ones count from the end."""
    return xp.take(x, indices, axis=axis)


def _take_adjoint(F: Any, g: Any, x: Any, indices: Any, axis: int | None) -> Any:
    if axis is None:
        if len(x.shape) != 1:
            return F.reshape(F.take_add(F.reshape(g, (-1,)), F.reshape(indices, (-1,)), (_size(x.shape),), 0), x.shape)
        axis = 0
    return F.take_add(g, indices, x.shape, axis % len(x.shape))


def _size(shape: tuple[int, ...]) -> int:
    n = 1
    for k in shape:
        n *= k
    return n


take.adjoint(x=_take_adjoint, indices=no_derivative)


@linear(
    laws=lambda draw: (draw.array("n", 3), draw.integers(3, low=0, high=4), {"shape": (draw.size("n"), 4), "axis": 1}),
    public=False,
)
def take_add(xp: Any, x: Any, indices: Any, /, shape: tuple[int, ...], axis: int) -> Any:
    """Zeros of a shape with `x` added where `take` would take: its adjoint."""
    return xp.take_add(x, indices, shape, axis)


take_add.adjoint(x=lambda F, g, indices, axis: F.take(g, indices, axis=axis), indices=no_derivative)


@linear(laws=lambda draw: (draw.array("n", 4), draw.integers("n", 2, low=0, high=4), {"axis": 1}))
def take_along_axis(xp: Any, x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """The elements of `x` at indices along an axis, different ones for each slice: what `argsort` gives, applied."""
    return xp.take_along_axis(x, indices, axis=axis)


take_along_axis.adjoint(
    x=lambda F, g, x, indices, axis: F.put_along_axis_add(g, indices, x.shape, axis), indices=no_derivative
)


@linear(
    laws=lambda draw: (
        draw.array("n", 2),
        draw.integers("n", 2, low=0, high=4),
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


@linear(weak=True, laws=lambda draw: (draw.array("n", 3) > 0, draw.array("n", 3), draw.array(3)))
def where(xp: Any, condition: Any, x1: Any, x2: Any, /) -> Any:
    """`x1` where the condition holds and `x2` elsewhere; what is not chosen gets a derivative of exactly 0."""
    return xp.where(condition, x1, x2)


where.adjoint(
    condition=no_derivative,
    x1=lambda F, g, condition, x1: F.sum_to(F.where(condition, g, 0), x1.shape),
    x2=lambda F, g, condition, x2: F.sum_to(F.where(condition, 0, g), x2.shape),
)
