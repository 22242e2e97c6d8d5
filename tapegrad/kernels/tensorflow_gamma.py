"""TensorFlow kernels of the gamma function, its logarithm and derivatives, and the beta function."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tapegrad.kernels.tensorflow_arithmetic import pow
from tapegrad.kernels.tensorflow_basics import (
    equal,
    greater,
    isfinite,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_or,
    where,
)
from tapegrad.kernels.tensorflow_calls import F64
from tapegrad.kernels.tensorflow_functions import cos, exp, expm1, log1p, sin
from tapegrad.kernels.tensorflow_promotion import asarray, converted
from tapegrad.kernels.tensorflow_rounding import floor, round
from tapegrad.kernels.tensorflow_special import by_integer, floats, in_double, native

gammaln, _digamma = native("Lgamma"), native("Digamma")
gammainc, gammaincc, _betainc = native("Igamma"), native("Igammac"), native("Betainc")
#: C. Lanczos, "A precision approximation of the gamma function" (1964), with g = 607 / 128 and 15 terms.
_LANCZOS = (
    0.99999999999999709182,
    57.156235665862923517,
    -59.597960355475491248,
    14.136097974741747174,
    -0.49191381609762019978,
    0.33994649984811888699e-4,
    0.46523628927048575665e-4,
    -0.98374475304879564677e-4,
    0.15808870322491248884e-3,
    -0.21026444172410488319e-3,
    0.21743961811521264320e-3,
    -0.16431810653676389022e-3,
    0.84418223983852743293e-4,
    -0.26190838401581408670e-4,
    0.36899182659531622704e-5,
)


@in_double
def gamma(x: Any) -> Any:
    """By Lanczos' approximation, below 1/2 by reflection (DLMF 5.5.3); infinite at 0, NaN at other poles."""
    low = less(x, 0.5)
    z = where(low, 1 - x, x) - 1
    total: Any = _LANCZOS[0]
    for k, c in enumerate(_LANCZOS[1:], start=1):
        total = total + c / (z + k)
    t = z + (607 / 128 + 0.5)
    half = pow(t, 0.5 * (z + 0.5))
    right = where(greater(z, 171.0), math.inf, math.sqrt(2 * math.pi) * half * exp(-t) * half * total)
    sine = _sine_of_pi(x)
    pole = logical_and(equal(x, floor(x)), less(x, 0))
    left = where(equal(sine, 0), math.inf, math.pi / (where(equal(sine, 0), 1.0, sine) * right))
    found = where(low, left, right)
    found = where(equal(x, 0), 1 / x, found)
    return where(logical_or(pole, equal(x, -math.inf)), math.nan, found)


def _sine_of_pi(x: Any) -> Any:
    whole = round(x)
    odd = equal(whole - 2 * floor(0.5 * whole), 1)
    y = sin(math.pi * (x - whole))
    return where(odd, -y, y)


@in_double
def digamma(x: Any) -> Any:
    """NaN at -1, -2, ..., and an infinity at 0, as SciPy has it."""
    y = _digamma(x)
    y = where(logical_and(equal(x, floor(x)), less(x, 0)), math.nan, y)
    return where(equal(x, 0), -1 / x, y)


_tf_zeta = native("Zeta")


def zeta(s: Any, q: Any) -> Any:
    """Hurwitz' zeta function in the dtype of q."""
    d = q.dtype if hasattr(q, "dtype") else asarray(s).dtype
    d = d if d.kind in "fV" else F64
    s, q = (converted(asarray(v), F64) for v in (s, q))
    return converted(_tf_zeta(s, q), d)


@by_integer
def polygamma(n: int, x: Any) -> Any:
    """The n-th derivative of `digamma`: by Hurwitz' zeta function, and below 0 by reflection (DLMF 5.15.6, 25.11.12)."""
    if n == 0:
        return digamma(x)
    positive = where(greater(x, 0), x, 1 - x)
    y = (1.0 if n % 2 else -1.0) * math.gamma(n + 1.0) * _tf_zeta(float(n + 1), positive)
    turned = -math.pi * _cotangent_derivative(n, x) + (-1.0) ** n * y
    return where(less_equal(x, 0), turned, y)


def _cotangent_derivative(n: int, x: Any) -> Any:
    """The n-th derivative of cot(pi x): a polynomial in the cotangent, for d cot(pi x) = -pi (1 + cot(pi x)**2)."""
    p = np.polynomial.Polynomial([0.0, 1.0])
    for _ in range(n):
        p = -np.pi * p.deriv() * np.polynomial.Polynomial([1.0, 0.0, 1.0])
    r = x - round(x)
    pole = equal(r, 0)
    c = cos(math.pi * r) / sin(math.pi * where(pole, 0.25, r))
    total: Any = 0.0
    for coefficient in p.coef[::-1]:
        total = total * c + float(coefficient)
    return where(pole, math.inf if n % 2 == 0 else -math.inf, total)


def polygamma_gap(n: Any, a: Any, b: Any) -> Any:
    """polygamma(n, a + b) - polygamma(n, a), without cancellation for n = 0 and positive arguments."""
    (a, b), d = floats(a, b)
    a, b = converted(a, F64), converted(b, F64)
    if type(n) is not int or n != 0:
        return converted(polygamma(n, a + b) - polygamma(n, a), d)
    usual = logical_and(
        logical_and(greater(a, 0), greater(b, 0)), logical_and(isfinite(a), isfinite(b))
    )
    near = _digamma_gap(where(usual, a, 1.0), where(usual, b, 1.0))
    return converted(where(usual, near, digamma(a + b) - digamma(a)), d)


def _digamma_gap(a: Any, b: Any) -> Any:
    """The same by recurrence, all terms positive, up to where the asymptotic series holds (DLMF 5.5.2, 5.11.2)."""
    y: Any = 0.0
    for _ in range(15):
        small = less(a, 15.0)
        y = y + where(small, b / (a + b) / a, 0.0)
        a = where(small, a + 1, a)
    ratio = log1p(b / a)
    y = y + ratio + 0.5 * (b / (a + b)) / a
    for k, c in enumerate((1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760), start=1):
        y = y - c * a ** (-2.0 * k) * expm1(-2.0 * k * ratio)
    return y


@in_double
def betaln(a: Any, b: Any) -> Any:
    return gammaln(a) + gammaln(b) - gammaln(a + b)


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The function of TensorFlow's, which does not broadcast by itself."""
    xs, _ = floats(a, b, x)
    shaped = logical_or(equal(a, a), logical_or(equal(b, b), equal(x, x)))  # as lengths may be open: a condition of that shape
    return _betainc(*(where(shaped, v, v) for v in xs))


@in_double
def beta(a: Any, b: Any) -> Any:
    signs = _sign_of_gamma(a) * _sign_of_gamma(b) * _sign_of_gamma(a + b)
    return signs * exp(betaln(a, b))


def _sign_of_gamma(x: Any) -> Any:
    """-1 between -1 and 0, between -3 and -2, and so on."""
    low = floor(x)
    odd = equal(low - 2 * floor(0.5 * low), 1)
    return where(logical_and(less(x, 0), odd), -1.0, where(isnan(x), math.nan, 1.0))
