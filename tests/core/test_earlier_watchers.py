"""A value that is watched again is still known to those who watched it before, whatever becomes of the later watcher."""

from collections.abc import Callable
from typing import Any

import pytest

import tapegrad as tg


def later_tape(v: tg.Variable) -> None:
    with tg.GradientTape() as tape:
        y = 3 * v
    assert float(tape.gradient(y, v)) == 3


def later_tape_that_is_thrown_away(v: tg.Variable) -> None:
    with tg.GradientTape():
        v * 3


def later_accumulator(v: tg.Variable) -> None:
    with tg.ForwardAccumulator(v, tg.asarray(2.0)) as accumulator:
        y = 3 * v
    assert float(accumulator.jvp(y)) == 6


LATER = [later_tape, later_tape_that_is_thrown_away, later_accumulator]


@pytest.mark.parametrize("later", LATER)
def test_an_earlier_tape_still_knows_a_variable(later: Callable[[Any], None]) -> None:
    v = tg.Variable(1.5)
    with tg.GradientTape() as tape:
        y = v * v
    later(v)
    assert float(tape.gradient(y, v)) == 3


@pytest.mark.parametrize("later", LATER)
def test_watching_again_and_again_leaves_no_trace(later: Callable[[Any], None]) -> None:
    v = tg.Variable(1.5)
    for _ in range(20):
        later(v)
    node, length = v.node, 0
    while node is not None:
        node, length = node.p, length + 1
    assert length <= 3
