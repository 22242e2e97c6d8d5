"""Normalisation: batches, layers, groups and instances differ in the axes over which mean and variance are taken."""

from __future__ import annotations

from typing import Any

from tapegrad.ops.reductions import count, is_half
from tapegrad.registry import composite, primitive
from tapegrad.registry.batch_rules import shifted


def _axes(draw: Any) -> Any:
    x = draw.array(draw.size("n", least=2), "m", 3)
    return x, {"axis": draw.choice((0,), (1, 2), (-1,), (0, 1), (0, 1, 2)), "epsilon": draw.choice(0.1, 0.5)}


@primitive(real=True, laws=_axes, outputs=("y", "mean", "variance"), public=False)
def standardize(xp: Any, x: Any, /, *, axis: Any, epsilon: float) -> tuple[Any, Any, Any]:
    """(x - mean) / sqrt(variance + epsilon) over axes, and mean and variance, with the axes kept as 1.

    S. Ioffe, C. Szegedy, "Batch normalization", 2015, algorithm 1.
    """
    n = count(x.shape, axis)
    mean = xp.sum(x, axis=axis, keepdims=True) / n
    y = x - mean
    variance = xp.sum(y * y, axis=axis, keepdims=True) / n
    return y / xp.sqrt(variance + x.dtype.type(epsilon)), mean, variance


def _cotangent_laws(draw: Any) -> Any:
    x, params = _axes(draw)
    kept = [1 if k in {a % x.ndim for a in params["axis"]} else n for k, n in enumerate(x.shape)]
    return x, draw.filled(x.shape), draw.filled(kept, low=0.5, high=2), draw.filled(kept), draw.filled(kept), {"axis": params["axis"]}


@composite(real=True, laws=_cotangent_laws, public=False)
def standardize_cotangent(F: Any, g: Any, y: Any, s: Any, g_mean: Any, g_variance: Any, /, *, axis: Any) -> Any:
    """The cotangent of `x` in `standardize`, from those of what it gives, its `y` and the standard deviation `s`."""
    n = count(y.shape, axis)
    along = (2 * s * g_variance - F.sum(g * y, axis=axis, keepdims=True) / s) / n
    return g * (1 / s) + y * along + (g_mean - F.sum(g, axis=axis, keepdims=True) / s) / n


def _standardize_pullback(F: Any, g: Any, x: Any, y: Any, axis: Any, epsilon: float) -> Any:
    """g_y through y, which does not change with shifts and scales of x; g_mean and g_variance directly."""
    y, _, variance = y
    return F.standardize_cotangent(g[0], y, F.sqrt(variance + x.dtype.type(epsilon)), g[1], g[2], axis=axis)


def _standardize_pushforward(F: Any, t: Any, x: Any, y: Any, axis: Any, epsilon: float) -> Any:
    n = count(x.shape, axis)
    y, _, variance = y
    s = F.sqrt(variance + x.dtype.type(epsilon))
    mean = F.sum(t, axis=axis, keepdims=True) / n
    along = F.sum(t * y, axis=axis, keepdims=True) / n
    return (t - mean - y * along) / s, mean, 2 * s * along


standardize.pullback(x=_standardize_pullback)
standardize.pushforward(x=_standardize_pushforward)


@standardize.batch
def _standardize_batch(F: Any, has: Any, x: Any, *, axis: Any, epsilon: float) -> Any:
    return F.standardize(x, axis=shifted(axis, len(x.shape) - 1), epsilon=epsilon)


def _wide(F: Any, x: Any) -> Any:
    """Half precision in single: squares of its elements overflow."""
    from tapegrad.dtypes import float32

    return F.cast(x, float32) if is_half(x) else x


def _standardized(F: Any, x: Any, axis: tuple[int, ...], epsilon: float) -> tuple[Any, Any, Any]:
    y, mean, variance = F.standardize(_wide(F, x), axis=axis, epsilon=epsilon)
    return (F.cast(y, x.dtype) if is_half(x) else y), mean, variance


