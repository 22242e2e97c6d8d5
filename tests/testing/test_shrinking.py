"""Inputs are made small in few tries, each of them once, and reports are about the smallest."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from tapegrad.testing import array, examine
from tapegrad.testing.inputs import Point
from tapegrad.testing.outcome import Failure
from tapegrad.testing.shrink import Shrinker
from tapegrad.testing.words import Word


def shrunk(fails: Any, xs: list[Any], words: list[Word], gs: list[Any] | None = None) -> tuple[Point, list[Point]]:
    tried: list[Point] = []

    def told(point: Point) -> Failure | None:
        tried.append(point)
        return Failure("numeric", "planted") if fails(point) else None

    shrinker = Shrinker(told, words, [(-math.inf, math.inf)] * len(words), seconds=60)
    point = Point(xs, "usual", 0, tame=True, gs=gs)
    return shrinker.shrink(point, Failure("numeric", "planted"))[0], tried


def written(point: Point) -> tuple[Any, ...]:
    return tuple((x.shape, x.tobytes()) for x in (*point.xs, *(point.gs or ())))


@pytest.mark.parametrize("is_complex", [False, True])
def test_what_fails_everywhere_becomes_zero_in_few_tries(is_complex: bool) -> None:
    x = np.random.default_rng(0).normal(size=(4, 7)) + (0.3j if is_complex else 0)
    point, tried = shrunk(lambda point: True, [x], [array("b", "n", complex=is_complex)], [x.copy()])
    assert point.xs[0].shape == (1, 1)
    assert not point.xs[0].any()
    assert (point.gs or [])[0] == 1
    assert len(tried) <= 6


def test_a_complex_number_that_has_to_stay_is_not_tried_for_ever() -> None:
    x = np.array([0.37 - 1.21j, 0.4 + 2j])
    point, tried = shrunk(lambda point: bool(point.xs[0].any()), [x], [array("n", complex=True)], [x.copy()])
    assert point.xs[0].tolist() == [1]
    assert (point.gs or [])[0].tolist() == [1]
    assert len(tried) <= 30


def test_no_input_is_tried_twice() -> None:
    x, w = np.random.default_rng(1).normal(size=(5, 4)), np.random.default_rng(2).normal(size=(4, 3))
    point, tried = shrunk(
        lambda point: point.xs[0].shape[1] > 1 and abs(point.xs[1]).max() > 0.9,
        [x, w],
        [array("b", "n"), array("n", "m")],
        [np.ones((5, 3)) * 0.7],
    )
    assert point.xs[0].shape == (1, 2)
    assert len({written(p) for p in tried}) == len(tried) <= 60


def test_the_report_of_a_complex_function_has_a_cotangent_of_one() -> None:
    result = examine(lambda z: abs(z) ** 2, vjp=lambda g, z: g * z, z=array("n", complex=True), seed=5)
    assert result.point is not None
    assert result.point.gs is not None
    assert result.point.gs[0].tolist() == [1]
    assert "is 1/2 times the derivative" in str(result)
