"""The planted set as ops of frameworks: every fault that a framework can show, and no right one refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tapegrad.testing.checking import examine
from tests.testing.planted import natively
from tests.testing.planted.aside import ASIDE
from tests.testing.planted.known import KNOWN
from tests.testing.planted.numbers import COMPLEX

if TYPE_CHECKING:
    from tests.testing.planted.plant import Plant

pytestmark = pytest.mark.filterwarnings("ignore")
PLANTS = [*KNOWN, *ASIDE, *COMPLEX]
#: What autograd does not show: it adds zeros of the argument's shape and dtype, has no rule here for forward mode or second
#: order, copies a cotangent that it conjugates, and keeps no gradient that was given out.
HIDDEN_BY_AUTOGRAD = frozenset(
    ["dtype", "shape", "forward mode", "second order", "aliased", "cotangent overwritten", "one buffer"]
)


@pytest.mark.interop("torch")
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_functions_of_pytorch(plant: Plant) -> None:
    words = natively.words_of(plant)
    if plant.kind not in natively.HIDDEN_BY_TORCH:
        wrong = examine(natively.torch_function(plant, wrong=True), framework="torch", profile="fast", seed=1, **words)
        assert not wrong.ok, f"{plant.kind}: {wrong}"
    right = examine(natively.torch_function(plant, wrong=False), framework="torch", profile="fast", seed=1, **words)
    assert right.ok, str(right)


@pytest.mark.interop("autograd")
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_primitives_of_autograd(plant: Plant) -> None:
    words = natively.words_of(plant)
    if not {plant.kind, plant.name} & HIDDEN_BY_AUTOGRAD:
        wrong = examine(
            natively.autograd_function(plant, wrong=True), framework="autograd", profile="fast", seed=1, **words
        )
        assert not wrong.ok, f"{plant.kind}: {wrong}"
    right = examine(
        natively.autograd_function(plant, wrong=False), framework="autograd", profile="fast", seed=1, **words
    )
    assert right.ok, str(right)


#: Nor TensorFlow: its tensors are immutable, in C order, and a gradient of another dtype is refused by the tape.
HIDDEN_BY_TENSORFLOW = frozenset(
    ["dtype", "layout", "overwritten", "forward mode", "second order", "aliased", "one buffer"]
)


@pytest.mark.slow
@pytest.mark.interop("tensorflow")
@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.name)
def test_custom_gradients_of_tensorflow(plant: Plant) -> None:
    words = {**natively.words_of(plant), "framework": "tensorflow", "profile": "fast", "seed": 1}
    hidden = {plant.kind, plant.name} & HIDDEN_BY_TENSORFLOW and plant.name not in ("exp, saved", "sigmoid, saved")
    if not hidden:
        wrong = examine(natively.tensorflow_function(plant, wrong=True), **words)
        assert not wrong.ok, f"{plant.kind}: {wrong}"
    right = examine(natively.tensorflow_function(plant, wrong=False), **words)
    assert right.ok, str(right)


#: Nor JAX, whose arrays are immutable and in one layout, and whose callbacks are of a stated shape and dtype, without a derivative
#: of their own.
HIDDEN_BY_JAX = HIDDEN_BY_TENSORFLOW | {"shape"}


@pytest.mark.slow
@pytest.mark.interop("jax")
@pytest.mark.parametrize("plant", PLANTS[::4], ids=lambda plant: plant.name)
def test_custom_vjps_of_jax(plant: Plant) -> None:
    words = {**natively.words_of(plant), "framework": "jax", "profile": "fast", "seed": 1}
    if not {plant.kind, plant.name} & HIDDEN_BY_JAX:
        wrong = examine(natively.jax_function(plant, wrong=True), **words)
        assert not wrong.ok, f"{plant.kind}: {wrong}"
    right = examine(natively.jax_function(plant, wrong=False), **words)
    assert right.ok, str(right)
