"""Keras's random numbers, drawn by NumPy from the seeds that Keras keeps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy
from keras.src.backend import standardize_dtype
from keras.src.random.seed_generator import draw_seed

import tapegrad as tg
from tapegrad.core.tensor import Tensor
from tapegrad.keras.backend.core import convert_to_numpy, convert_to_tensor
from tapegrad.ops.convert import asarray
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


def _given(drawn: Any, dtype: Any) -> Any:
    return asarray(numpy.asarray(drawn), dtype=standardize_dtype(dtype))


def normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Numbers from a normal distribution."""
    return _given(_generator(seed).normal(_number(mean), _number(stddev), _sizes(shape)), dtype)


def uniform(shape: Any, minval: Any = 0.0, maxval: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Numbers evenly spread over [minval, maxval)."""
    return _given(_generator(seed).uniform(_number(minval), _number(maxval), _sizes(shape)), dtype)


def randint(shape: Any, minval: Any, maxval: Any, dtype: Any = "int32", seed: Any = None) -> Any:
    """Integers evenly spread over minval, ..., maxval - 1."""
    return _given(_generator(seed).integers(_number(minval), _number(maxval), _sizes(shape)), dtype)


def truncated_normal(shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = None, seed: Any = None) -> Any:
    """Numbers from a normal distribution, drawn anew if they are two standard deviations or more away from its mean."""
    generator, shape = _generator(seed), _sizes(shape)
    drawn = generator.standard_normal(math.prod(shape))
    while (far := numpy.abs(drawn) >= 2).any():
        drawn[far] = generator.standard_normal(int(far.sum()))
    return _given(drawn.reshape(shape) * _number(stddev) + _number(mean), dtype)


def categorical(logits: Any, num_samples: int, dtype: Any = "int64", seed: Any = None) -> Any:
    """Classes drawn with the probabilities softmax(logits), (n, classes) -> (n, num_samples)."""
    generator = _generator(seed)
    odds = convert_to_numpy(tg.nn.softmax(convert_to_tensor(logits))).astype(numpy.float64)
    sums = numpy.cumsum(odds, axis=-1)
    drawn = generator.random((*odds.shape[:-1], num_samples)) * sums[..., -1:]
    return _given((drawn[..., None] >= sums[..., None, :]).sum(-1), dtype)


def shuffle(x: Any, axis: int = 0, seed: Any = None) -> Any:
    """The slices along an axis in random order."""
    x = convert_to_tensor(x)
    return F.take(x, _generator(seed).permutation(x.shape[axis]), axis=axis)


def dropout(inputs: Any, rate: float, noise_shape: Any = None, seed: Any = None) -> Any:
    """`inputs` with elements set to 0 with probability `rate`, and the others divided by 1 - rate."""
    x = convert_to_tensor(inputs)
    if rate == 1.0:
        return F.zeros_like(x)
    if rate == 0.0:
        return x
    sizes = x.shape if noise_shape is None else [n if k is None else k for k, n in zip(noise_shape, x.shape, strict=True)]
    kept = _generator(seed).random(_sizes(sizes)) < 1 - rate
    return x * _given(kept * (1 / (1 - rate)), x.array.dtype)


def _drawn(name: str, *parameters: str) -> Callable[..., Any]:
    """One of NumPy's distributions, whose parameters come after the shape."""

    def run(shape: Any, *args: Any, dtype: Any = None, seed: Any = None, **words: Any) -> Any:
        args = tuple(_number(x) for x in (*args, *(words[p] for p in parameters[len(args) :])))
        return _given(getattr(_generator(seed), name)(*args, size=_sizes(shape)), dtype)

    run.__name__ = run.__qualname__ = name
    return run


gamma = _drawn("gamma", "alpha")
beta = _drawn("beta", "alpha", "beta")
binomial = _drawn("binomial", "counts", "probabilities")


def install(names: dict[str, Any]) -> None:
    """Put these in the place of what Keras ships."""
    names.update({name: globals()[name] for name in __all__})
