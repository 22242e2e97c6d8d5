"""Functions that are told the shapes of their inputs: one run of Python for all that fit, and for their derivative."""

import numpy as np
import pytest

import tapegrad as tg

pytestmark = pytest.mark.interop("tensorflow")


@pytest.fixture(autouse=True)
def on_tensorflow():
    from tapegrad.registry.backends import making_on

    with making_on("tensorflow"):
        yield


@pytest.mark.parametrize("jit", [False, True])
def test_python_runs_once_for_all_lengths_and_their_derivatives(jit):
    runs = []
    w = tg.Variable([1.0, 2.0, 3.0])

    @tg.function(jit_compile=jit, shapes=[(None,)])
    def f(x):
        runs.append(1)
        return tg.sum(tg.exp(x) * w * x)

    def both(g, x):
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = g(x)
        return [v.numpy() for v in (y, *tape.gradient(y, [x, w]))]

    for n in (3, 1, 3):  # one element is repeated for all of w
        x = tg.asarray(np.linspace(0.25, 0.75, n).astype(np.float32))
        compiled = both(f, x)
        assert len(runs) == 1
        expected = both(lambda x: tg.sum(tg.exp(x) * w * x), x)
        for a, b in zip(compiled, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_the_derivative_is_for_the_values_before_the_call():
    w = tg.Variable(2.0)

    @tg.function(shapes=[()])
    def f(x):
        y = x * w * w
        w.assign(10.0)
        return y

    x = tg.asarray(3.0)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    assert [g.item() for g in tape.gradient(y, [x, w])] == [4.0, 12.0]


def test_second_derivatives():
    @tg.function(shapes=[()])
    def cube(x):
        return x * x * x

    x = tg.asarray(2.0)
    with tg.GradientTape() as outer:
        outer.watch(x)
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = cube(x)
        g = tape.gradient(y, x)
    assert (g.item(), outer.gradient(g, x).item()) == (12.0, 12.0)


def test_what_nothing_depends_on_has_no_derivative():
    @tg.function(shapes=[(2,), (2,)])
    def f(x, z):
        return x * 2.0

    x, z = tg.asarray([1.0, 2.0]), tg.asarray([1.0, 2.0])
    with tg.GradientTape() as tape:
        tape.watch([x, z])
        y = f(x, z)
    gx, gz = tape.gradient(y, [x, z])
    assert gx.tolist() == [2.0, 2.0]
    assert gz is None


def test_random_numbers_cannot_be_drawn_again():
    @tg.function(shapes=[(2,)])
    def f(x):
        return x * tg.random.normal((2,))

    x = tg.asarray([1.0, 2.0])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = f(x)
    with pytest.raises(tg.errors.RandomnessError, match="draws random numbers"):
        tape.gradient(y, x)


@pytest.mark.parametrize("shape", [(2, 2), (4, 3)])
def test_another_shape_is_refused(shape):
    @tg.function(shapes=[(None, 2, 1)])
    def f(x):
        return x

    with pytest.raises(tg.errors.ShapeError, match="expected inputs of the shapes"):
        f(tg.asarray(np.zeros(shape)))
