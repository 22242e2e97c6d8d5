"""Random numbers of which a seed of two integers says all; they are TensorFlow's, but for gamma, Poisson and binomial."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad import philox
from tapegrad.registry.backends import placed
from tapegrad.tf.convert import convert, fresh, host, integer
from tapegrad.tf.dtypes import as_dtype, float32, int32, int64
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.random_functions import _floating, _moved, gammas, spread
from tapegrad.tf.shapes import lengths
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor, made


def state_of(seed: Any, alg: Any) -> tuple[int, int]:
    """Counter and key of a stream of Philox, for a seed of two numbers."""
    if alg not in ("auto_select", "philox", 1, 3) and getattr(alg, "value", None) not in (1, 3):
        raise ValueError(f"alg={alg!r}: tapegrad has the algorithm 'philox'")
    raw = host(seed)
    if raw.shape != (2,) or raw.dtype.kind not in "iu":
        raise invalid(None, f"seed must have shape [2], not {list(raw.shape)}")
    return philox.scrambled(raw.tolist())


def _made(draw: Any, shape: Any, seed: Any, alg: str, dtype: np.dtype[Any]) -> Any:
    size = lengths(shape)
    found = draw(*state_of(seed, alg), int(np.prod(size, dtype=int))).reshape(size).astype(dtype, copy=False)
    return placed(found if size else found[()])


@export("random.stateless_uniform")
def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Numbers evenly spread over [minval, maxval); for integers, over all of them if both are None."""
    wanted = as_dtype(dtype)
    if wanted.is_integer:
        if (minval is None) != (maxval is None):
            raise ValueError("For integer dtype, minval and maxval must be both `None` or both non-`None`.")
        if minval is None:
            raw = _made(philox.bits64 if wanted.size == 8 else philox.bits, shape, seed, alg, wanted.numpy)
        else:
            if maxval is None or int(minval) >= int(maxval):
                raise invalid(None, f"Need minval < maxval, got {minval} >= {maxval}")
            low, high = int(minval), int(maxval)
            raw = _made(lambda c, k, n: philox.integers(c, k, n, low, high, wanted.numpy), shape, seed, alg, wanted.numpy)
        return made(raw)
    floating = _floating(dtype)
    raw = _made(lambda c, k, n: philox.uniform(c, k, n, floating), shape, seed, alg, floating)
    return spread(raw, 0 if minval is None else minval, 1 if maxval is None else maxval, floating)


@export("random.stateless_normal")
def stateless_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Numbers of a normal distribution."""
    wanted = _floating(dtype)
    return _moved(_made(lambda c, k, n: philox.normal(c, k, n, wanted), shape, seed, alg, wanted), mean, stddev, wanted)


@export("random.stateless_truncated_normal")
def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Tensor:
    """Numbers of a normal distribution, drawn again where they are more than two standard deviations away."""
    wanted = _floating(dtype)
    return _moved(_made(lambda c, k, n: philox.truncated_normal(c, k, n, wanted), shape, seed, alg, wanted), mean, stddev, wanted)


def _generator(seed: Any) -> np.random.Generator:
    return np.random.default_rng([int(s) & (2**64 - 1) for s in host(seed)])


@export("random.stateless_categorical")
def stateless_categorical(logits: Any, num_samples: Any, seed: Any, dtype: Any = int64, name: str | None = None) -> Tensor:
    """Classes drawn for each row of logits."""
    raw = np.asarray(convert(logits).array)
    size = (len(raw), integer(num_samples))
    drawn = philox.uniform(*state_of(seed, "philox"), size[0] * size[1], np.dtype(np.float64)).reshape(size)
    return fresh(philox.categorical(raw, drawn).astype(as_dtype(dtype).numpy))


@export("random.stateless_gamma")
def stateless_gamma(shape: Any, seed: Any, alpha: Any, beta: Any = None, dtype: Any = float32, name: str | None = None) -> Tensor:
    """Numbers of gamma distributions, which move with `alpha` and `beta`."""
    wanted = _floating(dtype)
    a, b = (convert(v, wanted, prefer=True) for v in (alpha, 1.0 if beta is None else beta))
    return gammas(_generator(seed), tuple(lengths(shape)), a, b, wanted)


@export("random.stateless_poisson")
def stateless_poisson(shape: Any, seed: Any, lam: Any, dtype: Any = int32, name: str | None = None) -> Tensor:
    """Numbers of Poisson distributions."""
    rate = np.asarray(convert(lam).array, np.float64)
    return fresh(_generator(seed).poisson(rate, size=lengths(shape)).astype(as_dtype(dtype).numpy))


@export("random.stateless_binomial")
def stateless_binomial(
    shape: Any, seed: Any, counts: Any, probs: Any, output_dtype: Any = int32, name: str | None = None
) -> Tensor:
    """Numbers of binomial distributions."""
    n, p = (host(v) for v in (counts, probs))
    return fresh(_generator(seed).binomial(n.astype(np.int64), p, size=lengths(shape)).astype(as_dtype(output_dtype).numpy))


@export("random.split", "random.experimental.stateless_split")
def split(seed: Any, num: int = 2, alg: Any = "auto_select") -> Tensor:
    """Seeds made of a seed, a row for each."""
    wanted = host(seed).dtype
    return stateless_uniform([num, 2], seed, minval=None, maxval=None, dtype=wanted, alg=alg)


@export("random.fold_in", "random.experimental.stateless_fold_in")
def fold_in(seed: Any, data: Any, alg: Any = "auto_select") -> Tensor:
    """A seed made of a seed and an integer."""
    x = convert(data)
    first = stateless_uniform([], seed, minval=None, maxval=None, dtype=x.dtype, alg=alg)
    return S.stack([first, x])
