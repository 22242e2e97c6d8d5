"""Functions that few programs name: crosses, sets, counts of ragged and sparse tensors, isotonic regression, and the like."""

import numpy as np
import pytest

from tapegrad import tf

SPARSE = tf.SparseTensor([[0, 1], [0, 3], [2, 0]], tf.constant([4, 4, 1]), [3, 5])
RAGGED = tf.ragged.constant([[1, 2, 2], [], [5]])


def listed(x):
    return x.indices.numpy().tolist(), x.values.numpy().tolist(), x.dense_shape.numpy().tolist()


# -- crosses ---------------------------------------------------------------------------------------------
def test_crosses_of_features_go_row_by_row_and_the_last_goes_fastest():
    words = tf.ragged.constant([["x", "y"], ["z"]])
    assert tf.ragged.cross([words, tf.ragged.constant([[1, 2], [3]])]).to_list() == [
        [b"x_X_1", b"x_X_2", b"y_X_1", b"y_X_2"], [b"z_X_3"]]
    crossed = tf.sparse.cross([words.to_sparse(), [["p"], ["q"]]], separator="-")
    assert listed(crossed) == ([[0, 0], [0, 1], [1, 0]], [b"x-p", b"y-p", b"z-q"], [2, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="as many rows each"):
        tf.ragged.cross([words, [["a"]]])


@pytest.mark.interop("tensorflow")
def test_crosses_fall_into_the_buckets_of_tensorflow():
    real = pytest.importorskip("tensorflow")
    for words in ({}, {"num_buckets": 50}, {"num_buckets": 50, "hash_key": 7}):
        for name in ("ragged", "sparse"):
            features = [["x", "y"], ["z", "a long text"]], [[1, 2], [3, -4]]
            ours, theirs = (
                getattr(space, name).cross_hashed([space.constant(f) for f in features], **words) for space in (tf, real)
            )
            flat = ("flat_values", "values")[name == "sparse"]
            assert getattr(ours, flat).numpy().tolist() == getattr(theirs, flat).numpy().tolist()


# -- sets -----------------------------------------------------------------------------------------------
def test_sets_of_rows():
    a, b = [[1, 2, 2], [5, 3, 1]], [[2, 3, 4], [1, 1, 1]]
    assert listed(tf.sets.union(a, b))[1] == [1, 2, 3, 4, 1, 3, 5]
    assert listed(tf.sets.intersection(a, b)) == ([[0, 0], [1, 0]], [2, 1], [2, 1])
    assert listed(tf.sets.difference(a, b))[1] == [1, 3, 5]
    assert listed(tf.sets.difference(a, b, aminusb=False))[1] == [3, 4]
    assert tf.sets.size(SPARSE).numpy().tolist() == [1, 0, 1]
    with pytest.raises(TypeError, match="integers or strings, got float32"):
        tf.sets.union([[1.0]], [[2.0]])


def test_how_far_sequences_are_apart():
    hypothesis = tf.SparseTensor([[0, 0, 0], [1, 0, 0]], ["a", "b"], [2, 1, 1])
    truth = tf.SparseTensor([[0, 1, 0], [1, 0, 0], [1, 0, 1], [1, 1, 0]], ["a", "b", "c", "a"], [2, 2, 2])
    assert tf.edit_distance(hypothesis, truth).numpy().tolist() == [[np.inf, 1.0], [0.5, 1.0]]
    assert tf.edit_distance(hypothesis, truth, normalize=False).numpy().tolist() == [[1.0, 1.0], [1.0, 1.0]]


# -- counts ---------------------------------------------------------------------------------------------
def test_counts_of_ragged_and_sparse_tensors():
    assert tf.math.bincount(RAGGED).numpy().tolist() == [0, 1, 2, 0, 0, 1]
    assert tf.math.bincount(SPARSE, axis=-1, minlength=6).numpy().tolist() == [[0, 0, 0, 0, 2, 0], [0] * 6, [0, 1, 0, 0, 0, 0]]
    assert listed(tf.sparse.bincount(RAGGED, axis=-1)) == ([[0, 1], [0, 2], [2, 5]], [1, 2, 1], [3, 6])
    assert listed(tf.sparse.bincount(SPARSE, maxlength=3)) == ([[1]], [1], [3])
    assert listed(tf.sparse.bincount([3, 3, 1], binary_output=True)) == ([[1], [3]], [1, 1], [4])


def test_weights_of_counts_have_derivatives():
    weights = tf.constant([[0.5, 1.0, 2.0], [3.0, 4.0, 5.0]])
    with tf.GradientTape() as tape:
        tape.watch(weights)
        y = tf.reduce_sum(tf.sparse.bincount([[7, 2, 7], [0, 0, 3]], weights, axis=-1).values ** 2)
    assert tape.gradient(y, weights).numpy().tolist() == [[5.0, 2.0, 5.0], [14.0, 14.0, 10.0]]


# -- the nearest falling sequence ------------------------------------------------------------------------
@pytest.mark.parametrize("decreasing", [True, False])
def test_isotonic_regression_is_the_nearest_sequence(decreasing):
    x = np.random.default_rng(1).normal(size=(3, 12))
    y, pools = (v.numpy() for v in tf.nn.isotonic_regression(x, decreasing=decreasing))
    assert np.all(np.diff(y, axis=-1) * (1 if decreasing else -1) <= 1e-12)
    for row, made, pool in zip(x, y, pools, strict=True):
        for k in range(pool.max() + 1):  # each pool has its mean, and no beginning of it goes before the rest
            part = row[pool == k]
            assert made[pool == k] == pytest.approx(part.mean())
            ahead = np.cumsum(part) / np.arange(1, len(part) + 1)
            assert np.all((ahead <= part.mean() + 1e-12) if decreasing else (ahead >= part.mean() - 1e-12))


def test_isotonic_regression_has_the_derivative_of_means():
    x = tf.constant([3.0, 1.0, 2.0, 0.5])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y, _ = tf.nn.isotonic_regression(x)
    assert tape.jacobian(y, x).numpy().tolist() == [[1, 0, 0, 0], [0, 0.5, 0.5, 0], [0, 0.5, 0.5, 0], [0, 0, 0, 1]]


# -- by other functions ----------------------------------------------------------------------------------
def test_a_system_by_conjugate_gradients_and_by_bands():
    a = np.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 5.0]])
    op = tf.linalg.LinearOperatorFullMatrix(a, is_self_adjoint=True, is_positive_definite=True)
    found = tf.linalg.experimental.conjugate_gradient(op, [1.0, 2.0, 3.0], tol=1e-12)
    np.testing.assert_allclose(found.x.numpy(), np.linalg.solve(a, [1.0, 2.0, 3.0]), rtol=1e-10)
    assert found.i == 3
    lower = np.array([[3.0, 0, 0], [1.0, 4, 0], [0, 2.0, 5]])
    bands = tf.constant([[3.0, 4, 5], [0, 1, 2]], tf.float64)
    np.testing.assert_allclose(tf.linalg.banded_triangular_solve(bands, np.ones((3, 1))).numpy(), np.linalg.solve(lower, np.ones((3, 1))))
    upper = tf.constant([[1.0, 2, 0], [3, 4, 5]], tf.float64)
    np.testing.assert_allclose(
        tf.linalg.banded_triangular_solve(upper, np.ones((3, 1)), lower=False).numpy(), np.linalg.solve(lower.T, np.ones((3, 1)))
    )


