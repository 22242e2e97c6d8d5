import weakref
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import ArgumentError, DTypeError, ShapeError

X = np.asarray([0.4, -0.7, 1.2])
T = np.asarray([1.0, 0.5, -2.0])


def f(x: Any) -> Any:
    """A function of three numbers, whose derivatives are below."""
    return tg.sum(tg.exp(x) * tg.sin(x)) + x[0] * x[1] * x[2]


def gradient_of_f(x: np.ndarray) -> np.ndarray:
    return np.exp(x) * (np.sin(x) + np.cos(x)) + np.asarray([x[1] * x[2], x[0] * x[2], x[0] * x[1]])


def hessian_of_f(x: np.ndarray) -> np.ndarray:
    return np.diag(2 * np.exp(x) * np.cos(x)) + np.asarray([[0, x[2], x[1]], [x[2], 0, x[0]], [x[1], x[0], 0]])


@pytest.fixture
def x() -> tg.Tensor:
    return tg.asarray(X)


@pytest.fixture
def t() -> tg.Tensor:
    return tg.asarray(T)


# -- first order -----------------------------------------------------------------------------------------------
def test_jvp_is_the_product_of_jacobian_and_tangent(x: tg.Tensor, t: tg.Tensor) -> None:
    with tg.ForwardAccumulator(x, t) as acc:
        y = f(x)
    assert float(acc.jvp(y)) == pytest.approx(gradient_of_f(X) @ T)


def test_jvp_takes_structures_of_primals_and_outputs(x: tg.Tensor, t: tg.Tensor) -> None:
    v = tg.Variable(2.5)
    with tg.ForwardAccumulator({"x": x, "v": [v]}, {"x": t, "v": [10.0]}) as acc:
        y, z, c = tg.sum(x * x) * v, v**2, tg.asarray(1.5)
        found = acc.jvp({"y": y, "rest": (z, c, None)})
    assert float(found["y"]) == pytest.approx(2 * X @ T * 2.5 + (X @ X) * 10)
    assert [g if g is None else float(g) for g in found["rest"]] == [50, None, None]


def test_the_tangent_of_a_primal_is_the_one_given(x: tg.Tensor, t: tg.Tensor) -> None:
    v = tg.Variable(2.5)
    with tg.ForwardAccumulator([x, v], [t, 3.5]) as acc:
        pass
    with tg.GradientTape() as later:
        later.watch(x)
        v * 2
    assert acc.jvp(x).tolist() == T.tolist()
    assert float(acc.jvp(v)) == 3.5


def test_unconnected_outputs_are_none_or_zeros(x: tg.Tensor, t: tg.Tensor) -> None:
    with tg.ForwardAccumulator(x, t) as acc:
        whole, c = tg.argmax(x), tg.ones((2, 3))
    assert acc.jvp([whole, c]) == [None, None]
    zero, zeros = acc.jvp([whole, c], unconnected_gradients="zero")
    assert (zero.dtype, int(zero)) == (tg.int64, 0)
    assert (zeros.shape, zeros.dtype) == ((2, 3), tg.float32)
    with pytest.raises(ValueError, match="'none' or 'zero', got 'x'"):
        acc.jvp(c, unconnected_gradients="x")


def test_operations_outside_the_block_have_no_tangent(x: tg.Tensor, t: tg.Tensor) -> None:
    before = x * 2
    with tg.ForwardAccumulator(x, t) as acc:
        inside = x * 2
        from_before = before * 2
    after = inside * 2
    assert acc.jvp([before, from_before, after]) == [None] * 3
    assert acc.jvp(inside).tolist() == (2 * T).tolist()


def test_an_accumulator_can_be_entered_again(x: tg.Tensor, t: tg.Tensor) -> None:
    acc = tg.ForwardAccumulator(x, t)
    with acc:
        y = x * x
    with acc:
        z = y * x
        with pytest.raises(ValueError, match="active already"), acc:
            pass
        w = z * 2
    np.testing.assert_allclose(acc.jvp(w).numpy(), 6 * X**2 * T)


def test_a_variable_that_is_assigned_keeps_its_tangent() -> None:
    v = tg.Variable(2.0)
    with tg.ForwardAccumulator(v, tg.asarray(3.0)) as acc:
        y = v * v
        v.assign(5.0)
        z = v * v
    assert [float(g) for g in acc.jvp([y, z])] == [12, 30]


