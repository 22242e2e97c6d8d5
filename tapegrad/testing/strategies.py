"""Hypothesis strategies: over draws for an op, and over the words of `check` for tests with ``@given``.

What is drawn is a seed and the sizes, so that failures shrink to small shapes and are kept in Hypothesis' database.
`check_at` looks at a derivative where such a test has drawn its arguments, and makes the discrepancy a target of
Hypothesis'; with ``arguments(..., searched=True)`` there are numbers that this can move.

>>> from hypothesis import given
>>> from tapegrad.testing import array, strategies
>>> @given(strategies.arguments(array("b", "n"), array("n", lo=0)))
... def test(xs):
...     x, scale = xs
...     assert (x * scale).shape == x.shape
>>> test()
>>> @given(strategies.arguments(array("n", lo=0), searched=True))
... def test_square_root(xs):
...     strategies.check_at(np.sqrt, *xs, vjp=lambda g, y, x: g / (2 * y))
>>> test_square_root()
"""

from __future__ import annotations

import math
import warnings
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import HealthCheck, Phase, currently_in_test_context, given, reject, settings, target
from hypothesis import strategies as st

from tapegrad.errors import ArgumentError
from tapegrad.testing.checking import session_of
from tapegrad.testing.draw import Draw
from tapegrad.testing.inputs import RANDOM, Point, Source
from tapegrad.testing.numeric import compare
from tapegrad.testing.report import GradientCheckError, argument_lines
from tapegrad.testing.trial import Refused, Trial

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.testing.words import Word

_SEEDS = st.integers(0, 2**32 - 1)
_SIZES = st.tuples(*[st.integers(0, 4)] * 4)


def draws(*, complex: bool | None = None) -> st.SearchStrategy[Draw]:
    """Draws of arguments; complex ones, real ones, or both (None)."""
    return st.builds(_draw, _SEEDS, _SIZES, st.booleans() if complex is None else st.just(complex))


def _draw(seed: int, sizes: tuple[int, ...], complex: bool) -> Draw:
    return Draw(seed, sizes, complex=complex)


def arrays(word: Word) -> st.SearchStrategy[Any]:
    """Arrays that a word stands for."""
    return arguments(word).map(lambda xs: xs[0])


def arguments(*words: Word, searched: bool = False) -> st.SearchStrategy[list[Any]]:
    """Arrays for several words, whose named dimensions agree; the kinds of numbers are those that `check` draws.

    If `searched`, arrays lie around a number that Hypothesis draws itself, and can move where a target tells it to.
    """
    names = Source(words, np.random.default_rng(0)).names
    sizes = st.tuples(*[st.integers(0, 5)] * len(names))
    if searched:
        around = st.tuples(*map(_around, words))
        return st.builds(lambda *drawn: _gathered(words, names, *drawn), _SEEDS, sizes, around)
    return st.builds(
        lambda seed, lengths, kind: _arguments(words, names, seed, lengths, kind),
        _SEEDS,
        sizes,
        st.sampled_from(_KINDS),
    )


_KINDS = tuple(dict.fromkeys(kind for kind in RANDOM if kind != "from code"))
_SPREADS = (1.0, 1e-2, 1e-4)


def _arguments(words: Sequence[Word], names: Sequence[str], seed: int, lengths: Sequence[int], kind: str) -> list[Any]:
    source = Source(words, np.random.default_rng(seed))
    return source.point(kind, dict(zip(names, lengths, strict=True)), seed % 1000).xs


def _around(word: Word) -> st.SearchStrategy[tuple[float, float]]:
    """A number of a word's domain, and how far its elements lie from it."""
    low, high = max(word.lo, -_FAR), min(word.hi, _FAR)
    return st.tuples(st.floats(low, high), st.sampled_from(_SPREADS))


_FAR = 100.0


def _gathered(
    words: Sequence[Word],
    names: Sequence[str],
    seed: int,
    lengths: Sequence[int],
    around: Sequence[tuple[float, float]],
) -> list[Any]:
    xs = _arguments(words, names, seed, lengths, "usual")
    rng = np.random.default_rng(seed)
    for i, (word, (centre, spread)) in enumerate(zip(words, around, strict=True)):
        if word.active and word.kind == "array":
            near = centre + spread * rng.uniform(-1, 1, np.shape(xs[i]))
            inside = np.clip(near, word.lo, word.hi)
            xs[i] = np.asarray(inside + (xs[i].imag * 1j if np.iscomplexobj(xs[i]) else 0), xs[i].dtype)
    return xs


def check_at(f: Callable[..., Any], /, *xs: Any, **words: Any) -> None:
    """That the derivative of `f` is right at one input: for tests with ``@given``; takes what `check` takes.

    Inside such a test the discrepancy, relative to the derivative, is a target: Hypothesis tries more of what is near
    the largest ones.  A failure is not shrunk here, since Hypothesis does that.

    >>> check_at(np.exp, np.ones(3), vjp=lambda g, y, x: g * y)
    """
    session = session_of(f, xs, **words)
    seed = zlib.crc32(b"".join(np.ascontiguousarray(x).tobytes() for x in xs if isinstance(x, np.ndarray)))
    leaves = [w.base if w.base is not None else x for w, x in zip(session.binding.words, xs, strict=False)]
    if len(leaves) != len(session.binding.words):
        raise ArgumentError(
            f"check_at({session.name}, ...): each argument is one array; use check for nested structures"
        )
    point = Point(leaves, "given", seed, tame=True)
    with session.system.at_work():
        try:
            failure = session.examine(point, session.result)
        except Refused:
            reject()
        if failure is not None:
            session.result.failure, session.result.point = failure, point
            session.result.lines = [*argument_lines(point, session.binding.names, point.gs or []), *failure.lines]
            raise GradientCheckError(session.result)
        if currently_in_test_context():
            target(_discrepancy(Trial(session.system, point, session.settings)), label="discrepancy of the gradient")


def _discrepancy(t: Trial) -> float:
    """The logarithm of the part that the gradient is off by, along a random direction; -16 is rounding."""
    if t.empty:
        return -16.0
    with np.errstate(all="ignore"):
        t.derive()
        if not t.finite:
            return -16.0
        found = compare(t.moved, t.active, t.direction(), t.gs, t.grads, usual=t.settings.usual, finite=True)
    off = abs(found.error) / found.scale if found.scale else 0.0
    return math.log10(min(max(off, 1e-16), 1.0)) if math.isfinite(off) else -16.0


def examples_of(strategy: Any, count: int, seed: int) -> list[Any]:
    """Arrays that a strategy gives, as many as asked for or as there are."""
    import random

    found: list[Any] = []

    @settings(
        max_examples=count,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(x: Any) -> None:
        found.append(np.asarray(x))

    state = random.getstate()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from hypothesis import seed as seeded

            seeded(seed)(collect)()
    finally:
        random.setstate(state)
    return found
