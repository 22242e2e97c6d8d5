"""Windows that slide over the spatial axes of (N, *S, C): what convolutions and pooling have in common."""

from __future__ import annotations

from operator import index
from typing import Any

from tapegrad.errors import ArgumentError, ShapeError
from tapegrad.kernels.numpy_conv import output_size
from tapegrad.kernels.remembered import remembered

Ints = tuple[int, ...]
Pairs = tuple[tuple[int, int], ...]


def numbers(op: str, name: str, value: Any, rank: int, least: int = 1) -> Ints:
    """A number, or one for each spatial axis, as a tuple."""
    if type(value) is int and value >= least:
        return (value,) * rank
    try:
        found = tuple(map(index, value)) if hasattr(value, "__iter__") else (index(value),) * rank
    except TypeError:
        found = ()
    if len(found) != rank or min(found) < least:
        raise ArgumentError(f"{op}: expected {name} >= {least}, one or {rank} integers, got {value!r}")
    return found


def _pair(value: Any) -> tuple[int, int]:
    """Two integers, or one twice."""
    before, after = value if hasattr(value, "__iter__") else (value, value)
    return index(before), index(after)


def pairs(op: str, value: Any, size: Ints, window: Ints, stride: Ints, dilation: Ints) -> Pairs:
    """Padding before and after each axis: from an integer, one for each axis, pairs, "valid", or "same".

    With "same" a window has ceil(size / stride) places; what is odd goes behind.
    """
    rank = len(window)
    if isinstance(value, str) and value == "valid":
        return ((0, 0),) * rank
    if isinstance(value, str) and value == "same":
        found = []
        for n, k, s, d in zip(size, window, stride, dilation, strict=True):
            total = max((-(-n // s) - 1) * s + d * (k - 1) + 1 - n, 0)
            found.append((total // 2, total - total // 2))
        return tuple(found)
    if type(value) is int and value >= 0:
        return ((value, value),) * rank
    try:
        made = tuple(_pair(p) for p in (value if hasattr(value, "__iter__") else (value,) * rank))
    except (TypeError, ValueError):
        made = ()
    if len(made) != rank or min((*made, (0, 0)), key=min) < (0, 0) or any(min(p) < 0 for p in made):
        raise ArgumentError(
            f"{op}: expected padding as an integer >= 0, one or a pair (before, after) for each of {rank} axes, "
            f'"same" or "valid", got {value!r}'
        )
    return made


@remembered
def places(op: str, size: Ints, window: Ints, stride: Ints, padding: Pairs, dilation: Ints) -> Ints:
    """How many places a window has along each axis.  Raises ShapeError if it fits nowhere."""
    out = output_size(size, window, stride, padding, dilation)
    if any(n < 0 for n in out) or any(n == 0 and m for n, m in zip(out, size, strict=True)):
        spread = tuple(d * (k - 1) + 1 for k, d in zip(window, dilation, strict=True))
        padded = tuple(n + lo + hi for n, (lo, hi) in zip(size, padding, strict=True))
        raise ShapeError(f"{op}: expected a window no larger than the padded input, got {spread} and {padded}")
    return tuple(max(n, 0) for n in out)


def channels_last(F: Any, x: Any) -> Any:
    """(N, C, *S) as (N, *S, C)."""
    rank = len(x.shape)
    return F.permute_dims(x, (0, *range(2, rank), 1))


def channels_first(F: Any, x: Any) -> Any:
    """(N, *S, C) as (N, C, *S)."""
    rank = len(x.shape)
    return F.permute_dims(x, (0, rank - 1, *range(1, rank - 1)))