def test_several_outputs_and_slices_have_tangents(x: tg.Tensor, t: tg.Tensor) -> None:
    with tg.ForwardAccumulator(x, t) as acc:
        first, rest = tg.split(x, (1,))
        y = tg.concat([rest * rest, first, x[::2]])
    expected = np.concatenate([2 * X[1:] * T[1:], T[:1], T[::2]])
    np.testing.assert_allclose(acc.jvp(y).numpy(), expected)


def test_stop_gradient_and_no_grad_cut_tangents(x: tg.Tensor, t: tg.Tensor) -> None:
    with tg.ForwardAccumulator(x, t) as acc:
        y = tg.stop_gradient(x) * x
        with tg.no_grad():
            z = x * x
    assert acc.jvp(y).tolist() == (X * T).tolist()
    assert acc.jvp(z) is None


def test_complex_tangents() -> None:
    x, t = tg.asarray([1 + 2j]), tg.asarray([0.5 - 1j])
    with tg.ForwardAccumulator(x, t) as acc:
        y = x * x
        z = tg.abs(x) ** 2
    assert acc.jvp(y).tolist() == [2 * (1 + 2j) * (0.5 - 1j)]
    np.testing.assert_allclose(acc.jvp(z).numpy(), 2 * (1 * 0.5 + 2 * -1), rtol=1e-6)


def test_a_tangent_that_is_written_to_changes_nothing(x: tg.Tensor) -> None:
    t = tg.asarray(T.copy())
    with tg.ForwardAccumulator(x, t) as acc:
        t *= 100
        y = x * 1
        g = acc.jvp(y)
        g *= 100
        z = y * 1
    assert acc.jvp([y, z])[0].tolist() == T.tolist()
    assert acc.jvp(z).tolist() == T.tolist()


# -- what is refused -----------------------------------------------------------------------------------------
def test_tangents_that_do_not_fit_are_refused_and_nothing_is_watched(x: tg.Tensor, t: tg.Tensor) -> None:
    with pytest.raises(ShapeError, match=r"expected a tangent like its primal, float64 \(3,\), got float64 \(2,\)"):
        tg.ForwardAccumulator(x, t[:2])
    with pytest.raises(ShapeError, match=r"float64 \(3,\), got float32 \(3,\)"):
        tg.ForwardAccumulator(x, tg.astype(t, tg.float32))
    with pytest.raises(ShapeError, match="as many tangents as primals, got 1 and 2"):
        tg.ForwardAccumulator([x, tg.asarray(1.5)], [t])
    with pytest.raises(DTypeError, match="floating primals, got int64"):
        tg.ForwardAccumulator([x, tg.asarray(1)], [t, 1])
    with pytest.raises(ArgumentError, match="as primals, got float"):
        tg.ForwardAccumulator([x, 1.5], [t, 1.0])
    with pytest.raises(ArgumentError, match="among the primals twice"):
        tg.ForwardAccumulator([x, x], [t, t])
    assert x.node is None


def test_jvp_of_what_is_no_tensor_is_refused(x: tg.Tensor, t: tg.Tensor) -> None:
    acc = tg.ForwardAccumulator(x, t)
    for bad in (1.5, [x, X], "y"):
        with pytest.raises(ArgumentError, match=r"jvp\(primals\): expected Tensors or Variables, got"):
            acc.jvp(bad)


def test_an_accumulator_that_is_dropped_while_it_is_active_stops(x: tg.Tensor, t: tg.Tensor) -> None:
    acc = tg.ForwardAccumulator(x, t)
    acc.__enter__()
    del acc
    assert (x * x).node is None


# -- higher order --------------------------------------------------------------------------------------------
def test_nested_accumulators_give_second_directional_derivatives(x: tg.Tensor, t: tg.Tensor) -> None:
    u = tg.asarray(np.asarray([0.3, -1.0, 0.2]))
    with tg.ForwardAccumulator(x, t) as outer:
        with tg.ForwardAccumulator(x, u) as inner:
            y = f(x)
        first = inner.jvp(y)
    assert float(first) == pytest.approx(gradient_of_f(X) @ u.numpy())
    assert float(outer.jvp(first)) == pytest.approx(T @ hessian_of_f(X) @ u.numpy())
    assert float(outer.jvp(y)) == pytest.approx(gradient_of_f(X) @ T)


