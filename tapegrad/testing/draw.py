"""Arguments for an op, drawn from a seed: what an op's ``laws=lambda draw: ...`` is called with."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, final

import numpy as np

from tapegrad.testing.index import draw_index

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    Array = np.ndarray[Any, Any]

#: Where values lie if nobody says.
USUAL = (-2.0, 2.0)
_FLOATS = ("float64", "float64", "float32")
_LARGEST = 4  # of a size that no strategy has chosen


@final
class Known:
    """What a draw knows of an array that it gave: where its elements may go, and along which directions."""

    __slots__ = ("array", "gap", "high", "low", "project")

    def __init__(
        self, array: Array, low: float, high: float, gap: float, project: Callable[[Array], Array] | None
    ) -> None:
        self.array = array
        self.low = low
        self.high = high
        self.gap = gap  # elements lie at least so far apart, and from kinks
        self.project = project  # a direction to the nearest one that stays in the domain


@final
class Draw:
    """A source of arguments: the same seed and sizes give the same ones.

    * `seed`: of a generator of its own.
    * `sizes`: the lengths of dimensions, in the order in which they are asked for; further ones are drawn.
    * `complex`: whether arrays are complex where nobody says.
    * `ties`: whether elements that would be distinct, or away from kinks, are drawn from the kinks and from few values.
    * `domain`, `kinks`: of the op that the arguments are for.
    """

    def __init__(
        self,
        seed: int,
        sizes: Sequence[int] = (),
        *,
        complex: bool = False,
        ties: bool = False,
        domain: tuple[float, float] | None = None,
        kinks: tuple[float, ...] = (),
    ) -> None:
        self.seed = seed
        self.sizes = tuple(sizes)
        self.complex = complex
        self.ties = ties
        self.domain = domain
        self.kinks = kinks
        self.rng = np.random.default_rng(seed)
        self.named: dict[str, int] = {}
        self.known: list[Known] = []
        self.distinct = False  # whether elements were asked for that differ
        self._left = list(sizes)

    def __repr__(self) -> str:
        words = "".join(f", {w}=True" for w in ("complex", "ties") if getattr(self, w))
        return f"Draw({self.seed}, {self.sizes}{words})"

    def again(self, *, sizes: Sequence[int] | None = None, complex: bool | None = None, ties: bool = False) -> Draw:
        """A fresh draw from the same seed, with other sizes, real instead of complex, or with ties."""
        return Draw(
            self.seed,
            self.sizes if sizes is None else sizes,
            complex=self.complex if complex is None else complex,
            ties=ties,
        )

    def family(self, count: int) -> list[Draw]:
        """This draw, and others like it, with the seeds that follow and the same sizes in another order."""
        n = max(len(self.sizes), 1)
        return [
            Draw(self.seed + i, self.sizes[i % n :] + self.sizes[: i % n], complex=self.complex) for i in range(count)
        ]

    # -- sizes and choices -----------------------------------------------------------------------
    def size(self, name: str | None = None, least: int = 0) -> int:
        """The length of a dimension; one name has one length throughout a draw."""
        if name is not None and name in self.named:
            return self.named[name]
        n = self._left.pop(0) if self._left else int(self.rng.integers(0, _LARGEST + 1))
        n = max(n, least)
        if name is not None:
            self.named[name] = n
        return n

    def shape(self, *dims: int | str) -> tuple[int, ...]:
        """A shape of these lengths and names; of any kind from 0-d to 3-d if there are none."""
        if not dims:
            return tuple(self.size() for _ in range(self.size() % 4))
        return tuple(self.size(d) if isinstance(d, str) else d for d in dims)

    def boolean(self) -> bool:
        return bool(self.rng.integers(2))

    def choice(self, *alternatives: Any) -> Any:
        return alternatives[self.rng.integers(len(alternatives))]

    def axis(self, x: Any) -> int:
        """One axis of an array, counted from the front or the back."""
        n = np.ndim(x)
        return int(self.rng.integers(-n, n))

    def axes(self, x: Any) -> Any:
        """What a reduction takes: None, an axis, or a tuple of axes, which may be empty."""
        n = np.ndim(x)
        kind = self.rng.integers(3)
        if kind == 0 or (kind == 1 and n == 0):
            return None
        if kind == 1:
            return self.axis(x)
        chosen = self.rng.permutation(n)[: self.rng.integers(n + 1)]
        return tuple(int(a) - (n if self.boolean() else 0) for a in chosen)

    def permutation(self, n: int) -> tuple[int, ...]:
        return tuple(int(i) for i in self.rng.permutation(n))

    def dtype(self, *names: str) -> np.dtype[Any]:
        """One of the dtypes named; a floating one that can hold what is drawn, if none is."""
        names = names or (("complex128", "complex64") if self.complex else _FLOATS)
        found: np.dtype[Any] = np.dtype(self.choice(*names))
        return found

    # -- arrays ----------------------------------------------------------------------------------
    def array(
        self,
        *dims: int | str,
        low: float | None = None,
        high: float | None = None,
        complex: bool | None = None,
        distinct: bool = False,
        sort: bool = False,
    ) -> Array:
        """An array of floats.

        * `dims`: its lengths, as numbers or names; any shape from 0-d to 3-d, empty ones too, if none is given.
        * `low`, `high`: bounds; the op's domain, or -2 and 2, if not given.
        * `complex`: with an imaginary part; as the draw says if not given.
        * `distinct`: no two elements are equal; `sort`: they rise along the last axis.
        """
        return self.filled(self.shape(*dims), low=low, high=high, complex=complex, distinct=distinct, sort=sort)

    def filled(
        self,
        shape: tuple[int, ...],
        *,
        low: float | None = None,
        high: float | None = None,
        complex: bool | None = None,
        distinct: bool = False,
        sort: bool = False,
    ) -> Array:
        """An array as `array` gives it, of a shape that is known."""
        free = low is None and high is None and self.domain is None
        usual = self.domain or USUAL
        low, high = usual[0] if low is None else low, usual[1] if high is None else high
        n = math.prod(shape)
        gap = 0.0
        self.distinct |= distinct
        if distinct and not self.ties:
            gap = 0.3 * (high - low) / max(n, 1)
            x = low + (self.rng.permutation(n) + self.rng.uniform(0.15, 0.85, n)) * ((high - low) / max(n, 1))
        else:
            x = self._values(n, low, high, free)
        kinks = [k for k in self.kinks if low < k < high]
        x, margin = self._near_kinks(x, kinks, low, high) if kinks else (x, gap)
        x = np.sort(x.reshape(shape), axis=-1) if sort and shape else x.reshape(shape)
        if (self.complex if complex is None else complex) and not sort:
            width = min(high - low, 2.0) / 2
            x = x + 1j * self.rng.uniform(-width, width, shape)
        if free:
            low, high = -math.inf, math.inf
        return self._give(x, low, high, min(gap, margin) if gap else margin)

    def _values(self, n: int, low: float, high: float, free: bool) -> Array:
        """Inside (low, high): mostly any, at times round, tiny or large."""
        inside = 0.01 * (high - low)
        x = self.rng.uniform(low + inside, high - inside, n)
        kind = self.rng.integers(8)
        if self.ties or kind == 0:
            x = np.clip(np.round(x), low + inside, high - inside)
        elif kind == 1 and free:
            x = x * 1e-3
        elif kind == 2 and free:
            x = x * 4
        return x

    def _near_kinks(self, x: Array, kinks: list[float], low: float, high: float) -> tuple[Array, float]:
        """Values moved away from the kinks; or half of them moved onto kinks, if ties are asked for."""
        margin = 0.03 * min(high - low, 4.0)
        for k in kinks:
            if self.ties:
                x = np.where(self.rng.random(x.shape) < 0.5, k, x)
            else:
                d = x - k
                x = np.where(np.abs(d) < margin, k + np.where(d < 0, -1, 1) * (margin + np.abs(d)), x)
        return x, margin

    def integers(self, *dims: int | str, low: int = -3, high: int = 4) -> Array:
        """An array of integers from low, ..., high - 1; 0-d if there are no dims."""
        return np.asarray(self.rng.integers(low, high, self.shape(*dims) if dims else ()))

    def index(self, *dims: int | str) -> Any:
        """An index into an array of this shape, of any of NumPy's forms."""
        return draw_index(self.rng, self.shape(*dims) if dims else ())

    def picked(self, index: Any, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of what an index picks from an array of this shape."""
        return np.shape(np.empty(shape)[index])

    # -- matrices --------------------------------------------------------------------------------
    def well_conditioned(self, *dims: int | str) -> Array:
        """Square matrices, (..., n, n) for dims (..., n), whose inverses are of the size of one."""
        x = self._matrices(dims)
        return self._give(x + 3 * (1 + x.shape[-1]) ** 0.5 * np.eye(x.shape[-1]), -math.inf, math.inf, 0.0)

    def symmetric(self, *dims: int | str) -> Array:
        """Symmetric (if complex, Hermitian) matrices whose eigenvalues lie well apart."""
        x = self._matrices(dims)
        k = x.shape[-1]
        q, _ = np.linalg.qr(x + np.eye(k))
        w = (np.arange(k) - k / 2 + self.rng.uniform(-0.2, 0.2, k)) * 1.5
        return self._give(hermitian_part((q * w) @ _adjoint(q)), -math.inf, math.inf, 0.0, hermitian_part)

    def positive_definite(self, *dims: int | str) -> Array:
        """Symmetric (if complex, Hermitian) matrices whose eigenvalues are larger than one."""
        a = self._matrices(dims)
        x = a @ _adjoint(a) + (1 + self.rng.random()) * np.eye(a.shape[-1])
        return self._give(hermitian_part(x), -math.inf, math.inf, 0.0, hermitian_part)

    def spread(self, *dims: int | str) -> Array:
        """Matrices of any shape, (..., n, m), whose singular values lie well apart from each other and from zero."""
        shape = self.shape(*dims)
        x = self.rng.uniform(-1, 1, shape)
        x = x + 1j * self.rng.uniform(-1, 1, shape) if self.complex else x
        u, s, vh = np.linalg.svd(x, full_matrices=False)
        s = np.arange(s.shape[-1], 0, -1) * 0.9 + self.rng.uniform(-0.2, 0.2, s.shape)
        return self._give((u * s[..., None, :]) @ vh, -math.inf, math.inf, 0.0)

    def _matrices(self, dims: tuple[int | str, ...]) -> Array:
        shape = self.shape(*dims, dims[-1])
        x = self.rng.uniform(-1, 1, shape)
        return x + 1j * self.rng.uniform(-1, 1, shape) if self.complex else x

    def _give(
        self, x: Any, low: float, high: float, gap: float, project: Callable[[Array], Array] | None = None
    ) -> Array:
        made: Array = np.asarray(x)
        self.known.append(Known(made, low, high, gap, project))
        return made

    # -- small moves -----------------------------------------------------------------------------
    def direction(self, x: Any, *, one_hot: bool = False) -> Array:
        """How far each element of an array may be moved, with a sign: a direction in which to differentiate.

        A full step along it, either way, stays inside the array's domain; it is of the order of a tenth of the element.
        """
        x = np.asarray(x)
        about = next((k for k in self.known if k.array is x), None)
        largest = np.max(np.abs(x), initial=0.0) if x.dtype.kind in "fc" else 0.0
        step = 0.1 * np.maximum(np.abs(x), 0.05 * (largest or 1.0))
        if about is not None:
            step = np.minimum(step, 0.8 * np.minimum(x.real - about.low, about.high - x.real))
            if about.gap:
                step = np.minimum(step, 0.4 * about.gap)
        u = self.noise(x.shape, x.dtype) * step
        if one_hot and u.size and (about is None or about.project is None):
            u = _one_hot(u, int(self.rng.integers(u.size)))
        return about.project(u) if about is not None and about.project is not None else u

    def noise(self, shape: tuple[int, ...], dtype: Any = np.float64) -> Array:
        """Numbers from -1 to 1, none of them small; a fresh cotangent."""
        x = self.rng.uniform(0.2, 1, shape) * self.rng.choice([-1.0, 1.0], shape)
        if np.dtype(dtype).kind == "c":
            x = x * np.exp(2j * np.pi * self.rng.random(shape))
        return np.asarray(x).astype(dtype)


def _one_hot(u: Array, i: int) -> Array:
    v = np.zeros(u.size, u.dtype)
    v[i] = u.reshape(-1)[i]
    return v.reshape(u.shape)


def _adjoint(x: Array) -> Array:
    return np.conj(np.swapaxes(x, -1, -2))


def hermitian_part(x: Array) -> Array:
    found: Array = (x + _adjoint(x)) / 2
    return found
