"""The life of a tape: when it records, is spent, reset, and let go."""

import gc
import logging
import weakref

import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, GradientError, SpentError


def test_a_tape_that_is_not_persistent_gives_one_gradient() -> None:
    v = tg.Variable(2.5)
    with tg.GradientTape() as tape:
        y = v * v
    assert float(tape.gradient(y, v)) == 5
    with pytest.raises(SpentError, match="persistent=True"):
        tape.gradient(y, v)


def test_a_persistent_tape_gives_many_gradients() -> None:
    v = tg.Variable(2.5)
    with tg.GradientTape(persistent=True) as tape:
        y = v * v
        z = y * v
    assert [float(tape.gradient(t, v)) for t in (y, z, y)] == [5, 18.75, 5]


def test_a_gradient_of_a_tape_that_was_never_entered_is_refused() -> None:
    x = tg.asarray(1.5)
    with pytest.raises(GradientError, match="never entered"):
        tg.GradientTape().gradient(x, x)


def test_a_gradient_of_a_tape_that_recorded_nothing_is_none() -> None:
    x = tg.asarray(1.5)
    with tg.GradientTape() as tape:
        pass
    assert tape.gradient(x * x, x) is None


def test_a_gradient_inside_the_block_ends_the_recording_of_a_tape_that_is_not_persistent() -> None:
    v = tg.Variable(2.5)
    with tg.GradientTape() as tape:
        y = v * v
        g = tape.gradient(y, v)
        z = y * v
        assert z.node is None
    assert float(g) == 5
    with pytest.raises(SpentError):
        tape.gradient(z, v)


def test_a_failed_gradient_inside_the_block_does_not_end_the_recording() -> None:
    v = tg.Variable(2.5)
    with tg.GradientTape() as tape:
        y = v * v
        with pytest.raises(ArgumentError):
            tape.gradient(y, 2.5)
        with pytest.raises(ValueError, match="output_gradients"):
            tape.gradient(y, v, output_gradients=[1.5, 2.5])
        z = y * v
    assert float(tape.gradient(z, v)) == 18.75


def test_a_persistent_tape_records_gradients_taken_inside_its_block() -> None:
    x = tg.asarray(2.0)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**5
        first = tape.gradient(y, x)
        second = tape.gradient(first, x)
    third = tape.gradient(second, x)
    assert [float(g) for g in (first, second, third)] == [80, 160, 240]


def test_a_gradient_taken_while_recording_is_stopped_counts_as_a_constant() -> None:
    v = tg.Variable(2.0)
    with tg.GradientTape(persistent=True) as tape:
        y = v**3
        with tape.stop_recording():
            g = tape.gradient(y, v)
        z = y * g
    assert float(g) == 12
    assert float(tape.gradient(z, v)) == 144
    assert tape.gradient(g, v) is None


def test_a_gradient_inside_stop_recording_spends_the_tape() -> None:
    v = tg.Variable(2.5)
    with tg.GradientTape() as tape:
        y = v * v
        with tape.stop_recording():
            assert float(tape.gradient(y, v)) == 5
        assert (v * v).node is None
    with pytest.raises(SpentError):
        tape.gradient(y, v)


def test_stop_recording_records_nothing_inside_and_goes_on_after() -> None:
    v = tg.Variable(2.5)
    with tg.GradientTape(persistent=True) as tape:
        a = v * v
        with tape.stop_recording():
            b = v * v
        c = a + v + b
    assert tape.gradient(b, v) is None
    assert float(tape.gradient(c, v)) == 6


def test_stop_recording_leaves_other_tapes_alone() -> None:
    v = tg.Variable(2.5)
    with tg.GradientTape() as outer, tg.GradientTape() as inner, inner.stop_recording():
        y = v * v
    assert float(outer.gradient(y, v)) == 5
    assert inner.gradient(y, v) is None


def test_stop_recording_of_a_tape_that_is_not_recording_is_refused() -> None:
    tape = tg.GradientTape()
    with pytest.raises(ValueError, match="not recording"), tape.stop_recording():
        pass


