"""Points where a naive rule gives NaN, a wrong value or too many: zeros, infinities, ties, repeated picks, edges of dtypes."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.registry.op import OPS

if TYPE_CHECKING:
    from collections.abc import Callable

    Function = Callable[..., Any]

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # values at edges warn as NumPy's do
INF, NAN = math.inf, math.nan


def gradients(f: Function, *xs: Any, order: int = 1) -> list[Any]:
    """The gradient of sum(f(x)) for each argument, then that of its sum, up to an order; the last of them."""
    tensors = [
        tg.asarray(np.asarray(x, dtype=np.asarray(x).dtype if np.asarray(x).dtype.kind in "fc" else float)) for x in xs
    ]

    def at(n: int) -> list[Any]:
        if n == 0:
            return [tg.sum(f(*tensors))]
        with tg.GradientTape() as tape:
            tape.watch(tensors)
            targets = at(n - 1)
        return list(tape.gradient(targets, tensors, unconnected_gradients="zero"))

    return [g.numpy() for g in at(order)]


def gradient(f: Function, x: Any, order: int = 1) -> Any:
    return gradients(f, x, order=order)[0]


# -- a zero from upstream stays zero -------------------------------------------------------------------
SINGULAR = {
    "sqrt": (tg.sqrt, 0.0, 0.25),
    "log": (tg.log, 0.0, 0.5),
    "log2": (tg.log2, 0.0, 0.5),
    "log10": (tg.log10, 0.0, 0.5),
    "log1p": (tg.log1p, -1.0, 0.5),
    "reciprocal": (tg.reciprocal, 0.0, 2.0),
    "divide": (lambda x: 1.5 / x, 0.0, 2.0),
    "divide by an array": (lambda x: x / x, 0.0, 2.0),
    "pow 0.5": (lambda x: x**0.5, 0.0, 0.3),
    "pow -1": (lambda x: x**-1, 0.0, 0.3),
    "pow of an array": (lambda x: x ** tg.asarray(np.array([0.5, -1.5])), 0.0, 0.3),
    "asin": (tg.asin, 1.0, 0.3),
    "acos": (tg.acos, -1.0, 0.3),
    "acosh": (tg.acosh, 1.0, 1.5),
    "atanh": (tg.atanh, 1.0, 0.3),
    "log of a root": (lambda x: tg.log(tg.sqrt(x)), 0.0, 0.3),
}


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", SINGULAR)
def test_what_where_does_not_choose_has_a_gradient_of_zero(name: str, order: int) -> None:
    f, bad, good = SINGULAR[name]
    found = gradient(lambda x: tg.where(x != bad, f(x), 0.0), [bad, good], order)
    assert found[0] == 0
    alone = gradient(lambda x: f(tg.stack([x, x]))[1], good, order)
    assert found[1] == pytest.approx(alone, rel=1e-12)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", SINGULAR)
def test_what_is_multiplied_by_a_selected_zero_has_a_gradient_of_zero(name: str, order: int) -> None:
    f, bad, good = SINGULAR[name]
    assert gradient(lambda x: f(x)[1], [bad, good], order)[0] == 0


def test_a_nonzero_cotangent_meets_the_infinite_derivative() -> None:
    assert gradient(tg.sqrt, [0.0, 0.25]).tolist() == [INF, 1.0]


def test_division_by_a_python_zero_is_that_by_an_array_of_zeros() -> None:
    assert gradient(lambda x: x / 0, [1.5]).tolist() == [INF]
    assert gradient(lambda x: tg.where(x > 9, x / 0, x), [1.5]).tolist() == [1.0]


# -- powers --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("exponent", [2, 2.0])
@pytest.mark.parametrize(("order", "expected"), [(1, 0.0), (2, 2.0), (3, 0.0)])
def test_square_at_zero(exponent: float, order: int, expected: float) -> None:
    assert gradient(lambda x: x**exponent, 0.0, order) == expected


@pytest.mark.parametrize(("order", "expected"), [(1, 0.0), (2, 0.0), (3, 6.0)])
def test_cube_at_zero(order: int, expected: float) -> None:
    assert gradient(lambda x: x**3, 0.0, order) == expected


def test_a_power_of_zero_is_constant() -> None:
    assert gradient(lambda x: x**0, [0.0, -1.5]).tolist() == [0, 0]
    assert gradient(lambda x: x ** tg.asarray(np.zeros(2)), [0.0, -1.5]).tolist() == [0, 0]


def test_a_negative_base_has_integer_powers() -> None:
    base, exponent = gradients(lambda x, p: x**p, [-2.0], [3.0])
    assert base == pytest.approx([12.0])
    assert np.isnan(exponent).all()
    assert gradient(lambda x: x**3, [-2.0]) == pytest.approx([12.0])


def test_zero_to_a_power_does_not_change_with_the_power() -> None:
    assert gradients(lambda x, p: x**p, [0.0], [1.5])[1] == 0
    assert gradient(lambda p: 0.0**p, [1.5]) == 0


def test_the_mixed_derivative_at_exponent_zero() -> None:
    x, p = tg.asarray(np.array(1.7)), tg.asarray(np.array(0.0))
    with tg.GradientTape() as outer:
        outer.watch(p)
        with tg.GradientTape() as inner:
            inner.watch(x)
            y = x**p
        slope = inner.gradient(y, x)
    assert outer.gradient(slope, p).item() == pytest.approx(1 / 1.7)


# -- products with zeros ---------------------------------------------------------------------------------------
ZEROS = [[2.0, -3.0, 0.5, 4.0], [2.0, 0.0, 0.5, 4.0], [0.0, -3.0, 0.0, 4.0], [0.0, 0.0, 0.5, 0.0]]


def others(x: Any, *left_out: int) -> float:
    return math.prod(v for i, v in enumerate(x) if i not in left_out)


@pytest.mark.parametrize("x", ZEROS)
def test_prod_with_zeros(x: list[float]) -> None:
    n = range(len(x))
    assert gradient(tg.prod, x) == pytest.approx([others(x, i) for i in n], abs=0)
    second = [sum(others(x, i, j) for j in n if j != i) for i in n]
    assert gradient(tg.prod, x, 2) == pytest.approx(second, abs=0)


@pytest.mark.parametrize("x", ZEROS)
def test_cumulative_prod_with_zeros(x: list[float]) -> None:
    n = len(x)
    heads = [x[: k + 1] for k in range(n)]
    first = [sum(others(h, i) for h in heads if i < len(h)) for i in range(n)]
    assert gradient(tg.cumulative_prod, x) == pytest.approx(first, abs=0)
    second = [sum(others(h, i, j) for h in heads for j in range(len(h)) if i < len(h) and i != j) for i in range(n)]
    assert gradient(tg.cumulative_prod, x, 2) == pytest.approx(second, abs=0)


def test_an_infinite_factor_reaches_those_alone_that_it_multiplies() -> None:
    assert gradient(tg.cumulative_prod, [INF, 1.0, 2.0]).tolist() == [4, INF, INF]
    assert gradient(tg.cumulative_prod, [3.0, 1.0, INF])[1:].tolist() == [INF, 3]
    assert gradient(tg.cumulative_prod, [1.5, 2.0, NAN])[2] == 3


# -- tips ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("f", [tg.std, lambda x: tg.std(x, axis=0), tg.abs], ids=["std", "std over an axis", "abs"])
def test_the_gradient_at_a_tip_is_zero(f: Function, order: int) -> None:
    assert (gradient(f, np.zeros((3, 2)), order) == 0).all()


@pytest.mark.parametrize("f", [tg.hypot, tg.atan2])
def test_the_gradient_at_the_origin_of_the_plane_is_zero(f: Function) -> None:
    assert gradients(f, [0.0, 3.0], [0.0, 4.0])[0][0] == 0
    assert gradients(f, [0.0, 3.0], [0.0, 4.0])[1][0] == 0


def test_hypot_does_not_overflow() -> None:
    assert gradients(tg.hypot, [3e200], [4e200]) == [pytest.approx([0.6]), pytest.approx([0.8])]


@pytest.mark.parametrize(("f", "expected"), [(tg.nn.relu, 0), (lambda x: tg.clip(x, 0, 1), 1), (tg.sign, 0)])
def test_the_documented_value_at_a_corner(f: Function, expected: float) -> None:
    assert gradient(f, 0.0) == expected


def test_the_direction_of_an_infinite_point_is_the_limit() -> None:
    half = math.sqrt(0.5)
    for x, expected in (([INF, 2.0], [1, 0]), ([-1e300, -INF], [0, -1]), ([-INF, INF], [-half, half])):
        assert [float(g) for g in gradients(tg.hypot, *x)] == expected
        assert [float(g) for g in gradients(tg.atan2, *x)] == [0, 0]
        assert [float(g) for g in gradients(tg.hypot, *x, order=2)] == [0, 0]


@pytest.mark.parametrize(("dtype", "x"), [(np.float16, 300.0), (np.float32, 1e25), (np.float64, -1e200)])
def test_the_slope_of_the_inverse_hyperbolic_sine_does_not_vanish_early(dtype: Any, x: float) -> None:
    found = gradient(tg.asinh, np.array([x], dtype))
    assert found.dtype == dtype
    assert float(found[0]) == pytest.approx(1 / abs(x), rel=2e-3)
    assert gradient(tg.asinh, [INF, -INF], 2).tolist() == [0, 0]


def test_what_is_left_of_large_numbers_is_exact() -> None:
    x, y = np.array([1e160, -1e17, 7.5, -7.5, 3.0, -0.0]), np.array([0.7, 3.0, -2.0, 2.0, INF, 1.0])
    fmod = OPS["fmod"].entry
    found = fmod(tg.asarray(x), tg.asarray(y)).numpy()
    np.testing.assert_array_equal(found, np.fmod(x, y))
    assert np.signbit(found[-1])
    dx, dy = gradients(fmod, x, y)
    assert dx.tolist() == [1] * 6
    assert dy[2:].tolist() == [3, 3, 0, 0]


def test_nan_is_not_shrunk_to_zero() -> None:
    for f in (tg.nn.hardshrink, tg.nn.softshrink, tg.nn.tanhshrink):
        assert np.isnan(f(tg.asarray([NAN, 0.0])).numpy()).tolist() == [True, False]


def test_the_inverse_of_the_logistic_function_has_no_slope_where_it_has_no_value() -> None:
    assert np.isnan(gradient(tg.special.logit, [-0.5, 1.5])).all()
    assert gradient(tg.special.logit, [0.0, 1.0]).tolist() == [INF, INF]


# -- the softmax family -------------------------------------------------------------------------------------------
ROWS = [[-INF, -INF, -INF], [1.5, -INF, 0.5], [800.0, 799.0, -800.0]]


def softmax(row: Any) -> Any:
    e = np.exp(np.asarray(row) - max(row))
    return e / e.sum()


def test_a_row_of_minus_infinity() -> None:
    assert tg.nn.logsumexp(tg.asarray(ROWS), axis=1).tolist()[0] == -INF
    assert tg.nn.softmax(tg.asarray(ROWS)).tolist()[0] == [0, 0, 0]
    assert tg.nn.log_softmax(tg.asarray(ROWS)).tolist()[0] == [-INF] * 3


@pytest.mark.parametrize("f", [tg.nn.logsumexp, tg.nn.softmax, tg.nn.log_softmax])
@pytest.mark.parametrize("order", [1, 2])
def test_a_row_of_minus_infinity_has_a_gradient_of_zero(f: Function, order: int) -> None:
    rows = np.array(ROWS)

    def chosen(x: Any) -> Any:
        y = f(x, axis=1)
        return tg.where(tg.isfinite(y), y, 0.0)

    found = gradient(chosen, rows, order)
    assert np.isfinite(found).all()
    assert (found[0] == 0).all()


def test_the_gradient_of_logsumexp_is_softmax_with_infinities_too() -> None:
    found = gradient(lambda x: tg.nn.logsumexp(x, axis=1), np.array(ROWS))
    assert found[0].tolist() == [0, 0, 0]
    assert found[1] == pytest.approx(softmax(ROWS[1]))
    assert found[2] == pytest.approx(softmax(ROWS[2]))


def test_plus_infinity_is_the_sum() -> None:
    assert tg.nn.logsumexp(tg.asarray([INF, 1.0])).item() == INF
    assert gradients(tg.logaddexp, [INF, -INF], [1.0, -INF])[0].tolist() == [1.0, 0.5]


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.float16])
def test_infinities_share_the_derivative_of_logsumexp(dtype: Any) -> None:
    rows = np.array([[INF, 0.5, 800.0], [INF, INF, 1.0], [INF, -INF, 1.0], [-INF, -INF, -INF], [1.0, -INF, 1.0]], dtype)
    expected = [[1, 0, 0], [0.5, 0.5, 0], [1, 0, 0], [0, 0, 0], [0.5, 0, 0.5]]
    weights = tg.asarray(np.array([2.0, -3.0, 0.5], dtype))

    def slopes(x: Any) -> Any:
        return weights * tg.grad(lambda x: tg.sum(tg.nn.logsumexp(x, axis=1)))(x)

    def total(x: Any) -> Any:
        return tg.sum(slopes(x))

    x = tg.asarray(rows)
    assert gradient(lambda x: tg.nn.logsumexp(x, axis=1), rows).tolist() == expected
    assert tg.jvp(lambda x: tg.nn.logsumexp(x, axis=1), (x,), (tg.ones_like(x),))[1].tolist() == [1, 1, 1, 0, 1]
    second = tg.grad(total)(x).numpy()
    assert not second[[0, 2, 3]].any()
    np.testing.assert_allclose(second[4], [0.375, 0, -0.375], rtol=1e-3)


def test_two_infinities_share_alike_in_logaddexp_and_logsumexp() -> None:
    for x in itertools.product([INF, -INF, 1.5], repeat=2):
        if x == (-INF, -INF):
            continue  # the masked row, over which logsumexp is constant
        alone = gradient(tg.nn.logsumexp, x)
        np.testing.assert_array_equal(np.stack(gradients(tg.logaddexp, *x)), alone)


def test_a_masked_logit_that_is_not_wanted_costs_nothing() -> None:
    f = OPS["binary_cross_entropy_with_logits"].entry
    x, target = [-INF, 0.5, -INF], tg.asarray(np.array([0.0, 1.0, 0.25]))
    loss = f(tg.asarray(np.array(x)), target, reduction="none").numpy()
    assert loss.tolist() == [0, pytest.approx(math.log1p(math.exp(-0.5))), INF]
    for order in (1, 2):
        assert gradient(lambda x: f(x, target, reduction="none"), x, order)[0] == 0


def test_a_row_with_infinity_has_no_softmax() -> None:
    for f in (tg.nn.softmax, tg.nn.log_softmax):
        assert np.isnan(gradient(f, [INF, 0.5, 1.0])).all()


# -- ties and repeated picks ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("f", [tg.max, tg.min])
def test_equal_extremes_share_the_derivative(f: Function) -> None:
    assert gradient(f, [2.5, 2.5, 2.5, 2.5]).tolist() == [0.25] * 4
    assert gradient(lambda x: f(x, axis=1), [[1.0, 1.0], [7.0, 7.0]]).tolist() == [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize("f", [tg.maximum, tg.minimum])
def test_two_equal_elements_share_the_derivative(f: Function) -> None:
    assert [g.tolist() for g in gradients(f, [1.5, 0.0], [1.5, 0.0])] == [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize("descending", [False, True])
def test_equal_elements_keep_their_order_in_a_sort(descending: bool) -> None:
    weights = tg.asarray(np.array([1.0, 2.0, 4.0]))
    found = gradient(lambda x: weights * tg.sort(x, descending=descending), [0.5, 0.5, 0.5])
    assert found.tolist() == [1, 2, 4]


@pytest.mark.parametrize(
    "index",
    [[0, 2, 0, -3], (np.array([0, 0]),), np.array([[0, 0], [2, 0]], np.int8), (np.array([0, -3, 1], np.int16), ...)],
)
def test_an_element_that_is_picked_again_counts_again(index: Any) -> None:
    expected = np.zeros(3)
    np.add.at(expected, np.asarray(index[0] if isinstance(index, tuple) else index), 1.0)
    assert gradient(lambda x: x[index], [1.5, 2.5, 3.5]).tolist() == expected.tolist()


def test_picks_through_two_arrays_are_added_up() -> None:
    rows, columns = np.array([0, 0, 1]), np.array([1, -1, 0])
    assert gradient(lambda x: x[rows, columns], np.ones((2, 2))).tolist() == [[0, 2], [1, 0]]


def test_take_from_the_flattened_array() -> None:
    found = gradient(lambda x: tg.take(x, tg.asarray([5, 0, -1])), np.ones((2, 3)))
    assert found.tolist() == [[1, 0, 0], [0, 0, 2]]


# -- dtypes, sizes, memory ------------------------------------------------------------------------------------------
def test_half_precision_adds_up_many_numbers() -> None:
    x = tg.asarray(np.full(100_000, 0.5, np.float16))
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.sum(x)
    g = tape.gradient(y, x)
    assert y.dtype == g.dtype == tg.float16
    assert y.item() == pytest.approx(50_000, rel=1e-3)
    assert (g.numpy() == 1).all()


def test_the_mean_of_many_half_precision_numbers() -> None:
    assert tg.mean(tg.asarray(np.full(100_000, 0.1, np.float16))).item() == pytest.approx(0.1, rel=2e-3)


def test_half_precision_bias_gradients_are_added_up_in_single_precision() -> None:
    b = tg.asarray(np.zeros(2, np.float16))
    with tg.GradientTape() as tape:
        tape.watch(b)
        y = tg.asarray(np.full((20_000, 2), 1, np.float16)) + b
    g = tape.gradient(y, b, output_gradients=tg.asarray(np.full((20_000, 2), 0.1, np.float16)))
    assert g.numpy() == pytest.approx(np.full(2, 2000), rel=2e-3)


def test_new_arrays_are_float32() -> None:
    made = [tg.zeros((2,)), tg.ones(2), tg.full((2,), 1.5), tg.linspace(0, 1, 3), tg.arange(3.0), tg.eye(2)]
    assert {x.dtype for x in made} == {tg.float32}
    assert tg.arange(3).dtype == tg.full((2,), 1).dtype == tg.int64


def test_products_of_bfloat16_stay_bfloat16() -> None:
    x = tg.asarray(np.ones((2, 2)), dtype=tg.bfloat16)
    assert tg.matmul(x, x).dtype == tg.bfloat16


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("f", [tg.sum, tg.prod, tg.mean, tg.nn.logsumexp])
def test_nothing_has_a_gradient_of_its_own_shape(f: Function, keepdims: bool) -> None:
    assert gradient(lambda x: f(x, axis=0, keepdims=keepdims), np.zeros((0, 3))).shape == (0, 3)
    assert gradient(f, np.zeros((0, 3))).shape == (0, 3)


def test_the_largest_of_nothing_is_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"max\(x\): .*no identity"):
        tg.max(tg.zeros((0,)))


@pytest.mark.parametrize("f", [tg.sum, tg.prod, tg.max, tg.std, tg.nn.logsumexp, tg.abs, tg.cumulative_sum])
def test_zero_dimensions(f: Function) -> None:
    x = np.array(1.5)
    if f is tg.cumulative_sum:
        x = x.reshape(1)
    assert gradient(f, x) == (0 if f is tg.std else 1)


def test_views_with_negative_strides_and_read_only_memory() -> None:
    base = np.arange(12.0).reshape(3, 4)
    base.flags.writeable = False
    views = [base[::-1], base[:, ::-2], base.T, np.broadcast_to(base[0], (3, 4))]
    for x, f in itertools.product(views, (tg.cumulative_sum, lambda x, axis: tg.sort(x, axis=axis) ** 2)):
        expected = gradient(lambda x, f=f: f(x, axis=1), x.copy())
        assert gradient(lambda x, f=f: f(x, axis=1), x).tolist() == expected.tolist()


def test_a_bound_that_is_left_out() -> None:
    x = tg.asarray([-2.0, 0.5, 2.0])
    assert tg.clip(x, None, 1.0).tolist() == [-2, 0.5, 1]
    assert tg.clip(x, -1.0).tolist() == tg.clip(x, min=-1.0).tolist() == [-1, 0.5, 2]
    assert gradient(lambda x: tg.clip(x, max=1.0), [-2.0, 2.0]).tolist() == [1, 0]


def test_solve_with_one_vector_for_many_matrices() -> None:
    a = np.stack([2 * np.eye(2), 4 * np.eye(2)])
    assert gradients(tg.linalg.solve, a, [1.0, 3.0])[1].tolist() == [0.75, 0.75]


@pytest.mark.parametrize("columns", [(3, 2), (3,)])
def test_missing_rows_whose_product_is_not_chosen_stay_out_of_the_gradient_of_a_matrix(columns: tuple[int, ...]) -> None:
    x = np.arange(12.0).reshape(4, 3)
    x[1], x[3, 0] = np.nan, np.inf
    kept = np.array([True, False, True, False])
    chosen = kept[:, None] if len(columns) == 2 else kept

    def masked(w: Any) -> Any:
        with np.errstate(invalid="ignore"):
            return tg.sum(tg.where(chosen, (x @ w) ** 2, 0.0))

    def alone(w: Any) -> Any:
        return tg.sum((x[kept] @ w) ** 2)

    w = tg.asarray(np.cos(np.arange(np.prod(columns))).reshape(columns))
    np.testing.assert_allclose(tg.grad(masked)(w).numpy(), tg.grad(alone)(w).numpy())
    np.testing.assert_allclose(tg.jacobian(masked, mode="forward")(w).numpy(), tg.grad(alone)(w).numpy())
    for vectorized in (True, False):
        second = tg.jacobian(tg.grad(masked), vectorized=vectorized)(w).numpy()
        np.testing.assert_allclose(second, tg.hessian(alone)(w).numpy())


def test_missing_rows_stay_out_of_the_gradient_of_a_layer() -> None:
    x = np.arange(12.0).reshape(2, 2, 3)
    x[1, 0] = np.nan
    w, b = tg.asarray(np.ones((3, 2))), tg.asarray(np.ones(2))
    with np.errstate(invalid="ignore"):
        for f in (lambda w: tg.nn.linear(x, w, b), lambda w: OPS["dense"].entry(x, w.T, b)):
            g = tg.grad(lambda w: tg.sum(tg.where(np.isfinite(x[..., :1]), f(w), 0.0)))(w)  # noqa: B023
            np.testing.assert_allclose(g.numpy(), np.repeat(np.nansum(x, axis=(0, 1))[:, None], 2, axis=1))


def test_missing_rows_that_are_chosen_are_seen() -> None:
    x = np.array([[1.0, np.nan], [2.0, 3.0]])
    with np.errstate(invalid="ignore"):
        g = tg.grad(lambda w: tg.sum(tg.where(w[0] < 9, x @ w, 0.0)))(tg.asarray(np.ones(2)))
    np.testing.assert_array_equal(g.numpy(), [3.0, np.nan])
