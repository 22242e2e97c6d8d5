"""Tapes inside and across each other."""

import pytest

import tapegrad as tg


def test_nested_tapes_give_derivatives_to_third_order() -> None:
    x = tg.asarray(2.0)
    with tg.GradientTape() as third:
        third.watch(x)
        with tg.GradientTape() as second:
            second.watch(x)
            with tg.GradientTape() as first:
                first.watch(x)
                y = x**5
            dy = first.gradient(y, x)
        ddy = second.gradient(dy, x)
    dddy = third.gradient(ddy, x)
    assert [float(g) for g in (dy, ddy, dddy)] == [80, 160, 240]


def test_nested_tapes_over_variables_give_third_order_too() -> None:
    v = tg.Variable(0.5)
    with tg.GradientTape() as third:
        with tg.GradientTape() as second:
            with tg.GradientTape() as first:
                y = tg.exp(2 * v)
            dy = first.gradient(y, v)
        ddy = second.gradient(dy, v)
    dddy = third.gradient(ddy, v)
    assert [float(g) for g in (dy, ddy, dddy)] == pytest.approx([2 * 2.718281828, 4 * 2.718281828, 8 * 2.718281828], rel=1e-6)


def test_what_only_another_tape_watched_stays_none() -> None:
    x, z = tg.asarray(2.0), tg.asarray(3.0)
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as inner:
            inner.watch(z)
            y = x * z
    assert inner.gradient(y, x) is None
    assert outer.gradient(y, z) is None


def test_each_tape_has_its_own_share_of_one_product() -> None:
    x, z = tg.asarray(2.0), tg.asarray(3.0)
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as inner:
            inner.watch(z)
            y = x * z
    assert [g if g is None else float(g) for g in inner.gradient(y, [x, z])] == [None, 2]
    assert [g if g is None else float(g) for g in outer.gradient(y, [x, z])] == [3, None]


def test_a_gradient_taken_outside_the_outer_block_is_a_constant_to_it() -> None:
    x = tg.asarray(2.0)
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as inner:
            inner.watch(x)
            y = x**3
    dy = inner.gradient(y, x)
    assert float(dy) == 12
    assert outer.gradient(dy, x) is None


def test_the_second_derivative_of_a_linear_function_is_none() -> None:
    x = tg.asarray(2.0)
    with tg.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tg.GradientTape() as inner:
            inner.watch(x)
            y = 3 * x
        dy = inner.gradient(y, x)
    assert outer.gradient(dy, x) is None
    assert float(outer.gradient(dy, x, unconnected_gradients="zero")) == 0


def test_tapes_overlap_without_nesting() -> None:
    v = tg.Variable(2.0)
    first, second = tg.GradientTape(), tg.GradientTape()
    first.__enter__()
    a = v * v
    second.__enter__()
    b = a * v
    first.__exit__(None, None, None)
    c = b * v
    second.__exit__(None, None, None)
    assert float(first.gradient(b, v)) == 12
    assert float(second.gradient(c, v)) == 16  # a was made before it began


def test_overlapping_tapes_differentiate_each_other() -> None:
    x = tg.asarray(2.0)
    first, second = tg.GradientTape(), tg.GradientTape()
    first.__enter__()
    second.__enter__()
    first.watch(x)
    second.watch(x)
    y = x**3
    first.__exit__(None, None, None)
    dy = first.gradient(y, x)
    second.__exit__(None, None, None)
    assert float(second.gradient(dy, x)) == 12


def test_a_tensor_recorded_by_an_outer_tape_is_watched_by_an_inner_one() -> None:
    x = tg.asarray(2.0)
    with tg.GradientTape() as outer:
        outer.watch(x)
        h = x * x
        before = 5 * h
        with tg.GradientTape() as inner:
            inner.watch(h)
            y = h**3
        dh = inner.gradient(y, h)
        z = dh + before + h
    assert float(dh) == 48
    assert float(outer.gradient(z, x)) == (6 * 4 + 5 + 1) * 4


def test_an_inner_tape_that_is_done_hides_nothing_from_the_outer_one() -> None:
    v = tg.Variable(2.0)
    with tg.GradientTape() as outer:
        total = v * v
        for _ in range(3):
            with tg.GradientTape() as inner:
                y = v**3
            total = total + inner.gradient(y, v) + v
    assert float(outer.gradient(total, v)) == 4 + 3 * (12 + 1)