def _scaled(F: Any, y: Any, weight: Any, bias: Any) -> Any:
    if weight is not None:
        y = y * weight
    return y if bias is None else y + bias


def _along_axis(F: Any, v: Any, rank: int, axis: int) -> Any:
    """A vector along one axis of an array of this rank."""
    behind = rank - 1 - axis % rank
    return v if v is None or not behind else F.reshape(v, (*v.shape, *(1,) * behind))


def _channelled(draw: Any) -> Any:
    axis = draw.choice(-1, 1)
    x = draw.filled((draw.size("n", least=2), 4, 3) if axis == 1 else (draw.size("n", least=2), 3, 4))
    return x, draw.array(4), draw.array(4), axis


def _batch_norm_laws(draw: Any) -> Any:
    x, weight, bias, axis = _channelled(draw)
    statistics = draw.choice((), (draw.array(4), draw.array(4, low=0.5, high=2)))
    return x, weight, bias, *statistics, {"axis": axis, "epsilon": 0.1}


@composite(real=True, laws=_batch_norm_laws, public=False)
def batch_norm(
    F: Any,
    x: Any,
    weight: Any = None,
    bias: Any = None,
    mean: Any = None,
    variance: Any = None,
    /,
    *,
    axis: int = -1,
    epsilon: float = 1e-5,
    statistics: bool = False,
) -> Any:
    """`x` with mean 0 and variance 1 in each channel, over all other axes, times `weight` plus `bias`, (..., C) -> (..., C).

    * `weight`, `bias`: (C,), learned.
    * `mean`, `variance`: (C,), those to normalise with, as in evaluation; those of the batch if not given.
    * `axis`: that of the channels.
    * `statistics`: give (y, mean, variance), from which a training loop keeps running averages; the variance is over n.

    S. Ioffe, C. Szegedy, "Batch normalization", 2015, algorithms 1 and 2.
    """
    rank = len(x.shape)
    weight, bias = _along_axis(F, weight, rank, axis), _along_axis(F, bias, rank, axis)
    if mean is None or variance is None:
        others = tuple(i for i in range(rank) if i != axis % rank)
        y, mean, variance = _standardized(F, x, others, epsilon)
        c = (x.shape[axis],)
        mean, variance = F.reshape(mean, c), F.reshape(variance, c)
    else:
        m, v = _along_axis(F, mean, rank, axis), _along_axis(F, variance, rank, axis)
        y = (x - m) / F.sqrt(v + epsilon)
    y = _scaled(F, y, weight, bias)
    return (y, mean, variance) if statistics else y


def _layer_norm_laws(draw: Any) -> Any:
    x = draw.array("n", "m", 3)
    shape = x.shape[draw.choice(1, 2) :]
    return x, draw.filled(shape), draw.filled(shape), {"axis": tuple(range(-len(shape), 0)), "epsilon": 0.1}


@composite(real=True, laws=_layer_norm_laws, public=False)
def layer_norm(
    F: Any, x: Any, weight: Any = None, bias: Any = None, /, *, axis: Any = -1, epsilon: float = 1e-5
) -> Any:
    """`x` with mean 0 and variance 1 over the last axes, times `weight` plus `bias`, which have these axes' shape.

    `axis` is the last axis, or a tuple of the last ones.  J. Ba, J. Kiros, G. Hinton, "Layer normalization", 2016, equation 4.
    """
    axis = tuple(axis) if hasattr(axis, "__iter__") else (axis,)
    return _scaled(F, _standardized(F, x, axis, epsilon)[0], weight, bias)


def _group_norm_laws(draw: Any) -> Any:
    x, weight, bias, axis = _channelled(draw)
    return x, weight, bias, {"groups": draw.choice(1, 2, 4), "axis": axis, "epsilon": 0.1}


