"""`tf.nn`: activations, normalisation, embeddings."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core import tensor as core
from tapegrad.tf.convert import cast, convert, fresh, integer
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export, table
from tapegrad.tf.gathering import gather
from tapegrad.tf.noting import noted
from tapegrad.tf.operators import mismatch_in, pair, shape_text
from tapegrad.tf.reducing import axes_of, reduce_mean
from tapegrad.tf.style import S, not_allowed
from tapegrad.tf.tensor import Tensor


def floating(x: Any, name: str) -> Tensor:
    if type(x) is not Tensor:
        x = convert(x)
    if x.array.dtype.kind not in "fV":
        raise not_allowed(name, x.array.dtype)
    return x


def _axis(axis: Any) -> int:
    return -1 if axis is None else integer(axis)


@export("nn.softmax", "math.softmax")
def softmax(logits: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """exp(x) / sum(exp(x)) along an axis."""
    x = _of_some_rank(floating(logits, "Softmax"), "Softmax")
    y: Tensor = S.softmax(x, axis=_axis(axis))
    return noted(y, x, "softmax") if axis in (None, -1) else y


@export("nn.log_softmax", "math.log_softmax")
def log_softmax(logits: Any, axis: Any = None, name: str | None = None) -> Tensor:
    """The logarithm of softmax, without overflow."""
    return S.log_softmax(_of_some_rank(floating(logits, "LogSoftmax"), "LogSoftmax"), axis=_axis(axis))


def _of_some_rank(x: Tensor, name: str) -> Tensor:
    if not x.array.shape:
        raise invalid(name, "logits must have >= 1 dimension, got 0")
    return x


def _silu(x: Any, beta: Any) -> Tensor:
    x = floating(x, "Sigmoid")
    return S.silu(x) if type(beta) in (int, float) and beta == 1 else S.multiply(x, S.sigmoid(S.multiply(x, beta)))


def _selu(x: Tensor) -> Tensor:
    """SELU, whose derivative at 0 is TensorFlow's: that of the right side."""
    return S.where(S.less(x, 0), S.selu(x), S.multiply(x, 1.0507009873554805))


def _crelu(x: Any, axis: int) -> Tensor:
    x = convert(x)
    return S.relu(S.concat([x, S.negative(x)], axis=axis))


def _as_float(x: Any, name: str) -> Tensor:
    """A floating tensor; integers become float32."""
    x = convert(x)
    return S.convert(x, np.dtype(np.float32)) if x.array.dtype.kind in "iu" else floating(x, name)


table(
    """
nn.relu | features, name=None | S.relu(features)
nn.relu6 | features, name=None | S.relu6(features)
nn.elu | features, name=None | S.elu(features)
nn.selu | features, name=None | _selu(floating(features, "Selu"))
nn.leaky_relu | features, alpha=0.2, name=None | S.leaky_relu(_as_float(features, "LeakyRelu"), slope=float(alpha))
nn.gelu | features, approximate=False, name=None | S.gelu(floating(features, "Gelu"), approximate="tanh" if approximate else "none")
nn.silu nn.swish | features, beta=1.0 | _silu(features, beta)
nn.crelu | features, axis=-1, name=None | _crelu(features, axis)
""",
    pointwise=True,
    S=S,
    C=convert,
    _crelu=_crelu,
    _as_float=_as_float,
    _selu=_selu,
    floating=floating,
    _silu=_silu,
)


# -- normalisation --------------------------------------------------------------------------------------------
@export("nn.moments")
def moments(x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None) -> Any:
    """Mean and variance along axes."""
    x = convert(x)
    if x.array.dtype.kind in "iu":
        mean = reduce_mean(x, axes, True)
        variance = reduce_mean(S.square(S.subtract(x, mean)), axes, keepdims)
        return (mean if keepdims else reduce_mean(x, axes)), variance
    x = floating(x, "Mean")
    axis = axes_of(axes, x.array.ndim)
    mean = S.mean(x, axis=axis, keepdims=True)
    variance = S.mean(S.square(S.subtract(x, mean)), axis=axis, keepdims=bool(keepdims))
    return (mean if keepdims else S.mean(x, axis=axis)), variance


@export("nn.sufficient_statistics")
def sufficient_statistics(
    x: Any, axes: Any, shift: Any = None, keepdims: bool = False, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor, Any]:
    """How many elements there are along axes, their sum and that of their squares, less a shift, and the shift."""
    x = floating(x, "Sum")
    axis = axes_of(axes, x.array.ndim)
    count = x.array.size // max(1, S.sum(x, axis=axis).array.size)
    y = x if shift is None else S.subtract(x, convert(shift, x.array.dtype, prefer=True))
    total, squares = (S.sum(v, axis=axis, keepdims=bool(keepdims)) for v in (y, S.square(y)))
    return fresh(x.array.dtype.type(count)), total, squares, shift


@export("nn.weighted_moments")
def weighted_moments(x: Any, axes: Any, frequency_weights: Any, keepdims: bool = False, name: str | None = None) -> Any:
    """Mean and variance along axes, of elements that count as often as their weights say."""
    x = convert(x)
    w = S.broadcast_to(convert(frequency_weights, x.array.dtype, prefer=True), x.array.shape)
    axis = axes_of(axes, x.array.ndim)
    total = S.sum(w, axis=axis, keepdims=True)
    mean = S.divide(S.sum(S.multiply(w, x), axis=axis, keepdims=True), total)
    variance = S.divide(S.sum(S.multiply(w, S.square(S.subtract(x, mean))), axis=axis, keepdims=True), total)
    if keepdims:
        return mean, variance
    axes = axis if isinstance(axis, tuple) else tuple(range(x.array.ndim)) if axis is None else (axis,)
    return S.squeeze(mean, axes), S.squeeze(variance, axes)


