"""One `tf.function` for one kind of arguments, and what stands around it."""

from __future__ import annotations

import contextlib
import logging
from typing import TYPE_CHECKING, Any, final

import numpy as np
import optree
import tensorflow as tf

from tapegrad.compiled import cells
from tapegrad.compiled.kept import Kept
from tapegrad.core.tensor import Tensor, tensor
from tapegrad.dtypes import is_inexact
from tapegrad.errors import CompilationError, ShapeError
from tapegrad.kernels.tensorflow_array import TFArray, wrapped
from tapegrad.kernels.tensorflow_calls import EAGER, MANY
from tapegrad.registry.backends import tensorflow
from tapegrad.registry.space import ERRORS
from tapegrad.tape import GradientTape
from tapegrad.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.compiled.function import Function


def is_input(x: Any) -> bool:
    """Whether an argument is an input of the graph; all else is a constant."""
    return (isinstance(x, Tensor) and not isinstance(x, Variable)) or isinstance(x, np.ndarray | np.generic | tf.Tensor)


def _kind(x: Any) -> tuple[Any, ...]:
    return x.dtype, len(x.shape)


def _kind_and_device(x: Any) -> tuple[Any, ...]:
    return x.dtype, len(x.shape), getattr(x.read()[0] if isinstance(x, Tensor) else x, "device", None)


#: What a graph is traced for: dtype and rank of each input, and the device, if there is a choice.
kind_of: Callable[[Any], tuple[Any, ...]] = _kind_and_device if MANY else _kind
_Shapes = tuple[tuple[int | None, ...], ...]


def as_input(x: Any) -> Any:
    """A bare tensor of TensorFlow's."""
    array = x.read()[0] if isinstance(x, Tensor) else x
    if isinstance(array, TFArray):
        return array.bare
    return tf.constant(np.asarray(array)) if isinstance(array, np.ndarray | np.generic) else array


def _covers(known: tuple[int | None, ...], shape: tuple[int | None, ...]) -> bool:
    """Whether a function that was traced for `known` takes this shape.

    Lengths that are 0 or 1 are not taken for open ones: an axis of length 1 is repeated, and the graph has been built for
    one that is not.
    """
    return all(k == n or (k is None and n is not None and n > 1) for k, n in zip(known, shape, strict=True))


def _merged(known: tuple[int | None, ...], shape: tuple[int | None, ...]) -> tuple[int | None, ...] | None:
    """A shape that stands for both, lengths left open where they differ; None if one of these is 0 or 1."""
    pairs = list(zip(known, shape, strict=True))
    if any(k != n and ((k is not None and k < 2) or n is None or n < 2) for k, n in pairs):
        return None
    return tuple(k if k == n else None for k, n in pairs)


def _called(concrete: Any, given: list[Any]) -> Any:
    """What a traced function gives for a flat list of tensors."""
    flat = getattr(concrete, "_call_flat", None)  # not public: a third of the time of `concrete(*given)`
    return concrete(*given) if flat is None else flat(given, concrete.captured_inputs)


def _where(given: Sequence[Any]) -> contextlib.AbstractContextManager[Any]:
    """What lets TensorFlow compute where the inputs are, if there is a choice."""
    device = next((t.device for t in given if type(t) is EAGER), None) if MANY else None
    scope: contextlib.AbstractContextManager[Any] = contextlib.nullcontext() if device is None else tf.device(device)
    return scope


