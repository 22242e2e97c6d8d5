"""Special functions: `torch.special`."""

from __future__ import annotations

from typing import Any

import tapegrad.special  # noqa: F401  declares its ops
from tapegrad.torch._functions import linear, pointwise, reduce  # noqa: F401  make the functions
from tapegrad.torch._functions._build import FUNCTIONS, compiled
from tapegrad.torch._tagged import name_all
from tapegrad.torch._tensor import STYLE as S

#: Functions that are ops under the same, or another, name.
_ONE = {
    "digamma": "digamma", "psi": "digamma", "entr": "entr", "erf": "erf", "erfc": "erfc", "erfcx": "erfcx",
    "erfinv": "erfinv", "expit": "sigmoid", "expm1": "expm1", "gammaln": "gammaln", "i0": "i0", "i0e": "i0e", "i1": "i1",
    "i1e": "i1e", "log1p": "log1p", "log_ndtr": "log_ndtr", "ndtr": "ndtr", "ndtri": "ndtri", "sinc": "sinc",
}  # fmt: skip
_TWO = {"xlogy": "xlogy", "xlog1py": "xlog1py", "zeta": "zeta"}
#: Functions that `torch` has under the same, or another, name.
_SAME = {"exp2": "exp2", "logit": "logit", "logsumexp": "logsumexp", "round": "round", "polygamma": "polygamma", "gammainc": "igamma",
         "gammaincc": "igammac", }  # fmt: skip


def _multigammaln(x: Any, p: int) -> Any:
    return S.multigammaln(x, d=p)


_TABLE = {f"{name}(input)": f"S.{op}(input)" for name, op in _ONE.items()}
_TABLE |= {f"{name}(input, other)": f"S.{op}(input, other)" for name, op in _TWO.items()}
_TABLE["multigammaln(input, p)"] = "_multigammaln(input, p)"
for _signature, _body in _TABLE.items():
    globals()[_signature.partition("(")[0]] = compiled(
        _signature, _body, {"_multigammaln": _multigammaln}, where="torch.special"
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
