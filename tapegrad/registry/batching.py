"""Batching: every op on many arrays at once, without a loop.

Elementwise ops batch by aligning ranks, composites and ops written in other ops by running their bodies on batched
values, all others by the rule that stands beside their declaration: ``op.batch(rule)``, with
``rule(F, batched, *arrays, **params)``, where batched arrays have the batch as their first axis.
"""

from __future__ import annotations

import functools
import itertools
import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.core.marks import sweeping
from tapegrad.core.node import Node
from tapegrad.core.recorder import state
from tapegrad.core.tensor import linked
from tapegrad.kernels.batched import Batched, Level, innermost
from tapegrad.registry.declare import linear
from tapegrad.registry.op import Op
from tapegrad.registry.space import NUMPY, SPACES, F, Space, offer, space_of, space_of_type

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence


_next = itertools.count(1).__next__


def new_level(size: int, *, name: str = "", randomness: str = "error") -> Level:
    """The level of a new batch."""
    batched_space()
    level = Level(_next())
    level.size = size
    level.name = name
    level.randomness = randomness
    return level


def levels() -> tuple[Level, ...]:
    """The batches inside which this thread runs a program, outermost first."""
    return state.levels


@final
class inside:  # a class, for a generator takes a microsecond more
    """Run a program inside these batches too."""

    __slots__ = ("_before", "_entered")

    def __init__(self, *entered: Level) -> None:
        self._entered = entered

    def __enter__(self) -> None:
        self._before = before = state.levels
        state.levels = (*before, *[e for e in self._entered if e not in before])

    def __exit__(self, *_: object) -> None:
        state.levels = self._before


def batched(value: Any, level: Level | None = None) -> Batched:
    """A raw array as a batch of what stands along its first axis."""
    return Batched(value, new_level(value.shape[0]) if level is None else level)


def identity(raw: Any, level: Level) -> Batched:
    """A batch of cotangents of an array, each 1 for one element and 0 for the others; on NumPy's kernels only the ones are kept."""
    return Batched.of_diagonal(np.ones(raw.shape, raw.dtype), level) if type(raw) is np.ndarray else Batched(unit_rows(raw), level)


def unit_rows(raw: Any) -> Any:
    """The same in full, along the first axis of an array."""
    space, size = space_of_type(type(raw)), math.prod(raw.shape)
    return space.reshape(space.eye(size, dtype=raw.dtype), (size, *raw.shape))


@final
class BatchedSpace(Space):
    """The ops on batched raw values."""

    def __init__(self) -> None:
        super().__init__("batched", 10, SimpleNamespace())

    def learn(self, op: Op) -> None:
        offer(self, op, _OWN.get(op.key) or _caller(self, op))

    def zeros_beside(self, x: Batched, dtype: Any) -> Any:
        """Zeros in the shape of one item, the same for all, on the kernels of the batch."""
        return space_of([innermost(x)]).zeros(x.shape, dtype=dtype)

    def ones_beside(self, x: Batched, dtype: Any) -> Any:
        """Ones in the shape of one item."""
        return space_of([innermost(x)]).ones(x.shape, dtype=dtype)


def _caller(space: BatchedSpace, op: Op) -> Callable[..., Any]:
    count = len(op.arrays) - len(op.named)
    names = [p.name for p in op.params]

    def call(*args: Any, **params: Any) -> Any:
        flat = args[0] if op.variadic else (*args[:count], *(params.get(a) for a in op.named))
        level: Any = 0
        diagonal = False
        for a in flat:
            if type(a) is Batched:
                if a.diagonal is not None:
                    diagonal = True
                level = max(level, a.level)
        if not level:
            return getattr(space_of(flat), op.key)(*args, **params)
        if diagonal and op.diagonal_rule is not None and not params and sum(type(a) is np.ndarray for a in args) == len(args) - 1:
            y = op.diagonal_rule(*args)
            if y is not None:
                return y
        arrays = args[:count]
        if len(args) > count:
            params.update(zip(names, args[count:], strict=False))
        rule = op.batch_rule
        if rule is None:
            if op.pointwise:
                rule = _pointwise(op)
            elif op.kind != "composite" and hasattr(NUMPY.kernels, op.key):
                first = next(a for a in flat if type(a) is Batched and a.level == level)
                raise first.refused(
                    op.name, "it has no batching rule, for the shape of its result may depend on values; compute it outside"
                )
            else:
                return op.body(space, *arrays, **params)
        has, inner = _unwrapped(flat, level)
        within = space_of(inner)
        y = rule(within, has, inner, **params) if op.variadic else rule(within, has, *inner, **params)
        return tuple(Batched(v, level) for v in y) if type(y) is tuple else Batched(y, level)

    return _with_short_cut(op, call) if count == 2 and op.pointwise and not op.named else call


