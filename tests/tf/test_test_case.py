"""`tf.test.TestCase`: each assertion passes and fails where TensorFlow's does."""

import pytest

import tapegrad.tf as ours

pytestmark = pytest.mark.interop("tensorflow")

#: What is asked of a case, and whether it fails; `tf` is TensorFlow or the facade.
CASES = [
    (lambda c, tf: c.assertAllClose(tf.constant([1.0, 2.0]), [1.0, 2.0 + 1e-7]), False),
    (lambda c, tf: c.assertAllClose(tf.constant([1.0, 2.0]), [1.0, 2.1]), True),
    (lambda c, tf: c.assertAllClose(tf.Variable(1.0), 1.05, atol=0.1), False),
    (lambda c, tf: c.assertAllClose(tf.ones((2, 1)), [1.0, 1.0]), True),
    (lambda c, tf: c.assertAllClose({"a": tf.ones(2), "b": (1.0, [2.0, 3.0])}, {"a": [1.0, 1.0], "b": (1.0, [2.0, 3.0])}), False),
    (lambda c, tf: c.assertAllClose({"a": tf.ones(2)}, {"b": tf.ones(2)}), True),
    (lambda c, tf: c.assertAllClose([tf.ones(2), tf.ones(3)], [[1.0, 1.0], [1.0, 1.0, 1.1]]), True),
    (lambda c, tf: c.assertAllClose(float("nan"), tf.constant(float("nan"))), False),
    (lambda c, tf: c.assertNotAllClose(tf.constant(1.0), 1.0), True),
    (lambda c, tf: c.assertNotAllClose(tf.constant(1.0), 1.5), False),
    (lambda c, tf: c.assertAllCloseAccordingToType(tf.constant(1.0, tf.float16), 1.0005), False),
    (lambda c, tf: c.assertAllCloseAccordingToType(tf.constant(1.0, tf.float16), 1.05), True),
    (lambda c, tf: c.assertAllEqual(tf.constant([1, 2]), [1, 2]), False),
    (lambda c, tf: c.assertAllEqual(tf.constant([1, 2]), [1, 3]), True),
    (lambda c, tf: c.assertAllEqual(tf.constant([1, 1]), 1), True),
    (lambda c, tf: c.assertAllEqual(tf.constant(["a", "b"]), [b"a", b"b"]), False),
    (lambda c, tf: c.assertNotAllEqual(tf.constant([1, 2]), [1, 2]), True),
    (lambda c, tf: c.assertNear(tf.constant(1.0), 1.05, 0.1), False),
    (lambda c, tf: c.assertNear(1.0, 1.5, 0.1), True),
    (lambda c, tf: c.assertArrayNear([1.0, 2.0], [1.0, 2.5], 0.1), True),
    (lambda c, tf: c.assertAllGreater(tf.constant([1.0, 2.0]), 0.5), False),
    (lambda c, tf: c.assertAllGreater(tf.constant([1.0, 2.0]), 1.0), True),
    (lambda c, tf: c.assertAllLess(tf.constant([1.0, 2.0]), 2.0), True),
    (lambda c, tf: c.assertAllGreaterEqual(tf.constant([1.0, 2.0]), 1.0), False),
    (lambda c, tf: c.assertAllLessEqual(tf.constant([1.0, 2.0]), 1.5), True),
    (lambda c, tf: c.assertAllInRange(tf.constant([0.0, 1.0]), 0.0, 1.0), False),
    (lambda c, tf: c.assertAllInRange(tf.constant([0.0, 1.0]), 0.0, 1.0, open_upper_bound=True), True),
    (lambda c, tf: c.assertAllInSet(tf.constant([1, 2, 1]), {1, 2}), False),
    (lambda c, tf: c.assertAllInSet(tf.constant([1, 2, 3]), {1, 2}), True),
    (lambda c, tf: c.assertDTypeEqual(tf.constant(1.0), tf.float32), False),
    (lambda c, tf: c.assertDTypeEqual(tf.constant(1.0), tf.float64), True),
    (lambda c, tf: c.assertAllEqual(c.evaluate({"a": tf.constant(2)})["a"], 2), False),
    (lambda c, tf: raised(c.assertRaisesWithPredicateMatch(ValueError, "ab+"), ValueError("abb")), False),
    (lambda c, tf: raised(c.assertRaisesWithPredicateMatch(ValueError, "ac"), ValueError("abb")), True),
    (lambda c, tf: raised(c.assertRaisesWithPredicateMatch(ValueError, lambda e: e.args == (3,)), ValueError(3)), False),
    (lambda c, tf: raised(c.assertRaisesOpError("shape"), tf.errors.InvalidArgumentError(None, None, "wrong shape")), False),
]


def raised(context, error):
    with context:
        raise error


def fails(tf, ask):
    class Case(tf.test.TestCase):
        def runTest(self):
            ask(self, tf)

    result = Case().run()
    assert not result.errors, result.errors
    return bool(result.failures)


@pytest.mark.parametrize(("ask", "expected"), CASES)
def test_an_assertion_fails_where_tensorflows_does(ask, expected):
    import tensorflow

    assert fails(ours, ask) == fails(tensorflow, ask) == expected


def test_each_case_starts_from_the_same_random_numbers():
    import tensorflow

    def drawn(tf):
        class Case(tf.test.TestCase):
            def runTest(self):
                found.append(float(tf.random.uniform(())))

        found = []
        for _ in range(2):
            Case().run()
        return found

    (a, b), theirs = drawn(ours), drawn(tensorflow)
    assert a == b
    assert [a, b] == pytest.approx(theirs)


def test_a_directory_is_there_while_a_case_runs():
    import os

    class Case(ours.test.TestCase):
        def runTest(self):
            seen.append(self.get_temp_dir())
            assert os.path.isdir(seen[0])
            assert self.get_temp_dir() == seen[0]

    seen = []
    assert not Case().run().failures
    assert not os.path.exists(seen[0])
