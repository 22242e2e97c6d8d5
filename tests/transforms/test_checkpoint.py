from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import GradientError

X = tg.asarray(np.asarray([0.5, -1.5, 2.0]))
HESSIANS = ["forward-over-reverse", "reverse-over-reverse", "reverse-over-forward", "forward-over-forward"]


def block(x: Any, *, scale: Any = 1.0) -> Any:
    h = tg.tanh(x) * scale
    return {"y": tg.sin(h * x), "same": x, "none": None, "n": tg.argmax(h)}


def test_values_and_derivatives_are_those_of_the_function() -> None:
    def loss(f: Any, x: Any, s: Any) -> Any:
        a = f(x, scale=s)
        return tg.sum(f(a["y"] + a["same"], scale=x)["y"]) * s

    checked = tg.checkpoint(block)
    found = checked(X, scale=2.0)
    assert found["none"] is None
    assert found["same"].tolist() == X.tolist()
    s = tg.asarray(np.float64(1.5))
    ours = tg.grad(lambda x, s: loss(checked, x, s), (0, 1))(X, s)
    theirs = tg.grad(lambda x, s: loss(block, x, s), (0, 1))(X, s)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-13)
    for mode in HESSIANS:
        a = tg.hessian(lambda x: loss(checked, x, s), mode=mode)(X)  # type: ignore[arg-type]
        np.testing.assert_allclose(a.numpy(), tg.hessian(lambda x: loss(block, x, s))(X).numpy(), rtol=1e-10, atol=1e-12)


def test_variables_and_tensors_that_it_closes_over() -> None:
    v, u = tg.Variable([0.5, 1.0, -0.5], dtype=tg.float64), tg.asarray(np.asarray([1.0, 2.0, 3.0]))
    f = tg.checkpoint(lambda x: tg.sum(tg.sin(x * v) * u) + tg.sum(v))
    with tg.GradientTape() as tape:
        tape.watch([X, u])
        y = f(X) ** 2
    found = tape.gradient(y, [X, v, u])
    with tg.GradientTape() as tape:
        tape.watch([X, u])
        y = (tg.sum(tg.sin(X * v) * u) + tg.sum(v)) ** 2
    for a, b in zip(found, tape.gradient(y, [X, v, u]), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-13)


def test_what_it_closes_over_may_be_watched_again_before_the_derivative() -> None:
    v = tg.Variable([0.5, 1.0, -0.5], dtype=tg.float64)
    f = tg.checkpoint(lambda x: tg.sum(tg.sin(x * v)))
    with tg.GradientTape() as outer:
        outer.watch(X)
        y = f(X)
        with tg.GradientTape() as inner:
            z = tg.sum(v * v)
        inner.gradient(z, v)
    with tg.GradientTape():
        tg.sum(v)
        np.testing.assert_allclose(outer.gradient(y, v).numpy(), X.numpy() * np.cos(X.numpy() * v.numpy()))


def test_tapes_inside_and_no_grad_inside() -> None:
    def f(x: Any) -> Any:
        with tg.no_grad():
            c = tg.exp(x)
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = tg.sum(x**3)
        return tape.gradient(y, x) * c + tg.grad(lambda x: tg.sum(tg.sin(x)))(x)

    np.testing.assert_allclose(
        tg.grad(lambda x: tg.sum(tg.checkpoint(f)(x)))(X).numpy(), tg.grad(lambda x: tg.sum(f(x)))(X).numpy(), rtol=1e-13
    )


def test_nested_and_persistent() -> None:
    inner = tg.checkpoint(lambda x: tg.tanh(x) * x)
    outer = tg.checkpoint(lambda x: inner(inner(x)) + x)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(X)
        y = tg.sum(outer(X))
    first, again = tape.gradient(y, X), tape.gradient(y, X)
    assert first.tolist() == again.tolist()
    g = lambda x: tg.tanh(x) * x  # noqa: E731
    np.testing.assert_allclose(first.numpy(), tg.grad(lambda x: tg.sum(g(g(x)) + x))(X).numpy(), rtol=1e-13)


