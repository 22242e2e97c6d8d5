"""Copying into tensors, and their memory."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.torch._functions._build import METHODS, method
from tapegrad.torch._functions.convert import dim
from tapegrad.torch._inplace import in_place
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor, wrap
from tapegrad.torch._views import store_of


def _copied(self: Any, src: Any) -> Any:
    shape = self.array.shape
    y = src if src.array.dtype == self.array.dtype else S.astype(src, self.array.dtype)
    if y.array.shape != shape:
        try:
            y = S.broadcast_to(y, shape)
        except (ValueError, RuntimeError):
            from tapegrad.torch._errors import broadcast_text

            raise RuntimeError(broadcast_text(shape, src.array.shape) or "output with shape "
                               f"{list(shape)} doesn't match the broadcast shape {list(src.array.shape)}") from None  # fmt: skip
    if y is not src:
        return y
    return S.positive(y) if y.array.dtype.kind != "b" else y.clone()  # NumPy has no +x of truths


_copy = in_place(_copied, "copy_")


@method
def copy_(self: Any, src: Any, non_blocking: bool = False) -> Any:
    """Write another tensor's values into this one."""
    if not isinstance(src, Tensor):
        raise TypeError(f"copy_(): argument 'other' (position 1) must be Tensor, not {src.__class__.__name__}")
    return _copy(self, src)


@method
def resize_(self: Any, *sizes: Any, memory_format: Any = None) -> Any:
    """Let this tensor have another shape; as many elements as fit stay, in the order of memory."""
    from tapegrad.torch._functions.create import lengths

    shape = lengths(sizes)
    if self.requires_grad:
        raise RuntimeError("cannot resize variables that require grad")
    if reshaped(self, shape):
        store_of(self).version += 1
    return self


def reshaped(self: Any, shape: tuple[int, ...]) -> bool:
    """Give this tensor another shape, without a word to its version; tell whether it had another one."""
    raw = np.asarray(self.read()[0])
    if tuple(raw.shape) != shape:
        n = math.prod(shape)
        if n == raw.size:
            made = raw.reshape(shape)
        else:
            made = np.zeros(n, raw.dtype)
            made[: raw.size] = raw.reshape(-1)[:n]
            made = made.reshape(shape)
        self.data = wrap(made)
        return True
    return False


@method
def resize_as_(self: Any, the_template: Any, memory_format: Any = None) -> Any:
    """Let this tensor have another's shape."""
    return resize_(self, *the_template.shape)


@method
def resize(self: Any, *sizes: Any) -> Any:
    """The older name of `reshape` for shapes of as many elements."""
    from tapegrad.torch._functions.create import lengths

    return self.reshape(lengths(sizes))


def _refuse_tracked(name: str, *tensors: Any) -> None:
    """Refuse to let a Python function compute on numbers whose gradient would be lost."""
    if any(x.requires_grad for x in tensors):
        raise RuntimeError(f"Can't call {name}() on Variable that requires grad. Use var.detach().{name}() instead.")


@method
def apply_(self: Any, callable: Any) -> Any:
    """Replace each element by what a Python function gives for it."""
    _refuse_tracked("apply_", self)
    raw = np.asarray(self.read()[0])
    made = np.array([callable(v) for v in raw.reshape(-1).tolist()], raw.dtype).reshape(raw.shape)
    return self.copy_(wrap(made))


@method
def map_(self: Any, tensor: Any, callable: Any) -> Any:
    """Replace each element by what a Python function gives for it and another tensor's."""
    _refuse_tracked("map_", self, tensor)
    return _mapped(self, callable, tensor)


@method
def map2_(self: Any, x: Any, y: Any, callable: Any) -> Any:
    """Replace each element by what a Python function gives for it and those of two other tensors."""
    _refuse_tracked("map2_", self, x, y)
    return _mapped(self, callable, x, y)


def _mapped(self: Any, callable: Any, *others: Any) -> Any:
    columns = (x.expand_as(self).reshape(-1).tolist() for x in (self, *others))
    made = np.array([callable(*values) for values in zip(*columns, strict=True)], self.array.dtype).reshape(self.array.shape)
    return self.copy_(wrap(made))


@method
def fill_diagonal_(self: Any, fill_value: Any, wrap: bool = False) -> Any:
    """Write a value onto the diagonal."""
    shape, axes = self.array.shape, dim(self)
    if axes < 2:
        raise RuntimeError("dimensions must larger than 1")
    if axes > 2 and len(set(shape)) > 1:
        raise RuntimeError("all dimensions of input must be of equal length")
    i = np.arange(min(shape))
    places = [i] * axes
    if wrap and axes == 2 and shape[0] > shape[1]:  # it begins anew one row below where it ended
        k = np.arange(0, shape[0] * shape[1], shape[1] + 1)
        places = list(np.divmod(k, shape[1]))
    self[tuple(_index(p) for p in places)] = fill_value
    return self


def _index(i: Any) -> Any:
    return wrap(i)


@method
def index_put_(self: Any, indices: Any, values: Any, accumulate: bool = False) -> Any:
    """Write values where indices say."""
    return METHODS["_index_put"](self, indices, values, accumulate)
