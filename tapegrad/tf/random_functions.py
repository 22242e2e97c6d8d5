"""`tf.random` with seeds of TensorFlow: `set_seed` and op seeds give the numbers that its CPU kernels give.

Without any seed numbers come from NumPy's generator, which is faster.  Gamma and Poisson numbers repeat for a seed too, but are
not TensorFlow's.
"""

from __future__ import annotations

import random as _python
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import tapegrad.ops.samples  # noqa: F401  declares its ops
from tapegrad import philox
from tapegrad.dtypes import finfo
from tapegrad.random import drawn_by
from tapegrad.tf.convert import convert, fresh, integer
from tapegrad.tf.dtypes import as_dtype, float32, int64
from tapegrad.tf.errors import invalid
from tapegrad.tf.export import export
from tapegrad.tf.shapes import lengths
from tapegrad.tf.style import S
from tapegrad.tf.tensor import Tensor, made

_MOST = 2**31 - 1
_WITHOUT_GLOBAL = 87654321


class _Seeds:
    """The global seed, the seeds that it gives to ops, and how far the stream of each pair of seeds has come."""

    def __init__(self) -> None:
        self.given: int | None = None
        self.ops: _python.Random | None = None
        self.streams: dict[Any, int] = {}
        self.kept: dict[Any, Any] = {}  # what ops have learnt since the seed was set
        self.free = np.random.default_rng()

    def start(self, seed: int | None) -> None:
        self.given = seed
        self.ops = None if seed is None else _python.Random(seed)
        self.streams.clear()
        self.kept.clear()

    def pair(self, seed: int | None) -> tuple[int, int] | None:
        if self.given is not None:
            if seed is None:
                assert self.ops is not None
                seed = self.ops.randint(0, _MOST)
            found = self.given % _MOST, int(seed) % _MOST
        elif seed is not None:
            found = _WITHOUT_GLOBAL, int(seed) % _MOST
        else:
            return None
        return (0, _MOST) if found == (0, 0) else found


_seeds = _Seeds()


@export("random.set_seed", "compat.v1.set_random_seed", "random.set_random_seed")
def set_seed(seed: Any) -> None:
    """Start all streams of random numbers anew."""
    _seeds.start(None if seed is None else int(seed))


def get_seed(seed: int | None) -> tuple[int, int] | None:
    """The two seeds of the next op; None where there is none."""
    return _seeds.pair(seed)


def _drawn(what: str, draw: Any, shape: Any, seed: Any, dtype: Any, free: Any) -> Any:
    """Numbers of a stream of Philox; from NumPy's generator where nobody has set a seed."""
    size = lengths(shape)
    pair = _seeds.pair(seed)

    def numbers() -> Any:
        if pair is None:
            return free(_seeds.free, size)
        count = int(np.prod(size, dtype=int))
        stream = (what, dtype, *pair)
        at = _seeds.streams.get(stream, 0)
        _seeds.streams[stream] = at + count * 256
        found = draw(at + (pair[1] << 64), pair[0], count).reshape(size)
        return found if size else found[()]

    return drawn_by(f"tf.random: {what}", numbers, size, dtype)


def kept(key: Any, make: Callable[[], Any]) -> Any:
    """What an op keeps from call to call until the global seed is set anew; made when it is first asked for."""
    if key not in _seeds.kept:
        _seeds.kept[key] = make()
    return _seeds.kept[key]


def stream_of(what: Any, seed: Any, length: int) -> Iterator[int]:
    """The uint32 of a stream, of which an op takes at most `length` blocks; some stream of its own where there is no seed."""
    pair = _seeds.pair(None if seed is None else int(seed))
    if pair is None:
        return philox.stream(int(_seeds.free.integers(2**63)), 0)
    at = _seeds.streams.get((what, *pair), 0)
    _seeds.streams[what, *pair] = at + length
    return philox.stream(pair[0], pair[1], at)


def _floating(dtype: Any) -> np.dtype[Any]:
    found = as_dtype(dtype)
    if not found.is_floating:
        raise invalid(
            None, f"Value for attr 'dtype' of {found.name} is not in the list of allowed values: half, bfloat16, float, double"
        )
    return found.numpy


