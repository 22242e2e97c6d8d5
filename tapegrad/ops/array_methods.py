"""The methods that arrays have elsewhere, for those who write `x.sum()`: each is the function of its name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tapegrad.core.tensor import Tensor
from tapegrad.registry.space import F


def _over_axes(name: str) -> Callable[..., Tensor]:
    def method(self: Tensor, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False, **words: Any) -> Tensor:
        found: Tensor = getattr(F, name)(self, axis=axis, keepdims=keepdims, **words)
        return found

    return _named(method, name)


def _named(method: Callable[..., Tensor], name: str) -> Callable[..., Tensor]:
    method.__name__ = method.__qualname__ = name
    method.__doc__ = f"`tapegrad.{name}` of this tensor."
    return method


def reshape(self: Tensor, *shape: Any) -> Tensor:
    """The same elements in another shape, given as one tuple or as several integers; one length may be -1."""
    found: Tensor = F.reshape(self, shape[0] if len(shape) == 1 else shape)
    return found


def astype(self: Tensor, dtype: Any) -> Tensor:
    """`tapegrad.astype` of this tensor."""
    found: Tensor = F.astype(self, dtype)
    return found


def squeeze(self: Tensor, axis: int | tuple[int, ...] | None = None) -> Tensor:
    """The tensor without an axis (or axes) of length 1; without all of them if `axis` is None."""
    axes = tuple(i for i, n in enumerate(self.shape) if n == 1) if axis is None else axis
    found: Tensor = F.squeeze(self, axes)
    return found


METHODS: dict[str, Callable[..., Tensor]] = {
    **{
        name: _over_axes(name)
        for name in ("sum", "mean", "prod", "max", "min", "std", "var", "all", "any", "argmax", "argmin")
    },
    "reshape": reshape,
    "astype": astype,
    "squeeze": squeeze,
}
