"""`tapegrad.function`: a step written in tapegrad ops, compiled by TensorFlow."""

from __future__ import annotations

import copy
import functools
import operator
import sys
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast, final, overload

from tapegrad.compiled.arguments import MANY, Arguments, Flattened, check_leaves, flattened, refuse_generators, report
from tapegrad.compiled.methods import Methods
from tapegrad.core.recorder import EMPTY, state
from tapegrad.core.tensor import Tensor, linked, tensor
from tapegrad.dtypes import is_inexact
from tapegrad.errors import ArgumentError, GradientError
from tapegrad.ops.convert import asarray
from tapegrad.registry.backends import tensorflow
from tapegrad.registry.call import CLOSED_OVER
from tapegrad.sparse import SparseRows
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

    * Arguments and results are nested structures (lists, dicts, named tuples, dataclasses that optree knows in the namespace
      'tapegrad').  Tensors and arrays (NumPy's, TensorFlow's) are inputs of the graph; anything else, Python numbers among
      them, is a constant of it, and another value is traced anew.  Results are tensors on TensorFlow's kernels; a variable
      that is returned is that variable.  `SparseRows` stay that, as arguments (two inputs: values, indices), results and what
      is added to a variable, which changes in these rows alone.
    * A method is compiled for each instance, which is kept alive by nobody here; its attributes are constants too.
    * Variables that `fn` uses keep their identity and are updated.  Those on NumPy kernels are copied: the log
      (`logging.getLogger("tapegrad")`) says which, and how much.  A variable may be made in the first call, and is one for all
      calls; one that is made and assigned inside and kept nowhere, which each call would begin anew, is refused.
    * Another dtype, rank or structure is traced anew; of another shape, once, after which that length is left open, and is
      equal to those that have changed in the same way.  An open length is no number: a `range` over it, or a comparison with
      a number, has each length traced.  What traces too often is reported in the log, once, with what differed.
    * `shapes`: the shape of each input, in the order in which they come, with None for a length that is left open.  One trace
      serves all that fit, and their first derivatives too (two, if gradients inside are sparse); others are refused with a
      ShapeError.  A comparison of an open length with a number raises OpenLengthError.
    * Side effects of Python (`print`, appending to a list, drawing from NumPy's generators) happen as `fn` is traced, and
      not in later calls.  `tapegrad.random` draws anew in each call.
    * Under a tape, a call is one differentiable op, to any order: its derivative is compiled too, and computes the
      forward pass again.  Under `vmap` and `jacobian`, what is compiled is the function of all items.
    * An `if` or a number that depends on a tensor's values can't be had while it is traced: SymbolicValueError says what to
      write.  An exception leaves variables as they were.  A tensor that is kept from inside is refused outside.

    Raises ArgumentError for what is no plain function, and in a call for arguments or variables that no graph can take; GradientError where
    a tape records a tensor that `fn` uses and that is none of its arguments; ImportError where TensorFlow is not installed.

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
    refuse_generators(fn)
    tensorflow()
    return Function(fn, jit_compile, shapes)


@final
class Function(Generic[P, T]):
    """What `tapegrad.function` gives: calls the compiled `fn`, which is `python_function`.

    A copy is compiled anew; it is pickled by its name, or with what is pickled of `fn`.
    """

    def __init__(self, fn: Callable[P, T], jit_compile: bool, shapes: Any = None) -> None:
        functools.update_wrapper(self, fn)  # first, for it takes over the attributes of `fn`
        self.python_function = fn
        self.jit_compile = jit_compile
        self.shapes = None if shapes is None else tuple(map(tuple, shapes))
        self._graphs: dict[Any, Graph] = {}
        self._reported = False
        self._methods = Methods(self)
        self._arguments = Arguments(fn)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        from tapegrad.compiled import cells

        if cells.is_tracing():  # part of the function that is being traced
            return self.python_function(*args, **kwargs)
        inputs, graph = self._graph(args, kwargs)
        if state.active is not EMPTY:
            graph.ensure(inputs)
            self._check_cells()
            if any(_is_watched(x) for x in (*inputs, *graph.variables)):
                return cast("T", _recorded(graph, inputs))
        return cast("T", graph(inputs))

    def _check_cells(self) -> None:
        """Refuse a recorded tensor that the function closes over; one that is met while it is traced is refused there."""
        for cell in getattr(self.python_function, "__closure__", None) or ():
            try:
                x = cell.cell_contents
            except ValueError:  # it is bound later
                continue
            if isinstance(x, Tensor) and not isinstance(x, Variable) and _is_watched(x):
                raise GradientError(f"{self!r}: {CLOSED_OVER}")

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method: compiled for each instance, for as long as that lives."""
        return self if instance is None else self._methods.of(instance)

    def __deepcopy__(self, memo: Any) -> Any:
        """For a method of an object that is copied too, that of the copy; a plain function is no more copied than by Python."""
        fn = copy.deepcopy(self.python_function, memo)
        return self if fn is self.python_function else Function(fn, self.jit_compile, self.shapes)

    def __reduce__(self) -> Any:
        name = getattr(self, "__qualname__", "")
        found: Any = sys.modules.get(getattr(self, "__module__", None) or "")
        for part in name.split("."):
            found = getattr(found, part, None)
        return name if found is self else (Function, (self.python_function, self.jit_compile, self.shapes))

    @property
    def trace_count(self) -> int:
        """How often Python has run."""
        return sum(g.traces for g in {id(g): g for g in self._graphs.values()}.values()) + self._methods.trace_count

    def _graph(self, args: Any, kwargs: Any) -> tuple[list[Any], Graph]:
        """The inputs among the arguments, and the graph for all that is constant in them."""
        found = flattened((args, kwargs))
        graph = self._graphs.get(found.key)
        if graph is None:
            graph = self._graphs[found.key] = self._made(found, args, kwargs)
        return found.inputs, graph

    def _made(self, found: Flattened, args: Any, kwargs: Any) -> Graph:
        """A graph for a new kind of arguments; one that is there, if these are only written in another way."""
        from tapegrad.compiled.graph import Graph

        check_leaves(self, found)
        full = flattened(self._arguments.full(args, kwargs))
        same = len(full.inputs) == len(found.inputs) and all(map(operator.is_, full.inputs, found.inputs))
        graph = self._graphs.get(full.key) if same else None
        if graph is None:
            if len(self._graphs) >= MANY and not self._reported and len({id(g) for g in self._graphs.values() if g.traces}) >= MANY:
                self._reported = True
                report(self, found.rest, next(reversed(self._graphs))[1])
            graph = Graph(self, found.definition, found.leaves_or_constants())
            if same:
                self._graphs[full.key] = graph
        return graph

    def __repr__(self) -> str:
        return f"<compiled {getattr(self.python_function, '__qualname__', self.python_function)}>"


def _is_watched(x: Any) -> bool:
    if not isinstance(x, Tensor):
        return False
    node = x.read()[1]
    return node is not None and not state.active.recorders.isdisjoint(node.owners.recorders)


def _recorded(graph: Graph, inputs: Sequence[Any]) -> Any:
    """One call as one op, whose derivative is compiled as well."""
    from tapegrad.compiled import cells

    variables = [v for v in graph.variables if is_inexact(v.array.dtype)]
    arrays = [x if isinstance(x, Tensor) else asarray(x) for x in inputs]
    rebuild: list[Any] = []

    @custom_gradient
    def call(*given: Any) -> Any:
        before = [tensor(v.array) for v in graph.variables]  # the call may assign to them
        with cells.alone():  # this is the forward pass, and its derivative stands below
            found, rest = graph.results(inputs)
        rebuild.append(rest)
        results = [x.to_dense() if type(x) is SparseRows else x for x in found]  # rows have no history

        def derivative(*cotangents: Any) -> Any:
            return graph.derivative(variables)(list(given[: len(arrays)]), before_linked(before, given), list(cotangents))

        return results, derivative

    def before_linked(before: list[Any], given: Any) -> list[Any]:
        """The values of all variables before the call; those that are differentiated, as they were recorded."""
        linked = dict(zip(map(id, variables), given[len(arrays) :], strict=True))
        return [linked.get(id(v), x) for v, x in zip(graph.variables, before, strict=True)]

    # Their present values, with the nodes that they have: what a leaf receives may be a few rows.
    values = call(*arrays, *[linked(*v.read()) for v in variables])
    return rebuild[0](list(values))
