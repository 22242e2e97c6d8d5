"""Indices of every form that NumPy has, drawn for a shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    Generator = np.random.Generator


def draw_index(rng: Generator, shape: tuple[int, ...]) -> Any:
    """An integer, a slice, `...`, None, integer arrays (several, repeated), a mask, or a tuple of these."""
    kind = rng.integers(6)
    if kind == 0:
        return rng.random(shape) < 0.5
    if kind == 1:
        return _basic(rng, shape[0]) if shape else ...
    if kind == 2 and shape and shape[0]:
        return rng.integers(-shape[0], shape[0], _small_shape(rng))
    parts = [_one(rng, n, arrays=bool(kind > 3)) for n in shape]
    return _tuple(rng, parts)


def _small_shape(rng: Generator) -> tuple[int, ...]:
    return tuple(int(n) for n in rng.integers(0, 4, rng.integers(1, 3)))


def _basic(rng: Generator, n: int) -> Any:
    if n and rng.random() < 0.4:
        return int(rng.integers(-n, n))
    bounds: list[int | None] = [None, *range(-n - 1, n + 2)]
    start, stop = (bounds[rng.integers(len(bounds))] for _ in range(2))
    return slice(start, stop, [None, 1, 2, -1, -2, 3][rng.integers(6)])


def _one(rng: Generator, n: int, *, arrays: bool) -> Any:
    """The index of one axis; integer arrays are of shape (3,) or (2, 1), which broadcast against each other."""
    if arrays and n and rng.random() < 0.5:
        return rng.integers(-n, n, [(3,), (2, 1), (1,)][rng.integers(3)])
    if arrays and rng.random() < 0.2 and 0 < n <= 3:
        mask = np.zeros(n, bool)
        mask[: min(n, 1)] = True  # one element: fits to whatever else there is
        return mask
    return _basic(rng, n)


def _tuple(rng: Generator, parts: list[Any]) -> tuple[Any, ...]:
    """Parts with some of the last left out, perhaps an ellipsis, perhaps a new axis."""
    kept = len(parts) - int(rng.random() < 0.3)
    made = parts[: max(kept, 0)]
    if rng.random() < 0.3:
        at = int(rng.integers(len(made) + 1))
        # what follows an ellipsis counts from the back, so it is put where the axes stay the same
        made.insert(len(made) if kept < len(parts) else at, ...)
    if rng.random() < 0.3:
        made.insert(int(rng.integers(len(made) + 1)), None)
    return tuple(made)
