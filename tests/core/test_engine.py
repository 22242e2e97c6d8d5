"""The reverse sweep: what it touches, what it leaves behind, and that it can be interrupted and re-entered."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.core.node import Node, parents
from tapegrad.errors import SpentError

_WHY = "stands for nothing by itself: a probe of tests/core/test_engine.py"


class Probe:
    """An identity whose derivative tells of its calls, and does what it is told to."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.inside: Any = None

        def probe(xp: Any, x: Any, /, *, name: Any = None) -> Any:
            """The array itself."""
            return x * 1

        def pull(F: Any, g: Any, name: Any) -> Any:
            self.calls.append((name, g))
            if self.inside is not None:
                self.inside(name)
            return g

        self.op = tg.linear(laws=_WHY, public=False)(probe)
        self.op.adjoint(x=pull)

    def __call__(self, x: Any, name: Any = None) -> Any:
        return self.op(x, name=name)

    @property
    def names(self) -> list[Any]:
        return [name for name, _ in self.calls]


@pytest.fixture
def probe() -> Probe:
    return Probe()


def graph(node: Node | None) -> list[Node]:
    seen, stack = {}, [node]
    while stack:
        n = stack.pop()
        if n is not None and id(n) not in seen:
            seen[id(n)] = n
            stack.extend(parents(n))
    return list(seen.values())


def assert_at_rest(*tensors: tg.Tensor) -> None:
    for t in tensors:
        for node in graph(t.node):
            assert node.mark is None
            assert node.grad is None


# -- what is touched -----------------------------------------------------------------------------------------
def test_rules_run_only_between_target_and_sources(probe: Probe) -> None:
    a, b = tg.asarray(1.5), tg.asarray(2.5)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch([a, b])
        left = probe(a, "left")
        right = probe(b, "right")
        middle = probe(left * right, "middle")
        y = probe(middle, "target") + left
        probe(y, "later")
    tape.gradient(y, b)
    assert probe.names == ["target", "middle", "right"]
    probe.calls.clear()
    tape.gradient(y, left)
    assert probe.names == ["target", "middle"]
    probe.calls.clear()
    tape.gradient(middle, [a, right])
    assert probe.names == ["middle", "left"]
    assert_at_rest(y)


def test_each_rule_runs_once_newest_first(probe: Probe) -> None:
    x = tg.asarray(1.0)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x
        for k in range(20):
            y = probe(y, k) + y
    assert float(tape.gradient(y, x)) == 2**20
    assert probe.names == list(range(20))[::-1]


def test_a_doubling_chain_is_linear_in_time(probe: Probe) -> None:
    x = tg.asarray(np.float64(1.0))
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x
        for _ in range(200):
            y = y + y
    assert float(tape.gradient(y, x)) == 2.0**200


def test_a_branch_without_a_source_is_left_out_even_if_its_rule_would_fail(probe: Probe) -> None:
    a, b = tg.asarray(1.5), tg.asarray(2.5)
    with tg.GradientTape() as tape:
        tape.watch([a, b])
        y = probe(a, "a") * probe(b, "b")

    def fail(name: str) -> None:
        assert name == "b"

    probe.inside = fail
    assert float(tape.gradient(y, b)) == 1.5


# -- nothing that others hold is written to ------------------------------------------------------------------
def test_a_cotangent_that_a_rule_keeps_is_not_changed_afterwards(probe: Probe) -> None:
    x = tg.asarray(np.arange(4.0))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        h = x * 2
        y = probe(h, 0) + tg.sum(h[1:3]) + probe(h, 1) + h
    tape.gradient(y, x)
    kept = [(g, np.array(g)) for _, g in probe.calls]
    for _ in range(3):
        tape.gradient(y, x, output_gradients=np.full(4, 7.0))
    for g, before in kept:
        np.testing.assert_array_equal(g, before)


# -- exceptions ----------------------------------------------------------------------------------------------
class Stop(Exception):
    pass


@pytest.mark.parametrize("kind", [Stop, KeyboardInterrupt, SystemExit, MemoryError])
@pytest.mark.parametrize("record", [False, True])
def test_an_exception_half_way_through_a_sweep_leaves_a_persistent_tape_as_it_was(
    probe: Probe, kind: type[BaseException], record: bool
) -> None:
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape(persistent=True) as outer:
        if record:
            outer.watch(x)
        with tg.GradientTape(persistent=True) as tape:
            tape.watch(x)
            h = x * x
            y = probe(h, "first") * h + h[:1] + probe(x * h, "last")

        def fail(name: str) -> None:
            if name == "first":
                raise kind

        probe.inside = fail
        for _ in range(2):
            with pytest.raises(kind):
                tape.gradient(y, x)
            assert_at_rest(y)
        probe.inside = None
        np.testing.assert_allclose(tape.gradient(y, x).numpy(), [4 * 1.5**3 + 3 + 3 * 1.5**2 + 3, 4 * 2.5**3 + 3 * 2.5**2])


def test_an_exception_names_the_op_whose_derivative_it_came_from(probe: Probe) -> None:
    x = tg.asarray(1.5)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.exp(probe(x))

    def fail(name: str) -> None:
        raise Stop("inside")

    probe.inside = fail
    with pytest.raises(Stop, match="inside") as caught:
        tape.gradient(y, x)
    assert caught.value.__notes__ == ["in the derivative of probe"]


