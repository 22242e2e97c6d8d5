"""NumPy kernels of special functions.  SciPy computes most; what it does not, or not to full precision, is computed here.

SciPy is imported at the first call.  Half precision is computed in single.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from tapegrad.kernels import numpy_error, numpy_gamma


def _precise(kernel: Any) -> Any:
    """The kernel on arrays (never scalars) of single or double precision, its value in the dtype of its arguments."""

    @functools.wraps(kernel)
    def computed(*args: Any) -> Any:
        dtype = np.result_type(*args)
        if dtype.itemsize == 2 and dtype.kind in "fV":
            args = tuple(np.asarray(a).astype(np.float32) if hasattr(a, "dtype") else a for a in args)
        elif dtype.kind not in "fc":  # of small integers SciPy would take the functions of single precision
            dtype = np.dtype(np.float64)
            args = tuple(np.asarray(a).astype(dtype) for a in args)
        y = kernel(*args)
        return y[()] if y.dtype == dtype else y.astype(dtype)[()]

    return computed


def _scipy(name: str) -> Any:
    """SciPy's function of this name."""

    def kernel(*args: Any) -> Any:
        from scipy import special

        return getattr(special, name)(*args)

    kernel.__name__ = name
    return _precise(kernel)


def _in_blocks_if_large(name: str) -> Any:
    """SciPy's function of this name, which large arrays of float32 have in another way."""

    def kernel(x: Any) -> Any:
        if type(x) is np.ndarray and x.size >= numpy_error.MANY and x.dtype.char == "f":
            return getattr(numpy_error, name)(x)
        from scipy import special

        return getattr(special, name)(x)

    kernel.__name__ = name
    return _precise(kernel)


erf = _in_blocks_if_large("erf")
erfc = _scipy("erfc")
erfcx = _scipy("erfcx")
erfinv = _scipy("erfinv")
erfcinv = _scipy("erfcinv")
gamma = _scipy("gamma")
gammaln = _precise(numpy_gamma.gammaln)
digamma = _scipy("psi")
beta = _precise(numpy_gamma.beta)
betaln = _precise(numpy_gamma.betaln)
betainc = _scipy("betainc")
gammainc = _scipy("gammainc")
gammaincc = _scipy("gammaincc")
xlogy = _scipy("xlogy")
xlog1py = _scipy("xlog1py")
entr = _scipy("entr")
dawsn = _scipy("dawsn")
expi = _scipy("expi")


@_precise
def spence(x: Any) -> Any:
    from scipy import special

    return np.where(x == np.inf, -np.inf, special.spence(x))[()]  # SciPy's has NaN (1.16)


rel_entr = _scipy("rel_entr")
kl_div = _scipy("kl_div")
i0 = _scipy("i0")
i0e = _scipy("i0e")
i1 = _scipy("i1")
i1e = _scipy("i1e")
ndtr = _in_blocks_if_large("ndtr")
log_ndtr = _scipy("log_ndtr")
ndtri = _scipy("ndtri")


def logit(x: Any) -> Any:
    """log(x / (1 - x)); of large arrays of float32 in float64, where it has all digits."""
    return _logit_of_many(x) if type(x) is np.ndarray and x.dtype.char == "f" and x.size >= numpy_error.MANY else _logit(x)


_logit = _scipy("logit")


