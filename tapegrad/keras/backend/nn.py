"""Keras's functions of neural networks: each is one of tapegrad's, with Keras's arguments."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy
from keras.src import backend
from keras.src.backend.common.variables import shape_equal

import tapegrad as tg
from tapegrad.keras import logits
from tapegrad.keras.backend.core import cast, convert_to_tensor, standardize_shape
from tapegrad.keras.backend.nn_attention import *  # noqa: F403  as below
from tapegrad.keras.backend.nn_images import *  # noqa: F403  they are part of this module to Keras
from tapegrad.keras.backend.nn_sequences import *  # noqa: F403  as above
from tapegrad.keras.backend.values import by_values
from tapegrad.registry.places import has_values
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from collections.abc import Callable


# -- activations -----------------------------------------------------------------------------------------------
def _activation(name: str, function: Any) -> Callable[..., Any]:
    def run(x: Any) -> Any:
        return _kept(function, x)

    run.__name__ = run.__qualname__ = name
    return run


def _kept(function: Any, x: Any, **words: Any) -> Any:
    """The function of x in the dtype of x: with bfloat16, numbers of Python make it float32."""
    x = _float(x)
    y = function(x, **words)
    return y if y.array.dtype == x.array.dtype else F.astype(y, x.array.dtype)


def _float(x: Any) -> Any:
    x = convert_to_tensor(x)
    return x if x.array.dtype.kind not in "biu" else F.astype(x, backend.floatx())


relu = _activation("relu", tg.nn.relu)
relu6 = _activation("relu6", tg.nn.relu6)
tanh = _activation("tanh", F.tanh)
softplus = _activation("softplus", tg.nn.softplus)
softsign = _activation("softsign", tg.nn.softsign)
silu = _activation("silu", tg.nn.silu)
log_sigmoid = _activation("log_sigmoid", tg.nn.logsigmoid)
selu = _activation("selu", tg.nn.selu)
hard_sigmoid = _activation("hard_sigmoid", tg.nn.hardsigmoid)
hard_silu = _activation("hard_silu", tg.nn.hardswish)
tanh_shrink = _activation("tanh_shrink", tg.nn.tanhshrink)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    x = _float(x)
    y = _kept(tg.nn.sigmoid, x)
    logits.note(y, x, "sigmoid")
    return y


def leaky_relu(x: Any, negative_slope: float = 0.2) -> Any:
    """x where it is positive, else a part of it."""
    return _kept(tg.nn.leaky_relu, x, slope=float(negative_slope))


def elu(x: Any, alpha: float = 1.0) -> Any:
    """x where it is positive, else alpha (exp(x) - 1)."""
    return _kept(tg.nn.elu, x, alpha=float(alpha))


def celu(x: Any, alpha: float = 1.0) -> Any:
    """x where it is positive, else alpha (exp(x / alpha) - 1)."""
    return _kept(tg.nn.celu, x, alpha=float(alpha))


def gelu(x: Any, approximate: bool = True) -> Any:
    """x times the probability that a normal number is below it."""
    return _kept(tg.nn.gelu, x, approximate="tanh" if approximate else "none")


def softmax(x: Any, axis: Any = -1) -> Any:
    """exp(x) in parts of its sum."""
    x = _float(x)
    y = tg.nn.softmax(x, axis=axis)
    if axis in (-1, x.ndim - 1):
        logits.note(y, x, "softmax")
    return y


def log_softmax(x: Any, axis: Any = -1) -> Any:
    """The logarithm of softmax."""
    return tg.nn.log_softmax(_float(x), axis=axis)


# -- labels ----------------------------------------------------------------------------------------------------
def one_hot(x: Any, num_classes: int, axis: int = -1, dtype: Any = None, sparse: bool = False) -> Any:
    """1 at the position of each label, else 0, along a new axis; all 0 for what is no label."""
    if sparse:
        raise ValueError("Unsupported value `sparse=True` with tapegrad as Keras's backend")
    x = convert_to_tensor(x)
    if not num_classes:
        num_classes = int(F.max(x)) + 1
    place = axis if axis >= 0 else x.ndim + 1 + axis
    classes = F.reshape(F.astype(F.arange(num_classes), x.array.dtype), (-1, *(1,) * (x.ndim - place)))
    return F.astype(F.equal(F.expand_dims(x, axis=place), classes), backend.standardize_dtype(dtype or "float32"))


# -- losses ----------------------------------------------------------------------------------------------------
def _pair(target: Any, output: Any, dtype: Any = None) -> tuple[Any, Any]:
    target, output = convert_to_tensor(target, dtype), convert_to_tensor(output)
    return target, output


def _of_logits(output: Any, from_logits: bool, function: str, loss: str) -> tuple[Any, bool]:
    """What a loss is computed from, and whether these are logits: those of probabilities where they are known."""
    found = logits.noted(output, function)
    if found is None:
        return output, from_logits
    if from_logits:
        warnings.warn(
            f"`{loss}` received `from_logits=True`, but the `output` argument was produced by a {function.title()} activation "
            "and thus does not represent logits. Was this intended?",
            stacklevel=2,
        )
    return found, True


def _agree(shape: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether two shapes are equal, as far as their lengths are known while a function is compiled."""
    return shape == other or shape_equal(standardize_shape(shape), standardize_shape(other))


