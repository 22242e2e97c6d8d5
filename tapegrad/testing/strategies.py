"""Hypothesis strategies over draws: a seed and the sizes, so that failures shrink to small shapes and replay."""

from __future__ import annotations

from hypothesis import strategies as st

from tapegrad.testing.draw import Draw

_SEEDS = st.integers(0, 2**32 - 1)
_SIZES = st.tuples(*[st.integers(0, 4)] * 4)


def draws(*, complex: bool | None = None) -> st.SearchStrategy[Draw]:
    """Draws of arguments; complex ones, real ones, or both (None)."""
    return st.builds(_draw, _SEEDS, _SIZES, st.booleans() if complex is None else st.just(complex))


def _draw(seed: int, sizes: tuple[int, ...], complex: bool) -> Draw:
    return Draw(seed, sizes, complex=complex)
