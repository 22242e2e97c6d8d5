from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, BatchedValueError, BoundsError, RandomnessError, ShapeError

RNG = np.random.default_rng(5)
X = tg.asarray(RNG.normal(size=(4, 3)))
W = tg.asarray(RNG.normal(size=(2, 3)))


def loop(f: Any, *rows: Any) -> Any:
    return np.stack([f(*(tg.asarray(r) for r in each)).numpy() for each in zip(*(r.numpy() for r in rows), strict=True)])


def layer(x: Any) -> Any:
    return tg.tanh(W @ x) * tg.sum(x)


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_any_axis_in_and_out(axis: int) -> None:
    x = tg.moveaxis(X, 0, axis)
    found = tg.vmap(layer, in_axes=axis, out_axes=axis)(x)
    np.testing.assert_allclose(np.moveaxis(found.numpy(), axis, 0), loop(layer, X))


def test_axes_of_structures() -> None:
    def f(p: Any, y: Any, s: Any) -> Any:
        return {"a": p["w"] @ p["x"][0] * y, "b": (s, y)}

    p = {"w": W, "x": [X, "text"]}
    y = tg.asarray(RNG.normal(size=(2, 4)))
    found = tg.vmap(
        f, in_axes=({"w": None, "x": [0, None]}, 1, None), out_axes={"a": 1, "b": (None, 0)}
    )(p, y, tg.asarray(2.0))
    expected = np.stack([(W.numpy() @ X.numpy()[i]) * y.numpy()[:, i] for i in range(4)], axis=1)
    np.testing.assert_allclose(found["a"].numpy(), expected)
    assert found["b"][0].item() == 2.0
    np.testing.assert_allclose(found["b"][1].numpy(), y.numpy().T)


def test_keywords_none_and_constants() -> None:
    def f(x: Any, none: Any, *, k: Any) -> Any:
        return [x * k, None, 2.0, np.ones(2)]

    y, none, two, ones = tg.vmap(f, in_axes=(0, None))(X, None, k=tg.asarray(3.0))
    np.testing.assert_allclose(y.numpy(), 3 * X.numpy())
    assert none is None
    assert two.tolist() == [2.0] * 4
    assert ones.shape == (4, 2)


def test_python_numbers_and_arrays_are_taken() -> None:
    assert tg.vmap(lambda x, s: x * s, (0, None))(np.asarray([1.0, 2.0]), 3.0).tolist() == [3, 6]
    assert tg.vmap(lambda p: p[0] + p[1])([np.asarray([1.0]), np.asarray([2.0])]).tolist() == [3]


def test_nested_batches_are_nested_loops() -> None:
    y = tg.asarray(RNG.normal(size=(5, 2)))
    found = tg.vmap(lambda x: tg.vmap(lambda y: tg.sum(layer(x) * y) + tg.linalg.outer(x, y))(y))(X)
    for i in range(4):
        for j in range(5):
            x, z = X.numpy()[i], y.numpy()[j]
            expected = np.sum(np.tanh(W.numpy() @ x) * x.sum() * z) + np.outer(x, z)
            np.testing.assert_allclose(found.numpy()[i, j], expected)
    crossed = tg.vmap(tg.vmap(lambda a, b: a * b, (0, None)), (None, 0))(X[0], y[:, 0])
    np.testing.assert_allclose(crossed.numpy(), np.outer(y.numpy()[:, 0], X.numpy()[0]))


def test_three_batches_of_which_each_uses_the_outer_ones() -> None:
    a, b, c = (tg.asarray(RNG.normal(size=n)) for n in (2, 3, 4))
    found = tg.vmap(lambda a: tg.vmap(lambda b: tg.vmap(lambda c: a * b + tg.sin(c) * a)(c))(b))(a)
    expected = a.numpy()[:, None, None] * b.numpy()[:, None] + np.sin(c.numpy()) * a.numpy()[:, None, None]
    np.testing.assert_allclose(found.numpy(), expected)