def test_stop_recording_nests() -> None:
    v = tg.Variable(2.5)
    with tg.GradientTape() as tape:
        with tape.stop_recording():
            with tape.stop_recording():
                pass
            hidden = v * v
        y = hidden + v
    assert float(tape.gradient(y, v)) == 1


def test_a_reset_inside_the_block_forgets_what_was_recorded() -> None:
    v = tg.Variable(2.5)
    with tg.GradientTape(persistent=True) as tape:
        y = v * v
        tape.reset()
        z = 3 * v
    assert tape.gradient(y, v) is None
    assert float(tape.gradient(z, v)) == 3


def test_a_spent_tape_can_be_entered_afresh() -> None:
    x = tg.asarray(3.0)
    tape = tg.GradientTape()
    for power in (2, 3):
        with tape:
            tape.watch(x)
            y = x**power
        assert float(tape.gradient(y, x)) == power * 3 ** (power - 1)


@pytest.mark.parametrize("persistent", [False, True])
def test_a_tape_that_is_entered_again_goes_on(persistent: bool) -> None:
    v = tg.Variable(2.0)
    tape = tg.GradientTape(persistent=persistent)
    with tape:
        y = v * v
    outside = y * v
    with tape:
        z = y * v + outside
    assert float(tape.gradient(z, v)) == 12


def test_entering_a_tape_inside_itself_is_refused_and_it_goes_on() -> None:
    v = tg.Variable(2.5)
    with tg.GradientTape() as tape:
        with pytest.raises(ValueError, match="recording already"), tape:
            pass
        y = v * v
    assert float(tape.gradient(y, v)) == 5


def test_a_tape_left_by_an_exception_keeps_what_it_has() -> None:
    x = tg.asarray(3.0)
    tape = tg.GradientTape(persistent=True)
    made = []

    def fail() -> None:
        with tape:
            tape.watch(x)
            made.append(x * x)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    (y,) = made
    assert tape.gradient(y * 2, x) is None
    assert float(tape.gradient(y, x)) == 6


def test_refused_arguments_of_a_tape_leave_nothing_to_clean_up() -> None:
    with pytest.raises(TypeError, match="positional argument"):
        tg.GradientTape(True, True, True)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="positional argument"):
        tg.ForwardAccumulator(1, 2, 3)  # type: ignore[call-arg]
    gc.collect()


def test_a_tape_that_is_dropped_while_it_records_stops() -> None:
    v = tg.Variable(2.5)
    tape = tg.GradientTape()
    tape.__enter__()
    del tape
    assert (v * v).node is None


def test_a_spent_tape_does_not_keep_variables_in_a_cycle() -> None:
    gc.disable()
    try:
        v = tg.Variable([1.5, 2.5])
        gone = weakref.ref(v)
        with tg.GradientTape() as tape:
            y = tg.sum(v * v)
        tape.gradient(y, v)
        del tape, v, y
        assert gone() is None
    finally:
        gc.enable()


def test_an_integer_target_is_logged_and_has_no_gradient(caplog: pytest.LogCaptureFixture) -> None:
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        whole, flag, where, y = tg.astype(x, tg.int32), x > 2, tg.argmax(x), tg.sum(x * x)
    with caplog.at_level(logging.WARNING, logger="tapegrad"):
        assert [tape.gradient(t, x) for t in (whole, flag, where)] == [None] * 3
    assert [name in caplog.text for name in ("int32", "bool", "int64")] == [True] * 3
    assert tape.gradient([whole, y], x).tolist() == [3, 5]


def test_a_tape_tells_its_state() -> None:
    x = tg.Variable(1.5)
    tape = tg.GradientTape(traced=True)
    assert repr(tape) == "<GradientTape(traced=True): 0 values kept>"
    with tape:
        y = x * 2.0
        assert repr(tape) == "<GradientTape(traced=True): recording, 2 values kept>"
    assert repr(tape) == "<GradientTape(traced=True): 2 values kept>"
    tape.gradient(y, x)
    assert repr(tape) == "<GradientTape(traced=True): spent by a derivative>"
    assert repr(tg.GradientTape(True)) == "<GradientTape(persistent=True): 0 values kept>"