def test_a_tangent_of_the_outer_accumulator_is_a_constant_to_the_inner_one(x: tg.Tensor, t: tg.Tensor) -> None:
    with tg.ForwardAccumulator(x, t) as outer, tg.ForwardAccumulator(x, t) as inner:
        y = f(x)
    assert inner.jvp(outer.jvp(y)) is None


@pytest.mark.parametrize("made_first", ["outer", "inner"])
def test_the_order_of_entering_decides_which_accumulator_is_the_outer_one(
    x: tg.Tensor, t: tg.Tensor, made_first: str
) -> None:
    one, other = tg.ForwardAccumulator(x, t), tg.ForwardAccumulator(x, t)
    outer, inner = (one, other) if made_first == "outer" else (other, one)
    with outer, inner:
        y = f(x)
    assert float(outer.jvp(inner.jvp(y))) == pytest.approx(T @ hessian_of_f(X) @ T)
    assert inner.jvp(outer.jvp(y)) is None


def test_three_nested_accumulators_give_a_third_derivative() -> None:
    x, one = tg.asarray(np.float64(0.5)), tg.asarray(np.float64(1.0))
    with tg.ForwardAccumulator(x, one) as a, tg.ForwardAccumulator(x, one) as b, tg.ForwardAccumulator(x, one) as c:
        y = tg.exp(2 * x) * x
        d = c.jvp(y)
        dd = b.jvp(d)
    assert float(a.jvp(dd)) == pytest.approx(np.exp(1) * (8 * 0.5 + 12))


def test_forward_over_reverse_is_a_hessian_vector_product(x: tg.Tensor, t: tg.Tensor) -> None:
    with tg.ForwardAccumulator(x, t) as acc:
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = f(x)
        g = tape.gradient(y, x)
    np.testing.assert_allclose(acc.jvp(g).numpy(), hessian_of_f(X) @ T)


def test_reverse_over_forward_is_a_hessian_vector_product(x: tg.Tensor, t: tg.Tensor) -> None:
    with tg.GradientTape() as tape:
        tape.watch([x, t])
        with tg.ForwardAccumulator(x, t) as acc:
            y = f(x)
        d = acc.jvp(y)
    gx, gt = tape.gradient(d, [x, t])
    np.testing.assert_allclose(gx.numpy(), hessian_of_f(X) @ T)
    np.testing.assert_allclose(gt.numpy(), gradient_of_f(X))


def test_forward_over_reverse_over_variables() -> None:
    v = tg.Variable(X)
    with tg.ForwardAccumulator(v, tg.asarray(T)) as acc:
        with tg.GradientTape() as tape:
            y = f(v)
        g = tape.gradient(y, v)
    np.testing.assert_allclose(acc.jvp(g).numpy(), hessian_of_f(X) @ T)


def test_reverse_over_forward_over_forward_is_a_third_derivative() -> None:
    x, one = tg.asarray(np.float64(0.5)), tg.asarray(np.float64(1.0))
    with tg.GradientTape() as tape:
        tape.watch(x)
        with tg.ForwardAccumulator(x, one) as outer:
            with tg.ForwardAccumulator(x, one) as inner:
                y = tg.exp(2 * x) * x
            d = inner.jvp(y)
        dd = outer.jvp(d)
    assert float(tape.gradient(dd, x)) == pytest.approx(np.exp(1) * (8 * 0.5 + 12))


def test_a_tangent_that_depends_on_a_watched_value_is_recorded() -> None:
    x, s = tg.asarray(2.0), tg.asarray(3.0)
    with tg.GradientTape() as tape:
        tape.watch(s)
        with tg.ForwardAccumulator(x, s * s) as acc:
            y = x**3
        d = acc.jvp(y)
    assert float(d) == 108
    assert float(tape.gradient(d, s)) == 72


def test_accumulators_whose_tangents_were_primals_before_are_freed() -> None:
    x = tg.asarray([1.5, -0.5])
    seen = []
    for _ in range(5):
        acc = tg.ForwardAccumulator(x, x)
        seen.append(weakref.ref(acc._tangents))
        with acc:
            y = x * x
        assert np.array_equal(acc.jvp(y).numpy(), [4.5, 0.5])
        del acc, y
    assert [r() is None for r in seen[:3]] == [True] * 3
