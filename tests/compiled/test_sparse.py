"""Gradients of a few rows of a table in compiled functions: results, arguments, and what variables are changed by."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg

pytestmark = pytest.mark.interop("tensorflow")
tf: Any = pytest.importorskip("tensorflow")
TABLE = np.linspace(-1.5, 2.25, 18, dtype=np.float32).reshape(6, 3)


@pytest.fixture(params=[False, True], ids=["plain", "xla"])
def jit(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture(params=["tensorflow", "numpy"])
def table(request: pytest.FixtureRequest) -> tg.Variable:
    return tg.Variable(tg.asarray(TABLE, backend=request.param))


def ids(*n: int) -> tg.Tensor:
    return tg.asarray(np.array(n), backend="tensorflow")


def loss_of(table: Any, picks: Any) -> Any:
    e = tg.nn.embedding(table, picks, sparse=True)
    return tg.sum(e * e) * 0.5


def gradient(table: Any, picks: Any) -> Any:
    with tg.GradientTape() as tape:
        tape.watch(table)
        loss = loss_of(table, picks)
    return tape.gradient(loss, table)


def dense(*n: int) -> np.ndarray:
    """What the gradient of `loss_of` is for these ids."""
    found = np.zeros_like(TABLE)
    np.add.at(found, np.array(n), TABLE[np.array(n)])
    return found


def operations(f: Any) -> list[str]:
    """The kinds of ops in the newest graph of a compiled function."""
    graph = next(reversed(f._graphs.values()))
    return [op.type for op in graph._kinds[-1][1].graph.get_operations()]


def test_a_gradient_that_is_returned_holds_its_rows(table: tg.Variable, jit: bool) -> None:
    f = tg.function(lambda picks: {"loss": loss_of(table, picks), "rows": gradient(table, picks)}, jit_compile=jit)
    found = f(ids(4, -2, 1))
    assert isinstance(found["rows"], tg.SparseRows)
    assert found["rows"].shape == (6, 3)
    assert found["rows"].indices.tolist() == [4, 4, 1]
    np.testing.assert_array_equal(found["rows"].values.numpy(), TABLE[[4, 4, 1]])
    assert "ScatterNd" not in operations(f)


def test_rows_are_given_to_a_function(jit: bool) -> None:
    seen = []

    @tg.function(jit_compile=jit)
    def f(pair: Any) -> Any:
        seen.append(type(pair["g"]))
        return pair["g"] * pair["rate"]

    for picks in ([4, 4, 1], [0, 5, 5, 2], [3, 1]):
        g = gradient(tg.asarray(TABLE), tg.asarray(np.array(picks)))
        found = f({"g": g, "rate": tg.asarray(0.5)})
        assert isinstance(found, tg.SparseRows)
        np.testing.assert_allclose(found.to_dense().numpy(), 0.5 * dense(*picks))
    assert set(seen) == {tg.SparseRows}
    assert f.trace_count == 2  # the number of rows is left open


def test_rows_of_another_table_are_traced_anew() -> None:
    f = tg.function(lambda g: g.to_dense())
    for n in (2, 5):
        assert f(tg.SparseRows([1], [[0.5]], (n, 1))).shape == (n, 1)
    assert f.trace_count == 2


@pytest.mark.parametrize("rate", [0.25, "tensor", "variable"])
def test_an_optimiser_step_adds_to_the_rows_in_place(table: tg.Variable, jit: bool, rate: Any) -> None:
    if rate == "tensor":
        rate = tg.asarray(0.25)
    elif rate == "variable":
        rate = tg.Variable(0.25, trainable=False)

    @tg.function(jit_compile=jit)
    def step(picks: Any) -> None:
        table.assign_sub(rate * gradient(table, picks))

    expected = TABLE.copy()
    for picks in ([4, 4, 1], [0, 2, -1]):
        step(ids(*picks))
        rows = np.array(picks)
        np.subtract.at(expected, rows, 0.25 * expected[rows])
        np.testing.assert_allclose(table.numpy(), expected, rtol=1e-6)
    kinds = operations(step)
    assert kinds.count("ResourceScatterAdd") == kinds.count("ResourceGather") == 1
    assert not {"ScatterNd", "TensorScatterAdd", "AssignVariableOp"} & set(kinds)
    assert kinds.count("ReadVariableOp") == isinstance(rate, tg.Variable)


def read_before_and_after(table: tg.Variable, picks: Any) -> Any:
    before = tg.sum(table * table)
    table.assign_sub(0.5 * gradient(table, picks))
    between = table + 0.0
    table.assign_add(gradient(table, picks))
    return before, between, tg.nn.embedding(table, picks)


def assigned_after(table: tg.Variable, picks: Any) -> Any:
    g = gradient(table, picks)
    table.assign_add(g)
    table.assign(table * 2.0)
    table.assign_sub(g)
    return g


def taken_back(table: tg.Variable, picks: Any) -> Any:
    before = table.value
    table.assign_add(gradient(table, picks))
    table.assign(before)
    return before


def several(table: tg.Variable, picks: Any) -> Any:
    g = gradient(table, picks)
    table.assign_add(g)
    table.assign_add(2 * g)
    return g


@pytest.mark.parametrize("program", [read_before_and_after, assigned_after, taken_back, several])
def test_a_variable_is_what_it_is_in_the_same_program_without_a_graph(
    program: Callable[..., Any], table: tg.Variable, jit: bool
) -> None:
    own = tg.Variable(tg.asarray(TABLE))
    f = tg.function(program, jit_compile=jit)
    for picks in ([4, 4, 1], [0, 2, -1]):
        found, expected = f(table, ids(*picks)), program(own, tg.asarray(np.array(picks)))
        for a, b in zip(tg.tree.flatten(found)[0], tg.tree.flatten(expected)[0], strict=True):
            np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-5)
        np.testing.assert_allclose(table.numpy(), own.numpy(), rtol=1e-5)


def test_all_new_values_are_there_before_the_first_is_assigned(jit: bool) -> None:
    a, b = (tg.Variable(tg.asarray(k * TABLE, backend="tensorflow")) for k in (1.0, 2.0))

    @tg.function(jit_compile=jit)
    def swap(picks: Any) -> None:
        old = a.value
        a.assign_add(gradient(b, picks))
        b.assign(old + a)

    swap(ids(3, 3))
    added = np.zeros_like(TABLE)
    np.add.at(added, [3, 3], 2 * TABLE[[3, 3]])
    np.testing.assert_allclose(a.numpy(), TABLE + added, rtol=1e-6)
    np.testing.assert_allclose(b.numpy(), 2 * TABLE + added, rtol=1e-6)


def test_a_table_that_is_first_read_in_a_branch_is_read_outside_of_it() -> None:
    table = tg.Variable(tg.asarray(TABLE, backend="tensorflow"))

    @tg.function
    def f(x: Any) -> Any:
        y = tf.cond(x.raw > 0, lambda: tg.sum(table * table).raw, lambda: tf.constant(0.0))
        return tg.asarray(y) + tg.sum(table)

    assert f(tg.asarray(1.0, backend="tensorflow")).item() == pytest.approx(float((TABLE**2).sum() + TABLE.sum()), rel=1e-5)
    assert f(tg.asarray(-1.0, backend="tensorflow")).item() == pytest.approx(float(TABLE.sum()), rel=1e-5)


@pytest.mark.parametrize("shapes", [None, [(None,)]], ids=["any", "declared"])
def test_the_derivative_of_a_function_holds_its_rows(table: tg.Variable, jit: bool, shapes: Any) -> None:
    f = tg.function(lambda picks: loss_of(table, picks), jit_compile=jit, shapes=shapes)
    for picks in ([4, 4, 1], [0, 2, -1, 3]):
        with tg.GradientTape() as tape:
            loss = f(ids(*picks)) * 3.0
        g = tape.gradient(loss, table)
        assert isinstance(g, tg.SparseRows)
        np.testing.assert_allclose(g.to_dense().numpy(), 3 * dense(*picks), rtol=1e-6)


def test_derivatives_of_rows_are_those_of_the_whole(table: tg.Variable, jit: bool) -> None:
    inner = tg.function(lambda picks: gradient(table, picks), jit_compile=jit)
    with tg.GradientTape() as tape:
        y = tg.sum(inner(ids(4, 4, 1)) ** 3)
    g = tape.gradient(y, table)
    count = np.bincount([4, 4, 1], minlength=6)[:, None]
    np.testing.assert_allclose(g.numpy(), 3 * count**3 * TABLE**2, rtol=1e-5)
    f = tg.function(lambda picks: loss_of(table, picks), jit_compile=jit)
    with tg.GradientTape() as outer:
        with tg.GradientTape() as tape:
            y = f(ids(4, 4, 1))
        y = tg.sum(tape.gradient(y, table) ** 2)
    np.testing.assert_allclose(outer.gradient(y, table).numpy(), 2 * count**2 * TABLE, rtol=1e-5)


def test_declared_shapes_hold_rows_too(table: tg.Variable, jit: bool) -> None:
    @tg.function(jit_compile=jit, shapes=[(None,)])
    def step(picks: Any) -> Any:
        g = gradient(table, picks)
        table.assign_sub(g)
        return g

    assert isinstance(step(ids(4, 4, 1)), tg.SparseRows)
    assert isinstance(step(ids(2)), tg.SparseRows)
    np.testing.assert_allclose(table.numpy()[[1, 2]], np.zeros((2, 3)), atol=1e-6)


def test_a_table_of_open_length_gives_rows_of_its_shape() -> None:
    f = tg.function(gradient)
    for n in (6, 5, 4):
        found = f(tg.asarray(TABLE[:n], backend="tensorflow"), ids(3, 3))
        assert isinstance(found, tg.SparseRows)
        assert found.shape == (n, 3)
        np.testing.assert_allclose(found.to_dense().numpy(), dense(3, 3)[:n])
    assert f.trace_count == 2


def test_rows_are_added_up_inside() -> None:
    f = tg.function(lambda picks: gradient(tg.asarray(TABLE), picks).coalesce())
    found = f(ids(4, 1, 4, -1))
    assert found.indices.tolist() == [1, 4, 5]
    np.testing.assert_allclose(found.values.numpy(), [TABLE[1], 2 * TABLE[4], TABLE[5]])


def test_losses_are_scaled_for_rows_too(table: tg.Variable, jit: bool) -> None:
    scale = tg.LossScale(2.0**10, backend="tensorflow")

    @tg.function(jit_compile=jit)
    def step(picks: Any) -> Any:
        with tg.GradientTape() as tape:
            scaled = scale.scale(loss_of(table, picks))
        g = scale.unscale(tape.gradient(scaled, table))
        return g, scale.update(g)

    g, fine = step(ids(4, 4, 1))
    assert isinstance(g, tg.SparseRows)
    assert fine.item() is True
    np.testing.assert_allclose(g.to_dense().numpy(), dense(4, 4, 1), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_rows_of_other_dtypes(dtype: str) -> None:
    table = tg.Variable(tg.astype(tg.asarray(TABLE, backend="tensorflow"), dtype))
    f = tg.function(lambda picks: table.assign_sub(gradient(table, picks)))
    f(ids(4, 1))
    assert table.numpy()[[1, 4]].astype(np.float64).tolist() == np.zeros((2, 3)).tolist()
