import gc
import logging
import weakref

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DTypeError, GradientError, SpentError


def value(x: tg.Tensor) -> float:
    return float(x)


# -- watching --------------------------------------------------------------------------------------------
def test_a_tensor_is_recorded_only_when_it_is_watched() -> None:
    x = tg.asarray(3.5)
    with tg.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x) is None
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert value(tape.gradient(y, x)) == 7


def test_a_trainable_variable_is_watched_as_it_is_read() -> None:
    v = tg.Variable([1.5, -2.5])
    with tg.GradientTape() as tape:
        y = tg.sum(v**3)
    assert tape.gradient(y, v).tolist() == [6.75, 18.75]


def test_variables_are_not_watched_where_that_is_switched_off() -> None:
    a, b = tg.Variable(2.5), tg.Variable(5.5)
    with tg.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(b)
        y = a * b
    found = tape.gradient(y, [a, b])
    assert found[0] is None
    assert value(found[1]) == 2.5
    assert [v is b for v in tape.watched_variables()] == [True]


def test_watched_variables_come_in_the_order_in_which_they_were_met() -> None:
    a, b, c, unread = (tg.Variable(float(i)) for i in range(4))
    with tg.GradientTape() as tape:
        assert tape.watched_variables() == ()
        c * 2
        tape.watch([b])
        a * c
    assert [id(v) for v in tape.watched_variables()] == [id(c), id(b), id(a)]
    assert unread.node is None


@pytest.mark.parametrize("persistent", [False, True])
def test_watched_variables_are_told_after_the_gradient_too(persistent: bool) -> None:
    v = tg.Variable(2.5)
    with tg.GradientTape(persistent=persistent) as tape:
        y = v * v
    tape.gradient(y, v)
    assert [w is v for w in tape.watched_variables()] == [True]


def test_watched_variables_are_forgotten_by_a_reset() -> None:
    v = tg.Variable(2.5)
    with tg.GradientTape() as tape:
        v * v
        tape.reset()
    assert tape.watched_variables() == ()


def test_watch_takes_nested_structures() -> None:
    a, b, c = (tg.asarray(float(i)) for i in (1, 2, 3))
    v = tg.Variable(4.0, trainable=False)
    with tg.GradientTape() as tape:
        tape.watch({"pair": (a, b), "rest": [c, v]})
        y = a * b * c * v
    assert [value(g) for g in tape.gradient(y, [a, b, c, v])] == [24, 12, 8, 6]


@pytest.mark.parametrize("bad", [1.5, np.ones(2), None, "x"], ids=["float", "ndarray", "None", "text"])
def test_watch_refuses_what_is_no_tensor_and_then_watches_nothing(bad: object) -> None:
    x, v = tg.asarray(1.5), tg.Variable(2.5)
    with tg.GradientTape(persistent=True, watch_accessed_variables=False) as tape:
        with pytest.raises(ArgumentError, match=r"watch\(value\): expected a Tensor"):
            tape.watch([x, v, bad])
        y = x * v
    assert tape.gradient(y, [x, v]) == [None, None]
    assert tape.watched_variables() == ()
    assert x.node is None


def test_watch_refuses_integers_and_then_watches_nothing() -> None:
    x, n = tg.asarray(1.5), tg.asarray(2)
    with tg.GradientTape() as tape:
        with pytest.raises(DTypeError, match="expected a floating dtype, got int64"):
            tape.watch([x, n])
        y = x * 2
    assert tape.gradient(y, x) is None


def test_what_is_computed_outside_the_block_is_not_recorded() -> None:
    v = tg.Variable(3.5)
    before = v * v
    with tg.GradientTape(persistent=True) as tape:
        inside = v * v
        from_before = before * 2.5
    after = inside * 5.5
    assert tape.gradient(before, v) is None
    assert tape.gradient(from_before, v) is None
    assert tape.gradient(after, v) is None
    assert value(tape.gradient(inside, v)) == 7


def test_a_watched_intermediate_leads_to_nothing_that_was_not_watched() -> None:
    x = tg.asarray(2.5)
    with tg.GradientTape() as tape:
        hidden = tg.exp(x)
        tape.watch(hidden)
        y = hidden * 3
    gx, gh = tape.gradient(y, [x, hidden])
    assert gx is None
    assert value(gh) == 3


def test_only_uses_after_watching_count() -> None:
    x = tg.asarray(2.5)
    with tg.GradientTape() as tape:
        early = x * 10
        tape.watch(x)
        y = x * x + early
    assert value(tape.gradient(y, x)) == 5