def _with_short_cut(op: Op, call: Callable[..., Any]) -> Callable[..., Any]:
    """What computes two NumPy arrays that need not be aligned at once (a microsecond, else four)."""
    key = op.key

    def straight(*args: Any, **params: Any) -> Any:
        if len(args) == 2 and not params and type(batch := args[0]) is Batched and batch.diagonal is None and op.batch_rule is None:
            x, y = batch.value, args[1]
            if type(y) is Batched:
                y = y.value if y.level == batch.level else None
                fits = type(x) is np.ndarray and type(y) is np.ndarray and x.ndim == y.ndim and len(x) == len(y)
            else:
                fits = type(x) is np.ndarray and type(y) is np.ndarray and x.ndim > y.ndim
            if fits:
                return Batched(getattr(NUMPY, key)(x, y), batch.level)
        return call(*args, **params)

    return straight


def _unwrapped(flat: Sequence[Any], level: Level) -> tuple[list[bool], list[Any]]:
    """Which arrays have the batch axis of this level, and all of them without their wrapping.

    A batch of length 1 stands for one of any length with equal items.  Beside others it is an array without a batch, so
    that a rule need not know of it.
    """
    has = [type(a) is Batched and a.level == level for a in flat]
    inner = [a.value if b else a for a, b in zip(flat, has, strict=True)]
    if len(has) > 1 and len({a.shape[0] for a, b in zip(inner, has, strict=True) if b}) > 1:
        for i, a in enumerate(inner):
            if has[i] and a.shape[0] == 1:
                has[i], inner[i] = False, a[0]
    return has, inner


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


# -- between levels: the two ops that enter and leave a batch -------------------------------------------
_INSIDE = "stands for itself only inside a batch: tests/laws/test_batching.py"


@linear(laws=_INSIDE, public=False)
def spread(xp: Any, x: Any, /, level: Level) -> Any:
    """The same array for every item of a batch."""
    return _spread(x, level)


def _spread_adjoint(F: Any, g: Any, level: Level) -> Any:
    """To a recorder that was entered inside the batch, each item has a derivative of its own."""
    by = sweeping()
    kept = by is not None and (by.inner or level in by.levels)
    return g if kept else F.collect(g, level)


spread.adjoint(x=_spread_adjoint)


@linear(laws=_INSIDE, public=False)
def collect(xp: Any, x: Any, /, level: Level) -> Any:
    """The sum over the items of a batch; an array that is the same for all of them counts once for each."""
    return x * level.size


collect.adjoint(x=lambda F, g, level: F.spread(g, level))


@linear(laws=_INSIDE, public=False)
def unbatch(xp: Any, x: Any, /, level: Level) -> Any:
    """The items of a batch, stacked along a new first axis."""
    return xp.broadcast_to(x, (level.size, *x.shape))


unbatch.adjoint(x=lambda F, g, level: F.enbatch(g, level))


@linear(laws=_INSIDE, public=False)
def enbatch(xp: Any, x: Any, /, level: Level) -> Any:
    """The slices along the first axis, as the items of a batch."""
    return Batched(x, level)


enbatch.adjoint(x=lambda F, g, level: F.unbatch(g, level))


def _unbatch(x: Any, level: Level) -> Any:
    if x.level == level:
        value, size = x.value, level.size
        return value if value.shape[0] == size else space_of([value]).broadcast_to(value, (size, *value.shape[1:]))
    if x.level < level:
        return batched_space().broadcast_to(x, (level.size, *x.shape))
    return Batched(_first_two_swapped(space_of([x.value]).unbatch(x.value, level)), x.level)


def _enbatch(x: Any, level: Level) -> Any:
    if x.level < level:
        return Batched(x, level)
    return Batched(space_of([x.value]).enbatch(_first_two_swapped(x.value), level), x.level)


def _first_two_swapped(x: Any) -> Any:
    return space_of([x]).moveaxis(x, 1, 0)


def _spread(x: Any, level: Level) -> Any:
    if type(x) is Batched and x.level >= level:
        return x if x.level == level else Batched(space_of([x.value]).spread(x.value, level), x.level)
    return Batched(space_of([x]).reshape(x, (1, *x.shape)), level)


def _collect(x: Any, level: Level) -> Any:
    if x.level == level:
        value = x.value
        return space_of([value]).sum(value, axis=0) if value.shape[0] == level.size else value[0] * level.size
    if x.level < level:
        return x * level.size
    return Batched(space_of([x.value]).collect(x.value, level), x.level)


