"""Functions that few scripts call, each against a definition that is written out."""

import itertools

import numpy as np
import pytest

from tapegrad import tf
from tapegrad.registry.backends import making_on

RNG = np.random.default_rng(7)


def probability(labels, logits, blank):
    """The sum over all paths that give these labels without repeats and blanks."""
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    total = 0.0
    for path in itertools.product(range(p.shape[1]), repeat=len(p)):
        if [k for k, _ in itertools.groupby(path) if k != blank] == list(labels):
            total += np.prod(p[np.arange(len(p)), path])
    return total


@pytest.mark.parametrize("blank", [0, -1])
def test_ctc_loss_is_the_probability_of_all_paths(blank):
    logits = RNG.normal(size=(5, 3, 3))
    labels, lengths, times = [[1, 1], [1, 0], [0, 0]], [2, 1, 0], [5, 4, 2]
    labels = np.array(labels) if blank == 0 else np.array([[1, 1], [1, 0], [0, 0]])
    found = tf.nn.ctc_loss(labels, tf.constant(logits), lengths, times, blank_index=blank)
    for k, loss in enumerate(found.numpy()):
        assert loss == pytest.approx(-np.log(probability(labels[k][: lengths[k]], logits[: times[k], k], blank % 3)))
    batch_first = tf.nn.ctc_loss(labels, logits.transpose(1, 0, 2), lengths, times, logits_time_major=False, blank_index=blank)
    np.testing.assert_allclose(batch_first, found)
    theory, numeric = tf.test.compute_gradient(
        lambda x: tf.nn.ctc_loss(labels, x, lengths, times, blank_index=blank), [tf.constant(logits)]
    )
    np.testing.assert_allclose(theory[0], numeric[0], atol=1e-5)


def test_labels_that_do_not_fit_into_the_time_have_an_infinite_loss():
    x = tf.Variable(RNG.normal(size=(2, 1, 3)))
    with tf.GradientTape() as tape:
        loss = tf.nn.ctc_loss([[1, 1]], x, [2], [2])
    assert loss.numpy() == np.inf
    assert np.isfinite(tape.gradient(loss, x)).all()
    with pytest.raises(tf.errors.InvalidArgumentError, match="Saw a label out of range"):
        tf.nn.ctc_loss([[5]], x, [1], [2])


def test_repeated_labels_are_collapsed():
    rows, lengths = tf.nn.collapse_repeated([[1, 1, 2, 2, 3], [4, 4, 4, 0, 0]], [5, 3])
    assert rows.numpy().tolist() == [[1, 2, 3], [4, 0, 0]]
    assert lengths.numpy().tolist() == [3, 1]
    unique, index = tf.nn.ctc_unique_labels([[3, 4, 4, 3]])
    assert unique.numpy().tolist() == [[3, 4, 0, 0]]
    assert index.numpy().tolist() == [[0, 1, 1, 0]]


