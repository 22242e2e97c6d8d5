from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import tapegrad as tg
from tapegrad.errors import TapegradError

RNG = np.random.default_rng(5)
X = RNG.normal(0.5, 2, (6, 4, 3))


def moments(x: Any, axis: Any) -> Any:
    return (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + 1e-5)


def test_normalisations_differ_in_their_axes() -> None:
    np.testing.assert_allclose(tg.nn.batch_norm(X).numpy(), moments(X, (0, 1)), rtol=1e-12)
    np.testing.assert_allclose(tg.nn.layer_norm(X).numpy(), moments(X, -1), rtol=1e-12)
    np.testing.assert_allclose(tg.nn.instance_norm(X).numpy(), moments(X, 1), rtol=1e-12)
    np.testing.assert_allclose(tg.nn.group_norm(X, groups=1).numpy(), moments(X, (1, 2)), rtol=1e-12)
    np.testing.assert_allclose(tg.nn.group_norm(X, groups=3).numpy(), moments(X, 1), rtol=1e-12)


def test_batch_norm_gives_statistics_and_takes_those_given() -> None:
    y, mean, variance = tg.nn.batch_norm(X, statistics=True)
    np.testing.assert_allclose(mean.numpy(), X.mean((0, 1)), rtol=1e-12)
    np.testing.assert_allclose(variance.numpy(), X.var((0, 1)), rtol=1e-12)
    again = tg.nn.batch_norm(X, None, None, mean, variance)
    np.testing.assert_allclose(again.numpy(), y.numpy(), rtol=1e-12)


def test_statistics_have_derivatives_of_their_own() -> None:
    x = tg.asarray(X)
    with tg.GradientTape(persistent=True) as tape:
        tape.watch(x)
        _, mean, variance = tg.nn.batch_norm(x, statistics=True)
    n = 24
    np.testing.assert_allclose(tape.gradient(mean, x).numpy(), np.full(X.shape, 1 / n), rtol=1e-10)
    expected = 2 * (X - X.mean((0, 1))) / n
    np.testing.assert_allclose(tape.gradient(variance, x).numpy(), expected, rtol=1e-10, atol=1e-12)


def test_rows_that_are_all_equal_are_normalised_to_zero() -> None:
    x = tg.asarray(np.full((2, 3), 1.5))
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.nn.layer_norm(x)
    assert (y.numpy() == 0).all()
    assert np.isfinite(tape.gradient(y, x).numpy()).all()


def test_half_precision_is_normalised_in_single() -> None:
    x = np.linspace(-600, 600, 64, dtype=np.float16)
    y = tg.nn.layer_norm(x)
    assert y.dtype == np.float16
    np.testing.assert_allclose(y.numpy(), moments(x.astype(np.float64), -1), rtol=2e-3)


def test_dropout_keeps_the_mean_and_follows_its_generator() -> None:
    x = tg.Variable(np.ones((1000, 10), np.float32))
    first = tg.nn.dropout(x, rate=0.3, generator=tg.random.Generator(3)).numpy()
    again = tg.nn.dropout(x, rate=0.3, generator=tg.random.Generator(3)).numpy()
    np.testing.assert_array_equal(first, again)
    assert set(np.unique(first)) == {np.float32(0), np.float32(1 / 0.7)}
    assert first.mean() == pytest.approx(1, abs=0.03)
    with tg.GradientTape() as tape:
        y = tg.nn.dropout(x, rate=0.3, generator=tg.random.Generator(3))
    np.testing.assert_array_equal(tape.gradient(y, x).numpy(), first)


def test_dropout_at_rest_and_of_channels() -> None:
    assert (tg.nn.dropout(X, training=False).numpy() == X).all()
    assert (tg.nn.dropout(X, rate=0.0).numpy() == X).all()
    assert (tg.nn.dropout(X, rate=1.0).numpy() == 0).all()
    y = tg.nn.dropout(np.ones((20, 5, 3)), shape=(20, 1, 3)).numpy()
    assert (y == y[:, :1]).all()
    with pytest.raises(TapegradError, match="0 <= rate <= 1"):
        tg.nn.dropout(X, rate=1.5)


@pytest.mark.parametrize(
    ("f", "x", "expected"),
    [
        (tg.nn.softplus, [-800.0, 800.0, np.inf, -np.inf], [0, 800, np.inf, 0]),
        (tg.nn.logsigmoid, [-800.0, 800.0, np.inf, -np.inf], [-800, 0, 0, -np.inf]),
        (tg.nn.elu, [-800.0, 800.0, np.inf], [-1, 800, np.inf]),
        (tg.nn.gelu, [-800.0, 800.0, -10.0], [0, 800, -7.61985302416053e-23]),
        (tg.nn.silu, [-800.0, 800.0], [0, 800]),
        (tg.nn.mish, [-800.0, 800.0], [0, 800]),
    ],
)
def test_far_out_values_and_gradients_are_finite_where_they_are(f: Any, x: Any, expected: Any) -> None:
    t = tg.asarray(np.array(x))
    with np.errstate(all="ignore"):
        with tg.GradientTape() as tape:
            tape.watch(t)
            y = f(t)
        g = tape.gradient(y, t).numpy()
    np.testing.assert_allclose(y.numpy(), expected, rtol=1e-12)
    assert np.isfinite(g[np.isfinite(x)]).all()


