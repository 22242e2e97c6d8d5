"""Who holds what, and until when.  The garbage collector is off: all of this is by reference counting alone."""

import gc
import sys
import time
import tracemalloc
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tapegrad as tg


@pytest.fixture(autouse=True)
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Watcher:
    """Knows whether raw arrays are alive."""

    def __init__(self) -> None:
        self.refs: list[weakref.ref[Any]] = []

    def __call__(self, x: tg.Tensor) -> tg.Tensor:
        self.refs.append(weakref.ref(x.raw))
        return x

    @property
    def alive(self) -> int:
        return sum(r() is not None for r in self.refs)


def big(n: int = 8) -> tg.Tensor:
    return tg.asarray(np.linspace(0.5, 1.5, n))


# -- tensors ---------------------------------------------------------------------------------------------------
def test_tensors_and_their_arrays_die_by_reference_counting() -> None:
    v = tg.Variable(np.ones(3))
    with tg.GradientTape() as tape:
        y = tg.tanh(v * v) @ v
    refs = [weakref.ref(y), weakref.ref(tape), weakref.ref(v), weakref.ref(v.raw), weakref.ref(y.node)]
    tape.gradient(y, v)
    del y, tape, v
    assert [r() for r in refs] == [None] * 5


@pytest.mark.parametrize("how", ["gradient", "reset", "never asked", "persistent", "left by an exception", "jacobian"])
def test_a_step_leaves_nothing_for_the_collector(how: str) -> None:
    v = tg.Variable(np.ones(3))

    def step() -> None:
        try:
            with tg.GradientTape(persistent=how == "persistent") as tape:
                y = tg.sum(tg.tanh(v * v) * v[::-1] + tg.stack([v, v])[0])
                if how == "left by an exception":
                    raise ZeroDivisionError
                if how == "reset":
                    tape.reset()
        except ZeroDivisionError:
            return
        if how in ("gradient", "persistent"):
            tape.gradient(y, v)
        elif how == "jacobian":
            tape.jacobian(y, v)

    step()
    gc.collect()
    for _ in range(3):
        step()
    assert gc.collect() == 0


def test_nested_tapes_and_accumulators_leave_nothing_for_the_collector() -> None:
    v, x = tg.Variable(np.ones(3)), tg.asarray(np.ones(3))

    def step() -> None:
        with tg.GradientTape() as outer:
            with tg.GradientTape(persistent=True) as inner:
                inner.watch(x)
                y = tg.sum(tg.exp(v * x) * v)
            g = inner.gradient(y, v)
            with outer.stop_recording(), tg.no_grad():
                v * 2
        outer.gradient(g, [v, x])
        with tg.ForwardAccumulator(v, tg.ones((3,), dtype=tg.float64)) as first:
            with tg.ForwardAccumulator(x, tg.ones((3,), dtype=tg.float64)) as second:
                y = tg.sum(tg.exp(v * x) * v)
            first.jvp(second.jvp(y))

    step()
    gc.collect()
    for _ in range(3):
        step()
    assert gc.collect() == 0


def test_a_gradient_inside_its_block_leaves_nothing_for_the_collector() -> None:
    def step() -> None:
        v = tg.Variable(np.ones(3))
        with tg.GradientTape() as tape:
            y = tg.sum(v * v)
            g = tape.gradient(y, v)
            y * g

    step()
    gc.collect()
    step()
    assert gc.collect() == 0


# -- tapes -----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("end", ["gradient", "reset", "collected"])
def test_a_tape_that_ends_frees_what_it_alone_owns_although_the_result_lives_on(end: str) -> None:
    x, seen, kept = big(), Watcher(), []
    with tg.GradientTape() as tape:
        tape.watch(x)
        h = seen(tg.exp(x))
        for _ in range(5):
            h = seen(tg.tanh(h)) * x
        kept.append(tg.sum(h))
        del h
    assert seen.alive == 6
    if end == "gradient":
        tape.gradient(kept[0], x)
    elif end == "reset":
        tape.reset()
    else:
        del tape
    assert seen.alive == 0


