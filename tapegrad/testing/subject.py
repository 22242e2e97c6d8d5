"""What the laws look at: a function of arrays, its value and its derivatives, on raw arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.core.tensor import Tensor
from tapegrad.dtypes import is_inexact
from tapegrad.forward import ForwardAccumulator
from tapegrad.ops.convert import asarray
from tapegrad.tape import GradientTape

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Arrays = Sequence[Any]


@final
class Subject:
    """A function of Tensors (and of integers, masks, Python scalars, which are not differentiated).

    `call` takes a list of them and gives a list of Tensors.  `active` tells which are differentiated.
    """

    def __init__(self, name: str, call: Callable[[list[Any]], list[Any]], active: Sequence[int]) -> None:
        self.name = name
        self.call = call
        self.active = tuple(active)

    def value(self, xs: Arrays) -> list[Any]:
        """All outputs."""
        return [np.asarray(y.array) for y in self.call(_wrapped(xs))]

    def vjp(self, xs: Arrays, gs: Arrays, *, watched: bool = False) -> list[Any]:
        """The cotangent of each active argument, or None; `gs` are for the floating outputs, in order.

        With `watched`, an outer tape records everything.
        """
        if watched:
            with GradientTape() as outer:
                tensors = _wrapped(xs)
                outer.watch([tensors[i] for i in self.active])
                return [_raw(c) for c in self._pull(tensors, list(map(asarray, gs)))]
        return [_raw(c) for c in self._pull(_wrapped(xs), list(map(asarray, gs)))]

    def _pull(self, tensors: list[Any], gs: list[Any]) -> list[Any]:
        sources = [tensors[i] for i in self.active]
        with GradientTape() as tape:
            tape.watch(sources)
            ys = floating(self.call(tensors))
        found: list[Any] = tape.gradient(ys, sources, output_gradients=gs)
        return found

    def jvp(self, xs: Arrays, ts: Arrays, *, watched: bool = False) -> list[Any]:
        """The tangent of each floating output, or None; `ts` are for the active arguments."""
        tensors = _wrapped(xs)
        if watched:
            with GradientTape() as outer:
                outer.watch([tensors[i] for i in self.active])
                return [_raw(t) for t in self._push(tensors, list(map(asarray, ts)))]
        return [_raw(t) for t in self._push(tensors, list(map(asarray, ts)))]

    def _push(self, tensors: list[Any], ts: list[Any]) -> list[Any]:
        with ForwardAccumulator([tensors[i] for i in self.active], ts) as acc:
            ys = floating(self.call(tensors))
        found: list[Any] = acc.jvp(ys)
        return found

    # -- the derivative is a function too ----------------------------------------------------------
    def pullback(self, xs: Arrays, gs: Arrays) -> Subject:
        """The function of arguments and cotangents, active ones first, that gives the gradients that are not None."""
        given = [i for i, c in enumerate(self.vjp(xs, gs)) if c is not None]

        def call(tensors: list[Any]) -> list[Any]:
            found = self._pull(tensors[: len(xs)], tensors[len(xs) :])
            return [found[i] for i in given]

        return Subject(f"the pullback of {self.name}", call, self._active_with(xs, gs))

    def pushforward(self, xs: Arrays, ts: Arrays) -> Subject:
        """The function of arguments and tangents that gives the output tangents that are not None."""
        given = [i for i, t in enumerate(self.jvp(xs, ts)) if t is not None]

        def call(tensors: list[Any]) -> list[Any]:
            found = self._push(tensors[: len(xs)], tensors[len(xs) :])
            return [found[i] for i in given]

        return Subject(f"the pushforward of {self.name}", call, self._active_with(xs, ts))

    def _active_with(self, xs: Arrays, more: Arrays) -> list[int]:
        return [*self.active, *range(len(xs), len(xs) + len(more))]


def floating(ys: Sequence[Any]) -> list[Any]:
    """Those outputs that can have a cotangent."""
    return [y for y in ys if is_inexact(y.dtype)]


def is_floating(x: Any) -> bool:
    """Whether a raw argument is an array that can be differentiated."""
    return isinstance(x, np.ndarray | np.generic) and bool(is_inexact(x.dtype))


def _wrapped(xs: Arrays) -> list[Any]:
    return [asarray(x) if isinstance(x, np.ndarray | np.generic) else x for x in xs]


def _raw(c: Any) -> Any:
    return None if c is None else np.asarray(c.array)


def outputs_of(y: Any) -> list[Any]:
    """What an op gives, as a list of Tensors."""
    return [y] if isinstance(y, Tensor) else list(y)