def test_batches_of_length_0_and_1() -> None:
    for n in (0, 1):
        x = tg.asarray(RNG.normal(size=(n, 3)))
        assert tg.vmap(layer)(x).shape == (n, 2)
        assert tg.vmap(tg.grad(lambda x: tg.sum(layer(x))))(x).shape == (n, 3)
        g = tg.grad(lambda w, x=x: tg.sum(tg.vmap(lambda x: tg.sum(tg.tanh(w @ x)))(x)))(W)
        assert g.shape == W.shape
        assert n or not g.numpy().any()
        assert tg.vmap(tg.vmap(lambda a, b: a @ b, (None, 0)), (0, None))(x, X).shape == (n, 4)
        assert tg.vmap(lambda a, i: a[i])(x, tg.zeros((n,), dtype=tg.int64)).shape == (n,)


# -- derivatives of each item, and sums of them ------------------------------------------------------------
def loss(w: Any, x: Any) -> Any:
    return tg.sum(tg.tanh(w @ x) ** 2)


def per_example() -> np.ndarray:
    return np.stack([tg.grad(loss)(W, tg.asarray(x)).numpy() for x in X.numpy()])


def by_tape(w: Any, x: Any) -> Any:
    with tg.GradientTape() as tape:
        tape.watch(w)
        y = loss(w, x)
    return tape.gradient(y, w)


def by_jacobian(w: Any, x: Any) -> Any:
    return tg.jacobian(loss, mode="reverse")(w, x)


def by_columns(w: Any, x: Any) -> Any:
    return tg.jacobian(loss, mode="forward")(w, x)


def by_pullback(w: Any, x: Any) -> Any:
    return tg.vjp(lambda w: loss(w, x), w)[1](1.0)[0]


@pytest.mark.parametrize("way", [tg.grad(loss), by_tape, by_jacobian, by_columns, by_pullback], ids=lambda f: f.__name__)
def test_gradients_of_each_example(way: Any) -> None:
    np.testing.assert_allclose(tg.vmap(way, (None, 0))(W, X).numpy(), per_example(), rtol=1e-12)
    doubled = tg.vmap(lambda w, x: way(2.0 * w, x), (None, 0))(W / 2.0, X)  # computed inside, from what is the same for all
    np.testing.assert_allclose(doubled.numpy(), per_example(), rtol=1e-12)


def test_gradients_of_each_example_for_a_variable() -> None:
    v = tg.Variable(W)

    def each(x: Any) -> Any:
        with tg.GradientTape() as tape:
            y = loss(v, x)
        return tape.gradient(y, v)

    np.testing.assert_allclose(tg.vmap(each)(X).numpy(), per_example(), rtol=1e-12)
    with tg.GradientTape() as tape:
        norms = tg.sum(tg.vmap(each)(X) ** 2)
    expected = sum(
        tg.grad(lambda w, x=x: tg.sum(tg.grad(loss)(w, tg.asarray(x)) ** 2))(W).numpy() for x in X.numpy()
    )
    np.testing.assert_allclose(tape.gradient(norms, v).numpy(), expected, rtol=1e-10)


def test_a_derivative_from_outside_is_the_sum_over_items() -> None:
    total = tg.grad(lambda w: tg.sum(tg.vmap(loss, (None, 0))(w, X)))(W)
    np.testing.assert_allclose(total.numpy(), per_example().sum(0), rtol=1e-12)
    with tg.GradientTape() as tape:
        tape.watch(W)
        y = tg.sum(tg.vmap(lambda x: loss(W, x))(X))
    np.testing.assert_allclose(tape.gradient(y, W).numpy(), per_example().sum(0), rtol=1e-12)


def test_a_value_that_no_item_changes_counts_once_for_each() -> None:
    assert tg.grad(lambda s: tg.sum(tg.vmap(lambda x: s * 2.0)(X)))(1.0).item() == 8
    assert tg.grad(lambda s: tg.sum(tg.vmap(lambda x: s)(X)))(1.0).item() == 4
    assert tg.vmap(lambda x: tg.grad(lambda s: s * 2.0)(1.0))(X).tolist() == [2] * 4


def test_a_custom_gradient_whose_rule_does_not_look_at_the_item() -> None:
    @tg.custom_gradient
    def f(x: Any) -> Any:
        return x * x, lambda g: tg.ones((3,), dtype=tg.float64)

    found = tg.vmap(tg.grad(lambda x: tg.sum(f(tg.sin(x)))))(X)
    np.testing.assert_allclose(found.numpy(), np.cos(X.numpy()))


