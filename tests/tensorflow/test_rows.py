"""Gradients of a few rows of a table, on TensorFlow's arrays."""

import numpy as np
import pytest

import tapegrad as tg

TABLE = np.arange(12.0).reshape(6, 2) + 0.5
IDS = np.array([4, 0, 4, -1])


@pytest.fixture
def table():
    return tg.Variable(tg.asarray(TABLE, backend="tensorflow"))


def rows(table, ids=IDS):
    return tg.nn.embedding(table, tg.asarray(ids, backend="tensorflow"), sparse=True)


def test_a_gradient_holds_the_rows_that_were_picked_counted_from_the_start(table):
    with tg.GradientTape() as tape:
        y = tg.sum(rows(table) ** 2)
    g = tape.gradient(y, table)
    assert isinstance(g, tg.SparseRows)
    assert type(g.values.array).__name__ == "TFArray"
    assert g.indices.tolist() == [4, 0, 4, 5]
    np.testing.assert_array_equal(g.values.numpy(), 2 * TABLE[IDS])


def test_two_picks_give_their_rows_one_after_the_other(table):
    with tg.GradientTape() as tape:
        y = tg.sum(rows(table, [1, 2])) + tg.sum(3 * rows(table, [2]))
    g = tape.gradient(y, table)
    assert isinstance(g, tg.SparseRows)
    assert sorted(zip(g.indices.tolist(), g.values.tolist(), strict=True)) == [(1, [1, 1]), (2, [1, 1]), (2, [3, 3])]
    assert g.coalesce().indices.tolist() == [1, 2]
    np.testing.assert_array_equal(g.coalesce().values.numpy(), [[1, 1], [4, 4]])


@pytest.mark.parametrize("first", ["rows", "whole"])
def test_with_another_use_of_the_table_it_is_dense(table, first):
    with tg.GradientTape() as tape:
        picked = tg.sum(rows(table)) if first == "rows" else None
        whole = tg.sum(table * table)
        y = whole + (tg.sum(rows(table)) if picked is None else picked)
    expected = 2 * TABLE
    np.add.at(expected, IDS, 1)
    np.testing.assert_array_equal(tape.gradient(y, table).numpy(), expected)


def test_rows_of_what_was_computed_from_the_table_are_dense(table):
    with tg.GradientTape() as tape:
        y = tg.sum(rows(table * 2.0))
    expected = np.zeros_like(TABLE)
    np.add.at(expected, IDS, 2)
    np.testing.assert_array_equal(tape.gradient(y, table).numpy(), expected)


def test_a_variable_takes_rows_in(table):
    with tg.GradientTape() as tape:
        y = tg.sum(rows(table) * 3.0)
    table.assign_sub(tape.gradient(y, table))
    expected = TABLE.copy()
    np.subtract.at(expected, IDS, 3)
    assert type(table.array).__name__ == "TFArray"
    np.testing.assert_array_equal(table.numpy(), expected)


def test_rows_of_tensorflow_change_a_variable_of_numpy(table):
    own = tg.Variable(TABLE)
    own.assign_add(
        tg.SparseRows(
            tg.asarray([1, 1], backend="tensorflow"),
            tg.asarray([[1.0, 2], [3, 4]], dtype="float64", backend="tensorflow"),
            (6, 2),
        )
    )
    assert own.numpy()[1].tolist() == [2.5 + 4, 3.5 + 6]
    assert isinstance(own.array, np.ndarray)
