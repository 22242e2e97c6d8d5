"""Incomplete gamma and beta functions and Hurwitz' zeta function: derivatives for their parameters, against mpmath."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import tapegrad as tg

mp = pytest.importorskip("mpmath").mp
S = tg.special
near = np.testing.assert_allclose


def derivative(f: Any, point: tuple[float, ...], orders: tuple[int, ...]) -> float:
    with mp.workdps(60):
        return float(mp.diff(f, point, orders, h=mp.mpf(10) ** -14))


def reverse(f: Any, point: tuple[float, ...], orders: tuple[int, ...]) -> float:
    """The same by reverse sweeps over reverse sweeps."""
    if not any(orders):
        return float(f(*(tg.asarray(v, dtype=tg.float64) for v in point)))

    def nested(left: tuple[int, ...]) -> Any:
        k = next((k for k, n in enumerate(left) if n), None)
        if k is None:
            return f
        return tg.grad(nested(tuple(n - (i == k) for i, n in enumerate(left))), k)

    return float(nested(orders)(*(tg.asarray(v, dtype=tg.float64) for v in point)))


def lower(a: Any, x: Any) -> Any:
    return mp.gammainc(a, 0, x, regularized=True)


def share(a: Any, b: Any, x: Any) -> Any:
    return mp.betainc(a, b, 0, x, regularized=True)


@pytest.mark.parametrize("a", [0.01, 0.7, 1.0, 6.5, 120.0])
@pytest.mark.parametrize("ratio", [1e-5, 0.4, 1.0, 3.0])
def test_the_incomplete_gamma_function_for_its_parameter(a: float, ratio: float) -> None:
    x = a * ratio
    for n in (1, 2, 3):
        expected = derivative(lower, (a, x), (n, 0))
        scale = abs(derivative(lower, (a, x), (1, 0)))
        assert reverse(S.gammainc, (a, x), (n, 0)) == pytest.approx(expected, rel=1e-10, abs=1e-12 * scale)
        assert reverse(S.gammaincc, (a, x), (n, 0)) == pytest.approx(-expected, rel=1e-10, abs=1e-12 * scale)


def test_far_tails_of_the_incomplete_gamma_function_keep_their_digits() -> None:
    assert reverse(S.gammaincc, (2.5, 300.0), (1, 0)) == pytest.approx(
        derivative(lambda a, x: mp.gammainc(a, x, mp.inf, regularized=True), (2.5, 300.0), (1, 0)), rel=1e-11
    )
    assert reverse(S.gammainc, (50.0, 1e-4), (1, 0)) == pytest.approx(derivative(lower, (50.0, 1e-4), (1, 0)), rel=1e-11)


@pytest.mark.parametrize("orders", [o for o in itertools.product(range(3), range(3)) if 0 < sum(o) < 4 and o[0]])
def test_mixed_derivatives_of_the_incomplete_gamma_function(orders: tuple[int, int]) -> None:
    for point in ((2.3, 1.7), (0.4, 2.1)):
        assert reverse(S.gammainc, point, orders) == pytest.approx(derivative(lower, point, orders), rel=1e-11)


@pytest.mark.parametrize("orders", [(1, 0, 0), (0, 1, 0), (2, 0, 0), (1, 1, 0), (0, 2, 0), (1, 0, 1), (0, 1, 1), (1, 1, 1), (0, 1, 2)])
@pytest.mark.parametrize(("a", "b"), [(0.3, 0.8), (2.5, 4.0), (90.0, 0.5), (40.0, 60.0)])
def test_the_incomplete_beta_function_for_its_parameters(a: float, b: float, orders: tuple[int, int, int]) -> None:
    for x in (1e-3, 0.42, 0.97):
        expected = derivative(share, (a, b, x), orders)
        assert reverse(S.betainc, (a, b, x), orders) == pytest.approx(expected, rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("orders", [(1, 0), (2, 0), (3, 0), (1, 1), (1, 2), (2, 1)])
def test_the_zeta_function_for_its_first_argument(orders: tuple[int, int]) -> None:
    for point in ((1.2, 0.3), (2.0, 1.0), (3.5, 40.0), (25.0, 1.5)):
        assert reverse(S.zeta, point, orders) == pytest.approx(derivative(mp.zeta, point, orders), rel=1e-11)


def test_at_the_ends_nothing_changes_with_a_parameter_and_outside_there_is_nothing() -> None:
    for x, expected in ((0.0, 0.0), (np.inf, 0.0), (-1.0, np.nan), (np.nan, np.nan)):
        near(reverse(S.gammainc, (1.5, x), (1, 0)), expected)
        near(reverse(S.gammainc, (1.5, x), (2, 0)), expected)
    for x, expected in ((0.0, 0.0), (1.0, 0.0), (-0.5, np.nan), (1.5, np.nan)):
        near(reverse(S.betainc, (1.5, 2.5, x), (1, 0, 0)), expected)
        near(reverse(S.betainc, (1.5, 2.5, x), (1, 1, 0)), expected)
    near(reverse(S.gammainc, (-1.0, 2.0), (1, 0)), np.nan)
    near(reverse(S.zeta, (0.5, 2.0), (1, 0)), np.nan)


def test_forward_mode_batches_and_single_precision_agree_with_reverse_mode() -> None:
    a, x = (tg.asarray(v, dtype=tg.float64) for v in ([0.5, 2.0, 7.0], [0.3, 2.5, 9.0]))
    expected = [reverse(S.gammainc, p, (1, 0)) for p in zip(a.tolist(), x.tolist(), strict=True)]
    near(tg.jvp(lambda a: S.gammainc(a, x), (a,), (tg.ones(3, dtype=tg.float64),))[1].numpy(), expected, rtol=1e-14)
    near(tg.vmap(tg.grad(S.gammainc))(a, x).numpy(), expected, rtol=1e-14)
    single = tg.grad(lambda a: tg.sum(S.gammainc(a, tg.astype(x, tg.float32))))(tg.astype(a, tg.float32))
    assert single.dtype == tg.float32
    near(single.numpy(), expected, rtol=1e-6)


def test_large_arrays_are_computed_in_blocks_with_the_same_values() -> None:
    a = np.linspace(0.3, 9, 40_000)
    found = tg.grad(lambda a: tg.sum(S.gammainc(a, 2.0)))(tg.asarray(a)).numpy()
    few = tg.grad(lambda a: tg.sum(S.gammainc(a, 2.0)))(tg.asarray(a[::1000].copy())).numpy()
    near(found[::1000], few, rtol=1e-15)
