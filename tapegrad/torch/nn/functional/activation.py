"""Activations."""

from __future__ import annotations

from typing import Any

import numpy as np

import tapegrad.nn  # noqa: F401  declares its ops
from tapegrad.registry.batching import levels
from tapegrad.torch import _generator as generators
from tapegrad.torch._functions import pointwise
from tapegrad.torch._functions import softmax as _softmax
from tapegrad.torch._functions._build import compiled
from tapegrad.torch._inplace import update
from tapegrad.torch._refusals import FAILED, refusal
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import wrap


def _rows(table: dict[str, str], names: dict[str, Any]) -> None:
    """Functions with `inplace=`: a row gives the value, and the form that ends in `_` writes it."""
    for signature, body in table.items():
        name = signature.partition("(")[0]
        value = compiled(signature, body, names, out=False, where="torch.nn.functional")
        globals()[f"_{name}"] = value
        row = signature[:-1] + ", inplace=False)"
        given = ", ".join(p.strip().partition("=")[0] for p in signature.partition("(")[2][:-1].split(","))
        rest = given.partition(",")[2]
        globals()[name] = compiled(
            row,
            f"{body} if not inplace else update(input, computed,{rest})",
            {**names, "update": update, "computed": value},
            out=False,
            where="torch.nn.functional",
        )
        globals()[f"{name}_"] = compiled(
            signature.replace("(", "_(", 1),
            f"update(input, computed,{rest})",
            {"update": update, "computed": value},
            out=False,
            where="torch.nn.functional",
        )
        __all__.extend([name, f"{name}_"])


def _softplus(x: Any, beta: float, threshold: float) -> Any:
    y = S.softplus(x, beta=float(beta))
    return S.where(S.greater(S.multiply(x, beta), threshold), x, y)


def _rrelu_(x: Any, lower: float, upper: float, training: bool) -> Any:
    if not training:
        return S.leaky_relu(x, slope=(lower + upper) / 2)
    if levels():
        from tapegrad.torch import rand_like

        slope = wrap(rand_like(x).array * (upper - lower) + lower)
        return S.where(S.greater(x, 0), x, S.multiply(x, slope))
    raw = np.asarray(x.read()[0])
    below = raw <= 0  # a slope is drawn for each of these alone, in double precision
    slopes = np.ones(raw.shape, raw.dtype)
    low, high = (float(raw.dtype.type(end)) for end in (lower, upper))
    slopes[below] = (generators.of(None).doubles(int(below.sum())) * (high - low) + low).astype(raw.dtype)
    return S.multiply(x, wrap(slopes[()] if not raw.ndim else slopes))


def _checked_gelu(x: Any, approximate: str) -> Any:
    if approximate not in ("none", "tanh"):
        raise RuntimeError("approximate argument must be either none or tanh.")
    return S.gelu(x, approximate=approximate)


def _glu(x: Any, dim: int) -> Any:
    n = x.array.shape[dim] if x.array.shape else 1
    if n % 2:
        raise RuntimeError(f"Halving dimension must be even, but dimension {dim} is size {n}")
    return S.glu(x, axis=dim)


def _prelu(x: Any, weight: Any) -> Any:
    shape = x.array.shape
    n = len(weight.array.reshape(-1)) if weight.array.shape else 1
    if n > 1:
        if len(shape) < 2 or shape[1] != n:
            raise RuntimeError(
                f"Mismatch of parameter numbers and input channel size. Found parameter numbers = {n} and channel size = "
                f"{shape[1] if len(shape) > 1 else 1}."
            )
        weight = S.reshape(weight, (n, *(1,) * (len(shape) - 2)))
    elif not shape:
        weight = S.reshape(weight, ())
    return S.prelu(x, weight)


