"""`tf.random.*_candidate_sampler`: a few classes of many, drawn to train against; for a seed the ones that TensorFlow draws."""

from __future__ import annotations

import csv
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from tapegrad import philox
from tapegrad.random import drawn_by
from tapegrad.tf.convert import convert, fresh, host
from tapegrad.tf.errors import invalid
from tapegrad.tf.random_functions import get_seed, kept, stream_of
from tapegrad.tf.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Iterator


class Candidates(NamedTuple):
    """Classes that were drawn, and how often the labels and they are expected among them."""

    sampled_candidates: Tensor
    true_expected_count: Tensor
    sampled_expected_count: Tensor


class _Uniform:
    """Each class as often as another."""

    def __init__(self, count: int) -> None:
        self.count = count

    def draw(self, numbers: Iterator[int]) -> int:
        return _below(self.count, numbers, bits=64)

    def share(self, ids: Any) -> Any:
        return np.full(np.shape(ids), 1 / self.count)


class _LogUniform:
    """The class k with the probability log((k + 2) / (k + 1)) / log(count + 1): the words of a text, in falling order."""

    def __init__(self, count: int) -> None:
        self.count, self.log_range = count, math.log(count + 1)

    def draw(self, numbers: Iterator[int]) -> int:
        return (int(math.exp(_double(numbers) * self.log_range)) - 1) % self.count

    def share(self, ids: Any) -> Any:
        k = np.asarray(ids, np.float64)
        return np.log((k + 2) / (k + 1)) / self.log_range


class _Weighted:
    """Classes with given weights, by aliases: a column is drawn, and one of the two classes that share it."""

    def __init__(self, weights: Any) -> None:
        self.weights = np.asarray(weights, np.float32)
        self.count = n = len(self.weights)
        self.total = float(self.weights.sum(dtype=np.float64))
        heights = (self.weights.astype(np.float64) * n / self.total).tolist()
        self.limits, self.others = [1.0] * n, [-1] * n
        low, high = ([k for k in range(n) if (heights[k] < 1) is under] for under in (True, False))
        while low and high:
            small, large = low.pop(), high.pop()
            self.limits[small], self.others[small] = heights[small], large
            heights[large] -= 1 - heights[small]
            (low if heights[large] < 1 else high).append(large)

    def draw(self, numbers: Iterator[int]) -> int:
        r = philox.unit32(np.uint32(next(numbers)))
        k = _below(self.count, numbers)
        return k if r < np.float32(self.limits[k]) else self.others[k]

    def share(self, ids: Any) -> Any:
        return self.weights[np.asarray(ids)] / self.total


class _Learned:
    """Classes as often as they have been labels so far, and each once more."""

    def __init__(self, count: int) -> None:
        self.seen = np.ones(count, np.int64)
        self.count = count

    def draw(self, numbers: Iterator[int]) -> int:
        return int(np.searchsorted(np.cumsum(self.seen), _below(int(self.seen.sum()), numbers), side="right"))

    def share(self, ids: Any) -> Any:
        return self.seen[np.asarray(ids)] / self.seen.sum()


def _ids(x: Any) -> Any:
    """Classes, as int64 of the host."""
    raw = host(convert(x, np.dtype(np.int64), prefer=True) if not hasattr(x, "dtype") else x)
    if raw.dtype.kind not in "iu":
        raise invalid(None, f"expected integers as classes, got {raw.dtype}")
    return raw.astype(np.int64)


def _below(n: int, numbers: Iterator[int], bits: int = 32) -> int:
    """An integer of [0, n), without a bias: of numbers of so many bits those are passed over that are left when they are shared out."""
    left = 0 if n & (n - 1) == 0 else (2**bits - 1) % n + 1
    while True:
        number = next(numbers) if bits == 32 else next(numbers) | next(numbers) << 32
        if number >= left:
            return number % n


def _double(numbers: Iterator[int]) -> float:
    """A float64 of [0, 1)."""
    first, second = next(numbers), next(numbers)
    return float(philox.unit64(np.uint32(first), np.uint32(second)))


def _sampled(
    what: str, sampler: Any, true_classes: Any, num_true: Any, num_sampled: Any, unique: Any, seed: Any, settled: Any = ()
) -> Candidates:
    """Draw, and count what is expected: n p for n draws, or 1 - (1 - p)^n where n draws gave as many different classes."""
    labels = _ids(true_classes)
    if labels.ndim != 2:
        raise invalid(what, f"true_classes must be a matrix, got {labels.shape}")
    if labels.shape[1] != int(num_true):
        raise invalid(what, f"true_classes must have num_true columns, expected {num_true}, got {labels.shape}")
    n = int(num_sampled)
    if unique and n > sampler.count:
        raise invalid(what, f"Sampler's range is too small: num_sampled is {n}, and there are {sampler.count} classes")
    if labels.size and not (labels.min() >= 0 and labels.max() < sampler.count):
        raise invalid(what, f"true_classes out of range: must be in [0, {sampler.count}), got {labels.min()} to {labels.max()}")

    def draws() -> Any:
        key = (what, n, int(num_true), bool(unique), sampler.count, *settled)
        numbers = stream_of(key, seed, 512 * n)
        found: list[int] = []
        met: set[int] = set()
        tries = 0
        while len(found) < n:
            k = sampler.draw(numbers)
            tries += 1
            if not unique or k not in met:
                met.add(k)
                found.append(k)
        return np.array([*found, tries], np.int64)

    drawn = np.asarray(drawn_by(f"tf.random: {what}", draws, (n + 1,), np.dtype(np.int64)))
    ids, tries = drawn[:-1], int(drawn[-1])

    def expected(at: Any) -> Tensor:
        p = sampler.share(at)
        found = p * n if tries == n else -np.expm1(tries * np.log1p(-p))
        return fresh(np.asarray(found, np.float32))

    result = Candidates(fresh(ids), expected(labels), expected(ids))
    if isinstance(sampler, _Learned):
        np.add.at(sampler.seen, labels.reshape(-1), 1)
    return result


