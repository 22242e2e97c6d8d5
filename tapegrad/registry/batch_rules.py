"""Batching rules that several ops share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.kernels.batched import Batched
from tapegrad.registry.space import NUMPY

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.registry.op import Op


def full_batch(F: Any, has: Sequence[bool], arrays: Sequence[Any]) -> list[Any]:
    """All arrays with a batch axis: those without are repeated (as views, where the kernels can)."""
    n = next(a.shape[0] for a, b in zip(arrays, has, strict=True) if b)
    return [a if b else F.broadcast_to(a, (n, *a.shape)) for a, b in zip(arrays, has, strict=True)]


def shifted(axis: Any, rank: int) -> Any:
    """An axis of an item (or several, or None for all) as an axis of the batch."""
    if axis is None:
        return tuple(range(1, rank + 1))
    if isinstance(axis, int):
        return axis % rank + 1 if rank else axis
    return tuple(a % rank + 1 for a in axis)


def over_axis(name: str) -> Callable[..., Any]:
    """The rule of an op of one array that has an `axis` and works along it."""

    def rule(F: Any, has: Sequence[bool], x: Any, *, axis: Any = None, **params: Any) -> Any:
        return getattr(F, name)(x, axis=shifted(axis, len(x.shape) - 1), **params)

    return rule


def flattening(name: str, default: Any = None) -> Callable[..., Any]:
    """The same, for an op that flattens where the axis is None, and where there is none to name."""

    def rule(F: Any, has: Sequence[bool], x: Any, *args: Any, axis: Any = default, **params: Any) -> Any:
        rank = len(x.shape) - 1
        if axis is not None and rank:
            return getattr(F, name)(x, *args, axis=shifted(axis, rank), **params)
        keepdims = params.pop("keepdims", None)
        n = 1
        for k in x.shape[1:]:
            n *= k
        y = getattr(F, name)(F.reshape(x, (x.shape[0], n)), *args, axis=1, **params)
        if keepdims:
            return F.reshape(y, (x.shape[0], *(1,) * rank))
        return y

    return rule


def same(name: str) -> Callable[..., Any]:
    """The rule of an op that takes any number of leading axes as a batch."""

    def rule(F: Any, has: Sequence[bool], *arrays: Any, **params: Any) -> Any:
        return getattr(F, name)(*full_batch(F, has, arrays), **params)

    return rule


def scaled(op: Op, *, both: bool = False) -> None:
    """Declare an elementwise op of two arrays as linear in the first, or in `both`: what is zero but for a diagonal stays so."""

    def rule(x: Any, y: Any) -> Batched | None:
        first = type(x) is Batched
        if not (first or both):
            return None
        batch, other = (x, y) if first else (y, x)
        elements = batch.diagonal
        if elements is None or type(other) is Batched:
            return None
        compute = getattr(NUMPY, op.key)
        found = compute(elements, other) if first else compute(other, elements)
        return Batched.of_diagonal(found, batch.level) if found.shape == elements.shape else None

    op.diagonal(rule)
