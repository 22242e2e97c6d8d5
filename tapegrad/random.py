"""Random numbers: explicit generators, and a default one that can be seeded.

>>> import tapegrad as tg
>>> tg.random.seed(7)
>>> tg.random.normal((2,))
Tensor([ 1.5219693, -1.1441058], dtype=float32)
"""

from __future__ import annotations

from typing import Any, final

import numpy as np

from tapegrad.core.tensor import Tensor, tensor
from tapegrad.dtypes import as_dtype, float32, int64, is_inexact
from tapegrad.errors import DTypeError
from tapegrad.ops.convert import raw_of

_DIRECT = frozenset(["float32", "float64"])


@final
class Generator:
    """A source of random numbers with a state of its own (NumPy's PCG64).

    `seed` is an integer, or None for one from the operating system.  The same seed gives the same numbers.
    """

    __slots__ = ("_numpy",)

    def __init__(self, seed: int | None = None) -> None:
        self._numpy = np.random.default_rng(seed)

    @property
    def state(self) -> Any:
        """The state, to be put back by assigning it."""
        return self._numpy.bit_generator.state

    @state.setter
    def state(self, value: Any) -> None:
        self._numpy.bit_generator.state = value

    def normal(self, shape: Any = (), *, mean: float = 0.0, std: float = 1.0, dtype: Any = float32) -> Tensor:
        """Numbers from a normal distribution."""
        dtype = _floating(dtype)
        drawn = self._numpy.standard_normal(shape, dtype if dtype.name in _DIRECT else np.float32)
        return _made(drawn * std + mean if std != 1 or mean != 0 else drawn, dtype)

    def uniform(self, shape: Any = (), *, low: float = 0.0, high: float = 1.0, dtype: Any = float32) -> Tensor:
        """Numbers evenly spread over [low, high)."""
        dtype = _floating(dtype)
        drawn = self._numpy.random(shape, dtype if dtype.name in _DIRECT else np.float32)
        return _made(drawn * (high - low) + low if (low, high) != (0, 1) else drawn, dtype)

    def integers(self, shape: Any = (), *, low: int = 0, high: int, dtype: Any = int64) -> Tensor:
        """Integers evenly spread over low, ..., high - 1."""
        return _made(self._numpy.integers(low, high, size=shape), as_dtype(dtype))

    def permutation(self, x: Any) -> Tensor:
        """The numbers 0, ..., x - 1 in random order, or the rows of an array in random order."""
        if isinstance(x, int):
            return _made(self._numpy.permutation(x), int64)
        raw = raw_of(x)
        return tensor(raw[self._numpy.permutation(len(raw))])

    def bernoulli(self, p: float, shape: Any = (), *, dtype: Any = float32) -> Tensor:
        """Ones with probability `p`, else zeros."""
        return _made(self._numpy.random(shape) < p, as_dtype(dtype))


def _floating(dtype: Any) -> np.dtype[Any]:
    dtype = as_dtype(dtype)
    if not is_inexact(dtype) or dtype.kind == "c":
        raise DTypeError(f"expected a real floating dtype, got {dtype}")
    return dtype


def _made(drawn: Any, dtype: np.dtype[Any]) -> Tensor:
    raw = np.asarray(drawn).astype(dtype, copy=False)
    return tensor(raw[()] if raw.ndim == 0 else raw)


_default: list[Generator] = []


def seed(value: int | None) -> None:
    """Start the default generator anew."""
    _default[:] = [Generator(value)]


def default_generator() -> Generator:
    """The generator that the functions of this module draw from."""
    if not _default:  # made when it is first used: NumPy's generators take 9 ms to import
        seed(None)
    return _default[0]


def normal(shape: Any = (), *, mean: float = 0.0, std: float = 1.0, dtype: Any = float32) -> Tensor:
    """Numbers from a normal distribution, from the default generator."""
    return default_generator().normal(shape, mean=mean, std=std, dtype=dtype)


def uniform(shape: Any = (), *, low: float = 0.0, high: float = 1.0, dtype: Any = float32) -> Tensor:
    """Numbers evenly spread over [low, high), from the default generator."""
    return default_generator().uniform(shape, low=low, high=high, dtype=dtype)


def integers(shape: Any = (), *, low: int = 0, high: int, dtype: Any = int64) -> Tensor:
    """Integers evenly spread over low, ..., high - 1, from the default generator."""
    return default_generator().integers(shape, low=low, high=high, dtype=dtype)


def permutation(x: Any) -> Tensor:
    """The numbers 0, ..., x - 1, or the rows of an array, in random order, from the default generator."""
    return default_generator().permutation(x)


def bernoulli(p: float, shape: Any = (), *, dtype: Any = float32) -> Tensor:
    """Ones with probability `p`, else zeros, from the default generator."""
    return default_generator().bernoulli(p, shape, dtype=dtype)
