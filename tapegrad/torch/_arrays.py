"""Between tensors and NumPy arrays: the one place where random numbers, files and loaders make and read tensors."""

from __future__ import annotations

from typing import Any

import numpy as np


def made(raw: Any) -> Any:
    """A tensor of a NumPy array, which it takes over."""
    from tapegrad.torch._tensor import wrap

    return wrap(raw[()] if type(raw) is np.ndarray and raw.ndim == 0 else raw)


def is_tensor(x: Any) -> bool:
    """Whether this is a tensor."""
    from tapegrad.torch._tensor import Tensor

    return isinstance(x, Tensor)


def raw(x: Any) -> np.ndarray[Any, Any]:
    """The value of a tensor as a NumPy array, which must not be written to; of what is no tensor, that of NumPy."""
    if is_tensor(x):
        array, _ = x.read()
        return np.asarray(getattr(array, "bare", array))
    return np.asarray(x)


def fill(x: Any, values: np.ndarray[Any, Any]) -> Any:
    """The tensor, with these values written into it as `copy_` writes."""
    x.copy_(made(values.reshape(tuple(x.shape))))
    return x


def cpu() -> Any:
    """The device of all that is made here."""
    from tapegrad.torch import device

    return device("cpu")
