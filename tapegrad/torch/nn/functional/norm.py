"""Normalisation, and dropout."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

import tapegrad.nn  # noqa: F401  declares its ops
from tapegrad.registry.batching import levels
from tapegrad.torch._inplace import update
from tapegrad.torch._memory_order import memory_order, permuted, restored
from tapegrad.torch._tensor import STYLE as S
from tapegrad.torch._tensor import wrap

__all__ = [
    "alpha_dropout", "batch_norm", "dropout", "dropout1d", "dropout2d", "dropout3d", "feature_alpha_dropout", "group_norm",
    "instance_norm", "layer_norm", "local_response_norm", "normalize", "rms_norm",
]  # fmt: skip


def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """`input` with mean 0 and variance 1 in each channel, of the batch or, where not `training`, of the running means."""
    shape = input.array.shape
    if training:
        count = math.prod(shape) // max(shape[1], 1)
        if count == 1 and math.prod(shape):
            raise ValueError(f"Expected more than 1 value per channel when training, got input size {input.shape}")
    if running_mean is not None and running_mean.array.shape != (shape[1],):
        raise RuntimeError(
            f"running_mean should contain {shape[1]} elements not {running_mean.array.shape[0]}"
        )
    if not training:
        return _as(input, S.batch_norm(input, weight, bias, running_mean, running_var, axis=1, epsilon=eps))
    y, mean, variance = S.batch_norm(input, weight, bias, axis=1, epsilon=eps, statistics=True)
    if running_mean is not None and count:  # nothing has no mean to move towards
        keep = count / (count - 1)  # the running variance is without bias
        _towards(running_mean, mean.array, momentum)
        _towards(running_var, variance.array * running_var.array.dtype.type(keep), momentum)
    return _as(input, y)


def _as(input: Any, y: Any) -> Any:
    """A result in the dtype of what was given: weights and running means may be longer."""
    return y if y.array.dtype == input.array.dtype else S.astype(y, input.array.dtype)


def _towards(running: Any, value: Any, momentum: float) -> None:
    """A running mean, one step nearer to a value."""
    from tapegrad.torch._modes import no_grad

    new = running.array * (1 - momentum) + momentum * value
    made = wrap(np.asarray(new).astype(running.array.dtype, copy=False))
    if running.node is None:
        update(running, _replaced, made, overwriting=True)
    else:
        with no_grad():
            update(running, _replaced, made, overwriting=True)


def _replaced(_: Any, value: Any) -> Any:
    return value


def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    """Each image with mean 0 and variance 1 in each channel."""
    if not use_input_stats:
        return S.batch_norm(input, weight, bias, running_mean, running_var, axis=1, epsilon=eps)
    shape = input.array.shape
    count = math.prod(shape[2:])
    if count == 1:
        raise ValueError(f"Expected more than 1 spatial element when training, got input size {input.shape}")
    if running_mean is not None:
        raw = np.asarray(input.read()[0])
        axes = tuple(range(2, raw.ndim))
        _towards(running_mean, raw.mean(axis=axes).mean(axis=0), momentum)
        _towards(running_var, raw.var(axis=axes, ddof=1).mean(axis=0), momentum)
    return S.instance_norm(input, weight, bias, axis=1, epsilon=eps)


def _last(input: Any, normalized_shape: Any, name: str) -> Any:
    """The last axes that are normalised over."""
    wanted = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    n = len(wanted)
    if input.array.shape[-n:] != wanted:
        raise RuntimeError(
            f"Given normalized_shape={list(wanted)}, expected input with shape [*, {', '.join(map(str, wanted))}], but got input of "
            f"size{list(input.array.shape)}"
        )
    return tuple(range(-n, 0))


def layer_norm(input: Any, normalized_shape: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """`input` with mean 0 and variance 1 over its last axes."""
    return _as_given(input, S.layer_norm(input, weight, bias, axis=_last(input, normalized_shape, "layer_norm"), epsilon=eps))


def rms_norm(input: Any, normalized_shape: Any, weight: Any = None, eps: float | None = None) -> Any:
    """`input` divided by the root of the mean square over its last axes."""
    axis = _last(input, normalized_shape, "rms_norm")
    if eps is None:  # half precision is computed in single
        eps = float(np.finfo(np.promote_types(np.float32, input.array.dtype)).eps)
    return S.rms_norm(input, weight, axis=axis, epsilon=eps)


def group_norm(input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """Each image with mean 0 and variance 1 in each group of channels."""
    shape = input.array.shape
    if len(shape) < 2:
        raise RuntimeError(f"Expected at least 2 dimensions for input tensor but received {len(shape)}")
    if num_groups <= 0 or shape[1] % num_groups:
        raise RuntimeError(
            f"Expected number of channels in input to be divisible by num_groups, but got input of shape {list(shape)} and "
            f"num_groups={num_groups}"
        )
    if math.prod(shape) == shape[0] * num_groups:
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {list(shape)}")
    return _as_given(input, S.group_norm(input, weight, bias, groups=num_groups, axis=1, epsilon=eps))


def _as_given(x: Any, y: Any) -> Any:
    """A result in the dtype of what was normalised: weights of a wider one don't widen it."""
    return y if y.array.dtype == x.array.dtype else S.astype(y, x.array.dtype)