def _same_shape(target: Any, output: Any, rank: int) -> None:
    if not _agree(target.shape, output.shape):
        raise ValueError(
            "Arguments `target` and `output` must have the same shape. "
            f"Received: target.shape={target.shape}, output.shape={output.shape}"
        )
    if output.ndim < rank:
        raise ValueError(
            f"Arguments `target` and `output` must be at least rank {rank}. "
            f"Received: target.shape={target.shape}, output.shape={output.shape}"
        )


def _inside(output: Any) -> Any:
    """Probabilities kept away from 0 and 1."""
    return F.clip(output, backend.epsilon(), 1.0 - backend.epsilon())


def _log_probabilities(output: Any, from_logits: bool, axis: int) -> Any:
    if from_logits:
        return log_softmax(output, axis=axis)
    return F.log(_inside(output / F.sum(output, axis=axis, keepdims=True)))


def categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    """-sum(target * log(probabilities)) along an axis."""
    target, output = _pair(target, output)
    _same_shape(target, output, 1)
    if axis in (-1, output.ndim - 1):
        output, from_logits = _of_logits(output, from_logits, "softmax", "categorical_crossentropy")
    return -F.sum(cast(target, output.dtype) * _log_probabilities(output, from_logits, axis), axis=axis)


def sparse_categorical_crossentropy(target: Any, output: Any, from_logits: bool = False, axis: int = -1) -> Any:
    """-log(probabilities[target]) along an axis; 0 where a target is negative."""
    target, output = _pair(target, output, "int32")
    if target.ndim == output.ndim and target.shape[-1] == 1:
        target = F.squeeze(target, -1)
    if output.ndim < 1:
        raise ValueError(f"Argument `output` must be at least rank 1. Received: output.shape={output.shape}")
    axis = axis % output.ndim
    if axis == output.ndim - 1:
        output, from_logits = _of_logits(output, from_logits, "softmax", "sparse_categorical_crossentropy")
    sizes = output.shape
    if not _agree(target.shape, (*sizes[:axis], *sizes[axis + 1 :])):
        raise ValueError(
            "Arguments `target` and `output` must have the same shape up until the last dimension: "
            f"target.shape={target.shape}, output.shape={output.shape}"
        )
    logs = _log_probabilities(output, from_logits, axis)
    if has_values(target.array) and (numpy.asarray(target.array) >= 0).all():
        return -F.squeeze(F.take_along_axis(logs, F.expand_dims(target, axis=axis), axis=axis), axis)
    index = F.expand_dims(F.maximum(target, 0), axis=axis)
    picked = F.squeeze(F.take_along_axis(logs, index, axis=axis), axis)
    return F.where(F.greater_equal(target, 0), -picked, 0.0)


def binary_crossentropy(target: Any, output: Any, from_logits: bool = False) -> Any:
    """-(target log(p) + (1 - target) log(1 - p)) for each element."""
    target, output = _pair(target, output)
    _same_shape(target, output, 0)
    output, from_logits = _of_logits(output, from_logits, "sigmoid", "binary_crossentropy")
    target = cast(target, output.dtype)
    if from_logits:
        return tg.nn.binary_cross_entropy_with_logits(output, target, reduction="none")
    p = _inside(output)
    return -(target * F.log(p) + (1.0 - target) * F.log(1.0 - p))


# -- normalisation ---------------------------------------------------------------------------------------------
def moments(x: Any, axes: Any, keepdims: bool = False, synchronized: bool = False) -> tuple[Any, Any]:
    """Mean and variance over axes; of float16 in float32.  There is one device, with which nothing has to be synchronized."""
    x = convert_to_tensor(x)
    axes = tuple(axes) if isinstance(axes, list) else axes
    kept = x.array.dtype
    if kept == numpy.float16:
        x = F.astype(x, numpy.float32)
    mean = F.mean(x, axis=axes, keepdims=True)
    variance = F.mean(F.square(x - mean), axis=axes, keepdims=True)
    found = [mean, variance]
    if not keepdims:
        found = [F.squeeze(v, axes) for v in found]
    if kept == numpy.float16:
        info = numpy.finfo(kept)
        found = [F.astype(F.clip(v, float(info.min), float(info.max)), kept) for v in found]
    return found[0], found[1]


def batch_normalization(
    x: Any, mean: Any, variance: Any, axis: int, offset: Any = None, scale: Any = None, epsilon: float = 1e-3
) -> Any:
    """(x - mean) / sqrt(variance + epsilon) * scale + offset, with statistics along one axis."""
    x = convert_to_tensor(x)
    shape = tuple(-1 if i == axis % x.ndim else 1 for i in range(x.ndim))
    mean, variance = (F.reshape(cast(v, x.dtype), shape) for v in (mean, variance))
    factor = (variance + epsilon) ** -0.5
    if scale is not None:
        factor = factor * F.reshape(cast(scale, x.dtype), shape)
    y = (x - mean) * factor
    return y if offset is None else y + F.reshape(cast(offset, x.dtype), shape)


__all__ = [
    name
    for name, value in list(globals().items())
    if callable(value) and not name.startswith("_") and getattr(value, "__module__", "").startswith("tapegrad.keras.backend.nn")
]


def install(names: dict[str, Any]) -> None:
    """Put these in the place of what Keras ships."""
    by_values(names, ("ctc_decode",))
    names.update({name: globals()[name] for name in __all__})
