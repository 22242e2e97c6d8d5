"""Strategies over the words of `check`, and a derivative looked at where a test with `@given` is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis.database import InMemoryExampleDatabase

from tapegrad.errors import ArgumentError
from tapegrad.testing import GradientCheckError, array, strategies

pytestmark = pytest.mark.filterwarnings("ignore")


@settings(max_examples=20, deadline=None)
@given(strategies.arguments(array("b", "n", lo=0), array("n"), array("n", complex=True), searched=True))
def test_what_is_searched_stays_in_its_domain_and_sizes_agree(xs: list[Any]) -> None:
    x, w, z = xs
    assert x.shape[1:] == w.shape == z.shape
    assert (x >= 0).all()
    assert z.dtype == np.complex128


def test_a_right_derivative_passes_at_each_example_and_its_discrepancy_is_observed() -> None:
    seen: list[Any] = []

    @settings(max_examples=15, deadline=None, database=None)
    @given(strategies.arguments(array("n", lo=0), searched=True))
    def run(xs: list[Any]) -> None:
        strategies.check_at(np.sqrt, *xs, vjp=lambda g, y, x: g / (2 * y))
        seen.append(xs)

    run()
    assert len(seen) >= 10


def test_a_wrong_one_is_kept_in_the_database_and_tried_first() -> None:
    kept = InMemoryExampleDatabase()

    def run(phases: list[Phase]) -> None:
        @settings(max_examples=60, deadline=None, database=kept, phases=phases)
        @given(strategies.arguments(array("n"), searched=True))
        def wrong_above_a_half(xs: list[Any]) -> None:
            strategies.check_at(np.sin, *xs, vjp=lambda g, x: g * np.cos(x) * (1 + 0.5 * (x > 0.5)))

        wrong_above_a_half()

    with pytest.raises(GradientCheckError, match="sin: the gradient is not the derivative"):
        run([Phase.generate, Phase.shrink])
    assert kept.data
    with pytest.raises(GradientCheckError):  # from the database alone
        run([Phase.reuse])


def test_the_target_is_the_logarithm_of_what_the_gradient_is_off_by(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[float] = []
    monkeypatch.setattr(strategies, "target", lambda value, label: told.append(value))

    def at(factor: float) -> float:
        @settings(max_examples=5, deadline=None, database=None)
        @given(strategies.arguments(array(3)))
        def run(xs: list[Any]) -> None:
            strategies.check_at(lambda x: 2 * x, *xs, vjp=lambda g, x: 2 * factor * g, only="linear")

        told.clear()
        run()
        return max(told)

    assert at(1.0) < -12
    assert -3.5 < at(1.001) < -2.5


def test_one_array_for_each_argument() -> None:
    with pytest.raises(ArgumentError, match="each argument is one array"):
        strategies.check_at(lambda p: p["a"], {"a": np.ones(2), "b": np.ones(2)}, vjp=lambda g, p: {"a": g, "b": g * 0})
