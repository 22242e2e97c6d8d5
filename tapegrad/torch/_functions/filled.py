"""Tensors made like another, and tensors filled with one value."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.torch._construct import raw_from, requiring
from tapegrad.torch._dtypes import numpy_of
from tapegrad.torch._functions._build import FUNCTIONS, METHODS
from tapegrad.torch._functions.create import in_batches
from tapegrad.torch._inplace import in_place
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor, fresh, wrap


def _new(name: str) -> Any:
    make = FUNCTIONS[name.removeprefix("new_")]

    def made(self: Any, *size: Any, dtype: Any = None, device: Any = None, requires_grad: bool = False, **words: Any) -> Any:
        for known in ("layout", "pin_memory"):
            words.pop(known, None)
        where = self.device if device is None else device
        return in_batches(make(*size, dtype=dtype or self.dtype, device=where, requires_grad=requires_grad, **words), self.array)

    made.__name__ = made.__qualname__ = name
    return made


for _name in ("new_zeros", "new_ones", "new_empty", "new_full"):
    METHODS[_name] = _new(_name)


def _new_tensor(self: Any, data: Any, *, dtype: Any = None, device: Any = None, requires_grad: bool = False) -> Any:
    """A copy of some values in this tensor's dtype."""
    x = fresh(raw_from(data, numpy_of(dtype or self.dtype), copy=True), self.device if device is None else device)
    return requiring(x) if requires_grad else x


def _legacy_new(self: Any, *args: Any, device: Any = None) -> Any:
    """A tensor of this dtype, of a shape or of values."""
    from tapegrad.torch._legacy import construct

    return construct(self.dtype, args, {"device": self.device if device is None else device})


METHODS["new_tensor"] = _new_tensor
METHODS["new"] = _legacy_new


def _fill(self: Any, value: Any) -> Any:
    if isinstance(value, Tensor):
        if value.array.shape:
            raise RuntimeError(
                f"fill_ only supports 0-dimension value tensor but got tensor with {len(value.array.shape)} dimensions."
            )
        return S.broadcast_to(S.astype(value, self.array.dtype), self.array.shape)
    return wrap(_full(self.array, value))


def _full(raw: Any, value: Any) -> Any:
    made = np.full(raw.shape, value, raw.dtype)
    return made if made.ndim else made[()]


def _zeros(raw: Any) -> Any:
    made = np.zeros(raw.shape, raw.dtype)
    return made if made.ndim else made[()]


METHODS["fill_"] = in_place(_fill, "fill_")
METHODS["zero_"] = in_place(lambda self: wrap(_zeros(self.array)), "zero_")
FUNCTIONS["fill"] = lambda input, value: _fill(input, value)
FUNCTIONS["zero_"] = METHODS["zero_"]
