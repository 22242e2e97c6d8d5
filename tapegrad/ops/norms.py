"""Norms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.errors import ArgumentError
from tapegrad.ops import factorisations  # noqa: F401  declares `svdvals`
from tapegrad.ops.reductions import kept_shape
from tapegrad.registry import composite, primitive
from tapegrad.registry.batch_rules import over_axis

_INF = math.inf


def _vector(draw: Any) -> Any:
    x = draw.array("n", 3)
    ord = draw.choice(2, 2.0, 1, 3, 2.5, 0.5, -1, -2, 4)
    return x, {"axis": draw.choice(None, 0, -1, (0, 1)), "keepdims": draw.boolean(), "ord": ord}


@primitive(public=False, kinks=(0.0,), laws=lambda draw: (
    draw.array("n", 3, low=0.3, high=2), {"axis": draw.choice(None, 0, -1), "keepdims": draw.boolean(), "ord": draw.choice(3, 2.5, 0.5, -1)}
))
def power_norm(xp: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: float) -> Any:
    """sum(abs(x)**ord)**(1 / ord) over axes, without overflow.

    The derivative for an element that is 0 is taken as 0; where ord >= 2 so is it, and so are further derivatives.
    """
    return xp.power_norm(x, axis=axis, keepdims=keepdims, ord=ord)


def _slope(F: Any, x: Any, y: Any, axis: Any, keepdims: bool, ord: float) -> Any:
    """sign(x) (abs(x) / y)**(ord - 1), with 0 for elements, and norms, that are 0."""
    if not keepdims:
        y = F.reshape(y, kept_shape(x.shape, axis))
    size = F.abs(x)
    none = (size == 0) | (y == 0)
    ratio = F.where(none, F.ones_like(size), size) / F.where(y == 0, F.ones_like(y), y)
    found = F.where(none, F.zeros_like(x), F.sign(x) * ratio ** (ord - 1))
    return found if found.dtype == x.dtype else F.cast(found, x.dtype)  # bfloat16 to a power is float32


def _kept(F: Any, g: Any, x: Any, axis: Any, keepdims: bool) -> Any:
    return g if keepdims else F.reshape(g, kept_shape(x.shape, axis))


power_norm.pullback(
    x=lambda F, g, x, y, axis, keepdims, ord: _kept(F, g, x, axis, keepdims) * _slope(F, x, y, axis, keepdims, ord)
)
power_norm.pushforward(
    x=lambda F, t, x, y, axis, keepdims, ord: F.sum(
        F.real(t * F.conj(_slope(F, x, y, axis, keepdims, ord))), axis=axis, keepdims=keepdims
    )
)
power_norm.batch(over_axis("power_norm"))


@composite(public=False, kinks=(0.0,), laws=_vector)
def vector_norm(F: Any, x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    """sum(abs(x)**ord)**(1 / ord) over axes (all if None): the largest abs(x) for inf, the smallest for -inf, for 0 how many are not 0.

    At 0 the derivative is 0, the smallest subgradient; elements that tie for the largest or smallest share it equally.
    """
    if isinstance(ord, str):
        raise ArgumentError(f"vector_norm(x): expected a number for ord, got {ord!r}; matrix_norm has names")
    axis = tuple(axis) if isinstance(axis, list) else axis
    if ord == 2:
        return F.norm2(x, axis=axis, keepdims=keepdims)
    size = F.abs(x)
    if ord == 1:
        return F.sum(size, axis=axis, keepdims=keepdims)
    if ord == 0:
        return F.sum(F.cast_like(F.not_equal(size, 0), size), axis=axis, keepdims=keepdims)
    if ord in (_INF, -_INF):
        return _extreme(F, size, axis, keepdims, largest=ord > 0)
    return F.power_norm(x, axis=axis, keepdims=keepdims, ord=ord)


def _extreme(F: Any, size: Any, axis: Any, keepdims: bool, *, largest: bool) -> Any:
    """The largest of numbers that are not negative, 0 if there are none; or the smallest."""
    if not largest:
        return F.min(size, axis=axis, keepdims=keepdims)
    if 0 in size.shape:
        return F.sum(size, axis=axis, keepdims=keepdims)
    return F.max(size, axis=axis, keepdims=keepdims)


def _matrix(draw: Any) -> Any:
    ord = draw.choice("fro", "nuc", 2, -2)
    return draw.spread(*draw.choice((3, 2), (2, 3), (2, 3, 3))), {"keepdims": draw.boolean(), "ord": ord}


@composite(public=False, laws=_matrix)
def matrix_norm(F: Any, x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    """A norm of the last two axes, (..., n, m) -> (...).

    "fro": the root of the sum of squares; "nuc": the sum of singular values; 2 and -2: the largest and the smallest of them; 1 and -1:
    the largest and the smallest sum of abs(x) over a column; inf and -inf: over a row.  What ties shares the
    derivative equally; that for a singular value of 0 is taken as 0, the smallest subgradient.
    """
    if ord == "fro":
        return F.norm2(x, axis=(-2, -1), keepdims=keepdims)
    if ord == "nuc":
        found = F.sum(F.svdvals(x), axis=-1)
    elif ord in (2, -2):
        found = _extreme(F, F.svdvals(x), -1, False, largest=ord > 0)
    elif ord in (1, -1):
        found = _extreme(F, F.sum(F.abs(x), axis=-2), -1, False, largest=ord > 0)
    elif ord in (_INF, -_INF):
        found = _extreme(F, F.sum(F.abs(x), axis=-1), -1, False, largest=ord > 0)
    else:
        raise ArgumentError(f"matrix_norm(x): expected ord in ('fro', 'nuc', 1, -1, 2, -2, inf, -inf), got {ord!r}")
    return F.reshape(found, (*x.shape[:-2], 1, 1)) if keepdims else found
