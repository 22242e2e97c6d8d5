"""The arguments of compiled functions: which are inputs of the graph, which are constants, and when a graph fits."""

from __future__ import annotations

import functools
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.core.tensor import Tensor
from tapegrad.errors import ArgumentError
from tapegrad.kernels.numpy_scatter import Rows
from tapegrad.sparse import SparseRows, sparse_rows
from tapegrad.variable import Variable

if TYPE_CHECKING:
    from collections.abc import Callable

#: After so many kinds of arguments, the log says that something is traced again and again.
MANY = 6
_GENERATORS = 0x20 | 0x80 | 0x200  # flags of the code of generators, coroutines, generators that are both


def refuse_generators(fn: Any) -> None:
    """Raise ArgumentError for a function whose body runs after its call."""
    code = getattr(fn, "__code__", None)
    if code is not None and code.co_flags & _GENERATORS:
        raise ArgumentError(
            f"function(fn): {fn.__qualname__} is a generator or a coroutine, whose body runs after the call, outside of what is "
            "traced; write a function that returns a list, and compile that"
        )


def is_input(x: Any) -> bool:
    """Whether an argument is an input of the graph; all else is a constant."""
    if isinstance(x, Tensor):
        return not isinstance(x, Variable)
    return isinstance(x, _arrays())


@functools.cache
def _arrays() -> Any:
    import tensorflow as tf

    return np.ndarray, np.generic, tf.Tensor


@functools.cache
def _kind_of() -> Callable[[Any], tuple[Any, ...]]:
    """What a graph is traced for: dtype and rank of each input, and the device, if there is a choice."""
    from tapegrad.kernels.tensorflow_calls import MANY as DEVICES

    if not DEVICES:
        return lambda x: (x.dtype, len(x.shape))
    return lambda x: (x.dtype, len(x.shape), getattr(x.read()[0] if isinstance(x, Tensor) else x, "device", None))


@final
class Flattened:
    """Arguments as leaves: inputs, and constants; `key` is equal where one graph serves.

    Sparse rows are two inputs, values and indices, and their shape a constant: `Apart`.
    """

    __slots__ = ("definition", "inputs", "key", "rest")

    def __init__(self, leaves: list[Any], definition: Any) -> None:
        self.definition = definition
        self.inputs: list[Any] = []
        rest: list[Constant | None] = []
        kinds: list[Any] = []
        kind_of = _kind_of()
        for x in leaves:
            if is_input(x):
                if type(x) is SparseRows:
                    parts = [x.values, x.indices]
                    self.inputs += parts
                    kinds += map(kind_of, parts)
                    rest.append(Constant(Apart(x.shape)))
                    continue
                self.inputs.append(x)
                kinds.append(kind_of(x))
                rest.append(None)
            else:
                rest.append(Constant(x))
        self.rest = tuple(rest)
        self.key = (definition, self.rest, tuple(kinds))

    def leaves_or_constants(self) -> list[Any]:
        """The constants, and None for each input."""
        return list(self.rest)


def flattened(given: Any) -> Flattened:
    """The leaves of the arguments of a call."""
    import optree

    leaves, definition = optree.tree_flatten(given, none_is_leaf=True, namespace="tapegrad")
    return Flattened(leaves, definition)


@dataclass(frozen=True)
class Apart:
    """What stands for sparse rows of this shape, of which values and indices are given."""

    shape: tuple[Any, ...]

    def together(self, values: Tensor, indices: Tensor) -> SparseRows:
        """The rows."""
        return sparse_rows(Rows(values.read()[0], indices.read()[0], self.shape))


@final
class Constant:
    """A constant of the graph, equal to another one of the same type and value, or else to itself alone."""

    __slots__ = ("_hash", "_key", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        self._key = _key(value)
        self._hash = hash(self._key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Constant) and bool(self._key == other._key)

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return repr(self.value)


def _key(x: Any) -> Any:
    kind = type(x)
    if kind is float or kind is complex:
        return kind, repr(x)  # zeros are equal and differ in sign; NaN is not equal to itself
    if kind is set:
        return kind, frozenset(x)
    if isinstance(x, Variable):
        return id(x)
    try:
        hash(x)
    except TypeError:
        return id(x)
    return kind, x


@final
class Arguments:
    """The parameters of a function: so `f(x, 2)`, `f(x, n=2)` and `f(x)` with that default are one kind of arguments."""

    def __init__(self, fn: Any) -> None:
        self._fn = fn

    @functools.cached_property
    def _signature(self) -> Any:
        import inspect

        try:
            return inspect.signature(self._fn)
        except (TypeError, ValueError):  # some built-in functions have none
            return None

    def full(self, args: Any, kwargs: Any) -> Any:
        """The arguments with defaults, by position where they can be; as they are, where they do not fit."""
        if self._signature is None:
            return args, kwargs
        try:
            bound = self._signature.bind(*args, **kwargs)
        except TypeError:  # Python's own words come as the function is called
            return args, kwargs
        bound.apply_defaults()
        return bound.args, bound.kwargs


def check_leaves(fn: Any, found: Flattened) -> None:
    """Raise ArgumentError for arguments that no graph can take."""
    for x in found.inputs:
        if isinstance(x, np.ndarray | np.generic) and x.dtype.kind not in "biufcV":
            raise ArgumentError(f"{fn!r}: expected arrays of numbers, got one of {x.dtype}; give it as a Python object, or as numbers")
    for c in found.rest:
        if c is not None and hasattr(type(c.value), "__next__"):
            raise ArgumentError(
                f"{fn!r}: expected values, got the iterator {c.value!r}, which would be used up as the function is traced; "
                "give it as list(iterator)"
            )


def report(fn: Any, now: Any, before: Any) -> None:
    """Say in the log that a function is traced again and again, and what for."""
    differs = [(a, b) for a, b in zip(now, before, strict=False) if a != b and a is not None and b is not None]
    what = (
        f"{differs[0][1]!r} became {differs[0][0]!r}: give a number that changes as tapegrad.asarray(number)"
        if differs
        else "dtypes, ranks or the structure of the arguments differ"
    )
    logging.getLogger("tapegrad").warning("%r was traced for more than %d kinds of arguments, which is slow; %s", fn, MANY, what)
