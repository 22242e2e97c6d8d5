from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DTypeError, ShapeError

X = tg.asarray(np.asarray([0.5, -1.5]))
W = tg.asarray(np.asarray([[1.0, 2.0], [0.5, -1.0], [3.0, 0.25]]))


def layer(w: Any, x: Any) -> Any:
    return {"y": tg.tanh(w @ x), "n": tg.argmax(x), "none": None, "c": 2.0}


def test_a_pullback_takes_the_structure_of_the_value_and_gives_that_of_the_arguments() -> None:
    y, pullback = tg.vjp(layer, W, X)
    assert y["none"] is None
    g = tg.asarray(np.asarray([1.0, 0.5, -2.0]))
    for _ in range(2):  # any number of times
        cw, cx = pullback({"y": g, "n": None, "none": None, "c": 1.0})
        d = g.numpy() * (1 - np.tanh(W.numpy() @ X.numpy()) ** 2)
        np.testing.assert_allclose(cw.numpy(), np.outer(d, X.numpy()))
        np.testing.assert_allclose(cx.numpy(), W.numpy().T @ d)


def test_a_jvp_has_zeros_for_what_does_not_depend() -> None:
    y, t = tg.jvp(layer, (W, X), (tg.zeros_like(W), X))
    d = 1 - np.tanh(W.numpy() @ X.numpy()) ** 2
    np.testing.assert_allclose(t["y"].numpy(), d * (W.numpy() @ X.numpy()))
    assert (t["none"], t["c"].item(), t["n"].item()) == (None, 0, 0)
    assert t["n"].dtype == y["n"].dtype


def test_a_linear_approximation_is_evaluated_once_and_used_often() -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(1)
        return tg.sin(x) * x

    y, pushforward = tg.linearize(f, X)
    for s in (1.0, -2.0, 0.0):
        np.testing.assert_allclose(pushforward(s * X).numpy(), tg.jvp(f, (X,), (s * X,))[1].numpy())
        calls.pop()
    assert len(calls) == 1
    np.testing.assert_allclose(y.numpy(), f(X).numpy())
    together = tg.vmap(pushforward)(tg.asarray(np.eye(2)))
    np.testing.assert_allclose(together.numpy(), tg.jacobian(f)(X).mT.numpy())


def test_a_linear_approximation_of_structures() -> None:
    _y, pushforward = tg.linearize(layer, W, X)
    t = pushforward(W, X)
    np.testing.assert_allclose(t["y"].numpy(), tg.jvp(layer, (W, X), (W, X))[1]["y"].numpy())
    assert (t["none"], t["c"].item(), t["n"].item()) == (None, 0, 0)


def test_linear_approximations_are_recorded_by_outer_tapes() -> None:
    found = tg.grad(lambda x: tg.sum(tg.linearize(lambda x: x**3, x)[1](x)))(X)
    np.testing.assert_allclose(found.numpy(), 9 * X.numpy() ** 2)
    twice = tg.jvp(lambda x: tg.linearize(lambda x: x**3, x)[1](x), (X,), (X,))[1]
    np.testing.assert_allclose(twice.numpy(), 9 * X.numpy() ** 3)


def test_a_hessian_times_a_direction() -> None:
    def f(x: Any, s: Any) -> Any:
        return tg.sum(x**3) * s

    s, t = tg.asarray(np.float64(2.0)), tg.asarray(np.asarray([1.0, 10.0]))
    hx, hs = tg.hvp(f, (X, s), (t, tg.asarray(np.float64(0.5))))
    np.testing.assert_allclose(hx.numpy(), 12 * X.numpy() * t.numpy() + 0.5 * 3 * X.numpy() ** 2)
    assert hs.item() == pytest.approx(np.sum(3 * X.numpy() ** 2 * t.numpy()))


def test_aux() -> None:
    def f(x: Any) -> Any:
        return x * x, "aux"

    y, pullback, aux = tg.vjp(f, X, has_aux=True)
    assert aux == tg.jvp(f, (X,), (X,), has_aux=True)[2] == tg.linearize(f, X, has_aux=True)[2] == "aux"
    np.testing.assert_allclose(pullback(X)[0].numpy(), 2 * X.numpy() ** 2)
    np.testing.assert_allclose(y.numpy(), X.numpy() ** 2)


def test_a_complex_function_is_pulled_back_and_pushed_forward() -> None:
    z = tg.asarray(np.asarray([1.0 + 2.0j, -0.5j]))
    np.testing.assert_allclose(tg.jvp(lambda z: z * z, (z,), (1j * z,))[1].numpy(), 2j * z.numpy() ** 2)
    np.testing.assert_allclose(tg.vjp(lambda z: z * z, z)[1](z)[0].numpy(), np.conj(2 * z.numpy()) * z.numpy())


def test_no_inputs_of_a_function_of_numbers() -> None:
    assert tg.jvp(lambda a, b: a * b, (2.0, 3.0), (1.0, 0.5))[1].item() == 4


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: tg.vjp(layer), ArgumentError, "at least one argument"),
        (lambda: tg.vjp(3.0, X), ArgumentError, r"vjp\(f, ...\): expected a function"),
        (
            lambda: tg.vjp(tg.sin, X)[1](tg.ones((3,))),
            ShapeError,
            r"pullback of sin: expected cotangents like float64 \(2,\), got float32 \(3,\)",
        ),
        (lambda: tg.vjp(tg.sin, X)[1]([X, X]), ShapeError, "expected cotangents of 1 leaves, got 2"),
        (lambda: tg.vjp(tg.sin, X)[1](None), ArgumentError, "got None; write tapegrad.zeros_like"),
        (lambda: tg.jvp(tg.sin, X, X), ArgumentError, r"expected primals as a tuple, .* got Tensor; write \(primal,\)"),
        (lambda: tg.jvp(tg.sin, (X,), ()), ArgumentError, "as many tangents as primals, and at least one; got 0 and 1"),
        (lambda: tg.jvp(tg.sin, (X,), (tg.ones((3,)),)), ShapeError, r"expected tangents like float64 \(2,\), got float32 \(3,\)"),
        (lambda: tg.jvp(tg.sin, (X,), (X * 1j,)), ShapeError, "got complex128"),
        (lambda: tg.jvp(tg.sin, (3,), (3,)), DTypeError, "expected floating arguments, got int64"),
        (lambda: tg.linearize(tg.sin, X)[1](X, X), ShapeError, "expected tangents of 1 leaves, got 2"),
        (lambda: tg.jvp(lambda x: "text", (X,), (X,)), ArgumentError, "to return tensors, or a structure of them, got str"),
        (lambda: tg.hvp(tg.sin, (X,), (X,)), ShapeError, "to return a 0-d tensor"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()
