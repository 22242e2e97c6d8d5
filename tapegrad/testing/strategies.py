"""Hypothesis strategies: over draws for an op, and over the words of `check` for tests with ``@given``.

What is drawn is a seed and the sizes, so that failures shrink to small shapes and are kept in Hypothesis' database.

>>> from hypothesis import given
>>> from tapegrad.testing import array, strategies
>>> @given(strategies.arguments(array("b", "n"), array("n", lo=0)))
... def test(xs):
...     x, scale = xs
...     assert (x * scale).shape == x.shape
>>> test()
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tapegrad.testing.draw import Draw
from tapegrad.testing.inputs import RANDOM, Source

if TYPE_CHECKING:
    from collections.abc import Sequence

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


def arguments(*words: Word) -> st.SearchStrategy[list[Any]]:
    """Arrays for several words, whose named dimensions agree; the kinds of numbers are those that `check` draws."""
    names = Source(words, np.random.default_rng(0)).names
    sizes = st.tuples(*[st.integers(0, 5)] * len(names))
    return st.builds(
        lambda seed, lengths, kind: _arguments(words, names, seed, lengths, kind),
        _SEEDS,
        sizes,
        st.sampled_from(_KINDS),
    )


_KINDS = tuple(dict.fromkeys(kind for kind in RANDOM if kind != "from code"))


def _arguments(words: Sequence[Word], names: Sequence[str], seed: int, lengths: Sequence[int], kind: str) -> list[Any]:
    source = Source(words, np.random.default_rng(seed))
    return source.point(kind, dict(zip(names, lengths, strict=True)), seed % 1000).xs


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
