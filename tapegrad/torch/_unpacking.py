"""What ops take besides tensors: numbers, NumPy's arrays, tensors of the other styles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.core.tensor import Tensor as Core
from tapegrad.errors import ArgumentError
from tapegrad.registry import call
from tapegrad.registry.space import SCALARS
from tapegrad.torch._dtypes import default_of
from tapegrad.torch._refusals import refused_by_caller

if TYPE_CHECKING:
    from collections.abc import Sequence


def unpack(op: Any, name: str, value: Any, others: Sequence[Any]) -> tuple[Any, Any]:
    """Raw array and node of an argument that is not plainly a tensor of this style."""
    if isinstance(value, Core):
        found: tuple[Any, Any] = value.read()
        return found
    kind = type(value)
    if kind in SCALARS:
        if op.weak and any(isinstance(o, Core) for o in others):
            return value, None
        _refuse(value)
        return default_of(kind).type(value), None
    if isinstance(value, np.generic):  # NumPy's numbers count as Python's
        if not any(isinstance(o, Core) for o in others):
            _refuse(value)
        return unpack(op, name, value.item(), others) if op.weak else (value, None)
    if isinstance(value, np.ndarray):
        _refuse(value)
    try:
        return call.unpack(op, name, value, others)
    except ArgumentError as error:
        position = list(op.arrays).index(name) + 1 if name in op.arrays else 1
        raise TypeError(
            f"{op.name}(): argument '{name}' (position {position}) must be Tensor, not {type(value).__name__}"
        ) from error


def _refuse(value: Any) -> None:
    if (found := refused_by_caller(value, 3)) is not None:
        raise found
