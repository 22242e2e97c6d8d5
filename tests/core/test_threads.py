"""State is per thread, and graphs may be shared."""

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.core.recorder import state


def in_thread(function: Callable[[], Any]) -> Any:
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(function).result(timeout=30)


def at_once(*functions: Callable[[], Any]) -> list[Any]:
    """The results of functions that start together."""
    start = threading.Barrier(len(functions))

    def run(function: Callable[[], Any]) -> Any:
        start.wait(timeout=30)
        return function()

    with ThreadPoolExecutor(len(functions)) as pool:
        return [f.result(timeout=60) for f in [pool.submit(run, f) for f in functions]]


def test_a_tape_does_not_see_what_other_threads_compute() -> None:
    v = tg.Variable(3.5)
    with tg.GradientTape(persistent=True) as tape:
        mine = v * v
        theirs = in_thread(lambda: v * v)
        late = theirs * 2
    assert theirs.node is None
    assert tape.gradient(theirs, v) is None
    assert tape.gradient(late, v) is None
    assert float(tape.gradient(mine, v)) == 7


def test_a_gradient_may_be_taken_in_another_thread() -> None:
    v = tg.Variable(3.0)
    with tg.GradientTape(persistent=True) as tape:
        y = v**3
    assert float(in_thread(lambda: tape.gradient(y, v))) == 27
    assert float(tape.gradient(y, v)) == 27


def test_no_grad_is_for_one_thread() -> None:
    v = tg.Variable(3.0)

    def step() -> float:
        with tg.GradientTape() as tape:
            y = v * v
        return float(tape.gradient(y, v))

    with tg.no_grad():
        assert in_thread(step) == 6


def test_a_tape_in_another_thread_hides_nothing_from_this_one() -> None:
    v, x = tg.Variable(2.0), tg.asarray(3.0)

    def theirs() -> list[float]:
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = v * x * x
        return [float(g) for g in tape.gradient(y, [v, x])]

    with tg.GradientTape() as tape:
        tape.watch(x)
        y = v * x * x
        assert in_thread(theirs) == [9, 12]
        y = y + v * x * x
    assert [float(g) for g in tape.gradient(y, [v, x])] == [18, 24]
    assert [w is v for w in tape.watched_variables()] == [True]


def test_threads_that_train_on_the_same_values_do_not_disturb_each_other() -> None:
    v, x = tg.Variable([1.0, 2.0]), tg.asarray([3.0, 4.0])

    def work(k: int) -> set[tuple[Any, Any]]:
        found = set()
        for _ in range(150):
            with tg.GradientTape() as tape:
                tape.watch(x)
                y = tg.sum(k * v * x)
                y = y + tg.sum(v * x)
            gv, gx = tape.gradient(y, [v, x])
            found.add((tuple(gv.tolist()), tuple(gx.tolist())))
        return found

    for k, found in enumerate(at_once(*(lambda k=k: work(k) for k in range(4)))):
        assert found == {((3.0 * (k + 1), 4.0 * (k + 1)), (1.0 * (k + 1), 2.0 * (k + 1)))}


@pytest.mark.parametrize("same_target", [True, False])
def test_two_threads_may_sweep_one_persistent_graph_at_once(same_target: bool) -> None:
    rng = np.random.default_rng(0)
    x = tg.asarray(rng.normal(size=8))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        h, targets = x, []
        for _ in range(40):
            h = tg.tanh(h) + h[::-1] * 0.5 + x
            targets.append(tg.sum(h))
    alone = [tape.gradient(t, x).tolist() for t in targets]

    def work(k: int) -> bool:
        order = np.random.default_rng(k).integers(0, 40, 60)
        return all(tape.gradient(targets[i], x).tolist() == alone[i] for i in ([39] * 60 if same_target else order))

    assert at_once(*(lambda k=k: work(k) for k in range(3))) == [True] * 3


def test_a_failing_sweep_in_one_thread_does_not_stop_the_others() -> None:
    x = tg.asarray([1.5, 2.5])
    here = threading.local()

    def may_fail(xp: Any, x: Any, /) -> Any:
        """The array itself."""
        return x * 1

    def pull(F: Any, g: Any) -> Any:
        if getattr(here, "fails", False):
            raise ZeroDivisionError
        return g

    op = tg.linear(laws="only here", public=False)(may_fail)
    op.adjoint(x=pull)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x
        for _ in range(10):
            y = op(y * x)

    def failing() -> int:
        here.fails = True
        count = 0
        for _ in range(100):
            try:
                tape.gradient(y, x)
            except ZeroDivisionError:
                count += 1
        return count

    expected = tape.gradient(y, x).tolist()
    sound = lambda: {tuple(tape.gradient(y, x).tolist()) for _ in range(100)}  # noqa: E731
    assert at_once(failing, sound, sound) == [100, {tuple(expected)}, {tuple(expected)}]


def test_a_tape_that_another_thread_has_left_is_forgotten_with_the_next_one() -> None:
    v = tg.Variable(3.0)

    def suspended() -> Iterator[None]:
        with tg.GradientTape():
            yield

    before = state.active
    running = suspended()
    next(running)
    left = state.active
    in_thread(running.close)  # as the collector does, in whichever thread it runs
    assert state.active is left is not before
    with tg.GradientTape() as tape:
        assert len(state.active.recorders) == len(before.recorders) + 1
        y = v * v
    assert state.active is before
    assert float(tape.gradient(y, v)) == 6