def uniform_candidate_sampler(
    true_classes: Any, num_true: Any, num_sampled: Any, unique: Any, range_max: Any, seed: Any = None, name: str | None = None
) -> Candidates:
    """Classes of [0, range_max), each as often as another."""
    sampler = _Uniform(int(range_max))
    return _sampled("UniformCandidateSampler", sampler, true_classes, num_true, num_sampled, unique, seed)


def log_uniform_candidate_sampler(
    true_classes: Any, num_true: Any, num_sampled: Any, unique: Any, range_max: Any, seed: Any = None, name: str | None = None
) -> Candidates:
    """Classes of [0, range_max), k with the probability log((k + 2) / (k + 1)) / log(range_max + 1)."""
    sampler = _LogUniform(int(range_max))
    return _sampled("LogUniformCandidateSampler", sampler, true_classes, num_true, num_sampled, unique, seed)


def learned_unigram_candidate_sampler(
    true_classes: Any, num_true: Any, num_sampled: Any, unique: Any, range_max: Any, seed: Any = None, name: str | None = None
) -> Candidates:
    """Classes of [0, range_max), as often as they have been among the labels of earlier calls, and once more each."""
    key = (int(num_true), int(num_sampled), bool(unique), int(range_max), seed)
    sampler = kept(("learned unigrams", *key), lambda: _Learned(int(range_max)))
    return _sampled("LearnedUnigramCandidateSampler", sampler, true_classes, num_true, num_sampled, unique, seed)


def fixed_unigram_candidate_sampler(
    true_classes: Any,
    num_true: Any,
    num_sampled: Any,
    unique: Any,
    range_max: Any,
    vocab_file: Any = "",
    distortion: Any = 1.0,
    num_reserved_ids: Any = 0,
    num_shards: Any = 1,
    shard: Any = 0,
    unigrams: Any = (),
    seed: Any = None,
    name: str | None = None,
) -> Candidates:
    """Classes with the weights `unigrams` (or the last column of a file), to the power `distortion`; the first ids may be kept free."""
    if bool(vocab_file) == bool(len(unigrams)):
        raise invalid("FixedUnigramCandidateSampler", "Must provide either vocab_file or unigrams, and not both.")
    if vocab_file:
        with open(vocab_file, encoding="utf-8", newline="") as lines:
            given = [float(row[-1]) for row in csv.reader(lines) if row]
    else:
        given = [float(w) for w in unigrams]
    weights = [0.0] * int(num_reserved_ids) + [w ** float(distortion) for w in given]
    own = weights[int(shard) :: int(num_shards)]
    if len(own) != int(range_max):
        raise invalid("FixedUnigramCandidateSampler", f"range_max is {range_max}, and there are {len(own)} weights")
    settled = (str(vocab_file), float(distortion), int(num_reserved_ids), int(num_shards), int(shard), *given)
    return _sampled("FixedUnigramCandidateSampler", _Weighted(own), true_classes, num_true, num_sampled, unique, seed, settled)


def all_candidate_sampler(
    true_classes: Any, num_true: Any, num_sampled: Any, unique: Any, seed: Any = None, name: str | None = None
) -> Candidates:
    """All classes of [0, num_sampled), each expected once."""
    labels = _ids(true_classes)
    n = int(num_sampled)
    get_seed(seed)  # nothing is drawn, and TensorFlow takes a seed all the same: those of the ops after it follow
    return Candidates(fresh(np.arange(n)), fresh(np.ones(labels.shape, np.float32)), fresh(np.ones(n, np.float32)))


def compute_accidental_hits(
    true_classes: Any, sampled_candidates: Any, num_true: Any, seed: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Where a class that was drawn is a label of its row: rows, places among those drawn, and for each the lowest float32."""
    labels = _ids(true_classes)
    drawn = _ids(sampled_candidates)
    if labels.ndim != 2 or labels.shape[1] != int(num_true):
        raise invalid("ComputeAccidentalHits", f"true_classes must have num_true columns, expected {num_true}, got {labels.shape}")
    get_seed(seed)  # as above
    place = {int(k): i for i, k in enumerate(drawn)}
    hits = [(row, place[int(k)]) for row, ks in enumerate(labels) for k in ks if int(k) in place]
    rows, places = (np.array([hit[i] for hit in hits], dtype) for i, dtype in ((0, np.int32), (1, np.int64)))
    lowest = np.full(len(hits), np.finfo(np.float32).min, np.float32)
    return fresh(rows), fresh(places), fresh(lowest)
