"""`tf.random_normal_initializer` and its like: functions of a shape and a dtype."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.tf.convert import constant, convert, fresh
from tapegrad.tf.dtypes import as_dtype, float32
from tapegrad.tf.export import export
from tapegrad.tf.random_functions import normal, uniform
from tapegrad.tf.random_stateless import stateless_normal, stateless_uniform
from tapegrad.tf.shapes import lengths
from tapegrad.tf.tensor import Tensor


class Initializer:
    """A function of a shape and a dtype that gives first values of variables."""

    def __call__(self, shape: Any, dtype: Any = float32, **kwargs: Any) -> Tensor:
        raise NotImplementedError

    def get_config(self) -> dict[str, Any]:
        """The arguments that it was made with."""
        return {k.lstrip("_"): v for k, v in vars(self).items()}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Any:
        """One made of such arguments."""
        config.pop("dtype", None)
        return cls(**config)


def _known_words(kwargs: dict[str, Any]) -> None:
    unknown = [k for k in kwargs if k not in ("partition_shape", "partition_offset", "layout")]
    if unknown:
        raise TypeError(f"Keyword argument should be one of ['partition_shape', 'partition_offset']. Received: {unknown[0]}")


@export("zeros_initializer")
class Zeros(Initializer):
    """Zeros."""

    def __call__(self, shape: Any, dtype: Any = float32, **kwargs: Any) -> Tensor:
        _known_words(kwargs)
        return fresh(np.zeros(lengths(shape), as_dtype(dtype).numpy))


@export("ones_initializer")
class Ones(Initializer):
    """Ones."""

    def __call__(self, shape: Any, dtype: Any = float32, **kwargs: Any) -> Tensor:
        _known_words(kwargs)
        return fresh(np.ones(lengths(shape), as_dtype(dtype).numpy))


@export("constant_initializer")
class Constant(Initializer):
    """One value, or these values."""

    def __init__(self, value: Any = 0, support_partition: bool = False) -> None:
        if not (np.isscalar(value) or isinstance(value, list | tuple | np.ndarray)):
            raise TypeError(
                f"Invalid type for initial value: {type(value).__name__}. "
                "Expected Python scalar, list or tuple of values, or numpy.ndarray."
            )
        self._value = value

    def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> Tensor:
        _known_words(kwargs)
        x = convert(self._value, None if dtype is None else as_dtype(dtype).numpy, prefer=True)
        size = lengths(shape)
        return constant(x, shape=size)


@export("random_uniform_initializer")
class RandomUniform(Initializer):
    """Numbers evenly spread over [minval, maxval)."""

    def __init__(self, minval: Any = -0.05, maxval: Any = 0.05, seed: Any = None) -> None:
        self._minval, self._maxval, self._seed = minval, maxval, seed

    def __call__(self, shape: Any, dtype: Any = float32, **kwargs: Any) -> Tensor:
        _known_words(kwargs)
        if self._seed is None:
            return uniform(shape, self._minval, self._maxval, dtype)
        return stateless_uniform(shape, [self._seed, 0], self._minval, self._maxval, dtype)


@export("random_normal_initializer")
class RandomNormal(Initializer):
    """Numbers of a normal distribution."""

    def __init__(self, mean: Any = 0.0, stddev: Any = 0.05, seed: Any = None) -> None:
        self._mean, self._stddev, self._seed = mean, stddev, seed

    def __call__(self, shape: Any, dtype: Any = float32, **kwargs: Any) -> Tensor:
        _known_words(kwargs)
        if self._seed is None:
            return normal(shape, self._mean, self._stddev, dtype)
        return stateless_normal(shape, [self._seed, 0], self._mean, self._stddev, dtype)
