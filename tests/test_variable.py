import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DTypeError, ShapeError


def test_the_gradient_is_over_all_reads() -> None:
    v = tg.Variable(2.0)
    with tg.GradientTape(persistent=True) as tape:
        before = v * v
        v.assign_add(3.0)
        after = v * v
        both = before + after
    v.assign(1000.0)
    assert (float(before), float(after)) == (4, 25)
    assert [float(tape.gradient(y, v)) for y in (before, after, both)] == [4, 10, 14]


def test_assign_gives_the_variable_itself() -> None:
    v = tg.Variable(2.0)
    with tg.GradientTape() as tape:
        w = v.assign(5.0)
        y = w * w
    assert w is v
    assert float(tape.gradient(y, v)) == 10
    assert float(v.assign_add(1.0).assign_sub(2.0)) == 4


def test_assigning_records_nothing() -> None:
    v, u = tg.Variable(2.0), tg.Variable(3.0)
    with tg.GradientTape(persistent=True) as tape:
        v.assign(u * u)
        y = v * v
    assert float(tape.gradient(y, v)) == 18
    assert tape.gradient(y, u) is None


def test_value_is_recorded_and_does_not_change() -> None:
    v = tg.Variable([3.0, 4.0])
    with tg.GradientTape() as tape:
        r = v.value
        y = tg.sum(r * v)
    v.assign_add([1.0, 1.0])
    assert r.tolist() == [3, 4]
    assert [g.tolist() for g in tape.gradient(y, [r, v])] == [[3, 4], [6, 8]]


@pytest.mark.parametrize("start", [[True, False], [1, 2], [1j, 2]])
def test_value_and_copies_of_variables_of_any_dtype(start: list[complex]) -> None:
    v = tg.Variable(start)
    assert v.value.tolist() == start
    assert tg.asarray(v).tolist() == start
    assert tg.asarray(v, copy=True).dtype == v.dtype


def test_the_initial_value_is_copied() -> None:
    start = np.ones(3, np.float32)
    v = tg.Variable(start)
    start[0] = 7
    assert v.tolist() == [1, 1, 1]


def test_an_assigned_array_is_copied() -> None:
    v, new = tg.Variable([0.0, 0.0]), np.ones(2, np.float32)
    v.assign(new)
    new[0] = 7
    assert v.tolist() == [1, 1]


def test_in_place_updates_are_seen_by_nobody_who_has_read_the_value() -> None:
    v = tg.Variable(np.arange(3.0))
    seen, shared = v.numpy(), tg.reshape(v, (3, 1))
    with tg.GradientTape() as tape:
        y = tg.sum(v * v)
    for update in (v.assign_add, v.assign_sub, v.assign_add):
        update(np.full(3, 10.0))
    assert seen.tolist() == [0, 1, 2]
    assert shared.tolist() == [[0], [1], [2]]
    assert tape.gradient(y, v).tolist() == [0, 2, 4]


def test_updates_by_itself_and_from_read_only_memory() -> None:
    values = np.ones(2)
    values.flags.writeable = False
    v = tg.Variable(np.zeros(2))
    v.assign(tg.asarray(values))
    del values
    v.assign_add(v)
    v.assign_sub([0.5, 0.5])
    assert v.tolist() == [1.5, 1.5]


def test_two_variables_assigned_from_one_tensor_change_apart() -> None:
    t = tg.asarray([1.0, 2.0])
    a, b = tg.Variable([0.0, 0.0]), tg.Variable([0.0, 0.0])
    a.assign(t)
    b.assign(t)
    del t
    a.assign_add([1.0, 1.0])
    assert b.tolist() == [1, 2]
    b.assign(a)
    a.assign_sub([2.0, 2.0])
    assert (a.tolist(), b.tolist()) == ([0, 1], [2, 3])


