"""The lab's comparison of what two runs have printed."""

import math

import pytest

from interop.compare import compared, difference


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ("loss 1.0", "loss 1.0", 0.0),
        ("loss 1.0", "loss 1.001", 1e-3),
        ("loss 1.0", "cost 1.0", math.inf),
        ("loss nan", "loss nan", 0.0),
        ("loss nan", "loss 1.0", math.inf),
        ("loss inf", "loss inf", 0.0),
        ("w1 [1.0,  2.0]", "w1 [1.0, 2.0]", 0.0),
        ("x 1e-9", "x 2e-9", 1e-6),
        ("[0.5 1.        ]", "[0.5 0.99999994]", 6e-8),
        ("[1 2]", "[12]", math.inf),
        ("n=3", "n=4", 1 / 3),
        ("fc1.weight: 0.5", "fc1.weight: 0.5", 0.0),
        ("fc1.weight: 0.5", "fc2.weight: 0.5", math.inf),
    ],
)
def test_difference(a, b, expected):
    assert difference(a, b) == pytest.approx(expected, rel=1e-2)


def test_lines_of_gradients_count_apart():
    found = compared("loss 1.0\ngrad 2.0\n", "loss 1.0\ngrad 3.0\n", 1e-3)
    assert (found.numbers, found.gradients) == (True, False)
    assert "line 2" in found.reason
    assert compared("loss 1.0", "loss 1.0", 1e-3).gradients is None


def test_a_missing_line_and_an_empty_output_are_no_agreement():
    assert not compared("a\nb\n", "a\n", 1e-3).numbers
    assert not compared("", "", 1e-3).numbers
