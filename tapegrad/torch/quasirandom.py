"""Points that fill a cube evenly: Sobol's sequence."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.sobol import BITS as _BITS
from tapegrad.sobol import DIMENSIONS as _DIMENSIONS
from tapegrad.sobol import directions
from tapegrad.torch import _arrays
from tapegrad.torch._missing import refusing


class SobolEngine:
    """An engine that draws points in [0, 1)**dimension, which are PyTorch's; a seed scrambles them as it does there.

    S. Joe, F. Kuo, "Constructing Sobol sequences with better two-dimensional projections", 2008; A. Owen, "Scrambling Sobol and
    Niederreiter-Xing points", 1998.
    """

    MAXBIT, MAXDIM = _BITS, _DIMENSIONS

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        if not 1 <= dimension <= _DIMENSIONS:
            raise ValueError(f"Supported range of dimensionality for SobolEngine is [1, {_DIMENSIONS}]")
        self.seed, self.scramble, self.dimension = seed, scramble, dimension
        self._directions = directions(dimension)
        self._shift = np.zeros(dimension, np.int64)
        if scramble:
            self._scramble()
        self._at = self._shift.copy()
        self.num_generated = 0

    @property
    def sobolstate(self) -> Any:
        """The direction numbers."""
        return _arrays.made(self._directions.copy())

    @property
    def shift(self) -> Any:
        """What is added, bit by bit, to all points."""
        return _arrays.made(self._shift.copy())

    @property
    def quasi(self) -> Any:
        """The last point, as integers."""
        return _arrays.made(self._at.copy())

    def _scramble(self) -> None:
        """Random digits added, and each digit mixed with those before it by a triangular matrix of bits."""
        torch = _arrays.facade()
        generator = None if self.seed is None else torch.Generator().manual_seed(self.seed)
        drawn = _arrays.raw(torch.randint(2, (self.dimension, _BITS), generator=generator))
        self._shift = drawn @ (1 << np.arange(_BITS))
        matrices = _arrays.raw(torch.randint(2, (self.dimension, _BITS, _BITS), generator=generator)).copy()
        matrices = np.tril(matrices, -1) | np.eye(_BITS, dtype=matrices.dtype)
        places = np.arange(_BITS - 1, -1, -1)  # the first digit is the highest bit
        digits = self._directions[:, None, :] >> places[:, None] & 1
        self._directions = ((matrices @ digits & 1) << places[:, None]).sum(axis=1)

    def draw(self, n: int = 1, out: Any = None, dtype: Any = None) -> Any:
        """The next `n` points, in rows."""
        torch = _arrays.facade()
        points = self._next(n)
        y = _arrays.made(points / 2**_BITS).to(torch.get_default_dtype() if dtype is None else dtype)
        return y if out is None else out.resize_as_(y).copy_(y)

    def _next(self, n: int) -> Any:
        """The next points as integers: each differs from the one before in the direction of the lowest zero bit of its number."""
        numbers = np.arange(max(self.num_generated - 1, 0), self.num_generated + n - 1)
        steps = [int(~k & k + 1).bit_length() - 1 for k in numbers.tolist()]
        points = np.bitwise_xor.accumulate(np.concatenate([self._at[None], self._directions[:, steps].T]), axis=0)
        points = points if not self.num_generated else points[1:]
        if n:
            self._at = points[-1]
        self.num_generated += n
        return points[:n]

    def draw_base2(self, m: int, out: Any = None, dtype: Any = None) -> Any:
        """The next 2**m points, which with those before must be a power of 2 in number, for they are balanced then."""
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(
                "The balance properties of Sobol' points require n to be a power of 2. "
                f"{self.num_generated} points have been previously generated, then: n={self.num_generated}+2**{m}={total}. "
                "If you still want to do this, please use 'SobolEngine.draw()' instead."
            )
        return self.draw(2**m, out, dtype)

    def reset(self) -> SobolEngine:
        """Go back to the first point."""
        self._at, self.num_generated = self._shift.copy(), 0
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leave out the next `n` points."""
        self._next(n)
        return self

    def __repr__(self) -> str:
        parts = [f"dimension={self.dimension}"] + ["scramble=True"] * self.scramble
        return f"SobolEngine({', '.join(parts + ([] if self.seed is None else [f'seed={self.seed}']))})"


__getattr__ = refusing(globals())
