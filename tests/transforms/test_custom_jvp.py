from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DeclarationError, DTypeError, ShapeError

X = tg.asarray(np.asarray([0.5, -1.5, 2.0]))


@tg.custom_jvp
def product(x: Any, s: Any, *, twice: bool = False) -> Any:
    """x sin(s), and s."""
    y = x * tg.sin(s) * (2.0 if twice else 1.0)
    return {"y": y, "n": tg.argmax(x), "none": None}


@product.defjvp
def _(primals: Any, tangents: Any, *, twice: bool = False) -> Any:
    (x, s), (dx, ds) = primals, tangents
    t = (dx * tg.sin(s) + x * tg.cos(s) * ds) * (2.0 if twice else 1.0)
    return product(x, s, twice=twice), {"y": t, "n": None, "none": None}


def plain(x: Any, s: Any) -> Any:
    return x * tg.sin(s)


@pytest.mark.parametrize("mode", ["forward-over-reverse", "reverse-over-reverse", "reverse-over-forward", "forward-over-forward"])
def test_derivatives_of_every_order_are_those_of_the_rule(mode: Any) -> None:
    ours = tg.hessian(lambda x, s: tg.sum(product(x, s)["y"] ** 2), (0, 1), mode=mode)(X, X * 2.0)
    theirs = tg.hessian(lambda x, s: tg.sum(plain(x, s) ** 2), (0, 1))(X, X * 2.0)
    for a, b in zip([m for row in ours for m in row], [m for row in theirs for m in row], strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-13)
    third = tg.grad(tg.grad(tg.grad(lambda s: product(1.5, s)["y"])))(0.5)
    assert third.item() == pytest.approx(-1.5 * np.cos(0.5))


def test_batches_and_tapes() -> None:
    rows = tg.stack([X, 2 * X])
    for f in (lambda x, s: product(x, s)["y"], plain):
        found = [
            tg.vmap(f, (0, None))(rows, X),
            tg.vmap(tg.jacobian(f, 1), (0, None))(rows, X)[0],
            tg.grad(lambda s, f=f: tg.sum(tg.vmap(f, (0, None))(rows, s) ** 2))(X),
            tg.vmap(tg.grad(lambda s, x, f=f: tg.sum(f(x, s) ** 2)), (None, 0))(X, rows),
            tg.jvp(tg.vmap(f, (0, None)), (rows, X), (rows, X))[1],
        ]
        if f is not plain:
            ours = found
    for a, b in zip(ours, found, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12)
    with tg.GradientTape() as tape:
        tape.watch(X)
        y = product(X, 0.5, twice=True)["y"]
    np.testing.assert_allclose(tape.gradient(y, X).numpy(), 2 * np.sin(0.5) * np.ones(3))


def test_variables_as_arguments_and_several_values() -> None:
    @tg.custom_jvp
    def both(p: Any) -> Any:
        return p["a"] * p["b"], p["a"] + p["b"]

    @both.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        (p,), (t,) = primals, tangents
        return both(p), (t["a"] * p["b"] + p["a"] * t["b"], 100 * (t["a"] + t["b"]))

    v = tg.Variable(1.5)
    with tg.GradientTape() as tape:
        y, z = both({"a": v, "b": 2.0})
        total = y + z
    assert tape.gradient(total, v).item() == 102


def test_on_a_method() -> None:
    class Scaled:
        factor = 3.0

        @tg.custom_jvp
        def f(self, x: Any) -> Any:
            return self.factor * x

        @f.defjvp
        def rule(primals: Any, tangents: Any) -> Any:
            return primals[0].f(primals[1]), 10 * tangents[1]

    assert tg.grad(Scaled().f)(1.0).item() == 10


def of(rule: Any) -> Any:
    @tg.custom_jvp
    def f(x: Any) -> Any:
        return x * 2.0

    f.defjvp(rule)
    return f


U = tg.asarray(np.ones(3))


@tg.custom_jvp
def closing(x: Any) -> Any:
    return x * U


closing.defjvp(lambda p, t: (closing(*p), t[0]))


@pytest.mark.parametrize(
    ("f", "error", "text"),
    [
        (of(lambda p, t: t[0]), ArgumentError, r"expected the rule of f to return \(y, t\), got Tensor"),
        (of(lambda p, t: (p[0], t[0][:1])), ShapeError, r"t.shape == \(3,\), that of its value; got \(1,\)"),
        (of(lambda p, t: (p[0], tg.astype(t[0], tg.float32))), DTypeError, "t.dtype == float64, that of its value; got float32"),
        (of(lambda p, t: (p[0], (t[0], t[0]))), ShapeError, "to return 1 tangents, got 2"),
        (tg.custom_jvp(tg.sin), DeclarationError, "sin is called before its rule was given; write @sin.defjvp"),
    ],
)
def test_what_does_not_fit_is_refused(f: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        tg.jvp(f, (X,), (X,))
    with pytest.raises(error, match=text):
        tg.grad(lambda x: tg.sum(f(x)))(X)


def test_what_is_recorded_has_to_be_an_argument() -> None:
    assert closing(X).tolist() == X.tolist()
    with tg.GradientTape() as tape:
        tape.watch(U)
        with pytest.raises(ArgumentError, match=r"closing reads a variable, or a recorded tensor, that is none of its arguments"):
            closing(X)


def test_only_functions_are_taken() -> None:
    with pytest.raises(ArgumentError, match="expected a function, got float"):
        tg.custom_jvp(1.5)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="expected a function, got NoneType"):
        tg.custom_jvp(tg.sin).defjvp(None)  # type: ignore[arg-type]
