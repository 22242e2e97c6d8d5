"""Keras's random numbers, drawn by NumPy from the seeds that Keras keeps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy
from keras.src.backend import standardize_dtype
from keras.src.random.seed_generator import draw_seed

import tapegrad as tg
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


def _generator(seed: Any) -> numpy.random.Generator:
    return numpy.random.default_rng(convert_to_numpy(draw_seed(seed)))


def _sizes(shape: Any) -> tuple[int, ...]:
    return tuple(int(n) for n in shape)


def _number(x: Any) -> Any:
    return convert_to_numpy(x) if isinstance(x, Tensor) or hasattr(x, "__tapegrad_tensor__") else x


def _drawn_as(what: str, draw: Callable[[], Any], shape: Any, dtype: Any) -> Any:
    """A tensor of numbers that are drawn now, or in each call of the function that is being compiled."""
    kind = DTYPES[standardize_dtype(dtype)] if standardize_dtype(dtype) in DTYPES else as_dtype(standardize_dtype(dtype))
    return tensor(drawn_by(f"keras.random.{what}", lambda: numpy.asarray(draw()).astype(kind)[()], _sizes(shape), kind))


def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Numbers from a normal distribution."""
    return _drawn_as("normal", lambda: _generator(seed).normal(_number(mean), _number(stddev), _sizes(shape)), shape, dtype)


def uniform(shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Numbers evenly spread over [minval, maxval)."""
    return _drawn_as("uniform", lambda: _generator(seed).uniform(_number(minval), _number(maxval), _sizes(shape)), shape, dtype)


def randint(shape: Any, minval: Any, maxval: Any, dtype: Any = "int32", seed: Any = None) -> Any:
    """Integers evenly spread over minval, ..., maxval - 1."""
    return _drawn_as("randint", lambda: _generator(seed).integers(_number(minval), _number(maxval), _sizes(shape)), shape, dtype)


def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Numbers from a normal distribution, drawn anew if they are two standard deviations or more away from its mean."""
    size = _sizes(shape)

    def draw() -> Any:
        generator = _generator(seed)
        drawn = generator.standard_normal(math.prod(size))
        while (far := numpy.abs(drawn) >= 2).any():
            drawn[far] = generator.standard_normal(int(far.sum()))
        return drawn.reshape(size) * _number(stddev) + _number(mean)

    return _drawn_as("truncated_normal", draw, size, dtype)


def categorical(logits: Any, num_samples: int, dtype: Any = "int64", seed: Any = None) -> Any:
    """Classes drawn with the probabilities softmax(logits), (n, classes) -> (n, num_samples)."""
    odds = F.cast(tg.nn.softmax(convert_to_tensor(logits)), numpy.dtype(numpy.float64))
    sums = F.cumulative_sum(odds, axis=-1)
    size = (*odds.shape[:-1], num_samples)
    drawn = _drawn_as("categorical", lambda: _generator(seed).random(size), size, "float64") * sums[..., -1:]
    found = F.greater_equal(F.expand_dims(drawn, axis=-1), F.expand_dims(sums, axis=-2))
    return F.astype(F.sum(F.astype(found, numpy.dtype(numpy.int64)), axis=-1), standardize_dtype(dtype))


def shuffle(x: Any, axis: int = 0, seed: Any = None) -> Any:
    """The slices along an axis in random order."""
    x = convert_to_tensor(x)
    n = x.shape[axis]
    return F.take(x, _drawn_as("shuffle", lambda: _generator(seed).permutation(n), (n,), "int64"), axis=axis)


def dropout(inputs: Any, rate: float, noise_shape: Any = None, seed: Any = None) -> Any:
    """`inputs` with elements set to 0 with probability `rate`, and the others divided by 1 - rate."""
    x = convert_to_tensor(inputs)
    if rate == 1.0:
        return F.zeros_like(x)
    if rate == 0.0:
        return x
    sizes = x.shape if noise_shape is None else [n if k is None else k for k, n in zip(noise_shape, x.shape, strict=True)]
    size = _sizes(sizes)
    kept = _drawn_as("dropout", lambda: (_generator(seed).random(size) < 1 - rate) * (1 / (1 - rate)), size, x.array.dtype)
    return x * kept


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
