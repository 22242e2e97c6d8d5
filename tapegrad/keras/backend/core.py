"""Keras's variables and conversions on tapegrad, and what its NumPy backend does by writing into arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy
from keras.src import tree
from keras.src.backend.common import KerasVariable, standardize_dtype, variables
from keras.src.backend.common.dtypes import result_type
from keras.src.backend.common.keras_tensor import KerasTensor
from keras.src.backend.common.stateless_scope import StatelessScope, in_stateless_scope
from keras.src.backend.common.symbolic_scope import SymbolicScope

import tapegrad as tg
from tapegrad.compiled.tracing import outside_of_traces, settled
from tapegrad.core.tensor import Tensor, linked, tensor
from tapegrad.errors import OpenLengthError
from tapegrad.keras import look
from tapegrad.keras.backend.composites import arrived, dense, is_composite, kept, kind, ones
from tapegrad.ops.convert import asarray
from tapegrad.ops.exchange import is_recorded
from tapegrad.registry.places import has_values
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Variable",
    "associative_scan",
    "cast",
    "compute_output_spec",
    "convert_to_numpy",
    "convert_to_tensor",
    "custom_gradient",
    "is_tensor",
    "random_seed_dtype",
    "scatter",
    "scatter_update",
    "shape",
    "slice",
    "slice_update",
    "stop_gradient",
]


# -- variables -------------------------------------------------------------------------------------------------
class Variable(KerasVariable):  # type: ignore[misc]  # Keras has no type hints
    """Keras's variable, whose value is a variable of tapegrad's: tapes watch it, and take it as a source."""

    def __init__(self, *args: Any, **words: Any) -> None:
        with outside_of_traces():  # layers and optimisers make their variables when they are first called
            super().__init__(*args, **words)

    def _deferred_initialize(self) -> None:
        with outside_of_traces():
            super()._deferred_initialize()

    def _initialize(self, value: Any) -> None:
        x = convert_to_tensor(value, self._dtype)
        if not has_values(x.array):
            x = tensor(settled(x.array))
        self._value = look.variable(x, trainable=self._trainable, name=self._name)

    def _direct_assign(self, value: Any) -> None:
        self._value.assign(convert_to_tensor(value, self._dtype))

    def _convert_to_tensor(self, value: Any, dtype: Any = None) -> Any:
        return convert_to_tensor(value, dtype=dtype)

    def assign_add(self, value: Any) -> Any:
        """Add to the value, in place where nobody else has it."""
        return self._change("assign_add", value) if self._changes(value) else super().assign_add(value)

    def assign_sub(self, value: Any) -> Any:
        """Subtract from the value, in place where nobody else has it."""
        return self._change("assign_sub", value) if self._changes(value) else super().assign_sub(value)

    def _changes(self, value: Any) -> bool:
        """Whether the variable of tapegrad's can take this as it is: it neither promotes nor broadcasts."""
        if in_stateless_scope() or self._value is None:
            return False
        if type(value) is int:  # as steps are counted
            return self._value.array.shape == ()
        if not isinstance(value, Tensor):
            return False
        raw, own = value.array, self._value.array
        return raw.shape == own.shape and raw.dtype == own.dtype

    def _change(self, how: str, value: Any) -> Any:
        getattr(self._value, how)(value)
        return look.shown(_read(self._value))

    @property
    def trainable(self) -> bool:
        """Whether tapes watch the variable by themselves."""
        return self._trainable

    @trainable.setter
    def trainable(self, value: bool) -> None:
        self._trainable = bool(value)
        if isinstance(self._value, tg.Variable):
            self._value.trainable = self._trainable and self._value.array.dtype.kind in "fVc"

    @property
    def shape(self) -> Any:
        """The length of each axis."""
        return look.shape(self._shape)

    def numpy(self) -> Any:
        """The value as an array."""
        return convert_to_numpy(self.value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.value.__array__(dtype, copy)

    def __tapegrad_tensor__(self) -> Any:
        return self.value


def _read(variable: Tensor) -> Tensor:
    """The present value of a variable, with its history: no op is recorded, and a later assignment doesn't change it."""
    found: Tensor = linked(*variable.read())
    return found


#: NumPy's dtypes by Keras's names; NumPy's own way from a dtype to its name takes 5 microseconds.
DTYPES = {
    name: numpy.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
}


# -- conversions -----------------------------------------------------------------------------------------------
def convert_to_tensor(x: Any, dtype: Any = None, sparse: Any = None, ragged: Any = None) -> Any:
    """A tensor of these values; of a variable, its present value."""
    if type(x) is Tensor and (dtype is None or (type(dtype) is str and DTYPES.get(dtype) is x.array.dtype)):
        return x
    if is_composite(x) or type(x).__name__ == "RaggedTensor":
        x = kept(arrived(x), sparse, ragged)
        if is_composite(x):
            return x if dtype is None else x._map_values(lambda v: convert_to_tensor(v, dtype))
    if dtype is not None:
        dtype = standardize_dtype(dtype)
        if dtype.startswith("float8"):
            raise NotImplementedError(
                f"keras on tapegrad: there are no numbers of 8 bits with a point ({dtype}); layers are quantized to 'int8' or "
                "'int4', and computed with in 'float16' or 'bfloat16'"
            )
    if isinstance(x, KerasVariable):
        x = x.value
    if isinstance(x, Tensor):
        if type(x) is not Tensor:
            x = _read(x)
        if dtype == "string" and x.array.dtype == object:
            return x
        return x if dtype is None or x.array.dtype == DTYPES.get(dtype, dtype) else F.astype(x, dtype)
    if isinstance(x, KerasTensor):
        return numpy.asarray(x)  # raises what Keras says of symbolic values
    if isinstance(x, tuple):
        x = tuple(x)  # a facade's shape, which Keras's trees take for one leaf
    leaves = tree.flatten(x)
    if any(isinstance(leaf, Tensor | KerasVariable) for leaf in leaves):
        dtype = dtype or result_type(*(getattr(leaf, "dtype", type(leaf)) for leaf in leaves))
        return asarray(tree.map_structure(lambda leaf: convert_to_tensor(leaf, dtype), x), dtype=dtype)
    if dtype is None:
        dtype = result_type(*(getattr(leaf, "dtype", type(leaf)) for leaf in leaves))
    if dtype == "bfloat16":
        return asarray(numpy.asarray(x), dtype=dtype)
    return tensor(_texts(x)) if dtype == "string" else asarray(numpy.array(x, dtype=dtype))


def _texts(x: Any) -> Any:
    """Strings as the facade of TensorFlow holds them: objects, of bytes."""
    given = numpy.array(x, dtype=object)
    found = numpy.empty(given.shape, object)
    found.reshape(-1)[:] = [s.encode() if isinstance(s, str) else s for s in given.reshape(-1)]
    return found


def convert_to_numpy(x: Any) -> Any:
    """A copy of the values, without their history."""
    if isinstance(x, KerasVariable):
        x = x.value
    x = dense(x)
    if isinstance(x, Tensor):
        return numpy.array(x.read()[0])
    return numpy.array(tree.map_structure(convert_to_numpy, x) if isinstance(x, list | tuple) else x)


def random_seed_dtype() -> str:
    """The dtype of the seeds that Keras keeps: that which they have on TensorFlow, as the next seed depends on it."""
    return "int64"


def is_tensor(x: Any) -> bool:
    """Whether it is a tensor of tapegrad's, a variable included; or a facade's sparse one."""
    return isinstance(x, Tensor) or is_composite(x)


_standard = variables.standardize_shape


def standardize_shape(shape: Any) -> tuple[int | None, ...]:
    """A shape as Keras writes it: None where only the running graph of a compiled function knows the length."""
    if type(shape) is tuple and all(type(n) is int and n >= 0 for n in shape):
        return shape
    if isinstance(shape, tuple | list):
        shape = tuple(None if _is_open(n) else n for n in shape)
    found: tuple[int | None, ...] = _standard(shape)
    return found


def _is_open(n: Any) -> bool:
    try:
        hasattr(n, "__index__") and n.__index__()
    except OpenLengthError:
        return True
    except TypeError:  # no length at all, of which Keras says so
        return False
    return False


def shape(x: Any) -> tuple[int, ...]:
    """The length of each axis."""
    return tuple(x.shape)


def cast(x: Any, dtype: Any) -> Any:
    """The values in another dtype."""
    return convert_to_tensor(x, dtype=dtype)


# -- shapes without values -------------------------------------------------------------------------------------
#: What an unknown length is, in two trials: results that differ depend on it.  The first axis, mostly that of a batch,
#: is short, for it only costs time; others are long enough for a window to fit in.
_TRIALS = ((2, 83), (3, 89))


def compute_output_spec(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """What a function would give for symbolic arguments, found by calling it with numbers."""
    with StatelessScope(), SymbolicScope(), tg.no_grad():
        unknown = any(isinstance(x, KerasTensor) and None in x.shape for x in tree.flatten((args, kwargs)))
        found = [_tried(fn, args, kwargs, lengths) for lengths in (_TRIALS if unknown else _TRIALS[:1])]
        return tree.map_structure(_spec, *found)


def _tried(fn: Callable[..., Any], args: Any, kwargs: Any, lengths: tuple[int, int]) -> Any:
    def value(x: Any) -> Any:
        if not isinstance(x, KerasTensor):
            return x
        sizes = tuple(lengths[i > 0] if n is None else n for i, n in enumerate(x.shape))
        if x.sparse or x.ragged:
            return ones(x, sizes)
        return look.shown(F.ones(sizes, dtype=numpy.dtype(x.dtype) if x.dtype != "bfloat16" else tg.bfloat16))

    args, kwargs = tree.map_structure(value, (args, kwargs))
    return fn(*args, **kwargs)


def _spec(x: Any, *others: Any) -> Any:
    if not is_tensor(x):
        return x
    sizes = [n if all(y.shape[i] == n for y in others) else None for i, n in enumerate(x.shape)]
    if is_composite(x):
        return KerasTensor(sizes, x.dtype.name, **kind(x))
    return KerasTensor(sizes, standardize_dtype(x.array.dtype))


# -- writing into arrays, without writing ----------------------------------------------------------------------
def scatter(indices: Any, values: Any, shape: Any) -> Any:
    """Zeros, with values added where the indices say."""
    indices, values = convert_to_tensor(indices), convert_to_tensor(values)
    n = indices.shape[-1]
    shape = tuple(int(k) for k in shape)
    rows = F.reshape(values, (-1, *shape[n:]))
    return F.put_add(rows, _places(indices), shape)


def _places(indices: Any) -> tuple[Any, ...]:
    """Rows of indices as an index for each axis."""
    raw = numpy.asarray(indices.read()[0])
    return tuple(raw.reshape(-1, raw.shape[-1]).T)


def scatter_update(inputs: Any, indices: Any, updates: Any, reduction: str | None = None) -> Any:
    """`inputs` with values replaced, added, multiplied or compared where the indices say."""
    inputs = convert_to_tensor(inputs)
    places = _places(convert_to_tensor(indices))
    updates = F.astype(convert_to_tensor(updates), inputs.dtype)
    if reduction is None:
        return F.put(inputs, updates, places)
    if reduction == "add":
        return inputs + F.put_add(F.reshape(updates, (-1, *inputs.shape[len(places) :])), places, inputs.shape)
    functions = {"max": numpy.maximum, "min": numpy.minimum, "mul": numpy.multiply}
    if reduction not in functions:
        raise ValueError(f"Unsupported reduction: {reduction}")
    if is_recorded(inputs.node) or is_recorded(updates.node):
        raise NotImplementedError(
            f"scatter_update(reduction={reduction!r}) of values that a tape records: tapegrad has no derivative of it; "
            "reduction=None and 'add' have one"
        )
    found = convert_to_numpy(inputs)
    functions[reduction].at(found, places, convert_to_numpy(updates))
    return asarray(found)


def _window(start_indices: Any, sizes: Any) -> tuple[Any, ...]:
    starts = [int(i) for i in start_indices]
    return tuple(_slice(i, i + int(n)) for i, n in zip(starts, sizes, strict=True))


_slice = slice


def slice(inputs: Any, start_indices: Any, shape: Any) -> Any:  # noqa: A001  Keras's name
    """A part of this shape that begins there."""
    if len(start_indices) != len(shape):
        raise ValueError(
            "Length of `start_indices` must match length of `shape`. "
            f"Received: start_indices={start_indices}, shape={shape}"
        )
    return convert_to_tensor(inputs)[_window(start_indices, shape)]


def slice_update(inputs: Any, start_indices: Any, updates: Any) -> Any:
    """`inputs` with a part overwritten."""
    inputs, updates = convert_to_tensor(inputs), convert_to_tensor(updates)
    return F.put(inputs, F.astype(updates, inputs.dtype), _window(start_indices, updates.shape))


# -- derivatives -----------------------------------------------------------------------------------------------
def stop_gradient(variable: Any) -> Any:
    """The same values, as constants to every tape."""
    return tg.stop_gradient(convert_to_tensor(variable))


def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function with a derivative of its own: `fun` gives its value, and a function of the cotangents `upstream`."""

    def run(*args: Any, **kwargs: Any) -> Any:
        constants = [None if isinstance(a, Tensor | KerasVariable) else a for a in args]
        given = [a for a in args if isinstance(a, Tensor | KerasVariable)]

        def inner(*tensors: Any) -> Any:
            left = iter(tensors)
            value, gradient = fun(*(next(left) if c is None else c for c in constants), **kwargs)

            def pulled(*upstream: Any) -> Any:
                found = gradient(*tensors, upstream=upstream[0] if len(upstream) == 1 else upstream)
                return found if isinstance(found, list | tuple) else (found,)

            return value, pulled

        return look.shown(tg.custom_gradient(inner)(*map(convert_to_tensor, given)))

    return run


def associative_scan(f: Callable[..., Any], elems: Any, reverse: bool = False, axis: int = 0) -> Any:
    """The running combination of slices along an axis, from the front or, with `reverse`, from the end."""
    if not callable(f):
        raise TypeError(f"`f` should be a callable. Received: f={f}")
    arrays = [F.moveaxis(convert_to_tensor(e), axis, 0) for e in tree.flatten(elems)]
    count = arrays[0].shape[0]
    if any(a.shape[0] != count for a in arrays):
        raise ValueError(
            "Array inputs to associative_scan must have the same first dimension. "
            f"(saw: {[e.shape for e in tree.flatten(elems)]})"
        )
    found: list[Any] = []
    for i in reversed(range(count)) if reverse else range(count):
        # Two arguments of length one along the axis, as Keras's other backends have at the least.
        here = tree.pack_sequence_as(elems, [F.moveaxis(a[i : i + 1], 0, axis) for a in arrays])
        found.append(here if not found else f(found[-1], here))
    if reverse:
        found.reverse()
    return tree.map_structure(lambda *parts: F.concat(parts, axis=axis), *found)


def install(names: dict[str, Any]) -> None:
    """Put these in the place of what Keras ships."""
    names.update({name: globals()[name] for name in __all__})
    # To Keras it means that callbacks are called in a thread of their own.  As on TensorFlow, they are not: both a step and its
    # callbacks are Python, which takes turns, and to hand over costs more than most callbacks do.
    names["IS_THREAD_SAFE"] = False
