"""Activations: functions of one element, and the gates built from them."""

from __future__ import annotations

import math
from typing import Any

from tapegrad.dtypes import float32
from tapegrad.ops import special  # noqa: F401  declares ndtr, which gelu uses
from tapegrad.ops.reductions import is_half
from tapegrad.registry import composite, constant, elementwise
from tapegrad.registry.batch_rules import scaled


def _with(**params: Any) -> Any:
    """Laws for an op of one array with these parameters."""
    return lambda draw: (draw.array(), {k: draw.choice(*v) for k, v in params.items()})


def _inside(F: Any, x: Any, low: float, high: float) -> Any:
    """1 strictly between the bounds and 0 elsewhere, in the dtype of `x`."""
    return F.cast_like((x > low) & (x < high), x)


def _outside(F: Any, x: Any, low: float, high: float) -> Any:
    return F.cast_like((x < low) | (x > high), x)


def _negative_part(F: Any, x: Any) -> Any:
    """`x` below 0, and 0 elsewhere: so that what is computed for the one branch is finite in the other."""
    if type(x) in (int, float):
        return 0.0 if x > 0 else x
    return F.at_most(x, 0)


# -- rectifiers ------------------------------------------------------------------------------------------------
@elementwise(real=True, cuts=True, kinks=(0.0,))
def relu(xp: Any, x: Any, /) -> Any:
    """The larger of `x` and 0; at 0 the derivative is 0."""
    return xp.relu(x)


relu.partials(x=lambda F, y: F.step(y))
relu.fused(x=lambda F, g, y: F.relu_grad(g, y))


@elementwise(real=True, cuts=True, kinks=lambda x1, x2: x2 + 0 * x1, public=False)
def relu_grad(xp: Any, x1: Any, x2: Any, /) -> Any:
    """`x1` where `x2` is above 0, else 0: the cotangent of the argument of `relu`, from that of the value and the value."""
    return x1 * _step(xp, x2)


def _step(F: Any, x: Any) -> Any:
    return F.step(x) if hasattr(x, "dtype") else float(x > 0)


relu_grad.partials(x1=lambda F, x2: _step(F, x2), x2=0)
relu_grad.fused(x1=lambda F, g, x2: F.where(x2 > 0, g, 0))  # at higher orders `g` may be infinite where nothing is to pass
scaled(relu_grad)


@constant(pointwise=True, laws=lambda draw: (draw.array("n", 3),), public=False)
def step(xp: Any, x: Any, /) -> Any:
    """1 where an element is above 0 and 0 elsewhere, in its dtype: the derivative of `relu`."""
    return xp.step(x)


@elementwise(real=True, cuts=True, kinks=(0.0, 6.0), public=False)
def relu6(xp: Any, x: Any, /) -> Any:
    """`x`, kept between 0 and 6; at both bounds the derivative is 0."""
    return xp.between(x, 0, 6)


relu6.partials(x=lambda F, x: _inside(F, x, 0, 6))


@elementwise(real=True, cuts=True, kinks=(-1.0, 1.0), laws=_with(low=(-1.0,), high=(1.0,)), public=False)
def hardtanh(xp: Any, x: Any, /, *, low: float = -1.0, high: float = 1.0) -> Any:
    """`x`, kept between `low` and `high`; at both bounds the derivative is 0."""
    return xp.between(x, low, high)


hardtanh.partials(x=lambda F, x, low, high: _inside(F, x, low, high))


@elementwise(real=True, kinks=(0.0,), laws=_with(slope=(0.01, 0.3, -0.5, 1.5)), public=False)
def leaky_relu(xp: Any, x: Any, /, *, slope: float = 0.01) -> Any:
    """`x` where it is positive and `slope * x` elsewhere; at 0 the derivative is `slope`.

    A. Maas, A. Hannun, A. Ng, "Rectifier nonlinearities improve neural network acoustic models", 2013, equation 4.
    """
    if 0 <= slope <= 1:  # in a third of the time
        return xp.maximum(x, xp.own_number(x, slope) * x)
    return xp.where(x > 0, x, xp.own_number(x, slope) * x)


def _one(F: Any, x: Any) -> Any:
    """A one in the dtype of `x`."""
    return F.ones((), dtype=x.dtype)


leaky_relu.partials(x=lambda F, x, slope: F.where(x > 0, _one(F, x), slope))


@elementwise(real=True, kinks=lambda x, weight: x + 0 * weight, public=False)
def prelu(xp: Any, x: Any, weight: Any, /) -> Any:
    """`x` where it is positive and `weight * x` elsewhere, broadcast; at 0 the derivative is `weight`.

    K. He et al., "Delving deep into rectifiers", 2015, equation 1.
    """
    return xp.where(x > 0, x, weight * x)


