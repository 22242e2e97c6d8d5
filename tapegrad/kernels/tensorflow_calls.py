"""How the TensorFlow kernels call TensorFlow: its raw ops on bare tensors, dtypes, constants.

An eager op is called as TensorFlow's generated wrappers call it, without the wrapper around it (measured for two 8x8
arrays: 10.5 us; `tf.raw_ops` 13, `tf.add` 30, an operator 23).  Where an argument is symbolic, inside a `tf.function`, that
call gives up, and the op of `tf.raw_ops` puts a node into the graph.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context, core
from tensorflow.python.framework import kernels as _kernels
from tensorflow.python.framework import op_def_registry

if TYPE_CHECKING:
    from collections.abc import Callable

fast = pywrap_tfe.TFE_Py_FastPathExecute
CONTEXT = context.context()
EAGER: Any = type(tf.constant(0))
#: Whether there is more than one device, so that ops have to be told theirs; TensorFlow has set them up by now.
MANY = len(tf.config.list_logical_devices()) > 1
#: What this thread's ops are told: `HERE.device_name`, the long name of a device, or None or "" for TensorFlow's choice.
HERE = CONTEXT._thread_local_data

_NAME = re.compile(r"(?:/job:localhost/replica:0/task:0)?/?(?:device:)?([A-Za-z_]+)(?::(\d+))?")


@functools.lru_cache(256)
def short(name: str) -> str:
    """The name of a device as tapegrad has it, "GPU:0" for one of this process; "" for one that is not decided yet."""
    found = _NAME.fullmatch(name)
    return f"{found[1].upper()}:{found[2] or 0}" if found else name


BOOL = np.dtype(np.bool_)
INT8, INT16, INT32, INT64 = (np.dtype(t) for t in (np.int8, np.int16, np.int32, np.int64))
UINT8, UINT16, UINT32, UINT64 = (np.dtype(t) for t in (np.uint8, np.uint16, np.uint32, np.uint64))
F16, F32, F64 = (np.dtype(t) for t in (np.float16, np.float32, np.float64))
C64, C128 = np.dtype(np.complex64), np.dtype(np.complex128)
BF16 = np.dtype(tf.bfloat16.as_numpy_dtype)

#: TensorFlow's dtype of each of NumPy's, and back.
TF_OF: dict[Any, Any] = {
    d: tf.dtypes.as_dtype(d.type)
    for d in (BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, F16, BF16, F32, F64, C64, C128)
}
NUMPY_OF: dict[Any, np.dtype[Any]] = {t: d for d, t in TF_OF.items()}


def again(name: str, error: Exception, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """The op as a node of a graph where an input is symbolic; TensorFlow's error where it is one of values."""
    if isinstance(error, core._FallbackException):
        return in_graph(name, inputs, attrs)
    if isinstance(error, core._NotOkStatusException):
        raise core._status_to_exception(error) from None
    raise error


def in_graph(name: str, inputs: tuple[Any, ...], attrs: dict[str, Any]) -> Any:
    """The op as a node of the graph that is being built."""
    raw, names = _raw_op(name)
    known = getattr(tf.compat.v1.get_default_graph(), "__dict__", {}).setdefault("_tapegrad_constants", {})
    return raw(**{n: _input(x, known) for n, x in zip(names, inputs, strict=False)}, **attrs)


def _input(x: Any, known: dict[int, tuple[Any, Any]]) -> Any:
    """An input of a node: a few numbers on the host are a constant of the graph.

    TensorFlow would take them for an argument of it, given anew in each call, of which its optimiser knows nothing (measured
    for the step of a small convolutional network: 28 of 40 arguments).
    """
    if type(x) is EAGER:
        if x.dtype not in NUMPY_OF or x._num_elements() > _FEW or not x.device.endswith("CPU:0"):
            return x
        found = known.get(id(x))
        if found is None:
            with tf.control_dependencies(None):
                found = known[id(x)] = (x, tf.constant(x.numpy()))
        return found[1]
    return [_input(part, known) for part in x] if type(x) is list else x


#: So many elements may be a constant of a graph; so many always are one.
_SMALL, _FEW = 4096, 128


@functools.lru_cache(None)
def _raw_op(name: str) -> tuple[Any, list[str]]:
    raw = getattr(tf.raw_ops, name)
    return raw, list(inspect.signature(raw).parameters)


def one(name: str) -> Callable[[Any], Any]:
    """TensorFlow's op of one input."""

    def call(x: Any) -> Any:
        try:
            return fast(CONTEXT, name, None, x)
        except Exception as error:
            return again(name, error, (x,), {})

    return call