def local_response_norm(input: Any, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0) -> Any:
    """`input` divided by (k + alpha mean(x**2))**beta over `size` neighbouring channels.

    A. Krizhevsky, I. Sutskever, G. Hinton, "ImageNet classification with deep convolutional neural networks", 2012, section 3.3.
    """
    from tapegrad.torch.nn.functional.images import avg_pool2d

    shape = input.array.shape
    if len(shape) < 3:
        raise ValueError(f"Expected 3D or higher dimensionality                          input (got {len(shape)} dimensions)")
    squares = S.reshape(S.square(input), (shape[0], 1, shape[1], math.prod(shape[2:])))
    padded = S.pad(squares, ((0, 0), (0, 0), (size // 2, (size - 1) // 2), (0, 0)))
    mean = S.reshape(avg_pool2d(padded, (size, 1), 1), shape)
    return S.divide(input, S.pow(S.add(S.multiply(mean, alpha), k), beta))


def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12, out: Any = None) -> Any:
    """`input` divided by its p-norm along an axis, which counts as `eps` at least."""
    from tapegrad.torch.linalg import vector_norm

    y = S.divide(input, S.clip(vector_norm(input, p, dim, True), eps, None))
    return y if out is None else out.copy_(y)


# -- dropout ---------------------------------------------------------------------------------------------------
def _checked(p: float) -> None:
    if p < 0.0 or p > 1.0:
        raise ValueError(f"dropout probability has to be between 0 and 1, but got {p}")


def _kept(input: Any, p: float, shape: Any) -> Any:
    """What each element is multiplied with: 0 with probability p, and else 1 / (1 - p)."""
    raw = _ones_and_zeros(input, p, shape)
    return wrap(raw / raw.dtype.type(1 - p) if p < 1 else raw)


def _ones_and_zeros(input: Any, p: float, shape: Any) -> Any:
    """Zeros with probability p, and ones, drawn in the order of memory where there is one for each element."""
    from tapegrad.torch import empty

    order = memory_order(input) if tuple(shape) == tuple(input.array.shape) else None
    size = tuple(shape) if order is None else permuted(shape, order)
    if type(input.array) is np.ndarray and not levels():
        from tapegrad.torch._functions.random import coins, drawn

        raw = drawn(size, coins(input.array.dtype, 1 - p), None)
        return raw if order is None else restored(raw, order)
    noise = empty(size, dtype=input.dtype, device=input.device).bernoulli_(1 - p)
    if order is None:
        return noise.array
    return restored(noise.array, order) if type(noise.array) is np.ndarray else S.permute_dims(noise, tuple(np.argsort(order))).array


def _dropped(input: Any, p: float, training: bool, inplace: bool, shape: Any = None) -> Any:
    if p < 0.0 or p > 1.0:
        _checked(p)
    if not training or p == 0:
        return input
    if p == 1:
        noise: Any = 0.0
    else:
        noise = _kept(input, p, input.array.shape if shape is None else shape)
    return update(input, S.multiply, noise) if inplace else S.multiply(input, noise)


def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Each element set to 0 with probability `p`, and the others divided by 1 - p."""
    return _dropped(input, p, training, inplace)


def _channels(input: Any, batched: bool) -> Any:
    shape = input.array.shape
    lead = shape[:2] if batched else shape[:1]
    return (*lead, *(1,) * (len(shape) - len(lead)))


def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Whole channels set to 0 with probability `p`, and the others divided by 1 - p."""
    n = len(input.array.shape)
    if n not in (2, 3):
        raise RuntimeError(f"dropout1d: Expected 2D or 3D input, but received a {n}D input. Note that dropout1d exists to provide "
                           "channel-wise dropout on inputs with 1 spatial dimension, a channel dimension, and an optional batch "
                           "dimension (i.e. 2D or 3D inputs).")  # fmt: skip
    return _dropped(input, p, training, inplace, _channels(input, n == 3))


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Whole channels set to 0 with probability `p`, and the others divided by 1 - p."""
    n = len(input.array.shape)
    if n not in (3, 4):
        _warn_of_axes("dropout2d", n, "3D or 4D inputs")
    elif n == 3:
        warnings.warn(
            "dropout2d: Received a 3D input to dropout2d and assuming that channel-wise 1D dropout behavior is desired - input is "
            "interpreted as shape (N, C, L), where C is the channel dim. Use dropout1d for that, or give the input a batch axis.",
            stacklevel=2,
        )
    return _dropped(input, p, training, inplace, _channels(input, True))


def _warn_of_axes(name: str, n: int, wanted: str) -> None:
    warnings.warn(
        f"{name}: Received a {n}-D input to {name}, which is deprecated and will result in an error in a future release. "
        f"It drops whole channels of {wanted}; for single elements there is dropout.",
        stacklevel=3,
    )


def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
    """Whole channels set to 0 with probability `p`, and the others divided by 1 - p."""
    n = len(input.array.shape)
    if n not in (4, 5):
        _warn_of_axes("dropout3d", n, "4D or 5D inputs")
    return _dropped(input, p, training, inplace, _channels(input, n != 4))


def _alpha(input: Any, p: float, training: bool, inplace: bool, shape: Any) -> Any:
    """Dropout to SELU's value at minus infinity, scaled so that mean and variance stay (G. Klambauer et al., 2017)."""
    _checked(p)
    if not training or p == 0:
        return input
    if p == 1:
        return S.multiply(input, 0.0)
    low = 1.7580993408473766
    a = 1 / math.sqrt((low * low * p + 1) * (1 - p))
    noise = _ones_and_zeros(input, p, shape)
    shift = wrap((noise - 1) * noise.dtype.type(low * a) + noise.dtype.type(low * a * p))
    factor = wrap(noise * noise.dtype.type(a))
    if inplace:
        return update(input, lambda x: S.add(S.multiply(x, factor), shift))
    return S.add(S.multiply(input, factor), shift)


def alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """Dropout for SELU, which keeps mean and variance."""
    return _alpha(input, p, training, inplace, input.array.shape)


def feature_alpha_dropout(input: Any, p: float = 0.5, training: bool = False, inplace: bool = False) -> Any:
    """`alpha_dropout` of whole channels."""
    return _alpha(input, p, training, inplace, _channels(input, True))
