"""What is computed element by element."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

import tapegrad.ops.incomplete
import tapegrad.ops.nn
import tapegrad.special  # noqa: F401  declares its ops
from tapegrad.torch._dtypes import DEFAULT, finfo
from tapegrad.torch._functions._build import FUNCTIONS, METHODS, define
from tapegrad.torch._functions._stacks import is_batched
from tapegrad.torch._inplace import in_place
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor, wrap

#: Functions of one tensor by the op that they are.
_UNARY = {
    "abs": "abs", "absolute": "abs", "acos": "acos", "arccos": "acos", "acosh": "acosh", "arccosh": "acosh", "asin": "asin",
    "arcsin": "asin", "asinh": "asinh", "arcsinh": "asinh", "atan": "atan", "arctan": "atan", "atanh": "atanh",
    "arctanh": "atanh", "cos": "cos", "cosh": "cosh", "digamma": "digamma", "erf": "erf", "erfc": "erfc",
    "erfinv": "erfinv", "exp": "exp", "expm1": "expm1", "i0": "i0", "lgamma": "gammaln", "log": "log",
    "log10": "log10", "log1p": "log1p", "log2": "log2", "neg": "negative", "negative": "negative",
    "reciprocal": "reciprocal", "sigmoid": "sigmoid", "sin": "sin", "sinc": "sinc", "sinh": "sinh", "sqrt": "ieee_sqrt",
    "square": "square", "tan": "tan", "tanh": "tanh", "bitwise_not": "bitwise_invert",
    "exp2": "exp2", "rsqrt": "rsqrt", "frac": "frac", "deg2rad": "deg2rad",
    "rad2deg": "rad2deg", "nan_to_num": "nan_to_num",
}  # fmt: skip


def _exp2(x: Any) -> Any:
    return S.pow(2.0, _inexact(x))


def _inexact(x: Any) -> Any:
    """Integers and truth values as floats of the default dtype; what has a fraction as it is."""
    return x if x.array.dtype.kind in "fVc" else x.to(DEFAULT[0])


def _rsqrt(x: Any) -> Any:
    return S.reciprocal(S.sqrt(x))


_NEVER = np.False_


def _flat(x: Any, y: Any) -> Any:
    """A value that is constant wherever it is smooth, with a derivative of 0 for `x`, if that is watched."""
    return y if x.node is None else S.where(_NEVER, S.astype(x, y.array.dtype), y)


def _frac(x: Any) -> Any:
    return S.subtract(x, S.trunc(x))


def _clamp(x: Any, low: Any, high: Any) -> Any:
    if low is None and high is None:
        raise RuntimeError("torch.clamp: At least one of 'min' or 'max' must not be None")
    if isinstance(low, Tensor) or isinstance(high, Tensor):
        y = x if low is None else S.maximum(x, low)
        return y if high is None else S.minimum(y, high)
    raw = x.array
    if raw.dtype.kind in "iu" and (type(low) is float or type(high) is float):
        x = x.to(DEFAULT[0])
    elif raw.dtype.kind == "f" and type(low) in _BOUNDS and type(high) in _BOUNDS:  # what `clip` is made of, at a third of its time
        y = x if low is None else S.at_least(x, low)
        return y if high is None else S.at_most(y, high)
    return S.clip(x, low, high)


_BOUNDS = frozenset([float, int, type(None)])


def _round(x: Any, decimals: int) -> Any:
    if x.array.dtype.kind in "iu":
        return x.clone()
    if not decimals:
        return _flat(x, S.round(x))
    scale = 10.0**decimals
    return _flat(x, S.divide(S.round(S.multiply(x, scale)), scale))


def _div(x: Any, other: Any, rounding_mode: Any) -> Any:
    if rounding_mode is None:
        return S.divide(x, other)
    if rounding_mode in ("floor", "trunc") and isinstance(x, Tensor) and x.node is not None:
        return _flat(S.subtract(x, other), _div(x.detach(), other, rounding_mode))
    if rounding_mode == "floor":
        return _floor_divide(x, other)
    if rounding_mode == "trunc":
        y = S.divide(x, other)
        kinds = _dtype_kinds(x, other)
        if any(k in "fVc" for k in kinds):
            return S.trunc(y)
        exact = S.floor_divide(x, other)
        return exact + ((exact < 0) & (S.remainder(x, other) != 0)).to(exact.dtype)
    raise RuntimeError(
        f"div expected rounding_mode to be one of None, 'trunc', or 'floor' but found '{rounding_mode}'"
    )


def _floor_divide(x: Any, other: Any) -> Any:
    return S.floor_divide(x, other)


def _dtype_kinds(*numbers: Any) -> list[str]:
    return [t.array.dtype.kind if isinstance(t, Tensor) else ("f" if type(t) is float else "i") for t in numbers]


def _fmod(x: Any, other: Any) -> Any:
    """x - trunc(x / other) * other: of the sign of x."""
    if not {"f", "V"}.isdisjoint(_dtype_kinds(x, other)):
        return S.fmod(x, other)
    whole = _div(x, other, "trunc").detach()
    return S.subtract(x, S.multiply(whole, other))


def _scaled(other: Any, alpha: Any) -> Any:
    if alpha == 1:
        return other
    if isinstance(other, Tensor) and other.array.dtype.kind in "iub" and type(alpha) is float:
        raise RuntimeError("For integral input tensors, argument alpha must not be a floating point number.")
    return S.multiply(other, alpha) if isinstance(other, Tensor) else other * alpha


def _lerp(x: Any, end: Any, weight: Any) -> Any:
    return S.add(x, S.multiply(S.subtract(end, x), weight))


def _logit(x: Any, eps: Any) -> Any:
    x = _inexact(x)
    return S.logit(x if eps is None else S.clip(x, eps, 1 - eps))


@functools.cache
def _largest(dtype: Any) -> float:
    return float(finfo(dtype).max)


def _nan_to_num(x: Any, nan: float | None = None, posinf: Any = None, neginf: Any = None) -> Any:
    if x.array.dtype.kind not in "fV":
        return x.clone()
    high = _largest(x.dtype) if posinf is None else posinf
    low = -_largest(x.dtype) if neginf is None else neginf
    return S.finite_or(x, nan=0.0 if nan is None else nan, high=high, low=low)


def _pow(x: Any, exponent: Any) -> Any:
    if type(exponent) in (int, float) and isinstance(x, Tensor):
        if exponent == 2:
            plain = x.array.dtype.kind not in "b" if type(exponent) is int else x.array.dtype.kind in "fcV"
            return S.square(x) if plain else S.pow(x, exponent)
        if exponent < 0 and type(exponent) is int and x.array.dtype.kind in "iu":
            raise RuntimeError("Integers to negative integer powers are not allowed.")
    return S.pow(x, exponent)


def _better(op: Any, x: Any, other: Any) -> Any:
    """The first of two elements where `op` says so, or the other is NaN; of equal ones the first has the derivative."""
    return S.where(S.logical_or(op(x, other), S.isnan(other)), x, other)


def _isclose(x: Any, other: Any, rtol: Any, atol: Any, equal_nan: bool) -> Any:
    rtol, atol = (v.item() if isinstance(v, Tensor) else v for v in (rtol, atol))
    for name, value in (("rtol", rtol), ("atol", atol)):
        if value < 0:
            raise RuntimeError(f"{name} must be greater than or equal to zero, but got {value:g}")
    if is_batched(x) or is_batched(other):
        near = S.less_equal(S.abs(S.subtract(x, other)), S.add(atol, S.multiply(rtol, S.abs(other))))
        found = S.logical_or(S.equal(x, other), S.logical_and(near, S.isfinite(other)))
        return S.logical_or(found, S.logical_and(S.isnan(x), S.isnan(other))) if equal_nan else found
    if x.array.dtype != other.array.dtype:
        raise RuntimeError(f"{_kind(x)} did not match {_kind(other)}")
    return wrap(np.isclose(np.asarray(x.read()[0]), np.asarray(other.read()[0]), rtol, atol, equal_nan))


def _kind(x: Any) -> str:
    from tapegrad.torch._dtypes import SCALAR_TYPES

    return SCALAR_TYPES[x.dtype]


def _complex(real: Any, imag: Any) -> Any:
    wide = real.dtype.to_complex()
    return S.add(S.astype(real, wide.numpy), S.multiply(S.astype(imag, wide.numpy), 1j))


def _angle(x: Any) -> Any:
    if x.array.dtype.kind == "c":
        return S.atan2(S.imag(x), S.real(x))
    return S.where(S.less(x, 0), math.pi, S.where(S.isnan(x), math.nan, S.multiply(x, 0)))


def _polygamma(n: int, x: Any) -> Any:
    return S.polygamma(float(n), x)


def _logaddexp(x: Any, other: Any) -> Any:
    """log(exp(x) + exp(other)); NumPy's ufunc has no complex numbers."""
    if x.array.dtype.kind != "c" and other.array.dtype.kind != "c":
        return S.logaddexp(x, other)
    x, other = FUNCTIONS["broadcast_tensors"](x, other)
    return S.logsumexp(S.stack([x, other], axis=0), axis=0)


