"""Transforms of compiled functions, and compiled functions of transforms."""

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import BatchedValueError, GradientError, RandomnessError

pytestmark = pytest.mark.interop("tensorflow")


@pytest.fixture(params=[False, True], ids=["plain", "xla"])
def jit(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


def tensor(values: Any) -> tg.Tensor:
    return tg.asarray(np.asarray(values, np.float32), backend="tensorflow")


TRANSFORMS = {
    "grad": lambda f, x: tg.grad(lambda x: tg.sum(f(x)))(x),
    "third": lambda f, x: tg.grad(tg.grad(tg.grad(lambda x: tg.sum(f(x)))))(x[0]),
    "jvp": lambda f, x: tg.jvp(f, (x,), (tg.cos(x),))[1],
    "vjp": lambda f, x: tg.vjp(f, x)[1](tg.cos(x))[0],
    "jacobian": lambda f, x: tg.jacobian(f)(x),
    "hessian": lambda f, x: tg.hessian(lambda x: tg.sum(f(x)))(x),
    "vmap": lambda f, x: tg.vmap(f)(tg.stack([x, 2 * x, 3 * x])),
    "vmap of grad": lambda f, x: tg.vmap(tg.grad(lambda x: tg.sum(f(x))))(tg.stack([x, 2 * x, 3 * x])),
    "vmap of vmap": lambda f, x: tg.vmap(tg.vmap(f))(tg.stack([x, 2 * x, 3 * x])),
    "forward over reverse": lambda f, x: tg.jvp(tg.grad(lambda x: tg.sum(f(x))), (x,), (tg.cos(x),))[1],
    "checkpoint": lambda f, x: tg.grad(tg.checkpoint(lambda x: tg.sum(f(x) ** 2)))(x),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_transform_of_a_compiled_function(name: str, jit: bool) -> None:
    x = tensor([0.25, 0.5, 0.75])
    w = tg.Variable(tensor(1.5))
    f = tg.function(lambda x: tg.sin(x * w) * x * tg.sum(x), jit_compile=jit)
    found, expected = (TRANSFORMS[name](g, x) for g in (f, f.python_function))
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_compiled_function_of_a_transform(name: str, jit: bool) -> None:
    x = tensor([0.25, 0.5, 0.75])
    w = tg.Variable(tensor(1.5))
    f = tg.function(lambda x: TRANSFORMS[name](lambda x: tg.sin(x * w) * x * tg.sum(x), x), jit_compile=jit)
    np.testing.assert_allclose(f(x).numpy(), f.python_function(x).numpy(), rtol=2e-4, atol=1e-5)


def test_a_batch_beside_what_is_the_same_for_all_and_constants() -> None:
    f = tg.function(lambda x, y, k: {"a": x * y * k, "k": k, "none": None, "y": y})
    y = tensor([1.0, 2.0])

    def each(x: Any) -> Any:
        found = f(x, y, 3)
        assert (found["k"], found["none"]) == (3, None)
        return found["a"], found["y"]

    for n in (3, 2, 4):
        a, same = tg.vmap(each)(tensor(range(n)))
        np.testing.assert_array_equal(a.numpy(), 3 * np.outer(range(n), [1, 2]))
        np.testing.assert_array_equal(same.numpy(), [[1, 2]] * n)


def test_the_gradient_of_a_variable_through_a_batch() -> None:
    w = tg.Variable(tensor([1.0, 2.0]))
    f = tg.function(lambda x: tg.sum(w * x))
    x = tensor([[0, 1], [2, 3], [4, 5]])

    def gradient(f: Any) -> Any:
        with tg.GradientTape() as tape:
            y = tg.sum(tg.vmap(f)(x) ** 2)
        return tape.gradient(y, w)

    np.testing.assert_allclose(gradient(f).numpy(), gradient(f.python_function).numpy())


def test_random_numbers_in_a_batch_are_as_the_batch_says() -> None:
    f = tg.function(lambda x: x + tg.random.normal((2,)))
    x = tensor(np.zeros((3, 2)))
    same, different = (tg.vmap(f, randomness=r)(x).numpy() for r in ("same", "different"))
    assert (same == same[0]).all()
    assert len(np.unique(different)) == 6
    with pytest.raises(RandomnessError, match="does not say whether its 3 items share the numbers"):
        tg.vmap(f)(x)


@pytest.mark.parametrize("compiled", [False, True])
def test_a_variable_is_not_assigned_a_value_for_each_item(compiled: bool) -> None:
    v = tg.Variable(tensor(0.5))
    add: Any = v.assign_add
    with pytest.raises(BatchedValueError, match=r"assign_add\(value\): inside vmap.* assign it outside"):
        tg.vmap(tg.function(add) if compiled else add)(tensor([1.0, 2.0]))
    assert v.item() == 0.5


def test_a_tape_outside_learns_of_variables_as_they_are_used() -> None:
    v = tg.Variable(tensor(0.5))
    f = tg.function(lambda x: v * x)
    for _ in range(2):
        with tg.GradientTape() as tape:
            y = f(tensor(2.0))
        assert tape.watched_variables() == (v,)
        assert tape.gradient(y, v).item() == 2


def test_a_recorded_tensor_that_is_no_argument_is_refused() -> None:
    c = tensor([2.0])
    x = tensor([3.0])
    held = {"c": c}
    for f in (tg.function(lambda x: x * c), tg.function(lambda x: x * held["c"])):
        with tg.GradientTape() as tape:
            tape.watch(c)
            with pytest.raises(GradientError, match=r"none of its arguments.*make it a Variable, or write tapegrad.stop_gradient"):
                f(x)
        assert f(x).item() == 6
    traced = tg.function(lambda x: x * c)
    traced(x)
    with tg.GradientTape() as tape:
        tape.watch([c, x])
        with pytest.raises(GradientError, match="none of its arguments"):
            traced(x)

    def inside(x: tg.Tensor) -> tg.Tensor:
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = x * x * held["c"]
        found: tg.Tensor = tape.gradient(y, x)
        return found

    with tg.GradientTape() as tape:
        tape.watch(c)
        with pytest.raises(GradientError, match="none of its arguments"):
            tg.function(inside)(x)
    assert tg.function(inside)(x).item() == 12
