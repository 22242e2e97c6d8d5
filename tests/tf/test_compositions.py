"""Functions of the facade that are composed of several ops: laws that need no TensorFlow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tapegrad import tf

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.usefixtures("kernels")
RNG = np.random.default_rng(0xC0)
SQUARE = RNG.normal(size=(2, 3, 3)) + 2 * np.eye(3)
POSITIVE = SQUARE @ SQUARE.swapaxes(-1, -2) + np.eye(3)
IMAGES, SIGNAL = RNG.uniform(size=(2, 6, 5, 3)), RNG.normal(size=(2, 24))


def directional(f: Callable[[Any], Any], x: Any) -> tuple[float, float]:
    """The derivative of a weighted sum of what a function gives, in a direction: by a tape, and by differences."""
    t = RNG.normal(size=x.shape)
    v = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(v)
        y = f(v)
    seed = RNG.normal(size=tuple(y.shape))
    found = np.sum(tf.convert_to_tensor(tape.gradient(y, v, output_gradients=tf.constant(seed, y.dtype))).numpy() * t)
    ends = [np.sum(seed * f(tf.constant(x + s * 1e-6 * t)).numpy()) for s in (1, -1)]
    return float(np.real(found)), float(np.real((ends[0] - ends[1]) / 2e-6))


def test_factors_of_a_matrix_give_it_back_and_solve_with_it():
    a, b = tf.constant(SQUARE), tf.constant(RNG.normal(size=(2, 3, 2)))
    factors = tf.linalg.lu(a)
    np.testing.assert_allclose(tf.linalg.lu_reconstruct(*factors), SQUARE)
    np.testing.assert_allclose(a @ tf.linalg.lu_solve(*factors, b), b)
    np.testing.assert_allclose(tf.linalg.lu_matrix_inverse(*factors), np.linalg.inv(SQUARE))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not invertible"):
        tf.linalg.lu(tf.zeros((2, 2)))


def test_a_root_squared_and_a_logarithm_exponentiated_are_the_matrix():
    a = tf.constant(POSITIVE)
    root = tf.linalg.sqrtm(a)
    np.testing.assert_allclose(root @ root, POSITIVE)
    np.testing.assert_allclose(tf.linalg.expm(tf.linalg.logm(tf.cast(a, tf.complex128))), POSITIVE, rtol=1e-9)
    assert np.isnan(tf.linalg.sqrtm(tf.constant([[0.0, 1.0], [1.0, 0.0]])).numpy()).all()  # an eigenvalue of -1: no real root


def test_equal_eigenvalues_do_not_harm_the_derivative_of_a_root():
    found, expected = directional(tf.linalg.sqrtm, 4.0 * np.eye(3))
    np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda a: tf.linalg.lu(a).lu, SQUARE),
        (tf.linalg.sqrtm, POSITIVE),
        (lambda a: tf.math.real(tf.linalg.logm(tf.cast(a, tf.complex128))), POSITIVE),
        (lambda x: tf.image.crop_and_resize(x, [[0.1, 0.2, 0.7, 0.9], [0.3, 0.3, 0.35, 0.8]], [1, 0], [3, 2]), IMAGES),
        (lambda x: tf.image.crop_and_resize(x, [[0.1, 0.2, 0.7, 1.2]], [1], [3, 4]), IMAGES),
        (lambda x: tf.image.extract_patches(x, [1, 3, 2, 1], [1, 2, 2, 1], [1, 1, 2, 1], "SAME"), IMAGES),
        (lambda x: tf.image.ssim(x, tf.constant(IMAGES[::-1].copy()), 1.0, filter_size=3), IMAGES),
        (lambda x: tf.abs(tf.signal.stft(x, 8, 4)), SIGNAL),
        (lambda x: tf.signal.dct(x, 3, norm="ortho"), SIGNAL),
        (lambda x: tf.signal.mdct(x, 8), SIGNAL),
        (lambda x: tf.reverse_sequence(x, [3, 7], seq_axis=1, batch_axis=0), SIGNAL),
        (lambda x: tf.space_to_batch(x, [2, 3], [[1, 1], [0, 1]]), IMAGES),
        (lambda x: tf.nn.max_pool_with_argmax(x, 2, 2, "SAME").output, IMAGES),
    ],
)
def test_derivatives_are_those_of_differences(f: Callable[[Any], Any], x: Any):
    found, expected = directional(f, x)
    single = "crop" in str(f.__code__.co_names) or "ssim" in str(f.__code__.co_names)  # these compute in float32
    np.testing.assert_allclose(found, expected, rtol=5e-2 if single else 1e-5, atol=0.2 if single else 1e-7)


def test_boxes_have_a_derivative_too():
    box, step = tf.constant([[0.1, 0.2, 0.7, 0.9]]), tf.constant([[1e-2, 0.0, -1e-2, 2e-2]])
    inside = lambda b: tf.reduce_sum(tf.image.crop_and_resize(tf.constant(IMAGES.astype("f4")) ** 2, b, [1], [3, 2]))  # noqa: E731
    with tf.GradientTape() as tape:
        tape.watch(box)
        y = inside(box)
    moved = (inside(box + 0.1 * step) - inside(box - 0.1 * step)) / 0.2
    np.testing.assert_allclose(tf.reduce_sum(tape.gradient(y, box) * step), moved, rtol=2e-2)


def test_frames_added_up_are_the_adjoint_of_framing():
    x, y = tf.constant(SIGNAL), tf.constant(RNG.normal(size=(2, 6, 5)))
    framed = tf.signal.frame(x, 5, 3)
    assert framed.shape == (2, 7, 5)
    left = tf.reduce_sum(tf.signal.frame(x[:, :20], 5, 3) * y)
    np.testing.assert_allclose(left, tf.reduce_sum(x[:, :20] * tf.signal.overlap_and_add(y, 3)))


def test_the_inverse_of_a_short_time_transform_gives_the_signal_back():
    x = tf.constant(SIGNAL)
    back = tf.signal.inverse_stft(tf.signal.stft(x, 8, 4), 8, 4, window_fn=tf.signal.inverse_stft_window_fn(4))
    np.testing.assert_allclose(back[:, 4:-4], SIGNAL[:, 4:-4], atol=1e-6)  # the window is a float32 at heart
    np.testing.assert_allclose(tf.signal.idct(tf.signal.dct(x, norm="ortho"), norm="ortho"), SIGNAL, atol=1e-12)


def test_blocks_in_the_batch_go_back_into_space():
    x = tf.constant(IMAGES)
    there = tf.space_to_batch(x, [2, 3], [[1, 1], [0, 1]])
    assert there.shape == (12, 4, 2, 3)
    np.testing.assert_array_equal(tf.batch_to_space(there, [2, 3], [[1, 1], [0, 1]]), IMAGES)


def test_a_box_around_all_of_an_image_is_the_image():
    whole = tf.image.crop_and_resize(tf.constant(IMAGES), [[0.0, 0.0, 1.0, 1.0]], [1], [6, 5])
    np.testing.assert_allclose(whole[0], IMAGES[1], atol=1e-6)
    outside = tf.image.crop_and_resize(tf.constant(IMAGES), [[-2.0, 0.0, -1.0, 1.0]], [0], [2, 2], extrapolation_value=7.0)
    assert (outside.numpy() == 7).all()
    with pytest.raises(tf.errors.OutOfRangeError, match="box_index"):
        tf.image.crop_and_resize(tf.constant(IMAGES), [[0.0, 0.0, 1.0, 1.0]], [2], [6, 5])


def test_a_drawn_box_changes_its_outline_alone():
    drawn = tf.image.draw_bounding_boxes(tf.zeros((1, 5, 5, 1)), [[[0.25, 0.25, 0.75, 0.75]]], [[1.0]])[0, :, :, 0].numpy()
    assert drawn.tolist() == [[0, 0, 0, 0, 0], [0, 1, 1, 1, 0], [0, 1, 0, 1, 0], [0, 1, 1, 1, 0], [0, 0, 0, 0, 0]]


def test_equal_images_are_wholly_alike():
    x = tf.constant(IMAGES)
    np.testing.assert_allclose(tf.image.ssim(x, x, 1.0, filter_size=3), 1.0, rtol=1e-6)


def test_tables_and_lines():
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), -1)
    assert table.lookup(tf.constant([["b"], ["z"]])).numpy().tolist() == [[2], [-1]]
    with pytest.raises(TypeError, match="Dtype of argument"):
        table.lookup(tf.constant([1]))
    fields = tf.io.decode_csv(["1,2.5,x", "3,,y"], [[0], [9.0], [""]])
    assert [f.numpy().tolist() for f in fields] == [[1, 3], [2.5, 9.0], [b"x", b"y"]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expect 3 fields but have 2"):
        tf.io.decode_csv(["1,2"], [[0], [0], [0]])