prelu.partials(
    x=lambda F, x, weight: F.where(x > 0, _one(F, x) if hasattr(x, "shape") else 1.0, weight),
    weight=lambda F, x: _negative_part(F, x),
)


@elementwise(real=True, cuts=True, kinks=(0.5,), laws=_with(limit=(0.5,), value=(0.5, -2.0)), public=False)
def threshold(xp: Any, x: Any, /, *, limit: float, value: float) -> Any:
    """`x` where it is above `limit` and `value` elsewhere; at the limit the derivative is 0."""
    return xp.where(x > limit, x, xp.full_like(x, value))


threshold.partials(x=lambda F, x, limit: F.cast_like(x > limit, x))


# -- exponential ones --------------------------------------------------------------------------------------------
@elementwise(real=True, laws=_with(beta=(1.0, 1.0, 0.5, 3.0)))
def softplus(xp: Any, x: Any, /, *, beta: float = 1.0) -> Any:
    """log(1 + exp(beta x)) / beta, without overflow."""
    return xp.softplus(x, beta=beta)


# `expit`, whose own derivative has all its digits where `sigmoid` is close to 1: so have second derivatives here.
softplus.partials(x=lambda F, x, beta: F.expit(x if beta == 1 else beta * x))


@elementwise(real=True, public=False)
def logsigmoid(xp: Any, x: Any, /) -> Any:
    """log(sigmoid(x)), without overflow."""
    return -xp.softplus(-x)


logsigmoid.partials(x=lambda F, x: F.expit(-x))


@elementwise(real=True, kinks=(0.0,), laws=_with(alpha=(1.0, 0.3, 2.0)), public=False)
def elu(xp: Any, x: Any, /, *, alpha: float = 1.0) -> Any:
    """`x` where it is positive and alpha (exp(x) - 1) elsewhere; at 0 the derivative is `alpha`.

    D. Clevert, T. Unterthiner, S. Hochreiter, "Fast and accurate deep network learning by exponential linear units", 2016,
    equation 15.
    """
    return xp.maximum(x, 0) + xp.own_number(x, alpha) * xp.expm1(xp.minimum(x, 0))


def _elu_partial(F: Any, x: Any, alpha: float) -> Any:
    below = F.exp(_negative_part(F, x))
    return below if alpha == 1 else F.where(x > 0, _one(F, x), alpha * below)


elu.partials(x=_elu_partial)


@elementwise(real=True, kinks=(0.0,), laws=_with(alpha=(1.0, 0.3, 2.0)), public=False)
def celu(xp: Any, x: Any, /, *, alpha: float = 1.0) -> Any:
    """`x` where it is positive and alpha (exp(x / alpha) - 1) elsewhere, whose derivative is continuous.

    J. Barron, "Continuously differentiable exponential linear units", 2017, equation 2.
    """
    return xp.maximum(x, 0) + xp.own_number(x, alpha) * xp.expm1(xp.minimum(x, 0) / xp.own_number(x, alpha))


celu.partials(x=lambda F, x, alpha: F.exp(_negative_part(F, x) / alpha))

#: G. Klambauer et al., "Self-normalizing neural networks", 2017, equation 14.
_SELU_ALPHA = 1.6732632423543772
_SELU_SCALE = 1.0507009873554805


@composite(real=True, kinks=(0.0,), laws=lambda draw: (draw.array(),), public=False)
def selu(F: Any, x: Any, /) -> Any:
    """`elu`, scaled so that layers keep mean 0 and variance 1; at 0 the derivative is that from below.

    G. Klambauer et al., "Self-normalizing neural networks", 2017, equation 2.
    """
    return _SELU_SCALE * F.elu(x, alpha=_SELU_ALPHA)


# -- gates -------------------------------------------------------------------------------------------------------
@elementwise(public=False)
def silu(xp: Any, x: Any, /) -> Any:
    """x sigmoid(x).  S. Elfwing, E. Uchibe, K. Doya, "Sigmoid-weighted linear units", 2018, equation 3."""
    return x * xp.sigmoid(x)


def _silu_partial(F: Any, x: Any) -> Any:
    s = F.sigmoid(x)
    return s * (1 + x * (1 - s))


silu.partials(x=_silu_partial)


@composite(real=True, laws=lambda draw: (draw.array(),), public=False)
def mish(F: Any, x: Any, /) -> Any:
    """x tanh(softplus(x)).  D. Misra, "Mish: a self regularized non-monotonic activation function", 2020, equation 1."""
    return x * F.tanh(F.softplus(x))


