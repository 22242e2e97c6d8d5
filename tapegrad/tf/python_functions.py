"""Functions of Python's and of NumPy's inside a program of TensorFlow's: `tf.py_function`, `tf.numpy_function`."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from tapegrad.errors import SymbolicValueError
from tapegrad.tf import nest
from tapegrad.tf.convert import convert
from tapegrad.tf.dtypes import numpy_dtype
from tapegrad.tf.errors import (
    InvalidArgumentError,
    OperatorNotAllowedInGraphError,
    OpError,
    OutOfRangeError,
    ResourceExhaustedError,
    UnimplementedError,
    UnknownError,
    invalid,
)
from tapegrad.tf.export import export
from tapegrad.tf.tensor import Tensor


@export("py_function")
def py_function(func: Any = None, inp: Any = None, Tout: Any = None, name: str | None = None) -> Any:
    """What a Python function of tensors gives, as tensors of these dtypes; its derivative is that of the ops in it.

    With `Tout` alone, what makes such a function of a Python function: `@tf.py_function(Tout=tf.float32)`.
    """
    if func is None:
        return _decorator(py_function, Tout=Tout)
    if not callable(func):
        raise ValueError(f"Expected func to be callable. Received func={func} of type {type(func)}.")
    given = [convert(x) for x in inp]
    try:
        found = func(*given)
    except (OpError, SymbolicValueError, OperatorNotAllowedInGraphError):
        raise  # the two latter: a function around it that is being traced has to run at once
    except Exception as error:
        kind = next((k for of, k in _AS_IN_PYTHON.items() if isinstance(error, of)), UnknownError)
        raise kind(None, None, f"{type(error).__name__}: {error} [Op:EagerPyFunc]") from error
    return _typed(found, Tout)


#: What errors of Python's become where TensorFlow calls a function: in this order, others are unknown.
_AS_IN_PYTHON: dict[type[Exception], type[OpError]] = {
    StopIteration: OutOfRangeError,
    MemoryError: ResourceExhaustedError,
    NotImplementedError: UnimplementedError,
    ValueError: InvalidArgumentError,
    TypeError: InvalidArgumentError,
}


def _decorator(through: Any, **words: Any) -> Any:
    """What makes a function of tensors of a Python function."""

    def decorate(func: Any) -> Any:
        @functools.wraps(func)
        def wrapped(*args: Any) -> Any:
            return through(func, args, **words)

        return wrapped

    return decorate


def _typed(found: Any, Tout: Any) -> Any:
    if isinstance(Tout, list | tuple):
        if not Tout:
            return []
        values = found if isinstance(found, list | tuple) else [found]
        return [_of_dtype(v, d) for v, d in zip(values, Tout, strict=True)]
    return convert(0) if found is None else _of_dtype(found, Tout)


def _of_dtype(x: Any, dtype: Any) -> Tensor:
    try:
        return convert(x, numpy_dtype(getattr(dtype, "dtype", dtype)), prefer=True)
    except ValueError as error:
        raise invalid("EagerPyFunc", f"ValueError: {error}") from None


@export("numpy_function")
def numpy_function(func: Any = None, inp: Any = None, Tout: Any = None, stateful: bool = True, name: str | None = None) -> Any:
    """What a Python function of NumPy's arrays gives, as tensors; it has no derivative.  `Tout` is for graphs alone.

    Without a function, what makes such a one of a Python function: `@tf.numpy_function(Tout=tf.float32)`.
    """
    if func is None:
        return _decorator(numpy_function, Tout=Tout)
    found = [None if x is None else convert(x) for x in nest.flatten(func(*[np.array(convert(x).numpy()) for x in inp]))]
    return found[0] if len(found) == 1 else found