def test_recording_for_one_tape_while_another_is_paused_hides_nothing() -> None:
    v, x = tg.Variable(3.0), tg.asarray(2.0)
    with tg.GradientTape(persistent=True) as outer:
        outer.watch(x)
        y = v * v * x
        with outer.stop_recording():
            with tg.GradientTape() as inner:
                inner.watch(x)
                z = v * x
            assert [float(g) for g in inner.gradient(z, [v, x])] == [2, 3]
        y = y + v * v * x
        with tg.no_grad(), tg.GradientTape() as inner:
            inner.watch(x)
            z = v * x
        y = y + v * x
    for _ in range(2):
        assert [float(g) for g in outer.gradient(y, [v, x])] == [26, 21]
    assert [w is v for w in outer.watched_variables()] == [True]
    assert [float(g) for g in inner.gradient(z, [v, x])] == [2, 3]


def test_a_gradient_is_recorded_by_a_tape_that_was_paused_for_the_target_alone() -> None:
    w, x = tg.Variable(3.0), tg.Variable(2.0)
    with tg.GradientTape() as outer:
        with tg.GradientTape() as inner:
            a = w * x
            with outer.stop_recording():
                b = a * a
        d = inner.gradient(b, x)
    assert float(d) == 36
    assert float(outer.gradient(d, w)) == 24


def test_a_variable_in_many_living_tapes_has_the_right_gradient_in_each() -> None:
    v = tg.Variable(1.5)
    tapes = []
    for k in range(6):
        with tg.GradientTape(persistent=True) as tape:
            y = (k + 1) * v * v
        tapes.append((tape, y))
        with tg.GradientTape() as passing:
            z = v**3
        passing.gradient(z, v)
    for _ in range(2):
        for k, (tape, y) in enumerate(tapes):
            assert float(tape.gradient(y, v)) == 3 * (k + 1)
    del tapes[::2]
    with tg.GradientTape():
        v * 2
    assert [float(tape.gradient(y, v)) for tape, y in tapes] == [6, 12, 18]


def test_a_living_tape_that_is_entered_again_still_knows_the_variable() -> None:
    v = tg.Variable(2.0)
    with tg.GradientTape(persistent=True) as tape:
        y = v * v
    with tg.GradientTape() as other:
        z = v * y
    with tape:
        y = y + 10 * v
    assert float(tape.gradient(y, v)) == 14
    assert float(other.gradient(z, v)) == 4
    assert [w is v for w in tape.watched_variables()] == [True]


def test_many_tapes_while_one_lives_leave_a_short_chain_of_watches() -> None:
    v = tg.Variable(2.0)
    with tg.GradientTape(persistent=True) as tape:
        y = v * v
        for k in range(50):
            with tg.GradientTape() as passing:
                z = v * v
            if k % 2:
                passing.gradient(z, v)
    node, length = v.node, 0
    while node is not None:
        node, length = node.p, length + 1
    assert length <= 3
    assert float(tape.gradient(y, v)) == 4


def test_a_gradient_penalty_reaches_the_parameters() -> None:
    w, x = tg.Variable([0.5, -0.25]), tg.asarray([1.0, 2.0])
    with tg.GradientTape() as outer:
        with tg.GradientTape() as inner:
            inner.watch(x)
            score = tg.sum(tg.tanh(w * x) * w)
        g = inner.gradient(score, x)
        penalty = tg.sum(g * g)
    found = outer.gradient(penalty, w).numpy()

    def penalty_at(w: tg.Tensor) -> float:
        slope = (1 - tg.tanh(w * x) ** 2) * w * w
        return float(tg.sum(slope * slope))

    for k in range(2):
        step = tg.asarray([1e-2 * (i == k) for i in range(2)])
        numeric = (penalty_at(w + step) - penalty_at(w - step)) / 2e-2
        assert found[k] == pytest.approx(numeric, rel=2e-3)


def test_stopping_the_inner_gradient_gives_a_first_order_update() -> None:
    w = tg.Variable(1.0)
    with tg.GradientTape() as outer:
        with tg.GradientTape() as inner:
            inner_loss = (w * 2 - 6) ** 2
        g = inner.gradient(inner_loss, w)
        fast = w - 0.1 * tg.stop_gradient(g)
        outer_loss = (fast - 5) ** 2
    assert float(outer.gradient(outer_loss, w)) == pytest.approx(2 * (2.6 - 5), rel=1e-6)