def two(name: str) -> Callable[[Any, Any], Any]:
    """TensorFlow's op of two inputs."""

    def call(x: Any, y: Any) -> Any:
        try:
            return fast(CONTEXT, name, None, x, y)
        except Exception as error:
            return again(name, error, (x, y), {})

    return call


def op(name: str) -> Callable[..., Any]:
    """TensorFlow's op of any inputs, with attributes by name."""

    def call(*inputs: Any, **attrs: Any) -> Any:
        try:
            return fast(CONTEXT, name, None, *inputs, *itertools.chain.from_iterable(attrs.items()))
        except Exception as error:
            return again(name, error, inputs, attrs)

    return call


def growing(name: str, shape: int) -> Callable[[Any, Any], Any]:
    """TensorFlow's op of two inputs that makes a large array of a small one; the shape is the input of this number.

    Where a graph is built, a large one is a node of it.  Else ops of arrays that have their values already are computed at
    once, and the graph takes the result as it is: memory to be held and read (measured for ten ops on 4M elements and XLA:
    20 % of the step).
    """
    run = two(name)

    def call(x: Any, y: Any) -> Any:
        if HERE.is_eager or (type(size := (x, y)[shape]) is EAGER and np.prod(size.numpy()) <= _SMALL):
            return run(x, y)
        return in_graph(name, (x, y), {})

    return call


@functools.lru_cache(None)
def supports(name: str, dtype: np.dtype[Any], attr: str = "T") -> bool:
    """Whether TensorFlow has a kernel of this op for a dtype on the CPU, whose kernels are the most."""
    wanted = TF_OF[dtype].as_datatype_enum
    for a in op_def_registry.get(name).attr:  # some kernels are registered for more than the op takes
        if a.name == attr and a.allowed_values.list.type and wanted not in a.allowed_values.list.type:
            return False
    for kernel in _kernels.get_registered_kernels_for_op(name).kernel:
        if kernel.device_type == "CPU":
            allowed = [c.allowed_values.list.type for c in kernel.constraint if c.name == attr]
            if not allowed or any(wanted in types for types in allowed):
                return True
    return False


_cast = op("Cast")


def cast(t: Any, dtype: np.dtype[Any]) -> Any:
    """A bare tensor in another dtype."""
    return _cast(t, DstT=TF_OF[dtype], Truncate=False)


# -- constants -----------------------------------------------------------------------------------------
def constant(value: Any) -> Any:
    """An eager tensor of an array of NumPy's: in a graph it becomes a constant, or if it is large a captured value."""
    with tf.init_scope():
        return tf.constant(value)


_SCALARS: dict[Any, Any] = {}


def _scalar(value: Any, dtype: np.dtype[Any]) -> Any:
    """A 0-d constant; one that was made before is given again.  Raises OverflowError for an integer that does not fit."""
    key = (value or str(value), dtype.num)  # zeros are equal, and differ in sign
    found = _SCALARS.get(key)
    if found is None:
        if len(_SCALARS) >= 4096:
            _SCALARS.clear()
        found = _SCALARS[key] = constant(np.asarray(dtype.type(value)))
    return found


def _scalar_here(value: Any, dtype: np.dtype[Any]) -> Any:
    """The same on the device that this thread's ops are told."""
    key = (value or str(value), dtype.num, HERE.device_name)
    found = _SCALARS.get(key)
    if found is None:
        if len(_SCALARS) >= 4096:
            _SCALARS.clear()
        found = _SCALARS[key] = constant(np.asarray(dtype.type(value)))
    return found


def _vector(values: tuple[int, ...], device: Any = None) -> Any:
    wide = any(not -(2**31) <= v < 2**31 for v in values)
    return constant(np.asarray(values, np.int64 if wide else np.int32))


def _number(value: int, device: Any = None) -> Any:
    return constant(np.asarray(value, np.int32))


_ints, _numbers = functools.lru_cache(4096)(_vector), functools.lru_cache(256)(_number)


def _ints_here(values: tuple[int, ...]) -> Any:
    return _ints(values, HERE.device_name)


def _number_here(value: int) -> Any:
    return _numbers(value, HERE.device_name)


#: A constant of no axes; a constant vector of integers (a shape, a list of axes); a constant integer (an axis).
scalar: Callable[[Any, np.dtype[Any]], Any] = _scalar_here if MANY else _scalar
ints: Callable[[tuple[int, ...]], Any] = _ints_here if MANY else _ints
number: Callable[[int], Any] = _number_here if MANY else _numbers
