"""Special functions: values and derivatives against mpmath where they are hard, and against SciPy and PyTorch elsewhere."""

import itertools
import math

import numpy as np
import pytest

import tapegrad as tg

mp = pytest.importorskip("mpmath").mp
SP = tg.special


@pytest.fixture(autouse=True)
def sixty_digits():
    with mp.workdps(60):
        yield


def value_and_gradient(f, *xs):
    xs = [tg.asarray(x) for x in xs]
    with np.errstate(all="ignore"), tg.GradientTape() as tape:
        tape.watch(xs)
        y = f(*xs)
    found = [y, *tape.gradient(y, xs)]
    return [np.asarray(v.numpy()) for v in found]


def nth(f, x, n):
    """The n-th derivative of a function at a number."""
    if n == 0:
        return f(x)
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = nth(f, x, n - 1)
    return tape.gradient(y, x)


def _ndtr(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def _density(x):
    return mp.exp(-x * x / 2) / mp.sqrt(2 * mp.pi)


def _erfcx(x):
    return mp.exp(x * x) * mp.erfc(x)


def _dawson(x):
    return mp.sqrt(mp.pi) / 2 * mp.exp(-x * x) * mp.erfi(x)


def _bessel_slope(n, x):
    return (mp.besseli(n - 1, x) + mp.besseli(n + 1, x)) / 2


def _scaled(n):
    return lambda x: mp.exp(-abs(x)) * mp.besseli(n, x)


def _scaled_slope(n):
    return lambda x: mp.exp(-abs(x)) * (_bessel_slope(n, x) - mp.sign(x) * mp.besseli(n, x))


#: Function, derivative, and arguments: tiny, usual, large, negative, near poles and roots.
FUNCTIONS = {
    "erf": (mp.erf, lambda x: 2 / mp.sqrt(mp.pi) * mp.exp(-x * x), [0, 1e-300, 1e-8, 0.3, 1, 3, 5.5, -2.0, -26]),
    "erfc": (mp.erfc, lambda x: -2 / mp.sqrt(mp.pi) * mp.exp(-x * x), [0, 1e-8, 0.3, 3, 10, 26, -3, -8]),
    "erfcx": (
        _erfcx,
        lambda x: 2 * x * _erfcx(x) - 2 / mp.sqrt(mp.pi),
        [0, 1e-8, 0.3, 0.99, 1.01, 3, 10, 26, 1e3, 1e6, -1, -5, -20],
    ),
    "erfinv": (
        mp.erfinv,
        lambda x: mp.sqrt(mp.pi) / 2 * mp.exp(mp.erfinv(x) ** 2),
        [1e-300, 1e-10, 0.1, 0.5, 0.9, 0.999999, -0.99999999999],
    ),
    "ndtr": (_ndtr, _density, [0, 1e-8, 0.3, -3, -10, -37, 5, 8]),
    "log_ndtr": (
        lambda x: mp.log(_ndtr(x)),
        lambda x: _density(x) / _ndtr(x),
        [0, 1e-8, 0.3, -3, -10, -37, -1e2, -1e4, 5, 8, 20, 35],
    ),
    "ndtri": (
        lambda x: mp.sqrt(2) * mp.erfinv(2 * x - 1),
        lambda x: mp.sqrt(2 * mp.pi) * mp.exp(mp.erfinv(2 * x - 1) ** 2),
        [1e-10, 0.1, 0.4999, 0.9, 0.999999],
    ),
    "gammaln": (
        lambda x: mp.log(abs(mp.gamma(x))),
        mp.digamma,
        [1e-300, 1e-10, 0.5, 1.4, 2.0000001, 10, 1e3, 1e6, 1e15, -0.5, -1.5, -2.0001, -20.3, -100.7],
    ),
    "gamma": (
        mp.gamma,
        lambda x: mp.gamma(x) * mp.digamma(x),
        [1e-100, 1e-10, 0.5, 1.4, 10, 100, 170.5, -0.5, -1.0001, -20.3, -100.7],
    ),
    "digamma": (
        mp.digamma,
        lambda x: mp.polygamma(1, x),
        [1e-100, 1e-10, 0.5, 1.4, 10, 1e3, 1e10, -0.5, -1.5, -2.0001, -20.3, -1000.7],
    ),
    "entr": (lambda x: -x * mp.log(x), lambda x: -mp.log(x) - 1, [1e-300, 1e-10, 0.5, 0.9, 1.1, 10, 1e300]),
    "expit": (
        lambda x: 1 / (1 + mp.exp(-x)),
        lambda x: mp.exp(-x) / (1 + mp.exp(-x)) ** 2,
        [0, 1e-10, -1, -40, -700, 5, 40, 700],
    ),
    "logit": (lambda x: mp.log(x / (1 - x)), lambda x: 1 / (x * (1 - x)), [1e-300, 1e-10, 0.1, 0.5000001, 0.9, 0.999999]),
    "log_sigmoid": (lambda x: -mp.log1p(mp.exp(-x)), lambda x: 1 / (1 + mp.exp(x)), [0, 1e-10, -1, -40, -700, 5, 40, 700]),
    "i0": (lambda x: mp.besseli(0, x), lambda x: mp.besseli(1, x), [0, 1e-10, 0.1, 1, 10, 100, 700, -3]),
    "i1": (lambda x: mp.besseli(1, x), lambda x: _bessel_slope(1, x), [1e-10, 0.1, 1, 10, 100, 700, -3]),
    "i0e": (_scaled(0), _scaled_slope(0), [1e-10, 0.1, 1, 10, 24, 26, 100, -3, -1e3]),
    "i1e": (_scaled(1), _scaled_slope(1), [1e-10, 0.1, 1, 10, 25.5, 27, 100, -3, -1e3]),
    "dawsn": (_dawson, lambda x: 1 - 2 * x * _dawson(x), [1e-10, 0.1, 0.5, 1.2, -2]),
    "expi": (mp.ei, lambda x: mp.exp(x) / x, [1e-10, 0.1, 1, 10, -0.5, -3]),
    "fresnel_cos": (mp.fresnelc, lambda x: mp.cos(mp.pi * x * x / 2), [1e-10, 0.1, 0.5, 0.9, -0.7]),
    "fresnel_sin": (mp.fresnels, lambda x: mp.sin(mp.pi * x * x / 2), [0.1, 0.5, 0.9, -0.7]),
    "spence": (
        lambda x: mp.polylog(2, 1 - x).real,
        lambda x: mp.log(x) / (1 - x) if x != 1 else mp.mpf(-1),
        [1e-10, 0.1, 0.5, 0.995, 1.001, 1.005, 1.9],
    ),
    "sinc": (
        mp.sincpi,
        lambda x: (mp.cospi(x) - mp.sincpi(x)) / x,
        [1e-200, 1e-10, 0.1, 0.49, 0.51, 1, 2, 10.25, 1e6 + 0.25, -3.3, 1e15 + 0.5],
    ),
}


def assert_accurate(found, exact, f, x, eps, digits_lost=10.0):
    """Within some rounding units, and what rounding of the argument costs."""
    info = np.finfo(found.dtype)
    if not info.tiny <= abs(exact) <= info.max:
        return
    condition = abs(x * mp.diff(f, x) / exact)
    assert abs((mp.mpf(float(found)) - exact) / exact) <= eps * (digits_lost + 4 * float(condition)), (
        f"at {mp.nstr(x, 17)}: got {float(found):.17g}, expected {mp.nstr(exact, 17)}"
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_values_and_derivatives_keep_their_digits(name, dtype):
    f, slope, points = FUNCTIONS[name]
    info = np.finfo(dtype)
    x = np.array([p for p in points if p == 0 or float(info.tiny) < abs(p) < float(info.max)], dtype)
    y, g = value_and_gradient(getattr(SP, name), x)
    assert y.dtype == g.dtype == dtype
    lost = 100 if name in ("i0e", "i1e") and dtype is np.float64 else 10  # where the series begins, 2 x eps is lost
    for i, p in enumerate(x):
        exact = mp.mpf(float(p))
        assert_accurate(y[i], f(exact), f, exact, info.eps)
        assert_accurate(g[i], slope(exact), slope, exact, info.eps, lost)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 5])
