"""Eager tapes on TensorFlow let go of intermediates as early as on NumPy."""

import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.core.tensor import Tensor

BACKENDS = ["numpy", "tensorflow"]


class Watched:
    """Which of the arrays that a program makes are alive."""

    def __init__(self) -> None:
        self.refs: list[tuple[str, Any]] = []

    def note(self, name: str, x: Tensor) -> None:
        self.refs.append((name, weakref.ref(x.array)))
        if x.array is not x.raw:
            self.refs.append((name, weakref.ref(x.raw)))

    @property
    def alive(self) -> set[str]:
        return {name for name, ref in self.refs if ref() is not None}


def both(program: Callable[[Any, Watched], Any]) -> set[str]:
    """What the program leaves alive on TensorFlow's kernels, which has to be what it leaves on NumPy's."""
    found = []
    for backend in BACKENDS:
        watched = Watched()
        x = tg.asarray(np.linspace(0.1, 0.9, 12, dtype=np.float32).reshape(3, 4), backend=backend)
        kept = program(x, watched)
        found.append(watched.alive)
        del kept
        assert not watched.alive
    assert found[0] == found[1]
    return found[1]


def test_a_value_that_no_rule_needs_dies_when_its_tensor_does() -> None:
    def program(x: Any, watched: Watched) -> Any:
        tape = tg.GradientTape()
        with tape:
            tape.watch(x)
            a = x + 1.0
            watched.note("sum", a)
            b = tg.tanh(a)
            watched.note("tanh", b)
            y = tg.sum(b)
            del a, b
        return tape, y

    assert both(program) == {"tanh"}


def test_all_are_freed_by_the_gradient_of_a_tape_that_is_spent() -> None:
    def program(x: Any, watched: Watched) -> Any:
        with tg.GradientTape() as tape:
            tape.watch(x)
            a = tg.exp(x)
            b = a * tg.sin(a)
            y = tg.sum(b)
            watched.note("exp", a)
            watched.note("product", b)
            del a, b
        return tape, tape.gradient(y, x), y

    assert both(program) == set()


def test_a_sweep_frees_values_and_cotangents_as_it_goes() -> None:
    def program(x: Any, watched: Watched) -> Any:
        seen: list[set[str]] = []

        @tg.custom_gradient
        def looks(z: Any) -> Any:
            def backward(g: Any) -> Any:
                watched.note("cotangent", g)
                seen.append(watched.alive)
                return g * 1.0

            return z * 1.0, backward

        with tg.GradientTape() as tape:
            tape.watch(x)
            a = looks(tg.exp(x))
            b = tg.exp(a)
            watched.note("late", b)
            y = tg.sum(b)
            del a, b
        g = tape.gradient(y, x)
        assert "late" not in seen[0]
        return g

    assert both(program) == set()


def test_sums_that_are_put_off_hold_nothing_once_they_are_read() -> None:
    x = tg.asarray(np.ones((8, 8), np.float32), backend="tensorflow")
    total, parts = (x * 1.0).array, []
    for k in range(5):
        part = (x * float(k)).array
        parts.append(weakref.ref(part.bare))
        total += part
        del part
    assert all(ref() is not None for ref in parts)
    np.testing.assert_array_equal(np.asarray(total), 11)
    assert all(ref() is None for ref in parts)


@pytest.mark.parametrize("steps", [3])
def test_a_persistent_tape_keeps_what_it_needs_until_it_goes(steps: int) -> None:
    def program(x: Any, watched: Watched) -> Any:
        tape = tg.GradientTape(persistent=True)
        with tape:
            tape.watch(x)
            y = x
            for k in range(steps):
                y = tg.tanh(y)
                watched.note(f"step {k}", y)
            y = tg.sum(y)
        tape.gradient(y, x)
        return tape

    assert both(program) == {f"step {k}" for k in range(steps)}
