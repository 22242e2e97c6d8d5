"""A tensor's own shape changed in place: `t_`, `unsqueeze_` and the like, whose values stay where they are."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.core.node import tick
from tapegrad.torch._storage import moved, replaced
from tapegrad.torch._tensor import STYLE, wrap
from tapegrad.torch._views import store_of, view_of
from tapegrad.torch._write_checks import check

if TYPE_CHECKING:
    from collections.abc import Callable


def in_shape(view: Callable[..., Any], as_strided: Callable[..., Any]) -> Callable[..., Any]:
    """The method that gives a tensor the shape of `view(self, ...)`."""

    def method(self: Any, *args: Any, **words: Any) -> Any:
        check(self, constant=True)
        raw = self.array
        given = wrap(raw, self.node)
        y = view(given, *args, **words)
        taken, info = view_of(y), view_of(self)
        steps = () if taken is None else taken.steps
        if info is not None:
            info.steps = (*info.steps, *steps)
        elif steps:
            _keep_views(self, raw, lambda t: view(t, *args, **words), as_strided)
        self.array, self.like = y.array, None
        if y.node is not None:
            self.node = y.node
        store, before = store_of(self), tick()
        if type(raw) is np.ndarray:  # the values stay, and yet it counts as a write
            moved(store, raw, before)
        else:
            replaced(store, raw, before)
        return self

    return method


def _keep_views(x: Any, raw: Any, view: Callable[[Any], Any], as_strided: Callable[..., Any]) -> None:
    """Let the views of a tensor, once they are made anew, be made from it in the shape that it had."""
    first = None
    for ref in store_of(x).fresh:
        t = ref()
        info = None if t is None else view_of(t)
        if info is None or info.base is not x or info.cut:
            continue
        if first is None:
            first = (_in_memory(raw, as_strided) if type(raw) is np.ndarray else _by_number(raw.shape, view)), None
        info.steps = (first, *info.steps)


def _in_memory(raw: Any, as_strided: Callable[..., Any]) -> Callable[[Any], Any]:
    """The shape that an array had, on the same memory."""
    shape, strides = raw.shape, [s // raw.itemsize for s in raw.strides]
    return lambda t: as_strided(t, shape, strides)


def _by_number(shape: tuple[int, ...], view: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The shape that an array had which has no memory to speak of: where each element is now is found by their numbers."""
    size = math.prod(shape)
    where = np.asarray(view(wrap(np.arange(size).reshape(shape))).array).reshape(-1)
    places = np.zeros(size, np.int64)
    places[where] = np.arange(where.size)
    return lambda t: STYLE.reshape(STYLE.take(STYLE.reshape(t, (-1,)), places, axis=0), shape)