def test_polygamma_keeps_its_digits(n):
    f = lambda x: mp.polygamma(n, x)  # noqa: E731
    slope = lambda x: mp.polygamma(n + 1, x)  # noqa: E731
    x = np.array([1e-30, 1e-3, 0.7, 3.0, 1e3, 1e9, -0.3, -1.7, -10.01, -1e4 - 0.3])
    y, g = value_and_gradient(lambda x: SP.polygamma(n, x), x)
    for i, p in enumerate(x):
        exact = mp.mpf(float(p))
        assert_accurate(y[i], f(exact), f, exact, 2.3e-16, 30)
        assert_accurate(g[i], slope(exact), slope, exact, 2.3e-16, 30)


@pytest.mark.parametrize(("a", "b"), [
    (0.5, 0.5), (1e-10, 2.0), (2.0, 1e-10), (1e10, 1.0), (1.0, 1e10), (1e10, 1e-3), (14.9, 15.1), (3.0, 1e3), (1e5, 1e5), (1e-200, 1e-3)
])
def test_the_derivatives_of_betaln_do_not_cancel(a, b):
    y, ga, gb = value_and_gradient(SP.betaln, np.float64(a), np.float64(b))
    a, b = mp.mpf(a), mp.mpf(b)
    assert float(y) == pytest.approx(float(mp.log(mp.beta(a, b))), rel=1e-13)
    assert float(ga) == pytest.approx(float(mp.digamma(a) - mp.digamma(a + b)), rel=2e-15 * 5)
    assert float(gb) == pytest.approx(float(mp.digamma(b) - mp.digamma(a + b)), rel=2e-15 * 5)


