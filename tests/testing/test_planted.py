"""Every planted fault is caught, and no right derivative is refused: with the part that was tuned on, and those put aside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tapegrad.testing.checking import examine
from tests.testing.planted.aside import ASIDE
from tests.testing.planted.known import KNOWN
from tests.testing.planted.numbers import COMPLEX

if TYPE_CHECKING:
    from tests.testing.planted.plant import Plant

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")
UNTUNED = [*ASIDE, *COMPLEX]
PLANTS = [*KNOWN, *UNTUNED]


@pytest.mark.parametrize("profile", ["fast", "default"])
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_the_wrong_derivative_is_caught_and_the_right_one_passes(plant: Plant, profile: str) -> None:
    f, words = plant.faulty()
    wrong = examine(f, profile=profile, seed=1, dtypes="fail", **words)
    assert not wrong.ok, f"{plant.kind}: {wrong}"
    f, words = plant.correct()
    right = examine(f, profile=profile, seed=1, dtypes="fail", **words)
    assert right.ok, str(right)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2, 12))
def test_over_ten_seeds_all_are_caught_without_a_false_alarm_and_nearly_all_is_decided(seed: int) -> None:
    unresolved = checks = 0
    for plant in PLANTS:
        f, words = plant.faulty()
        assert not examine(f, profile="default", seed=seed, dtypes="fail", **words).ok, plant.name
        f, words = plant.correct()
        right = examine(f, profile="default", seed=seed, dtypes="fail", **words)
        assert right.ok, str(right)
        unresolved += right.unresolved
        checks += right.checks
    assert unresolved <= 1e-3 * checks


def test_there_are_enough_of_every_kind() -> None:
    assert len(PLANTS) >= 60
    assert len({plant.kind for plant in PLANTS}) >= 15
    assert len({plant.name for plant in PLANTS}) == len(PLANTS)
    assert len(UNTUNED) >= len(PLANTS) / 4