@pytest.mark.parametrize(("strides", "rates", "padding"), [([1, 1, 1, 1], [1, 1, 1, 1], "SAME"), ([1, 2, 1, 1], [1, 1, 2, 1], "VALID")])
def test_dilation_is_the_largest_sum_in_each_window(strides, rates, padding):
    x, w = RNG.normal(size=(2, 5, 6, 2)), RNG.normal(size=(2, 3, 2))
    found = tf.nn.dilation2d(x, w, strides, padding, "NHWC", rates).numpy()
    if padding == "SAME":
        x = np.pad(x, ((0, 0), (0, 1), (1, 1), (0, 0)), constant_values=-np.inf)
    for n, i, j, c in np.ndindex(*found.shape):
        at = [(i * strides[1] + a * rates[1], j * strides[2] + b * rates[2]) for a in range(2) for b in range(3)]
        assert found[n, i, j, c] == max(x[n, r, s, c] + w[k // 3, k % 3, c] for k, (r, s) in enumerate(at))


def test_gradients_of_dilation_and_erosion_are_those_of_differences():
    x, w = tf.constant(RNG.normal(size=(1, 4, 4, 1))), tf.constant(RNG.normal(size=(2, 2, 1)))
    for f in (tf.nn.dilation2d, tf.nn.erosion2d):
        theory, numeric = tf.test.compute_gradient(lambda x, w, f=f: f(x, w, [1] * 4, "SAME", "NHWC", [1] * 4), [x, w])
        for a, b in zip(theory, numeric, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-6)


@pytest.mark.parametrize("layout", ["compact", "matrix", "sequence"])
def test_a_system_of_three_diagonals_is_solved_and_multiplied_back(layout):
    main, near = RNG.normal(size=(2, 4)) + 4, RNG.normal(size=(2, 2, 3))
    whole = np.stack([np.diag(m) + np.diag(a, 1) + np.diag(b, -1) for m, a, b in zip(main, near[0], near[1], strict=True)])
    above, below = np.pad(near[0], ((0, 0), (0, 1))), np.pad(near[1], ((0, 0), (1, 0)))
    given = {"compact": np.stack([above, main, below], 1), "matrix": whole, "sequence": [near[0], main, near[1]]}[layout]
    given = [tf.constant(g) for g in given] if layout == "sequence" else tf.constant(given)
    rhs = RNG.normal(size=(2, 4, 3))
    x = tf.linalg.tridiagonal_solve(given, rhs, layout)
    np.testing.assert_allclose(x, np.linalg.solve(whole, rhs))
    np.testing.assert_allclose(tf.linalg.tridiagonal_matmul(given, x, layout), rhs)
    np.testing.assert_allclose(tf.linalg.tridiagonal_solve(given, rhs[..., 0], layout), x[..., 0])
    np.testing.assert_allclose(tf.linalg.tridiagonal_solve(given, rhs.transpose(0, 2, 1), layout, transpose_rhs=True), x)


def test_gradients_of_a_system_of_three_diagonals():
    d, rhs = tf.constant(RNG.normal(size=(3, 4)) + np.array([[0.0], [4.0], [0.0]])), tf.constant(RNG.normal(size=(4, 2)))
    theory, numeric = tf.test.compute_gradient(tf.linalg.tridiagonal_solve, [d, rhs])
    for a, b in zip(theory, numeric, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-6)


def test_a_likeness_at_several_sizes():
    x = RNG.uniform(size=(1, 45, 46, 2)).astype(np.float32)
    y = np.clip(x + 0.1 * RNG.normal(size=x.shape), 0, 1).astype(np.float32)
    np.testing.assert_allclose(tf.image.ssim_multiscale(x, x, 1.0, [0.5, 0.3, 0.2]), [1.0], rtol=1e-6)
    np.testing.assert_allclose(tf.image.ssim_multiscale(x, y, 1.0, [1.0]), tf.image.ssim(x, y, 1.0), rtol=1e-5)
    assert tf.image.ssim_multiscale(x, y, 1.0, [0.5, 0.3, 0.2]).numpy()[0] < 1


def test_a_transposed_convolution_is_the_adjoint():
    x, w, y = RNG.normal(size=(2, 6, 1)), RNG.normal(size=(3, 1, 2)), RNG.normal(size=(2, 3, 2))
    there = tf.nn.convolution(x, w, 2, "SAME").numpy()
    back = tf.nn.conv_transpose(y, w, x.shape, 2).numpy()
    np.testing.assert_allclose((there * y).sum(), (x * back).sum())
    image, kernel, out = RNG.normal(size=(1, 6, 6, 2)), RNG.normal(size=(3, 3, 2, 3)), RNG.normal(size=(1, 6, 6, 3))
    there = tf.nn.atrous_conv2d(image, kernel, 2, "SAME").numpy()
    back = tf.nn.atrous_conv2d_transpose(out, kernel, image.shape, 2, "SAME").numpy()
    np.testing.assert_allclose((there * out).sum(), (image * back).sum())


def test_the_mean_loss_of_a_batch_of_no_samples_is_zero():
    assert tf.nn.compute_average_loss([1.5, 2.5], global_batch_size=0).numpy() == 0
    with pytest.raises(TypeError, match="must be an int"):
        tf.nn.compute_average_loss([1.5, 2.5], global_batch_size=2.0)
    with pytest.raises(tf.errors.InvalidArgumentError, match="must be non-negative"):
        tf.nn.compute_average_loss([1.5, 2.5], global_batch_size=-1)


BOXES = np.array([[0, 0, 0.5, 0.5], [0, 0, 0.5, 0.45], [0.5, 0.5, 1, 1], [0.1, 0, 0.6, 0.5]], np.float32)
SCORES = np.array([0.9, 0.8, 0.75, 0.6], np.float32)


def test_of_boxes_that_overlap_the_best_is_kept():
    assert tf.image.non_max_suppression(BOXES, SCORES, 4, 0.5).numpy().tolist() == [0, 2]
    assert tf.image.non_max_suppression(BOXES, SCORES, 4, 0.7).numpy().tolist() == [0, 2, 3]
    kept, count = tf.image.non_max_suppression_padded(BOXES, SCORES, 4, 0.5, pad_to_max_output_size=True)
    assert (kept.numpy().tolist(), count.numpy()) == ([0, 2, 0, 0], 2)
    overlaps = np.eye(4, dtype=np.float32)
    overlaps[0, 2] = overlaps[2, 0] = 0.8
    assert tf.image.non_max_suppression_overlaps(overlaps, SCORES, 3).numpy().tolist() == [0, 1, 3]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"iou_threshold must be in \[0, 1\]"):
        tf.image.non_max_suppression(BOXES, SCORES, 4, 1.5)


def test_overlaps_make_scores_smaller_instead():
    kept, scores = tf.image.non_max_suppression_with_scores(BOXES, SCORES, 4, 1.0, soft_nms_sigma=0.5)
    assert kept.numpy().tolist() == [0, 2, 3, 1]
    np.testing.assert_allclose(scores[:2], [0.9, 0.75])
    first, second = 0.9, (0.4 * 0.5) / 0.3  # the shares of boxes 1 and 3 in box 0
    assert scores[2].numpy() == pytest.approx(0.6 * np.exp(-(second**2)), rel=1e-5)
    third = (0.4 * 0.45) / (0.5 * 0.45 + 0.25 - 0.4 * 0.45)
    assert scores[3].numpy() == pytest.approx(0.8 * np.exp(-(first**2) - third**2), rel=1e-5)


def test_the_best_boxes_of_all_classes_with_their_classes():
    scores = np.stack([SCORES, SCORES[::-1]], axis=-1)[None]
    found = tf.image.combined_non_max_suppression(BOXES[None, :, None], scores, 2, 3, 0.5, 0.3)
    assert found.nmsed_classes.numpy().tolist() == [[0, 1, 1]]
    np.testing.assert_allclose(found.nmsed_scores, [[0.9, 0.9, 0.8]])
    np.testing.assert_array_equal(found.nmsed_boxes[0], BOXES[[0, 3, 2]])
    assert found.valid_detections.numpy().tolist() == [3]


def test_incomplete_gamma_and_beta_functions_are_integrals():
    t = (np.arange(200000) + 0.5) / 200000
    a, b, x = 1.75, 2.5, 0.6
    e = (np.exp(-3 * t) * (3 * t) ** (a - 1)).mean() * 3 / np.exp(tf.math.lgamma(tf.constant(a, tf.float64)))
    np.testing.assert_allclose(tf.math.igamma(tf.constant(a, tf.float64), 3.0), e, rtol=1e-6)
    np.testing.assert_allclose(tf.math.igammac(tf.constant(a, tf.float64), 3.0), 1 - e, rtol=1e-5)
    share = (t ** (a - 1) * (1 - t) ** (b - 1)) / (t ** (a - 1) * (1 - t) ** (b - 1)).sum()
    np.testing.assert_allclose(tf.math.betainc(tf.constant(a, tf.float64), b, x), share[t < x].sum(), rtol=1e-5)
    with tf.GradientTape() as tape:
        v = tf.constant(2.0)
        tape.watch(v)
        y = tf.math.igamma(1.0, v)
    np.testing.assert_allclose(tape.gradient(y, v), np.exp(-2.0), rtol=1e-6)


def test_the_incomplete_gamma_and_beta_functions_have_derivatives_for_their_parameters():
    h = 1e-4
    with tf.GradientTape() as tape:
        a, b = tf.constant(1.5, tf.float64), tf.constant(2.5, tf.float64)
        tape.watch([a, b])
        y = tf.math.igamma(a, 2.0) + tf.math.betainc(a, b, 0.3)
    found = tape.gradient(y, [a, b])
    gap = tf.math.igamma(a + h, 2.0) - tf.math.igamma(a - h, 2.0) + tf.math.betainc(a + h, b, 0.3) - tf.math.betainc(a - h, b, 0.3)
    np.testing.assert_allclose(found[0], gap / (2 * h), rtol=1e-6)
    np.testing.assert_allclose(found[1], (tf.math.betainc(a, b + h, 0.3) - tf.math.betainc(a, b - h, 0.3)) / (2 * h), rtol=1e-6)


@pytest.mark.parametrize("name", ["bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "bessel_k0", "bessel_k1", "bessel_k0e", "bessel_k1e"])
@pytest.mark.parametrize("backend", ["numpy", "tensorflow"])
def test_bessel_functions_take_numbers_and_arrays_that_are_no_tensors_yet(name, backend):
    if backend == "tensorflow":
        pytest.importorskip("tensorflow")
    f = getattr(tf.math.special, name)
    with making_on(backend):
        one, array, tensor = f(1.5), f(np.float32([1.5])), f(tf.constant([1.5]))
    assert one.dtype == array.dtype == tf.float32
    assert float(one) == pytest.approx(float(array[0]), rel=1e-6) == pytest.approx(float(tensor[0]), rel=1e-6)
