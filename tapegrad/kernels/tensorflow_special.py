"""TensorFlow kernels of special functions: error, gamma, entropies; those that TensorFlow lacks are built here.

What is built from series or by reflection is computed in double precision, like the tables of SciPy.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tapegrad.kernels import tensorflow_calls as calls
from tapegrad.kernels.tensorflow_array import able, asarray, common, converted, made, pair
from tapegrad.kernels.tensorflow_basics import (
    equal,
    greater,
    greater_equal,
    isfinite,
    isnan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    real,
    where,
)
from tapegrad.kernels.tensorflow_calls import F32, F64
from tapegrad.kernels.tensorflow_elementwise import (
    abs,
    cos,
    exp,
    expm1,
    floor,
    log,
    log1p,
    maximum,
    minimum,
    negative,
    pow,
    round,
    sigmoid,
    sin,
    square,
)

if TYPE_CHECKING:
    from collections.abc import Callable

_ROOT_PI = math.sqrt(math.pi)


def native(name: str) -> Callable[..., Any]:
    """A function of one to three real numbers that TensorFlow has; half precision and integers are computed wider."""
    run = calls.op(name)

    def kernel(*args: Any) -> Any:
        xs, d = floats(*args)
        w = able(name, d)
        y = made(run(*(converted(x, w).bare for x in xs)), w)
        return converted(y, d)

    return kernel


def floats(*args: Any) -> tuple[list[Any], Any]:
    """Arguments in their common floating dtype; integers count as double."""
    if len(args) == 1:
        x = asarray(args[0])
        d = x.dtype if x.dtype.kind in "fcV" else F64
        return [converted(x, d)], d
    first = args[0]
    for other in args[1:]:
        _, _, d = pair(first, other)
        first = made(None, d)
    d = d if d.kind in "fcV" else F64
    return [converted(asarray(a) if hasattr(a, "dtype") else made(calls.scalar(a, d), d, ()), d) for a in args], d


def _doubled(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel on real arrays in double precision, its value in the dtype of its arguments."""

    @functools.wraps(kernel)
    def computed(*args: Any) -> Any:
        xs, d = floats(*args)
        if d.kind == "c":
            raise TypeError(f"{kernel.__name__} of complex numbers is not there")
        return converted(kernel(*(converted(x, F64) for x in xs)), d)

    return computed


# -- error functions -----------------------------------------------------------------------------------
_erf, _erfc = native("Erf"), native("Erfc")
erfinv, ndtri = native("Erfinv"), native("Ndtri")


def erf(x: Any) -> Any:
    x = asarray(x)
    if x.dtype.kind == "c":
        return _complex_erf(x, complement=False)
    if x.dtype is F64:  # TensorFlow 2.21 gives NaN for infinities, in double precision
        x = where(isnan(x), x, minimum(maximum(x, -10.0), 10.0))
    return _erf(x)


def erfc(x: Any) -> Any:
    x = asarray(x)
    return _complex_erf(x, complement=True) if x.dtype.kind == "c" else _erfc(x)


def _complex_erf(x: Any, *, complement: bool) -> Any:
    """Near 0 by Kummer's series (DLMF 7.6.2), elsewhere by Weideman's rational function of exp(z**2) erfc(z)."""
    d = x.dtype
    z: Any = converted(x, np.dtype(np.complex128))
    right = where(less(real(z), 0), -z, z)
    near = less(abs(z), 2.5)
    small = where(near, z, 0)
    total: Any = 1.0
    for n in range(60, 0, -1):
        total = 1 + total * (small * small) * (2 / (2 * n + 1))
    series = exp(-small * small) * small * total * (2 / _ROOT_PI)
    far = where(near, 3, right)
    tail = exp(-far * far) * _faddeeva_right(far)  # erfc on the right half
    if complement:
        found = where(near, 1 - series, where(less(real(z), 0), 2 - tail, tail))
    else:
        found = where(near, series, where(less(real(z), 0), tail - 1, 1 - tail))
    return converted(found, d)


@functools.cache
def _weideman(n: int = 64) -> tuple[float, list[float]]:
    """Length and coefficients of J. Weideman, "Computation of the complex error function" (1994), section 3."""
    m = 2 * n
    k = np.arange(-m + 1, m)
    length = math.sqrt(n / math.sqrt(2))
    t = length * np.tan(k * np.pi / m / 2)
    f = np.concatenate([[0.0], np.exp(-t * t) * (length**2 + t * t)])
    a = np.real(np.fft.fft(np.fft.fftshift(f))) / (2 * m)
    return length, [float(v) for v in a[1 : n + 1]]


