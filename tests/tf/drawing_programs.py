"""Programs that draw numbers, classes and orders for a seed; each yields what it finds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

PROGRAMS: list[Callable[[Any], Iterator[Any]]] = []


def program(f: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
    PROGRAMS.append(f)
    return f


@program
def candidates_of_every_sampler(tf: Any) -> Iterator[Any]:
    labels = tf.constant([[1, 4], [3, 2]], tf.int64)
    for unique in (True, False):
        for _ in range(2):
            yield list(tf.random.uniform_candidate_sampler(labels, 2, 5, unique, 20, seed=3))
        yield list(tf.random.uniform_candidate_sampler(labels, 2, 5, unique, 16))
        yield list(tf.random.log_uniform_candidate_sampler(labels, 2, 6, unique, 30))
        yield list(tf.random.learned_unigram_candidate_sampler(labels, 2, 3, unique, 6))
        weights = [1.0, 5.0, 2.0, 0.5, 7.0]
        yield list(tf.random.fixed_unigram_candidate_sampler(labels, 2, 4, unique, 5, unigrams=weights, distortion=0.75))
    yield list(tf.random.fixed_unigram_candidate_sampler([[1], [3]], 1, 6, False, 6, unigrams=weights, num_reserved_ids=1))
    yield list(tf.random.fixed_unigram_candidate_sampler([[0], [1]], 1, 2, False, 3, unigrams=weights, num_shards=2, shard=0))
    yield list(tf.random.all_candidate_sampler([[1], [3]], 1, 4, True))
    yield list(tf.nn.compute_accidental_hits(labels, tf.constant([3, 2, 5, 1], tf.int64), 2))
    yield lambda: tf.random.uniform_candidate_sampler([[1]], 1, 30, True, 20)
    yield lambda: tf.random.uniform_candidate_sampler(labels, 1, 3, True, 20)
    yield lambda: tf.random.uniform_candidate_sampler([1, 2], 1, 3, True, 20)
    yield lambda: tf.random.fixed_unigram_candidate_sampler([[1]], 1, 2, True, 5)


@program
def losses_over_sampled_classes(tf: Any) -> Iterator[Any]:
    g = np.random.default_rng(3)
    w, b, x = (tf.Variable(g.normal(size=shape).astype(np.float32)) for shape in ((20, 4), (20,), (3, 4)))
    one, two = tf.constant([[1], [7], [0]], tf.int64), tf.constant([[1, 2], [7, 3], [0, 19]])
    for loss in (tf.nn.sampled_softmax_loss, tf.nn.nce_loss):
        for labels, words in (
            (one, {}),
            (two, {"num_true": 2, "remove_accidental_hits": True}),
            (one, {"sampled_values": (tf.constant([3, 4, 1, 0, 9, 8], tf.int64), tf.ones([3, 1]), tf.fill([6], 0.5))}),
        ):
            with tf.GradientTape() as tape:
                y = loss(w, b, labels, x, 6, 20, **words)
            yield y
            yield [tf.convert_to_tensor(d) for d in tape.gradient(y, [w, b, x])]
    yield lambda: tf.nn.nce_loss(w, b, tf.constant([1, 7, 0], tf.int64), x, 6, 20)


@program
def orders_that_a_seed_decides(tf: Any) -> Iterator[Any]:
    shuffled = tf.random.experimental
    for most in (0, 1, 7, 12):
        yield [int(shuffled.index_shuffle(k, [5, 9], most)) for k in range(most + 1)]
    yield shuffled.index_shuffle(tf.constant([0, 1, 70000], tf.int64), [-5, 9], tf.constant([100000, 2**20, 2**40], tf.int64))
    yield shuffled.stateless_shuffle(tf.range(10), [1, 2])
    yield shuffled.stateless_shuffle([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [3, 2])
    yield lambda: shuffled.index_shuffle(7, [1, 2], 5)
    yield lambda: shuffled.index_shuffle(7, [1, 2, 3], 9)


@program
def points_of_sobols_sequence(tf: Any) -> Iterator[Any]:
    yield tf.math.sobol_sample(3, 5)
    yield tf.math.sobol_sample(7, 6, skip=11, dtype=tf.float64)
    yield tf.math.sobol_sample(40, 100)
    yield lambda: tf.math.sobol_sample(0, 5)
    yield lambda: tf.math.sobol_sample(3, 0)
    yield lambda: tf.math.sobol_sample(3, 5, skip=-1)
    yield lambda: tf.math.sobol_sample(10**6, 5)
