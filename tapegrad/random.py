"""Random numbers: explicit generators, and a default one that can be seeded.

>>> import tapegrad as tg
>>> tg.random.seed(7)
>>> tg.random.normal((2,))
Tensor([ 1.5219693, -1.1441058], dtype=float32)
"""

from __future__ import annotations

import _thread
import contextlib
from typing import TYPE_CHECKING, Any, NoReturn, final

import numpy as np

from tapegrad.core.tensor import Tensor, tensor
from tapegrad.dtypes import as_dtype, float32, int64, is_inexact
from tapegrad.elsewhere import absent, instead
from tapegrad.errors import ArgumentError, DTypeError, RandomnessError, ShapeError
from tapegrad.kernels.batched import Batched
from tapegrad.ops.convert import asarray
from tapegrad.registry.backends import placed
from tapegrad.registry.batching import levels
from tapegrad.registry.misfit import guided
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tapegrad.kernels.batched import Level

__all__ = ["Generator", "bernoulli", "default_generator", "integers", "normal", "permutation", "seed", "uniform"]

_DIRECT = frozenset(["float32", "float64"])


_guided = guided(
    {"size": "shape", "loc": "mean", "scale": "std", "minval": "low", "maxval": "high"},
    "shape as one tuple",
    seed="tapegrad.random.Generator(seed).{name}(...), or call tapegrad.random.seed(seed) before",
)


@final
class Generator:
    """A source of random numbers with a state of its own (NumPy's PCG64).

    Numbers are drawn on the host, and move to where new arrays are made: so a seed gives the same ones on all kernels.

    `seed` is an integer, or None for one from the operating system.  The same seed gives the same numbers.
    """

    __slots__ = ("_numpy",)

    def __init__(self, seed: int | None = None) -> None:
        self._numpy = np.random.default_rng(seed)

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> NoReturn:
            raise AttributeError(f"'Generator' object has no attribute {name!r}{instead(name, 'random')}", name=name)

    @property
    def state(self) -> Any:
        """The state, to be put back by assigning it."""
        return self._numpy.bit_generator.state

    @state.setter
    def state(self, value: Any) -> None:
        self._numpy.bit_generator.state = value

    @_guided
    def normal(self, shape: Any = (), *, mean: float = 0.0, std: float = 1.0, dtype: Any = float32) -> Tensor:
        """Numbers from a normal distribution, in a floating `dtype`.

        Raises ValueError for a negative `std`, DTypeError for a dtype that is not floating.
        """
        dtype, shape = _floating("normal", dtype), _sizes("normal", shape)
        if not std >= 0:
            raise ValueError(f"normal(std=...): expected std >= 0, got {std}")

        def draw(source: Any, shape: tuple[int, ...]) -> Any:
            drawn = source.standard_normal(shape, dtype if dtype.name in _DIRECT else np.float32)
            return drawn * std + mean if std != 1 or mean != 0 else drawn

        return _drawn("normal", self, draw, shape, dtype)

    @_guided
    def uniform(self, shape: Any = (), *, low: float = 0.0, high: float = 1.0, dtype: Any = float32) -> Tensor:
        """Numbers evenly spread over [low, high), in a floating `dtype`.

        Raises ValueError unless low < high, DTypeError for a dtype that is not floating.
        """
        dtype, shape = _floating("uniform", dtype), _sizes("uniform", shape)
        if not low < high:
            raise ValueError(f"uniform(low=..., high=...): expected low < high, got {low} and {high}")

        def draw(source: Any, shape: tuple[int, ...]) -> Any:
            drawn = source.random(shape, dtype if dtype.name in _DIRECT else np.float32)
            made = np.asarray(drawn * (high - low) + low if (low, high) != (0, 1) else drawn).astype(dtype, copy=False)
            top = dtype.type(high)  # rounding may reach it
            return np.where(made < top, made, np.nextafter(top, dtype.type(low)))

        return _drawn("uniform", self, draw, shape, dtype)

    @_guided
    def integers(self, shape: Any = (), *, low: int = 0, high: int, dtype: Any = int64) -> Tensor:
        """Integers evenly spread over low, ..., high - 1, in an integer `dtype`.

        Raises ValueError unless low < high, DTypeError for another dtype.
        """
        dtype = as_dtype(dtype)
        if dtype.kind not in "iu":
            raise DTypeError(f"integers(dtype=...): expected an integer dtype, got {dtype}")
        if not low < high:
            raise ValueError(f"integers(low=..., high=...): expected low < high, got {low} and {high}")

        def draw(source: Any, shape: tuple[int, ...]) -> Any:
            return source.integers(low, high, size=shape, dtype=dtype)

        return _drawn("integers", self, draw, _sizes("integers", shape), dtype)

    def permutation(self, x: Any) -> Tensor:
        """The numbers 0, ..., x - 1 in random order, or the rows of an array, (n, ...) -> (n, ...), which is recorded."""
        if isinstance(x, int | np.integer):
            return self._order(int(x))
        rows = asarray(x)
        if not rows.shape:
            raise ShapeError("permutation(x): expected an integer or an array with rows, got a 0-d array")
        found: Tensor = F.take(rows, self._order(rows.shape[0]), axis=0)
        return found

    def _order(self, n: int) -> Tensor:
        def draw(source: Any, shape: tuple[int, ...]) -> Any:
            return source.permutation(n) if len(shape) == 1 else source.permuted(np.broadcast_to(np.arange(n), shape), axis=-1)

        return _drawn("permutation", self, draw, (n,), int64)

    def bernoulli(self, p: float, shape: Any = (), *, dtype: Any = float32) -> Tensor:
        """Ones with probability `p`, else zeros.

        Raises ValueError for a `p` outside of 0 to 1, ArgumentError for one that is no number.
        """
        if getattr(p, "shape", () if hasattr(p, "__float__") else None) != ():
            raise ArgumentError(f"bernoulli(p, shape): expected one number for p, got {type(p).__name__}; write bernoulli(p, shape)")
        if not 0 <= p <= 1:
            raise ValueError(f"bernoulli(p, ...): expected 0 <= p <= 1, got {p}")
        return _drawn("bernoulli", self, lambda source, n: source.random(n) < p, _sizes("bernoulli", shape), as_dtype(dtype))