def _faddeeva_right(z: Any) -> Any:
    """exp(z**2) erfc(z) for a non-negative real part."""
    length, coefficients = _weideman()
    ratio = (length - z) / (length + z)
    total: Any = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = total * ratio + c
    return 2 * total / (length + z) ** 2 + (1 / _ROOT_PI) / (length + z)


@_doubled
def erfcx(x: Any) -> Any:
    """exp(x**2) erfc(x): up to 4 as it is written, above by its continued fraction (DLMF 7.9.2)."""
    low = where(less(x, 4.0), x, 0.0)
    return where(less(x, 4.0), exp(square(low)) * erfc(low), _tail(where(less(x, 4.0), 4.0, x)))


def _tail(x: Any) -> Any:
    """The continued fraction of exp(x**2) erfc(x), for x >= 2."""
    total = x
    for k in range(60, 0, -1):
        total = x + (0.5 * k) / total
    return (1 / _ROOT_PI) / total


def by_integer(kernel: Callable[[int, Any], Any]) -> Callable[[Any, Any], Any]:
    """A kernel of an integer and an array in double precision, for integers that the host knows; in the array's dtype."""

    @functools.wraps(kernel)
    def computed(n: Any, x: Any) -> Any:
        (x,), d = floats(x)
        wide: Any = converted(x, common(F64, d) if d.kind == "c" else F64)
        if type(n) is int:
            return converted(kernel(n, wide), d)
        if isinstance(n, np.ndarray | np.generic):
            y: Any = math.nan * wide
            for k in np.unique(n):
                y = where(n == k, kernel(int(k), wide), y)
            return converted(y, d)
        raise TypeError(f"{kernel.__name__}: expected the order as a Python integer or an array of NumPy's, which the host knows")

    return computed


@by_integer
def scaled_erfc_integral(n: int, x: Any) -> Any:
    """exp(x**2) times the n-th repeated integral of erfc; -1 stands for 2 / sqrt(pi).  DLMF 7.18.7; Gautschi 1961."""
    constant = 2 / _ROOT_PI
    if n < 0:
        return constant + 0 * x
    before, y = constant + 0 * x, erfcx(x)
    for k in range(1, n + 1):
        before, y = y, (before - 2 * x * y) / (2 * k)
    if not n:
        return y
    high = greater(x, 1.0)
    return where(high, _backwards(n, where(high, x, 1.0)), y)


def _backwards(n: int, x: Any) -> Any:
    """From ratios r[k] = y[k] / y[k-1], which have r[k] = 1 / (2 x + (2 k + 2) r[k+1])."""
    r: Any = 0.0
    y: Any = 2 / _ROOT_PI
    found = []
    for k in range(n + 200, -1, -1):
        r = 1 / (2 * x + (2 * k + 2) * r)
        if k <= n:
            found.append(r)
    for r in found[::-1]:
        y = y * r
    return y


@_doubled
def erfcinv(x: Any) -> Any:
    """By the inverse of the normal distribution, whose digits near 0 it keeps."""
    return ndtri(0.5 * x) * (-1 / math.sqrt(2))


@_doubled
def ndtr(x: Any) -> Any:
    return 0.5 * erfc(x * (-1 / math.sqrt(2)))


@_doubled
def log_ndtr(x: Any) -> Any:
    t = x * (-1 / math.sqrt(2))
    low = less(x, -1.0)
    below = log(0.5 * erfcx(where(low, t, 1.0))) - where(low, square(t), 0.0)
    return where(low, below, log1p(-0.5 * erfc(-where(low, 0.0, t))))


@_doubled
def logit(x: Any) -> Any:
    s = 2 * (x - 0.5)
    middle = logical_and(greater(x, 0.3), less(x, 0.65))
    return where(middle, log1p(s) - log1p(-s), log(x / (1 - x)))


def expit(x: Any) -> Any:
    (x,), _ = floats(x)
    return sigmoid(x)


# -- gamma functions -----------------------------------------------------------------------------------
gammaln, _digamma = native("Lgamma"), native("Digamma")
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


@_doubled
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


@_doubled
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


