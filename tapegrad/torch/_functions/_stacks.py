"""Functions that look at the values of an index, inside `vmap`: computed on the items of a batch stacked along a new first axis."""

from __future__ import annotations

import functools
import threading
from typing import TYPE_CHECKING, Any

from tapegrad.core.recorder import state
from tapegrad.core.tensor import linked
from tapegrad.kernels.batched import Batched
from tapegrad.registry.space import F
from tapegrad.torch._shapes import dimension
from tapegrad.torch._tensor import STYLE, Tensor

if TYPE_CHECKING:
    from collections.abc import Callable


def is_batched(x: Any) -> bool:
    """Whether this is a tensor with a value for each item of a batch."""
    return isinstance(x, Tensor) and type(x.array) is Batched


def on_stacks(where: int | None = 0) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Let a function be called inside `vmap`: with all tensors as stacks, on which it is called again.

    `where` is the number, after the first tensor, of the argument that is an axis of an item; None if there is none.
    """

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def run(x: Any, *args: Any) -> Any:
            tensors = [a for a in (x, *args) if isinstance(a, Tensor)]
            levels = [a.array.level for a in tensors if type(a.array) is Batched]
            if not levels:
                return function(x, *args)
            level = max(levels)
            given = list(args)
            if where is not None and given[where] is not None:
                given[where] = 1 + dimension(given[where], len(x.array.shape))
            made = run(_stack(x, level), *[_stack(a, level) if isinstance(a, Tensor) else a for a in given])
            if isinstance(made, tuple):
                return type(made)(*[_item(y, level) for y in made])
            return _item(made, level)

        return run

    return decorate


def _stack(x: Any, level: Any) -> Any:
    """The items one after the other; of what is the same for all, as often as there are items."""
    raw = x.array
    if type(raw) is Batched and raw.level == level:
        return STYLE.adopt(F.unbatch(linked(raw, x.node), level))
    return STYLE.broadcast_to(STYLE.expand_dims(x, axis=0), (level.size, *raw.shape))


def _item(y: Any, level: Any) -> Any:
    return STYLE.adopt(F.enbatch(linked(y.array, y.node), level))


def expanded(index: Any, shape: tuple[int, ...], d: int) -> Any:
    """The places along an axis as an index of all elements: (*shape[:d], n, *shape[d+1:])."""
    n = index.array.shape[0] if index.array.shape else 1
    wide = STYLE.reshape(index, (*[1] * d, n, *[1] * (len(shape) - d - 1)))
    return STYLE.broadcast_to(wide, (*shape[:d], n, *shape[d + 1 :]))


class Places:
    """The elements that an index of tensors picks, inside `vmap`: as rows of a matrix, by their numbers.

    `rows(x)` is the tensor with the axes that are picked from in front, as one; `shape(...)` what is picked of it.
    """

    def __init__(self, x: Any, items: tuple[Any, ...]) -> None:
        shape = x.array.shape
        at = [k for k, i in enumerate(items) if isinstance(i, Tensor)]
        rest = [k for k in range(len(shape)) if k not in at]
        self._order = (*at, *rest)
        self._sizes = [shape[k] for k in at]
        self._rest = tuple(shape[k] for k in rest)
        self.count = 1
        for n in self._sizes:
            self.count *= n
        self.picked, self.number = self._numbers([items[k] for k in at])
        together = at == list(range(at[0], at[0] + len(at)))
        self._front = at[0] if together else 0  # apart, what is picked comes first

    def _numbers(self, indices: list[Any]) -> tuple[tuple[int, ...], Any]:
        """The shape of what is picked, and the number of each element; a number too high for a place that is not there."""
        number: Any = 0
        bad: Any = False
        for given, n in zip(indices, self._sizes, strict=True):
            i = STYLE.astype(given, "int64")
            bad = STYLE.logical_or(bad, STYLE.logical_or(STYLE.less(i, -n), STYLE.greater_equal(i, n)))
            number = STYLE.add(STYLE.multiply(number, n), STYLE.where(STYLE.less(i, 0), STYLE.add(i, n), i))
        number = STYLE.where(bad, self.count, number)
        return tuple(number.array.shape), STYLE.reshape(number, (-1,))

    def rows(self, x: Any) -> Any:
        """(count, elements of the other axes)."""
        size = 1
        for n in self._rest:
            size *= n
        return STYLE.reshape(STYLE.permute_dims(x, self._order), (self.count, size))

    def unrows(self, y: Any) -> Any:
        """The tensor that such rows are of."""
        back = sorted(range(len(self._order)), key=lambda k: self._order[k])
        return STYLE.permute_dims(STYLE.reshape(y, (*self._sizes, *self._rest)), tuple(back))

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of what is picked, as the index gives it."""
        return (*self._rest[: self._front], *self.picked, *self._rest[self._front :])

    def _to_front(self) -> tuple[int, ...]:
        p, f = len(self.picked), self._front
        return (*range(f, f + p), *range(f), *range(f + p, f + p + len(self._rest) - f))

    def taken(self, rows: Any) -> Any:
        """What is picked, from (picked elements, others)."""
        order = self._to_front()
        back = sorted(range(len(order)), key=lambda k: order[k])
        return STYLE.permute_dims(STYLE.reshape(rows, (*self.picked, *self._rest)), tuple(back))

    def given(self, value: Any) -> Any:
        """Values to be written, as (picked elements, others)."""
        wide = STYLE.permute_dims(STYLE.broadcast_to(value, self.shape), self._to_front())
        return STYLE.reshape(wide, (self.number.array.shape[0], -1))


# -- random numbers ----------------------------------------------------------------------------------------------
NO_RANDOM = (
    "vmap: called random operation while in randomness error mode. Please either use the 'same' or 'different' randomness flags on "
    "vmap or perform the randomness operation out of vmap"
)


class _UnderWay(threading.local):
    stacks = 0


_UNDER_WAY = _UnderWay()


def stacked_items() -> int:
    """In how many batches items are stacked for the draw that is under way."""
    return _UNDER_WAY.stacks


def drawn_for_items(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function that draws a number for each element of a tensor be called inside `vmap`, as its `randomness` says."""

    @functools.wraps(function)
    def run(*args: Any, **words: Any) -> Any:
        before = state.levels
        if not before:
            return function(*args, **words)
        level = before[-1]
        if level.randomness == "error":
            raise RuntimeError(NO_RANDOM)
        given = [*args, *words.values()]
        differs = any(is_batched(a) and a.array.level == level for a in given)
        if level.randomness == "same" and differs:
            raise RuntimeError("Vmap does not currently support same randomness with a batched tensor input; use 'different'")
        state.levels = before[:-1]
        _UNDER_WAY.stacks += level.randomness == "different"
        try:
            if level.randomness == "same":
                return run(*args, **words)
            stacks = [_stack(a, level) if isinstance(a, Tensor) else a for a in given]
            made = run(*stacks[: len(args)], **dict(zip(words, stacks[len(args) :], strict=True)))
        finally:
            state.levels = before
            _UNDER_WAY.stacks -= level.randomness == "different"
        return _item(made, level)

    return run