def _logit_of_many(x: Any) -> Any:
    y = np.empty(x.shape, np.float32)
    source, target = np.ascontiguousarray(x).reshape(-1), y.reshape(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        for start in range(0, source.size, _BLOCK):
            odds = source[start : start + _BLOCK].astype(np.float64)
            odds /= 1 - odds
            target[start : start + _BLOCK] = np.log(odds, odds)
    return y


#: Elements computed at once, so that what is between stays in the cache.
_BLOCK = 16384


@_precise
def normal_hazard(x: Any) -> Any:
    """The density of a standard normal variable over the probability that it is not larger than x."""
    from scipy import special

    return np.asarray(math.sqrt(2 / math.pi) / special.erfcx(x * (-1 / math.sqrt(2.0)))).astype(x.dtype, copy=False)


def _by_integer(kernel: Any) -> Any:
    """A kernel of an integer (or several) and an array, its value in the array's dtype; computed for one integer at a time."""

    @functools.wraps(kernel)
    def computed(n: Any, x: Any) -> Any:
        x = np.asarray(x, None if hasattr(x, "dtype") else np.float64)
        dtype = x.dtype if x.dtype.kind in "fcV" else np.dtype(np.float64)
        wide = x.astype(np.float32 if dtype.itemsize == 2 else dtype, copy=False)
        orders = (n,) if type(n) is int else np.unique(n)
        if len(orders) == 1:
            y = np.asarray(kernel(int(orders[0]), wide))
            if y.shape != np.broadcast_shapes(np.shape(n), y.shape):
                y = np.broadcast_to(y, np.broadcast_shapes(np.shape(n), y.shape))
        else:
            n, wide = np.broadcast_arrays(n, wide)
            y = np.zeros(wide.shape, wide.dtype)
            for k in orders:
                y[n == k] = kernel(int(k), wide[n == k])
        return y.astype(dtype, copy=False)[()]

    return computed


# -- gamma functions -----------------------------------------------------------------------------------
@_by_integer
def polygamma(n: int, x: Any) -> Any:
    """The n-th derivative of `digamma`: by Hurwitz' zeta function, and below 0 by reflection (DLMF 5.15.6, 25.11.12)."""
    from scipy import special

    if n == 0:
        return special.psi(x)
    sign = 1.0 if n % 2 else -1.0
    positive = np.where(x > 0, x, 1 - x)
    wide = positive.astype(np.float64)
    y = _trigamma(wide) if n == 1 and x.size >= _MANY else sign * special.gamma(n + 1.0) * special.zeta(n + 1.0, wide)
    below = x <= 0
    if np.any(below):
        turned = -np.pi * _cotangent_derivative(n, x.astype(np.float64)) + (-1.0) ** n * y
        y = np.where(below, turned, y)
    return y.astype(x.dtype)


#: From so many elements on thirty calls of NumPy take less time than SciPy's loop.
_MANY = 256


def _trigamma(x: Any) -> Any:
    """The derivative of `digamma` above 0, by recurrence to where the asymptotic series holds (DLMF 5.15.5, 5.15.8): no term cancels.

    Measured for 16,384 numbers: 0.3 ms, Hurwitz' zeta function 3.1.
    """
    with np.errstate(over="ignore", under="ignore", divide="ignore"):
        y = np.zeros_like(x)
        for k in range(12):
            z = x + k
            z *= z
            y += np.divide(1, z, z)
        z = 1 / (x + 12)
        square = z * z
        series = np.full_like(x, -3617 / 510)
        for b in (7 / 6, -691 / 2730, 5 / 66, -1 / 30, 1 / 42, -1 / 30, 1 / 6):
            series *= square
            series += b
        series *= square
        series += 1 + z / 2
        series *= z
        y += series
    return y


def _cotangent_derivative(n: int, x: Any) -> Any:
    """The n-th derivative of cot(pi x): a polynomial in the cotangent, for d cot(pi x) = -pi (1 + cot(pi x)**2)."""
    r = x - np.round(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        c = np.where(r == 0, np.inf, np.cos(np.pi * r) / np.sin(np.pi * r))
        p = np.polynomial.Polynomial([0.0, 1.0])
        for _ in range(n):
            p = -np.pi * p.deriv() * np.polynomial.Polynomial([1.0, 0.0, 1.0])
        return np.where(r == 0, np.inf if n % 2 == 0 else -np.inf, p(c))


def polygamma_gap(n: Any, a: Any, b: Any) -> Any:
    """polygamma(n, a + b) - polygamma(n, a), without cancellation for n = 0 and positive arguments."""
    dtype = np.result_type(a, b)
    a, b = (np.asarray(v).astype(np.float64) for v in np.broadcast_arrays(a, b))
    if n != 0:
        y = np.asarray(polygamma(n, a + b) - polygamma(n, a))
    else:
        from scipy import special

        usual = (a > 0) & (b > 0) & np.isfinite(a) & np.isfinite(b)
        with np.errstate(invalid="ignore"):
            y = np.where(usual, 0.0, special.psi(a + b) - special.psi(a))
        y[usual] = _digamma_gap(a[usual], b[usual])
    return y.astype(dtype)[()]


def _digamma_gap(a: Any, b: Any) -> Any:
    """The same by recurrence, all terms positive, up to where the asymptotic series holds (DLMF 5.5.2, 5.11.2)."""
    y = np.zeros(a.shape)
    a = a.copy()
    for _ in range(15):
        small = a < 15
        if not small.any():
            break
        y[small] += b[small] / (a[small] + b[small]) / a[small]
        a[small] += 1
    log = np.log1p(b / a)
    y += log + 0.5 * (b / (a + b)) / a
    for k, c in enumerate((1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760), start=1):
        y -= c * a ** (-2.0 * k) * np.expm1(-2.0 * k * log)
    return y


def zeta(s: Any, q: Any) -> Any:
    """Hurwitz' zeta function in the dtype of q."""
    from scipy import special

    dtype = np.result_type(q) if hasattr(q, "dtype") else np.result_type(s)
    dtype = dtype if dtype.kind in "fV" else np.dtype(np.float64)
    return np.asarray(special.zeta(np.asarray(s, np.float64), np.asarray(q).astype(np.float64))).astype(dtype)[()]


# -- error functions -----------------------------------------------------------------------------------
@_by_integer
def scaled_erfc_integral(n: int, x: Any) -> Any:
    """exp(x**2) times the n-th repeated integral of erfc from x to infinity; -1 stands for 2 / sqrt(pi).

    Upwards by 2 n y[n] = y[n-2] - 2 x y[n-1] (DLMF 7.18.7) where that loses nothing; above, where the solution that is
    wanted is the one that falls, backwards from an index far off (Gautschi 1961).
    """
    from scipy import special

    kind = x.dtype
    x = x.astype(np.float64)
    constant = 2 / math.sqrt(math.pi)
    before, y = np.full(x.shape, constant), special.erfcx(x)
    if n < 0:
        return before.astype(kind)
    with np.errstate(over="ignore", invalid="ignore"):
        for k in range(1, n + 1):
            before, y = y, (before - 2 * x * y) / (2 * k)
    high = x > 1
    if n and np.any(high):
        y = np.asarray(y)
        y[high] = by_ratios(n, x[high])
    return y.astype(kind)


def by_ratios(n: int, x: Any) -> Any:
    """From ratios r[k] = y[k] / y[k-1], which have r[k] = 1 / (2 x + (2 k + 2) r[k+1]); for any kernels' arrays."""
    r: Any = 0.0
    y: Any = 2 / math.sqrt(math.pi)
    found = []
    for k in range(n + 200, -1, -1):
        r = 1 / (2 * x + (2 * k + 2) * r)
        if k <= n:
            found.append(r)
    for r in found[::-1]:
        y = y * r
    return y


# -- Fresnel's integrals ------------------------------------------------------------------------------
def _at_its_limit(x: Any, y: Any) -> Any:
    """One half, or its negative, where the square of a number overflows, for which SciPy gives NaN (1.16)."""
    return np.where(abs(x) > 1e150, np.copysign(0.5, x), y)[()] if x.dtype.char == "d" else y


@_precise
def fresnel_cos(x: Any) -> Any:
    from scipy import special

    return _at_its_limit(x, special.fresnel(x)[1])


@_precise
def fresnel_sin(x: Any) -> Any:
    from scipy import special

    return _at_its_limit(x, special.fresnel(x)[0])


# -- Bessel functions ----------------------------------------------------------------------------------
@_by_integer
def bessel_i(n: int, x: Any) -> Any:
    """The modified Bessel function of the first kind."""
    from scipy import special

    return special.i0(x) if n == 0 else special.i1(x) if abs(n) == 1 else special.iv(n, x)


@_by_integer
def bessel_j(n: int, x: Any) -> Any:
    """The Bessel function of the first kind."""
    from scipy import special

    return special.j0(x) if n == 0 else special.j1(x) if n == 1 else special.jv(n, x)


@_by_integer
def bessel_y(n: int, x: Any) -> Any:
    """The Bessel function of the second kind."""
    from scipy import special

    return special.y0(x) if n == 0 else special.y1(x) if n == 1 else special.yv(n, x)


@_by_integer
def bessel_k(n: int, x: Any) -> Any:
    """The modified Bessel function of the second kind."""
    from scipy import special

    return special.k0(x) if n == 0 else special.k1(x) if abs(n) == 1 else special.kv(n, x)


@_by_integer
def scaled_bessel_k(n: int, x: Any) -> Any:
    """exp(x) times the modified Bessel function of the second kind."""
    from scipy import special

    return special.k0e(x) if n == 0 else special.k1e(x) if abs(n) == 1 else special.kve(n, x)


@_by_integer
def scaled_bessel_slope(n: int, x: Any) -> Any:
    """The derivative of exp(-abs(x)) I_n(x): by the neighbours of I_n, far from 0 by the asymptotic series (DLMF 10.40.1)."""
    from scipy import special

    wide = x.astype(np.float64)
    size = np.abs(wide)
    near = np.minimum(size, 1e3)
    y = (special.ive(n - 1, near) + special.ive(n + 1, near)) / 2 - special.ive(n, near)
    far = size > 25 + n * n
    if np.any(far):
        z = np.where(far, size, 1.0)
        term, total = np.ones_like(z), np.zeros_like(z)
        for k in range(30):
            total = total - term * (k + 0.5)
            term = term * (-(4.0 * n * n - (2 * k + 1) ** 2) / (8 * (k + 1) * z))
        with np.errstate(invalid="ignore"):
            y = np.where(far, np.where(np.isinf(z), 0.0, total / (z * np.sqrt(2 * np.pi * z))), y)
    y = np.where(size == 0, y + special.ive(n, size), y)  # the mean of both sides
    return (np.where(wide < 0, -1.0, 1.0) ** (n + 1) * y).astype(x.dtype)


# -- sinc ----------------------------------------------------------------------------------------------
def sinc(x: Any) -> Any:
    """sin(pi x) / (pi x)."""
    if x.dtype.kind in "biu":
        x = x.astype(np.float64)
    if x.dtype.itemsize == 2:
        return sinc(x.astype(np.float32)).astype(x.dtype)
    zero = x == 0
    with np.errstate(invalid="ignore"):
        y = _sine(x, 0) / (np.pi * np.where(zero, np.ones((), x.dtype), x))
    return np.where(zero, np.ones((), x.dtype), np.where(np.isinf(x), 0, y)).astype(x.dtype)[()]


def _sine(x: Any, quarter: int) -> Any:
    """sin(pi (x + quarter / 2)), exact where x is large."""
    whole = np.round(x.real)
    r = np.pi * (x - whole)
    sign = 1 - 2 * ((whole + quarter // 2) % 2)
    return sign * (np.cos(r) if quarter % 2 else np.sin(r))


@_by_integer
def sinc_derivative(n: int, x: Any) -> Any:
    """The n-th derivative of `sinc`.

    x y[n] + n y[n-1] is the n-th derivative of sin(pi x) / pi: upwards from there where x is large, by Taylor's series elsewhere.
    """
    kind = x.dtype
    x = x.astype(np.complex128 if kind.kind == "c" else np.float64)
    size = np.abs(x)
    small = size <= max(0.5, 0.4 * n)
    z = np.where(small, x, 0)
    first = (n + 1) // 2
    y = np.zeros_like(x)
    for k in range(first + 16 + 3 * n, first - 1, -1):
        y = y * (z * z) + (-1) ** k * math.pi ** (2 * k) / (math.factorial(2 * k - n) * (2 * k + 1))
    y = y * z ** (2 * first - n)
    if small.all():
        return y.astype(kind)
    z = np.where(small, 1, x)
    with np.errstate(invalid="ignore"):
        far = _sine(z, 0) / (np.pi * z)
        for k in range(1, n + 1):
            far = (math.pi ** (k - 1) * _sine(z, k) - k * far) / z
    return np.where(small, y, np.where(np.isinf(size), 0, far)).astype(kind)
