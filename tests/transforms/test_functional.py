from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, ShapeError

X = tg.asarray(np.asarray([[1.0, 2.0], [3.0, -1.0]]))


class Model:
    def __init__(self) -> None:
        self.w = tg.Variable([1.5, -0.5], dtype=tg.float64)
        self.b = tg.Variable(0.25, dtype=tg.float64, name="b")

    @property
    def variables(self) -> dict[str, Any]:
        return {"w": self.w, "b": [self.b]}

    def loss(self, x: Any) -> Any:
        return tg.sum((x @ self.w + self.b) ** 2)


def by_hand(p: Any, x: Any) -> Any:
    return tg.sum((x @ p["w"] + p["b"][0]) ** 2)


def test_a_model_is_a_function_of_its_variables() -> None:
    model = Model()
    p = tg.functional.values(model.variables)

    def loss(p: Any, x: Any) -> Any:
        return tg.functional.call(model.loss, model.variables, p, x)

    for transform in (tg.grad, tg.hessian, lambda f: tg.vmap(tg.grad(f), (None, 0))):
        ours, theirs = transform(loss)(p, X), transform(by_hand)(p, X)
        flat, _ = tg.functional.ravel(ours)
        expected, _ = tg.functional.ravel(theirs)
        np.testing.assert_allclose(flat.numpy(), expected.numpy())
    models = {"w": tg.stack([p["w"], 2 * p["w"]]), "b": [tg.asarray(np.asarray([0.0, 1.0]))]}
    ensemble = tg.vmap(loss, (0, None))(models, X)
    assert ensemble[1].item() == pytest.approx(by_hand({"w": 2 * p["w"], "b": [1.0]}, X).item())


def test_the_variables_see_nothing_of_it() -> None:
    model = Model()
    before = model.w.numpy().copy()
    seen = []

    def look() -> None:
        seen.append(model.w.numpy().copy())

    def inside(x: Any) -> Any:
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        return tg.sum(model.w * 1.0)

    value = tg.functional.call(inside, model.w, tg.zeros((2,), dtype=tg.float64), X)
    assert value.item() == 0
    np.testing.assert_array_equal(seen[0], before)
    np.testing.assert_array_equal(model.w.numpy(), before)
    with pytest.raises(KeyError):
        tg.functional.call({}.__getitem__, model.w, np.ones(2), "missing")
    np.testing.assert_array_equal((model.w * 1.0).numpy(), before)


def test_calls_nest() -> None:
    v = tg.Variable(1.0)
    inner = lambda: v * 1.0  # noqa: E731
    outer = lambda: tg.functional.call(inner, v, 3.0) * 10 + v  # noqa: E731
    assert tg.functional.call(outer, v, 2.0).item() == 32
    assert inner().item() == 1


def test_tapes_inside_watch_what_is_in_the_place_of_a_variable() -> None:
    model = Model()

    def gradient(x: Any) -> Any:
        with tg.GradientTape() as tape:
            y = model.loss(x)
        assert tape.watched_variables() == (model.w, model.b)
        return tape.gradient(y, model.variables)

    p = {"w": tg.asarray(np.asarray([0.5, 2.0])), "b": [tg.asarray(np.float64(-1.0))]}
    found = tg.functional.call(gradient, model.variables, p, X)
    expected = tg.grad(by_hand)(p, X)
    np.testing.assert_allclose(found["w"].numpy(), expected["w"].numpy())
    assert found["b"][0].item() == pytest.approx(expected["b"][0].item())


def test_raveling_goes_both_ways() -> None:
    tree = {"a": X, "b": (tg.asarray(2.5), None), "n": tg.asarray([1, 2]), "e": tg.zeros((0, 3))}
    flat, unravel = tg.functional.ravel(tree)
    assert flat.shape == (7,)
    assert flat.dtype == tg.float64
    back = unravel(flat)
    assert back["b"][1] is None
    assert back["e"].shape == (0, 3)
    for a, b in [(back["a"], X), (back["b"][0], tree["b"][0]), (back["n"], tree["n"])]:
        assert a.dtype == b.dtype
        assert a.tolist() == b.tolist()
    g = tg.grad(lambda v: by_hand({"w": unravel(v)["a"][0], "b": [1.0]}, X))(flat)
    assert np.count_nonzero(g.numpy()) == 2
    assert tg.functional.ravel({})[0].shape == (0,)


def test_what_does_not_fit_is_refused() -> None:
    model = Model()
    with pytest.raises(ShapeError, match=r"like the variable b, float64 \(\), got float64 \(2,\)"):
        tg.functional.call(model.loss, model.b, np.ones(2), X)
    with pytest.raises(ShapeError, match="a value for each of 2 variables, got 1"):
        tg.functional.call(model.loss, model.variables, X[0], X)
    with pytest.raises(ArgumentError, match="expected variables, got Tensor"):
        tg.functional.call(model.loss, X, X, X)
    with pytest.raises(ArgumentError, match=r"Variable 'b'.assign.* inside functional.call"):
        tg.functional.call(lambda: model.b.assign(1.0), model.b, 2.0)
    with pytest.raises(ShapeError, match=r"expected vector.shape == \(2,\), got \(3,\)"):
        tg.functional.ravel(model.w)[1](np.ones(3))
    with pytest.raises(ArgumentError, match="expected tensors, got str"):
        tg.functional.ravel(["text"])
