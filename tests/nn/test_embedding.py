from __future__ import annotations

import numpy as np
import pytest

import tapegrad as tg

TABLE = np.arange(12.0).reshape(6, 2) + 0.5
IDS = np.array([4, 0, 4, -1])


def gradient(f: object, *, persistent: bool = False) -> tuple[tg.Variable, object]:
    table = tg.Variable(TABLE)
    with tg.GradientTape() as tape:
        y = f(table)  # type: ignore[operator]
    return table, tape.gradient(y, table)


def picked(table: object, *, sparse: bool) -> object:
    return tg.sum(tg.nn.embedding(table, tg.asarray(IDS), sparse=sparse) ** 2)


def test_a_sparse_gradient_holds_the_rows_that_were_picked() -> None:
    _, g = gradient(lambda t: picked(t, sparse=True))
    assert isinstance(g, tg.SparseRows)
    assert g.indices.tolist() == [4, 0, 4, 5]
    np.testing.assert_array_equal(g.values.numpy(), 2 * TABLE[IDS])
    assert g.shape == g.dense_shape == (6, 2)
    assert g.dtype == np.float64


def test_it_stands_for_the_dense_one_everywhere() -> None:
    _, sparse = gradient(lambda t: picked(t, sparse=True))
    _, dense = gradient(lambda t: picked(t, sparse=False))
    expected = dense.numpy()
    np.testing.assert_array_equal(sparse.to_dense().numpy(), expected)
    np.testing.assert_array_equal(sparse.numpy(), expected)
    np.testing.assert_array_equal(tg.sum(sparse * sparse).numpy(), np.sum(expected**2))
    np.testing.assert_array_equal((sparse + dense).numpy(), 2 * expected)
    np.testing.assert_array_equal((dense + sparse).numpy(), 2 * expected)
    np.testing.assert_array_equal((dense - sparse).numpy(), 0 * expected)
    np.testing.assert_array_equal(tg.matmul(sparse, np.ones(2)).numpy(), expected.sum(1))
    assert sparse[4].tolist() == expected[4].tolist()


def test_sums_and_products_with_numbers_stay_sparse() -> None:
    _, g = gradient(lambda t: picked(t, sparse=True))
    for found in (0.5 * g, g * 0.5, g / 2, g * np.float32(0.5), tg.asarray(0.5, dtype=tg.float64) * g):
        assert isinstance(found, tg.SparseRows)
        np.testing.assert_array_equal(found.numpy(), g.numpy() / 2)
        assert found.dtype == np.float64
    both = g + g
    assert isinstance(both, tg.SparseRows)
    np.testing.assert_array_equal(both.numpy(), 2 * g.numpy())
    np.testing.assert_array_equal((-g).values.numpy(), -g.values.numpy())
    np.testing.assert_array_equal((g - g).numpy(), 0 * g.numpy())


def test_coalescing_adds_up_what_is_there_twice() -> None:
    g = tg.SparseRows([4, 0, 4], np.array([[1.0, 2], [3, 4], [10, 20]]), (6, 2)).coalesce()
    assert g.indices.tolist() == [0, 4]
    assert g.values.tolist() == [[3, 4], [11, 22]]


@pytest.mark.parametrize(("method", "sign"), [("assign_sub", -1), ("assign_add", 1)])
def test_a_variable_changes_in_these_rows_alone(method: str, sign: int) -> None:
    table, g = gradient(lambda t: picked(t, sparse=True))
    memory = table.raw
    getattr(table, method)(0.25 * g)
    assert memory is not table.raw  # somebody else holds it
    np.testing.assert_array_equal(memory, TABLE)
    expected = TABLE.copy()
    np.add.at(expected, IDS, sign * 0.5 * TABLE[IDS])
    np.testing.assert_array_equal(table.numpy(), expected)


def test_a_variable_of_its_own_changes_in_place() -> None:
    table, g = gradient(lambda t: picked(t, sparse=True))
    place = table.raw.ctypes.data
    table.assign_sub(g)
    assert table.raw.ctypes.data == place


def test_what_does_not_fit_is_refused_and_changes_nothing() -> None:
    table = tg.Variable(TABLE)
    with pytest.raises(ValueError, match=r"expected value.shape == \(6, 2\)"):
        table.assign_sub(tg.SparseRows([0], np.ones((1, 3)), (6, 3)))
    with pytest.raises(TypeError, match=r"expected value\.dtype == float64"):
        table.assign_sub(tg.SparseRows([0], np.ones((1, 2), "f4"), (6, 2)))
    np.testing.assert_array_equal(table.numpy(), TABLE)