def has_level(raw: Any, level: Level, *, equal: bool = True) -> bool:
    """Whether a raw value has a batch axis of this level; one of equal items counts only if `equal`."""
    while type(raw) is Batched:
        if raw.level == level:
            return equal or bool(raw.value.shape[0] != 1 or level.size == 1)
        raw = raw.value
    return False


def stacked(x: Any, level: Level) -> Any:
    """A tensor's items, stacked along a new first axis; those of one that is the same for all are that often."""
    x = linked(*x.read())
    raw = x.array
    if x.node is None and type(raw) is Batched and raw.level == level and raw.value.shape[0] == level.size:
        return linked(raw.value, None)
    return F.unbatch(x if has_level(x.array, level) else F.spread(x, level), level)


def matched(g: Any, raw: Any) -> Any:
    """A cotangent of a batched value, the same for all items where it was not batched itself."""
    while type(raw) is Batched:
        g = _spread(g, raw.level)
        raw = raw.value
    return g


_OWN: dict[str, Callable[..., Any]] = {
    "spread": _spread,
    "collect": _collect,
    "unbatch": _unbatch,
    "enbatch": _enbatch,
}


def over_batch(op: Op, raws: Sequence[Any], nodes: Sequence[Node | None], **params: Any) -> Any:
    """What an op gives where a recorded argument lacks a batch of others; None where there is no such argument."""
    present = _levels_of(raws)
    if not present or not any(n is not None and _missing(r, present) for r, n in zip(raws, nodes, strict=True)):
        return None
    level = present[-1]
    if op.batch_rule is not None and not (op.pointwise or op.outputs or _is_recorded_inside(level, nodes)):
        return _below(op, op.batch_rule, level, raws, nodes, params)
    lifted = lift(raws, nodes)
    assert lifted is not None
    return op.entry(lifted, **params) if op.variadic else op.entry(*lifted, **params)


def _is_recorded_inside(level: Level, nodes: Sequence[Node | None]) -> bool:
    """Whether somebody records these values for a derivative of each item."""
    active = state.active.recorders
    return any(
        r.inner or level in r.levels for n in nodes if n is not None for r in n.owners.recorders if r in active
    )


def _below(
    op: Op, rule: Callable[..., Any], level: Level, raws: Sequence[Any], nodes: Sequence[Node | None], params: dict[str, Any]
) -> Any:
    """The batching rule, recorded: the derivative is that of one op on the whole batch, as where no batch is hidden.

    Spread over the batch instead, a matrix that all items share would have a cotangent for each of them, to be summed.
    """
    has = [type(r) is Batched and r.level == level for r in raws]
    arrays = [
        F.unbatch(linked(r, n), level) if b else linked(r, n) for r, n, b in zip(raws, nodes, has, strict=True)
    ]
    y = rule(F, has, arrays, **params) if op.variadic else rule(F, has, *arrays, **params)
    return F.enbatch(y, level)


def lift(raws: Sequence[Any], nodes: Sequence[Node | None]) -> list[Any] | None:
    """The arguments with recorded ones that lack a batch of the others spread over it; None if there are none.

    So the cotangent of such an argument is collected over the batch by the adjoint of `spread`.
    """
    present = _levels_of(raws)
    if not present or not any(n is not None and _missing(r, present) for r, n in zip(raws, nodes, strict=True)):
        return None
    lifted = []
    for r, n in zip(raws, nodes, strict=True):
        x = linked(r, n)
        for level in _missing(r, present) if n is not None else ():
            x = F.spread(x, level)
        lifted.append(x)
    return lifted


def _levels_of(raws: Sequence[Any]) -> list[Level]:
    """The levels of all batches among raw values, outermost batch last."""
    found = set()
    for raw in raws:
        at = raw
        while type(at) is Batched:
            found.add(at.level)
            at = at.value
    return sorted(found)


def _missing(raw: Any, present: Sequence[Level]) -> list[Level]:
    """Of these levels, those that a raw value lacks."""
    own = _levels_of([raw])
    return [level for level in present if level not in own]


@functools.cache
def batched_space() -> BatchedSpace:
    """The space of batches, made for the first of them: most programs have none, and it has a function for every op."""
    found = SPACES[Batched] = BatchedSpace()
    return found


def _function(name: str) -> Callable[..., Any]:
    found: Callable[..., Any] = getattr(batched_space(), name)
    return found


Batched.function = staticmethod(_function)
