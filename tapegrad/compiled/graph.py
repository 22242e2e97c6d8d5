"""One `tf.function` for one kind of arguments, and what stands around it."""

from __future__ import annotations

import contextlib
import logging
import re
import threading
from typing import TYPE_CHECKING, Any, final

import numpy as np
import tensorflow as tf
from tensorflow.python import pywrap_tfe

from tapegrad.compiled import cells
from tapegrad.compiled.arguments import Apart, Constant
from tapegrad.compiled.kept import Kept
from tapegrad.compiled.kinds import Letter, Shapes, covers, declared, merged, sizes
from tapegrad.compiled.plan import Plan, tensors_of
from tapegrad.core.recorder import refcount
from tapegrad.core.tensor import Tensor, tensor
from tapegrad.dtypes import is_inexact
from tapegrad.errors import ArgumentError, CompilationError, OpenLengthError, ShapeError
from tapegrad.kernels.batched import Batched
from tapegrad.kernels.tensorflow_array import TFArray, wrapped
from tapegrad.kernels.tensorflow_calls import CONTEXT, EAGER, HERE, MANY, short
from tapegrad.kernels.tensorflow_graphs import graph
from tapegrad.kernels.tensorflow_scatter import MADE_DENSE
from tapegrad.ops.convert import asarray
from tapegrad.registry.backends import tensorflow
from tapegrad.registry.call import said
from tapegrad.registry.space import ERRORS, F
from tapegrad.tape import GradientTape
from tapegrad.transforms import vmap
from tapegrad.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.compiled.function import Function


#: How TensorFlow names the node of a graph that has failed.
_NODE = re.compile(r"\n?\t? *\[\[\{\{node ([^}]*)\}\}\]\]")
#: The references to a variable that `_refuse_local` makes: from the list that it is given, and from its question.
_HELD_HERE = 2


def as_input(x: Any) -> Any:
    """A bare tensor of TensorFlow's."""
    array = x.read()[0] if isinstance(x, Tensor) else x
    if isinstance(array, TFArray):
        return array.bare
    return tf.constant(np.asarray(array)) if isinstance(array, np.ndarray | np.generic) else array


def is_batch(x: Any) -> bool:
    """Whether an input stands for the items of a batch."""
    return isinstance(x, Tensor) and type(x.array) is Batched


@final
class _Traced:
    """A traced function, called with a flat list of tensors; gives the number of its trace, and a list of tensors."""

    __slots__ = ("_concrete", "_count", "_key", "_name")

    def __init__(self, concrete: Any) -> None:
        self._concrete = concrete
        (self._key,) = concrete.structured_outputs
        self._count = len(concrete.structured_outputs[self._key])
        inference = getattr(concrete, "_inference_function", None)  # not public
        self._name = getattr(inference, "name", None)

    def __call__(self, given: list[Any]) -> tuple[str, list[Any]]:
        """The results.

        Where no tape of TensorFlow's records anything, the function is called by its name (measured for a small one: 20 us of
        TensorFlow's own; through its class 47, and as it is called by everybody 140).
        """
        concrete = self._concrete
        if self._name is not None and HERE.is_eager and pywrap_tfe.TFE_Py_TapeSetIsEmpty():
            return self._key, CONTEXT.call_function(self._name, given + concrete.captured_inputs, self._count) or []
        flat = getattr(concrete, "_call_flat", None)  # not public either
        found = concrete(*given) if flat is None else flat(given, concrete.captured_inputs)
        return self._key, found[self._key]


def _where(given: Sequence[Any]) -> contextlib.AbstractContextManager[Any]:
    """What lets TensorFlow compute where the inputs are, if there is a choice."""
    device = next((t.device for t in given if type(t) is EAGER), None) if MANY else None
    scope: contextlib.AbstractContextManager[Any] = contextlib.nullcontext() if device is None else tf.device(device)
    return scope


class _RowsMadeDense(Exception):
    """Sparse rows have been made dense, for a tape records them."""


