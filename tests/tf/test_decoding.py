"""Decoders of connectionist temporal classification."""

import itertools

import numpy as np
import pytest

from tapegrad import tf


def probability(logs, text):
    """The sum over all paths that read as a text, without repetitions and blanks (the last class)."""
    steps, classes = logs.shape
    total = 0.0
    for path in itertools.product(range(classes), repeat=steps):
        if tuple(c for c, _ in itertools.groupby(path) if c != classes - 1) == text:
            total += np.exp(sum(logs[t, c] for t, c in enumerate(path)))
    return np.log(total)


def test_the_most_probable_texts_are_found_by_all_their_paths():
    scores = np.random.default_rng(0).normal(size=(4, 1, 3)) * 2
    logs = scores[:, 0] - np.log(np.exp(scores[:, 0]).sum(1, keepdims=True))
    decoded, found = tf.nn.ctc_beam_search_decoder(scores, [4], beam_width=50, top_paths=3)
    texts = {tuple(c for c, _ in itertools.groupby(p) if c != 2) for p in itertools.product(range(3), repeat=4)}
    best = sorted(((probability(logs, t), t) for t in texts), reverse=True)[:3]
    for k, (value, text) in enumerate(best):
        assert tuple(decoded[k].values.numpy()) == text
        assert float(found[0, k]) == pytest.approx(value, rel=1e-9)


@pytest.mark.interop("tensorflow")
def test_texts_are_those_of_tensorflow():
    real = pytest.importorskip("tensorflow")
    scores = (np.random.default_rng(1).normal(size=(7, 3, 5)) * 3).astype(np.float32)
    lengths = np.array([7, 4, 0], np.int32)
    calls = [
        lambda space: space.nn.ctc_greedy_decoder(scores, lengths),
        lambda space: space.nn.ctc_greedy_decoder(scores, lengths, merge_repeated=False, blank_index=0),
    ]
    for call in calls:
        (ours, value), (theirs, exact) = call(tf), call(real)
        np.testing.assert_allclose(value.numpy(), exact.numpy(), rtol=1e-5)
        for a, b in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(a.indices.numpy(), b.indices.numpy())
            np.testing.assert_array_equal(a.values.numpy(), b.values.numpy())
            np.testing.assert_array_equal(a.dense_shape.numpy(), b.dense_shape.numpy())
    (ours, value), (theirs, exact) = (
        space.nn.ctc_beam_search_decoder(scores[:, :2], lengths[:2], beam_width=30, top_paths=2) for space in (tf, real)
    )
    np.testing.assert_allclose(value.numpy(), exact.numpy(), rtol=1e-4)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(a.values.numpy(), b.values.numpy())


def test_what_does_not_fit_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="inputs is not a 3-Tensor"):
        tf.nn.ctc_greedy_decoder(np.zeros((2, 3)), [2])
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"sequence_length\(0\) > 2"):
        tf.nn.ctc_greedy_decoder(np.zeros((2, 1, 3)), [3])
    with pytest.raises(tf.errors.InvalidArgumentError, match="more paths than the beam width"):
        tf.nn.ctc_beam_search_decoder(np.zeros((2, 1, 3)), [2], beam_width=1, top_paths=2)
