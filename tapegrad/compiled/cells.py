"""Where compiled functions keep the values of variables, and how Python sees them."""

from __future__ import annotations

import _thread
import contextlib
import functools
import threading
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np
import tensorflow as tf

from tapegrad import random
from tapegrad.compiled.tracing import started_outside
from tapegrad.core.recorder import EMPTY, state
from tapegrad.core.tensor import Tensor
from tapegrad.errors import RandomnessError
from tapegrad.kernels.tensorflow_array import TFArray, wrapped
from tapegrad.kernels.tensorflow_calls import EAGER, NUMPY_OF
from tapegrad.kernels.tensorflow_stored import Stored, additions, stored
from tapegrad.variable import TRACED, Variable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_SLOT, _NODE = (vars(Tensor)[name] for name in ("array", "node"))


@final
class Cell:
    """A `tf.Variable` that holds a variable's value between calls of compiled functions.

    Python goes on to use `variable.array`.  What Python has put there is taken into the cell as a function is called;
    what the function has assigned is fetched as Python next reads it.
    """

    __slots__ = ("on_numpy", "seen", "store")

    def __init__(self, variable: Variable) -> None:
        array = _SLOT.__get__(variable)
        self.on_numpy = not isinstance(array, TFArray)
        with tf.init_scope(), tf.device(None if self.on_numpy else array.bare.device):
            value = tf.constant(array) if self.on_numpy else array.bare
            self.store = store_class()(value, trainable=False, dtype=value.dtype)
        self.seen: Any = array  # the array that the store agrees with; None: the store is ahead

    def take(self, variable: Variable) -> None:
        """Take over what Python has assigned."""
        if self.seen is None:
            return
        array = _SLOT.__get__(variable)
        if array is not self.seen or (self.on_numpy and not _is_frozen(array)):
            self.store.assign(array if self.on_numpy else array.bare)
            self.seen = array

    def advanced(self, variable: Variable) -> None:
        """A compiled function has assigned: the array is fetched when it is next read."""
        self.seen = None
        with contextlib.suppress(AttributeError):
            _SLOT.__delete__(variable)

    def fetch(self, variable: Variable) -> Any:
        """The value as Python's array; from now on the two agree."""
        with tf.init_scope():  # even while a function is traced, this is a value
            value = self.store.value()
            array = np.array(value.numpy()) if self.on_numpy else wrapped(value)
        if self.on_numpy and array.ndim == 0:
            array = array[()]
        _SLOT.__set__(variable, array)
        self.seen = array
        return array


@functools.cache
def store_class() -> Any:
    """The class of TensorFlow's variables.

    Called by itself, it does not tell a `tf.function` being traced of the variable; that would trace a second time.
    """
    return type(tf.Variable(0.0))


def _is_frozen(array: Any) -> bool:
    """Whether an array of NumPy's cannot have been written to: `assign_sub` writes in place where nobody can tell."""
    return not isinstance(array, np.ndarray)


def cell_of(variable: Variable) -> Cell:
    """The cell of a variable, made when a compiled function first meets it."""
    cell: Cell | None = variable.cell
    if cell is None:
        cell = variable.cell = Cell(variable)
    return cell