def assert_nearly_all_digits(found, exact):
    assert abs((mp.mpf(float(found)) - exact) / exact) < 2e-15, f"got {float(found):.17g}, expected {mp.nstr(exact, 17)}"


@pytest.mark.parametrize("x", [1 + 1e-8, 1 - 3e-9, 0.71, 1.4999, 1.5, 1.7, 2 - 1e-10, 2 + 1e-7, 2.49])
def test_the_logarithm_of_gamma_keeps_its_digits_about_its_zeros(x):
    assert_nearly_all_digits(SP.gammaln(tg.asarray(np.array([x, 7.5])))[0], mp.loggamma(mp.mpf(x)))


@pytest.mark.parametrize(("a", "b"), [(255.7, 1.4e8), (0.3, 1e12), (12.5, 1e15), (9.9, 10.1), (40.8, 37.7), (1e-200, 50.0), (3e5, 2e5)])
def test_the_beta_function_of_large_arguments_keeps_its_digits(a, b):
    exact = mp.loggamma(mp.mpf(a)) + mp.loggamma(mp.mpf(b)) - mp.loggamma(mp.mpf(a) + mp.mpf(b))
    for x, y in itertools.permutations([tg.asarray(np.float64(a)), tg.asarray(np.float64(b))]):
        assert_nearly_all_digits(SP.betaln(x, y), exact)
        if abs(exact) < 100:
            assert abs(mp.mpf(float(SP.beta(x, y))) / mp.exp(exact) - 1) < 2e-15 * (1 + abs(exact))