def test_a_tape_that_is_not_persistent_is_spent_by_a_failed_sweep(probe: Probe) -> None:
    x = tg.asarray(1.5)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.exp(probe(tg.exp(x)))

    def fail(name: str) -> None:
        raise Stop

    probe.inside = fail
    with pytest.raises(Stop):
        tape.gradient(y, x)
    with pytest.raises(SpentError):
        tape.gradient(y, x)
    probe.inside = None
    with tape:
        tape.reset()
        tape.watch(x)
        y = probe(x * x)
    assert float(tape.gradient(y, x)) == 3


# -- a sweep inside a sweep ----------------------------------------------------------------------------------
def test_a_rule_may_ask_the_same_persistent_tape_for_a_gradient(probe: Probe) -> None:
    x = tg.asarray([1.5, 2.5])
    inner = []
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        h = x * x
        a, b = probe(h, "a"), probe(h, "b")
        y = a * h + b + h[:1] + x

    def again(name: str) -> None:
        probe.inside = None
        inner.append(tape.gradient(y, x).tolist())
        inner.append(tape.gradient(h, x).tolist())
        probe.inside = again if name == "b" else None

    expected = tape.gradient(y, x).tolist()
    probe.inside = again
    assert tape.gradient(y, x).tolist() == expected
    assert inner == [expected, [3, 5]] * 2
    assert_at_rest(y)


def test_an_exception_in_a_sweep_inside_a_sweep_leaves_the_outer_one_intact(probe: Probe) -> None:
    x = tg.asarray(2.0)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        h = probe(x, "low") * x
        y = probe(h, "high") * h

    def again(name: str) -> None:
        if name == "high":
            probe.inside = fail
            with pytest.raises(Stop):
                tape.gradient(y, x)
            probe.inside = None

    def fail(name: str) -> None:
        if name == "low":
            raise Stop

    probe.inside = again
    assert float(tape.gradient(y, x)) == 32
    assert_at_rest(y)


def test_a_rule_may_record_and_differentiate_on_a_tape_of_its_own(probe: Probe) -> None:
    x, slopes = tg.Variable(1.5), []
    with tg.GradientTape() as tape:
        y = probe(x * x)

    def again(name: str) -> None:
        with tg.GradientTape() as own:
            z = x**3
        slopes.append(float(own.gradient(z, x)))

    probe.inside = again
    assert float(tape.gradient(y, x)) == 3
    assert slopes == [6.75]


# -- more than two arguments, several outputs ----------------------------------------------------------------
def test_wide_ops_pass_on_to_the_arguments_that_are_asked_for() -> None:
    a, b, c = (tg.asarray([float(k)]) for k in range(1, 4))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch([a, c])
        y = tg.concat([a, b, c, a * c])
    weights = tg.asarray([1.0, 10, 100, 1000])
    ga, gb, gc = tape.gradient(y, [a, b, c], output_gradients=weights)
    assert (ga.tolist(), gb, gc.tolist()) == ([3001], None, [1100])
    assert tape.gradient(y, c, output_gradients=weights).tolist() == [1100]


def test_an_output_that_nothing_depends_on_counts_as_zero() -> None:
    x = tg.asarray(np.arange(6.0))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        first, second, third = tg.split(x, 3)
        y = second * second
    assert tape.gradient(y, x).tolist() == [0, 0, 4, 6, 0, 0]
    assert tape.gradient([first, y, third], x).tolist() == [1, 1, 4, 6, 1, 1]
    assert tape.gradient(third, [first, x])[0] is None


def test_what_a_rule_gives_and_keeps_is_not_changed_afterwards() -> None:
    kept: list[tuple[np.ndarray, np.ndarray]] = []

    def keep(c: np.ndarray) -> np.ndarray:
        kept.append((c, c.copy()))
        return c

    def given(xp: Any, x: Any, /, *, how: str) -> Any:
        """The array itself."""
        return x * 1

    def pull(F: Any, g: Any, how: str) -> Any:
        if how == "whole":
            return keep(g * 1)
        if how == "view":
            return keep(np.concatenate([g, g]))[: len(g)]
        return np.broadcast_to(keep(np.sum(g) / 4), g.shape)

    op = tg.linear(laws=_WHY, public=False)(given)
    op.adjoint(x=pull)
    x = tg.asarray(np.arange(4.0))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        h = x * 2
        y = sum((op(h, how=how) for how in ("whole", "view", "broadcast")), h[1:3][[0, 0, 1, 1]]) + h * h + op(x, how="whole")
    for seed in (np.ones(4), np.full(4, 3.0)):
        tape.gradient(y, x, output_gradients=seed)
    assert len(kept) == 8
    for c, before in kept:
        np.testing.assert_array_equal(c, before)


def test_buffers_that_the_engine_reuses_are_never_what_was_saved() -> None:
    x = tg.asarray(np.linspace(0.5, 1.5, 4))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        a = tg.exp(x)
        b = a * a * x - a / x
        c = tg.tanh(b) + b * a + (-b) + a
        y = tg.sqrt(c * c + 1) * c
    saved = [t.numpy().copy() for t in (x, a, b, c, y)]
    first = tape.gradient(y, [x, a, b, c])
    again = tape.gradient(y, [x, a, b, c], output_gradients=y)
    for t, before in zip((x, a, b, c, y), saved, strict=True):
        np.testing.assert_array_equal(t.numpy(), before)
    for g, h in zip(first, tape.gradient(y, [x, a, b, c]), strict=True):
        np.testing.assert_array_equal(g.numpy(), h.numpy())
    np.testing.assert_allclose(again[3].numpy(), first[3].numpy() * saved[-1])
