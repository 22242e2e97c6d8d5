"""Keras's random numbers: for the seeds that Keras keeps, those that it has on TensorFlow.

Gamma, beta and binomial numbers repeat for a seed, but are drawn by NumPy.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy
from keras.src.backend import floatx, standardize_dtype
from keras.src.random.seed_generator import draw_seed

from tapegrad import philox
from tapegrad.core.tensor import Tensor, tensor
from tapegrad.dtypes import as_dtype
from tapegrad.keras.backend.core import DTYPES, convert_to_numpy, convert_to_tensor
from tapegrad.random import drawn_by
from tapegrad.registry.space import F

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "beta",
    "binomial",
    "categorical",
    "dropout",
    "gamma",
    "normal",
    "randint",
    "shuffle",
    "truncated_normal",
    "uniform",
]

#: Keras makes seeds 32 bits wide before TensorFlow's kernels see them: the rest of the division by this.
_SEEDS = 2**31 - 2


def _seeds(seed: Any) -> list[int]:
    return [int(n) % _SEEDS for n in convert_to_numpy(draw_seed(seed))]


def _generator(seed: Any) -> numpy.random.Generator:
    return numpy.random.default_rng(_seeds(seed))


def _philox(draw: Callable[..., Any], size: tuple[int, ...], seed: Any, *more: Any) -> Any:
    """Numbers that a seed and the bits of Philox decide."""
    return draw(*philox.scrambled(_seeds(seed)), math.prod(size), *more).reshape(size)


def _sizes(shape: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in shape)


def _number(x: Any) -> Any:
    return convert_to_numpy(x) if isinstance(x, Tensor) or hasattr(x, "__tapegrad_tensor__") else x


def _kind(dtype: Any) -> Any:
    name = standardize_dtype(dtype or floatx())
    return DTYPES[name] if name in DTYPES else as_dtype(name)


def _drawn_as(what: str, draw: Callable[[], Any], shape: Any, dtype: Any) -> Any:
    """A tensor of numbers that are drawn now, or in each call of the function that is being compiled."""
    kind = _kind(dtype)
    return tensor(drawn_by(f"keras.random.{what}", lambda: numpy.asarray(draw()).astype(kind)[()], _sizes(shape), kind))


def _moved(what: str, draw: Callable[..., Any], shape: Any, mean: Any, stddev: Any, dtype: Any, seed: Any) -> Any:
    size, kind = _sizes(shape), _kind(dtype)

    def numbers() -> Any:
        drawn = _philox(draw, size, seed, kind)
        return drawn * numpy.asarray(_number(stddev), kind) + numpy.asarray(_number(mean), kind)

    return _drawn_as(what, numbers, size, dtype)


def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Numbers from a normal distribution."""
    return _moved("normal", philox.normal, shape, mean, stddev, dtype, seed)


def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Numbers from a normal distribution, drawn anew if they are two standard deviations or more away from its mean."""
    return _moved("truncated_normal", philox.truncated_normal, shape, mean, stddev, dtype, seed)


def uniform(shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Numbers evenly spread over [minval, maxval)."""
    size, kind = _sizes(shape), _kind(dtype)

    def numbers() -> Any:
        low, high = (numpy.asarray(_number(v), kind) for v in (minval, maxval))
        return _philox(philox.uniform, size, seed, kind) * (high - low) + low

    return _drawn_as("uniform", numbers, size, dtype)


def randint(shape: Any, minval: Any, maxval: Any, dtype: Any = "int32", seed: Any = None) -> Any:
    """Integers evenly spread over minval, ..., maxval - 1."""
    size, name = _sizes(shape), standardize_dtype(dtype)
    low, high = int(_number(minval)), int(_number(maxval))
    if low >= high:
        raise ValueError(f"keras.random.randint(minval, maxval): expected minval < maxval, got {low} and {high}")
    wide = numpy.dtype(name if name in ("int32", "int64") else "int64")
    return _drawn_as("randint", lambda: _philox(philox.integers, size, seed, low, high, wide), size, name)


def categorical(logits: Any, num_samples: int, dtype: Any = "int64", seed: Any = None) -> Any:
    """Classes drawn with the probabilities softmax(logits), (n, classes) -> (n, num_samples)."""
    x = F.cast(convert_to_tensor(logits), DTYPES["float64"])
    size = (*x.shape[:-1], int(num_samples))
    sums = F.cumulative_sum(F.exp(x - F.max(x, axis=-1, keepdims=True)), axis=-1)
    drawn = _drawn_as("categorical", lambda: _philox(philox.uniform, size, seed, DTYPES["float64"]), size, "float64")
    found = F.greater_equal(F.expand_dims(drawn * sums[..., -1:], axis=-1), F.expand_dims(sums, axis=-2))
    return F.astype(F.sum(F.astype(found, DTYPES["int64"]), axis=-1), standardize_dtype(dtype))


def shuffle(x: Any, axis: int = 0, seed: Any = None) -> Any:
    """The slices along an axis in random order."""
    x = convert_to_tensor(x)
    n = x.shape[axis]

    def order() -> Any:
        return numpy.argsort(_philox(philox.uniform, (n,), seed, DTYPES["float32"]), kind="stable")

    return F.take(x, _drawn_as("shuffle", order, (n,), "int64"), axis=axis)


def dropout(inputs: Any, rate: float, noise_shape: Any = None, seed: Any = None) -> Any:
    """`inputs` with elements set to 0 with probability `rate`, and the others divided by 1 - rate."""
    x = convert_to_tensor(inputs)
    if rate == 1.0:
        return F.zeros_like(x)
    if rate == 0.0:
        return x
    sizes = x.shape if noise_shape is None else [n if k is None else k for k, n in zip(noise_shape, x.shape, strict=True)]
    size, kind = _sizes(sizes), x.array.dtype
    scale, least = kind.type(1 / (1 - rate)), kind.type(rate)
    return x * _drawn_as("dropout", lambda: (_philox(philox.uniform, size, seed, kind) >= least) * scale, size, kind)


def _drawn(name: str, *parameters: str) -> Callable[..., Any]:
    """One of NumPy's distributions, whose parameters come after the shape."""

    def run(shape: Any, *args: Any, dtype: Any = None, seed: Any = None, **words: Any) -> Any:
        args = tuple(_number(x) for x in (*args, *(words[p] for p in parameters[len(args) :])))
        return _drawn_as(name, lambda: getattr(_generator(seed), name)(*args, size=_sizes(shape)), shape, dtype)

    run.__name__ = run.__qualname__ = name
    return run


gamma = _drawn("gamma", "alpha")
beta = _drawn("beta", "alpha", "beta")
binomial = _drawn("binomial", "counts", "probabilities")


def install(names: dict[str, Any]) -> None:
    """Put these in the place of what Keras ships."""
    names.update({name: globals()[name] for name in __all__})
