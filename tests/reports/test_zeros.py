"""Points where a term of the derivative is infinite or a quotient is 0 / 0, though the derivative is known there."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tests.reports.derivatives import Function, array, gradient, gradients, hessian, hessian_forward, successive

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # values that are not chosen warn as NumPy's do
HESSIANS = pytest.mark.parametrize("second", [hessian, hessian_forward], ids=["reverse", "forward"])
near = np.testing.assert_allclose


# -- a branch that is not taken ----------------------------------------------------------------------------------
UNTAKEN = {
    "exp": (lambda x: tg.where(x > 0, 3 * x, tg.exp(x)), 2000.0, 3.0),
    "a power of an exp": (lambda x: tg.where(x < 20, x * x, 10.0 ** tg.exp(x)), 9.0, 18.0),
    "a power of two arrays": (lambda x: tg.where(x < 20, x * x, tg.pow(x, tg.exp(x))), 9.0, 18.0),
    "log of a negative number": (lambda x: tg.where(x < 0, -x, tg.log(x)), -2.0, -1.0),
    "a product": (lambda x: tg.where(x < 20, x * x, tg.exp(100 * x) * tg.exp(99 * x)), 9.0, 18.0),
    "a product of products": (lambda x: tg.where(x < 20, x * x, 1 / (tg.exp(100 * x) * tg.exp(99 * x))), 9.0, 18.0),
    "the sine of infinity": (lambda x: tg.where(x < 20, x * x, tg.sin(tg.exp(100 * x))), 9.0, 18.0),
    "what is not a number": (lambda x: tg.where(x < 20, x * x, tg.tanh(x * math.nan)), 9.0, 18.0),
    "a distance to what is missing": (lambda x: tg.where(x < 0, -x, tg.square(x - math.nan)), -2.0, -1.0),
    "a bound": (lambda x: x * x + tg.minimum(tg.exp(100 * x) * tg.exp(99 * x), 5.0), 9.0, 18.0),
    "clip": (lambda x: x * x + tg.clip(tg.exp(100 * x) * tg.exp(99 * x), None, 5.0), 9.0, 18.0),
    "a distance that is infinite": (lambda x: x * x + tg.clip(abs(tg.exp(100 * x) * tg.exp(99 * x)), None, 5.0), 9.0, 18.0),
}


@pytest.mark.parametrize("name", UNTAKEN)
def test_a_branch_that_overflows_and_is_not_taken_has_no_part_in_the_derivative(name: str) -> None:
    f, x, slope = UNTAKEN[name]
    assert gradient(f, x) == slope


@HESSIANS
@pytest.mark.parametrize("name", UNTAKEN)
def test_nor_in_the_second_derivative(name: str, second: Function) -> None:
    f, x, slope = UNTAKEN[name]
    assert second(f, x) == (2 if slope == 18 else 0)


def test_a_quotient_where_its_denominator_is_not_zero() -> None:
    a, b = gradients(lambda a, b: tg.where(b == 0, 0.0, a / b), [3.0, 3.0], [0.0, 4.0])
    near(a, [0, 0.25])
    near(b, [0, -3 / 16])


@HESSIANS
def test_a_quotient_where_its_denominator_is_not_zero_twice(second: Function) -> None:
    near(second(lambda v: tg.where(v == 0, 0.0, 1 / v), [0.0, 2.0]), [[0, 0], [0, 0.25]])


def test_angles_picked_by_a_mask_do_not_meet_the_origin_that_it_leaves_out() -> None:
    keep = np.array([True, False, True])
    found = gradient(lambda x: tg.atan2(array([1.0, 0.0, 0.0]), x)[keep], [3.0, 0.0, 5.0])
    near(found, [-0.1, 0, 0], rtol=1e-12)


ZERO_AFTER_INFINITE = {
    "a number": lambda x: tg.sqrt(x) * 0.0,
    "an array": lambda x: tg.sqrt(x) * array([0.0, 0.0]),
    "itself": lambda x: tg.square(tg.sqrt(x)),
    "a power": lambda x: tg.sqrt(x) ** 3,
    "a cosine": lambda x: tg.cos(tg.sqrt(x)),
    "an exponential": lambda x: tg.exp(tg.log(x)),
    "a branch": lambda x: tg.where(x > 0, tg.sqrt(x), 0.0) * 1.0,
}


@pytest.mark.parametrize("name", ZERO_AFTER_INFINITE)
def test_a_zero_after_an_infinite_derivative_stays_zero_in_both_modes(name: str) -> None:
    f, x = ZERO_AFTER_INFINITE[name], array([0.0, 0.0])
    assert gradient(f, x.numpy()).tolist() == [0, 0]
    assert tg.jvp(f, (x,), (tg.ones_like(x),))[1].tolist() == [0, 0]
    assert tg.vmap(lambda t: tg.jvp(f, (x,), (t,))[1])(tg.eye(2, dtype=tg.float64)).tolist() == [[0, 0], [0, 0]]
    twice = tg.grad(lambda x: tg.sum(tg.jvp(f, (x,), (tg.zeros_like(x),))[1]))(x)
    assert twice.tolist() == [0, 0]


# -- distances ---------------------------------------------------------------------------------------------------
NORMS = {
    "vector_norm": tg.linalg.vector_norm,
    "matrix_norm": lambda x: tg.linalg.matrix_norm(tg.reshape(x, (1, -1))),
    "vector_norm of an axis": lambda x: tg.linalg.vector_norm(x, axis=0),
    "vector_norm, ord 3": lambda x: tg.linalg.vector_norm(x, ord=3),
    "vector_norm, ord 1": lambda x: tg.linalg.vector_norm(x, ord=1),
    "hypot": lambda x: tg.hypot(x[0], x[1]),
    "std": tg.std,
}


@pytest.mark.parametrize("name", NORMS)
def test_a_norm_at_zero_has_a_gradient_of_zero(name: str) -> None:
    near(gradient(NORMS[name], [0.0, 0.0]), [0, 0], rtol=0, atol=0)


@HESSIANS
@pytest.mark.parametrize("name", NORMS)
def test_a_norm_at_zero_is_flat_to_second_order_too(name: str, second: Function) -> None:
    near(second(NORMS[name], [0.0, 0.0]), np.zeros((2, 2)), rtol=0, atol=0)


def test_rows_of_zeros_leave_the_other_rows_as_they_are() -> None:
    found = gradient(lambda x: tg.linalg.vector_norm(x, axis=1), [[0.0, 0.0], [6.0, 8.0]])
    near(found, [[0, 0], [0.6, 0.8]], rtol=1e-15)
    a, b = gradients(tg.hypot, [0.0, 5.0], [0.0, 12.0])
    near(a, [0, 5 / 13])
    near(b, [0, 12 / 13])


def test_norms_of_other_orders_with_elements_of_zero() -> None:
    near(gradient(lambda x: tg.linalg.vector_norm(x, ord=1), [0.0, -3.0]), [0, -1])
    near(gradient(lambda x: tg.linalg.vector_norm(x, ord=4), [0.0, -3.0]), [0, -1])
    near(gradient(lambda x: tg.linalg.vector_norm(x, ord=math.inf), [-3.0, 1.0, 3.0]), [-0.5, 0, 0.5])


def test_rows_scaled_to_a_sum_of_one_with_elements_of_zero() -> None:
    near(gradient(lambda x: tg.nn.normalize(x, p=1, axis=1), [[0.0, 0.25, 0.0]]), [[4, 0, 4]], atol=1e-12)


def test_std_where_one_row_has_equal_elements() -> None:
    found = gradient(lambda x: tg.std(x, axis=1), [[4.0, 4.0, 4.0], [0.0, 0.0, 6.0]])
    near(found, np.array([[0, 0, 0], [-1, -1, 2]]) / (3 * math.sqrt(2)), atol=1e-15)


def test_the_variance_of_one_element_is_nan_in_the_shape_of_the_array() -> None:
    found = gradient(lambda x: tg.var(x, correction=1), [[5.0]])
    assert found.shape == (1, 1)
    assert np.isnan(found).all()


# -- products ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("x", [[0.0, 4.0, 5.0], [0.0, 0.0, 5.0], [0.0, 0.0, 0.0], [2.0, 4.0, 5.0]], ids=str)
def test_the_derivatives_of_a_product_are_the_products_of_the_rest(x: list[float]) -> None:
    def rest(*left_out: int) -> float:
        return 0.0 if len(set(left_out)) < len(left_out) else math.prod(v for k, v in enumerate(x) if k not in left_out)

    near(gradient(tg.prod, x), [rest(i) for i in range(3)], rtol=1e-14)
    for second in (hessian, hessian_forward):
        near(second(tg.prod, x), [[rest(i, j) for j in range(3)] for i in range(3)], rtol=1e-14)


def _cumulated(x: Any, weight: Any, left_out: set[int]) -> float:
    """The derivative of sum(weight * cumulative products) for the elements that are left out."""
    return sum(
        w * math.prod(v for i, v in enumerate(x[: k + 1]) if i not in left_out)
        for k, w in enumerate(weight)
        if max(left_out) <= k
    )


@pytest.mark.parametrize("x", [[3.0, 0.0, 2.0, 5.0], [3.0, 0.0, 0.0, 5.0], [0.0, 0.0, 0.0, 5.0]], ids=str)
def test_cumulative_products_with_zeros_to_second_order(x: list[float]) -> None:
    weight = [1.0, 3.0, 7.0, 11.0]

    def f(v: Any) -> Any:
        return tg.cumulative_prod(v) * array(weight)

    near(gradient(f, x), [_cumulated(x, weight, {i}) for i in range(4)], rtol=1e-14)
    expected = [[_cumulated(x, weight, {i, j}) if i != j else 0 for j in range(4)] for i in range(4)]
    for second in (hessian, hessian_forward):
        near(second(f, x), expected, rtol=1e-14)


def test_cumulative_products_from_the_end_and_without_the_last() -> None:
    near(gradient(lambda x: tg.flip(tg.cumulative_prod(tg.flip(x))), [3.0, 0.0, 4.0]), [0, 16, 1])
    near(gradient(lambda x: tg.cumulative_prod(x, include_initial=True)[:-1], [0.0, 4.0, 5.0]), [5, 0, 0])


def test_a_product_along_an_axis_of_length_one_does_not_divide_by_its_element() -> None:
    near(gradient(lambda x: tg.prod(x, axis=0), [[0.0, 3.0]]), [[1, 1]])
    near(gradient(lambda x: tg.prod(x, axis=1), [[0.0, 3.0], [4.0, 0.0]]), [[3, 0], [0, 4]])


# -- powers, and functions that are continued at zero ---------------------------------------------------------------
@pytest.mark.parametrize("exponent", [2, 2.0, array(2.0)], ids=["int", "float", "array"])
def test_the_square_of_zero_to_third_order(exponent: Any) -> None:
    assert successive(lambda x: x**exponent, 0.0, 3) == [0, 2, 0]


def test_zero_to_a_power_that_is_learned() -> None:
    base, exponent = gradients(tg.pow, [0.0, 3.0], [1.0, 2.0])
    near(base, [1, 6])
    near(exponent, [0, 9 * math.log(3)])
    assert [g.tolist() for g in gradients(tg.pow, [0.0], [0.0])] == [[0], [0]]


def test_negative_bases_have_whole_powers_to_second_order() -> None:
    near(gradient(lambda x: x ** array([3.0, 2.0]), [-4.0, -5.0]), [48, -10])
    near(hessian(lambda x: x ** array([3.0, 2.0]), [-4.0, -5.0]), np.diag([-24, 2]))


def test_x_log_y_at_x_zero() -> None:
    x, y = gradients(tg.special.xlogy, [0.0, 3.0], [7.0, 7.0])
    near(x, [math.log(7)] * 2)
    near(y, [0, 3 / 7])


@HESSIANS
def test_the_mixed_second_derivative_of_x_log_y_at_x_zero(second: Function) -> None:
    near(second(lambda v: tg.special.xlogy(v[0], v[1]), [0.0, 0.25]), [[0, 4], [4, 0]])


@HESSIANS
def test_sinc_at_zero_is_as_curved_as_its_series(second: Function) -> None:
    assert gradient(tg.special.sinc, 0.0) == 0
    near(second(tg.special.sinc, 0.0), -math.pi**2 / 3, rtol=1e-14)


def test_the_angle_of_the_origin_has_a_gradient_of_zero() -> None:
    y, x = gradients(tg.atan2, [0.0, 2.0], [0.0, 2.0])
    near(y, [0, 0.25])
    near(x, [0, -0.25])


@HESSIANS
def test_the_angle_of_the_origin_is_flat_to_second_order_too(second: Function) -> None:
    near(second(lambda v: tg.atan2(v[0], v[1]), [0.0, 0.0]), np.zeros((2, 2)), rtol=0, atol=0)


def test_the_modulus_of_a_complex_zero() -> None:
    near(gradient(tg.abs, np.array([0j, 3 - 4j])), [0, 0.6 - 0.8j])


# -- matrices ----------------------------------------------------------------------------------------------------
def test_the_gradient_of_a_determinant_is_the_cofactors_of_a_singular_matrix() -> None:
    near(gradient(tg.linalg.det, [[3.0, 6.0], [1.0, 2.0]]), [[2, -1], [-6, 3]], atol=1e-12)
    near(gradient(tg.linalg.det, [[0.0]]), [[1]])
    near(gradient(tg.linalg.det, np.zeros((3, 3))), np.zeros((3, 3)))


@HESSIANS
@pytest.mark.parametrize("x", [[1.0, 0.0, 0.0, 1.0], [3.0, 6.0, 1.0, 2.0], [0.0] * 4], ids=["identity", "rank 1", "zero"])
def test_the_second_derivative_of_a_determinant_of_two_rows_is_the_same_everywhere(x: Any, second: Function) -> None:
    expected = [[0, 0, 0, 1], [0, 0, -1, 0], [0, -1, 0, 0], [1, 0, 0, 0]]
    near(second(lambda v: tg.linalg.det(tg.reshape(v, (2, 2))), x), expected, atol=1e-12)


def test_equal_eigenvalues_have_a_sum_whose_gradient_is_the_identity() -> None:
    near(gradient(tg.linalg.eigvalsh, 3 * np.eye(3)), np.eye(3), atol=1e-14)
