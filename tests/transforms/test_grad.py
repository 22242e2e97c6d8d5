from __future__ import annotations

import threading
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DTypeError, ShapeError

X = tg.asarray(np.asarray([0.5, -1.5]))
Pair = namedtuple("Pair", "a b")


def cube(x: Any) -> Any:
    return tg.sum(x**3)


def test_structures_come_back_as_they_were() -> None:
    params = {"w": [X, None], "b": Pair(tg.asarray(2.0), X)}
    found = tg.grad(lambda p: tg.sum(p["w"][0] * p["b"].b) * p["b"].a)(params)
    assert isinstance(found["b"], Pair)
    assert found["w"][1] is None
    np.testing.assert_allclose(found["w"][0].numpy(), [1.0, -3.0])
    assert found["b"].a.item() == pytest.approx(2.5)


@pytest.mark.parametrize(("argnums", "expected"), [(0, 2.0), (1, 1.0), (-1, 1.0), (-2, 2.0)])
def test_one_argument_of_several(argnums: int, expected: float) -> None:
    assert tg.grad(lambda a, b: a * b, argnums)(1.0, 2.0).item() == expected


def test_several_arguments_give_a_tuple() -> None:
    a, b = tg.grad(lambda a, b: a * b, (-1, 0))(1.0, 2.0)
    assert (a.item(), b.item()) == (1.0, 2.0)
    (only,) = tg.grad(lambda a, b: a * b, (1,))(1.0, 2.0)
    assert only.item() == 1.0


def test_other_arguments_are_passed_as_they_are() -> None:
    seen = []

    def f(x: Any, how: str, *, flag: Any = None) -> Any:
        seen.append((how, flag))
        return cube(x)

    tg.grad(f)(X, "text", flag=X)
    assert seen[0][0] == "text"
    assert seen[0][1] is X


def test_the_same_tensor_as_two_arguments_is_two_arguments() -> None:
    a, b = tg.grad(lambda a, b: tg.sum(a * a * b), (0, 1))(X, X)
    np.testing.assert_allclose(a.numpy(), 2 * X.numpy() ** 2)
    np.testing.assert_allclose(b.numpy(), X.numpy() ** 2)


def test_a_variable_is_taken_at_its_value_and_recorded_by_outer_tapes() -> None:
    v = tg.Variable([0.5, 2.0])
    with tg.GradientTape() as tape:
        g = tg.grad(cube)(v)
    np.testing.assert_allclose(g.numpy(), 3 * v.numpy() ** 2)
    np.testing.assert_allclose(tape.gradient(g, v).numpy(), 6 * v.numpy())


def test_variables_that_the_function_reads_are_constants_to_it_and_not_to_a_tape() -> None:
    v = tg.Variable([0.5, 2.0])
    with tg.GradientTape() as tape:
        g = tg.grad(lambda x: tg.sum(x * x * v))(tg.asarray([1.0, 1.0]))
    np.testing.assert_allclose(tape.gradient(g, v).numpy(), [2, 2])


def test_aux_comes_along_and_is_recorded_by_outer_tapes() -> None:
    def f(x: Any) -> Any:
        h = x * x
        return tg.sum(h), {"h": h, "text": "as it is"}

    g, aux = tg.grad(f, has_aux=True)(X)
    np.testing.assert_allclose(g.numpy(), 2 * X.numpy())
    np.testing.assert_allclose(aux["h"].numpy(), X.numpy() ** 2)
    (y, aux), g = tg.value_and_grad(f, has_aux=True)(X)
    assert y.item() == pytest.approx(2.5)
    assert aux["text"] == "as it is"
    total = tg.grad(lambda x: tg.sum(tg.grad(f, has_aux=True)(x)[1]["h"] * x))(X)
    np.testing.assert_allclose(total.numpy(), 3 * X.numpy() ** 2)


@pytest.mark.parametrize("f", [lambda x: 2.5, lambda x: tg.asarray(2.5), lambda x: np.float64(2.5), lambda x: tg.stop_gradient(cube(x))])
def test_a_value_that_does_not_depend_on_the_argument_has_gradient_zero(f: Any) -> None:
    assert tg.grad(f)(X).tolist() == [0, 0]
    assert tg.grad(tg.grad(f))(1.0).item() == 0 if f(X) == 2.5 else True


def test_an_argument_that_is_returned_unchanged() -> None:
    assert tg.grad(lambda x: x)(1.5).item() == 1
    y, t = tg.jvp(lambda x: x, (X,), (X,))
    assert y.tolist() == t.tolist() == X.tolist()
    assert tg.vjp(lambda x: x, X)[1](X)[0].tolist() == X.tolist()
    assert tg.jacobian(lambda x: x)(X).tolist() == np.eye(2).tolist()


def test_a_sparse_gradient_comes_dense() -> None:
    table = tg.asarray(np.ones((4, 2)))
    found = tg.grad(lambda t: tg.sum(tg.nn.embedding(t, tg.asarray([1, 1]), sparse=True)))(table)
    assert type(found) is tg.Tensor
    assert found.tolist() == [[0, 0], [2, 2], [0, 0], [0, 0]]


