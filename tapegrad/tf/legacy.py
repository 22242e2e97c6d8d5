"""Names of `tf.compat` and TensorFlow 1 that eager scripts still use, and names that say what is not here."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from tapegrad.tf.convert import cast, convert
from tapegrad.tf.export import EXPORTS, export
from tapegrad.tf.gathering import where
from tapegrad.tf.nn_losses import sigmoid_cross_entropy_with_logits, softmax_cross_entropy_with_logits
from tapegrad.tf.nn_losses import sparse_softmax_cross_entropy_with_logits as sparse_cross_entropy
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor


@export("compat.as_text", "compat.as_str")
def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Text of bytes or text."""
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


@export("compat.as_bytes")
def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """Bytes of bytes or text."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes | bytearray):
        return bytes(bytes_or_text)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


@export("compat.as_str_any")
def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Text of anything."""
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


@export("compat.v1.enable_eager_execution", "compat.v1.enable_v2_behavior", "compat.v1.enable_resource_variables")
def enable(*args: Any, **words: Any) -> None:
    """Accepted: it is so anyway."""


@export("compat.v1.disable_eager_execution", "compat.v1.disable_v2_behavior")
def disable(*args: Any, **words: Any) -> NoReturn:
    """Raises NotImplementedError: there are no graphs here."""
    raise NotImplementedError("tapegrad's TensorFlow-style facade runs eagerly; graphs and sessions of TensorFlow 1 are not here")


def _without(name: str, why: str) -> None:
    def __init__(self: Any, *args: Any, **words: Any) -> None:
        raise NotImplementedError(f"tf.{name}: {why}")

    names = {"__init__": __init__, "__doc__": f"Raises NotImplementedError: {why}.", "__module__": "tapegrad.tf"}
    export(name)(type(name.rpartition(".")[2], (), names))


def _assignment(name: str) -> None:
    @export(f"compat.v1.{name}")
    def assign(ref: Any, value: Any, validate_shape: Any = None, use_locking: bool | None = None, name: str | None = None) -> Any:
        return getattr(ref, assign.__name__)(value)

    assign.__name__ = assign.__qualname__ = name
    assign.__doc__ = f"`variable.{name}(value)`, by the name that it had as a function."


for _name in ("assign", "assign_add", "assign_sub"):
    _assignment(_name)


@export("compat.v1.ConfigProto", "compat.v1.GPUOptions")
class Settings:
    """Settings of a process, as scripts of TensorFlow 2 make them for its GPUs: any can be set, none has an effect."""

    def __init__(self, **words: Any) -> None:
        self.__dict__.update(words)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.__dict__.setdefault(name, Settings())


@export("compat.v1.Session", "compat.v1.InteractiveSession")
class Session:
    """A session that is made for its settings alone; raises NotImplementedError without them, and where it is to run a graph."""

    def __init__(self, target: str = "", graph: Any = None, config: Any = None) -> None:
        if config is None or graph is not None:
            self.run()

    def run(self, *args: Any, **words: Any) -> NoReturn:
        """Raises NotImplementedError."""
        raise NotImplementedError(
            f"tf.compat.v1.{type(self).__name__}: there are no graphs and sessions here; run the ops as they stand"
        )

    def close(self) -> None:
        """Nothing was opened."""


