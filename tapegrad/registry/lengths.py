"""Shapes of which only the running graph knows all lengths, as in a compiled function: whether two may be the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.registry.space import F, space_of_type

if TYPE_CHECKING:
    from tapegrad.core.tensor import Tensor


def may_agree(found: tuple[Any, ...], wanted: tuple[Any, ...]) -> bool:
    """Whether shapes are equal, or can be: a length that is no integer yet may be any."""
    return found == wanted or (
        len(found) == len(wanted)
        and all(a == b or not (isinstance(a, int) and isinstance(b, int)) for a, b in zip(found, wanted, strict=True))
    )


def brought_to(x: Tensor, shape: tuple[Any, ...]) -> Tensor:
    """A tensor whose shape may agree with another one, known to have that: the running graph sees to it."""
    if x.array.shape == shape:
        return x
    found: Tensor = F.reshape(x, shape)
    return found


def raw_brought_to(raw: Any, shape: tuple[Any, ...]) -> Any:
    """The same for a raw array."""
    return raw if raw.shape == shape else space_of_type(type(raw)).reshape(raw, shape)
