"""Assignment and operators in place: values, derivatives, and what does not change."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DTypeError, ShapeError

SHAPE = (4, 3)
X = np.random.default_rng(3).normal(size=SHAPE)
INDICES: dict[str, Any] = {
    "integer": 1,
    "negative integer": -1,
    "slice": slice(1, 3),
    "negative step": slice(None, None, -2),
    "empty slice": slice(2, 2),
    "ellipsis": ...,
    "nothing": (),
    "new axis": None,
    "element": (1, -1),
    "column": (slice(None), 1),
    "ellipsis and integer": (..., 0),
    "ellipsis, slice and new axis": (..., slice(None, None, -1), None),
    "integer array": np.array([2, 0]),
    "repeated integers": np.array([2, 0, 2, -2]),
    "integers in two axes": np.array([[0, 1], [1, -3]]),
    "list": [3, 1, 3],
    "empty list": [],
    "two arrays": (np.array([0, 1, 0]), np.array([2, 0, 2])),
    "arrays that broadcast": (np.array([[1], [1]]), np.array([0, 2, 0])),
    "transposed arrays": (np.array([[0, 1], [1, 1]]).T, np.array([[0, 2], [2, 0]]).T),
    "array and slice": (np.array([1, 1, 3]), slice(None, 2)),
    "slice and array": (slice(1, None), np.array([2, 2])),
    "array and integer": (np.array([3, 0, 3]), 1),
    "array, new axis and slice": (np.array([1, 1]), None, slice(None)),
    "mask": X > 0,
    "mask of rows": np.array([True, False, True, False]),
    "mask and integer": (np.array([True, False, True, False]), 2),
    "slice and mask": (slice(None, None, -1), np.array([True, False, True])),
    "mask and array": (np.array([True, False, True, False]), np.array([2, 2])),
    "mask without a true element": np.zeros(SHAPE, bool),
}


def overwritten(x: np.ndarray, value: np.ndarray, index: Any) -> tuple[np.ndarray, np.ndarray]:
    """By hand: the result, and for each element which of the value's elements it is (-1 for none)."""
    places = np.arange(x.size).reshape(x.shape)[index]
    numbers = np.broadcast_to(np.arange(value.size).reshape(value.shape), places.shape)
    owner = np.full(x.size, -1)
    for place, number in zip(np.ravel(places), numbers.reshape(-1), strict=True):
        owner[place] = number
    flat = np.where(owner >= 0, np.append(value, 0.0)[owner], x.reshape(-1))
    return flat.reshape(x.shape), owner


def shapes_of_value(name: str) -> list[tuple[int, ...]]:
    picked = np.shape(X[INDICES[name]])
    return sorted({picked, (), (1,) * len(picked), picked[1:]}, key=len)


CASES = [(name, shape) for name in INDICES for shape in shapes_of_value(name)]


