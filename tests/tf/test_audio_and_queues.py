"""Sounds in WAV files, queues between threads, texts joined by segments."""

import threading

import numpy as np
import pytest

from tapegrad import tf


def test_a_sound_survives_a_file():
    x = np.sin(np.linspace(0, 20, 100)).reshape(50, 2).astype(np.float32)
    y, rate = tf.audio.decode_wav(tf.audio.encode_wav(x, 16000))
    np.testing.assert_allclose(y.numpy(), x, atol=1 / 32768)
    assert (int(rate), y.dtype) == (16000, tf.float32)
    more = tf.audio.decode_wav(tf.audio.encode_wav(x[:, :1], 8000), desired_channels=3, desired_samples=60).audio.numpy()
    assert more.shape == (60, 3)
    np.testing.assert_array_equal(more[:, 0], more[:, 2])
    assert not more[50:].any()


@pytest.mark.interop("tensorflow")
def test_files_are_those_of_tensorflow():
    real = pytest.importorskip("tensorflow")
    x = np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32)  # beyond 1 too
    ours, theirs = tf.audio.encode_wav(x, 22050).numpy(), real.audio.encode_wav(x, 22050).numpy()
    assert ours == theirs
    np.testing.assert_array_equal(tf.audio.decode_wav(theirs).audio.numpy(), real.audio.decode_wav(theirs).audio.numpy())


def test_what_is_no_sound_is_refused():
    with pytest.raises(tf.errors.InvalidArgumentError, match="Header mismatch: Expected RIFF"):
        tf.audio.decode_wav(b"not a sound")
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be 2-dimensional"):
        tf.audio.encode_wav([0.5], 16000)


def test_a_queue_gives_what_came_first():
    q = tf.queue.FIFOQueue(10, [tf.int32, tf.string], shapes=[(), ()])
    q.enqueue([1, "a"])
    q.enqueue_many([[2, 3], ["b", "c"]])
    assert [x.numpy() for x in q.dequeue()] == [1, b"a"]
    numbers, texts = q.dequeue_many(2)
    assert (numbers.numpy().tolist(), texts.numpy().tolist()) == ([2, 3], [b"b", b"c"])
    q.close()
    with pytest.raises(tf.errors.OutOfRangeError, match="closed and has insufficient elements"):
        q.dequeue()
    with pytest.raises(tf.errors.CancelledError, match="is closed"):
        q.enqueue([1, "a"])


def test_a_queue_waits_for_another_thread():
    q = tf.queue.FIFOQueue(1, tf.int32, shapes=[()])
    thread = threading.Thread(target=lambda: [q.enqueue(k) for k in range(5)])
    thread.start()
    assert [int(q.dequeue()) for _ in range(5)] == [0, 1, 2, 3, 4]
    thread.join()
    assert int(q.size()) == 0


def test_other_kinds_of_queues():
    padding = tf.queue.PaddingFIFOQueue(5, tf.int32, shapes=[[None]])
    for row in ([1], [2, 3], []):
        padding.enqueue(tf.constant(row, tf.int32))
    assert padding.dequeue_many(3).numpy().tolist() == [[1, 0], [2, 3], [0, 0]]
    first = tf.queue.PriorityQueue(5, tf.string, shapes=[()])
    for priority, text in ((3, "c"), (1, "a"), (2, "b")):
        first.enqueue([tf.constant(priority, tf.int64), text])
    assert [first.dequeue()[1].numpy() for _ in range(3)] == [b"a", b"b", b"c"]
    drawn = tf.queue.RandomShuffleQueue(20, 0, tf.int32, shapes=[()], seed=1)
    drawn.enqueue_many(tf.range(20))
    found = drawn.dequeue_many(20).numpy().tolist()
    assert sorted(found) == list(range(20)) != found


def test_texts_are_joined_by_segments():
    texts = [["a", "b"], ["c", "d"], ["e", "f"]]
    assert tf.strings.unsorted_segment_join(texts, [1, 0, 1], 3, "-").numpy().tolist() == [[b"c", b"d"], [b"a-e", b"b-f"], [b"", b""]]
    assert tf.strings.unsorted_segment_join(["a", "b"], [0, -1], 1).numpy().tolist() == [b"a"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not prefix"):
        tf.strings.unsorted_segment_join(texts, [0], 1)