@export("nn.batch_normalization")
def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: Any, name: str | None = None
) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon), scaled and shifted."""
    x = convert(x)
    m, v = (convert(t) if isinstance(t, core.Tensor) else convert(t, x.array.dtype, prefer=True) for t in (mean, variance))
    factor = S.reciprocal(S.sqrt(S.add(v, variance_epsilon)))
    if scale is not None:
        factor = S.multiply(factor, scale)
    shift = S.negative(S.multiply(m, factor)) if offset is None else S.subtract(offset, S.multiply(m, factor))
    return S.add(S.multiply(x, cast(factor, x.dtype)), cast(shift, x.dtype))  # halves have wider moments and parameters


@export("nn.local_response_normalization", "nn.lrn")
def local_response_normalization(
    input: Any, depth_radius: int = 5, bias: float = 1.0, alpha: float = 1.0, beta: float = 0.5, name: str | None = None
) -> Tensor:
    """Each element divided by a power of the squares of its neighbours in other channels."""
    x = convert(input)
    square = S.square(x)
    n, reach = x.array.shape[-1], int(depth_radius)
    band = (np.abs(np.subtract.outer(np.arange(n), np.arange(n))) <= reach).astype(x.array.dtype)
    total = S.matmul(square, fresh(band))
    return S.multiply(x, S.pow(S.add(bias, S.multiply(alpha, total)), -beta))


@export("nn.dropout")
def dropout(x: Any, rate: Any, noise_shape: Any = None, seed: Any = None, name: str | None = None) -> Tensor:
    """Elements set to 0 with probability `rate`, and the others divided by 1 - rate."""
    from tapegrad.tf.random_functions import uniform

    return _dropped(x, rate, noise_shape, lambda shape, dtype: uniform(shape, dtype=dtype, seed=seed))


@export("nn.experimental.stateless_dropout")
def stateless_dropout(
    x: Any, rate: Any, seed: Any, rng_alg: str = "auto_select", noise_shape: Any = None, name: str | None = None
) -> Tensor:
    """Dropout by a seed that says all."""
    from tapegrad.tf.random_stateless import stateless_uniform

    return _dropped(x, rate, noise_shape, lambda shape, dtype: stateless_uniform(shape, seed, dtype=dtype, alg=rng_alg))


def _dropped(x: Any, rate: Any, noise_shape: Any, draw: Any) -> Tensor:
    x = convert(x)
    rate = float(rate)
    if not 0 <= rate < 1:
        raise ValueError(f"`rate` must be a scalar tensor or a float in the range [0, 1). Received: rate={rate}")
    if x.array.dtype.kind not in "fV":
        raise ValueError(f"`x.dtype` must be a floating point tensor as `x` will be scaled. Received: x.dtype={x.dtype}")
    if rate == 0:
        return S.positive(x)
    shape = (
        x.array.shape
        if noise_shape is None
        else tuple(n if k is None else int(k) for k, n in zip(noise_shape, x.array.shape, strict=True))
    )
    keep = S.convert(S.greater_equal(draw(shape, np.float32), rate), x.array.dtype)
    return S.multiply(x, S.multiply(keep, x.array.dtype.type(1 / (1 - rate))))


# -- embeddings ------------------------------------------------------------------------------------------------
@export("nn.embedding_lookup")
def embedding_lookup(params: Any, ids: Any, max_norm: Any = None, name: str | None = None) -> Tensor:
    """The rows of a table at integer ids."""
    if isinstance(params, list | tuple):
        if len(params) != 1:
            raise NotImplementedError("tf.nn.embedding_lookup: a table in several parts; concatenate them")
        params = params[0]
    rows = gather(params, ids)
    if max_norm is None:
        return rows
    size = S.norm2(rows, axis=-1, keepdims=True)
    limit = rows.array.dtype.type(max_norm)
    return S.multiply(rows, S.divide(limit, S.maximum(size, limit)))


@export("nn.bias_add")
def bias_add(value: Any, bias: Any, data_format: str | None = None, name: str | None = None) -> Tensor:
    """A value with a bias for each channel added."""
    x, b = pair(value, bias)
    mismatch_in("BiasAdd", [x, b])
    place = 1 if data_format and data_format.startswith("NC") else x.array.ndim - 1
    if b.array.ndim != 1 or x.array.ndim < 2 or x.array.shape[place] != b.array.shape[0]:
        raise invalid(
            "BiasAdd",
            f"Must provide as many biases as the last dimension of the input tensor: {shape_text(b.array)} vs. {shape_text(x.array)}",
        )
    if place != x.array.ndim - 1:
        b = S.reshape(b, (-1,) + (1,) * (x.array.ndim - 2))
    return S.add(x, b)


@export("nn.normalize_moments")
def normalize_moments(counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None) -> Any:
    """Mean and variance from sums."""
    mean = S.divide(mean_ss, counts)
    variance = S.subtract(S.divide(variance_ss, counts), S.square(mean))
    return (mean if shift is None else S.add(mean, shift)), variance
