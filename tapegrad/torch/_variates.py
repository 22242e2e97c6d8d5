"""From even and normal numbers to those of other distributions, in float64 draw by draw, as PyTorch's CPU kernels do.

PyTorch on a processor of Intel's draws `bernoulli_(p)` and `exponential_` (so also dropout, `multinomial` without
replacement and Gumbel softmax) from a generator of Intel's library; what is given here are the numbers of its own
kernels, which all other processors run.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from tapegrad.dtypes import float64
from tapegrad.torch._generator import Ahead, Generator
from tapegrad.torch._rounding import Array, fused64, narrowed
from tapegrad.torch._uniform import DIGITS, has_digits


def _each(function: Callable[[float], float], x: Array) -> Array:
    # Python's functions are the C library's, to the last bit; NumPy's own are not.
    return np.fromiter(map(function, x.tolist()), float64, x.size)


def exponential(generator: Generator, n: int, rate: float, dtype: np.dtype[Any]) -> Array:
    """`n` numbers from the exponential distribution."""
    logs = _each(math.log1p, -generator.doubles(n))
    return narrowed((-1 / rate if rate else -math.inf) * logs, dtype)


def geometric(generator: Generator, n: int, p: float, dtype: np.dtype[Any]) -> Array:
    """How many tries until the first success, `n` times."""
    logs = _each(lambda u: math.log(u) if u else -math.inf, generator.doubles(n))
    found = np.ceil(logs / math.log1p(-p))
    return narrowed(found, dtype) if dtype.name in DIGITS else found.astype(dtype)


def cauchy(generator: Generator, n: int, median: float, sigma: float, dtype: np.dtype[Any]) -> Array:
    """`n` numbers from the Cauchy distribution."""
    tangents = _each(lambda u: math.tan(math.pi * (u - 0.5)), generator.doubles(n))
    return narrowed(fused64(tangents, sigma, median), dtype)


def log_normal(generator: Generator, n: int, mean: float, std: float, dtype: np.dtype[Any]) -> Array:
    """`n` numbers of which the logarithms are normal."""
    logs = fused64(np.array(generator.normals(n), float64), std, mean)
    return narrowed(_each(_exp, logs), dtype)


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


#: From so many numbers on it pays to draw ahead (to go back takes 70 us, a draw by itself 3).
_MANY = 40


def each(sample: Callable[..., float], generator: Generator, *parameters: Array) -> Array:
    """A number for each element of parameters of one shape and dtype; `sample` is told how that dtype rounds."""
    shape, dtype = parameters[0].shape, parameters[0].dtype
    rounded = float if dtype == float64 else _to_float32
    columns = [p.ravel().astype(float64).tolist() for p in parameters]
    source = Ahead(generator) if parameters[0].size >= _MANY else generator
    drawn = [sample(source, *row, rounded) for row in zip(*columns, strict=True)]
    if type(source) is Ahead:
        source.close()
    return narrowed(np.array(drawn, float64), dtype).reshape(shape)


def _to_float32(x: float) -> float:
    return float(np.float32(x))


#: A third, as float32 has it: PyTorch's kernel takes it so in float64 too.
_THIRD = float(np.float32(1) / np.float32(3))


def gammas(generator: Generator, shape: Array) -> Array:
    """A number of the gamma distribution of scale 1 for each shape parameter, never less than the smallest normal number."""
    tiny = np.finfo(shape.dtype).tiny
    return np.maximum(each(_gamma, generator, shape), tiny)


def _gamma(generator: Generator | Ahead, shape: float, rounded: Callable[[float], float] = float) -> float:
    """Marsaglia and Tsang (2000)."""
    scale = 1.0
    if shape < 1:
        if shape == 0:
            return 0.0
        scale = (1 - generator.double()) ** rounded(1 / shape)
        shape = rounded(shape + 1)
    d = rounded(shape - _THIRD)
    c = 1 / math.sqrt(9 * d)
    while True:
        x = generator.normal()
        y = 1 + c * x
        if y <= 0:
            continue
        v = y * y * y
        u = 1 - generator.double()
        square = x * x
        if u < 1 - 0.0331 * square * square or math.log(u) < 0.5 * square + d * (1 - v + math.log(v)):
            return scale * d * v


def poissons(generator: Generator, rate: Array) -> Array:
    """A count of the Poisson distribution for each rate."""
    return each(_poisson, generator, rate)


def _poisson(generator: Generator | Ahead, rate: float, _: Callable[[float], float] = float) -> float:
    """By products of even numbers, or from 10 on by transformed rejection (Hoermann 1993, PTRS)."""
    if rate == 0:
        return 0.0
    if rate < 10:
        bound, product, count, double = math.exp(-rate), 1.0, 0, generator.double
        while True:
            product *= double()
            if product <= bound:
                return float(count)
            count += 1
    root, log_rate = math.sqrt(rate), math.log(rate)
    b = 0.931 + 2.53 * root
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    quick = 0.9277 - 3.6224 / (b - 2)
    while True:
        u, v = generator.double() - 0.5, generator.double()
        rest = 0.5 - abs(u)
        k = math.floor((2 * a / rest + b) * u + rate + 0.43) if rest else -1
        if rest >= 0.07 and v <= quick:
            return float(k)
        if k < 0 or (rest < 0.013 and v > rest):
            continue
        left = math.log(v) + math.log(inverse_alpha) - math.log(a / (rest * rest) + b) if v else -math.inf
        if left <= k * log_rate - rate - math.lgamma(k + 1):
            return float(k)


def binomials(generator: Generator, count: Array, p: Array) -> Array:
    """How many of `count` tries succeed, for each count and probability."""
    return each(_binomial, generator, count, p)


def _binomial(generator: Generator | Ahead, count: float, p: float, rounded: Callable[[float], float] = float) -> float:
    """By waiting times, or where many successes are expected by transformed rejection (Hoermann 1993, BTRS)."""
    if count <= 0 or p <= 0:
        return 0.0
    if p >= 1:
        return count
    if p > 0.5:
        return count - _binomial(generator, count, rounded(1 - p), rounded)
    return _many_tries(generator, count, p) if rounded(count * p) >= 10 else _few_successes(generator, count, p)


def _few_successes(generator: Generator | Ahead, count: float, p: float) -> float:
    tried, found, log_failure = 0.0, 0, math.log1p(-p)
    while True:
        u = generator.double()
        tried += math.ceil(math.log(u) / log_failure) if u else math.inf
        if tried > count:
            return float(found)
        found += 1


_STIRLING = (
    *(0.0810614667953272, 0.0413406959554092, 0.0276779256849983, 0.02079067210376509, 0.0166446911898211),
    *(0.0138761288230707, 0.0118967099458917, 0.0104112652619720, 0.00925546218271273, 0.00833056343336287),
)


def _stirling_rest(k: float) -> float:
    """log(k!) less Stirling's approximation of it."""
    if k <= 9:
        return _STIRLING[int(k)]
    square = (k + 1) * (k + 1)
    return (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)


