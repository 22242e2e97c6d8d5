"""MyGrad: functions and operations."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.testing.systems.base import System, outputs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.testing.systems.base import Arrays, Pull

    Call = Callable[[list[Any]], Any]


def make(f: Any, name: str, call: Call, active: Sequence[int]) -> System:
    """A function of MyGrad's tensors."""
    return MyGrad(name, call, active, [f], single=True)


@final
class MyGrad(System):
    """A function of MyGrad's tensors; its graph is spent by one backward pass, so that each pullback runs the function."""

    framework = "mygrad"
    # Arrays of a graph are locked, and gradients are brought to the argument's shape and dtype.
    shows = frozenset(["strides", "negative strides", "integers"])
    selects = True

    def __init__(
        self, name: str, call: Call, active: Sequence[int], sources: Sequence[Any], *, single: bool = True
    ) -> None:
        super().__init__(name, call, active, sources)
        self.single = single

    def _ran(self, xs: Arrays) -> tuple[list[Any], list[Any]]:
        mygrad: Any = import_module("mygrad")  # it has types, and does not export these names

        leaves = [
            mygrad.tensor(x, copy=False, constant=i not in self.active)
            if isinstance(x, np.ndarray) and x.dtype.kind in "fc"
            else x
            for i, x in enumerate(xs)
        ]
        ys = outputs(self.call(leaves), self.name)
        return [leaves[i] for i in self.active], [y for y in ys if y.dtype.kind in "fc"]

    def value(self, xs: Arrays) -> list[Any]:
        mygrad: Any = import_module("mygrad")  # it has types, and does not export these names

        with mygrad.no_autodiff:
            return [np.array(y.data) for y in self._ran(xs)[1]]

    def run(self, xs: Arrays) -> tuple[list[Any], Pull]:
        values = [np.array(y.data) for y in self._ran(xs)[1]]

        def pull(gs: Arrays) -> list[Any]:
            sources, ys = self._ran(xs)
            if len(ys) == 1:
                ys[0].backward(np.array(gs[0]))
            else:
                sum((y * g).sum() for y, g in zip(ys, gs, strict=True)).backward()
            return [None if x.grad is None else np.array(x.grad) for x in sources]

        return values, pull
