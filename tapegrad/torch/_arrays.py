"""Between tensors and NumPy arrays: the one place where random numbers, files and loaders make and read tensors."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np


def made(raw: Any, *, requires_grad: bool = False) -> Any:
    """A tensor of a NumPy array, which it takes over."""
    from tapegrad.torch._tensor import fresh

    x = fresh(raw[()] if type(raw) is np.ndarray and raw.ndim == 0 else raw)
    if requires_grad:
        x.requires_grad_()
    return x


def parameter(x: Any, *, requires_grad: bool = True) -> Any:
    """A parameter with the value of a tensor."""
    from tapegrad.torch.nn.parameter import Parameter

    return Parameter(x, requires_grad)


def is_parameter(x: Any) -> bool:
    """Whether this is a parameter of a module."""
    from tapegrad.torch.nn.parameter import Parameter

    return isinstance(x, Parameter)


def is_tensor(x: Any) -> bool:
    """Whether this is a tensor."""
    from tapegrad.torch._tensor import Tensor

    return isinstance(x, Tensor)


def raw(x: Any) -> np.ndarray[Any, Any]:
    """The value of a tensor as a NumPy array, which must not be written to; of what is no tensor, that of NumPy."""
    if is_tensor(x):
        array, _ = x.read()
        return np.asarray(array)
    return np.asarray(x)


def fill(x: Any, values: np.ndarray[Any, Any]) -> Any:
    """The tensor, with these values written into it as any op in place writes."""
    from tapegrad.torch import _inplace

    return _inplace.update(x, lambda _: made(values.reshape(tuple(x.shape))))


def cpu() -> Any:
    """The device of all that is made here."""
    return facade().device("cpu")


def facade() -> Any:
    """The module `tapegrad.torch`, which imports what this module serves."""
    return importlib.import_module("tapegrad.torch")