@pytest.mark.parametrize(("name", "shape"), CASES, ids=str)
def test_assignment_and_its_derivatives_are_those_by_hand(name: str, shape: tuple[int, ...]) -> None:
    index = INDICES[name]
    rng = np.random.default_rng(11)
    v, c = rng.normal(size=shape), rng.normal(size=SHAPE)
    y, owner = overwritten(X, v, index)
    x, value = tg.asarray(X.copy()), tg.asarray(v)
    with tg.GradientTape(persistent=True) as outer:
        outer.watch([x, value])
        with tg.GradientTape() as inner:
            inner.watch([x, value])
            x[index] = value
            loss = tg.sum(x * x * x * c)
        slopes = inner.gradient(loss, [x, value], unconnected_gradients="zero")
        total = tg.sum(slopes[0]) + tg.sum(slopes[1])
    np.testing.assert_array_equal(x.numpy(), y)
    for found, g in ((slopes, 3 * c * y**2), (outer.gradient(total, [x, value], unconnected_gradients="zero"), 6 * c * y)):
        kept = np.where(owner < 0, g.reshape(-1), 0).reshape(SHAPE)
        shares = np.bincount(owner[owner >= 0], g.reshape(-1)[owner >= 0], minlength=v.size).reshape(shape)
        np.testing.assert_allclose(found[0].numpy(), kept, rtol=1e-12)
        np.testing.assert_allclose(found[1].numpy(), shares, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("name", INDICES)
def test_forward_mode_follows_an_assignment(name: str) -> None:
    index = INDICES[name]
    rng = np.random.default_rng(2)
    v, t, u = rng.normal(size=np.shape(X[index])), rng.normal(size=SHAPE), rng.normal(size=np.shape(X[index]))
    x, value = tg.asarray(X.copy()), tg.asarray(v)
    with tg.ForwardAccumulator([x, value], [tg.asarray(t), tg.asarray(u)]) as acc:
        x[index] = value
        y = x * 2.0
    np.testing.assert_allclose(acc.jvp(y).numpy(), 2 * overwritten(t, u, index)[0])


@pytest.mark.parametrize("name", INDICES)
def test_every_index_form_is_read_with_its_derivative(name: str) -> None:
    index = INDICES[name]
    x = tg.asarray(X)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x[index]
        loss = tg.sum(y * y)
    np.testing.assert_array_equal(y.numpy(), X[index])
    picks = np.bincount(np.ravel(np.arange(X.size).reshape(SHAPE)[index]), minlength=X.size).reshape(SHAPE)
    np.testing.assert_allclose(tape.gradient(loss, x).numpy(), 2 * X * picks)


def test_an_index_may_be_a_tensor() -> None:
    x = tg.asarray(X.copy())
    x[tg.asarray([2, 2])] = 5.0
    x[x < 0] = 0
    x[tg.asarray(1), tg.asarray(0)] = 7
    expected = X.copy()
    expected[2] = 5
    expected[expected < 0] = 0
    expected[1, 0] = 7
    np.testing.assert_array_equal(x.numpy(), expected)


def test_0_d_tensors_are_assigned_to() -> None:
    x = tg.asarray(1.5)
    x[...] = 2.5
    assert float(x) == 2.5
    x[()] = 3.5
    assert float(x) == 3.5


def test_what_was_recorded_before_is_untouched() -> None:
    x = tg.asarray(X.copy())
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        before = tg.sum(x * x)
        row = x[0]
        x[0] = 0.0
        after = tg.sum(x * x)
        x *= 2.0
        doubled = tg.sum(x * x)
    np.testing.assert_array_equal(row.numpy(), X[0])
    zeroed = X.copy()
    zeroed[0] = 0
    np.testing.assert_allclose(tape.gradient(before, x).numpy(), 2 * X)
    np.testing.assert_allclose(tape.gradient(after, x).numpy(), 2 * zeroed)
    np.testing.assert_allclose(tape.gradient(doubled, x).numpy(), 8 * zeroed)
    np.testing.assert_allclose(tape.gradient(x, x).numpy(), np.where(zeroed == 0, 0, 2.0))


def test_a_source_keeps_its_meaning_when_it_is_written_to_outside_of_the_tape() -> None:
    x = tg.asarray(X.copy())
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        loss = tg.sum(x * x)
        with tg.no_grad():
            x -= 1.0
        constant = tg.sum(x)
    x[0] = 4.0
    np.testing.assert_allclose(tape.gradient(loss, x).numpy(), 2 * X)
    assert tape.gradient(constant, x) is None


def test_a_tensor_watched_again_means_its_new_value() -> None:
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape() as tape:
        tape.watch(x)
        x[0] = 4.0
        tape.watch(x)
        loss = tg.sum(x * x)
    np.testing.assert_allclose(tape.gradient(loss, x).numpy(), [8.0, 5.0])


def test_a_computed_tensor_as_source_means_its_present_value() -> None:
    w = tg.asarray([1.5, 2.5])
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(w)
        h = 2.0 * w
        h[0] = 4.0
        loss = tg.sum(h * h)
    np.testing.assert_allclose(tape.gradient(loss, h).numpy(), [8.0, 10.0])
    np.testing.assert_allclose(tape.gradient(loss, w).numpy(), [0.0, 20.0])


def test_training_in_place_does_not_pile_up_history() -> None:
    w = tg.asarray([1.5, -2.5])
    for _ in range(50):
        with tg.GradientTape() as tape:
            tape.watch(w)
            loss = tg.sum(w * w)
        w -= 0.1 * tape.gradient(loss, w)
    assert float(tg.sum(w * w)) < 1e-6
    assert w.node is None


def test_a_write_in_place_is_not_seen_by_who_shares_the_memory() -> None:
    a = X.copy()
    x = tg.asarray(a)
    y = tg.reshape(x, (3, 4))
    x[0] = 1.0
    x += 1.0
    np.testing.assert_array_equal(a, X)
    np.testing.assert_array_equal(y.numpy(), X.reshape(3, 4))


def test_assignments_to_an_unshared_tensor_write_to_its_memory() -> None:
    x = tg.zeros(1000)
    x[0] = 1.0
    raw = id(x.raw)
    for i in range(10):
        x[i] = float(i)
    assert id(x.raw) == raw
    np.testing.assert_array_equal(x[:10].numpy(), np.arange(10.0))


@pytest.mark.parametrize(
    ("name", "x", "other"),
    [
        *((n, X, 2.5) for n in ("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod")),
        ("ipow", np.abs(X), 2.5),
        ("imatmul", X[:3], X[:3].copy()),
        *((n, np.array([1, 5, 12]), 3) for n in ("iand", "ior", "ixor", "ilshift", "irshift")),
    ],
)
def test_operators_in_place_leave_their_result_in_the_tensor(name: str, x: np.ndarray, other: Any) -> None:
    t = tg.asarray(x)
    found = getattr(t, f"__{name}__")(tg.asarray(other) if isinstance(other, np.ndarray) else other)
    assert found is t
    np.testing.assert_allclose(t.numpy(), getattr(x.copy(), f"__{name.replace('i', '', 1)}__")(other))


def test_operators_in_place_record() -> None:
    x, w = tg.asarray(X), tg.asarray(X + 1)
    with tg.GradientTape() as tape:
        tape.watch([x, w])
        y = +x
        y *= w
        y += x
        loss = tg.sum(y)
    for found, expected in zip(tape.gradient(loss, [x, w]), (X + 2, X), strict=True):
        np.testing.assert_allclose(found.numpy(), expected)


def test_values_are_cast_where_nothing_is_lost_and_the_cast_records() -> None:
    x, v = tg.zeros(3), tg.asarray([1.5, 2.5], dtype=tg.float64)
    with tg.GradientTape() as tape:
        tape.watch(v)
        x[1:] = v
        loss = tg.sum(x * x)
    assert x.dtype == tg.float32
    gradient = tape.gradient(loss, v)
    assert gradient.dtype == tg.float64
    np.testing.assert_allclose(gradient.numpy(), [3.0, 5.0])


def test_values_that_would_lose_a_part_are_refused() -> None:
    i, x = tg.zeros(3, dtype=tg.int64), tg.zeros(3)
    with pytest.raises(DTypeError, match="expected a value that int64 can hold, got float32"):
        i[0] = 1.5
    with pytest.raises(DTypeError, match="expected a value that int64 can hold"):
        i += 0.5
    with pytest.raises(DTypeError, match="expected a value that float32 can hold, got complex64"):
        x[0] = 1j
    with pytest.raises(OverflowError):
        tg.zeros(3, dtype=tg.int8)[0] = 300


def test_shapes_that_do_not_fit_are_refused_and_nothing_changes() -> None:
    x = tg.zeros((4, 3))
    with pytest.raises(ShapeError, match="put"):
        x[0] = tg.zeros(2)
    with pytest.raises(ShapeError, match=r"put.*out of bounds"):
        x[7] = 1.0
    with pytest.raises(ShapeError, match=r"expected a result of shape \(4, 3\), got \(2, 4, 3\)"):
        x += tg.ones((2, 4, 3))
    np.testing.assert_array_equal(x.numpy(), np.zeros((4, 3)))


def test_a_variable_changes_by_assign_alone() -> None:
    v = tg.Variable([1.5, 2.5])
    with pytest.raises(ArgumentError, match=r"write variable.assign\(tapegrad.put"):
        v[0] = 1.0
    v.assign(tg.put(v, 4.0, 0))
    np.testing.assert_array_equal(v.numpy(), [4.0, 2.5])
    w = v
    w += 1.0
    assert type(w) is tg.Tensor
    np.testing.assert_array_equal(v.numpy(), [4.0, 2.5])
