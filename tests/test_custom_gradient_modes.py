"""custom_gradient to higher orders, in batches and in forward mode."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tests.custom_functions import gradient, log1pexp, sevenfold, sigmoid, square


# -- derivatives of derivatives -----------------------------------------------------------------------
def second(function: Any, value: float) -> tuple[Any, Any]:
    x = tg.asarray(value)
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as inner:
            inner.watch(x)
            y = function(x)
        first = inner.gradient(y, x)
    return first, outer.gradient(first, x)


def test_the_second_derivative_is_that_of_grad_fn() -> None:
    first, curvature = second(square, 0.5)
    assert (float(first), float(curvature)) == (1, 2)


def test_it_sees_what_grad_fn_takes_from_the_functions_body() -> None:
    first, curvature = second(log1pexp, 0.5)
    s = sigmoid(0.5)
    assert float(first) == pytest.approx(s, rel=1e-6)
    assert float(curvature) == pytest.approx(s * (1 - s), rel=1e-5)


def test_the_third_derivative_too() -> None:
    x = tg.asarray(np.float64(0.5))
    with tg.GradientTape() as tape:
        tape.watch(x)
        _, curvature = second_of(x)
    s = sigmoid(0.5)
    assert float(tape.gradient(curvature, x)) == pytest.approx(s * (1 - s) * (1 - 2 * s), rel=1e-12)


def second_of(x: tg.Tensor) -> tuple[Any, Any]:
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as inner:
            inner.watch(x)
            y = log1pexp(x)
        first = inner.gradient(y, x)
    return first, outer.gradient(first, x)


def test_grad_fn_may_have_a_custom_gradient_itself() -> None:
    @tg.custom_gradient
    def f(x: tg.Tensor) -> Any:
        @tg.custom_gradient
        def grad_fn(g: tg.Tensor, x: tg.Tensor) -> Any:
            return g * x * 2, lambda u: (u * 100, u * 1000)

        return x * x, lambda g: grad_fn(g, x)

    first, curvature = second(f, 3.0)
    assert (float(first), float(curvature)) == (6, 1000)


def test_an_outer_tape_sees_what_only_grad_fn_uses() -> None:
    strength = tg.asarray(3.0)

    @tg.custom_gradient
    def reversed_(x: tg.Tensor) -> Any:
        return x, lambda g: -strength * g

    x = tg.asarray(0.5)
    with tg.GradientTape() as outer:
        outer.watch(strength)
        with tg.GradientTape() as inner:
            inner.watch(x)
            y = 2 * reversed_(x)
        g = inner.gradient(y, x)
    assert float(g) == -6
    assert float(outer.gradient(g, strength)) == -2


def test_custom_gradients_nest() -> None:
    @tg.custom_gradient
    def outer(x: tg.Tensor) -> Any:
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = sevenfold(x)
        inner = tape.gradient(y, x)
        return y, lambda g: g * inner * 2

    (g,) = gradient(outer, 0.5)
    assert float(g) == 14


def test_one_persistent_tape_gives_several() -> None:
    x = tg.asarray(2.0)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = square(x)
        z = square(y)
    assert float(tape.gradient(y, x)) == 4
    assert float(tape.gradient(z, x)) == 32
    assert float(tape.gradient(y, x, output_gradients=tg.asarray(3.0))) == 12


# -- many at once, and forwards -------------------------------------------------------------------------
def test_a_jacobian_runs_grad_fn_once_on_all_rows() -> None:
    calls = []

    @tg.custom_gradient
    def f(x: tg.Tensor) -> Any:
        def grad_fn(g: tg.Tensor, unused: tg.Tensor) -> tg.Tensor:
            calls.append(g.shape)
            return g * 2 * x

        return (x * x, x * 1), grad_fn

    x = tg.asarray([1.5, -2.0, 0.5])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)[0]
    assert tape.jacobian(y, x).numpy().tolist() == np.diag([3.0, -4.0, 1.0]).tolist()
    assert calls == [(3,)]


def test_a_jacobian_of_a_jacobian() -> None:
    x = tg.asarray([1.5, -2.0])
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as inner:
            inner.watch(x)
            y = square(x) * x
        first = inner.jacobian(y, x)
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 0], expected[1, 1, 1] = 6 * 1.5, 6 * -2.0
    assert outer.jacobian(first, x).numpy().tolist() == expected.tolist()


def test_a_batch_meets_an_argument_that_is_the_same_for_all() -> None:
    @tg.custom_gradient
    def product(a: tg.Tensor, b: tg.Tensor) -> Any:
        return a * b, lambda g: (g * b, g * a)

    @tg.custom_gradient
    def cube(x: tg.Tensor) -> Any:
        return x**3, lambda g: product(g, 3 * x * x)

    x = tg.asarray([1.5, -2.0])
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as inner:
            inner.watch(x)
            y = cube(x)
        total = tg.sum(inner.jacobian(y, x) * tg.asarray([[1.0, 0.0], [0.0, 10.0]]))
    assert outer.gradient(total, x).numpy().tolist() == [6 * 1.5, 10 * 6 * -2.0]


def test_a_constant_gradient_in_a_batch_is_that_for_every_row() -> None:
    @tg.custom_gradient
    def f(x: tg.Tensor) -> Any:
        return x * 2, lambda g: tg.asarray([1.0, 2.0])

    x = tg.asarray([1.5, -2.0])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert tape.jacobian(y, x).numpy().tolist() == [[1, 2], [1, 2]]


def test_forward_mode_is_the_transpose_of_grad_fn() -> None:
    x = tg.asarray([0.5, -1.0])
    with tg.ForwardAccumulator(x, tg.asarray([1.0, 10.0])) as accumulator:
        y = sevenfold(x)
        z = log1pexp(x)
    assert accumulator.jvp(y).numpy().tolist() == [7, 70]
    np.testing.assert_allclose(accumulator.jvp(z).numpy(), [sigmoid(0.5), 10 * sigmoid(-1.0)], rtol=1e-6)


def test_forward_mode_with_several_arguments_and_values() -> None:
    @tg.custom_gradient
    def f(a: tg.Tensor, b: tg.Tensor, n: int) -> Any:
        return (a * b, a + b, tg.asarray(n)), lambda g, h, _: (2 * g + h, 3 * g, None)

    a, b = tg.asarray(0.5), tg.asarray(1.5)
    with tg.ForwardAccumulator([a, b], [tg.asarray(1.0), tg.asarray(10.0)]) as accumulator:
        y, z, _ = f(a, b, 4)
    assert float(accumulator.jvp(y)) == 2 + 30
    assert float(accumulator.jvp(z)) == 1


def test_forward_mode_where_the_gradient_is_none_or_does_not_depend_on_the_cotangent() -> None:
    @tg.custom_gradient
    def f(x: tg.Tensor) -> Any:
        return (x * 1, x * 1), lambda g, h: None

    x = tg.asarray(0.5)
    with tg.ForwardAccumulator(x, tg.asarray(1.0)) as accumulator:
        y, _ = f(x)
    assert float(accumulator.jvp(y)) == 0


@pytest.mark.parametrize("function", [square, log1pexp])
def test_forward_over_reverse_and_reverse_over_forward_agree(function: Any) -> None:
    x = tg.asarray(np.array([0.5, -1.0]))
    t = tg.asarray(np.array([1.0, 10.0]))
    with tg.ForwardAccumulator(x, t) as accumulator:
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = tg.sum(function(x) * x)
        first = tape.gradient(y, x)
    with tg.GradientTape() as tape:
        tape.watch(x)
        with tg.ForwardAccumulator(x, t) as inner:
            y = tg.sum(function(x) * x)
        directional = inner.jvp(y)
    expected = accumulator.jvp(first).numpy()
    np.testing.assert_allclose(tape.gradient(directional, x).numpy(), expected, rtol=1e-12)
    if function is square:
        np.testing.assert_allclose(expected, [6 * 0.5, 10 * 6 * -1.0], rtol=1e-12)
