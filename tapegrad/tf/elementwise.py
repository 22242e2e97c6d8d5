"""Functions of each element: mostly a table of names."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.tf.convert import convert, fresh, host, tensors_of, truths
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export, table
from tapegrad.tf.noting import noted
from tapegrad.tf.operators import pair, plus, power
from tapegrad.tf.slices import IndexedSlices
from tapegrad.tf.style import S, mismatch
from tapegrad.tf.tensor import Tensor, made


def _is_integer(x: Any) -> bool:
    return x.array.dtype.kind in "iub"


def truncated(x: Any, y: Any, *, rest: bool) -> Tensor:
    """The quotient rounded towards zero, or what is left over."""
    a, b = pair(x, y)
    if _is_integer(a):
        below, left = S.floor_divide(a, b), S.remainder(a, b)
        apart = S.logical_and(S.not_equal(left, 0), S.not_equal(S.less(a, 0), S.less(b, 0)))
        one = S.convert(apart, a.array.dtype)
        return S.subtract(left, S.multiply(one, b)) if rest else S.add(below, one)
    return S.fmod(a, b) if rest else S.trunc(S.divide(a, b))


def no_nan(x: Any, y: Any, *, divide: bool) -> Tensor:
    """x / y or x * y, and 0 where y is 0 whatever x is; the derivative there is 0 too."""
    a, b = pair(x, y)
    if divide and a.array.dtype.kind in "iu" and a.array.dtype == b.array.dtype:
        wide = np.dtype(np.float64 if a.array.dtype.itemsize >= 4 else np.float32)
        a, b = S.convert(a, wide), S.convert(b, wide)
    zero = S.equal(b, 0)
    if not divide:
        return S.where(zero, S.zeros((), dtype=a.array.dtype), S.multiply(a, b))
    one = b.array.dtype.type(1)
    return S.where(zero, S.zeros((), dtype=a.array.dtype), S.divide(a, S.where(zero, one, b)))


def guarded(x: Any, y: Any, f: Any) -> Tensor:
    """0 where x is 0, whatever y is; else the function."""
    a, b = pair(x, y)
    zero = S.equal(a, 0)
    nil = S.zeros((), dtype=a.array.dtype)
    return S.where(zero, nil, f(a, S.where(zero, b.array.dtype.type(1), b)))


def extreme(x: Any, y: Any, *, largest: bool) -> Tensor:
    """The larger, or smaller, of two elements.  Of equal ones it is the first: the derivative is all its own, as in TensorFlow."""
    op = S.maximum if largest else S.minimum
    for v in (x, y):
        if isinstance(v, core.Tensor) and (v.node is not None or type(v) is not Tensor):
            break
    else:
        return op(x, y)
    a, b = pair(x, y)
    found: Tensor = op(a, b)
    if (a.node is None and b.node is None) or (type(a.array) is type(b.array) is np.ndarray and not (a.array == b.array).any()):
        return found
    first = S.greater_equal(a, b) if largest else S.less_equal(a, b)
    return S.where(S.logical_or(first, S.isnan(a)), a, b)


def compared(op: Any, x: Any, y: Any) -> Tensor:
    """A comparison of two tensors, strings among them."""
    a, b = pair(x, y)
    if a.array.dtype.kind == "O":
        return fresh(np.asarray(_ELEMENTS[op.__name__](a.array, b.array)).astype(np.bool_)[()])
    return op(a, b)


_ELEMENTS: dict[str, Any] = {"equal": np.equal, "not_equal": np.not_equal}


def polynomial(coeffs: Any, x: Any) -> Tensor:
    """coeffs[0] x**n + ... + coeffs[n], by Horner's rule."""
    if not isinstance(coeffs, list):
        raise ValueError(f"Argument coeffs must be list type. Received type {type(coeffs)}.")
    x = convert(x)
    if not coeffs:
        return S.zeros_like(x)
    found = convert(coeffs[0], x.array.dtype, prefer=True)
    for c in coeffs[1:]:
        found = S.add(S.multiply(found, x), convert(c, x.array.dtype, prefer=True))
    return found


def argument(x: Tensor) -> Tensor:
    """The angle of a complex number; 0 or pi for a real one."""
    if x.array.dtype.kind == "c":
        return S.atan2(S.imag(x), S.real(x))
    return S.where(S.less(x, 0), x.array.dtype.type(np.pi), S.zeros((), dtype=x.array.dtype))


def square_apart(x: Any, y: Any) -> Tensor:
    """(x - y) times its conjugate."""
    off = S.subtract(x, y)
    return S.multiply(off, S.conj(off)) if off.array.dtype.kind == "c" else S.square(off)


def complex_of(real: Any, imag: Any) -> Tensor:
    """A complex number of its parts."""
    a, b = pair(real, imag)
    if a.array.dtype != b.array.dtype:
        raise mismatch("Complex", 1, a.array.dtype, b.array.dtype)
    wide = np.complex64 if a.array.dtype == np.float32 else np.complex128
    return S.add(S.cast(a, np.dtype(wide)), S.multiply(S.cast(b, np.dtype(wide)), wide(1j)))