# -- where numbers come from ---------------------------------------------------------------------------
class _Replay(_thread._local):
    """What this thread draws anew, and where it takes note of what it draws."""

    notes: tuple[dict[Generator, Any], ...] = ()  # for each, the state before the first draw
    sources: dict[Generator, Any] = {}  # noqa: RUF012  never written to
    default: Generator | None = None
    deferred: Callable[..., Any] | None = None


_replay = _Replay()


def _source(what: str, generator: Generator) -> tuple[Any, tuple[Level, ...]]:
    """NumPy's generator to draw from, and the batches of which each item gets numbers of its own."""
    if _replay.deferred is not None and (_replay.notes or _replay.sources):
        raise RandomnessError(
            f"random.{what}: called inside checkpoint inside a compiled function, where the same numbers can't be drawn twice; "
            "draw outside the checkpoint"
        )
    batch = levels()
    if batch:
        for level in batch:
            if level.randomness == "error":
                raise RandomnessError(
                    f"random.{what}: called inside vmap({level.name}), which does not say whether its {level.size} items "
                    f'share the numbers; write vmap({level.name}, randomness="different"), or "same", or draw outside'
                )
        batch = tuple(level for level in batch if level.randomness == "different")
    source = _replay.sources.get(generator, generator._numpy)
    for note in _replay.notes:
        if generator not in note:
            note[generator] = source.bit_generator.state
    return source, batch


@contextlib.contextmanager
def noted() -> Iterator[dict[Generator, Any]]:
    """Take note of the generators that are drawn from inside, and of their states before, for `replayed`."""
    before = _replay.notes
    note: dict[Generator, Any] = {}
    _replay.notes = (*before, note)
    try:
        yield note
    finally:
        _replay.notes = before


@contextlib.contextmanager
def replayed(note: dict[Generator, Any], default: Generator | None) -> Iterator[None]:
    """Draw again inside what was drawn when `note` was taken, and leave the generators themselves alone."""
    before = _replay.sources, _replay.default
    sources = dict(before[0])
    for generator, state in note.items():
        sources[generator] = np.random.Generator(np.random.PCG64())
        sources[generator].bit_generator.state = state
    _replay.sources, _replay.default = sources, default
    try:
        yield
    finally:
        _replay.sources, _replay.default = before