def test_per_example_gradients_of_a_network_are_those_of_a_loop() -> None:
    params = {"w1": tg.asarray(RNG.normal(size=(3, 5))), "b1": tg.asarray(RNG.normal(size=5)), "w2": tg.asarray(RNG.normal(size=(5, 2)))}
    labels = tg.asarray(np.asarray([0, 1, 1, 0]))

    def net(p: Any, x: Any, label: Any) -> Any:
        h = tg.nn.relu(x @ p["w1"] + p["b1"])
        return tg.nn.cross_entropy(tg.nn.layer_norm(h) @ p["w2"], label)

    found = tg.vmap(tg.grad(net), (None, 0, 0))(params, X, labels)
    for i in range(4):
        alone = tg.grad(net)(params, X[i], labels[i])
        for key, g in alone.items():
            np.testing.assert_allclose(found[key].numpy()[i], g.numpy(), rtol=1e-9, atol=1e-12)


# -- what needs one value --------------------------------------------------------------------------------
def positive(x: Any) -> Any:
    return x if tg.sum(x) > 0 else -x


@pytest.mark.parametrize(
    ("f", "text"),
    [
        (positive, r"bool\(x\): inside vmap\(positive\) it has a value for each of 4 items, bool \(\) each; write tapegrad.where"),
        (lambda x: int(x[0]), r"int\(x\): .* index with the tensor itself"),
        (lambda x: float(x[0]), r"float\(x\): .* compute with the tensor itself"),
        (lambda x: complex(x[0]), r"complex\(x\): .* compute with the tensor itself"),
        (lambda x: x.numpy(), r"x.numpy\(\): .* compute with functions of tapegrad"),
        (np.asarray, r"x.numpy\(\): "),
        (lambda x: x[0].item(), r"x.item\(\): .* look at values outside"),
        (lambda x: x.tolist(), r"x.numpy\(\): "),
        (lambda x: f"{x[0]:.2f}", "the format '.2f': "),
        (lambda x: range(tg.argmax(x)), r"int\(x\): .* it can't be the bound of a slice or a range"),
        (lambda x: x[: tg.argmax(x)], r"int\(x\): .* it can't be the bound of a slice or a range"),
        (lambda x: x[x > 0], r"x\[mask\]: .* another number of elements in each; write tapegrad.where\(mask, x, 0\)"),
        (tg.nonzero, "nonzero: .* no batching rule"),
        (tg.unique_values, "unique_index: .* no batching rule"),
        (tg.from_dlpack, r"x.numpy\(\): "),
    ],
)
def test_values_of_items_are_not_for_python(f: Any, text: str) -> None:
    with pytest.raises(BatchedValueError, match=text):
        tg.vmap(f)(X)


def test_a_batched_tensor_shows_what_it_is() -> None:
    seen = []
    tg.vmap(lambda x: seen.append(repr(x)))(X)
    assert seen == ["Tensor(4 items (3,), dtype=float64)"]


def test_what_leaks_out_says_where_from() -> None:
    leaked = []
    tg.vmap(leaked.append)(X)
    with pytest.raises(BatchedValueError, match=r"inside vmap\(append\) it has a value for each of 4 items"):
        leaked[0].numpy()


def test_shapes_decide_what_python_does() -> None:
    found = tg.vmap(lambda x: sum((x[i] * i for i in range(len(x))), 0.0) if x.ndim == 1 else x)(X)
    np.testing.assert_allclose(found.numpy(), X.numpy() @ [0, 1, 2])


# -- random numbers --------------------------------------------------------------------------------------
DRAWS: list[Any] = [
    lambda: tg.random.normal((2,), std=2.0),
    lambda: tg.random.uniform((2,), low=-1.0),
    lambda: tg.random.integers((2,), high=1 << 40),
    lambda: tg.random.bernoulli(0.5, (64,)),
    lambda: tg.random.permutation(40),
    lambda: tg.random.permutation(X.mT),
    lambda: tg.nn.dropout(tg.ones((64,)), rate=0.5),
    lambda: tg.random.Generator(3).normal((2,)),
]


@pytest.mark.parametrize("draw", DRAWS)
def test_random_numbers_need_a_word(draw: Any) -> None:
    with pytest.raises(RandomnessError, match=r'inside vmap\(<lambda>\), .* randomness="different"\), or "same"'):
        tg.vmap(lambda x: draw())(X)
    tg.random.seed(0)
    alone = draw()
    tg.random.seed(0)
    same = tg.vmap(lambda x: draw(), randomness="same")(X).numpy()
    assert (same == alone.numpy()).all()
    assert same.shape == (4, *alone.shape)