@export("compat.v1.where")
def where_by_rows(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """`tf.where`; a condition that is a vector takes whole rows."""
    c = convert(condition)
    rank = 0 if x is None else convert(x).array.ndim
    if c.array.ndim == 1 < rank:
        c = S.reshape(c, (-1,) + (1,) * (rank - 1))
    found: Tensor = where(c) if x is None and y is None else where(c, x, y)
    return found


for _name in ("Graph", "compat.v1.Graph"):
    _without(_name, "there are no graphs and sessions here; run the ops as they stand")


def _absent(name: str, why: str) -> None:
    def refuse(*args: Any, **words: Any) -> NoReturn:
        raise NotImplementedError(f"tf.{name}: {why}")

    refuse.__name__ = refuse.__qualname__ = name.rpartition(".")[2]
    refuse.__doc__ = f"Raises NotImplementedError: {why}."
    export(name)(refuse)


for _name in ("compat.v1.placeholder", "compat.v1.global_variables_initializer", "compat.v1.get_variable"):
    _absent(_name, "there are no graphs and sessions here")


class _Converter:
    """Raises NotImplementedError: models are not converted here."""

    @staticmethod
    def _refuse(*args: Any, **words: Any) -> NoReturn:
        raise NotImplementedError(
            "tf.lite.TFLiteConverter: tapegrad has no graph to convert; save the weights and convert with TensorFlow"
        )

    from_keras_model = from_saved_model = from_concrete_functions = _refuse


EXPORTS["lite.TFLiteConverter"] = _Converter


# -- losses of TensorFlow 1: weighted means ----------------------------------------------------------------
def _weighted(losses: Tensor, weights: Any) -> Tensor:
    """The weighted sum divided by the number of weights that are not zero."""
    w = S.broadcast_to(convert(weights, losses.array.dtype, prefer=True), losses.array.shape)
    count = max(int(np.count_nonzero(w.array)), 1)
    return S.divide(S.sum(S.multiply(losses, w)), losses.array.dtype.type(count))


@export("compat.v1.losses.sigmoid_cross_entropy")
def sigmoid_cross_entropy(
    multi_class_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: Any = None, **words: Any
) -> Tensor:
    """The mean cross-entropy of sigmoids."""
    x = convert(logits)
    z = cast(convert(multi_class_labels), x.dtype)
    if label_smoothing > 0:
        z = S.add(S.multiply(z, 1 - label_smoothing), 0.5 * label_smoothing)
    return _weighted(sigmoid_cross_entropy_with_logits(z, x), weights)


@export("compat.v1.losses.softmax_cross_entropy")
def softmax_cross_entropy(
    onehot_labels: Any, logits: Any, weights: Any = 1.0, label_smoothing: float = 0, scope: Any = None, **words: Any
) -> Tensor:
    """The mean cross-entropy of softmax."""
    x = convert(logits)
    z = cast(convert(onehot_labels), x.dtype)
    if label_smoothing > 0:
        z = S.add(S.multiply(z, 1 - label_smoothing), label_smoothing / x.array.shape[-1])
    return _weighted(softmax_cross_entropy_with_logits(z, x), weights)


@export("compat.v1.losses.sparse_softmax_cross_entropy")
def sparse_softmax_cross_entropy(labels: Any, logits: Any, weights: Any = 1.0, scope: Any = None, **words: Any) -> Tensor:
    """The mean cross-entropy of softmax at integer labels."""
    y, x = convert(labels), convert(logits)
    if y.array.ndim == x.array.ndim:
        y = S.squeeze(y, (-1,))
    return _weighted(sparse_cross_entropy(y, x), weights)


@export("compat.v1.losses.mean_squared_error")
def mean_squared_error(labels: Any, predictions: Any, weights: Any = 1.0, scope: Any = None, **words: Any) -> Tensor:
    """The mean squared difference."""
    x = convert(predictions)
    return _weighted(S.square(S.subtract(x, cast(convert(labels), x.dtype))), weights)


@export("compat.v1.losses.absolute_difference")
def absolute_difference(labels: Any, predictions: Any, weights: Any = 1.0, scope: Any = None, **words: Any) -> Tensor:
    """The mean absolute difference."""
    x = convert(predictions)
    return _weighted(S.abs(S.subtract(x, cast(convert(labels), x.dtype))), weights)


@export("compat.v1.losses.huber_loss")
def huber_loss(labels: Any, predictions: Any, weights: Any = 1.0, delta: float = 1.0, scope: Any = None, **words: Any) -> Tensor:
    """The mean of half the square of small differences, and of large ones the difference."""
    x = convert(predictions)
    far = S.abs(S.subtract(x, cast(convert(labels), x.dtype)))
    near = S.minimum(far, x.array.dtype.type(delta))
    return _weighted(S.add(S.multiply(0.5, S.square(near)), S.multiply(delta, S.subtract(far, near))), weights)