table(
    """
math.abs abs | x, name=None | S.abs(x)
math.acos acos | x, name=None | S.acos(x)
math.acosh acosh | x, name=None | S.acosh(x)
math.add add | x, y, name=None | plus(x, y)
math.angle | input, name=None | argument(C(input))
math.asin asin | x, name=None | S.asin(x)
math.asinh asinh | x, name=None | S.asinh(x)
math.atan atan | x, name=None | S.atan(x)
math.atan2 atan2 | y, x, name=None | S.atan2(y, x)
math.atanh atanh | x, name=None | S.atanh(x)
math.bessel_i0 math.special.bessel_i0 | x, name=None | S.i0(x)
math.bessel_i0e math.special.bessel_i0e | x, name=None | S.i0e(x)
math.bessel_i1 math.special.bessel_i1 | x, name=None | S.i1(x)
math.bessel_i1e math.special.bessel_i1e | x, name=None | S.i1e(x)
math.special.bessel_j0 | x, name=None | S.bessel_j(0, C(x))
math.special.bessel_j1 | x, name=None | S.bessel_j(1, C(x))
math.special.bessel_k0 | x, name=None | S.bessel_k(0, C(x))
math.special.bessel_k0e | x, name=None | S.scaled_bessel_k(0, C(x))
math.special.bessel_k1 | x, name=None | S.bessel_k(1, C(x))
math.special.bessel_k1e | x, name=None | S.scaled_bessel_k(1, C(x))
math.special.bessel_y0 | x, name=None | S.bessel_y(0, C(x))
math.special.bessel_y1 | x, name=None | S.bessel_y(1, C(x))
math.special.dawsn | x, name=None | S.dawsn(x)
math.special.expint | x, name=None | S.expi(x)
math.special.fresnel_cos | x, name=None | S.fresnel_cos(x)
math.special.fresnel_sin | x, name=None | S.fresnel_sin(x)
math.special.spence | x, name=None | S.spence(x)
math.ceil | x, name=None | S.ceil(x)
dtypes.complex complex | real, imag, name=None | complex_of(real, imag)
math.conj | x, name=None | S.conj(x)
math.cos cos | x, name=None | S.cos(x)
math.cosh cosh | x, name=None | S.cosh(x)
math.digamma | x, name=None | S.digamma(x)
math.divide divide | x, y, name=None | S.divide(x, y)
math.divide_no_nan | x, y, name=None | no_nan(x, y, divide=True)
math.equal equal | x, y, name=None | compared(S.equal, x, y)
math.erf | x, name=None | S.erf(x)
math.erfc | x, name=None | S.erfc(x)
math.erfcinv | x, name=None | S.erfcinv(x)
math.erfinv | x, name=None | S.erfinv(x)
math.exp exp | x, name=None | S.exp(x)
math.expm1 | x, name=None | S.expm1(x)
math.floor floor | x, name=None | S.floor(x)
math.floordiv | x, y, name=None | S.floor_divide(x, y)
math.floormod math.mod | x, y, name=None | S.remainder(x, y)
math.greater greater | x, y, name=None | S.greater(x, y)
math.greater_equal greater_equal | x, y, name=None | S.greater_equal(x, y)
math.betainc | a, b, x, name=None | S.betainc(*together(a, b, x))
math.igamma | a, x, name=None | S.gammainc(*pair(a, x))
math.igammac | a, x, name=None | S.gammaincc(*pair(a, x))
math.imag | input, name=None | S.imag(input)
math.is_finite | x, name=None | S.isfinite(x)
math.is_inf | x, name=None | S.isinf(x)
math.is_nan | x, name=None | S.isnan(x)
math.less less | x, y, name=None | S.less(x, y)
math.less_equal less_equal | x, y, name=None | S.less_equal(x, y)
math.lgamma | x, name=None | S.gammaln(x)
math.log | x, name=None | S.log(x)
math.log1p | x, name=None | S.log1p(x)
math.log_sigmoid | x, name=None | S.logsigmoid(x)
math.logical_and logical_and | x, y, name=None | S.logical_and(truths(x, "LogicalAnd"), truths(y, "LogicalAnd", 1))
math.logical_not logical_not | x, name=None | S.logical_not(truths(x, "LogicalNot"))
math.logical_or logical_or | x, y, name=None | S.logical_or(truths(x, "LogicalOr"), truths(y, "LogicalOr", 1))
math.logical_xor | x, y, name="LogicalXor" | S.logical_xor(x, y)
math.maximum maximum | x, y, name=None | extreme(x, y, largest=True)
math.minimum minimum | x, y, name=None | extreme(x, y, largest=False)
math.multiply multiply | x, y, name=None | S.multiply(x, y)
math.multiply_no_nan | x, y, name=None | no_nan(x, y, divide=False)
math.ndtri | x, name=None | S.ndtri(x)
math.negative negative | x, name=None | S.negative(x)
math.nextafter | x1, x2, name=None | S.nextafter(x1, x2)
math.not_equal not_equal | x, y, name=None | compared(S.not_equal, x, y)
math.polygamma | a, x, name=None | S.polygamma(made(host(a)), x)
math.polyval | coeffs, x, name=None | polynomial(coeffs, x)
math.pow pow | x, y, name=None | power(x, y)
math.real | input, name=None | S.real(input)
math.reciprocal | x, name=None | S.reciprocal(x)
math.reciprocal_no_nan | x, name=None | no_nan(C(1.0, C(x).array.dtype, prefer=True), x, divide=True)
math.rint | x, name=None | S.round(x)
math.round round | x, name=None | S.round(x)
math.rsqrt | x, name=None | S.reciprocal(S.sqrt(x))
math.sigmoid sigmoid nn.sigmoid | x, name=None | noted(S.sigmoid(x), x, "sigmoid")
math.sign sign | x, name=None | S.sign(x)
math.sin sin | x, name=None | S.sin(x)
math.sinh sinh | x, name=None | S.sinh(x)
math.softplus nn.softplus | features, name=None | S.softplus(features)
math.softsign nn.softsign | features, name=None | S.softsign(features)
math.sqrt sqrt | x, name=None | S.sqrt(x)
math.square square | x, name=None | S.square(x)
math.squared_difference | x, y, name=None | square_apart(x, y)
math.subtract subtract | x, y, name=None | S.subtract(x, y)
math.tan tan | x, name=None | S.tan(x)
math.tanh tanh nn.tanh | x, name=None | S.tanh(x)
realdiv | x, y, name=None | S.divide(x, y)
math.truediv truediv | x, y, name=None | S.divide(x, y)
truncatediv | x, y, name=None | truncated(x, y, rest=False)
truncatemod | x, y, name=None | truncated(x, y, rest=True)
math.xdivy | x, y, name=None | guarded(x, y, S.divide)
math.xlog1py | x, y, name=None | S.xlog1py(*pair(x, y))
math.xlogy | x, y, name=None | S.xlogy(*pair(x, y))
math.zeta | x, q, name=None | S.zeta(x, q)
bitwise.bitwise_and | x, y, name=None | S.bitwise_and(x, y)
bitwise.bitwise_or | x, y, name=None | S.bitwise_or(x, y)
bitwise.bitwise_xor | x, y, name=None | S.bitwise_xor(x, y)
bitwise.invert | x, name=None | S.bitwise_invert(x)
bitwise.left_shift | x, y, name=None | S.bitwise_left_shift(x, y)
bitwise.right_shift | x, y, name=None | S.bitwise_right_shift(x, y)
""",
    pointwise=True,
    S=S,
    C=convert,
    argument=argument,
    compared=compared,
    complex_of=complex_of,
    guarded=guarded,
    host=host,
    made=made,
    extreme=extreme,
    no_nan=no_nan,
    noted=noted,
    pair=pair,
    truths=truths,
    plus=plus,
    polynomial=polynomial,
    square_apart=square_apart,
    power=power,
    together=lambda *xs: tensors_of(xs),
    truncated=truncated,
)