@pytest.mark.parametrize("x", [1e-5, -3e-4, 0.03, 0.99, 1.01, -20.0])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_the_hyperbolic_tangent_takes_off_keeps_its_digits(x, dtype):
    x = np.array([x], dtype)
    exact = mp.mpf(float(x[0])) - mp.tanh(mp.mpf(float(x[0])))
    found = tg.nn.tanhshrink(tg.asarray(x))
    assert found.dtype == dtype
    assert float(found[0]) == pytest.approx(float(exact), rel=8 * float(np.finfo(dtype).eps))


HIGHER = {
    "erf": mp.erf, "erfcx": _erfcx, "log_ndtr": lambda x: mp.log(_ndtr(x)), "gammaln": mp.loggamma, "gamma": mp.gamma,
    "i0": lambda x: mp.besseli(0, x), "i1": lambda x: mp.besseli(1, x), "sinc": mp.sincpi,
    "ndtri": lambda x: mp.sqrt(2) * mp.erfinv(2 * x - 1),
    "i0e": lambda x: mp.exp(-x) * mp.besseli(0, x), "i1e": lambda x: mp.exp(-x) * mp.besseli(1, x), "digamma": mp.digamma,
    "dawsn": _dawson, "expi": mp.ei, "fresnel_cos": mp.fresnelc, "fresnel_sin": mp.fresnels,
    "expit": lambda x: 1 / (1 + mp.exp(-x)), "erfinv": mp.erfinv, "logit": lambda x: mp.log(x / (1 - x)),
}


