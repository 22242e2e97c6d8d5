"""`tf.debugging`: what is stated of ranks and shapes is checked at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import convert, host
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.shapes import TensorShape
from tapegrad.tf.sparse_tensor import SparseTensor
from tapegrad.tf.tensor import Tensor

#: What stands for any number of axes at the beginning of a shape.
_ANY_AXES = (Ellipsis, "*", "...")


def _rank(rank: Any) -> int:
    """A rank as a user gives it, as an integer."""
    raw = host(rank)
    if raw.dtype.kind not in "iu":
        raise TypeError(f"rank must be of type tf.int32 or tf.int64; got {convert(rank).dtype!r}")
    if raw.ndim:
        raise ValueError(f"Rank must be a scalar, got shape {TensorShape(raw.shape)}")
    return int(raw)


def _said(message: Any) -> str:
    return f"{message} " if message else ""


@export("debugging.assert_rank", "assert_rank")
def assert_rank(x: Any, rank: Any, message: Any = None, name: str | None = None) -> None:
    """Raises ValueError unless the tensor has that many axes."""
    x, wanted = convert(x), _rank(rank)
    if x.array.ndim != wanted:
        raise ValueError(f"{_said(message)}Tensor must have rank {wanted}.  Received rank {x.array.ndim}, shape {x.shape}")


@export("debugging.assert_rank_at_least")
def assert_rank_at_least(x: Any, rank: Any, message: Any = None, name: str | None = None) -> None:
    """Raises ValueError unless the tensor has at least that many axes."""
    x, least = convert(x), _rank(rank)
    if x.array.ndim < least:
        raise ValueError(f"{_said(message)}Tensor must have rank at least {least}.  Received rank {x.array.ndim}, shape {x.shape}")


@export("debugging.assert_rank_in")
def assert_rank_in(x: Any, ranks: Any, message: Any = None, name: str | None = None) -> None:
    """Raises ValueError unless the number of axes is one of these."""
    x, allowed = convert(x), tuple(_rank(r) for r in ranks)
    if x.array.ndim not in allowed:
        raise ValueError(f"{_said(message)}Tensor must have rank in {allowed}.  Received rank {x.array.ndim}, shape {x.shape}")


@export("debugging.assert_scalar")
def assert_scalar(tensor: Any, message: Any = None, name: str | None = None) -> Tensor:
    """The tensor itself; raises ValueError unless it has no axes."""
    x = convert(tensor)
    if x.array.ndim:
        raise ValueError(f"{_said(message)}Expected scalar shape, saw shape: {x.shape}.")
    return x


@export("debugging.assert_shapes")
def assert_shapes(shapes: Any, data: Any = None, summarize: Any = None, message: Any = None, name: str | None = None) -> None:
    """Raises ValueError unless tensors have shapes in which the same symbol means the same length.

    A shape is a sequence of lengths, symbols and None (or ".", for any length); "*" or `...` in the first place stands for any
    axes.  A single number counts as a vector of length 1.

    >>> import tapegrad.tf as tf
    >>> tf.debugging.assert_shapes([(tf.ones([2, 3]), ("rows", "columns")), (tf.ones([3]), ("columns",))])
    """
    known: dict[Any, tuple[int, str]] = {}
    for k, (x, wanted) in enumerate(shapes.items() if isinstance(shapes, dict) else shapes):
        if wanted is None:
            continue
        given = x.deref() if hasattr(x, "deref") else x
        actual = tuple(given.lengths) if isinstance(given, SparseTensor) else tuple(convert(given).array.shape)
        for place, symbol, n in _matched(actual, wanted, f"Tensor {k} of shape {actual}", _said(message)):
            _agree(known, symbol, n, f"Tensor {k} dimension {place}", _said(message))


def _matched(actual: tuple[int, ...], wanted: Any, what: str, said: str) -> list[tuple[int, Any, int]]:
    """Each axis of a tensor, what is asked of it, and its length."""
    if not hasattr(wanted, "__iter__") and not hasattr(wanted, "__getitem__"):
        raise ValueError(
            f"{said}{what}.  Specified shape must be an iterable.  An iterable has the attribute `__iter__` or `__getitem__`.  "
            f"Received specified shape: {wanted}"
        )
    symbols = [s.item() if isinstance(s, np.generic) else s for s in wanted]
    symbols = [int(s) if isinstance(s, str) and s.isdigit() else s for s in symbols]
    for i, s in enumerate(symbols[1:], 1):
        if s in _ANY_AXES:
            raise ValueError(
                f"{said}{what} specified shape index {i}.  Symbol `...` or `*` for a variable number of unspecified dimensions is "
                "only allowed as the first entry"
            )
    if symbols and symbols[0] in _ANY_AXES:
        symbols = symbols[1:]
        if len(symbols) > len(actual):
            raise ValueError(f"{said}{what} must have rank at least {len(symbols)}.  Received rank {len(actual)}")
        return [(k - len(symbols), s, actual[k - len(symbols)]) for k, s in enumerate(symbols)]
    if len(symbols) + len(actual) == 1:  # a number, and a vector of length 1
        symbols, actual = symbols or [1], actual or (1,)
    if len(symbols) != len(actual):
        raise ValueError(f"{said}{what} must have rank {len(symbols)}.  Received rank {len(actual)}")
    return list(zip(range(len(actual)), symbols, actual, strict=True))


def _agree(known: dict[Any, tuple[int, str]], symbol: Any, n: int, what: str, said: str) -> None:
    if symbol is None or symbol == ".":
        return
    if isinstance(symbol, int) or (hasattr(symbol, "value") and not isinstance(symbol, str)):
        expected, source = int(getattr(symbol, "value", symbol)), "Specified explicitly"
    elif not isinstance(symbol, str):
        raise invalid(None, f"{said}{what}: a symbol is a string, an integer or None, got {symbol!r}")
    else:
        expected, source = known.setdefault(symbol, (n, f"Specified by tensor {what.removeprefix('Tensor ')}"))
    if expected != n:
        raise ValueError(f"{said}{source}.  {what} must have size {expected}.  Received size {n}")
