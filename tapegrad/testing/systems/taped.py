"""Functions and ops of tapegrad, in any of its styles."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.core.tensor import Tensor
from tapegrad.errors import ArgumentError
from tapegrad.forward import ForwardAccumulator
from tapegrad.ops.convert import asarray
from tapegrad.ops.parts import astype
from tapegrad.registry.op import Op
from tapegrad.registry.public import op_of
from tapegrad.tape import GradientTape
from tapegrad.testing.systems.base import EVERYTHING, System, outputs
from tapegrad.testing.systems.modules import Swap, functional, is_keras, of_keras, with_variables
from tapegrad.testing.trial import filled
from tapegrad.transforms.batch import vmap

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.testing.systems.base import Arrays, Pull
    from tapegrad.testing.systems.modules import Opened

    Call = Callable[[list[Any]], Any]


def make(f: Any, name: str, call: Call, active: Sequence[int]) -> System:
    """A function of tensors; single if it is an op."""
    body = f.body if isinstance(f, Op) else f
    single = isinstance(f, Op) or op_of(f) is not None
    return Taped(name, call, active, [body], single=single)


def opened(f: Any, examples: Sequence[Any], words: dict[str, Any]) -> Opened:
    """A module of either style, or a Keras layer on tapegrad, as a function of its parameters too; else as it is."""
    if hasattr(f, "named_parameters"):
        from tapegrad.torch.func import functional_call

        return functional(f, functional_call, examples, words)
    if not getattr(f, "trainable_variables", ()):
        return f, examples, words
    if is_keras(f):
        values, call = of_keras(f)
        return with_variables(f, [v.numpy() for v in values], call, examples, words)
    held = list(f.trainable_variables)
    swap = Swap(f, held, [v.array.dtype for v in held])
    if not swap.whole:
        raise ArgumentError(
            f"{type(f).__name__}: some of its variables are no attributes of it or of its parts; give a function of their "
            f"values, such as check(lambda x, w: ..., x=('b', 'n'), w=('n', 'm'))"
        )

    def cast(x: Any, kind: Any) -> Any:
        return astype(x, kind) if np.dtype(x.array.dtype).kind == "f" else x

    return with_variables(
        f, [v.numpy() for v in held], lambda args, kwargs, values: swap(args, kwargs, values, cast), examples, words
    )


def wrapper(style: str) -> Callable[[Any], Any]:
    """What makes a tensor of a style from an array."""
    if style == "tapegrad.torch":
        from tapegrad.torch._construct import from_numpy

        return lambda x: from_numpy(x if all(s > 0 for s in x.strides) or not x.size else x.copy())
    if style == "tapegrad.tf":
        from importlib import import_module

        made: Callable[[Any], Any] = import_module("tapegrad.tf").constant
        return made
    return asarray


@final
class Taped(System):
    """A function of tensors, differentiated by a tape."""

    framework = "tapegrad"
    shows = EVERYTHING
    has_jvp = True
    halves = ("float16", "bfloat16")
    selects = True
    wrap: Callable[[Any], Any] = staticmethod(asarray)

    def __init__(
        self, name: str, call: Call, active: Sequence[int], sources: Sequence[Any], *, single: bool = True
    ) -> None:
        super().__init__(name, call, active, sources)
        self.single = single

    @property
    def batches(self) -> bool:  # type: ignore[override]
        return self.wrap is asarray  # the styles have maps of their own

    def _wrapped(self, xs: Arrays) -> list[Any]:
        wrap = self.wrap
        return [wrap(x) if isinstance(x, np.ndarray) else x for x in xs]

    def _outputs(self, tensors: list[Any]) -> list[Any]:
        ys = [y if isinstance(y, Tensor) else asarray(y) for y in outputs(self.call(tensors), self.name)]
        return [y for y in ys if np.dtype(y.array.dtype).kind in "fcV"]

    def value(self, xs: Arrays) -> list[Any]:
        return [np.asarray(y.array) for y in self._outputs(self._wrapped(xs))]

    def run(self, xs: Arrays) -> tuple[list[Any], Pull]:
        tensors = self._wrapped(xs)
        sources = [tensors[i] for i in self.active]
        with GradientTape(persistent=True) as tape:
            tape.watch(sources)
            ys = self._outputs(tensors)

        def pull(gs: Arrays) -> list[Any]:
            found = tape.gradient(ys, sources, output_gradients=list(map(asarray, gs)))
            return [None if c is None else np.asarray(c.array) for c in found]

        return [np.asarray(y.array) for y in ys], pull

    def jvp(self, xs: Arrays, ts: Arrays) -> list[Any]:
        tensors = self._wrapped(xs)
        with ForwardAccumulator([tensors[i] for i in self.active], list(map(asarray, ts))) as acc:
            ys = self._outputs(tensors)
        return filled(
            [None if t is None else np.asarray(t.array) for t in acc.jvp(ys)], [np.asarray(y.array) for y in ys]
        )

    def batched(self, xs: Arrays, moved: Arrays, gs: Arrays) -> tuple[list[Any], list[Any]]:
        def one(active: Any, cotangents: Any) -> Any:
            tensors = self._wrapped(xs)
            for i, x in zip(self.active, active, strict=True):
                tensors[i] = x
            with GradientTape() as tape:
                tape.watch(list(active))
                ys = self._outputs(tensors)
            found = tape.gradient(ys, list(active), output_gradients=list(cotangents), unconnected_gradients="zero")
            return tuple(ys), tuple(found)

        values, found = vmap(one)(tuple(map(asarray, moved)), tuple(map(asarray, gs)))
        return [np.asarray(y.array) for y in values], [np.asarray(c.array) for c in found]

    def compiled(self) -> System | None:
        if find_spec("tensorflow") is None or self.wrap is not asarray:
            return None
        from tapegrad.compiled.function import function

        compiled = function(lambda *leaves: self.call(list(leaves)))
        return Taped(self.name, lambda leaves: compiled(*leaves), self.active, (), single=self.single)

    def on_other_kernels(self) -> System | None:
        if find_spec("tensorflow") is None or self.wrap is not asarray:
            return None
        made = Taped(self.name, self.call, self.active, (), single=self.single)
        made.wrap = lambda x: asarray(x, backend="tensorflow")
        return made

    def accumulated(self, xs: Arrays, gs: Arrays) -> tuple[list[Any], list[Any]]:
        tensors = self._wrapped(xs)
        sources = [tensors[i] for i in self.active]
        with GradientTape(persistent=True) as tape:
            tape.watch(sources)
            ys = self._outputs(tensors)
        given = list(map(asarray, gs))
        total = tape.gradient([*ys, *ys], sources, output_gradients=[*given, *given])
        after = tape.gradient(ys, sources, output_gradients=given)
        return [[None if c is None else np.asarray(c.array) for c in cs] for cs in (total, after)]  # type: ignore[return-value]

    def second(self, xs: Arrays, gs: Arrays) -> System | None:
        n = len(xs)

        def pullback(tensors: list[Any]) -> Any:
            sources = [tensors[i] for i in self.active]
            with GradientTape() as tape:
                tape.watch(sources)
                ys = self._outputs(tensors[:n])
            found = tape.gradient(ys, sources, output_gradients=tensors[n:], unconnected_gradients="zero")
            return tuple(found)

        made = Taped(f"the vjp of {self.name}", pullback, [*self.active, *range(n, n + len(gs))], ())
        made.wrap = self.wrap  # the function asks its tensors for what its own style has
        return made
