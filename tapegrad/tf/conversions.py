"""`tf.register_tensor_conversion_function`: how objects of a class of one's own become tensors."""

from __future__ import annotations

import bisect
from typing import Any

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.tf.export import export

#: `tf.types.experimental.TensorLike`: what stands for a tensor in a signature.
TensorLike: Any = core.Tensor | int | float | bool | str | bytes | complex | tuple | list | np.ndarray | np.generic
#: Priority, class and function, the lowest priority first; among equals the one that was registered first.
_REGISTERED: list[tuple[int, Any, Any]] = []


@export("register_tensor_conversion_function")
def register_tensor_conversion_function(base_type: Any, conversion_func: Any, priority: int = 100) -> None:
    """Let `conversion_func(value, dtype=..., name=..., as_ref=False)` make tensors of the objects of a class.

    Raises TypeError for what is no class, and no function.
    """
    if not (isinstance(base_type, type) or (isinstance(base_type, tuple) and all(isinstance(t, type) for t in base_type))):
        raise TypeError(f"Argument `base_type` must be a type or a tuple of types. Obtained: {base_type}")
    if not callable(conversion_func):
        raise TypeError(f"Argument `conversion_func` must be callable. Received {conversion_func}.")
    bisect.insort_right(_REGISTERED, (priority, base_type, conversion_func), key=lambda entry: entry[0])


def is_registered(x: Any) -> bool:
    """Whether there is a function that makes a tensor of an object."""
    return any(isinstance(x, kind) for _, kind, _ in _REGISTERED)


def converted(x: Any, dtype: Any) -> Any:
    """The tensor that the functions for its class make of an object; NotImplemented if none does."""
    for _, kind, function in _REGISTERED:
        if isinstance(x, kind):
            found = function(x, dtype=dtype, name=None, as_ref=False)
            if found is not NotImplemented:
                return found
    return NotImplemented