def _many_tries(generator: Generator | Ahead, n: float, p: float) -> float:
    std = math.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * std
    a = -0.0873 + 0.0248 * b + 0.01 * p
    centre, quick, odds = n * p + 0.5, 0.92 - 4.2 / b, p / (1 - p)
    alpha = (2.83 + 5.1 / b) * std
    m = math.floor((n + 1) * p)
    while True:
        u, v = generator.double() - 0.5, generator.double()
        rest = 0.5 - abs(u)
        k = math.floor((2 * a / rest + b) * u + centre) if rest else -1
        if rest >= 0.07 and v <= quick:
            return float(k)
        if k < 0 or k > n:
            continue
        v = math.log(v * alpha / (a / (rest * rest) + b)) if v else -math.inf
        bound = (
            (m + 0.5) * math.log((m + 1) / (odds * (n - m + 1)))
            + (n + 1) * math.log((n - m + 1) / (n - k + 1))
            + (k + 0.5) * math.log(odds * (n - k + 1) / (k + 1))
            + _stirling_rest(m)
            + _stirling_rest(n - m)
            - _stirling_rest(k)
            - _stirling_rest(n - k)
        )
        if v <= bound:
            return float(k)


def dirichlet(generator: Generator, concentration: Array) -> Array:
    """Shares that sum to 1 along the last axis: gamma numbers by their sum."""
    drawn = gammas(generator, concentration.astype(float64))
    shares = narrowed(drawn / drawn.sum(-1, keepdims=True), concentration.dtype)
    return np.maximum(shares, np.finfo(shares.dtype).tiny)


def check_weights(weights: Array, n: int, *, replacement: bool) -> None:
    """Raise where `n` indices can't be drawn by these weights."""
    if not has_digits(weights.dtype):
        raise RuntimeError(f"multinomial only supports floating-point dtypes for input, got: {weights.dtype}")
    if weights.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if n <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and n > weights.shape[-1]:
        raise RuntimeError("cannot sample n_sample > prob_dist.size(-1) samples without replacement")
    wide = weights.astype(float64)
    if not wide.size:
        return
    if not 0 <= np.minimum.reduce(wide, axis=None) <= np.maximum.reduce(wide, axis=None) < math.inf:
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if np.minimum.reduce(wide.sum(-1), axis=None) <= 0:
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


def multinomial(generator: Generator, weights: Array, n: int, *, replacement: bool) -> Array:
    """`n` indices for each row of weights, the heavier ones more often."""
    if n == 1 or not replacement:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            race = weights / exponential(generator, weights.size, 1, weights.dtype).reshape(weights.shape)
        if n == 1:
            return race.argmax(-1, keepdims=True)
        return np.argsort(-race, axis=-1, kind="stable")[..., :n]
    rows = weights.reshape(-1, weights.shape[-1])
    sums = np.cumsum(rows, -1, dtype=np.result_type(weights.dtype, np.float32))  # one after another
    shares = sums / sums[:, -1:]
    shares[:, -1] = 1
    u = generator.doubles(len(rows) * n).reshape(len(rows), n)
    found = [np.searchsorted(share, row, "left") for share, row in zip(shares.astype(float64), u, strict=True)]
    return np.array(found).reshape(*weights.shape[:-1], n)
