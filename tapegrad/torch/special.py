"""Special functions: `torch.special`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import tapegrad.special  # noqa: F401  declares its ops
from tapegrad.ops.polynomials import FAMILIES
from tapegrad.torch._dtypes import get_default_dtype
from tapegrad.torch._functions import linear, pointwise, reduce  # noqa: F401  make the functions
from tapegrad.torch._functions._build import FUNCTIONS, compiled
from tapegrad.torch._tagged import name_all
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import Tensor, wrap

#: Functions that are ops under the same, or another, name.
_ONE = {
    "digamma": "digamma", "psi": "digamma", "entr": "entr", "erf": "erf", "erfc": "erfc", "erfcx": "erfcx",
    "erfinv": "erfinv", "expit": "sigmoid", "expm1": "expm1", "gammaln": "gammaln", "i0": "i0", "i0e": "i0e", "i1": "i1",
    "i1e": "i1e", "log1p": "log1p", "log_ndtr": "log_ndtr", "modified_bessel_i0": "i0", "modified_bessel_i1": "i1", "ndtr": "ndtr",
    "ndtri": "ndtri", "sinc": "sinc",
}  # fmt: skip
_TWO = {"xlogy": "xlogy", "xlog1py": "xlog1py", "zeta": "zeta"}
#: Bessel functions of the orders 0 and 1, by the op of any order.
_OF_ORDERS = {
    f"{name}{order}": f"{op}({order}, input)"
    for name, op in {
        "bessel_j": "bessel_j", "bessel_y": "bessel_y", "modified_bessel_k": "bessel_k", "scaled_modified_bessel_k": "scaled_bessel_k",
    }.items()
    for order in (0, 1)
}  # fmt: skip
#: Families of orthogonal polynomials; those of Chebyshev have shifted ones too, of 2 x - 1.
_POLYNOMIALS = {f.rpartition("_")[0] + "_polynomial_" + f[f.rindex("_") + 1 :]: f for f in FAMILIES}
#: Functions that `torch` has under the same, or another, name.
_SAME = {"exp2": "exp2", "logit": "logit", "logsumexp": "logsumexp", "round": "round", "polygamma": "polygamma", "gammainc": "igamma",
         "gammaincc": "igammac", }  # fmt: skip


def _multigammaln(x: Any, p: int) -> Any:
    return S.multigammaln(x, d=p)


def _polynomial(family: str, x: Any, n: Any, shifted: bool = False) -> Any:
    """The polynomials of the degrees `n`, each of which has its elements."""
    if not isinstance(x, Tensor):
        if not isinstance(n, Tensor):
            raise TypeError(f"{family}(): expected a Tensor for input or n, got {type(x).__name__} and {type(n).__name__}")
        x = FUNCTIONS["full_like"](n, x, dtype=get_default_dtype())
    if x.array.dtype.kind in "iub":
        x = x.to(get_default_dtype())
    if shifted:
        x = S.subtract(S.multiply(x, 2), 1)
    if not isinstance(n, Tensor):
        return S.orthogonal_polynomial(x, family=family, degree=int(n))
    degrees = np.asarray(n.read()[0])
    y = S.multiply(S.zeros_like(x), np.zeros(degrees.shape, x.array.dtype))
    for degree in np.unique(degrees.astype(np.int64)):
        y = S.where(wrap(degrees.astype(np.int64) == degree), S.orthogonal_polynomial(x, family=family, degree=int(degree)), y)
    return y


def _spherical(x: Any) -> Any:
    """sin(x) / x, 1 at 0."""
    return S.sinc(S.divide(x, math.pi))


_TABLE = {f"{name}(input)": f"S.{op}(input)" for name, op in _ONE.items()}
_TABLE |= {f"{name}(input)": f"S.{call}" for name, call in _OF_ORDERS.items()}
_TABLE["spherical_bessel_j0(input)"] = "_spherical(input)"
for _name, _family in _POLYNOMIALS.items():
    _TABLE[f"{_name}(input, n)"] = f"_polynomial({_family!r}, input, n)"
    if _family.startswith("chebyshev"):
        _TABLE[f"shifted_{_name}(input, n)"] = f"_polynomial({_family!r}, input, n, True)"
_TABLE |= {f"{name}(input, other)": f"S.{op}(input, other)" for name, op in _TWO.items()}
_TABLE["multigammaln(input, p)"] = "_multigammaln(input, p)"
_NAMES = {"_multigammaln": _multigammaln, "_polynomial": _polynomial, "_spherical": _spherical}
for _signature, _body in _TABLE.items():
    globals()[_signature.partition("(")[0]] = compiled(
        _signature, _body, _NAMES, where="torch.special"
    )
for _name, _other in _SAME.items():
    globals()[_name] = FUNCTIONS[_other]


def softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """exp(x) divided by its sum along an axis."""
    return FUNCTIONS["softmax"](input, dim, dtype=dtype)


def log_softmax(input: Any, dim: int, *, dtype: Any = None) -> Any:
    """The logarithm of `softmax`."""
    return FUNCTIONS["log_softmax"](input, dim, dtype=dtype)


__all__ = [*(s.partition("(")[0] for s in _TABLE), *_SAME, "log_softmax", "softmax"]  # noqa: PLE0604
name_all(globals())


def __getattr__(name: str) -> Any:
    from tapegrad.torch._missing import refuse

    return refuse("torch.special", name, globals())