@_doubled
def betaln(a: Any, b: Any) -> Any:
    return gammaln(a) + gammaln(b) - gammaln(a + b)


@_doubled
def beta(a: Any, b: Any) -> Any:
    signs = _sign_of_gamma(a) * _sign_of_gamma(b) * _sign_of_gamma(a + b)
    return signs * exp(betaln(a, b))


def _sign_of_gamma(x: Any) -> Any:
    """-1 between -1 and 0, between -3 and -2, and so on."""
    low = floor(x)
    odd = equal(low - 2 * floor(0.5 * low), 1)
    return where(logical_and(less(x, 0), odd), -1.0, where(isnan(x), math.nan, 1.0))


# -- entropies -----------------------------------------------------------------------------------------
_xlogy, _xlog1py = native("Xlogy"), native("Xlog1py")


def _nan_stays(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """0 times the logarithm of NaN is NaN, of all else 0, whatever sign the zero has."""

    def computed(x: Any, y: Any) -> Any:
        found = kernel(x, y)
        return where(isnan(y), math.nan, where(equal(x, 0), 0, found))

    return computed


xlogy, xlog1py = _nan_stays(_xlogy), _nan_stays(_xlog1py)


@_doubled
def entr(x: Any) -> Any:
    return where(less(x, 0), -math.inf, where(equal(x, 0), 0.0, negative(x * log(x))))


def _relative(x: Any, y: Any) -> tuple[Any, Any, Any]:
    """x log(x / y) where both are positive, and where that is, and where x is 0 and y not negative."""
    both = logical_and(greater(x, 0), greater(y, 0))
    a, b = where(both, x, 1.0), where(both, y, 1.0)
    ratio = a / b
    near = logical_and(greater(ratio, 0.5), less(ratio, 2.0))
    plain = logical_and(greater(ratio, 1e-300), less(ratio, 1e300))
    change = where(near, log1p((a - b) / b), where(plain, log(ratio), log(a) - log(b)))
    return a * change, both, logical_and(equal(x, 0), greater_equal(y, 0))


def _or_nan(x: Any, y: Any, found: Any) -> Any:
    return where(logical_or(isnan(x), isnan(y)), math.nan, found)


@_doubled
def rel_entr(x: Any, y: Any) -> Any:
    term, both, none = _relative(x, y)
    return _or_nan(x, y, where(both, term, where(none, 0.0, math.inf)))


@_doubled
def kl_div(x: Any, y: Any) -> Any:
    term, both, none = _relative(x, y)
    return _or_nan(x, y, where(both, term - x + y, where(none, y, math.inf)))


# -- sinc ----------------------------------------------------------------------------------------------
def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x)."""
    (x,), d = floats(x)
    x = converted(x, F32) if d.itemsize == 2 else x
    zero = equal(x, 0)
    y = _turned_sine(x, 0) / (math.pi * where(zero, 1, x))
    infinite = logical_and(logical_not(isfinite(x)), logical_not(isnan(x)))
    return converted(where(zero, 1, where(infinite, 0, y)), d)


def _turned_sine(x: Any, quarter: int) -> Any:
    """sin(pi (x + quarter / 2)), exact where x is large."""
    whole = round(real(x))
    r = math.pi * (x - converted(whole, x.dtype))
    up = whole + quarter // 2
    odd = equal(up - 2 * floor(0.5 * up), 1)
    y = cos(r) if quarter % 2 else sin(r)
    return where(odd, -y, y)


@by_integer
def sinc_derivative(n: int, x: Any) -> Any:
    """The n-th derivative of `sinc`: where x is large upwards from that of sin(pi x) / pi, by Taylor's series elsewhere."""
    small = less_equal(abs(x), max(0.5, 0.4 * n))
    z = where(small, x, 0)
    first = (n + 1) // 2
    y: Any = 0 * z
    for k in range(first + 16 + 3 * n, first - 1, -1):
        y = y * (z * z) + (-1) ** k * math.pi ** (2 * k) / (math.factorial(2 * k - n) * (2 * k + 1))
    if 2 * first - n:
        y = y * z
    z = where(small, 1, x)
    far = _turned_sine(z, 0) / (math.pi * z)
    for k in range(1, n + 1):
        far = (math.pi ** (k - 1) * _turned_sine(z, k) - k * far) / z
    infinite = logical_and(logical_not(isfinite(x)), logical_not(isnan(x)))
    return where(small, y, where(infinite, 0, far))