@final
class Graph:
    """The compiled form of a function for one structure of arguments."""

    def __init__(self, fn: Function[Any, Any], definition: Any, leaves: Sequence[Any]) -> None:
        from tapegrad.compiled.function import _Constant

        tensorflow()
        cells.store_class()  # before anything is traced
        self._fn = fn
        self._definition = definition
        self._leaves = [x.value if isinstance(x, _Constant) else None for x in leaves]
        self._places = [i for i, x in enumerate(leaves) if not isinstance(x, _Constant)]
        self.traces = 0
        self.variables: list[Variable] = []  # all that were met, in order
        self._plans: list[_Plan] = []
        self._compiled = tf.function(self._traced, jit_compile=fn.jit_compile or None, autograph=False)
        self._kinds: list[tuple[_Shapes, Any]] = []  # shapes that were traced, lengths left open as None
        self._by_shapes: dict[_Shapes, Any] = {}
        self._derivatives: dict[tuple[int, ...], Any] = {}
        self._kept: Kept | None = None

    def _traced(self, *bare: Any) -> dict[str, Any]:
        """What TensorFlow traces: bare tensors in and out, under a key that tells which trace it was."""
        trace = cells.Trace()
        inputs = [tensor(wrapped(b)) for b in bare]
        with cells.alone(), cells.tracing(trace):
            if self._fn.shapes is None:
                found = self.run(inputs)
            else:  # it is to be the only run of Python
                with GradientTape(persistent=True) as tape:
                    tape.watch([x for x in inputs if is_inexact(x.array.dtype)])
                    found = self.run(inputs)
                self._kept = Kept(trace, tape, inputs, tensors_of(found))
            plan = _Plan(found, trace)
            trace.write_back()
        for v in (*trace.read, *trace.assigned.values()):
            if all(v is not w for w in self.variables):
                self.variables.append(v)
                if cells.cell_of(v).on_numpy:
                    _say_copied(self._fn, v)
        self.traces += 1
        self._plans.append(plan)
        return {str(len(self._plans) - 1): plan.bare}

    def run(self, inputs: Sequence[Tensor]) -> Any:
        """Python's function, with these in the place of the arguments that are inputs."""
        leaves = list(self._leaves)
        for i, x in zip(self._places, inputs, strict=True):
            leaves[i] = x
        args, kwargs = self._definition.unflatten(leaves)
        return self._fn.python_function(*args, **kwargs)

    def ensure(self, inputs: Sequence[Any]) -> None:
        """Have it traced, so that its variables are known."""
        if not self._plans:
            self._concrete(list(map(as_input, inputs)))

    def _concrete(self, bare: Sequence[Any]) -> Any:
        """The traced function for these inputs.

        It is found here, by shapes, and not by `tf.function`, whose own search takes longer than a small graph runs
        (measured: 250 us a call against 90).
        """
        shapes = tuple([tuple(b.shape) for b in bare])
        found = self._by_shapes.get(shapes)
        if found is None:
            found = self._by_shapes[shapes] = self._search(shapes, bare)
        return found

    def _search(self, shapes: _Shapes, bare: Sequence[Any]) -> Any:
        if self._fn.shapes is not None:
            return self._declared(self._fn.shapes, shapes, bare)
        for known, concrete in self._kinds:
            if all(_covers(k, s) for k, s in zip(known, shapes, strict=True)):
                return concrete
        wanted = shapes
        for known, _ in reversed(self._kinds):
            merged = tuple(_merged(k, s) for k, s in zip(known, shapes, strict=True))
            if None not in merged:
                wanted = merged  # type: ignore[assignment]
                break
        specs = [tf.TensorSpec(s, b.dtype) for s, b in zip(wanted, bare, strict=True)]
        with _where(bare):
            made = self._compiled.get_concrete_function(*specs)
        self._kinds.append((wanted, made))
        return made

    def _declared(self, declared: _Shapes, shapes: _Shapes, bare: Sequence[Any]) -> Any:
        fits = len(declared) == len(shapes) and all(
            len(d) == len(s) and all(k is None or k == n for k, n in zip(d, s, strict=True))
            for d, s in zip(declared, shapes, strict=True)
        )
        if not fits:
            raise ShapeError(f"{self._fn!r}: expected inputs of the shapes {list(declared)}, got {list(shapes)}")
        if not self._kinds:
            specs = [tf.TensorSpec(d, b.dtype) for d, b in zip(declared, bare, strict=True)]
            self._kinds.append((declared, self._compiled.get_concrete_function(*specs)))
        return self._kinds[0][1]

    def results(self, inputs: Sequence[Any]) -> tuple[list[Tensor], Callable[[list[Any]], Any]]:
        """The tensors among the results of a call, and what puts them into their structure."""
        given = list(map(as_input, inputs))
        concrete = self._concrete(given)
        for v in self.variables:
            cells.cell_of(v).take(v)
        try:
            if MANY:
                with _where(given):
                    ((key, bare),) = _called(concrete, given).items()
            else:
                ((key, bare),) = _called(concrete, given).items()
        except tf.errors.OpError as error:
            raise self._failed(error, given) from error
        plan = self._plans[int(key)]
        for v in plan.assigned:
            cells.cell_of(v).advanced(v)
        return [tensor(wrapped(b)) for b in bare], plan.rebuild

    def _failed(self, error: Exception, given: Sequence[Any]) -> Exception:
        """What is raised for an error of TensorFlow's in a call: it names the function and what it was given."""
        message, *_ = str(error).split("\n\nStack trace")
        inputs = ", ".join(f"{b.dtype.name} {tuple(b.shape)}" for b in given) or "no arrays"
        how = "compiled by XLA" if self._fn.jit_compile else "compiled"
        text = f"{self._fn.python_function!r}, {how}, given {inputs}: {message}"
        known = next((ERRORS[c] for c in type(error).__mro__ if c in ERRORS), None)
        if known is None or "unsupported operations" in message:
            return CompilationError(text)
        return known(error)(text)

    def __call__(self, inputs: Sequence[Any]) -> Any:
        found, rebuild = self.results(inputs)
        return rebuild(found)

    def derivative(self, variables: Sequence[Variable]) -> Any:
        """The compiled pullback: inputs, values of all variables, cotangents -> cotangents of inputs and these variables."""
        from tapegrad.compiled.function import Function

        key = tuple(map(id, variables))
        if key in self._derivatives:
            return self._derivatives[key]

        def pullback(inputs: list[Tensor], values: list[Tensor], cotangents: list[Tensor]) -> list[Any]:
            kept = self._kept
            given = (*inputs, *values, *cotangents)
            if kept is not None and all(v.trainable for v in variables) and all(x.node is None for x in given):
                return kept.pullback(variables, inputs, dict(zip(map(id, self.variables), values, strict=True)), cotangents)
            trace = cells.Trace(list(zip(self.variables, values, strict=True)))
            sources = [*inputs, *variables]
            with cells.tracing(trace), GradientTape() as tape:
                tape.watch([x for x in sources if is_inexact(x.array.dtype)])
                found = tensors_of(self.run(inputs))
                pairs = [(y, g) for y, g in zip(found, cotangents, strict=True) if is_inexact(y.array.dtype)]
                return list(tape.gradient([y for y, _ in pairs], sources, output_gradients=[g for _, g in pairs]))

        made: Any = Function(pullback, self._fn.jit_compile)
        self._derivatives[key] = made
        return made


