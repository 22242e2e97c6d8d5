"""Compiled functions called with several lengths: derivatives from outside, and checks of shapes that nobody knows yet."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import OpenLengthError, ShapeError
from tapegrad.registry.lengths import may_agree

pytestmark = pytest.mark.interop("tensorflow")


@pytest.fixture(params=[False, True], ids=["plain", "xla"])
def jit(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def data(n: int) -> tg.Tensor:
    return tg.asarray(np.linspace(0.25, 0.75, n).astype(np.float32), backend="tensorflow")


def all_orders(f: Callable[[Any], Any], x: tg.Tensor, w: tg.Variable) -> list[tg.Tensor]:
    """The gradient, the gradient of its square, and a tangent."""
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as tape:
            tape.watch(x)
            y, z = f(x)
            loss = tg.sum(y * y * z)
        first = tape.gradient(loss, [x, w])
        total = tg.sum(first[0] ** 2)
    with tg.ForwardAccumulator(x, tg.cos(x)) as forward:
        tangent = forward.jvp(f(x)[0])
    return [*first, *outer.gradient(total, [x, w]), tangent]


def test_the_gradient_of_a_function_called_with_several_lengths(jit: bool) -> None:
    w = tg.Variable(tg.asarray([1.0, 2.0, 3.0], backend="tensorflow"))

    @tg.function(jit_compile=jit)
    def f(x: Any) -> Any:
        return tg.sum(tg.tanh(x)[:, None] * w, axis=1), x * 2

    for n in (3, 4, 6, 5):
        for a, b in zip(all_orders(f, data(n), w), all_orders(f.python_function, data(n), w), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4)
    assert f.trace_count == 2


def test_seeds_and_tangents_whose_lengths_are_open_fit(jit: bool) -> None:
    @tg.function(jit_compile=jit)
    def f(x: Any, g: Any) -> Any:
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = tg.tanh(x)
        with tg.ForwardAccumulator(x, g) as forward:
            t = forward.jvp(tg.tanh(x))
        return tape.gradient(y, x, output_gradients=g), t, tg.vjp(tg.tanh, x)[1](g)[0], tg.jvp(tg.tanh, (x,), (g,))[1]

    for n in (3, 4, 5):
        x, g = data(n), tg.cos(data(n))
        for found in f(x, g):
            np.testing.assert_allclose(found.numpy(), (g * (1 - tg.tanh(x) ** 2)).numpy(), rtol=1e-5)


def test_rules_of_ones_own_may_give_cotangents_of_open_lengths(jit: bool) -> None:
    @tg.function(jit_compile=jit)
    def f(x: Any, other: Any) -> Any:
        @tg.custom_gradient
        def own(x: Any) -> Any:
            return x * 2.0, lambda g: other

        return tg.grad(lambda x: tg.sum(own(x)))(x)

    for n in (3, 4, 5):
        np.testing.assert_array_equal(f(data(n), data(n)).numpy(), data(n).numpy())


def test_a_variable_is_assigned_what_has_its_length_as_the_function_runs(jit: bool) -> None:
    v = tg.Variable(data(4))

    @tg.function(jit_compile=jit)
    def f(x: Any, y: Any) -> None:
        v.assign(x)
        v.assign_add(y[1:])

    f(data(4), data(5))
    v.assign(data(4))
    g = tg.function(lambda x: v.assign_add(tg.concat([x, x])), jit_compile=jit)
    g(data(2))
    np.testing.assert_array_equal(v.numpy(), data(4).numpy() + np.tile(data(2).numpy(), 2))


def test_lengths_that_are_known_and_differ_are_refused() -> None:
    x = data(3)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = x * 2.0
    with pytest.raises(ShapeError, match=r"expected the target's shape \(3,\), got \(4,\)"):
        tape.gradient(y, x, output_gradients=data(4))


def test_what_may_agree() -> None:
    n, m = object(), object()  # lengths that are not known yet
    assert may_agree((n, 3), (n, 3))
    assert may_agree((n, 3), (m, 3))
    assert may_agree((n, 3), (4, 3))
    assert not may_agree((n, 3), (4, 2))
    assert not may_agree((3,), (3, 1))


def test_threads_that_call_a_function_for_the_first_time_together_trace_it_as_one_would() -> None:
    w = tg.Variable(tg.asarray([2.0], backend="tensorflow"))
    f = tg.function(lambda x: x * w)
    start = threading.Barrier(4)
    found: list[float] = []

    def run() -> None:
        start.wait()
        for n in range(2, 7):
            with tg.GradientTape() as tape:
                y = tg.sum(f(tg.ones(n)))
            found.append(tape.gradient(y, w).item() / n)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [1.0] * 20
    assert f.trace_count == 2


COMPARISONS: dict[str, Callable[[Any], bool]] = {
    "equal": lambda x: x.shape[0] == 4,
    "not equal": lambda x: x.shape[0] != 4,
    "reflected": lambda x: x.shape[0] == 4.0,
    "shapes": lambda x: x.shape == (4,),
    "contained": lambda x: 4 in x.shape,
    "size": lambda x: x.size == 4,
    "arithmetic": lambda x: 2 * x.shape[0] - 1 == 7,
    "ratio": lambda x: x.shape[0] / 2 == 2,
    "truth": lambda x: bool(x.shape[0] - 4),
    "two lengths": lambda x: x.shape[0] == tg.concat([x, x]).shape[0],
    "less": lambda x: x.shape[0] < 4,
}


@pytest.mark.parametrize("asks", COMPARISONS.values(), ids=COMPARISONS)
def test_a_comparison_of_an_open_length_is_right_or_refused(asks: Callable[[Any], bool]) -> None:
    def program(x: Any) -> Any:
        return x * 2.0 if asks(x) else x + 1.0

    f = tg.function(program)
    for n in (3, 4, 5, 4, 6):
        np.testing.assert_array_equal(f(data(n)).numpy(), program(data(n)).numpy())
    assert f.trace_count == 4
    with pytest.raises(OpenLengthError, match="and is not known while"):
        tg.function(program, shapes=[(None,)])(data(4))


def test_lengths_that_are_the_same_by_construction_are_equal() -> None:
    f = tg.function(lambda x, y: x + y if x.shape == y.shape and x.shape[0] == x.shape[0] else x)
    for n in (3, 4, 5):
        np.testing.assert_array_equal(f(data(n), data(n)).numpy(), 2 * data(n).numpy())
    assert f.trace_count == 2


def test_letters_of_an_equation_may_stand_for_open_lengths(jit: bool) -> None:
    def attention(q: Any, k: Any, n: Any) -> Any:
        s = tg.einsum("bqd,bkd->bqk", q, k)
        inside = tg.arange(k.shape[1])[None, :] < n[:, None]
        weights = tg.softmax(tg.where(inside[:, None, :], s, -tg.inf), axis=-1)
        return tg.einsum("bqk,bkd->bqd", weights, k), tg.einsum("bkk->b", tg.einsum("bkd,bld->bkl", k, k))

    f = tg.function(attention, jit_compile=jit)
    for n in (5, 4, 3):
        q, k = (tg.reshape(data(2 * n * 3) * sign, (2, n, 3)) for sign in (1.0, -1.0))
        lengths = tg.asarray(np.asarray([2, n]), backend="tensorflow")
        for a, b in zip(f(q, k, lengths), attention(q, k, lengths), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4)
    assert f.trace_count == 2


@pytest.mark.parametrize("shapes", [None, [(None,)]], ids=["found", "declared"])
@pytest.mark.parametrize(
    "loss",
    [
        lambda x, w: tg.mean(tg.tanh(x * w) ** 2),
        lambda x, w: tg.sum(x * w) ** 2 / x.shape[0],
        lambda x, w: tg.var(x * w) * (x.shape[0] / 3.5),
        lambda x, w: tg.sum(tg.exp(x * w) / x.shape[0]) ** 2 - tg.mean(x),
    ],
)
def test_numbers_that_are_computed_of_open_lengths_have_derivatives_of_second_order(loss: Callable[..., Any], shapes: Any) -> None:
    w = tg.Variable(tg.asarray(np.float32(1.5), backend="tensorflow"))
    f = tg.function(lambda x: (loss(x, w), x * 2.0), shapes=shapes)
    for n in (3, 4, 6):
        for a, b in zip(all_orders(f, data(n), w), all_orders(f.python_function, data(n), w), strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-4, atol=1e-6)