def test_windows_of_a_volume_are_its_slices():
    x = np.arange(2 * 3 * 4 * 3 * 2.0).reshape(2, 3, 4, 3, 2)
    y = tf.extract_volume_patches(x, [1, 2, 2, 2, 1], [1, 1, 2, 1, 1], "VALID").numpy()
    assert y.shape == (2, 2, 2, 2, 16)
    np.testing.assert_array_equal(y[1, 1, 1, 0], x[1, 1:3, 2:4, 0:2].reshape(-1))


def test_products_at_some_places():
    a, b = np.arange(6.0).reshape(2, 3), np.arange(12.0).reshape(3, 4)
    _, y, _ = tf.sparse.sampled_addmm([[0, 1], [1, 3]], [1.0, 10.0], [2, 4], a, b, beta=2.0, output_type=tf.float64)
    np.testing.assert_allclose(y.numpy(), [(a @ b)[0, 1] + 2, (a @ b)[1, 3] + 20])


def test_orders_repeat_for_a_seed():
    x = tf.range(20)
    one, same, other = (tf.random.experimental.stateless_shuffle(x, [seed, 0]).numpy() for seed in (1, 1, 2))
    assert one.tolist() == same.tolist() != other.tolist()
    assert sorted(one) == list(range(20))


def test_devices_by_their_parts():
    spec = tf.DeviceSpec.from_string("/job:worker/task:1/device:GPU:2")
    assert (spec.job, spec.task, spec.device_type, spec.device_index) == ("worker", 1, "GPU", 2)
    assert spec.replace(task=3).to_string() == "/job:worker/task:3/device:GPU:2"
    assert tf.DeviceSpec(device_type="cpu").make_merged_spec(spec) == spec
    with pytest.raises(ValueError, match="Unknown attribute 'place'"):
        tf.DeviceSpec.from_string("/place:1")


def test_constants_of_saved_models_stand_beside_its_functions():
    assert (tf.saved_model.SERVING, tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY) == ("serve", "serving_default")
    assert callable(tf.saved_model.save)
