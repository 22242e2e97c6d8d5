"""What is kept of a trace, so that its derivative needs no other run of Python."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

import tensorflow as tf
from tensorflow.python.eager import wrap_function

from tapegrad.compiled import cells
from tapegrad.compiled.plan import bare_of, rows_of, together
from tapegrad.core.tensor import Tensor, tensor
from tapegrad.dtypes import is_inexact
from tapegrad.kernels.tensorflow_array import made, wrapped
from tapegrad.kernels.tensorflow_lengths import is_static
from tapegrad.sparse import SparseRows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tapegrad.tape import GradientTape
    from tapegrad.variable import Variable


@final
class Kept:
    """The tape of a trace, with what it recorded inside TensorFlow's graph.

    The pullback is added to that graph, and what it needs of the graph is cut out (`prune`), as a function of the inputs, of
    the values that variables had, and of cotangents.
    """

    def __init__(self, trace: cells.Trace, tape: GradientTape, inputs: Sequence[Tensor], found: Sequence[Tensor]) -> None:
        self._trace = trace
        self._tape = tape
        self._inputs = inputs
        self._found = found
        self._graph: Any = tf.compat.v1.get_default_graph()
        self._cut: dict[tuple[int, ...], Any] = {}

    def pullback(
        self, variables: Sequence[Variable], inputs: Sequence[Tensor], values: dict[int, Tensor], cotangents: Sequence[Tensor]
    ) -> list[Any]:
        """The cotangents of inputs and variables; `values` of all variables by their identity."""
        if self._trace.draws:
            self._trace.refuse("tapegrad.function: a compiled function")
        key = tuple(map(id, variables))
        if key not in self._cut:
            self._cut[key] = self._made(variables)
        run, there = self._cut[key]
        read = [values[k].array.bare for k in self._trace.first]
        found = iter(run(*[x.array.bare for x in inputs], *read, *[g.array.bare for g in cotangents]) if run is not None else ())
        return [x if x is None else x(found) for x in there]

    def _made(self, variables: Sequence[Variable]) -> tuple[Any, list[Any]]:
        """The function that is cut out, and for each source what takes its derivative from what that gives; None for none."""
        sources = [*self._inputs, *variables]
        with self._graph.as_default(), cells.tracing(self._trace):
            holes = [tf.compat.v1.placeholder(y.array.bare.dtype, y.array.bare.shape) for y in self._found]
            pairs = [
                (y, tensor(made(g, y.array.dtype, y.array.shape)))  # of the same length, where it is not known
                for y, g in zip(self._found, holes, strict=True)
                if is_inexact(y.array.dtype)
            ]
            found = self._tape.gradient([y for y, _ in pairs], sources, output_gradients=[g for _, g in pairs])
            bare = [b for g in found if g is not None for b in (rows_of(g) if type(g) is SparseRows else [bare_of(g)])]
        feeds = [x.array.bare for x in self._inputs] + [x.bare for x in self._trace.first.values()] + holes
        whole = wrap_function.WrappedFunction(self._graph, variable_holder=wrap_function.VariableHolder())
        return (whole.prune(feeds, bare) if bare else None), list(map(_taken, found))


def _taken(g: Any) -> Any:
    if g is None:
        return None
    if type(g) is SparseRows:
        shape = g.shape if is_static(g.shape) else None
        return lambda found: together(found, shape)
    return lambda found: tensor(wrapped(next(found)))
