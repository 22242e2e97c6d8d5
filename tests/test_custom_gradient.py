"""Functions whose derivative the user writes.  Where nothing else is said, TensorFlow 2.21 gives the same."""

import gc
import math
import weakref
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.core.recorder import state
from tapegrad.errors import ArgumentError, DTypeError, ShapeError
from tests.custom_functions import gradient, log1pexp, sevenfold, square


# -- first derivatives --------------------------------------------------------------------------------
def test_the_derivative_is_that_of_grad_fn() -> None:
    (g,) = gradient(sevenfold, [0.5, -2.0])
    assert g.numpy().tolist() == [7, 7]


def test_it_is_right_where_the_functions_own_is_not() -> None:
    with np.errstate(over="ignore"):
        (g,) = gradient(log1pexp, 100.0)
    assert float(g) == 1


def test_the_value_is_that_of_the_function_with_or_without_a_tape() -> None:
    x = tg.asarray(0.5)
    with tg.GradientTape() as tape:
        tape.watch(x)
        recorded = log1pexp(x)
    assert float(recorded) == float(log1pexp(x)) == pytest.approx(math.log(1 + math.exp(0.5)), rel=1e-6)


def test_a_value_that_is_an_argument_is_a_tensor_of_its_own() -> None:
    @tg.custom_gradient
    def reversed_(x: tg.Tensor) -> Any:
        return x, lambda g: -g

    (g,) = gradient(lambda x: 3 * reversed_(x), 0.5)
    assert float(g) == -3


def test_values_of_any_structure_give_their_cotangents_in_order() -> None:
    seen = []

    @tg.custom_gradient
    def several(x: tg.Tensor) -> Any:
        def grad_fn(*cotangents: tg.Tensor) -> tg.Tensor:
            seen.extend(float(c) for c in cotangents)
            return cotangents[0]

        return {"b": x * 1, "a": [x * 2, (x * 3,)]}, grad_fn

    gradient(lambda x: several(x)["b"] * 5 + several(x)["a"][1][0], 0.5)
    assert seen == [0, 1, 0, 0, 0, 5]  # keys are sorted, and the call that came last is differentiated first


def test_an_integer_among_the_values_gets_a_zero_of_its_dtype() -> None:
    seen = []

    @tg.custom_gradient
    def with_count(x: tg.Tensor) -> Any:
        def grad_fn(g: tg.Tensor, of_count: tg.Tensor) -> tg.Tensor:
            seen.append((float(of_count), of_count.dtype))
            return g

        return (x * 2, tg.asarray(3)), grad_fn

    gradient(lambda x: with_count(x)[0], 0.5)
    assert seen == [(0, tg.int64)]


def test_arguments_of_any_structure_give_their_gradients_in_order() -> None:
    @tg.custom_gradient
    def product(parts: dict[str, tg.Tensor], k: tg.Tensor) -> Any:
        return parts["a"] * parts["b"] * k, lambda g: ({"a": g, "b": 2 * g}, 3 * g)

    found = gradient(lambda a, b, k: product({"b": b, "a": a}, k), 0.5, 1.5, 2.5)
    assert [float(g) for g in found] == [1, 2, 3]


def test_integers_and_numbers_among_the_arguments_have_none() -> None:
    @tg.custom_gradient
    def picked(x: tg.Tensor, row: tg.Tensor, scale: float) -> Any:
        return x[row] * scale, lambda g: (tg.stack([0 * g, scale * g]), None, None)

    found = gradient(lambda x, row: picked(x, row, 0.5), [3.0, 4.0], 1)
    assert found[0].numpy().tolist() == [0, 0.5]
    assert found[1] is None


def test_what_is_neither_array_nor_number_is_not_counted() -> None:
    class Layer:
        @tg.custom_gradient
        def call(self, x: tg.Tensor, mode: str, mask: None) -> Any:
            return x * 1, lambda g: 5 * g

    (g,) = gradient(lambda x: Layer().call(x, "same", None), 0.5)
    assert float(g) == 5


def test_keyword_arguments_are_constants() -> None:
    @tg.custom_gradient
    def scaled(x: tg.Tensor, *, scale: tg.Tensor) -> Any:
        return x * scale, lambda g: g * 7

    found = gradient(lambda x, scale: scaled(x, scale=scale), 0.5, 1.5)
    assert float(found[0]) == 7
    assert found[1] is None