@final
class Graph:
    """The compiled form of a function for one structure of arguments."""

    def __init__(self, fn: Function[Any, Any], definition: Any, leaves: Sequence[Any]) -> None:
        tensorflow()
        cells.store_class()  # before anything is traced
        self._fn = fn
        self._definition = definition
        self._leaves = [x.value if isinstance(x, Constant) else None for x in leaves]
        self._places = [i for i, x in enumerate(self._leaves) if not isinstance(leaves[i], Constant) or type(x) is Apart]
        self.traces = 0
        self.variables: list[Variable] = []  # all that were met, in order
        self._plans: list[Plan] = []
        self._kinds: list[tuple[Shapes, Any]] = []  # shapes that were traced, and the functions
        self._by_shapes: dict[tuple[tuple[int, ...], ...], Any] = {}
        self._tracing = threading.RLock()
        self._derivatives: dict[tuple[int, ...], Any] = {}
        self._batched: dict[Any, Any] = {}
        self._kept: Kept | None = None
        self._holds_rows = False  # whether gradients inside hold a few rows alone, unless a tape around records them
        self._opens = True  # whether lengths may be left open

    def _traced(self, shapes: Shapes, given: Sequence[Any]) -> dict[str, Any]:
        """What TensorFlow traces: bare tensors in and out, under a key that tells which trace it was."""
        inputs = list(map(tensor, _arrays(shapes, given)))
        keeps = self._fn.shapes is not None and not self._holds_rows  # it is to be the only run of Python
        trace = cells.Trace(at_once=keeps)
        with cells.alone(), cells.tracing(trace):
            found = self._taped(trace, inputs) if keeps else self.run(inputs)
            plan = Plan(found, trace.assigned.values())
            bare = plan.bare()
            trace.write_back(bare)
        del found
        self._refuse_local(plan.assigned, trace)
        for v in (*trace.read, *trace.assigned.values()):
            if all(v is not w for w in self.variables):
                self.variables.append(v)
                if cells.cell_of(v).on_numpy:
                    _say_copied(self._fn, v)
        self.traces += 1
        self._plans.append(plan)
        return {str(len(self._plans) - 1): bare}

    def _refuse_local(self, assigned: list[Variable], trace: cells.Trace) -> None:
        """Raise ArgumentError for a variable that is assigned and that only the trace knows.

        Written as it is, each call would begin with a new one; a graph has one for all calls.
        """
        for k in range(len(assigned)):
            known = [trace.read, trace.assigned.values(), self.variables]
            holders = sum(any(v is assigned[k] for v in held) for held in known)
            if refcount(assigned[k]) <= holders + _HELD_HERE:
                raise ArgumentError(
                    f"{self._fn!r}: Variable {assigned[k].name or 'without a name'} is made and assigned inside, and kept nowhere; "
                    "compute with a tensor instead, or keep the variable outside of the function"
                )

    def _taped(self, trace: cells.Trace, inputs: Sequence[Tensor]) -> Any:
        """What the function gives; what its derivative needs is kept.

        Raises _RowsMadeDense where a gradient in it would hold a few rows alone: the tape around it, which records it, makes
        it dense.
        """
        with GradientTape(persistent=True) as tape:
            tape.watch([x for x in inputs if is_inexact(x.array.dtype)])
            found = self.run(inputs)
        if graph() in MADE_DENSE:
            raise _RowsMadeDense
        self._kept = Kept(trace, tape, inputs, tensors_of(found))
        return found

    def run(self, inputs: Sequence[Tensor]) -> Any:
        """Python's function, with these in the place of the arguments that are inputs."""
        leaves: list[Any] = list(self._leaves)
        given = iter(inputs)
        for i in self._places:
            leaf = leaves[i]
            leaves[i] = next(given) if leaf is None else leaf.together(next(given), next(given))
        args, kwargs = self._definition.unflatten(leaves)
        return self._fn.python_function(*args, **kwargs)

    def ensure(self, inputs: Sequence[Any]) -> None:
        """Have it traced, so that its variables are known."""
        if not self._plans:
            if any(map(is_batch, inputs)):
                inputs = [F.zeros_like(x) if is_batch(x) else x for x in inputs]
            self._concrete(list(map(as_input, inputs)))

    def _concrete(self, bare: Sequence[Any]) -> Any:
        """The traced function for these inputs.

        It is found here, by shapes, and not by `tf.function`, whose own search takes longer than a small graph runs
        (measured: 250 us a call against 90).
        """
        shapes = tuple([tuple(b.shape) for b in bare])
        found = self._by_shapes.get(shapes)
        if found is None:
            with self._tracing:
                found = self._by_shapes[shapes] = _Traced(self._search(shapes, bare))
        return found

    def _search(self, shapes: tuple[tuple[int, ...], ...], bare: Sequence[Any]) -> Any:
        if self._fn.shapes is not None:
            return self._declared(self._fn.shapes, shapes, bare)
        for known, concrete in self._kinds:
            if covers(known, shapes):
                return concrete
        for known, _ in reversed(self._kinds if self._opens else ()):
            both = merged(known, shapes)
            if both is not None:
                try:
                    return self._added(both, bare)
                except OpenLengthError:  # Python wants to know it: traced for each length
                    self._opens = False
                break
        return self._added(shapes, bare)

    def _added(self, shapes: Shapes, bare: Sequence[Any]) -> Any:
        """The traced function for these shapes, for the first time."""
        specs = [tf.TensorSpec(s, b.dtype) for s, b in zip(sizes(shapes), bare, strict=True)]

        def traced(*given: Any) -> Any:
            return self._traced(shapes, given)

        def compiled() -> Any:
            with _where(bare):
                return tf.function(traced, jit_compile=self._fn.jit_compile or None, autograph=False).get_concrete_function(*specs)

        try:
            try:
                made = compiled()
            except _RowsMadeDense:
                self._holds_rows = True
                made = compiled()
        except Exception as error:
            given = ", ".join(f"{s.dtype.name} {tuple(s.shape)}" for s in specs) or "no arrays"
            error.add_note(f"while {self._fn!r} was traced for {given}")
            raise
        self._kinds.append((shapes, made))
        return made

    def _declared(self, wanted: Sequence[Sequence[int | None]], shapes: tuple[tuple[int, ...], ...], bare: Sequence[Any]) -> Any:
        if len(wanted) != len(shapes) or not covers(declared(wanted), shapes, least=0):
            raise ShapeError(f"{self._fn!r}: expected inputs of the shapes {list(wanted)}, got {list(shapes)}")
        return self._kinds[0][1] if self._kinds else self._added(declared(wanted), bare)

    def results(self, inputs: Sequence[Any]) -> tuple[list[Tensor], Callable[[list[Any]], Any]]:
        """The tensors among the results of a call, and what puts them into their structure."""
        if any(map(is_batch, inputs)):
            return self._over_batch(inputs)
        given = list(map(as_input, inputs))
        traced = self._concrete(given)
        for v in self.variables:
            cells.cell_of(v).take(v)
        try:
            if MANY:
                with _where(given):
                    key, bare = traced(given)
            else:
                key, bare = traced(given)
        except tf.errors.OpError as error:
            raise self._failed(error, given) from error
        plan = self._plans[int(key)]
        for v in plan.assigned:
            cells.cell_of(v).advanced(v)
        return plan.tensors(bare), plan.rebuild

    def _over_batch(self, inputs: Sequence[Any]) -> tuple[list[Tensor], Callable[[list[Any]], Any]]:
        """The results for each item of a batch: the function that does this for all items is compiled as well."""
        from tapegrad.compiled.function import Function

        batches: list[Any] = [x.array if is_batch(x) else None for x in inputs]
        level = max(b.level for b in batches if b is not None)
        has = tuple(b is not None and b.level == level for b in batches)
        key = (has, level.randomness)
        if key not in self._batched:
            plans: list[Plan] = []  # how results are put together

            def each(*items: Tensor) -> list[Tensor]:
                found = self.run(items)
                plans.append(Plan(found, ()))
                return [x if isinstance(x, Tensor) else asarray(x) for x in plans[-1].results]

            def all_items(given: list[Tensor]) -> Any:
                return vmap(each, in_axes=tuple(0 if h else None for h in has), randomness=level.randomness)(*given)

            self._batched[key] = Function(all_items, self._fn.jit_compile), plans
        run, plans = self._batched[key]
        found = run([tensor(b.value) if h else x for x, b, h in zip(inputs, batches, has, strict=True)])
        return [tensor(Batched(y.array, level)) for y in found], plans[-1].rebuild

    def _failed(self, error: Exception, given: Sequence[Any]) -> Exception:
        """What is raised for an error of TensorFlow's in a call: it names the function, what it was given, and the op."""
        message, *_ = str(error).split("\n\nStack trace")
        message, *ops = _NODE.split(message, maxsplit=1)
        inputs = ", ".join(f"{b.dtype.name} {tuple(b.shape)} on {short(b.device)}" for b in given) or "no arrays"
        how = "compiled by XLA" if self._fn.jit_compile else "compiled"
        of = f" (in {ops[0]})" if ops else ""
        text = f"{self._fn.python_function!r}, {how}, given {inputs}: {said(message)}{of}"
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


def _arrays(shapes: Shapes, given: Sequence[Any]) -> list[TFArray]:
    """The inputs of a trace; one object is the length wherever a letter stands."""
    lengths: dict[Any, Any] = {}
    found = []
    for shape, bare in zip(shapes, given, strict=True):
        x = wrapped(bare)
        x._shape = tuple(lengths.setdefault(k, n) if type(k) is Letter else n for k, n in zip(shape, x.shape, strict=True))
        found.append(x)
    return found


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