def test_a_complex_argument_of_a_real_function() -> None:
    z = tg.asarray(1.5 + 2.0j)
    assert tg.grad(tg.abs)(z).numpy() == pytest.approx(0.6 + 0.8j)


def test_names_and_docstrings_are_those_of_the_function() -> None:
    def f(x: Any) -> Any:
        """What it is."""
        return cube(x)

    for made in (tg.grad(f), tg.value_and_grad(f), tg.vmap(f), tg.jacobian(f), tg.hessian(f), tg.checkpoint(f), tg.custom_jvp(f)):
        assert (made.__name__, made.__doc__) == ("f", "What it is.")


def test_methods_and_decorators() -> None:
    class Model:
        scale = 2.0

        @tg.checkpoint
        def loss(self, x: Any) -> Any:
            return self.scale * cube(x)

    model = Model()
    np.testing.assert_allclose(tg.grad(model.loss)(X).numpy(), 6 * X.numpy() ** 2)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: tg.grad(3.0), ArgumentError, r"grad\(f, ...\): expected a function, got float"),
        (lambda: tg.grad(cube, 1.5), ArgumentError, "expected an integer or a tuple of integers, got 1.5"),
        (lambda: tg.grad(cube, True), ArgumentError, "expected an integer or a tuple of integers, got True"),
        (lambda: tg.grad(cube, 1)(X), ArgumentError, r"grad\(cube, argnums=1\): expected -1 <= argnums < 1, .* 1 positional argument;"),
        (lambda: tg.grad(cube, -2)(X), ArgumentError, r"argnums=-2\): expected -1 <= argnums < 1"),
        (lambda: tg.grad(cube)(x=X), ArgumentError, "0 positional arguments; what is given by keyword is constant"),
        (lambda: tg.grad(cube, (0, -1))(X), ArgumentError, "an argument is there twice"),
        (lambda: tg.grad(cube, ())(X), ArgumentError, "at least one argument"),
        (lambda: tg.grad(cube)(3), DTypeError, "expected floating arguments, got int64; .* or a float such as 3.0"),
        (lambda: tg.grad(cube)({"w": X, "n": "text"}), ArgumentError, "got str 'text'; give it as another argument"),
        (lambda: tg.grad(lambda x: x)(X), ShapeError, r"to return a 0-d tensor, got shape \(2,\); take tapegrad.sum"),
        (lambda: tg.grad(tg.argmax)(X), DTypeError, "to return a floating value, got int64"),
        (lambda: tg.grad(lambda x: x * 1j)(1.0), DTypeError, "real value, got complex64; take tapegrad.real"),
        (lambda: tg.grad(lambda x: (cube(x), x))(X), ArgumentError, "got a tuple of 2; .* has_aux=True"),
        (lambda: tg.grad(lambda x: None)(X), ArgumentError, "a 0-d tensor, got NoneType"),
        (lambda: tg.grad(lambda x: (yield x))(X), ArgumentError, "got generator; it is a generator function"),
        (lambda: tg.grad(cube, has_aux=True)(X), ArgumentError, r"to return \(value, aux\), got Tensor"),
    ],
)
def test_what_does_not_fit_is_refused(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def raising(x: Any) -> Any:
    raise KeyError("from inside")


@pytest.mark.parametrize(
    "call",
    [
        lambda: tg.grad(raising)(X),
        lambda: tg.vjp(raising, X),
        lambda: tg.jvp(raising, (X,), (X,)),
        lambda: tg.hessian(raising)(X),
        lambda: tg.jacobian(raising, mode="forward")(X),
        lambda: tg.vmap(raising)(X),
        lambda: tg.grad(tg.vmap(tg.checkpoint(raising)))(X),
    ],
)
def test_an_exception_leaves_nothing_behind(call: Any) -> None:
    from tapegrad.core.recorder import state

    before = state.active, state.levels
    with pytest.raises(KeyError, match="from inside"):
        call()
    assert (state.active, state.levels) == before
    assert tg.grad(cube)(1.0).item() == 3


def test_a_generator_that_is_suspended_inside_a_tape_does_not_disturb_others() -> None:
    def values() -> Any:
        with tg.GradientTape() as tape:
            tape.watch(X)
            y = cube(X)
            yield tg.grad(cube)(X).tolist()
        yield tape.gradient(y, X).tolist()

    running = values()
    first = next(running)
    assert first == tg.grad(cube)(X).tolist() == (3 * X.numpy() ** 2).tolist()
    assert next(running) == first
    running.close()


def test_threads_do_not_see_each_other() -> None:
    found: dict[int, Any] = {}
    start = threading.Barrier(4)

    def work(k: int) -> None:
        start.wait()
        for _ in range(20):
            x = tg.asarray(np.asarray([[k + 1.0, 2.0], [0.5, k]]))
            found[k] = tg.vmap(tg.grad(tg.checkpoint(lambda v: tg.sum(v**3) * (k + 1))))(x).tolist()

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    for k in range(4):
        np.testing.assert_allclose(found[k], 3 * np.asarray([[k + 1.0, 2.0], [0.5, k]]) ** 2 * (k + 1))
