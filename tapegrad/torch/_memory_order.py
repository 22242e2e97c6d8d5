"""The order of a tensor's elements in memory, in which PyTorch draws random numbers for it.

A transposed tensor has its dropout drawn along its memory, and so have `rand_like` and its kin, whose results are laid out
like the tensor.  What ops have computed counts as laid out in the usual order: NumPy may have chosen another, PyTorch has not.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.kernels.batched import Batched
from tapegrad.torch._views import stepped, view_of

Order = tuple[int, ...]


def memory_order(x: Any) -> Order | None:
    """The axes of a view from the longest step in memory to the shortest; None where that is the usual order, or it is no view."""
    info = view_of(x)
    if info is None or info.cut or len(x.array.shape) < 2 or type(x.array) is Batched:
        return None
    raw = x.array
    if type(raw) is np.ndarray and raw.flags.c_contiguous:
        return None
    steps = _steps(x)
    order = tuple(sorted(range(len(steps)), key=lambda k: -abs(steps[k])))
    is_usual = order == tuple(range(len(steps)))
    return None if is_usual or any(s == 0 and n > 1 for s, n in zip(steps, raw.shape, strict=True)) else order


def _steps(x: Any) -> Order:
    """Steps in memory as they would be were the base of a view laid out in the usual order."""
    info: Any = view_of(x)
    base = info.base
    above = view_of(base)
    if above is not None and not above.cut:
        return tuple(np.empty(x.array.shape, np.int8).strides)
    return tuple(stepped(info, np.empty(base.array.shape, np.int8)).strides)


def permuted(shape: Any, order: Order) -> Order:
    """A shape in the order of memory."""
    return tuple(shape[k] for k in order)


def restored(values: Any, order: Order) -> Any:
    """Values in the order of memory, as a view in the order of axes."""
    return values.transpose(tuple(int(k) for k in np.argsort(order)))