def test_assignments_that_do_not_fit_are_refused_and_change_nothing() -> None:
    v = tg.Variable([1.5, 2.5], name="kernel")
    with pytest.raises(ShapeError, match=r"Variable 'kernel'.assign\(value\): expected value.shape == \(2,\), got \(3,\)"):
        v.assign([1.0, 2.0, 3.0])
    with pytest.raises(DTypeError, match=r"assign_add\(value\): expected value.dtype == float32, got float64"):
        v.assign_add(tg.asarray(np.ones(2)))
    with pytest.raises(ArgumentError):
        v.assign_sub(["a", "b"])
    with pytest.raises(DTypeError, match="x is complex"):
        v.assign([1j, 1.0])
    assert v.tolist() == [1.5, 2.5]


def test_trainable_is_for_floating_values_only() -> None:
    assert tg.Variable(1.5).trainable is True
    assert tg.Variable(1).trainable is False
    assert tg.Variable([1j]).trainable is True
    assert tg.Variable(1.5, trainable=False).trainable is False


def test_a_variable_that_is_not_trainable_can_be_watched() -> None:
    v = tg.Variable(1.5, trainable=False)
    with tg.GradientTape() as tape:
        y = v * v
    assert tape.gradient(y, v) is None
    with tg.GradientTape() as tape:
        tape.watch(v)
        y = v * v
    assert float(tape.gradient(y, v)) == 3


def test_dtype_shape_and_the_function_that_gives_a_value() -> None:
    assert tg.Variable(1.0).dtype == tg.float32
    assert tg.Variable(1).dtype == tg.int64
    assert tg.Variable(np.ones(2)).dtype == tg.float64
    assert tg.Variable(1, dtype=tg.float32).dtype == tg.float32
    v = tg.Variable(lambda: tg.ones((2, 3)), name="kernel")
    assert (v.shape, v.ndim, v.size, v.name) == ((2, 3), 2, 6, "kernel")
    assert repr(v).startswith("Variable('kernel', [[1., 1., 1.],")
    assert repr(tg.Variable(1.5)) == "Variable(1.5, dtype=float32)"


def test_an_operator_with_assignment_gives_a_tensor_and_leaves_the_variable() -> None:
    v = w = tg.Variable(2.0)
    with tg.GradientTape() as tape:
        w = w * 1
        w += v
    assert type(w) is tg.Tensor
    assert float(v) == 2
    assert float(tape.gradient(w, v)) == 2


def test_operators_read_variables_on_either_side() -> None:
    v = tg.Variable([2.0, 3.0])
    x = tg.asarray([5.0, 7.0])
    for expression, expected in [
        (lambda: x - v, [-1, -1]),
        (lambda: 6 / v, [-1.5, -2 / 3]),
        (lambda: v**2, [4, 6]),
        (lambda: v[1] * x, [0, 12]),
        (lambda: np.asarray([1, 2], np.float32) * v, [1, 2]),
        (lambda: v @ x, [5, 7]),
        (lambda: tg.stack([v, x, v]), [2, 2]),
        (lambda: abs(v - 2.5), [-1, 1]),
    ]:
        with tg.GradientTape() as tape:
            y = expression()
        np.testing.assert_allclose(tape.gradient(y, v).numpy(), expected, rtol=1e-6)


def test_one_variable_in_many_places_of_one_op() -> None:
    v = tg.Variable([1.5, 2.5])
    with tg.GradientTape() as tape:
        y = tg.sum(v * v) + tg.sum(tg.concat([v, v, 2 * v])) + v @ v
    assert tape.gradient(y, v).tolist() == [4 * 1.5 + 4, 4 * 2.5 + 4]


@pytest.mark.parametrize("value", [2.5, [2.5, 1.5]])
@pytest.mark.parametrize("method", ["assign", "assign_add", "assign_sub"])
def test_the_gradient_of_what_is_not_connected_is_not_assigned(method: str, value: object) -> None:
    v = tg.Variable(value, name="bias")
    with pytest.raises(ArgumentError, match=f"Variable 'bias'.{method}.value.: expected an array or a number, got None"):
        getattr(v, method)(None)
    assert v.numpy().tolist() == value