def test_values_are_freed_during_the_sweep_as_soon_as_no_rule_needs_them() -> None:
    x, seen, alive = big(), Watcher(), []

    def spy(xp: Any, x: Any, /) -> Any:
        """The array itself."""
        return x * 1

    def pull(F: Any, g: Any) -> Any:
        alive.append(seen.alive)
        return g

    op = tg.linear(laws="only here", public=False)(spy)
    op.adjoint(x=pull)
    with tg.GradientTape() as tape:
        tape.watch(x)
        h = x
        for _ in range(6):
            h = op(seen(tg.exp(h * 0.1)))
        y = tg.sum(h)
        del h
    tape.gradient(y, x)
    assert alive == [6, 5, 4, 3, 2, 1]


def test_a_persistent_tape_keeps_its_values_until_it_is_dropped() -> None:
    x, seen = big(), Watcher()
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tg.sum(seen(tg.exp(x)) * 2)
    tape.gradient(y, x)
    assert seen.alive == 1
    del tape
    assert seen.alive == 0


def test_an_outer_tape_keeps_what_it_needs_when_the_inner_one_is_spent() -> None:
    x, seen = big(), Watcher()
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as inner:
            inner.watch(x)
            y = tg.sum(seen(tg.exp(x)) * x)
        g = inner.gradient(y, x)
        del inner, y
    assert seen.alive == 1
    np.testing.assert_allclose(outer.gradient(g, x).numpy(), np.exp(x.numpy()) * (2 + x.numpy()))
    assert seen.alive == 0


def test_a_value_that_only_the_inner_tape_needs_is_freed_although_the_outer_one_lives() -> None:
    x, z, seen = big(), big(), Watcher()
    with tg.GradientTape(persistent=True) as outer:
        outer.watch(z)
        with tg.GradientTape() as inner:
            inner.watch(x)
            y = tg.sum(seen(tg.exp(x)))
        inner.gradient(y, x)
        assert seen.alive == 0


@pytest.mark.parametrize("outer", [False, True])
def test_values_computed_under_a_tape_and_thrown_away_are_freed(outer: bool) -> None:
    x, seen = big(), Watcher()
    with tg.GradientTape(persistent=True) as around:
        around.watch(x)
        for _ in range(500):
            if outer:
                with tg.GradientTape() as tape:
                    tape.watch(x)
                    y = tg.sum(seen(tg.exp(x)))
                tape.gradient(y, x)
            else:
                tg.sum(seen(tg.exp(x)) * 2)
            y = None
        assert seen.alive <= 130
    del around
    assert seen.alive == 0


def test_a_value_that_is_watched_and_thrown_away_is_freed() -> None:
    seen = Watcher()
    with tg.GradientTape(persistent=True) as tape:
        for _ in range(200):
            x = seen(big())
            tape.watch(x)
            tg.exp(x)
        del x
        assert seen.alive <= 130


def test_forward_mode_alone_keeps_no_intermediates() -> None:
    x, seen = big(), Watcher()
    with tg.ForwardAccumulator(x, tg.ones_like(x)) as accumulator:
        h = x
        for _ in range(50):
            h = seen(tg.tanh(h) * x)
            assert seen.alive == 1
        y = tg.sum(h)
        del h
        assert seen.alive == 0
    assert accumulator.jvp(y) is not None


def test_what_a_loop_appends_to_a_list_does_not_hold_its_step() -> None:
    v, losses, seen = tg.Variable(np.ones(8)), [], Watcher()
    for _ in range(20):
        with tg.GradientTape() as tape:
            loss = tg.sum(seen(tg.tanh(v * v)) * v)
        losses.append(loss)
        v.assign_sub(0.01 * tape.gradient(loss, v))
    assert seen.alive == 0


def test_gradients_do_not_hold_the_graph() -> None:
    x, seen = big(), Watcher()
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = tg.sum(seen(tg.exp(x)) * 2)
    g = tape.gradient(y, x)
    del tape, y
    assert seen.alive == 0
    assert g.shape == (8,)