@composite(real=True, laws=_group_norm_laws, public=False)
def group_norm(
    F: Any,
    x: Any,
    weight: Any = None,
    bias: Any = None,
    /,
    *,
    groups: int,
    axis: int = -1,
    epsilon: float = 1e-5,
) -> Any:
    """Each image of (N, *S, C) with mean 0 and variance 1 in each group of channels, times `weight` plus `bias`, both (C,).

    `axis` is that of the channels.  Y. Wu, K. He, "Group normalization", 2018, equation 7.
    """
    rank = len(x.shape)
    axis %= rank
    c = x.shape[axis]
    if groups < 1 or c % groups:
        from tapegrad.errors import ShapeError

        raise ShapeError(f"group_norm(x): expected x.shape[{axis}] % groups == 0, got {c} % {groups}")
    apart = F.reshape(x, (*x.shape[:axis], groups, c // groups, *x.shape[axis + 1 :]))
    others = tuple(i for i in range(1, rank + 1) if i != axis)
    y = F.reshape(_standardized(F, apart, others, epsilon)[0], x.shape)
    return _scaled(F, y, _along_axis(F, weight, rank, axis), _along_axis(F, bias, rank, axis))


def _instance_norm_laws(draw: Any) -> Any:
    x, weight, bias, axis = _channelled(draw)
    return x, weight, bias, {"axis": axis, "epsilon": 0.1}


@composite(real=True, laws=_instance_norm_laws, public=False)
def instance_norm(
    F: Any, x: Any, weight: Any = None, bias: Any = None, /, *, axis: int = -1, epsilon: float = 1e-5
) -> Any:
    """Each image of (N, *S, C) with mean 0 and variance 1 in each channel, times `weight` plus `bias`, both (C,).

    D. Ulyanov, A. Vedaldi, V. Lempitsky, "Instance normalization", 2016, equation 2.
    """
    rank = len(x.shape)
    others = tuple(i for i in range(1, rank) if i != axis % rank)
    y = _standardized(F, x, others, epsilon)[0]
    return _scaled(F, y, _along_axis(F, weight, rank, axis), _along_axis(F, bias, rank, axis))


@composite(real=True, laws=lambda draw: (draw.array("n", 3), draw.array(3), {"epsilon": 0.1}), public=False)
def rms_norm(F: Any, x: Any, weight: Any = None, /, *, axis: Any = -1, epsilon: float = 1e-6) -> Any:
    """x / sqrt(mean(x**2) + epsilon) over the last axes, times `weight`, which has their shape.

    B. Zhang, R. Sennrich, "Root mean square layer normalization", 2019, equation 4.
    """
    axis = tuple(axis) if hasattr(axis, "__iter__") else (axis,)
    wide = _wide(F, x)
    y = wide / F.sqrt(F.mean(wide * wide, axis=axis, keepdims=True) + epsilon)
    return _scaled(F, F.cast(y, x.dtype) if is_half(x) else y, weight, None)


def _normalized(draw: Any) -> Any:
    return draw.array(draw.size("n", least=2), 3, low=0.2, high=2), {"p": draw.choice(1, 2, 3), "axis": draw.choice(-1, 0)}


@composite(laws=_normalized, public=False)
def normalize(F: Any, x: Any, /, *, p: float = 2.0, axis: int = -1, epsilon: float = 1e-12) -> Any:
    """x / max(norm, epsilon) along an axis, with the p-norm; zeros stay zeros."""
    return x / F.at_least(_norm(F, x, p, axis), epsilon)


def _norm(F: Any, x: Any, p: float, axis: int) -> Any:
    if p == 2:
        return F.norm2(x, axis=axis, keepdims=True)
    if p == float("inf"):
        return F.max(F.abs(x), axis=axis, keepdims=True)
    if p == 1:
        return F.sum(F.abs(x), axis=axis, keepdims=True)
    return F.sum(F.abs(x) ** p, axis=axis, keepdims=True) ** (1 / p)