def test_two_sparse_uses_stay_sparse() -> None:
    _, g = gradient(lambda t: picked(t, sparse=True) + picked(t, sparse=True))
    assert isinstance(g, tg.SparseRows)
    _, once = gradient(lambda t: picked(t, sparse=False))
    np.testing.assert_array_equal(g.numpy(), 2 * once.numpy())


@pytest.mark.parametrize("order", [0, 1])
def test_a_dense_use_beside_it_makes_it_dense(order: int) -> None:
    uses = [lambda t: picked(t, sparse=True), lambda t: tg.sum(t * t), lambda t: t[0, 0] * 3.0]
    uses = uses[order:] + uses[:order]
    _, g = gradient(lambda t: uses[0](t) + uses[1](t) + uses[2](t))
    expected = 2 * TABLE
    np.add.at(expected, IDS, 2 * TABLE[IDS])
    expected[0, 0] += 3
    assert type(g) is tg.Tensor
    np.testing.assert_array_equal(g.numpy(), expected)


def test_a_table_that_was_computed_passes_on_a_dense_one() -> None:
    _, g = gradient(lambda t: picked(t * 2.0, sparse=True))
    assert type(g) is tg.Tensor
    expected = np.zeros_like(TABLE)
    np.add.at(expected, IDS, 8 * TABLE[IDS])
    np.testing.assert_array_equal(g.numpy(), expected)


def test_a_recorded_gradient_is_dense_and_has_its_own() -> None:
    table = tg.Variable(TABLE)
    with tg.GradientTape() as outer:
        with tg.GradientTape() as inner:
            y = tg.sum(tg.nn.embedding(table, tg.asarray(IDS), sparse=True) ** 3)
        g = inner.gradient(y, table)
        total = tg.sum(g)
    assert type(g) is tg.Tensor
    expected = np.zeros_like(TABLE)
    np.add.at(expected, IDS, 6 * TABLE[IDS])
    found = outer.gradient(total, table)
    np.testing.assert_array_equal(found.numpy(), expected)


@pytest.mark.parametrize("padding_idx", [4, -2])
@pytest.mark.parametrize("sparse", [False, True])
def test_a_padding_row_has_its_value_and_no_derivative(padding_idx: int, sparse: bool) -> None:
    table = tg.Variable(TABLE)
    with tg.GradientTape() as tape:
        y = tg.nn.embedding(table, tg.asarray(IDS), padding_idx=padding_idx, sparse=sparse)
    np.testing.assert_array_equal(y.numpy(), TABLE[IDS])
    g = tape.gradient(y, table).numpy()
    assert g.tolist() == [[1, 1], [0, 0], [0, 0], [0, 0], [0, 0], [1, 1]]


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_ids_of_any_shape(shape: tuple[int, ...]) -> None:
    ids = np.arange(np.prod(shape, dtype=int)).reshape(shape) % 6
    _, g = gradient(lambda t: tg.sum(tg.nn.embedding(t, tg.asarray(ids), sparse=True)))
    expected = np.zeros_like(TABLE)
    np.add.at(expected, ids, 1.0)
    np.testing.assert_array_equal(g.numpy(), expected)


def test_forward_mode_and_a_batch_of_cotangents() -> None:
    table = tg.asarray(TABLE)
    tangent = tg.asarray(np.cos(TABLE))
    with tg.ForwardAccumulator(table, tangent) as acc:
        y = tg.nn.embedding(table, tg.asarray(IDS), sparse=True)
    np.testing.assert_array_equal(acc.jvp(y).numpy(), np.cos(TABLE)[IDS])
    with tg.GradientTape() as tape:
        tape.watch(table)
        y = tg.nn.embedding(table, tg.asarray(IDS), sparse=True)
    rows = tape.jacobian(y, table).numpy()
    assert rows.shape == (4, 2, 6, 2)
    assert rows[0, 1, 4, 1] == rows[3, 0, 5, 0] == 1
    assert rows.sum() == 8


@pytest.mark.parametrize(
    ("indices", "values", "text"),
    [
        ([[0]], np.ones((1, 2)), "expected integers"),
        ([0.0], np.ones((1, 2)), "expected integers"),
        ([0, 1], np.ones((1, 2)), "values"),
        ([6], np.ones((1, 2)), "0 <= indices < 6"),
        ([-1], np.ones((1, 2)), "0 <= indices < 6"),
    ],
)
def test_rows_that_make_no_sense_are_refused(indices: object, values: object, text: str) -> None:
    with pytest.raises(ValueError, match=text):
        tg.SparseRows(indices, values, (6, 2))


def test_ids_that_are_no_integers_are_refused_with_the_order_of_the_arguments() -> None:
    with pytest.raises(tg.errors.DTypeError, match="expected integers for ids, got float64; the table comes first"):
        tg.nn.embedding(tg.asarray(IDS), tg.asarray(TABLE))
