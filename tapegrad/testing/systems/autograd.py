"""HIPS autograd: functions and primitives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.testing.systems.base import EVERYTHING, System, added_in_place, outputs

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.testing.systems.base import Arrays, Pull

    Call = Callable[[list[Any]], Any]


def make(f: Any, name: str, call: Call, active: Sequence[int]) -> System:
    """A function of autograd's NumPy; single if it is a primitive."""
    single = hasattr(f, "fun") or type(f).__name__ == "primitive"
    return Autograd(name, call, active, [getattr(f, "fun", f), *_rules(f)], single=single)


def _rules(f: Any) -> list[Any]:
    from autograd.core import primitive_vjps

    found = primitive_vjps.get(f)
    if found is None:
        return []
    rules = [found]  # what `defvjp` makes, around the user's own
    for cell in found.__closure__ or ():
        held = cell.cell_contents
        rules += [r for r in (held.values() if isinstance(held, dict) else ()) if callable(r)]
    return rules


def _mirrored(x: Any) -> Any:
    """The conjugate of an array, or of what stands for one."""
    import autograd.numpy as anp

    return anp.conj(x) if anp.iscomplexobj(x) else x


@final
class Autograd(System):
    """A function of arrays, traced by autograd; forward mode is not assumed, since a primitive may lack it."""

    framework = "autograd"
    shows = EVERYTHING
    selects = True

    def __init__(
        self, name: str, call: Call, active: Sequence[int], sources: Sequence[Any], *, single: bool = True
    ) -> None:
        super().__init__(name, call, active, sources)
        self.single = single

    def _of_active(self, xs: Arrays) -> Callable[[Any], Any]:
        from autograd.builtins import tuple as boxed

        def f(moved: Any) -> Any:
            leaves = list(xs)
            for k, i in enumerate(self.active):
                leaves[i] = moved[k]
            return boxed(tuple(outputs(self.call(leaves), self.name)))

        return f

    def value(self, xs: Arrays) -> list[Any]:
        return [y for y in map(np.asarray, outputs(self.call(list(xs)), self.name)) if y.dtype.kind in "fc"]

    def run(self, xs: Arrays) -> tuple[list[Any], Pull]:
        from autograd.core import make_vjp

        back, ys = make_vjp(self._of_active(xs), tuple(xs[i] for i in self.active))
        made = list(map(np.asarray, ys))

        def pull(gs: Arrays) -> list[Any]:
            left = list(gs)
            # autograd's cotangents are conjugates of those of the other frameworks.
            full = tuple(np.conj(left.pop(0)) if y.dtype.kind in "fc" else np.zeros(y.shape) for y in made)
            return [np.conj(np.asarray(c)) for c in back(full)]

        return [y for y in made if y.dtype.kind in "fc"], pull

    def accumulated(self, xs: Arrays, gs: Arrays) -> tuple[list[Any], list[Any]]:
        return added_in_place(self, xs, gs)

    def second(self, xs: Arrays, gs: Arrays) -> System | None:
        from autograd.core import make_vjp

        n = len(xs)
        if len(self.value(xs)) != len(gs):
            return None

        def pullback(leaves: list[Any]) -> Any:
            from autograd.builtins import tuple as boxed

            back, _ = make_vjp(self._of_active(leaves[:n]), boxed(tuple(leaves[i] for i in self.active)))
            found = back(boxed(tuple(_mirrored(g) for g in leaves[n:])))  # as `run` has them
            return tuple(_mirrored(c) for c in found)

        made = Autograd(f"the vjp of {self.name}", pullback, [*self.active, *range(n, n + len(gs))], ())
        try:
            ys, pull = made.run([*xs, *gs])
            pull([np.ones_like(y) for y in ys])
        except (TypeError, NotImplementedError):  # a rule in plain NumPy cannot be traced
            return None
        return made
