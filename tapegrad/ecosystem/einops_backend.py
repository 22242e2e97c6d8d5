"""einops on tensors: `einops.rearrange(x, "b c h w -> b (h w) c")` records.

einops finds a backend by asking every subclass of its base class that it knows; this one answers for tensors of all
styles, and its results have the style of what they come from.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from tapegrad.core.tensor import Tensor
from tapegrad.dtypes import is_inexact
from tapegrad.ecosystem.looks import dressed, look_of
from tapegrad.ops.convert import asarray
from tapegrad.ops.einsum import einsum
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from collections.abc import Sequence


def install() -> None:
    """Declare the backend; the base class keeps it."""
    if not _DECLARED:
        _DECLARED.append(_backend(importlib.import_module("einops._backends").AbstractBackend))


_DECLARED: list[type] = []


def _backend(base: Any) -> type:
    class TapegradBackend(base):  # type: ignore[misc]
        framework_name = "tapegrad"

        def is_appropriate_type(self, tensor: Any) -> bool:
            return isinstance(tensor, Tensor)

        def from_numpy(self, x: Any) -> Tensor:
            return asarray(x)

        def to_numpy(self, x: Any) -> Any:
            return dressed(x, "").numpy()

        def arange(self, start: int, stop: int) -> Any:
            return F.arange(start, stop)

        def shape(self, x: Any) -> tuple[int, ...]:
            return tuple(x.array.shape)

        def reshape(self, x: Any, shape: Sequence[int]) -> Any:
            return _like(x, F.reshape(x, tuple(shape)))

        def transpose(self, x: Any, axes: Sequence[int]) -> Any:
            return _like(x, F.permute_dims(x, tuple(axes)))

        def reduce(self, x: Any, operation: str, axes: Sequence[int]) -> Any:
            return _like(x, getattr(F, operation)(x, axis=tuple(axes)))

        def stack_on_zeroth_dimension(self, tensors: list[Any]) -> Any:
            return _like(tensors, F.stack(tensors))

        def concat(self, tensors: list[Any], axis: int) -> Any:
            return _like(tensors, F.concat(tensors, axis=axis))

        def tile(self, x: Any, repeats: Sequence[int]) -> Any:
            return _like(x, F.tile(x, tuple(repeats)))

        def add_axis(self, x: Any, new_position: int) -> Any:
            return _like(x, F.expand_dims(x, axis=new_position))

        def is_float_type(self, x: Any) -> bool:
            return bool(is_inexact(x.array.dtype))

        def einsum(self, pattern: str, *x: Any) -> Any:
            return _like(x, einsum(pattern, *x))

    return TapegradBackend


def _like(given: Any, y: Any) -> Any:
    """A result in the look of what it comes from."""
    return dressed(y, look_of([given]))