def _fast(kind: str, dtype: np.dtype[Any]) -> Any:
    """NumPy's own numbers."""
    own = dtype if dtype in (np.float32, np.float64) else np.dtype(np.float32)
    if kind == "normal":
        return lambda g, size: g.standard_normal(size, own).astype(dtype) if size else dtype.type(g.standard_normal(dtype=own))
    return lambda g, size: g.random(size, own).astype(dtype) if size else dtype.type(g.random(dtype=own))


@export("random.normal")
def normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None, name: str | None = None
) -> Tensor:
    """Numbers of a normal distribution."""
    wanted = _floating(dtype)
    raw = _drawn("normal", lambda c, k, n: philox.normal(c, k, n, wanted), shape, seed, wanted, _fast("normal", wanted))
    return _moved(raw, mean, stddev, wanted)


def _moved(raw: Any, mean: Any, stddev: Any, dtype: np.dtype[Any]) -> Tensor:
    x = made(raw)
    if not (type(stddev) in (int, float) and stddev == 1):
        x = S.multiply(x, convert(stddev, dtype, prefer=True))
    if not (type(mean) in (int, float) and mean == 0):
        x = S.add(x, convert(mean, dtype, prefer=True))
    return x


@export("random.truncated_normal")
def truncated_normal(
    shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = float32, seed: Any = None, name: str | None = None
) -> Tensor:
    """Numbers of a normal distribution, drawn again where they are more than two standard deviations away."""
    wanted = _floating(dtype)

    def free(g: Any, size: Any) -> Any:
        return philox.truncated_normal(0, int(g.integers(2**63)), int(np.prod(size, dtype=int)), wanted).reshape(size)

    raw = _drawn("truncated", lambda c, k, n: philox.truncated_normal(c, k, n, wanted), shape, seed, wanted, free)
    return _moved(raw, mean, stddev, wanted)


@export("random.uniform")
def uniform(
    shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = float32, seed: Any = None, name: str | None = None
) -> Tensor:
    """Numbers evenly spread over [minval, maxval); for integers both bounds are needed."""
    found = as_dtype(dtype)
    wanted = found.numpy
    if found.is_integer:
        if maxval is None:
            raise ValueError("Must specify maxval for integer dtype " + repr(found))
        low, high = int(minval), int(maxval)
        if low >= high:
            raise invalid("RandomUniformInt", f"Need minval < maxval, got {low} >= {high}")

        def whole(g: Any, size: Any) -> Any:
            return np.asarray(g.integers(low, high, size=size or None)).astype(wanted)[()]

        raw = _drawn("integers", lambda c, k, n: philox.integers(c, k, n, low, high, wanted), shape, seed, wanted, whole)
        return made(raw)
    wanted = _floating(dtype)
    raw = _drawn("uniform", lambda c, k, n: philox.uniform(c, k, n, wanted), shape, seed, wanted, _fast("uniform", wanted))
    return spread(raw, minval, 1 if maxval is None else maxval, wanted)


def spread(raw: Any, minval: Any, maxval: Any, dtype: np.dtype[Any]) -> Tensor:
    """Numbers of [0, 1) moved to [minval, maxval)."""
    x = made(raw)
    if type(minval) in (int, float) and type(maxval) in (int, float) and minval == 0 and maxval == 1:
        return x
    low, high = (convert(v, dtype, prefer=True) for v in (minval, maxval))
    return S.add(S.multiply(x, S.subtract(high, low)), low)


def order(n: int, bits: Any) -> Any:
    """A permutation by exchanges, as TensorFlow's kernel makes it."""
    found = list(range(n))
    for i, b in enumerate(bits[: max(n - 1, 0)].tolist()):
        j = i + b % (n - i)
        found[i], found[j] = found[j], found[i]
    return np.asarray(found, np.int64)


def order_in_fit(count: int) -> Any:
    """The order in which Keras on TensorFlow takes the samples of each epoch, if there is a seed: the same one each time."""
    if _seeds.given is None:
        return None
    first, second = (0, _MOST) if _seeds.given % _MOST == 0 else (_seeds.given % _MOST, 0)
    return order(count, philox.bits(second << 64, first, count))