@final
class _Plan:
    """How the results of one trace are put together."""

    def __init__(self, found: Any, trace: cells.Trace) -> None:
        leaves, self._definition = optree.tree_flatten(found, none_is_leaf=True, namespace="tapegrad")
        self._leaves = [None if is_input(x) else x for x in leaves]
        self._places = [i for i, x in enumerate(leaves) if is_input(x)]
        self.bare = [_bare(leaves[i]) for i in self._places]
        self.assigned = list(trace.assigned.values())

    def rebuild(self, values: list[Any]) -> Any:
        leaves = list(self._leaves)
        for i, x in zip(self._places, values, strict=True):
            leaves[i] = x
        return self._definition.unflatten(leaves)


def tensors_of(found: Any) -> list[Any]:
    """The tensors among results, in the order of `_Plan`."""
    leaves = optree.tree_leaves(found, none_is_leaf=True, namespace="tapegrad")
    return [x if isinstance(x, Tensor) else tensor(wrapped(_bare(x))) for x in leaves if is_input(x)]


def _bare(x: Any) -> Any:
    array = x.read()[0] if isinstance(x, Tensor) else x
    return array.bare if isinstance(array, TFArray) else tf.convert_to_tensor(array)


def _say_copied(fn: Any, variable: Variable) -> None:
    store = cells.cell_of(variable).store
    logging.getLogger("tapegrad").info(
        "%r: the variable %s %s %s is on NumPy kernels, so its value (%d bytes) is copied to TensorFlow and, where it is "
        "assigned, back; make it with backend='tensorflow' to avoid that",
        fn,
        variable.name or "without a name",
        store.dtype.name,
        tuple(store.shape),
        int(np.prod(store.shape)) * store.dtype.size,
    )