@pytest.mark.parametrize("name", HIGHER)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_higher_derivatives(name, n):
    for p in (0.1, 0.5, 0.9, 4.0):
        if name in ("ndtri", "erfinv", "logit") and p > 1:
            continue
        found = float(nth(getattr(SP, name), tg.asarray(p, dtype=tg.float64), n))
        assert found == pytest.approx(float(mp.diff(HIGHER[name], mp.mpf(p), n)), rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("name", ["erf", "erfcx", "log_ndtr", "i0", "i1", "sinc", "expit"])
def test_higher_derivatives_at_zero(name):
    for n in (1, 2, 3):
        found = float(nth(getattr(SP, name), tg.asarray(0.0, dtype=tg.float64), n))
        assert found == pytest.approx(float(mp.diff(HIGHER[name], mp.mpf(0), n)), rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("name", ["i0e", "i1e"])
def test_scaled_bessel_functions_fall_as_the_root_far_off(name):
    x = np.array([1e8, 1e12, 1e100])
    y, g = value_and_gradient(getattr(SP, name), x)
    np.testing.assert_allclose(y * np.sqrt(2 * np.pi * x), 1, rtol=1e-8)
    np.testing.assert_allclose(g * x / y, -0.5, rtol=1e-8)


# -- zeros, poles, infinities --------------------------------------------------------------------------
def test_xlogy_where_the_factor_is_zero():
    y, gx, gy = value_and_gradient(SP.xlogy, np.array([0.0, 2.0, 0.0]), np.array([5.0, 5.0, 0.0]))
    assert y.tolist() == [0.0, 2 * math.log(5), 0.0]
    assert gx.tolist() == [math.log(5), math.log(5), -math.inf]
    assert gy.tolist() == [0.0, 0.4, 0.0]


@pytest.mark.parametrize(("f", "at", "expected"), [(SP.xlogy, 0.5, 2.0), (SP.xlog1py, -0.5, 2.0)])
def test_the_mixed_derivative_where_the_factor_is_zero(f, at, expected):
    x, y = tg.asarray(0.0, dtype=tg.float64), tg.asarray(at, dtype=tg.float64)
    for first, second in ((x, y), (y, x)):
        with tg.GradientTape() as outer:
            outer.watch([x, y])
            with tg.GradientTape() as inner:
                inner.watch([x, y])
                z = f(x, y)
            g = inner.gradient(z, first)
        assert float(outer.gradient(g, second)) == expected


@pytest.mark.parametrize("name", ["gammaln", "gamma", "digamma", "erfinv", "ndtri", "logit", "entr"])
def test_a_zero_from_upstream_stays_zero_at_a_pole(name):
    x = tg.asarray(np.array([0.0, 1.0, -1.0]))
    with np.errstate(all="ignore"), tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.where(tg.asarray([False, False, False]), getattr(SP, name)(x), 0)
    assert tape.gradient(y, x).tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize(("name", "ends"), [
    ("erf", (-1, 1)), ("erfc", (2, 0)), ("ndtr", (0, 1)), ("expit", (0, 1)), ("i0e", (0, 0)), ("i1e", (0, 0)), ("sinc", (0, 0))
])
def test_values_and_derivatives_at_infinity(name, ends):
    y, g = value_and_gradient(getattr(SP, name), np.array([-np.inf, np.inf]))
    assert y.tolist() == list(ends)
    assert g.tolist() == [0.0, 0.0]


def test_entropies_are_those_of_scipy():
    scipy = pytest.importorskip("scipy.special")
    x, y = np.array([0.0, 0.5, 2.0, -1.0]), np.array([0.0, 0.5, 3.0, 1.0])
    for name in ("rel_entr", "kl_div"):
        np.testing.assert_array_equal(getattr(SP, name)(x, y).numpy(), getattr(scipy, name)(x, y))
    np.testing.assert_allclose(SP.multigammaln(np.array([2.0, 3.5]), 3).numpy(), scipy.multigammaln([2.0, 3.5], 3))


@pytest.mark.interop("torch")
@pytest.mark.parametrize(("name", "theirs"), [
    ("erf", "erf"), ("erfc", "erfc"), ("erfcx", "erfcx"), ("gammaln", "gammaln"), ("expit", "expit"), ("i0", "i0"),
    ("i0e", "i0e"), ("i1", "i1"), ("i1e", "i1e"), ("ndtr", "ndtr"), ("log_ndtr", "log_ndtr"), ("sinc", "sinc"), ("entr", "entr"),
])
def test_gradients_are_those_of_pytorch(name, theirs):
    torch = pytest.importorskip("torch")
    x = np.linspace(0.3, 3, 8)
    t = torch.tensor(x, requires_grad=True)
    y = getattr(torch.special, theirs)(t)
    found = value_and_gradient(getattr(SP, name), x)
    np.testing.assert_allclose(found[0], y.detach().numpy(), rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(found[1], torch.autograd.grad(y.sum(), t)[0].numpy(), rtol=1e-10)


@pytest.mark.parametrize(("ours", "exact"), [
    (SP.bessel_j, mp.besselj), (SP.bessel_y, mp.bessely), (SP.bessel_k, mp.besselk),
    (SP.scaled_bessel_k, lambda n, x: mp.exp(x) * mp.besselk(n, x)),
])
@pytest.mark.parametrize("order", [-2, -1, 0, 1, 2, 3])
def test_bessel_functions_and_their_slopes(ours, exact, order):
    x = np.array([0.01, 0.4, 1.7, 5.2, 30.0])
    y, g = value_and_gradient(lambda x: ours(order, x), x)
    for i, p in enumerate(x):
        assert y[i] == pytest.approx(float(exact(order, mp.mpf(p))), rel=1e-12, abs=1e-13)
        assert g[i] == pytest.approx(float(mp.diff(lambda v: exact(order, v), mp.mpf(p))), rel=1e-11, abs=1e-13)


def test_the_slopes_of_dilogarithm_and_bessel_functions_where_quotients_are_0_over_0():
    for n, exact in enumerate((-1.0, 0.5, -2 / 3), 1):
        assert float(nth(SP.spence, tg.asarray(1.0, dtype=tg.float64), n)) == pytest.approx(exact, rel=1e-14)
    for n, exact in enumerate((0.5, 0.0, -0.375), 1):
        assert float(nth(lambda x: SP.bessel_j(1, x), tg.asarray(0.0, dtype=tg.float64), n)) == exact


# -- arguments -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
def test_dtypes_stay(dtype):
    for name in (*FUNCTIONS, "erfcinv"):
        x = tg.asarray(np.array([0.25, 0.5]), dtype=getattr(tg, dtype))
        with tg.GradientTape() as tape:
            tape.watch(x)
            y = getattr(SP, name)(x)
        assert y.dtype == tape.gradient(y, x).dtype == x.dtype


def test_orders_may_differ_from_element_to_element():
    n, x = np.array([[0], [1], [3]]), np.array([0.5, 2.0])
    y, g = value_and_gradient(lambda x: SP.polygamma(n, x), x)
    np.testing.assert_allclose(y, [[float(mp.polygamma(int(k), v)) for v in x] for k in n[:, 0]], rtol=1e-13)
    np.testing.assert_allclose(g, [sum(float(mp.polygamma(int(k) + 1, v)) for k in n[:, 0]) for v in x], rtol=1e-13)


@pytest.mark.parametrize("f", [SP.xlogy, SP.xlog1py, SP.rel_entr, SP.kl_div, SP.beta, SP.betaln])
def test_python_numbers_have_no_say_in_the_dtype(f):
    x = tg.asarray(np.array([0.5, 2.0], np.float32))
    for call in (lambda x: f(x, 1.5), lambda x: f(1.5, x)):
        y, g = value_and_gradient(call, x)
        assert y.dtype == g.dtype == np.float32


@pytest.mark.parametrize("name", ["erf", "erfc", "sinc"])
def test_complex_arguments(name):
    x = np.array([0.3 + 0.4j, -1.2 + 0.1j, 0.0])
    exact = {"erf": mp.erf, "erfc": mp.erfc, "sinc": mp.sincpi}[name]
    t = tg.asarray(x)
    with tg.GradientTape() as tape:
        tape.watch(t)
        y = getattr(SP, name)(t)
        z = tg.real(y)
    np.testing.assert_allclose(y.numpy(), [complex(exact(mp.mpc(v))) for v in x], rtol=1e-13)
    np.testing.assert_allclose(tape.gradient(z, t).numpy().conj(), [complex(mp.diff(exact, mp.mpc(v))) for v in x], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_trigamma_of_many_is_that_of_few(dtype: str) -> None:
    x = np.concatenate([np.logspace(-30, 30, 300), np.linspace(0.01, 40, 300), [0, np.inf, np.nan, -0.5, -2.5]]).astype(dtype)
    with np.errstate(all="ignore"):
        found = tg.special.polygamma(1, x).numpy()
        expected = np.concatenate([tg.special.polygamma(1, part).numpy() for part in np.split(x, 5)])
    np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps)


FAR = {
    "fresnel_cos": [(1e200, 0.5), (-1e300, -0.5), (math.inf, 0.5)],
    "fresnel_sin": [(1e200, 0.5), (-1e300, -0.5), (-math.inf, -0.5)],
    "spence": [(1e30, -math.pi**2 / 6 - 0.5 * math.log(1e30) ** 2), (math.inf, -math.inf)],
    "dawsn": [(-1e9, -5e-10), (1e9, 5e-10), (-math.inf, -0.0)],
    "expi": [(-1e-3, -6.33153936413615), (-1.0, -0.21938393439552026), (-50.0, -3.78326402955046e-24), (-math.inf, -0.0)],
}


@pytest.mark.parametrize("backend", ["numpy", pytest.param("tensorflow", marks=pytest.mark.interop("tensorflow"))])
@pytest.mark.parametrize("name", FAR)
def test_integrals_far_out_and_below_zero(name: str, backend: str) -> None:
    x, wanted = np.array(FAR[name]).T
    found = getattr(tg.special, name)(tg.asarray(x, backend=backend)).numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-10)
    np.testing.assert_array_equal(np.signbit(found), np.signbit(wanted))