def test_watching_twice_changes_nothing() -> None:
    x = tg.asarray(2.5)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        tape.watch([x, x])
        y = y + 3 * x
    assert value(tape.gradient(y, x)) == 8


def test_rebinding_a_name_changes_what_is_asked_for() -> None:
    x = original = tg.asarray(2.0)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        for _ in range(3):
            x = x * x
    assert value(tape.gradient(x, x)) == 1
    assert value(tape.gradient(x, original)) == 8 * 2**7


def test_asarray_keeps_the_identity_of_a_tensor() -> None:
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.asarray(x) * x
    assert tape.gradient(y, x).tolist() == [3, 5]


def test_watch_may_come_before_the_block() -> None:
    x = tg.asarray(2.5)
    tape = tg.GradientTape()
    tape.watch(x)
    with tape:
        y = x * x
    assert value(tape.gradient(y, x)) == 5


def test_a_spent_tape_refuses_to_watch() -> None:
    x = tg.asarray(2.5)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(SpentError, match="records no more"):
        tape.watch(x)


# -- the life of a tape ----------------------------------------------------------------------------------
def test_a_tape_that_is_not_persistent_gives_one_gradient() -> None:
    v = tg.Variable(2.5)
    with tg.GradientTape() as tape:
        y = v * v
    assert value(tape.gradient(y, v)) == 5
    with pytest.raises(SpentError, match="persistent=True"):
        tape.gradient(y, v)


def test_a_persistent_tape_gives_many_gradients() -> None:
    v = tg.Variable(2.5)
    with tg.GradientTape(persistent=True) as tape:
        y = v * v
        z = y * v
    assert [value(tape.gradient(t, v)) for t in (y, z, y)] == [5, 18.75, 5]


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
    assert value(g) == 5
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
    assert value(tape.gradient(z, v)) == 18.75


def test_a_persistent_tape_records_gradients_taken_inside_its_block() -> None:
    x = tg.asarray(2.0)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**5
        first = tape.gradient(y, x)
        second = tape.gradient(first, x)
    third = tape.gradient(second, x)
    assert [value(g) for g in (first, second, third)] == [80, 160, 240]


def test_a_gradient_taken_while_recording_is_stopped_counts_as_a_constant() -> None:
    v = tg.Variable(2.0)
    with tg.GradientTape(persistent=True) as tape:
        y = v**3
        with tape.stop_recording():
            g = tape.gradient(y, v)
        z = y * g
    assert value(g) == 12
    assert value(tape.gradient(z, v)) == 144
    assert tape.gradient(g, v) is None


def test_a_gradient_inside_stop_recording_spends_the_tape() -> None:
    v = tg.Variable(2.5)
    with tg.GradientTape() as tape:
        y = v * v
        with tape.stop_recording():
            assert value(tape.gradient(y, v)) == 5
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
    assert value(tape.gradient(c, v)) == 6


def test_stop_recording_leaves_other_tapes_alone() -> None:
    v = tg.Variable(2.5)
    with tg.GradientTape() as outer, tg.GradientTape() as inner, inner.stop_recording():
        y = v * v
    assert value(outer.gradient(y, v)) == 5
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
    assert value(tape.gradient(y, v)) == 1


def test_a_reset_inside_the_block_forgets_what_was_recorded() -> None:
    v = tg.Variable(2.5)
    with tg.GradientTape(persistent=True) as tape:
        y = v * v
        tape.reset()
        z = 3 * v
    assert tape.gradient(y, v) is None
    assert value(tape.gradient(z, v)) == 3


def test_a_spent_tape_can_be_entered_afresh() -> None:
    x = tg.asarray(3.0)
    tape = tg.GradientTape()
    for power in (2, 3):
        with tape:
            tape.watch(x)
            y = x**power
        assert value(tape.gradient(y, x)) == power * 3 ** (power - 1)


@pytest.mark.parametrize("persistent", [False, True])
def test_a_tape_that_is_entered_again_goes_on(persistent: bool) -> None:
    v = tg.Variable(2.0)
    tape = tg.GradientTape(persistent=persistent)
    with tape:
        y = v * v
    outside = y * v
    with tape:
        z = y * v + outside
    assert value(tape.gradient(z, v)) == 12


def test_entering_a_tape_inside_itself_is_refused_and_it_goes_on() -> None:
    v = tg.Variable(2.5)
    with tg.GradientTape() as tape:
        with pytest.raises(ValueError, match="recording already"), tape:
            pass
        y = v * v
    assert value(tape.gradient(y, v)) == 5


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
    assert value(tape.gradient(y, x)) == 6


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