@export("random.shuffle")
def shuffle(value: Any, seed: Any = None, name: str | None = None) -> Tensor:
    """The rows in random order."""
    x = convert(value)
    if not x.array.ndim:
        return x
    n = x.array.shape[0]

    def permutation(draw: Any) -> Any:
        return lambda *args: order(n, draw(*args))

    picked = _drawn(
        "shuffle",
        permutation(philox.bits),
        [n],
        seed,
        np.dtype(np.int64),
        permutation(lambda g, size: g.integers(0, 2**32, size=size, dtype=np.uint32)),
    )
    if x.array.dtype.kind == "O":
        return made(x.array[np.asarray(picked)])
    return S.take(x, made(picked), axis=0)


def _numpy_generator(what: str, seed: Any) -> np.random.Generator:
    """A generator of NumPy's that goes with the seeds."""
    pair = _seeds.pair(seed)
    if pair is None:
        return _seeds.free
    stream = (what, *pair)
    at = _seeds.streams.get(stream, 0)
    _seeds.streams[stream] = at + 1
    return np.random.default_rng([*pair, at])


@export("random.categorical")
def categorical(logits: Any, num_samples: Any, dtype: Any = None, seed: Any = None, name: str | None = None) -> Tensor:
    """Classes drawn for each row of logits, (n, classes) -> (n, num_samples)."""
    raw = np.asarray(convert(logits).array)
    if raw.ndim != 2:
        raise invalid("Multinomial", f"logits should be a matrix, got shape {list(raw.shape)}")
    wanted, size = as_dtype(dtype or int64).numpy, (len(raw), integer(num_samples))
    pair = _seeds.pair(seed)
    if pair is None:
        drawn = _seeds.free.random(size)
    else:
        stream = ("categorical", wanted, *pair)
        at = _seeds.streams.get(stream, 0)
        _seeds.streams[stream] = at + size[0] * -(-size[1] // 4) * 8 * 256
        drawn = philox.uniform(at + (pair[1] << 64), pair[0], size[0] * size[1], np.dtype(np.float64)).reshape(size)
    return fresh(philox.categorical(raw, drawn).astype(wanted))


@export("random.gamma")
def gamma(shape: Any, alpha: Any, beta: Any = None, dtype: Any = float32, seed: Any = None, name: str | None = None) -> Tensor:
    """Numbers of gamma distributions, (*shape, *alpha), which move with `alpha` and `beta`."""
    wanted = _floating(dtype)
    a, b = (convert(v, wanted, prefer=True) for v in (alpha, 1.0 if beta is None else beta))
    own = np.broadcast_shapes(a.array.shape, b.array.shape)
    return gammas(_numpy_generator("gamma", seed), (*lengths(shape), *own), a, b, wanted)


def gammas(generator: Any, shape: tuple[int, ...], a: Any, b: Any, wanted: np.dtype[Any]) -> Tensor:
    """Numbers of gamma distributions of a shape, at their probabilities when `a` and `b` change."""
    drawn = generator.standard_gamma(np.asarray(a.array, np.float64), size=shape)
    least = float(finfo(wanted).smallest_normal)  # a small alpha gives numbers that a dtype would round to 0
    sample = S.gamma_sample(S.broadcast_to(a, shape), fresh(np.maximum(drawn, least).astype(wanted)[()]))
    found: Tensor = S.clip(sample / b, least, None)
    return found


@export("random.poisson")
def poisson(shape: Any, lam: Any, dtype: Any = float32, seed: Any = None, name: str | None = None) -> Tensor:
    """Numbers of Poisson distributions, (*shape, *lam)."""
    rate = np.asarray(convert(lam).array, np.float64)
    drawn = _numpy_generator("poisson", seed).poisson(rate, size=(*lengths(shape), *rate.shape))
    return fresh(np.asarray(drawn).astype(as_dtype(dtype).numpy)[()])


@export("random.get_global_generator")
def get_global_generator() -> Any:
    """The generator that the program has set, or one of the global seed."""
    from tapegrad.tf.random_generator import Generator

    if not _global:
        _global.append(Generator.from_non_deterministic_state() if _seeds.given is None else Generator.from_seed(_seeds.given))
    return _global[0]


@export("random.set_global_generator")
def set_global_generator(generator: Any) -> None:
    """Set the generator that `get_global_generator` gives."""
    _global[:] = [generator]


_global: list[Any] = []