def test_cross_entropy_of_confident_logits_stays_finite() -> None:
    x = tg.asarray(np.array([[1000.0, -1000.0], [-np.inf, 0.0]]))
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.nn.cross_entropy(x, tg.asarray([1, 1]), reduction="none")
    assert y.tolist() == [2000, 0]
    assert tape.gradient(y, x).tolist() == [[1, -1], [0, 0]]


def test_a_class_of_probability_zero_costs_nothing() -> None:
    x = tg.asarray(np.array([[-np.inf, 0.5]]))
    assert tg.nn.cross_entropy(x, tg.asarray(np.array([[0.0, 1.0]]))).item() == 0


@pytest.mark.parametrize(
    ("x", "target", "words", "text"),
    [
        ((3, 4), np.zeros(2, int), {}, "integer labels of x's shape"),
        ((3, 4), np.zeros((3, 5)), {}, "expected target.shape"),
        ((3, 4), np.zeros((3, 4)), {"ignore_index": 0}, "ignore_index is for integer labels"),
        ((3, 4), np.zeros(3, int), {"reduction": "avg"}, "reduction=...: expected \"mean\""),
    ],
)
def test_targets_that_do_not_fit_are_refused(x: Any, target: Any, words: Any, text: str) -> None:
    with pytest.raises(TapegradError, match=text):
        tg.nn.cross_entropy(np.ones(x), target, **words)


def test_a_query_that_sees_nothing_gives_zeros() -> None:
    q, k, v = (tg.asarray(RNG.normal(0, 1, (2, 3))) for _ in range(3))
    with tg.GradientTape() as tape:
        tape.watch([q, k, v])
        y = tg.nn.scaled_dot_product_attention(q, k, v, np.array([[True, True], [False, False]]))
    assert (y.numpy()[1] == 0).all()
    assert all(np.isfinite(g.numpy()).all() for g in tape.gradient(y, [q, k, v]))


def trained(loss: Any, params: list[tg.Variable], steps: int, rate: float) -> tuple[float, float]:
    values = []
    for _ in range(steps):
        with tg.GradientTape() as tape:
            value = loss()
        for p, g in zip(params, tape.gradient(value, params), strict=True):
            p.assign_sub(rate * g)
        values.append(value.item())
    return values[0], values[-1]


def test_a_small_convolutional_net_learns_where_a_bar_is() -> None:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, 2, 64)
    images = rng.normal(0, 0.3, (64, 8, 8, 1)).astype(np.float32)
    for image, label in zip(images, labels, strict=True):
        at = rng.integers(1, 7)
        image[at if label else slice(None), slice(None) if label else at] += 1
    kernel = tg.Variable(rng.normal(0, 0.3, (3, 3, 1, 4)).astype(np.float32))
    scale, shift = tg.Variable(np.ones(4, np.float32)), tg.Variable(np.zeros(4, np.float32))
    w = tg.Variable(rng.normal(0, 0.3, (4, 2)).astype(np.float32))

    def loss() -> Any:
        h = tg.nn.batch_norm(tg.nn.conv2d(images, kernel, padding="same"), scale, shift)
        h = tg.nn.adaptive_avg_pool2d(tg.nn.max_pool2d(tg.nn.relu(h), 2), 1)
        return tg.nn.cross_entropy(tg.reshape(h, (64, 4)) @ w, labels)

    before, after = trained(loss, [kernel, scale, shift, w], 60, 0.5)
    assert before > 0.5
    assert after < 0.1


def test_an_embedding_with_layer_norm_learns_with_sparse_gradients() -> None:
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 50, (40, 3))
    labels = (ids.sum(1) % 2).astype(np.int64)
    table = tg.Variable(rng.normal(0, 0.5, (50, 8)).astype(np.float32))
    scale, shift = tg.Variable(np.ones(24, np.float32)), tg.Variable(np.zeros(24, np.float32))
    w = tg.Variable(rng.normal(0, 0.2, (24, 2)).astype(np.float32))

    def loss() -> Any:
        h = tg.reshape(tg.nn.embedding(table, tg.asarray(ids), sparse=True), (40, 24))
        return tg.nn.cross_entropy(tg.nn.gelu(tg.nn.layer_norm(h, scale, shift)) @ w, labels)

    before, after = trained(loss, [table, scale, shift, w], 80, 0.5)
    assert before > 0.5
    assert after < 0.1


@pytest.mark.parametrize("width", [1, 5, 32, 33])
def test_many_short_rows_are_as_each_by_itself(width: int) -> None:
    x = np.random.default_rng(0).standard_normal((100, width)).astype(np.float32)
    x[3], x[5, 0], x[7, -1], x[9] = -np.inf, np.nan, np.inf, 1e4
    with np.errstate(all="ignore"):
        for f in (tg.softmax, tg.log_softmax, tg.logsumexp):
            rows = np.stack([f(tg.asarray(row), axis=-1).numpy() for row in x])
            np.testing.assert_allclose(f(tg.asarray(x), axis=-1).numpy(), rows, rtol=1e-6, atol=1e-7)