def _float_power(x: Any, exponent: Any) -> Any:
    """The power in double precision."""
    parts = [isinstance(v, complex) or (isinstance(v, Tensor) and v.array.dtype.kind == "c") for v in (x, exponent)]
    kind = np.dtype(np.complex128 if any(parts) else np.float64)
    x, exponent = (S.astype(v, kind) if isinstance(v, Tensor) else kind.type(v) for v in (x, exponent))
    return S.pow(x, exponent)


def _heaviside(x: Any, values: Any) -> Any:
    y = S.astype(S.greater(x, 0), x.array.dtype)
    return S.where(S.equal(x, 0), values, y)


def _threshold(x: Any, threshold: float, value: float) -> Any:
    if x.array.dtype.kind in "iu":
        return S.astype(S.where(S.greater(x, threshold), x, value), x.array.dtype)
    return S.threshold(x, limit=threshold, value=value)


def _ldexp(x: Any, other: Any) -> Any:
    return S.multiply(x, S.pow(2.0, _inexact(other)))


_HELPERS = {k: v for k, v in list(globals().items()) if k.startswith("_") and callable(v)}

_ONE = {f"{name}(input)": f"S.{op}(input)" for name, op in _UNARY.items() if hasattr(S, op)}
_ONE |= {
    "exp2(input)": "_exp2(input)",
    "rsqrt(input)": "_rsqrt(input)",
    "relu(input)": "S.relu(input) if input.array.dtype.kind != 'i' else S.maximum(input, 0)",
    "frac(input)": "_frac(input)",
    "sign|sgn(input)": "S.sign(input) if input.array.dtype.kind != 'b' else input.clone()",
    **{f"{name}(input)": f"_flat(input, S.{name.split('|')[0]}(input))" for name in ("floor", "ceil", "trunc|fix")},
    "deg2rad(input)": "S.multiply(input, 0.017453292519943295)",
    "rad2deg(input)": "S.multiply(input, 57.29577951308232)",
    "round(input, *, decimals=0)": "_round(input, decimals)",
    "logit(input, eps=None)": "_logit(input, eps)",
    "nan_to_num(input, nan=0.0, posinf=None, neginf=None)": "_nan_to_num(input, nan, posinf, neginf)",
    "clamp|clip(input, min=None, max=None)": "_clamp(input, min, max)",
    "clamp_min(input, min)": "_clamp(input, min, None)",
    "clamp_max(input, max)": "_clamp(input, None, max)",
    "logical_not(input)": "S.logical_not(input)",
}
_TWO = {
    "add(input, other, *, alpha=1)": "S.add(input, other) if alpha == 1 else S.add(input, _scaled(other, alpha))",
    "sub|subtract(input, other, *, alpha=1)": "S.subtract(input, other) if alpha == 1 else S.subtract(input, _scaled(other, alpha))",
    "mul|multiply(input, other)": "S.multiply(input, other)",
    "div|divide(input, other, *, rounding_mode=None)": "_div(input, other, rounding_mode)",
    "true_divide(input, other)": "S.divide(input, other)",
    "floor_divide(input, other)": "_floor_divide(input, other)",
    "remainder(input, other)": "S.remainder(input, other)",
    "fmod(input, other)": "_fmod(input, other)",
    "pow(input, exponent)": "_pow(input, exponent)",
    "float_power(input, exponent)": "_float_power(input, exponent)",
    "atan2|arctan2(input, other)": "S.atan2(input, other)",
    "hypot(input, other)": "S.hypot(input, other)",
    "copysign(input, other)": "S.copysign(input, other)",
    "nextafter(input, other)": "S.nextafter(input, other)",
    "lerp(input, end, weight)": "_lerp(input, end, weight)",
    "addcmul(input, tensor1, tensor2, *, value=1)": "S.add(input, _scaled(S.multiply(tensor1, tensor2), value))",
    "addcdiv(input, tensor1, tensor2, *, value=1)": "S.add(input, _scaled(S.divide(tensor1, tensor2), value))",
    "xlogy(input, other)": "S.xlogy(input, other)",
    "logical_and(input, other)": "S.logical_and(input, other)",
    "logical_or(input, other)": "S.logical_or(input, other)",
    "logical_xor(input, other)": "S.logical_xor(input, other)",
    "bitwise_and(input, other)": "S.bitwise_and(input, other)",
    "bitwise_or(input, other)": "S.bitwise_or(input, other)",
    "bitwise_xor(input, other)": "S.bitwise_xor(input, other)",
    "bitwise_left_shift(input, other)": "S.bitwise_left_shift(input, other)",
    "bitwise_right_shift(input, other)": "S.bitwise_right_shift(input, other)",
    "eq(input, other)": "S.equal(input, other)",
    "ne|not_equal(input, other)": "S.not_equal(input, other)",
    "lt|less(input, other)": "S.less(input, other)",
    "le|less_equal(input, other)": "S.less_equal(input, other)",
    "gt|greater(input, other)": "S.greater(input, other)",
    "ge|greater_equal(input, other)": "S.greater_equal(input, other)",
    "heaviside(input, values)": "_heaviside(input, values)",
    "ldexp(input, other)": "_ldexp(input, other)",
    "igamma(input, other)": "S.gammainc(_inexact(input), _inexact(other))",
    "igammac(input, other)": "S.gammaincc(_inexact(input), _inexact(other))",
}
_TWO_NEW = {
    "maximum(input, other)": "S.maximum(input, other)",
    "minimum(input, other)": "S.minimum(input, other)",
    "fmax(input, other)": "_better(S.greater_equal, input, other)",
    "fmin(input, other)": "_better(S.less_equal, input, other)",
    "logaddexp(input, other)": "_logaddexp(input, other)",
    "rsub(input, other, *, alpha=1)": "S.subtract(other, _scaled(input, alpha))",
    "isnan(input)": "S.isnan(input)",
    "isinf(input)": "S.isinf(input)",
    "isfinite(input)": "S.isfinite(input)",
    "isposinf(input)": "S.equal(input, _INF)",
    "isneginf(input)": "S.equal(input, -_INF)",
    "isreal(input)": "S.equal(S.imag(input), 0) if input.is_complex() else S.equal(input, input) | True",
    "signbit(input)": "S.signbit(input)",
    "positive(input)": "input",
    "real(input)": "S.real(input) if input.is_complex() else input",
    "imag(input)": "_imag(input)",
    "resolve_conj(input)": "input",
    "conj|conj_physical(input)": "S.conj(input) if input.is_complex() else input",
    "resolve_neg(input)": "input",
    "angle(input)": "_angle(input)",
    "isclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False)": "_isclose(input, other, rtol, atol, equal_nan)",
    "allclose(input, other, rtol=1e-05, atol=1e-08, equal_nan=False)":
        "bool(_isclose(input, other, rtol, atol, equal_nan).array.all())",
}  # fmt: skip