def test_an_exception_that_is_kept_does_not_keep_the_tape_recording() -> None:
    v, caught = tg.Variable(1.5), None
    try:
        with tg.GradientTape():
            v * v
            raise ZeroDivisionError
    except ZeroDivisionError as error:
        caught = error
    assert caught is not None
    assert (v * v).node is None


# -- growth ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(("outer", "kept"), [(False, False), (False, True), (True, False)])
def test_a_training_loop_does_not_grow(outer: bool, kept: bool) -> None:
    rng = np.random.default_rng(0)
    w, b = tg.Variable(rng.normal(size=(6, 4))), tg.Variable(np.zeros(4))
    x, t = tg.asarray(rng.normal(size=(8, 6))), tg.asarray(rng.normal(size=(8, 4)))
    losses = []

    def step() -> None:
        with tg.GradientTape() as tape:
            loss = tg.mean((tg.tanh(x @ w + b) - t) ** 2)
        gw, gb = tape.gradient(loss, [w, b])
        w.assign_sub(0.01 * gw)
        b.assign_sub(0.01 * gb)
        if kept:
            losses.append(loss)

    def steps(count: int) -> int:
        for _ in range(count):
            step()
        assert gc.collect() == 0  # nothing to collect, but Python's free lists of tuples are emptied
        return tracemalloc.get_traced_memory()[0]

    around = tg.GradientTape(persistent=True)
    if outer:
        around.__enter__()
    try:
        step()
        gc.collect()
        tracemalloc.start()
        before = steps(200)
        after = steps(1000)
    finally:
        tracemalloc.stop()
        if outer:
            around.__exit__(None, None, None)
    allowed = 300 if kept else 20  # a loss is a Tensor, its node and a NumPy scalar
    assert after - before < 1000 * allowed


# -- depth -----------------------------------------------------------------------------------------------------
@pytest.mark.slow
def test_a_million_operations_are_recorded_differentiated_and_freed() -> None:
    n = 1_000_000
    x = tg.asarray(np.float64(1.0))
    tracemalloc_free = sys.getallocatedblocks()
    began = time.process_time()
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(n):
            y = y * 1.0000001
    g = tape.gradient(y, x)
    assert float(g) == pytest.approx(1.0000001**n, rel=1e-6)
    y = tape = None
    assert time.process_time() - began < 30
    assert sys.getallocatedblocks() - tracemalloc_free < 10_000


@pytest.mark.parametrize("end", ["gradient", "reset", "collected", "persistent"])
def test_a_deep_chain_ends_without_recursion(end: str) -> None:
    x = tg.asarray(np.float64(1.0))
    tape = tg.GradientTape(persistent=end == "persistent")
    with tape:
        tape.watch(x)
        y = x
        for _ in range(50_000):
            y = y * 1.0001 + x
        assert repr(y.node)
    if end in ("gradient", "persistent"):
        tape.gradient(y, x)
    elif end == "reset":
        tape.reset()
    del tape
    assert float(y) > 1


def test_a_recorded_operation_on_scalars_takes_less_than_450_bytes() -> None:
    n = 20_000
    x = tg.asarray(np.float64(1.0))
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x * 1.0001
        tracemalloc.start()
        for _ in range(n):
            y = y * x
        size = tracemalloc.get_traced_memory()[0]
        tracemalloc.stop()
    tape.gradient(y, x)
    assert size / n < 450


def test_hundreds_of_tapes_on_the_same_variables_can_be_alive_at_once() -> None:
    v = [tg.Variable(np.float32(1.5)) for _ in range(3)]
    tapes = []
    for _ in range(500):  # a cost that is cubic in their number takes half a minute here
        with tg.GradientTape() as tape:
            y = v[0] * v[1] + v[2]
        tapes.append((tape, y))
    for tape, y in tapes:
        assert [float(g) for g in tape.gradient(y, v)] == [1.5, 1.5, 1.0]
