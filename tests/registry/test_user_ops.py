"""Ops that users declare with the public decorators."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import NotDifferentiable

X = np.asarray([0.4, -0.7, 1.2])
T = np.asarray([1.0, 0.5, -2.0])
HERE = "tested by hand, below"


# -- one of every kind ---------------------------------------------------------------------------------------
def softsign() -> Any:
    @tg.elementwise
    def softsign(xp: Any, x: Any) -> Any:
        """x / (1 + abs(x)) for each element."""
        return x / (1 + xp.abs(x))

    softsign.partials(x=lambda F, x: 1 / (1 + F.abs(x)) ** 2)
    return softsign, softsign


def hypotenuse() -> Any:
    @tg.elementwise
    def hypotenuse(xp: Any, a: Any, b: Any) -> Any:
        """The length of (a, b)."""
        return xp.sqrt(a * a + b * b)

    hypotenuse.partials(a=lambda F, y, a: a / y, b=lambda F, y, b: b / y)
    return hypotenuse, lambda x: hypotenuse(x, 2.5) * hypotenuse(x[0], x)


def difference() -> Any:
    @tg.linear(laws=lambda draw: (draw.array("n"),))
    def difference(xp: Any, x: Any, /) -> Any:
        """Each element less the one before it."""
        return x[1:] - x[:-1]

    difference.adjoint(
        x=lambda F, g: F.concat([-g[:1], g[:-1] - g[1:], g[-1:]]),
    )
    return difference, lambda x: difference(x) * difference(x * x)


def cyclic_product() -> Any:
    @tg.multilinear(laws=lambda draw: (draw.array("n"), draw.array("n")))
    def cyclic_product(xp: Any, a: Any, b: Any, /, *, shift: int = 1) -> Any:
        """a times b, moved round by `shift`."""
        return a * xp.roll(b, shift)

    cyclic_product.adjoint(
        a=lambda F, g, b, shift: g * F.roll(b, shift),
        b=lambda F, g, a, shift: F.roll(g * a, -shift),
    )
    return cyclic_product, lambda x: cyclic_product(x, x * x, shift=2) + cyclic_product(tg.asarray(T), x)


def normalised() -> Any:
    @tg.primitive(laws=lambda draw: (draw.array("n"),))
    def normalised(xp: Any, x: Any, /) -> Any:
        """x divided by its length."""
        return x / xp.sqrt(xp.sum(x * x))

    normalised.pullback(x=lambda F, g, x, y: (g - y * F.sum(g * y)) / F.sqrt(F.sum(x * x)))
    return normalised, lambda x: normalised(x * x)


def normalised_with_pushforward() -> Any:
    op, f = normalised()
    op.pushforward(x=lambda F, t, x, y: (t - y * F.sum(t * y)) / F.sqrt(F.sum(x * x)))
    return op, f


def polar() -> Any:
    @tg.primitive(laws=HERE, public=False, outputs=("length", "direction"))
    def polar(xp: Any, x: Any, /) -> Any:
        """Length and direction."""
        length = xp.sqrt(xp.sum(x * x))
        return length, x / length

    def pull(F: Any, g: Any, y: Any) -> Any:
        length, direction = y
        return g[0] * direction + (g[1] - direction * F.sum(g[1] * direction)) / length

    polar.pullback(x=pull)

    def f(x: Any) -> Any:
        length, direction = polar(x * x)
        return direction * length + direction[0] * length**2

    return polar, f


def stepped() -> Any:
    @tg.constant(laws=lambda draw: (draw.array("n"),))
    def stepped(xp: Any, x: Any, /) -> Any:
        """1 for a positive element, 0 for another."""
        return xp.astype(x > 0, x.dtype)

    return stepped, lambda x: stepped(x) * x * x


def gelu() -> Any:
    @tg.composite(laws=lambda draw: (draw.array("n"),))
    def gelu(F: Any, x: Any, /) -> Any:
        """x times the logistic function of 1.702 x."""
        return x / (1 + F.exp(-1.702 * x))

    return gelu, lambda x: gelu(x) * x


def joined() -> Any:
    @tg.linear(variadic=True, laws=HERE, public=False)
    def joined(xp: Any, xs: Any, /) -> Any:
        """The arrays one after the other, last first."""
        return xp.concat(xs[::-1])

    def pull(F: Any, g: Any, xs: Any) -> Any:
        ends = np.cumsum([0, *(x.shape[0] for x in xs[::-1])])
        return [g[a:b] for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)][::-1]

    joined.adjoint(xs=pull)
    return joined, lambda x: joined([x, x[:2] * x[1:], T]) ** 2


KINDS = [
    softsign,
    hypotenuse,
    difference,
    cyclic_product,
    normalised,
    normalised_with_pushforward,
    polar,
    stepped,
    gelu,
    joined,
]


def numeric_jacobian(f: Any, x: np.ndarray) -> np.ndarray:
    columns = []
    for k in range(x.size):
        step = 1e-5 * (np.arange(x.size) == k)
        columns.append((f(tg.asarray(x + step)).numpy() - f(tg.asarray(x - step)).numpy()) / 2e-5)
    return np.stack(columns, axis=-1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_users_op_has_derivatives_in_every_mode(kind: Any) -> None:
    _, f = kind()
    x, t = tg.asarray(X), tg.asarray(T)
    with tg.GradientTape(persistent=True) as outer, tg.ForwardAccumulator(x, t) as acc:
        outer.watch(x)
        with tg.GradientTape(persistent=True) as tape:
            tape.watch(x)
            y = f(x)
        g = tape.gradient(y, x)
        d = acc.jvp(y)
    expected = numeric_jacobian(f, X)
    tolerance = {"rtol": 1e-6, "atol": 1e-8}
    np.testing.assert_allclose(g.numpy(), expected.sum(0), **tolerance)
    np.testing.assert_allclose(d.numpy(), expected @ T, **tolerance)
    np.testing.assert_allclose(tape.gradient(y, x).numpy(), expected.sum(0), **tolerance)
    np.testing.assert_allclose(tape.jacobian(y, x).numpy(), expected, **tolerance)

    def slope(x: tg.Tensor) -> tg.Tensor:
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        return tape.gradient(y, x)

    hessian = numeric_jacobian(slope, X)
    np.testing.assert_allclose(outer.gradient(g, x).numpy(), hessian.sum(0), **tolerance)
    np.testing.assert_allclose(outer.gradient(d, x).numpy(), hessian @ T, **tolerance)
    np.testing.assert_allclose(acc.jvp(g).numpy(), hessian @ T, **tolerance)


def test_a_users_op_takes_variables_arrays_and_numbers() -> None:
    op, _ = hypotenuse()
    v = tg.Variable([3.0, 5.0])
    with tg.GradientTape() as tape:
        y = op(v, np.asarray([4.0, 12.0], np.float32))
    assert y.tolist() == [5, 13]
    np.testing.assert_allclose(tape.gradient(y, v).numpy(), [0.6, 5 / 13], rtol=1e-6)
    assert op(3.0, 4.0).dtype == tg.float32


def test_an_argument_without_a_derivative_is_a_constant() -> None:
    @tg.primitive(laws=HERE, public=False)
    def scaled(xp: Any, x: Any, scale: Any, /) -> Any:
        """x times scale."""
        return x * scale

    scaled.pullback(x=lambda F, g, scale: g * scale, scale=tg.no_derivative)
    x, s = tg.asarray([1.5]), tg.asarray([2.5])
    with tg.GradientTape() as tape:
        tape.watch([x, s])
        y = scaled(x, s)
    gx, gs = tape.gradient(y, [x, s])
    assert (gx.tolist(), gs) == ([2.5], None)


def test_a_derivative_that_nobody_has_written_is_refused_when_it_is_asked_for() -> None:
    @tg.elementwise
    def odd(xp: Any, a: Any, b: Any) -> Any:
        """a + b."""
        return a + b

    odd.partials(a=1, b=tg.not_implemented)
    a, b = tg.asarray([1.5]), tg.asarray([2.5])
    with tg.GradientTape(persistent=True) as tape:
        tape.watch([a, b])
        y = odd(a, b)
    assert tape.gradient(y, a).tolist() == [1]
    with pytest.raises(NotDifferentiable, match="odd: the derivative for b is not implemented"):
        tape.gradient(y, b)
    assert tape.gradient(y, a).tolist() == [1]