@pytest.mark.parametrize("draw", [d for d in DRAWS if d is not DRAWS[5]])
def test_random_numbers_differ_between_items_where_they_should(draw: Any) -> None:
    tg.random.seed(1)
    found = tg.vmap(lambda x: draw(), randomness="different")(X).numpy()
    assert found.shape == (4, *draw().shape)
    assert all((found[i] != found[j]).any() for i in range(4) for j in range(i))


def test_random_numbers_in_nested_batches() -> None:
    def each(x: Any) -> Any:
        return tg.vmap(lambda y: tg.random.normal() + 0 * y * x[0], randomness="different")(tg.zeros((3,)))

    with pytest.raises(RandomnessError, match=r"inside vmap\(each\)"):
        tg.vmap(each)(X)
    different = tg.vmap(each, randomness="different")(X).numpy()
    assert len(np.unique(different)) == 12
    same = tg.vmap(each, randomness="same")(X).numpy()
    assert len(np.unique(same)) == 3
    assert (same == same[:1]).all()


# -- what does not fit -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (
            lambda: tg.vmap(lambda x, y: x)(X, {"a": X, "b": tg.ones((5, 2))}),
            ShapeError,
            r"argument 0 \(x\) has 4 along axis 0, argument 1 \(y\)\['a'\] has 4 along axis 0, argument 1 \(y\)\['b'\] has 5",
        ),
        (lambda: tg.vmap(layer, in_axes=2)(X), BoundsError, r"in_axes is 2 for argument 0 \(x\), which has shape \(4, 3\)"),
        (lambda: tg.vmap(layer)(2.5), BoundsError, r"argument 0 \(x\), which has shape \(\); write None in its place"),
        (lambda: tg.vmap(layer)("text"), ArgumentError, r"a tensor to map over as argument 0 \(x\), got str; write None"),
        (lambda: tg.vmap(layer, in_axes=None)(X), ArgumentError, "at least one argument to map over"),
        (tg.vmap(layer), ArgumentError, "at least one argument to map over"),
        (lambda: tg.vmap(layer, in_axes=(0, 0))(X), ArgumentError, "in_axes: expected one entry for each of 1 arguments, got 2"),
        (lambda: tg.vmap(layer, in_axes=({"a": 0},))(X), ArgumentError, "in_axes: .* does not fit the structure"),
        (lambda: tg.vmap(layer, in_axes=1.5), ArgumentError, r"vmap\(f, in_axes=...\): expected an integer, None"),
        (lambda: tg.vmap(layer, out_axes="x"), ArgumentError, r"vmap\(f, out_axes=...\): expected an integer, None"),
        (lambda: tg.vmap(layer, out_axes=5)(X), BoundsError, r"out_axes is 5 for a value whose items have shape \(2,\)"),
        (lambda: tg.vmap(layer, out_axes=None)(X), ArgumentError, "out_axes is None for a value that differs between items"),
        (lambda: tg.vmap(layer, out_axes=(0, 1))(X), ArgumentError, "out_axes: .* does not fit the structure"),
        (lambda: tg.vmap(lambda x: "text")(X), ArgumentError, "to return tensors, or a structure of them, got str"),
        (lambda: tg.vmap(layer, randomness="yes"), ArgumentError, "expected 'error', 'different' or 'same', got 'yes'"),
        (lambda: tg.vmap(3), ArgumentError, r"vmap\(f, ...\): expected a function, got int"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_a_batched_cotangent_is_added_to_one_that_is_no_batch() -> None:
    # z receives two cotangents that are the same for all items, whose sum the engine may write to, and then one for each item
    z, w = tg.asarray(np.asarray([0.5, -1.5])), tg.asarray(np.asarray([2.0, 3.0]))

    def pulled(x: Any) -> Any:
        return tg.vjp(lambda z: (z * z * x, z[::-1] * z), z)[1]((w, w))[0]

    rows = tg.asarray(np.asarray([[1.0, 2.0], [-0.5, 0.25], [3.0, 0.0]]))
    found = tg.vmap(pulled)(rows)
    np.testing.assert_allclose(found.numpy(), np.stack([pulled(rows[i]).numpy() for i in range(3)]), rtol=1e-12)
