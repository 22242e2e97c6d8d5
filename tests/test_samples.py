"""Samples that move with their concentrations at their probability: against the quantiles themselves, at first and second order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.ops.samples import beta_quantile_slope, dirichlet_sample, gamma_quantile_slope, gamma_sample

mpmath = pytest.importorskip("mpmath")
CONCENTRATIONS = np.array([0.1, 0.4, 1.0, 2.3, 7.5, 60.0])
SHARES = np.array([0.02, 0.3, 0.5, 0.8, 0.97, 0.6])


def gamma_quantile(a: Any, u: Any) -> Any:
    """The x that a share u of a gamma distribution lies below, to 40 digits."""
    from scipy import special

    start = mpmath.mpf(float(special.gammaincinv(float(a), float(u))))
    return mpmath.findroot(lambda x: mpmath.gammainc(a, 0, x, regularized=True) - u, (start, start * mpmath.mpf("1.0001")))


def beta_quantile(a: Any, b: Any, u: Any) -> Any:
    from scipy import special

    start = mpmath.mpf(float(special.betaincinv(float(a), float(b), float(u))))
    return mpmath.findroot(lambda x: mpmath.betainc(a, b, 0, x, regularized=True) - u, (start, start * mpmath.mpf("1.0001")))


@pytest.fixture
def digits() -> Any:
    with mpmath.workdps(40):
        yield


@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize(("a", "u"), list(zip(CONCENTRATIONS, SHARES, strict=True)))
def test_a_gamma_sample_moves_as_its_quantile_does(a: float, u: float) -> None:
    exact = [mpmath.diff(lambda v: gamma_quantile(v, mpmath.mpf(u)), mpmath.mpf(a), n, h=mpmath.mpf("1e-10")) for n in (0, 1, 2)]
    x = tg.asarray(float(exact[0]), dtype=tg.float64)

    def f(a: Any) -> Any:
        return gamma_sample(a, x)

    at = tg.asarray(a, dtype=tg.float64)
    assert float(f(at)) == float(x)
    # x is rounded, which moves its probability: by about a for small a, whose quantiles are tiny
    np.testing.assert_allclose(float(tg.grad(f)(at)), float(exact[1]), rtol=1e-11)
    np.testing.assert_allclose(float(tg.grad(tg.grad(f))(at)), float(exact[2]), rtol=1e-8)
    np.testing.assert_allclose(float(tg.jvp(tg.grad(f), (at,), (tg.ones_like(at),))[1]), float(exact[2]), rtol=1e-8)


@pytest.mark.parametrize("x", [1e-300, 1e-30, 700.0, 1e5])
def test_where_density_and_share_are_too_small_for_numbers_their_quotient_is_not(x: float) -> None:
    slope = float(gamma_quantile_slope(1, tg.asarray(2.0, dtype=tg.float64), tg.asarray(x, dtype=tg.float64)))
    with mpmath.workdps(40):
        if x < 1:  # P(a, x) is x**a / gamma(a + 1) there
            expected = x * (mpmath.log(x) - mpmath.digamma(3)) / 2
            np.testing.assert_allclose(slope, float(expected), rtol=1e-12)
        else:
            share = lambda a: mpmath.gammainc(a, x, regularized=True)  # noqa: E731
            density = mpmath.exp(-x) * mpmath.mpf(x)
            np.testing.assert_allclose(slope, float(-mpmath.diff(share, 2, h=mpmath.mpf("1e-12")) / density), rtol=1e-9)


@pytest.mark.usefixtures("digits")
@pytest.mark.parametrize(("a", "b", "u"), [(0.5, 2.0, 0.3), (3.0, 4.5, 0.7), (20.0, 1.5, 0.05)])
def test_a_share_moves_as_the_quantile_of_a_beta_variable_does(a: float, b: float, u: float) -> None:
    quantile = lambda v: beta_quantile(v, mpmath.mpf(b), mpmath.mpf(u))  # noqa: E731
    x, slope = (mpmath.diff(quantile, mpmath.mpf(a), n, h=mpmath.mpf("1e-10")) for n in (0, 1))
    found = beta_quantile_slope(1, 0, *(tg.asarray(float(v), dtype=tg.float64) for v in (a, b, x)))
    np.testing.assert_allclose(float(found), -float(slope / (1 - x)), rtol=1e-11)
    # of two shares the first is that beta variable, of which the second is the rest
    rows = tg.jacobian(lambda c: dirichlet_sample(c, tg.asarray([float(x), float(1 - x)], dtype=tg.float64)))(
        tg.asarray([a, b], dtype=tg.float64)
    ).numpy()
    np.testing.assert_allclose(rows[0, 0], float(slope), rtol=1e-11)
    np.testing.assert_allclose(rows.sum(axis=0), 0, atol=1e-15)


C, X = np.array([[0.3, 1.0, 2.5], [4.0, 0.7, 12.0]]), np.array([[0.01, 0.29, 0.7], [0.2, 0.05, 0.75]])


@pytest.mark.parametrize("sample", [gamma_sample, dirichlet_sample], ids=["gamma", "dirichlet"])
@pytest.mark.parametrize("backend", ["numpy", "tensorflow"])
def test_forward_mode_batches_and_loops_agree(sample: Any, backend: str) -> None:
    if backend == "tensorflow":
        pytest.importorskip("tensorflow")
    c, x = (tg.asarray(v, backend=backend) for v in (C, X))
    f = lambda c: sample(c, x)  # noqa: E731
    rows = tg.jacobian(f)(c).numpy()
    for other in (tg.jacobian(f, mode="forward"), tg.jacobian(f, vectorized=False)):
        np.testing.assert_allclose(other(c).numpy(), rows, rtol=1e-12, atol=1e-15)
    single = tg.vmap(lambda c, x: tg.jacobian(lambda c: sample(c, x))(c))(c, x).numpy()
    np.testing.assert_allclose(single, np.stack([rows[i, :, i] for i in range(2)]), rtol=1e-12, atol=1e-15)
    second = tg.hessian(lambda c: tg.sum(sample(c, x) * np.cos(np.arange(6.0)).reshape(2, 3)))(c).numpy()
    forward = tg.jacobian(tg.grad(lambda c: tg.sum(sample(c, x) * np.cos(np.arange(6.0)).reshape(2, 3))), mode="forward")(c).numpy()
    np.testing.assert_allclose(second, forward, rtol=1e-9, atol=1e-12)


def test_single_precision_stays_so_and_a_zero_from_upstream_is_one() -> None:
    c, x = tg.asarray(C, dtype=tg.float32), tg.asarray(X, dtype=tg.float32)
    for sample in (gamma_sample, dirichlet_sample):
        with tg.GradientTape() as tape:
            tape.watch(c)
            y = sample(c, x)
        assert tape.gradient(y, c, output_gradients=tg.zeros_like(y)).dtype == y.dtype == np.float32
    c = tg.asarray([1.5, -1.0])
    g = tg.grad(lambda c: tg.sum(tg.where(c > 0, gamma_sample(c, tg.asarray([0.7, 0.7])), 0.0)))(c).numpy()
    assert np.isfinite(g).all()
    assert g[1] == 0
