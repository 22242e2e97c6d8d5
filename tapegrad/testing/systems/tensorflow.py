"""TensorFlow, eager: functions, `tf.custom_gradient`, and Keras layers with their variables."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.errors import ArgumentError
from tapegrad.testing.systems.base import REFUSALS, System, outputs
from tapegrad.testing.systems.modules import Swap, is_keras, of_keras, with_variables
from tapegrad.testing.trial import filled

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.testing.systems.base import Arrays, Pull

    Call = Callable[[list[Any]], Any]

_NO_RULE = "gradient registry has no entry for"  # what TensorFlow says of an op without a derivative


def make(f: Any, name: str, call: Call, active: Sequence[int]) -> System:
    """A function of tf tensors; single if it has a gradient of its own."""
    return TensorFlow(name, call, active, [f], single=hasattr(f, "__wrapped__"))


def opened(f: Any, examples: Sequence[Any], words: dict[str, Any]) -> tuple[Any, Sequence[Any], dict[str, Any]]:
    """A module or a layer as a function of its inputs; its variables are added as arguments when it has been built."""
    import tensorflow as tf

    if is_keras(f) and f.trainable_variables:
        values, call = of_keras(f)
        return with_variables(f, values, call, examples, words)
    if not isinstance(f, tf.Module) or not f.trainable_variables:
        return f, examples, words
    held = list(f.trainable_variables)
    swap = Swap(f, held, [v.dtype for v in held])
    if not swap.whole:
        raise ArgumentError(
            f"{type(f).__name__}: some of its variables are no attributes of it or of its parts; give a function of their "
            f"values, such as check(lambda x, w: ..., x=('b', 'n'), w=('n', 'm'), framework='tensorflow')"
        )

    def cast(x: Any, kind: Any) -> Any:
        return tf.cast(x, kind) if x.dtype.is_floating else x

    return with_variables(f, held, lambda args, kwargs, values: swap(args, kwargs, values, cast), examples, words)


@final
class TensorFlow(System):
    """A function of TensorFlow's eager tensors."""

    framework = "tensorflow"
    # Tensors are immutable and always in C order, a gradient of another dtype is refused by the tape.
    shows = frozenset(["saved", "integers", "shapes", "precisions"])
    has_jvp = True
    selects = True
    halves = ("float16", "bfloat16")

    def __init__(
        self, name: str, call: Call, active: Sequence[int], sources: Sequence[Any], *, single: bool = True
    ) -> None:
        super().__init__(name, call, active, sources)
        self.single = single
        self.twice: bool | None = None
        self.refusals = _refusals()
        self.has_jvp = not single  # forward mode differentiates a custom gradient only if that is differentiable too

    def _tensors(self, xs: Arrays) -> list[Any]:
        import tensorflow as tf

        return [tf.constant(x) if isinstance(x, np.ndarray) else x for x in xs]

    def _outputs(self, tensors: list[Any]) -> list[Any]:
        ys = outputs(self.call(tensors), self.name)
        return [y for y in ys if y.dtype.is_floating or y.dtype.is_complex]

    def value(self, xs: Arrays) -> list[Any]:
        return [array_of(y) for y in self._outputs(self._tensors(xs))]

    def run(self, xs: Arrays) -> tuple[list[Any], Pull]:
        import tensorflow as tf

        tensors = self._tensors(xs)
        sources = [tensors[i] for i in self.active]
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(sources)
            ys = self._outputs(tensors)

        def pull(gs: Arrays) -> list[Any]:
            found = tape.gradient(ys, sources, output_gradients=[tf.constant(g) for g in gs])
            return [None if c is None else array_of(tf.convert_to_tensor(c)) for c in found]

        return [array_of(y) for y in ys], pull

    def jvp(self, xs: Arrays, ts: Arrays) -> list[Any]:
        import tensorflow as tf

        tensors = self._tensors(xs)
        with tf.autodiff.ForwardAccumulator([tensors[i] for i in self.active], [tf.constant(t) for t in ts]) as acc:
            try:
                ys = self._outputs(tensors)
            except LookupError as error:
                if _NO_RULE in str(error):  # forward mode differentiates the gradient of an op
                    raise NotImplementedError(str(error)) from error
                raise
        return filled([None if t is None else array_of(t) for t in acc.jvp(ys)], [array_of(y) for y in ys])

    def compiled(self) -> System:
        import tensorflow as tf

        compiled = tf.function(lambda *leaves: self.call(list(leaves)))
        return TensorFlow(self.name, lambda leaves: compiled(*leaves), self.active, (), single=self.single)

    def accumulated(self, xs: Arrays, gs: Arrays) -> tuple[list[Any], list[Any]]:
        import tensorflow as tf

        tensors = self._tensors(xs)
        sources = [tensors[i] for i in self.active]
        with tf.GradientTape(persistent=True) as tape:
            tape.watch(sources)
            ys = self._outputs(tensors)
        given = [tf.constant(g) for g in gs]
        found = [tape.gradient(ys * n, sources, output_gradients=given * n) for n in (2, 1)]
        total, after = ([None if c is None else array_of(tf.convert_to_tensor(c)) for c in cs] for cs in found)
        return total, after

    def second(self, xs: Arrays, gs: Arrays) -> System | None:
        import tensorflow as tf

        n = len(xs)

        def pullback(tensors: list[Any]) -> Any:
            sources = [tensors[i] for i in self.active]
            with tf.GradientTape() as tape:
                tape.watch(sources)
                ys = self._outputs(list(tensors[:n]))
            found = tape.gradient(ys, sources, output_gradients=list(tensors[n:]), unconnected_gradients="zero")
            return tuple(tf.convert_to_tensor(c) for c in found)

        made = TensorFlow(f"the vjp of {self.name}", pullback, [*self.active, *range(n, n + len(gs))], ())
        if self.twice is None:
            try:
                ys, pull = made.run([*xs, *gs])
                # A vjp is linear in its cotangent: of nothing at all depends what was not recorded.
                self.twice = any(c is not None for c in pull([np.ones_like(y) for y in ys]))
            except LookupError as error:
                if _NO_RULE not in str(error):
                    raise
                self.twice = False
        return made if self.twice else None


@cache
def _refusals() -> tuple[type[Exception], ...]:
    import tensorflow as tf

    return (*REFUSALS, tf.errors.OpError)


def array_of(y: Any) -> Any:
    """A copy of a tensor; one number of bfloat16 is no array by itself (2.21: its `__array__` gives a number)."""
    return np.array(y.numpy())
