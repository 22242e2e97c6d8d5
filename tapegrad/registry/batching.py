"""Batching: every op on many arrays at once, without a loop.

Elementwise ops batch by aligning ranks, composites and ops written in other ops by running their bodies on batched
values, all others by the rule that stands beside their declaration: ``op.batch(rule)``, with
``rule(F, batched, *arrays, **params)``, where batched arrays have the batch as their first axis.
"""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, final

from tapegrad.core.node import Node
from tapegrad.core.tensor import linked
from tapegrad.errors import NotDifferentiable
from tapegrad.kernels.batched import Batched
from tapegrad.registry.declare import linear
from tapegrad.registry.op import Op
from tapegrad.registry.space import NUMPY, SPACES, F, Space, offer, space_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

new_level = itertools.count(1).__next__


def batched(value: Any, level: int | None = None) -> Batched:
    """A raw array as a batch of what stands along its first axis."""
    return Batched(value, new_level() if level is None else level)


@final
class BatchedSpace(Space):
    """The ops on batched raw values."""

    def __init__(self) -> None:
        super().__init__("batched", 10, SimpleNamespace())

    def learn(self, op: Op) -> None:
        offer(self, op, _OWN.get(op.key) or _caller(self, op))


def _caller(space: BatchedSpace, op: Op) -> Callable[..., Any]:
    count = len(op.arrays) - len(op.named)
    names = [p.name for p in op.params]

    def call(*args: Any, **params: Any) -> Any:
        flat = args[0] if op.variadic else (*args[:count], *(params.get(a) for a in op.named))
        level = 0
        for a in flat:
            if type(a) is Batched and a.level > level:
                level = a.level
        if not level:
            return getattr(space_of(flat), op.key)(*args, **params)
        arrays = args[:count]
        if len(args) > count:
            params.update(zip(names, args[count:], strict=False))
        rule = op.batch_rule
        if rule is None:
            if op.pointwise:
                rule = _pointwise(op)
            elif hasattr(NUMPY.kernels, op.key):
                raise NotDifferentiable(f"{op.name}: it has no batching rule; compute it outside vmap and jacobian")
            else:
                return op.body(space, *arrays, **params)
        has = [type(a) is Batched and a.level == level for a in flat]
        inner = [a.value if b else a for a, b in zip(flat, has, strict=True)]
        inside = space_of(inner)
        y = rule(inside, has, inner, **params) if op.variadic else rule(inside, has, *inner, **params)
        return tuple(Batched(v, level) for v in y) if type(y) is tuple else Batched(y, level)

    return call


def _pointwise(op: Op) -> Callable[..., Any]:
    """Batch axes first, ranks aligned."""

    def rule(F: Any, has: Sequence[bool], *arrays: Any, **params: Any) -> Any:
        rank = max(rank_of(a) - b for a, b in zip(arrays, has, strict=True))
        aligned = [_aligned(F, a, rank) if b else a for a, b in zip(arrays, has, strict=True)]
        return getattr(F, op.key)(*aligned, **params)

    return rule


def rank_of(a: Any) -> int:
    return len(a.shape) if hasattr(a, "shape") else 0


def _aligned(F: Any, a: Any, rank: int) -> Any:
    """A batched array with axes of length 1 after the batch, so that one of its items has this rank."""
    missing = rank + 1 - len(a.shape)
    return F.reshape(a, (a.shape[0], *(1,) * missing, *a.shape[1:])) if missing > 0 else a


def full_batch(F: Any, has: Sequence[bool], arrays: Sequence[Any]) -> list[Any]:
    """All arrays with a batch axis: those without are repeated (as views, where the kernels can)."""
    n = next(a.shape[0] for a, b in zip(arrays, has, strict=True) if b)
    return [a if b else F.broadcast_to(a, (n, *a.shape)) for a, b in zip(arrays, has, strict=True)]


# -- between levels: the two ops that enter and leave a batch -------------------------------------------
_INSIDE = "stands for itself only inside a batch: tests/laws/test_batching.py"


@linear(laws=_INSIDE, public=False)
def spread(xp: Any, x: Any, /, size: int, level: int) -> Any:
    """The same array for every item of a batch."""
    return Batched(xp.broadcast_to(x, (size, *x.shape)), level)


spread.adjoint(x=lambda F, g, size, level: F.collect(g, size, level))


@linear(laws=_INSIDE, public=False)
def collect(xp: Any, x: Any, /, size: int, level: int) -> Any:
    """The sum over the items of a batch; an array that is the same for all of them counts once for each."""
    return x * size


collect.adjoint(x=lambda F, g, size, level: F.spread(g, size, level))


@linear(laws=_INSIDE, public=False)
def unbatch(xp: Any, x: Any, /, size: int, level: int) -> Any:
    """The items of a batch, stacked along a new first axis."""
    return xp.broadcast_to(x, (size, *x.shape))


unbatch.adjoint(x=lambda F, g, size, level: F.enbatch(g, size, level))


@linear(laws=_INSIDE, public=False)
def enbatch(xp: Any, x: Any, /, size: int, level: int) -> Any:
    """The slices along the first axis, as the items of a batch."""
    return Batched(x, level)


enbatch.adjoint(x=lambda F, g, size, level: F.unbatch(g, size, level))


def _unbatch(x: Any, size: int, level: int) -> Any:
    if x.level == level:
        return x.value
    if x.level < level:
        return BATCHED.broadcast_to(x, (size, *x.shape))
    inner = space_of([x.value])
    return Batched(_first_two_swapped(inner.unbatch(x.value, size, level)), x.level)


def _enbatch(x: Any, size: int, level: int) -> Any:
    if x.level < level:
        return Batched(x, level)
    return Batched(space_of([x.value]).enbatch(_first_two_swapped(x.value), size, level), x.level)


def _first_two_swapped(x: Any) -> Any:
    return space_of([x]).moveaxis(x, 1, 0)


def _spread(x: Any, size: int, level: int) -> Any:
    if x.level < level:
        return Batched(BATCHED.broadcast_to(x, (size, *x.shape)), level)
    return Batched(space_of([x.value]).spread(x.value, size, level), x.level)


def _collect(x: Any, size: int, level: int) -> Any:
    if x.level == level:
        return space_of([x.value]).sum(x.value, axis=0)
    if x.level < level:
        return x * size
    return Batched(space_of([x.value]).collect(x.value, size, level), x.level)


_OWN: dict[str, Callable[..., Any]] = {
    "spread": _spread,
    "collect": _collect,
    "unbatch": _unbatch,
    "enbatch": _enbatch,
}


def lift(raws: Sequence[Any], nodes: Sequence[Node | None]) -> list[Any] | None:
    """The arguments with recorded ones that lack the batch of the others spread over it; None if there are none.

    So the cotangent of such an argument is collected over the batch by the adjoint of `spread`.
    """
    level = max((r.level for r in raws if type(r) is Batched), default=0)
    if not level or not any(n is not None and (type(r) is not Batched or r.level < level) for r, n in zip(raws, nodes, strict=True)):
        return None
    size = next(r.value.shape[0] for r in raws if type(r) is Batched and r.level == level)
    return [
        F.spread(linked(r, n), size, level)
        if n is not None and (type(r) is not Batched or r.level < level)
        else linked(r, n)
        for r, n in zip(raws, nodes, strict=True)
    ]


# -- rules that several ops share ------------------------------------------------------------------------
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


BATCHED = BatchedSpace()
SPACES[Batched] = BATCHED


def _function(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(BATCHED, name)
    return found


Batched.function = staticmethod(_function)
