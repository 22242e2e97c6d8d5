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
from tapegrad.errors import DTypeError, ShapeError
from tapegrad.ops.convert import asarray
from tapegrad.registry.space import F

__all__ = ["Generator", "bernoulli", "default_generator", "integers", "normal", "permutation", "seed", "uniform"]

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
        dtype, shape = _floating("normal", dtype), _sizes("normal", shape)
        if not std >= 0:
            raise ValueError(f"normal(std=...): expected std >= 0, got {std}")
        drawn = self._numpy.standard_normal(shape, dtype if dtype.name in _DIRECT else np.float32)
        return _made(drawn * std + mean if std != 1 or mean != 0 else drawn, dtype)

    def uniform(self, shape: Any = (), *, low: float = 0.0, high: float = 1.0, dtype: Any = float32) -> Tensor:
        """Numbers evenly spread over [low, high)."""
        dtype, shape = _floating("uniform", dtype), _sizes("uniform", shape)
        if not low < high:
            raise ValueError(f"uniform(low=..., high=...): expected low < high, got {low} and {high}")
        drawn = self._numpy.random(shape, dtype if dtype.name in _DIRECT else np.float32)
        made = np.asarray(drawn * (high - low) + low if (low, high) != (0, 1) else drawn).astype(dtype, copy=False)
        top = dtype.type(high)  # rounding may reach it
        return _made(np.where(made < top, made, np.nextafter(top, dtype.type(low))), dtype)

    def integers(self, shape: Any = (), *, low: int = 0, high: int, dtype: Any = int64) -> Tensor:
        """Integers evenly spread over low, ..., high - 1."""
        dtype = as_dtype(dtype)
        if dtype.kind not in "iu":
            raise DTypeError(f"integers(dtype=...): expected an integer dtype, got {dtype}")
        if not low < high:
            raise ValueError(f"integers(low=..., high=...): expected low < high, got {low} and {high}")
        return _made(self._numpy.integers(low, high, size=_sizes("integers", shape), dtype=dtype), dtype)

    def permutation(self, x: Any) -> Tensor:
        """The numbers 0, ..., x - 1 in random order, or the rows of an array in random order, which is recorded."""
        if isinstance(x, int | np.integer):
            return _made(self._numpy.permutation(x), int64)
        rows = asarray(x)
        if not rows.shape:
            raise ShapeError("permutation(x): expected an integer or an array with rows, got a 0-d array")
        found: Tensor = F.take(rows, self._numpy.permutation(rows.shape[0]), axis=0)
        return found

    def bernoulli(self, p: float, shape: Any = (), *, dtype: Any = float32) -> Tensor:
        """Ones with probability `p`, else zeros."""
        if not 0 <= p <= 1:
            raise ValueError(f"bernoulli(p, ...): expected 0 <= p <= 1, got {p}")
        return _made(self._numpy.random(_sizes("bernoulli", shape)) < p, as_dtype(dtype))


def _floating(what: str, dtype: Any) -> np.dtype[Any]:
    dtype = as_dtype(dtype)
    if not is_inexact(dtype) or dtype.kind == "c":
        raise DTypeError(f"{what}(dtype=...): expected a real floating dtype, got {dtype}")
    return dtype


def _sizes(what: str, shape: Any) -> Any:
    """A shape, refused here where NumPy would not say which argument is wrong."""
    for n in shape if isinstance(shape, tuple | list) else (shape,):
        if not hasattr(n, "__index__") or n.__index__() < 0:
            raise ShapeError(f"{what}(shape, ...): expected integers >= 0, got {shape!r}")
    return shape


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