def test_random_numbers_are_drawn_again_and_generators_are_not_moved() -> None:
    mine = tg.random.Generator(4)

    def noisy(x: Any) -> Any:
        return tg.nn.dropout(x * mine.uniform((3,), dtype=tg.float64), rate=0.5) * tg.random.normal((3,), dtype=tg.float64)

    for f in (noisy, tg.checkpoint(noisy), tg.checkpoint(tg.checkpoint(noisy))):
        tg.random.seed(7)
        mine.state = tg.random.Generator(4).state
        with tg.GradientTape() as tape:
            tape.watch(X)
            y = tg.sum(f(f(X)) ** 2)
        after = tg.random.normal((4,))
        g = tape.gradient(y, X).numpy()
        following = tg.random.normal((4,)), mine.uniform((2,))
        results = [y.numpy(), after.numpy(), g, *(t.numpy() for t in following)]
        if f is noisy:
            expected = results
        for a, b in zip(results, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_random_numbers_inside_a_batch_are_drawn_again() -> None:
    def noisy(x: Any) -> Any:
        return tg.sum((x * tg.random.normal((3,), dtype=tg.float64)) ** 2)

    rows = tg.stack([X, 2 * X])
    results = []
    for f in (noisy, tg.checkpoint(noisy)):
        tg.random.seed(7)
        results.append(tg.grad(lambda r, f=f: tg.sum(tg.vmap(f, randomness="different")(r)))(rows).numpy())
    np.testing.assert_allclose(results[0], results[1], rtol=1e-13)
    assert (results[0][0] * 2 != results[0][1]).all()


def test_it_is_run_again_only_where_a_derivative_needs_it() -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(1)
        return tg.sin(x)

    checked = tg.checkpoint(f)
    checked(X)
    tg.jvp(checked, (X,), (X,))
    assert len(calls) == 2
    tg.grad(lambda x: tg.sum(checked(x)))(X)
    assert len(calls) == 4
    tg.grad(lambda x: tg.sum(x) + 0 * tg.sum(tg.stop_gradient(checked(x))))(X)
    assert len(calls) == 5


def test_intermediate_values_are_not_kept() -> None:
    def deep(x: Any) -> Any:
        for _ in range(30):
            x = tg.sin(x) * 1.01
        return x

    def held(f: Any) -> int:
        x = tg.asarray(np.ones(100_000))
        with tg.GradientTape() as tape:
            tape.watch(x)
            gc.collect()
            tracemalloc.start()
            y = f(f(x))
            size = tracemalloc.get_traced_memory()[0]
            tracemalloc.stop()
        assert tape.gradient(y, x) is not None
        return size

    assert held(tg.checkpoint(deep)) < held(deep) / 15


def test_a_value_that_is_kept_elsewhere_stays_recorded() -> None:
    kept = []

    def f(x: Any) -> Any:
        h = tg.exp(x)
        kept.append(h)
        return tg.sin(h)

    with tg.GradientTape(persistent=True) as tape:
        tape.watch(X)
        y = tg.checkpoint(f)(X)
        h = kept[0]
    np.testing.assert_allclose(tape.gradient(h, X).numpy(), np.exp(X.numpy()))
    np.testing.assert_allclose(tape.gradient(y, X).numpy(), np.cos(np.exp(X.numpy())) * np.exp(X.numpy()))


def test_a_function_that_does_something_else_the_second_time_is_found_out() -> None:
    lengths = [3, 2]

    def f(x: Any) -> Any:
        return tg.sin(x[: lengths.pop(0)])

    with pytest.raises(GradientError, match=r"checkpoint\(f\): expected f to give float64 \(3,\) again, .* got float64 \(2,\)"):
        tg.grad(lambda x: tg.sum(tg.checkpoint(f)(x)))(X)
    other = tg.asarray(np.ones(3))
    which = [X, other]
    with tg.GradientTape() as tape:
        tape.watch([X, other])
        y = tg.sum(tg.checkpoint(lambda: tg.sin(which.pop(0)))())
    with pytest.raises(GradientError, match="reads a value that it did not read at first"):
        tape.gradient(y, X)


def test_an_error_in_the_second_run_leaves_nothing_behind() -> None:
    from tapegrad.core.recorder import state

    runs = []

    def f(x: Any) -> Any:
        runs.append(1)
        if len(runs) == 2:
            raise KeyError("second run")
        return tg.sin(x)

    before = state.active
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(X)
        y = tg.sum(tg.checkpoint(f)(X))
    with pytest.raises(KeyError, match="second run"):
        tape.gradient(y, X)
    assert state.active is before
    np.testing.assert_allclose(tape.gradient(y, X).numpy(), np.cos(X.numpy()))
