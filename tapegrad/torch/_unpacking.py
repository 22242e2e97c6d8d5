"""What ops take besides tensors: numbers, NumPy's arrays, tensors of the other styles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.core.tensor import Tensor as Core
from tapegrad.errors import ArgumentError
from tapegrad.registry import call
from tapegrad.registry.space import SCALARS
from tapegrad.torch._dtypes import default_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def unpack(op: Any, name: str, value: Any, others: Sequence[Any]) -> tuple[Any, Any]:
    """Raw array and node of an argument that is not plainly a tensor of this style."""
    if isinstance(value, Core):
        found: tuple[Any, Any] = value.read()
        return found
    kind = type(value)
    if kind in SCALARS:
        if op.weak and any(isinstance(o, Core) for o in others):
            return value, None
        return default_of(kind).type(value), None
    if isinstance(value, np.generic):  # NumPy's numbers count as Python's
        return unpack(op, name, value.item(), others) if op.weak else (value, None)
    try:
        return call.unpack(op, name, value, others)
    except ArgumentError as error:
        position = list(op.arrays).index(name) + 1 if name in op.arrays else 1
        raise TypeError(
            f"{op.name}(): argument '{name}' (position {position}) must be Tensor, not {type(value).__name__}"
        ) from error


def no_tensor(name: str, given: Iterable[tuple[str, Any]], error: AttributeError) -> Exception:
    """What is raised where a function looked for a tensor's attribute on an argument that is none: as PyTorch has it, or the error.

    * `given`: the parameters, in order, each with its argument.
    """
    at = error.obj
    if isinstance(at, Core) or error.name not in _LOOKED_FOR:
        return error
    kind = type(at)
    shown = kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"
    for i, (parameter, value) in enumerate(given):
        if value is at:
            return TypeError(f"{name}(): argument '{parameter}' (position {i + 1}) must be Tensor, not {shown}")
        if isinstance(value, list | tuple):
            for k, item in enumerate(value):
                if item is at:
                    return TypeError(f"{name}(): expected Tensor as element {k} in argument {i}, but got {shown}")
    return error


#: What the functions of this style look for on a tensor first.
_LOOKED_FOR = frozenset(["array", "read", "node", "dim", "device", "is_sparse", "layout"])


def bound(function: Any, args: tuple[Any, ...], words: dict[str, Any]) -> Iterator[tuple[str, Any]]:
    """The parameters of a function, each with its argument in this call."""
    import inspect

    for parameter, value in inspect.signature(function).bind(*args, **words).arguments.items():
        yield ("input" if parameter in ("x", "self") else parameter), value