def present_default() -> Generator | None:
    """The default generator of this moment, if it has been used or seeded."""
    return _replay.default or (_default[0] if _default else None)


@contextlib.contextmanager
def deferring(deferred: Callable[..., Any] | None) -> Iterator[None]:
    """Call `deferred(what, numbers, shape, dtype)` for a raw array, where this thread would draw by calling `numbers()`.

    None: draw at once.
    """
    before = _replay.deferred
    _replay.deferred = deferred
    try:
        yield
    finally:
        _replay.deferred = before


def drawn_by(what: str, numbers: Callable[[], Any], shape: tuple[int, ...], dtype: Any) -> Any:
    """A raw array of what `numbers()` gives: called now, or in each call of the function that is being compiled."""
    return placed(numbers()) if _replay.deferred is None else _replay.deferred(what, numbers, shape, dtype)


def _floating(what: str, dtype: Any) -> np.dtype[Any]:
    dtype = as_dtype(dtype)
    if not is_inexact(dtype) or dtype.kind == "c":
        raise DTypeError(f"{what}(dtype=...): expected a real floating dtype, got {dtype}")
    return dtype


def _sizes(what: str, shape: Any) -> tuple[int, ...]:
    """A shape, refused here where NumPy would not say which argument is wrong."""
    given = shape if isinstance(shape, tuple | list) else (shape,)
    for n in given:
        if not hasattr(n, "__index__") or n.__index__() < 0:
            raise ShapeError(f"{what}(shape, ...): expected integers >= 0, got {shape!r}")
    return tuple(given)


def _drawn(
    what: str, generator: Generator, draw: Callable[[Any, tuple[int, ...]], Any], shape: tuple[int, ...], dtype: np.dtype[Any]
) -> Tensor:
    """A tensor of what `draw(source, shape)` gives, for each item of the batches that get numbers of their own."""
    source, batch = _source(what, generator)
    shape = (*(level.size for level in batch), *shape)

    def numbers(source: Any) -> np.ndarray[Any, Any]:
        return np.asarray(draw(source, shape)).astype(dtype, copy=False)

    if _replay.deferred is None:
        raw: Any = placed(numbers(source))
    else:  # the generator may have been seeded anew by then
        raw = _replay.deferred(what, lambda: numbers(generator._numpy), shape, dtype)
    for level in batch:  # the outermost one is the first axis, and inside all others
        raw = Batched(raw, level)
    return tensor(raw[()] if raw.shape == () and type(raw) is np.ndarray else raw)


_default: list[Generator] = []


def seed(value: int | None) -> None:
    """Start the default generator anew."""
    if _default:  # the same one, for compiled functions draw from it
        _default[0]._numpy = np.random.default_rng(value)
    else:
        _default.append(Generator(value))
    _replay.default = None


def default_generator() -> Generator:
    """The generator that the functions of this module draw from."""
    if _replay.default is not None:
        return _replay.default
    if not _default:  # made when it is first used: NumPy's generators take 9 ms to import
        seed(None)
    return _default[0]


@_guided
def normal(shape: Any = (), *, mean: float = 0.0, std: float = 1.0, dtype: Any = float32) -> Tensor:
    """Numbers from a normal distribution, from the default generator."""
    return default_generator().normal(shape, mean=mean, std=std, dtype=dtype)


@_guided
def uniform(shape: Any = (), *, low: float = 0.0, high: float = 1.0, dtype: Any = float32) -> Tensor:
    """Numbers evenly spread over [low, high), from the default generator."""
    return default_generator().uniform(shape, low=low, high=high, dtype=dtype)


@_guided
def integers(shape: Any = (), *, low: int = 0, high: int, dtype: Any = int64) -> Tensor:
    """Integers evenly spread over low, ..., high - 1, from the default generator."""
    return default_generator().integers(shape, low=low, high=high, dtype=dtype)


def permutation(x: Any) -> Tensor:
    """The numbers 0, ..., x - 1, or the rows of an array, in random order, from the default generator."""
    return default_generator().permutation(x)


def bernoulli(p: float, shape: Any = (), *, dtype: Any = float32) -> Tensor:
    """Ones with probability `p`, else zeros, from the default generator."""
    return default_generator().bernoulli(p, shape, dtype=dtype)


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # to a type checker it would say that any name is there
    __getattr__ = absent(__name__)