@final
class Trace:
    """What variables hold while a function is traced on this thread.

    * `given`: tensors to read in the place of variables, with their history; these may be assigned, to no effect outside.
    * `at_once`: whether a variable is read as a whole, as a tensor that something else may take the place of later.
    """

    def __init__(self, given: Sequence[tuple[Variable, Tensor]] | None = None, *, at_once: bool = False) -> None:
        self._outward = given is None
        self._at_once = at_once
        self._graph: Any = tf.compat.v1.get_default_graph()
        # By identity: a facade's variables may be unhashable.
        self._values: dict[int, Any] = {id(v): x.array for v, x in given or ()}
        self.nodes: dict[int, Any] = {id(v): x.node for v, x in given or ()}
        self.read: list[Variable] = []
        self.first: dict[int, Any] = {}  # what was read of a variable before anything was assigned
        self.draws = False
        self.assigned: dict[int, Variable] = {}

    def get(self, variable: Variable) -> Any:
        try:
            return self._values[id(variable)]
        except KeyError:
            pass
        self.read.append(variable)
        found = self._values[id(variable)] = self.first[id(variable)] = self._stored(cell_of(variable).store)
        return found

    def _stored(self, store: Any) -> TFArray:
        """What a variable of TensorFlow's holds as the graph begins: it changes in `write_back` alone."""

        def whole() -> Any:
            with self._graph.as_default():  # not inside a branch that first asks for it
                return store.read_value()

        def rows(ids: Any) -> Any:
            return tf.raw_ops.ResourceGather(resource=store.handle, indices=ids, dtype=store.dtype)

        if self._at_once:
            return wrapped(whole())
        return stored(Stored(whole, rows), NUMPY_OF[store.dtype], tuple(store.shape))

    def set(self, variable: Variable, array: Any) -> None:
        self._values[id(variable)] = array if isinstance(array, TFArray) else wrapped(tf.constant(array))
        if self._outward:
            self.assigned[id(variable)] = variable

    def value_of(self, key: int) -> Any:
        return self._values[key]

    def draw(self, what: str, numbers: Callable[[], Any], shape: tuple[int, ...], dtype: Any) -> TFArray:
        """An input of the graph for which each call draws numbers anew, on the host."""
        if not self._outward:
            self.refuse(f"random.{what}: a compiled function")
        self.draws = True
        spec = tf.TensorSpec(shape, tf.as_dtype(dtype))
        made: Any = self._graph.capture_call_time_value(lambda: tf.constant(numbers(), spec.dtype), spec, key=object())
        return wrapped(made)

    def refuse(self, who: str) -> NoReturn:
        """Raises RandomnessError, for the derivative of a function that draws random numbers."""
        raise RandomnessError(
            f"{who} that draws random numbers can't be differentiated from outside, for its derivative would draw others; take "
            "the gradient inside, or draw outside and give the numbers as an argument"
        )

    def write_back(self, results: list[Any]) -> None:
        """The assignments, as the last thing that the graph does.

        All results and new values are there before the first is assigned: what fails leaves variables as they were.
        """
        changes = []
        for key, variable in self.assigned.items():
            value = self._values[key]
            rows = additions(value, self.first.get(key))
            changes.append((cell_of(variable).store, rows, value.bare if rows is None else None))
        parts = [part for _, rows, _ in changes for pair in rows or () for part in pair]
        first = [*results, *parts, *(whole for _, _, whole in changes if whole is not None)] if changes else []
        with tf.control_dependencies([t for t in first if type(t) is not EAGER]):
            for store, rows, whole in changes:
                if rows is None:
                    store.assign(whole, read_value=False)
                else:
                    for ids, g in rows:
                        tf.raw_ops.ResourceScatterAdd(resource=store.handle, indices=ids, updates=g)


class _Local(threading.local):
    trace: Trace | None = None


_local = _Local()
_lock = _thread.allocate_lock()
_tracing = 0


def _get(variable: Variable) -> Any:
    trace = _local.trace
    return _SLOT.__get__(variable) if trace is None else trace.get(variable)


def _set(variable: Variable, array: Any) -> None:
    trace = _local.trace
    if trace is None:
        _SLOT.__set__(variable, array)
    else:
        trace.set(variable, array)


def _get_node(variable: Variable) -> Any:
    trace = _local.trace
    return _NODE.__get__(variable) if trace is None else trace.nodes.get(id(variable))


def _set_node(variable: Variable, node: Any) -> None:
    trace = _local.trace
    if trace is None:
        _NODE.__set__(variable, node)
    else:
        trace.nodes[id(variable)] = node


_SEEN_THROUGH = {"array": property(_get, _set), "node": property(_get_node, _set_node)}


@contextlib.contextmanager
def tracing(trace: Trace) -> Iterator[None]:
    """Let this thread's variables read from, and assign to, a trace.

    While any thread is tracing, the slots of all variables are behind properties that ask which thread it is; nothing is
    paid for that at other times.  What tapes of the traced function know of a variable goes no further either.
    """
    global _tracing  # noqa: PLW0603
    with _lock:
        _tracing += 1
        for name, seen_through in _SEEN_THROUGH.items():
            setattr(Variable, name, seen_through)
    before, _local.trace = _local.trace, trace
    try:
        with random.deferring(trace.draw):
            yield
    finally:
        _local.trace = before
        with _lock:
            _tracing -= 1
            if not _tracing:
                for name in _SEEN_THROUGH:
                    delattr(Variable, name)


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Let nobody outside record what is inside, nor learn of the variables that it reads; and leave all batches."""
    active, levels, outside = state.active, state.levels, state.outside
    state.active, state.levels, state.outside = EMPTY, (), outside | active.recorders
    try:
        yield
    finally:
        state.active, state.levels, state.outside = active, levels, outside


@contextlib.contextmanager
def outside() -> Iterator[None]:
    """Leave the trace of this thread: what is inside is computed at once, and variables are what they are between calls."""
    before, _local.trace = _local.trace, None
    try:
        with random.deferring(None), tf.init_scope():
            yield
    finally:
        _local.trace = before


def assigned() -> dict[int, Any]:
    """What variables have been assigned so far in the trace of this thread, by identity."""
    trace = _local.trace
    return {} if trace is None else {key: trace.value_of(key) for key in trace.assigned}


def is_tracing() -> bool:
    """Whether this thread is tracing a function."""
    return _local.trace is not None


TRACED.here, TRACED.started = is_tracing, started_outside
