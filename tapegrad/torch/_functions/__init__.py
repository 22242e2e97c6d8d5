"""The functions of `torch` and the methods of its tensors, most of them rows of tables: a signature, and what it computes."""

from __future__ import annotations

from typing import Any

from tapegrad.torch._functions import (
    convert,
    copying,
    create,
    files,
    index,
    join,
    linear,
    overloads,
    pointwise,
    random,
    random_fill,
    reduce,
    scatter,
    softmax,
)
from tapegrad.torch._functions._build import FUNCTIONS, METHODS
from tapegrad.torch._tensor import Tensor

TABLES = (pointwise, reduce, create, join, index, scatter, linear, overloads, softmax, convert, copying, random, random_fill, files)


def install() -> dict[str, Any]:
    """Give the tensors' class its methods, but for those that it has; the functions by name."""
    own = vars(Tensor)
    for name, member in METHODS.items():
        if name not in own:
            setattr(Tensor, name, member)
    return FUNCTIONS