def _imag(x: Any) -> Any:
    if not x.is_complex():
        raise RuntimeError("imag is not implemented for tensors with non-complex dtypes.")
    return S.imag(x)


_HELPERS |= {"_INF": math.inf, "_imag": _imag}
define(_ONE, _HELPERS, inplace=True)
define(_TWO, _HELPERS, inplace=True)
define(_TWO_NEW, _HELPERS)
define(
    {
        "complex(real, imag)": "_complex(real, imag)",
        "polar(abs, angle)": "_complex(S.multiply(abs, S.cos(angle)), S.multiply(abs, S.sin(angle)))",
        "threshold(input, threshold, value)": "_threshold(input, threshold, value)",
        "polygamma(n, input)": "_polygamma(n, input)",
    },
    _HELPERS,
    methods=False,
)
METHODS["polygamma"] = lambda self, n: _polygamma(n, self)
METHODS["polygamma_"] = in_place(METHODS["polygamma"], "polygamma_")
METHODS["conj_physical_"] = in_place(METHODS["conj_physical"], "conj_physical_")
for _name in ("relu", "threshold"):
    FUNCTIONS[f"{_name}_"] = in_place(FUNCTIONS[_name], f"{_name}_")
for _name in ("abs", "exp", "sqrt", "tanh", "sigmoid", "clamp", "neg", "floor", "ceil", "round", "cos", "sin", "log", "square"):
    FUNCTIONS[f"{_name}_"] = METHODS[f"{_name}_"]