def test_tensors_from_outside_are_constants() -> None:
    outside = tg.asarray(5.0)

    @tg.custom_gradient
    def scaled(x: tg.Tensor) -> Any:
        return x * outside, lambda g: g * 7

    found = gradient(lambda x, _: scaled(x), 0.5, outside)
    assert float(found[0]) == 7
    assert found[1] is None


def test_tensors_from_outside_are_constants_where_no_argument_is_watched() -> None:
    """TensorFlow differentiates the function's own body then."""
    outside = tg.asarray(5.0)

    @tg.custom_gradient
    def scaled(x: tg.Tensor) -> Any:
        return x * outside, lambda g: g * 7

    x = tg.asarray(0.5)
    (g,) = gradient(lambda _: scaled(x), outside)
    assert g is None


def test_a_gradient_that_is_none_is_none() -> None:
    @tg.custom_gradient
    def product(a: tg.Tensor, b: tg.Tensor) -> Any:
        return a * b, lambda g: (None, g)

    found = gradient(product, 0.5, 1.5)
    assert found[0] is None
    assert float(found[1]) == 1


def test_a_python_number_is_a_gradient_of_the_arguments_dtype() -> None:
    @tg.custom_gradient
    def free(x: tg.Tensor) -> Any:
        return x * 2, lambda g: 0.0

    (g,) = gradient(free, np.float64(0.5))
    assert (float(g), g.dtype) == (0, tg.float64)


# -- variables ----------------------------------------------------------------------------------------
def test_variables_that_are_read_get_gradients_of_their_own() -> None:
    v, w = tg.Variable(2.0), tg.Variable(3.0)

    @tg.custom_gradient
    def linear(x: tg.Tensor) -> Any:
        y = w * x + v

        def grad_fn(g: tg.Tensor, variables: list[tg.Variable]) -> Any:
            assert variables[0] is w
            assert variables[1] is v
            return g * w, [10 * g, 20 * g]

        return y, grad_fn

    found = gradient(lambda x, *_: linear(x), 0.5, v, w)
    assert [float(g) for g in found] == [3, 20, 10]


def test_variables_reach_a_grad_fn_that_takes_any_keyword() -> None:
    w = tg.Variable(3.0)

    @tg.custom_gradient
    def linear(x: tg.Tensor) -> Any:
        return x * w, lambda g, **more: (g * w, [g * x for _ in more["variables"]])

    (g,) = gradient(linear, 0.5, of=[w])
    assert float(g) == 0.5


def test_variables_without_the_keyword_are_refused_with_what_to_write() -> None:
    w = tg.Variable(3.0, name="weight")

    @tg.custom_gradient
    def linear(x: tg.Tensor) -> Any:
        return x * w, lambda g: g * w

    with pytest.raises(ArgumentError, match=r"linear reads variables .*\('weight'\).*def grad_fn\(\*cotangents, variables\)"):
        gradient(linear, 0.5)


def test_variables_that_nobody_watches_are_constants() -> None:
    """TensorFlow asks for the keyword here too."""
    w = tg.Variable(3.0)

    @tg.custom_gradient
    def linear(x: tg.Tensor) -> Any:
        return x * w, lambda g: g * w

    x = tg.asarray(0.5)
    assert float(linear(x)) == 1.5
    with tg.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(x)
        y = linear(x)
    assert float(tape.gradient(y, x)) == 3


def test_a_variable_among_the_arguments_is_an_argument() -> None:
    w = tg.Variable(3.0)
    (g,) = gradient(square, w)
    assert float(g) == 6


def test_a_variable_that_does_not_train_is_a_constant() -> None:
    w = tg.Variable(3.0, trainable=False)

    @tg.custom_gradient
    def linear(x: tg.Tensor) -> Any:
        return x * w, lambda g: g * w

    (g,) = gradient(linear, 0.5)
    assert float(g) == 3


def test_a_variable_is_watched_on_as_if_the_function_had_not_read_it() -> None:
    w = tg.Variable(3.0)

    @tg.custom_gradient
    def linear(x: tg.Tensor) -> Any:
        return x * w, lambda g, variables: (g * w, [100 * g])

    x = tg.asarray(0.5)
    with tg.GradientTape() as tape:
        before = w * w
        y = linear(x)
        after = w * 5
        total = before + y + after
    assert tape.watched_variables() == (w,)
    assert float(tape.gradient(total, w)) == 6 + 100 + 5


