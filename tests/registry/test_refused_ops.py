"""Declarations, rules and bodies of a user's ops that are refused, and what the error says."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DeclarationError, DTypeError, ShapeError

HERE = "tested by hand, below"


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

    with pytest.raises(DeclarationError, match=r"the first argument of an op is its namespace; write def \w+\(xp, x\)"):
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
