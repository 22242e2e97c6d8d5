"""Infinite entries, far tails and half precision: what overflows or cancels on the way, though the result does not."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tests.reports.derivatives import Function, array, gradient, gradients, hessian, hessian_forward, successive

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # inf - inf warns as NumPy's does
INF = math.inf
HESSIANS = pytest.mark.parametrize("second", [hessian, hessian_forward], ids=["reverse", "forward"])
near = np.testing.assert_allclose


# -- tails -------------------------------------------------------------------------------------------------------
def _bell(x: float) -> float:
    """The derivative of the logistic function."""
    return math.exp(-abs(x)) / (1 + math.exp(-abs(x))) ** 2


@HESSIANS
@pytest.mark.parametrize("x", [-300.0, -40.0, -3.0, 0.0, 3.0, 40.0, 300.0])
def test_the_curvature_of_log_sigmoid_and_softplus_keeps_its_digits_on_both_sides(x: float, second: Function) -> None:
    near(second(tg.nn.logsigmoid, x), -_bell(x), rtol=1e-14)
    near(second(tg.special.log_sigmoid, x), -_bell(x), rtol=1e-14)
    near(second(tg.nn.softplus, x), _bell(x), rtol=1e-14)
    near(second(lambda v: tg.logaddexp(v, 0.0), x), _bell(x), rtol=1e-14)
    near(gradient(tg.special.expit, x), _bell(x), rtol=1e-14)


@HESSIANS
@pytest.mark.parametrize("x", [2.0, 20.0, 37.0, 40.0, 1e4, 1e300])
def test_the_logarithm_of_a_probability_near_one_is_flat_to_second_order(x: float, second: Function) -> None:
    size = min(x, 1e3)
    slope = math.exp(-0.5 * size**2) / math.sqrt(2 * math.pi) / (1 - 0.5 * math.erfc(size / math.sqrt(2)))
    near(gradient(tg.special.log_ndtr, x), slope, rtol=1e-12, atol=1e-300)
    near(second(tg.special.log_ndtr, x), -slope * (size + slope), rtol=1e-12, atol=1e-300)


@HESSIANS
@pytest.mark.parametrize("x", [-3e3, -1e5, -1e8])
def test_the_logarithm_of_a_small_probability_is_a_parabola(x: float, second: Function) -> None:
    near(gradient(tg.special.log_ndtr, x), -x - 1 / x + 2 / x**3, rtol=1e-14)
    near(second(tg.special.log_ndtr, x), -1 + x**-2 - 6 * x**-4, rtol=1e-14)


@pytest.mark.parametrize("x", [-700.0, -40.0, -3.0, 0.0, 5.0])
def test_the_derivatives_of_expm1_keep_their_digits(x: float) -> None:
    near(successive(tg.expm1, x, 3), [math.exp(x)] * 3, rtol=1e-15)


@HESSIANS
@pytest.mark.parametrize("x", [0.0, 1e-300, 1e-9, 0.3, 1 - 1e-9])
def test_the_curvature_of_an_arc_keeps_its_digits_near_zero_and_near_one(x: float, second: Function) -> None:
    less = (1 - x) * (1 + x)
    near(second(tg.asin, x), x / less**1.5, rtol=1e-14)
    near(second(tg.acos, -x), x / less**1.5, rtol=1e-14)
    near(second(tg.atanh, x), 2 * x / less**2, rtol=1e-14)


@HESSIANS
@pytest.mark.parametrize("x", [1e-300, 1e-30, 1e-9, 0.25, 1 - 1e-9])
def test_the_curvature_of_a_logit_is_infinite_only_where_it_has_no_number(x: float, second: Function) -> None:
    near(gradient(tg.special.logit, x), 1 / x + 1 / (1 - x), rtol=1e-14)
    near(second(tg.special.logit, x), -math.inf if x < 1e-160 else (1 - x) ** -2 - x**-2, rtol=1e-14)


@HESSIANS
@pytest.mark.parametrize("x", [1e-30, -1e-9, 1e-3, 0.5, -4.0])
def test_what_tanh_takes_off_is_flat_near_zero_with_all_digits(x: float, second: Function) -> None:
    near(gradient(tg.nn.tanhshrink, x), math.tanh(x) ** 2, rtol=1e-14)
    near(second(tg.nn.tanhshrink, x), 2 * math.tanh(x) * (1 - math.tanh(x) ** 2), rtol=1e-12)


@HESSIANS
def test_the_curvature_of_the_loss_of_a_logit_keeps_its_digits(second: Function) -> None:
    x = [-50.0, 50.0, 2.0]

    def f(v: Any) -> Any:
        return tg.nn.binary_cross_entropy_with_logits(v, array([0.0, 1.0, 0.5]), reduction="sum")

    near(second(f, x), np.diag([_bell(v) for v in x]), rtol=1e-13)


def test_a_saturated_logit_has_a_gradient_of_exactly_zero_or_one() -> None:
    def f(v: Any) -> Any:
        return tg.nn.binary_cross_entropy_with_logits(v, array([0.0, 1.0]), reduction="sum")

    assert gradient(f, [-1e5, 1e5]).tolist() == [0, 0]
    assert gradient(f, [1e5, -1e5]).tolist() == [1, -1]
    assert gradient(tg.nn.softplus, [-1e5, 0.0, 1e5]).tolist() == [0, 0.5, 1]


@HESSIANS
def test_binary_cross_entropy_of_probabilities_to_second_order(second: Function) -> None:
    p, t = np.array([0.3, 0.6, 0.9]), np.array([0.0, 1.0, 0.25])
    expected = np.diag(t / p**2 + (1 - t) / (1 - p) ** 2)
    near(second(lambda v: tg.nn.binary_cross_entropy(v, array(t), reduction="sum"), p), expected, rtol=1e-13)


# -- large and small, and on which side of a cut ----------------------------------------------------------------------
@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e-20, 1e200, 1e300])
def test_an_angle_turns_with_the_inverse_of_its_distance_however_large_or_small(size: float) -> None:
    y, x = gradients(tg.atan2, [3 * size, 0.0], [4 * size, -size])
    near(y, [0.16 / size, -1 / size], rtol=1e-14)
    near(x, [-0.12 / size, 0], rtol=1e-14)


BESIDE = [complex(a, b) for a in (-2.5, 2.5) for b in (0.0, -0.0)] + [complex(a, b) for a in (0.0, -0.0) for b in (-1.5, 1.5)]
SLOPES: dict[str, Any] = {  # from the value, which is on the right side
    "asin": lambda y: 1 / np.cos(y),
    "acos": lambda y: -1 / np.sin(y),
    "asinh": lambda y: 1 / np.cosh(y),
    "acosh": lambda y: 1 / np.sinh(y),
    "atanh": lambda y: np.cosh(y) ** 2,
    "sqrt": lambda y: 0.5 / y,
    "log": lambda y: np.exp(-y),
}


@pytest.mark.parametrize("name", SLOPES)
def test_on_a_cut_the_derivative_is_of_the_side_of_the_value(name: str) -> None:
    f, z = getattr(tg, name), array(BESIDE)
    wanted = SLOPES[name](f(z).numpy())
    near(tg.jvp(f, (z,), (tg.ones_like(z),))[1].numpy(), wanted, rtol=1e-13, atol=1e-13)
    near(gradient(lambda z: tg.real(f(z)), BESIDE), np.conj(wanted), rtol=1e-13, atol=1e-13)


# -- minus infinity ----------------------------------------------------------------------------------------------
def test_the_log_of_a_sum_of_nothing_passes_a_zero_on() -> None:
    a, b, c = gradients(lambda a, b, c: tg.logaddexp(tg.logaddexp(a, b), c), -INF, -INF, 3.0)
    assert (a, b, c) == (0, 0, 1)


@HESSIANS
def test_and_is_flat_to_second_order(second: Function) -> None:
    found = second(lambda v: tg.logaddexp(tg.logaddexp(v[0], v[1]), v[2]), [-INF, -INF, 3.0])
    near(found, np.zeros((3, 3)), rtol=0, atol=0)


def test_rows_of_minus_infinity_do_not_reach_other_rows() -> None:
    x = [[-INF, -INF], [5.0, -INF]]
    near(gradient(lambda v: tg.logsumexp(v, axis=1)[1], x), [[0, 0], [1, 0]])
    near(gradient(lambda v: tg.logsumexp(v, axis=1), x), [[0, 0], [1, 0]])


@HESSIANS
def test_logsumexp_with_one_minus_infinity_to_second_order(second: Function) -> None:
    x = [4.0, -INF, 4.0]
    near(gradient(tg.logsumexp, x), [0.5, 0, 0.5])
    near(second(tg.logsumexp, x), [[0.25, 0, -0.25], [0, 0, 0], [-0.25, 0, 0.25]], atol=1e-16)


MASKS = {
    "added": lambda x: x + array([[-INF, -INF], [0.0, 0.0]]),
    "put in its place": lambda x: tg.where(array([[1.0, 1.0], [0.0, 0.0]]) == 1, -INF, x),
}


@pytest.mark.parametrize("mask", MASKS)
def test_a_row_that_is_masked_out_does_not_reach_the_others(mask: str) -> None:
    def f(x: Any) -> Any:
        return tg.softmax(MASKS[mask](x), axis=1)[1] * array([2.0, 5.0])

    found = gradient(f, [[3.0, 4.0], [0.0, 1.0]])
    near(found, [[0, 0], [-3 * _bell(1), 3 * _bell(1)]], rtol=1e-14)


@HESSIANS
@pytest.mark.parametrize("mask", MASKS)
def test_nor_to_second_order(mask: str, second: Function) -> None:
    found = second(lambda x: tg.softmax(MASKS[mask](x), axis=1)[1] * array([2.0, 5.0]), [[3.0, 4.0], [0.0, 1.0]])
    expected = np.zeros((2, 2, 2, 2))
    expected[1, :, 1, :] = 3 * _bell(1) * (1 - 2 / (1 + math.exp(-1))) * np.array([[1, -1], [-1, 1]])
    near(found, expected, rtol=1e-12)


def test_log_softmax_with_a_class_that_is_masked_out() -> None:
    found = gradient(lambda x: -tg.log_softmax(x + array([0.0, 0.0, -INF]))[0], [1.0, 4.0, 2.0])
    p = 1 / (1 + math.exp(3))
    near(found, [p - 1, 1 - p, 0], rtol=1e-14)


# -- classes -----------------------------------------------------------------------------------------------------
def test_rows_that_are_ignored_are_not_counted_in_the_mean() -> None:
    def f(x: Any) -> Any:
        return tg.nn.cross_entropy(x, tg.asarray([0, -7, 1]), ignore_index=-7)

    p = 1 / (1 + math.e)
    found = gradient(f, [[1.0, 2.0], [9.0, 9.0], [3.0, 4.0]])
    near(found, [[(p - 1) / 2, (1 - p) / 2], [0, 0], [p / 2, -p / 2]], rtol=1e-14)


def test_class_weights_smoothing_and_ignored_rows_together() -> None:
    logits, weight, smoothing = np.array([[0.5, 2.0], [1.0, 3.0], [4.0, 1.0]]), np.array([0.4, 0.7]), 0.2
    log_p = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    total = mass = 0.0
    for row, label in ((0, 1), (2, 0)):
        total -= (1 - smoothing) * weight[label] * log_p[row, label] + smoothing / 2 * (weight @ log_p[row])
        mass += weight[label]
    target = tg.asarray([1, -7, 0])
    found = tg.nn.cross_entropy(array(logits), target, array(weight), ignore_index=-7, label_smoothing=smoothing)
    near(found.numpy(), total / mass, rtol=1e-14)


def test_a_label_that_is_no_class_is_refused() -> None:
    with pytest.raises(tg.errors.BoundsError, match="labels"):
        tg.nn.cross_entropy(array([[0.0, 0.0]]), tg.asarray([2]))


# -- half precision ----------------------------------------------------------------------------------------------
def test_the_mean_of_more_half_precision_numbers_than_half_precision_counts_to() -> None:
    x = tg.ones(70_000, dtype=tg.float16)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.mean(x)
    assert float(y) == 1
    near(tape.gradient(y, x).numpy().astype(float), np.full(70_000, 1 / 70_000), atol=2**-24)


def test_the_gradient_of_a_half_precision_scalar_is_added_up_in_more() -> None:
    x = tg.asarray(1.0, dtype=tg.float16)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.mean(x * tg.ones(60_000, dtype=tg.float16))
    assert float(tape.gradient(y, x)) == pytest.approx(1, rel=2e-2)  # each share is rounded to a subnormal number