# -- mistakes -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("given", [1.5, (1.5,), (1.5, 2.5), (1.5, abs, abs)])
def test_anything_but_value_and_grad_fn_is_refused(given: Any) -> None:
    @tg.custom_gradient
    def f(x: tg.Tensor) -> Any:
        return given

    with pytest.raises(ArgumentError, match=r"expected f to return \(value, grad_fn\), got "):
        f(tg.asarray(0.5))


@pytest.mark.parametrize(
    ("gradients", "error", "message"),
    [
        (lambda g: (g, g), ShapeError, r"grad_fn of f to return len\(gradients\) == 1, .*; got 2"),
        (lambda g: [], ShapeError, r"grad_fn of f to return len\(gradients\) == 1, .*; got 0"),
        (lambda g: tg.ones(3), ShapeError, r"grad_fn of f to return gradients\[0\].shape == \(2,\).*; got \(3,\)"),
        (lambda g: tg.ones(2, dtype=tg.float64), DTypeError, r"gradients\[0\].dtype == float32.*; got float64; write"),
        (lambda g: "text", ArgumentError, "str"),
    ],
)
def test_gradients_that_do_not_fit_are_refused(gradients: Any, error: type[Exception], message: str) -> None:
    """TensorFlow lets shapes and dtypes pass."""

    @tg.custom_gradient
    def f(x: tg.Tensor) -> Any:
        return x * 1, gradients

    with pytest.raises(error, match=message) as caught:
        gradient(f, [0.5, 1.5])
    assert caught.value.__notes__ == ["in the derivative of f"]
    x = tg.asarray([0.5, 1.5])
    with pytest.raises(error, match=message), tg.ForwardAccumulator(x, tg.ones(2)):
        f(x)


@pytest.mark.parametrize(
    ("gradients", "error", "message"),
    [
        (lambda g, variables: g, ArgumentError, r"\(gradients, gradients_of_variables\), as f reads variables; got Tensor"),
        (lambda g, variables: (g, []), ShapeError, r"len\(gradients_of_variables\) == 1, .*; got 0"),
        (lambda g, variables: (g, tg.ones(3)), ShapeError, r"gradients_of_variables\[0\].shape == \(\)"),
    ],
)
def test_gradients_of_variables_that_do_not_fit_are_refused(
    gradients: Any, error: type[Exception], message: str
) -> None:
    w = tg.Variable(1.5)

    @tg.custom_gradient
    def f(x: tg.Tensor) -> Any:
        return x * w, gradients

    with pytest.raises(error, match=message):
        gradient(f, 0.5)


def test_an_error_in_the_function_or_in_grad_fn_leaves_no_trace() -> None:
    class Mine(Exception):
        pass

    def fail(*_: Any) -> Any:
        raise Mine

    w = tg.Variable(1.5)

    @tg.custom_gradient
    def early(x: tg.Tensor) -> Any:
        return fail(x * w)

    @tg.custom_gradient
    def late(x: tg.Tensor) -> Any:
        return x * 1, fail

    with tg.GradientTape() as tape:
        active = state.active
        with pytest.raises(Mine):
            early(w)
        assert state.active is active
        y = w * w
    assert float(tape.gradient(y, w)) == 3
    with pytest.raises(Mine):
        gradient(late, 0.5)
    with pytest.raises(Mine), tg.ForwardAccumulator(w, tg.asarray(1.0)):
        late(w)
    assert state.active is type(state).active


# -- memory ---------------------------------------------------------------------------------------------
def test_what_grad_fn_holds_is_let_go_with_the_tape() -> None:
    class Held:
        pass

    held = Held()
    gone = weakref.ref(held)

    @tg.custom_gradient
    def f(x: tg.Tensor, held: Held) -> Any:
        return x * 1, lambda g: (held, g)[1]

    x = tg.asarray(0.5)
    gc.disable()
    try:
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = f(x, held)
        del held
        assert gone() is not None
        tape.gradient(y, x)
        assert gone() is None
    finally:
        gc.enable()


def test_the_function_keeps_its_name_and_docstring() -> None:
    assert sevenfold.__name__ == "sevenfold"
    assert (sevenfold.__doc__ or "").startswith("Its value, and seven")