@composite(real=True, laws=_with(approximate=("none", "tanh")), public=False)
def gelu(F: Any, x: Any, /, *, approximate: str = "none") -> Any:
    """`x` times the probability that a standard normal number lies below it; `approximate="tanh"` for an approximation.

    D. Hendrycks, K. Gimpel, "Gaussian error linear units", 2016, section 2.
    """
    if approximate == "tanh":
        return 0.5 * x * (1 + F.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * (x * x * x))))
    if approximate != "none":
        from tapegrad.errors import ArgumentError

        raise ArgumentError(f'gelu(x): approximate is "none" or "tanh", got {approximate!r}')
    return x * F.ndtr(x)


@composite(laws=lambda draw: (draw.array("n", 4), {"axis": draw.choice(-1, 1)}), public=False)
def glu(F: Any, x: Any, /, *, axis: int = -1) -> Any:
    """The first half along an axis times the sigmoid of the second, (..., 2 n) -> (..., n).

    Y. Dauphin et al., "Language modeling with gated convolutional networks", 2017, equation 1.
    """
    a, b = F.split(x, 2, axis=axis)
    return a * F.sigmoid(b)


# -- hard and soft ones --------------------------------------------------------------------------------------------
@elementwise(real=True, kinks=(0.0,), public=False)
def softsign(xp: Any, x: Any, /) -> Any:
    """x / (1 + abs(x)); the second derivative at 0, where it jumps, is 0."""
    return x / (1 + xp.abs(x))


softsign.partials(x=lambda F, x: (1 + F.abs(x)) ** -2)


@elementwise(real=True, cuts=True, kinks=(-3.0, 3.0), public=False)
def hardsigmoid(xp: Any, x: Any, /) -> Any:
    """x / 6 + 1 / 2, kept between 0 and 1; at both bounds the derivative is 0."""
    return xp.between(x + 3, 0, 6) / 6


hardsigmoid.partials(x=lambda F, x: _inside(F, x, -3, 3) / 6)


@elementwise(real=True, cuts=True, kinks=(-3.0, 3.0), public=False)
def hardswish(xp: Any, x: Any, /) -> Any:
    """x hardsigmoid(x); at both bounds the derivative is that from outside.

    A. Howard et al., "Searching for MobileNetV3", 2019, section 5.2.
    """
    return x * (xp.between(x + 3, 0, 6) / 6)


hardswish.partials(
    x=lambda F, x: F.where(x >= 3, _one(F, x), F.where(x <= -3, 0, x / 3 + 0.5))
)


@elementwise(real=True, domain=(-1, 1), public=False)
def tanhshrink(xp: Any, x: Any, /) -> Any:
    """x - tanh(x), which keeps its digits near 0, where it is about x**3 / 3: a continued fraction, DLMF 4.39.1."""
    if is_half(x):
        return xp.cast(xp.tanhshrink(xp.cast(x, float32)), x.dtype)
    inner = xp.between(x, -1, 1)
    square = inner * inner
    rest = 19.0
    for odd in (17.0, 15.0, 13.0, 11.0, 9.0, 7.0, 5.0, 3.0):
        rest = square / rest + odd
    rest = square / rest
    return xp.where(xp.abs(x) < 1, inner * rest / (rest + 1), x - xp.tanh(x))


tanhshrink.partials(x=lambda F, x: F.square(F.tanh(x)))  # not 1 - (1 - tanh(x)**2), which has no digits near 0


@elementwise(real=True, cuts=True, kinks=(-0.5, 0.5), laws=_with(limit=(0.5,)), public=False)
def softshrink(xp: Any, x: Any, /, *, limit: float = 0.5) -> Any:
    """`x` moved towards 0 by `limit`, and 0 where it lies closer; at both limits the derivative is 0."""
    return x - xp.between(x, -limit, limit)


softshrink.partials(x=lambda F, x, limit: _outside(F, x, -limit, limit))


@elementwise(real=True, cuts=True, kinks=(-0.5, 0.5), laws=_with(limit=(0.5,)), public=False)
def hardshrink(xp: Any, x: Any, /, *, limit: float = 0.5) -> Any:
    """`x` where it is farther from 0 than `limit`, and 0 elsewhere; at both limits the derivative is 0."""
    return xp.where((x >= -limit) & (x <= limit), xp.zeros_like(x), x)  # so NaN stays


hardshrink.partials(x=lambda F, x, limit: _outside(F, x, -limit, limit))
