"""`tapegrad.function`: a step written in tapegrad ops, compiled by TensorFlow."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, final, overload

from tapegrad.core.recorder import EMPTY, state
from tapegrad.core.tensor import Tensor, tensor
from tapegrad.dtypes import is_inexact
from tapegrad.errors import ArgumentError
from tapegrad.ops.convert import asarray
from tapegrad.registry.backends import tensorflow
from tapegrad.transforms import custom_gradient
from tapegrad.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.compiled.graph import Graph

P = ParamSpec("P")
T = TypeVar("T")


@overload
def function(fn: Callable[P, T], *, jit_compile: bool = False, shapes: Any = None) -> Function[P, T]: ...
@overload
def function(fn: None = None, *, jit_compile: bool = False, shapes: Any = None) -> Callable[[Callable[P, T]], Function[P, T]]: ...
def function(fn: Any = None, *, jit_compile: bool = False, shapes: Any = None) -> Any:
    """A function of tapegrad ops, compiled through `tf.function`; with `jit_compile`, by XLA.  Also a decorator.

    The first call traces `fn`: Python runs once, with tensors that have no values yet, and what it computes becomes a graph
    that later calls run.  Tapes, gradients and assignments to variables are part of it.

    * Arguments and results are nested structures.  Tensors and arrays (NumPy's, TensorFlow's) are inputs of the graph;
      anything else, Python numbers among them, is a constant of it, and another value is traced anew.  Results are tensors
      on TensorFlow's kernels; a variable that is returned is that variable.
    * Variables that `fn` uses keep their identity and are updated.  Those on NumPy kernels are copied: the log
      (`logging.getLogger("tapegrad")`) says which, and how much.
    * Another dtype, rank or structure is traced anew; of another shape, once, after which that length is left open.  What
      traces too often is reported in the log, with what differed.
    * `shapes`: the shape of each input, in the order in which they come, with None for a length that is left open.  One trace
      serves all that fit, and their first derivatives too; others are refused with a ShapeError.
    * Side effects of Python (`print`, appending to a list, drawing from NumPy's generators) happen as `fn` is traced, and
      not in later calls.  `tapegrad.random` draws anew in each call.
    * Under a tape, a call is one differentiable op, to any order: its derivative is compiled too, and computes the
      forward pass again.

    Raises ArgumentError for what is not callable, ImportError where TensorFlow is not installed.

    ::

        w = tg.Variable(tg.asarray([1.0, 2.0], backend="tensorflow"))

        @tg.function(jit_compile=True)
        def step(x):
            with tg.GradientTape() as tape:
                loss = tg.sum((w * x) ** 2)
            w.assign_sub(0.1 * tape.gradient(loss, w))
            return loss
    """
    if fn is None:
        return functools.partial(function, jit_compile=jit_compile, shapes=shapes)
    if not callable(fn):
        raise ArgumentError(f"function(fn): expected a function, got {type(fn).__name__}")
    tensorflow()
    return Function(fn, jit_compile, shapes)


@final
class Function(Generic[P, T]):
    """What `tapegrad.function` gives: calls the compiled `fn`, which is `python_function`."""

    def __init__(self, fn: Callable[P, T], jit_compile: bool, shapes: Any = None) -> None:
        self.python_function = fn
        self.jit_compile = jit_compile
        self.shapes = None if shapes is None else tuple(map(tuple, shapes))
        self._graphs: dict[Any, Graph] = {}
        functools.update_wrapper(self, fn)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        from tapegrad.compiled import cells

        if cells.is_tracing():  # part of the function that is being traced
            return self.python_function(*args, **kwargs)
        inputs, graph = self._graph(args, kwargs)
        if state.active is not EMPTY:
            graph.ensure(inputs)
            if any(_is_watched(x) for x in (*inputs, *graph.variables)):
                return cast("T", _recorded(graph, inputs))
        return cast("T", graph(inputs))

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: the instance is a constant of the graph."""
        return self if instance is None else functools.partial(self, instance)

    @property
    def trace_count(self) -> int:
        """How often Python has run."""
        return sum(g.traces for g in self._graphs.values())

    def _graph(self, args: Any, kwargs: Any) -> tuple[list[Any], Graph]:
        """The inputs among the arguments, and the graph for all that is constant in them."""
        import optree

        from tapegrad.compiled.graph import Graph, is_input, kind_of

        given: Any = (args, kwargs)
        leaves: list[Any]
        leaves, definition = optree.tree_flatten(given, none_is_leaf=True, namespace="tapegrad")
        inputs = [x for x in leaves if is_input(x)]
        rest = tuple(None if is_input(x) else _Constant(x) for x in leaves)
        key = (definition, rest, tuple(kind_of(x) for x in inputs))
        graph = self._graphs.get(key)
        if graph is None:
            if len(self._graphs) == _MANY:
                _report(self, rest, next(reversed(self._graphs))[1])
            graph = Graph(self, definition, [x if c is None else c for x, c in zip(leaves, rest, strict=True)])
            self._graphs[key] = graph
        return inputs, graph

    def __repr__(self) -> str:
        return f"<compiled {getattr(self.python_function, '__qualname__', self.python_function)}>"


#: After so many kinds of arguments, the log says that something is traced again and again.
_MANY = 6


@final
class _Constant:
    """A constant of the graph, equal to another one of the same type and value, or else to itself alone."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def _key(self) -> Any:
        x = self.value
        try:
            hash(x)
        except TypeError:
            return id(x)
        return (type(x), x) if not isinstance(x, Variable) else id(x)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Constant) and bool(self._key() == other._key())

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return repr(self.value)


def _report(fn: Function[Any, Any], now: Any, before: Any) -> None:
    import logging

    differs = [(a, b) for a, b in zip(now, before, strict=False) if a != b and a is not None and b is not None]
    what = (
        f"{differs[0][1]!r} became {differs[0][0]!r}: give a number that changes as tapegrad.asarray(number)"
        if differs
        else "dtypes, ranks or the structure of the arguments differ"
    )
    logging.getLogger("tapegrad").warning("%r was traced for more than %d kinds of arguments, which is slow; %s", fn, _MANY, what)


def _is_watched(x: Any) -> bool:
    if not isinstance(x, Tensor):
        return False
    node = x.read()[1]
    return node is not None and not state.active.recorders.isdisjoint(node.owners.recorders)


#: The present value of a variable: a facade's class may mean something else by that name.
_value: Any = Variable.value.fget  # type: ignore[attr-defined]


def _recorded(graph: Graph, inputs: Sequence[Any]) -> Any:
    """One call as one op, whose derivative is compiled as well."""
    variables = [v for v in graph.variables if is_inexact(v.array.dtype)]
    arrays = [x if isinstance(x, Tensor) else asarray(x) for x in inputs]
    rebuild: list[Any] = []

    @custom_gradient
    def call(*given: Any) -> Any:
        before = [tensor(v.array) for v in graph.variables]  # the call may assign to them
        results, rest = graph.results(inputs)
        rebuild.append(rest)

        def derivative(*cotangents: Any) -> Any:
            return graph.derivative(variables)(list(given[: len(arrays)]), before_linked(before, given), list(cotangents))

        return results, derivative

    def before_linked(before: list[Any], given: Any) -> list[Any]:
        """The values of all variables before the call; those that are differentiated, as they were recorded."""
        linked = dict(zip(map(id, variables), given[len(arrays) :], strict=True))
        return [linked.get(id(v), x) for v, x in zip(graph.variables, before, strict=True)]

    values = call(*arrays, *map(_value, variables))
    return rebuild[0](list(values))