__all__: list[str] = []
_NAMES = {"threshold_of": pointwise._threshold, "softplus_of": _softplus, "rrelu_of": _rrelu_}
_rows(
    {
        "relu(input)": "S.relu(input)",
        "relu6(input)": "S.relu6(input)",
        "hardtanh(input, min_val=-1.0, max_val=1.0)": "S.hardtanh(input, low=min_val, high=max_val)",
        "leaky_relu(input, negative_slope=0.01)": "S.leaky_relu(input, slope=negative_slope)",
        "elu(input, alpha=1.0)": "S.elu(input, alpha=alpha)",
        "celu(input, alpha=1.0)": "S.celu(input, alpha=alpha)",
        "selu(input)": "S.selu(input)",
        "silu(input)": "S.silu(input)",
        "mish(input)": "S.mish(input)",
        "hardsigmoid(input)": "S.hardsigmoid(input)",
        "hardswish(input)": "S.hardswish(input)",
        "threshold(input, threshold, value)": "threshold_of(input, threshold, value)",
        "rrelu(input, lower=0.125, upper=0.3333333333333333, training=False)": "rrelu_of(input, lower, upper, training)",
    },
    _NAMES,
)
_PLAIN = {
    "softplus(input, beta=1.0, threshold=20.0)": "softplus_of(input, beta, threshold)",
    "gelu(input, *, approximate='none')": "gelu_of(input, approximate)",
    "glu(input, dim=-1)": "glu_of(input, dim)",
    "prelu(input, weight)": "prelu_of(input, weight)",
    "logsigmoid(input)": "S.logsigmoid(input)",
    "softsign(input)": "S.softsign(input)",
    "tanhshrink(input)": "S.tanhshrink(input)",
    "softshrink(input, lambd=0.5)": "S.softshrink(input, limit=lambd)",
    "hardshrink(input, lambd=0.5)": "S.hardshrink(input, limit=lambd)",
    "tanh(input)": "S.tanh(input)",
    "sigmoid(input)": "S.sigmoid(input)",
}
_NAMES |= {"gelu_of": _checked_gelu, "glu_of": _glu, "prelu_of": _prelu}
for _signature, _body in _PLAIN.items():
    _name = _signature.partition("(")[0]
    globals()[_name] = compiled(_signature, _body, _NAMES, out=False, where="torch.nn.functional")
    __all__.append(_name)


def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """exp(x) divided by its sum along an axis."""
    try:
        if dim is None:
            dim = _softmax.implicit("softmax", len(input.array.shape))
        return _softmax.along(S.softmax, input, dim, dtype)
    except FAILED:
        if (found := refusal("nn.functional.softmax", (("input", 1, input, True), ("dim", 2, dim, False)))) is not None:
            raise found from None
        raise


def log_softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """The logarithm of `softmax`."""
    try:
        if dim is None:
            dim = _softmax.implicit("log_softmax", len(input.array.shape))
        return _softmax.along(S.log_softmax, input, dim, dtype)
    except FAILED:
        if (found := refusal("nn.functional.log_softmax", (("input", 1, input, True), ("dim", 2, dim, False)))) is not None:
            raise found from None
        raise


def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Any:
    """`softmax` of the negative."""
    if dim is None:
        dim = _softmax.implicit("softmin", len(input.array.shape))
    return _softmax.along(S.softmax, S.negative(input), dim, dtype)


def gumbel_softmax(logits: Any, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Any:
    """A sample that is nearly one-hot and has a derivative; `hard`, one that is one-hot, with that derivative.

    E. Jang, S. Gu, B. Poole, "Categorical reparameterization with Gumbel-softmax", 2017, equation 2.
    """
    from tapegrad.torch import empty_like, zeros_like

    gumbels = -empty_like(logits).exponential_().log()
    y = softmax((logits + gumbels) / tau, dim)
    if not hard:
        return y
    index = y.max(dim, keepdim=True)[1]
    return zeros_like(logits).scatter_(dim, index, 1.0) - y.detach() + y


__all__ += ["gumbel_softmax", "log_softmax", "softmax", "softmin"]
