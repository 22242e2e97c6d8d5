"""Transforms compose in any order: whatever computes the same alone does so inside and around all others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tapegrad as tg

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[[Any], Any]

SIZE = 3
CLOSED_OVER = tg.asarray(np.asarray([0.3, -1.2, 0.7]))
MATRIX = np.asarray([[0.5, -0.2, 0.1], [0.3, 0.8, -0.6], [-0.4, 0.2, 0.9]])
SCALES = (1.0, -0.5, 0.25)


# -- programs: vectors to vectors of the same size -------------------------------------------------------
def elementwise(x: Any) -> Any:
    return tg.sin(x) * x + tg.tanh(x * CLOSED_OVER)


def mixed(x: Any) -> Any:
    return tg.asarray(MATRIX) @ tg.tanh(x) + x[::-1] * x


def reducing(x: Any) -> Any:
    return tg.nn.softmax(x) * tg.sum(x * x) + tg.logsumexp(x)


def branching(x: Any) -> Any:
    return tg.where(x > 0.1, x**3, tg.exp(x) - x)


def gathering(x: Any) -> Any:
    y = tg.take(x, tg.asarray([2, 0, 0])) * x
    return tg.concat([y[1:], y[:1]]) + tg.cumulative_sum(x) * y[tg.argmax(x)]


PROGRAMS = [elementwise, mixed, reducing, branching, gathering]


# -- ways to the same thing ------------------------------------------------------------------------------
def total(f: Function) -> Function:
    return lambda x: tg.sum(f(x) * SCALED)


SCALED = tg.asarray(np.asarray([1.0, 2.0, -0.5]))


def by_tape(f: Function) -> Function:
    def gradient(x: Any) -> Any:
        x = x + 0.0
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = total(f)(x)
        return tape.gradient(y, x)

    return gradient


def by_accumulator(f: Function) -> Function:
    def change(x: Any) -> Any:
        x = x + 0.0
        with tg.ForwardAccumulator(x, direction(x)) as accumulator:
            y = f(x)
        return accumulator.jvp(y, unconnected_gradients="zero")

    return change


def direction(x: Any) -> Any:
    return tg.stop_gradient(tg.asarray(np.asarray([0.5, 1.0, -2.0])))


def by_two_pullbacks(f: Function) -> Function:
    def change(x: Any) -> Any:
        _, pullback = tg.vjp(f, x)
        return tg.vjp(lambda g: pullback(g)[0], tg.zeros_like(x))[1](direction(x))[0]

    return change


def items(x: Any) -> Any:
    return tg.stack([x * s for s in SCALES])


def by_loop(f: Function) -> Function:
    return lambda x: sum((f(x * s) for s in SCALES[1:]), f(x * SCALES[0]))


WAYS: dict[str, list[Callable[[Function], Function]]] = {
    "gradient": [
        lambda f: tg.grad(total(f)),
        lambda f: lambda x: tg.value_and_grad(total(f))(x)[1],
        lambda f: lambda x: tg.vjp(f, x)[1](SCALED)[0],
        lambda f: lambda x: SCALED @ tg.jacobian(f, mode="reverse")(x),
        lambda f: lambda x: SCALED @ tg.jacobian(f, mode="forward")(x),
        lambda f: tg.jacobian(total(f)),
        lambda f: tg.grad(total(tg.checkpoint(f))),
        by_tape,
    ],
    "change": [
        lambda f: lambda x: tg.jvp(f, (x,), (direction(x),))[1],
        lambda f: lambda x: tg.linearize(f, x)[1](direction(x)),
        lambda f: lambda x: tg.jacobian(f, mode="reverse")(x) @ direction(x),
        lambda f: lambda x: tg.jacobian(f, mode="forward", vectorized=False)(x) @ direction(x),
        lambda f: lambda x: tg.jvp(tg.checkpoint(f), (x,), (direction(x),))[1],
        by_accumulator,
        by_two_pullbacks,
    ],
    "batch": [
        by_loop,
        lambda f: lambda x: tg.sum(tg.vmap(f)(items(x)), axis=0),
        lambda f: lambda x: tg.sum(tg.vmap(f, in_axes=1, out_axes=-1)(items(x).mT), axis=-1),
        lambda f: lambda x: tg.sum(tg.vmap(lambda s: f(x * s))(tg.asarray(np.asarray(SCALES))), axis=0),
        lambda f: lambda x: tg.sum(tg.vmap(lambda s, x: f(x * s), (0, None))(tg.asarray(np.asarray(SCALES)), x), axis=0),
        lambda f: lambda x: tg.sum(tg.vmap(tg.vmap(f))(items(x)[None])[0], axis=0),
        lambda f: lambda x: tg.sum(tg.vmap(tg.checkpoint(f))(items(x)), axis=0),
    ],
}
KINDS = sorted(WAYS)
POINT = np.asarray([0.4, -0.9, 1.3])

stacks = st.lists(st.sampled_from(KINDS), min_size=1, max_size=3)


def applied(program: Function, stack: list[str], choices: list[int]) -> np.ndarray:
    f = program
    for kind, k in zip(stack, choices, strict=True):
        ways = WAYS[kind]
        f = ways[k % len(ways)](f)
    found: np.ndarray = f(tg.asarray(POINT)).numpy()
    return found


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", KINDS)
def test_every_way_alone(kind: str, program: Function) -> None:
    first = applied(program, [kind], [0])
    for k in range(1, len(WAYS[kind])):
        np.testing.assert_allclose(applied(program, [kind], [k]), first, rtol=1e-10, atol=1e-12, err_msg=f"{kind} {k}")


@settings(max_examples=3 * settings().max_examples)
@given(st.sampled_from(PROGRAMS), stacks, st.lists(st.integers(0, 55), min_size=6, max_size=6))
def test_whatever_computes_the_same_does_so_in_every_stack(program: Function, stack: list[str], choices: list[int]) -> None:
    a = applied(program, stack, choices[: len(stack)])
    b = applied(program, stack, choices[3 : 3 + len(stack)])
    np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9 * max(1, np.abs(b).max()))


@pytest.mark.interop("jax")
@settings(max_examples=-(-settings().max_examples // 4))
@given(stacks, st.lists(st.integers(0, 55), min_size=3, max_size=3))
def test_stacks_of_transforms_are_those_of_jax(stack: list[str], choices: list[int]) -> None:
    import jax
    import jax.numpy as jnp

    scaled, toward = jnp.asarray(SCALED.numpy()), jnp.asarray([0.5, 1.0, -2.0])
    theirs: dict[str, Callable[[Function], Function]] = {
        "gradient": lambda f: jax.grad(lambda x: jnp.sum(f(x) * scaled)),
        "change": lambda f: lambda x: jax.jvp(f, (x,), (toward,))[1],
        "batch": lambda f: lambda x: jnp.sum(jax.vmap(f)(jnp.stack([x * s for s in SCALES])), axis=0),
    }
    with jax.enable_x64(True):
        scaled, toward = jnp.asarray(SCALED.numpy()), jnp.asarray(np.asarray([0.5, 1.0, -2.0]))
        f: Function = lambda x: jnp.asarray(MATRIX) @ jnp.tanh(x) + x[::-1] * x  # noqa: E731
        for kind in stack:
            f = theirs[kind](f)
        expected = np.asarray(f(jnp.asarray(POINT)))
    np.testing.assert_allclose(applied(mixed, stack, choices[: len(stack)]), expected, rtol=1e-8, atol=1e-9)


def test_an_inner_derivative_does_not_see_the_outer_ones_direction() -> None:
    # d/dx (x * d/dy (x + y)) = 1: an inner derivative that took the outer tangent for its own would give 2
    x = tg.asarray(np.float64(1.5))

    def confused(x: Any) -> Any:
        return x * tg.jvp(lambda y: x + y, (tg.asarray(np.float64(1.0)),), (tg.asarray(np.float64(1.0)),))[1]

    assert tg.jvp(confused, (x,), (tg.ones_like(x),))[1].item() == 1
    assert tg.grad(confused)(x).item() == 1
    nested = tg.grad(lambda x: x * tg.grad(lambda y: x * y * y)(x))
    assert nested(x).item() == pytest.approx(6 * 1.5**2)


def test_tensors_of_an_outer_transform_that_a_function_closes_over() -> None:
    x = tg.asarray(np.asarray([0.5, -1.0]))

    def outer(a: Any) -> Any:
        inner = tg.grad(lambda b: tg.sum(tg.sin(a * b)))
        return tg.sum(inner(a * 2.0) * a)

    def by_hand(a: Any) -> Any:
        return tg.sum(tg.cos(a * (a * 2.0)) * a * a)

    np.testing.assert_allclose(tg.grad(outer)(x).numpy(), tg.grad(by_hand)(x).numpy(), rtol=1e-12)
    np.testing.assert_allclose(tg.hessian(outer)(x).numpy(), tg.hessian(by_hand)(x).numpy(), rtol=1e-12)
    np.testing.assert_allclose(
        tg.jvp(outer, (x,), (tg.ones_like(x),))[1].numpy(), tg.jvp(by_hand, (x,), (tg.ones_like(x),))[1].numpy()
    )
