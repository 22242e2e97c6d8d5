"""Ops that users declare with the public decorators."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DeclarationError, DTypeError, NotDifferentiable, ShapeError

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


# -- what a declaration refuses --------------------------------------------------------------------------------
def plain(xp: Any, x: Any, y_scale: Any) -> Any:
    """A body to declare."""
    return x


def test_unknown_and_left_out_names_are_refused() -> None:
    op = tg.linear(laws=HERE, public=False)(plain)
    with pytest.raises(DeclarationError, match=r"plain.adjoint: say what the derivative for x, y_scale is"):
        op.adjoint()
    with pytest.raises(DeclarationError, match=r"plain.adjoint\(z=...\): the arrays of plain are x, y_scale"):
        op.adjoint(x=lambda F, g: g, y_scale=tg.no_derivative, z=lambda F, g: g)
    with pytest.raises(DeclarationError, match=r"plain.adjoint\(x=...\): 'w' is none of"):
        op.adjoint(x=lambda F, g, w: g, y_scale=tg.no_derivative)
    with pytest.raises(DeclarationError, match=r"plain.adjoint\(x=...\): a rule begins with F, g"):
        op.adjoint(x=lambda g: g, y_scale=tg.no_derivative)
    with pytest.raises(DeclarationError, match="a rule is a function, got"):
        op.adjoint(x=np.sin, y_scale=tg.no_derivative)
    with pytest.raises(DeclarationError, match="plain is linear; this statement is for elementwise ops"):
        op.partials(x=1, y_scale=1)
    op.adjoint(x=lambda F, g: g, y_scale=tg.no_derivative)
    with pytest.raises(DeclarationError, match="its derivative was given before"):
        op.adjoint(x=lambda F, g: g, y_scale=tg.no_derivative)


def test_an_op_without_laws_is_refused() -> None:
    with pytest.raises(DeclarationError, match="plain: no laws can be drawn; say what its arguments look like"):
        tg.linear(plain)


def test_an_op_without_a_docstring_is_refused() -> None:
    def silent(xp: Any, x: Any) -> Any:
        return x

    with pytest.raises(DeclarationError, match="silent: an op needs a docstring"):
        tg.elementwise(silent)


def test_what_is_no_body_is_refused() -> None:
    with pytest.raises(DeclarationError, match="declared from a function"):
        tg.elementwise(np.sin)  # type: ignore[arg-type]

    def no_namespace(x: Any) -> Any:
        """x."""
        return x

    with pytest.raises(DeclarationError, match="the first argument of an op is its namespace"):
        tg.elementwise(no_namespace)

    def no_arrays(xp: Any) -> Any:
        """Nothing."""

    with pytest.raises(DeclarationError, match="at least one array"):
        tg.elementwise(no_arrays)


def test_a_users_op_does_not_take_the_place_of_tapegrads() -> None:
    @tg.elementwise
    def exp(xp: Any, x: Any) -> Any:
        """Not the exponential."""
        return x * 0

    exp.partials(x=0)
    assert float(tg.exp(tg.asarray(0.0))) == 1
    assert float(exp(tg.asarray(0.0))) == 0


# -- what rules and bodies may not give ------------------------------------------------------------------------
def wrong(kind: str, rule: Any) -> tuple[Any, Any]:
    """A function that asks for the derivative of an op with this rule, and the op."""
    statement = {"elementwise": "partials", "linear": "adjoint", "primitive": "pullback"}[kind]

    def faulty(xp: Any, x: Any, /) -> Any:
        """x."""
        return x * 1

    op = getattr(tg, kind)(laws=HERE, public=False)(faulty)
    getattr(op, statement)(x=rule)
    x = tg.asarray(np.asarray([1.5, 2.5], np.float32))
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = op(x)
    return lambda: tape.gradient(y, x), op


@pytest.mark.parametrize("kind", ["linear", "primitive"])
@pytest.mark.parametrize(
    ("rule", "error", "text"),
    [
        (lambda F, g: None, ArgumentError, "to return an array, got None.*declare x=no_derivative"),
        (lambda F, g: 1.5, ArgumentError, "to return an array, got float"),
        (lambda F, g: [1.5, 2.5], ArgumentError, "to return an array, got list"),
        (lambda F, g: g[:1], ShapeError, r"to return shape == \(2,\), the argument's; got \(1,\)"),
        (lambda F, g: F.sum(g), ShapeError, r"to return shape == \(2,\), the argument's; got \(\)"),
        (lambda F, g: g[None], ShapeError, r"to return shape == \(2,\), the argument's; got \(1, 2\)"),
        (lambda F, g: F.astype(g, np.dtype("float64")), DTypeError, "to return dtype == float32, the argument's; got float64"),
        (lambda F, g: tg.asarray(g), ArgumentError, "to return a raw array, got a Tensor"),
    ],
)
def test_a_rule_that_gives_no_cotangent_of_its_argument_is_refused(kind: str, rule: Any, error: Any, text: str) -> None:
    ask, _ = wrong(kind, rule)
    with pytest.raises(error, match="faulty: expected the derivative for x " + text) as caught:
        ask()
    assert caught.value.__notes__ == ["in the derivative of faulty"]


@pytest.mark.parametrize(
    ("rule", "error", "text"),
    [
        (lambda F: None, ArgumentError, "to return an array, got None"),
        (lambda F, x: x[:, None], ShapeError, r"to return a shape that broadcasts to the output's \(2,\), got \(2, 1\)"),
        (lambda F, x: F.concat([x, x]), ShapeError, r"to return a shape that broadcasts to the output's \(2,\), got \(4,\)"),
        (lambda F, x: F.astype(x, np.dtype("float64")), DTypeError, "to return dtype == float32, the argument's; got float64"),
    ],
)
def test_a_partial_that_does_not_fit_its_output_is_refused(rule: Any, error: Any, text: str) -> None:
    ask, op = wrong("elementwise", rule)
    with pytest.raises(error, match="faulty: expected the partial for x " + text):
        ask()
    x = tg.asarray([1.5, 2.5])
    with pytest.raises(error, match="faulty: expected the partial for x"), tg.ForwardAccumulator(x, x):
        op(x)


def test_a_pushforward_that_does_not_fit_its_output_is_refused() -> None:
    _, op = wrong("primitive", lambda F, g: g)
    op.pushforward(x=lambda F, t: t[:1])
    x = tg.asarray([1.5, 2.5])
    text = r"the pushforward for x to return shape == \(2,\), the output's; got \(1,\)"
    with pytest.raises(ShapeError, match=text), tg.ForwardAccumulator(x, x):
        op(x)


def test_a_rule_that_loses_its_own_derivative_is_refused_where_that_is_recorded() -> None:
    @tg.primitive(laws=HERE, public=False)
    def squared(xp: Any, x: Any, /) -> Any:
        """x squared."""
        return x * x

    squared.pullback(x=lambda F, g, x: 2 * np.asarray(getattr(x, "raw", x)) * np.asarray(getattr(g, "raw", g)))
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = squared(x)
    assert tape.gradient(y, x).tolist() == [3, 5]
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = squared(x)
        with pytest.raises(ArgumentError, match="its own derivative would be lost"):
            tape.gradient(y, x)


def test_a_rule_of_a_sequence_gives_one_cotangent_for_each() -> None:
    @tg.linear(variadic=True, laws=HERE, public=False)
    def total(xp: Any, xs: Any, /) -> Any:
        """The sum of all arrays."""
        return sum(xs[1:], xs[0])

    total.adjoint(xs=lambda F, g: [g])
    x = tg.asarray([1.5, 2.5])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = total([x, x])
    with pytest.raises(ArgumentError, match=r"total: expected the derivative for xs to return 2 arrays, .* got 1"):
        tape.gradient(y, x)


@pytest.mark.parametrize(
    ("result", "text"),
    [(None, "got NoneType"), (1.5, "got float"), ([1.5], "got list"), (tg.asarray(1.5), "a raw array, got a Tensor")],
    ids=["None", "float", "list", "Tensor"],
)
def test_a_body_that_gives_no_array_is_refused(result: Any, text: str) -> None:
    @tg.linear(laws=HERE, public=False)
    def faulty(xp: Any, x: Any, /) -> Any:
        """No array."""
        return result

    faulty.adjoint(x=lambda F, g: g)
    with pytest.raises(ArgumentError, match="faulty: expected its body to return .*" + text):
        faulty(tg.asarray(1.5))


def test_a_body_of_several_outputs_gives_all_of_them() -> None:
    @tg.primitive(laws=HERE, public=False, outputs=("first", "second"))
    def faulty(xp: Any, x: Any, /) -> Any:
        """Too little."""
        return (x,)

    faulty.pullback(x=lambda F, g: g[0])
    with pytest.raises(ArgumentError, match="expected its body to return a tuple of first, second, got a tuple of 1"):
        faulty(tg.asarray(1.5))


def test_an_error_in_a_body_names_the_op_and_what_it_was_given() -> None:
    @tg.linear(laws=HERE, public=False)
    def faulty(xp: Any, x: Any, /) -> Any:
        """Fails."""
        return x.reshape(7)

    faulty.adjoint(x=lambda F, g: g)
    with pytest.raises(ShapeError, match=r"faulty\(x\): cannot reshape .*\n  x: float32 \(2, 3\)") as caught:
        faulty(tg.ones((2, 3)))
    assert isinstance(caught.value.__cause__, ValueError)


def test_a_rules_own_name_and_line_show_in_the_traceback() -> None:
    def rule_of_mine(F: Any, g: Any) -> Any:
        raise ZeroDivisionError("here")

    ask, _ = wrong("linear", rule_of_mine)
    with pytest.raises(ZeroDivisionError, match="here") as caught:
        ask()
    assert any(entry.name == "rule_of_mine" and str(entry.path) == __file__ for entry in caught.traceback)
    assert caught.value.__notes__ == ["in the derivative of faulty"]


def test_an_op_is_not_called_before_its_derivative_is_given() -> None:
    @tg.elementwise(public=False)
    def unfinished(xp: Any, x: Any, /) -> Any:
        """The square."""
        return x * x

    x = tg.asarray(1.5)
    with pytest.raises(DeclarationError, match=r"unfinished: called before its derivative was given; write unfinished.partials"):
        unfinished(x)
    unfinished.partials(x=lambda F, x: 2 * x)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = unfinished(x)
    assert float(tape.gradient(y, x)) == 3


def test_an_op_has_the_docstring_of_its_body() -> None:
    @tg.elementwise(public=False)
    def documented(xp: Any, x: Any, /) -> Any:
        """The square."""
        return x * x

    assert documented.__doc__ == documented.entry.__doc__ == "The square."
