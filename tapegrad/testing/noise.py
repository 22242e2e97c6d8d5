"""Random numbers of directions and cotangents: none of them small, of either sign, or with any phase."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, final

import numpy as np

_MANY = 4096
_STRIDE = 2654435761  # odd and large, so that neighbouring seeds begin far from each other


def noise(rng: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    """Numbers whose sizes lie between 0.2 and 1, of either sign, or with any phase."""
    x = 1.6 * rng.random(shape) - 0.8
    x = x + np.copysign(0.2, x)
    if dtype.kind == "c":
        x = x * np.exp(2j * np.pi * rng.random(shape))
    return np.asarray(x) if dtype.char in "dD" else np.asarray(x).astype(dtype)


@final
class Table:
    """Noise that is drawn once for a check; each input begins at a place of its own.

    Drawn anew for each array, it took a tenth of a check of small ones.
    """

    __slots__ = ("_complex", "_real", "rng")

    def __init__(self, seed: int) -> None:
        self.rng = np.random.Generator(np.random.PCG64(seed))
        self._real = noise(self.rng, (_MANY,), np.dtype(np.float64))
        self._complex: Any = None

    def rows(self, dtype: Any) -> Any:
        """The table of numbers for a dtype."""
        if dtype.kind != "c":
            return self._real
        if self._complex is None:
            self._complex = noise(self.rng, (_MANY,), np.dtype(np.complex128))
        return self._complex


@lru_cache(16)
def table(seed: int) -> Table:
    """The table of a seed."""
    return Table(seed)


@final
class Noise:
    """Noise from a table, for one input."""

    __slots__ = ("_at", "_rng", "_state", "seed", "table")

    def __init__(self, table: Table, seed: int) -> None:
        self.table = table
        self.seed = seed
        self._at = seed * _STRIDE % _MANY
        self._state = seed
        self._rng: np.random.Generator | None = None

    def index(self, n: int) -> int:
        """One of n places."""
        self._state = (self._state + 0x9E3779B97F4A7C15) % 2**64
        mixed = (self._state ^ (self._state >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        return (mixed ^ (mixed >> 27)) % max(n, 1)

    @property
    def rng(self) -> np.random.Generator:
        """A generator for what else is random, made where it is needed: it costs as much as a gradient."""
        if self._rng is None:
            self._rng = np.random.Generator(np.random.PCG64(self.seed))
        return self._rng

    def like(self, x: Any) -> Any:
        """Noise of the shape and dtype of an array."""
        n = math.prod(x.shape)
        if n > _MANY // 8:
            return noise(self.rng, x.shape, x.dtype)
        if self._at + n > _MANY:
            self._at = (self._at * 7 + 3) % (_MANY - n)
        part = self.table.rows(x.dtype)[self._at : self._at + n].reshape(x.shape)
        self._at += n
        return part.copy() if x.dtype.char in "dD" else part.astype(x.dtype)
