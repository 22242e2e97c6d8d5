"""What a tape watches, and from when on."""


import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DTypeError, SpentError


def test_a_tensor_is_recorded_only_when_it_is_watched() -> None:
    x = tg.asarray(3.5)
    with tg.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x) is None
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    assert float(tape.gradient(y, x)) == 7


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
    assert float(found[1]) == 2.5
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
    assert [float(g) for g in tape.gradient(y, [a, b, c, v])] == [24, 12, 8, 6]


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
    assert float(tape.gradient(inside, v)) == 7


def test_a_watched_intermediate_leads_to_nothing_that_was_not_watched() -> None:
    x = tg.asarray(2.5)
    with tg.GradientTape() as tape:
        hidden = tg.exp(x)
        tape.watch(hidden)
        y = hidden * 3
    gx, gh = tape.gradient(y, [x, hidden])
    assert gx is None
    assert float(gh) == 3


def test_only_uses_after_watching_count() -> None:
    x = tg.asarray(2.5)
    with tg.GradientTape() as tape:
        early = x * 10
        tape.watch(x)
        y = x * x + early
    assert float(tape.gradient(y, x)) == 5


def test_watching_twice_changes_nothing() -> None:
    x = tg.asarray(2.5)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
        tape.watch([x, x])
        y = y + 3 * x
    assert float(tape.gradient(y, x)) == 8


def test_rebinding_a_name_changes_what_is_asked_for() -> None:
    x = original = tg.asarray(2.0)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        for _ in range(3):
            x = x * x
    assert float(tape.gradient(x, x)) == 1
    assert float(tape.gradient(x, original)) == 8 * 2**7


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
    assert float(tape.gradient(y, x)) == 5


def test_a_spent_tape_refuses_to_watch() -> None:
    x = tg.asarray(2.5)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(SpentError, match="records no more"):
        tape.watch(x)