@export("math.add_n", "add_n")
def add_n(inputs: Any, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape and dtype."""
    if isinstance(inputs, IndexedSlices):
        inputs = [inputs]
    found = tensors_of(inputs)
    if not found:
        raise ValueError("Inputs must be an iterable of at least one Tensor/IndexedSlices with the same dtype and shape.")
    total = found[0]
    for x in found[1:]:
        if x.array.shape != total.array.shape:
            raise invalid("AddN", f"Shapes must be equal: {total.shape} and {x.shape}")
        total = S.add(total, x)
    return total if len(found) > 1 else S.positive(total) if total.node is not None else total


@export("math.accumulate_n")
def accumulate_n(inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None) -> Tensor:
    """The sum of tensors of one shape and dtype."""
    return add_n(inputs)


@export("math.scalar_mul", "scalar_mul")
def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """A tensor, or slices, times a number."""
    if isinstance(x, IndexedSlices):
        return x._scaled(scalar)
    x = convert(x)
    factor = convert(scalar, x.array.dtype, prefer=True)
    if factor.array.shape:
        raise ValueError(f"The input scalar must be a 0-D value. Received shape {tuple(factor.array.shape)}.")
    return S.multiply(factor, x)


@export("clip_by_value")
def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """Values held between two bounds; outside of them the derivative is zero."""
    if isinstance(t, IndexedSlices):
        return IndexedSlices(clip_by_value(t.values, clip_value_min, clip_value_max), t.indices, t.dense_shape)
    t = convert(t)
    if type(clip_value_min) is type(clip_value_max) is float and t.array.dtype.kind == "f":
        return S.clip(t, clip_value_min, clip_value_max)
    low, high = (convert(v, t.array.dtype, prefer=not isinstance(v, Tensor)) for v in (clip_value_min, clip_value_max))
    found: Tensor = S.clip(t, low, high)
    if found.array.shape != t.array.shape:
        raise invalid(None, f"clip_by_value: the bounds {low.shape} and {high.shape} must broadcast to the tensor's {t.shape}")
    return found
