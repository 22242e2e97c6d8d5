"""Gradients through Keras's layers, losses and models: those of differences, to second order."""

import numpy as np
import pytest

import tapegrad as tg

pytestmark = pytest.mark.interop("keras")

LAYERS = {
    "dense": (lambda k: k.layers.Dense(3, activation="tanh"), (2, 4)),
    "conv2d": (lambda k: k.layers.Conv2D(3, 2, strides=2, padding="same"), (2, 5, 4, 2)),
    "grouped": (lambda k: k.layers.Conv2D(4, 2, groups=2, dilation_rate=2), (1, 4, 5, 2)),
    "depthwise": (lambda k: k.layers.DepthwiseConv2D(2, depth_multiplier=2), (1, 4, 3, 2)),
    "separable": (lambda k: k.layers.SeparableConv2D(3, 2), (1, 4, 3, 2)),
    "conv2d_transpose": (lambda k: k.layers.Conv2DTranspose(3, 3, strides=2, padding="same"), (1, 3, 2, 2)),
    "transpose_of_wide_strides": (lambda k: k.layers.Conv1DTranspose(2, 2, strides=3), (1, 3, 2)),
    "batch_normalization": (lambda k: k.layers.BatchNormalization(), (4, 3)),
    "layer_normalization": (lambda k: k.layers.LayerNormalization(), (2, 3)),
    "group_normalization": (lambda k: k.layers.GroupNormalization(2), (2, 3, 4)),
    "prelu": (lambda k: k.layers.PReLU(alpha_initializer="ones"), (2, 3)),
    "lstm": (lambda k: k.layers.LSTM(3, return_sequences=True), (2, 4, 2)),
    "lstm_of_masks": (lambda k: k.Sequential([k.layers.Masking(), k.layers.LSTM(2)]), (2, 3, 2)),
    "gru": (lambda k: k.layers.GRU(3), (2, 4, 2)),
    "gru_reset_before": (lambda k: k.layers.GRU(2, reset_after=False), (2, 3, 2)),
    "bidirectional": (lambda k: k.layers.Bidirectional(k.layers.LSTM(2)), (2, 3, 2)),
    "simple_rnn": (lambda k: k.layers.SimpleRNN(3), (2, 4, 2)),
    "time_distributed": (lambda k: k.layers.TimeDistributed(k.layers.Dense(2)), (2, 3, 2)),
    "einsum_dense": (lambda k: k.layers.EinsumDense("abc,cd->abd", (None, 2), bias_axes="d"), (2, 3, 2)),
}


def numbers(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape)


def along(f, variable, direction, h=1e-6):
    """The derivative of a number along a direction of a variable, by differences."""
    start = variable.numpy().copy()
    values = []
    for step in (h, -h):
        variable.assign(start + step * direction)
        values.append(float(f()))
    variable.assign(start)
    return (values[0] - values[1]) / (2 * h)


def check(f, variables, tolerance=1e-6):
    with tg.GradientTape() as tape:
        y = f()
    found = tape.gradient(y, variables)
    for i, (v, g) in enumerate(zip(variables, found, strict=True)):
        direction = numbers(v.shape, seed=i)
        wanted = along(f, v, direction)
        slope = 0.0 if g is None else float(tg.sum(g * tg.asarray(direction)))
        assert slope == pytest.approx(wanted, rel=tolerance, abs=tolerance), v.path


@pytest.fixture
def double(keras):
    for dtype in ("float64", "float32"):
        keras.config.set_floatx(dtype)
        keras.config.set_dtype_policy(dtype)
        if dtype == "float64":
            yield


@pytest.mark.parametrize("name", LAYERS)
def test_a_layer_has_the_gradients_of_differences(keras, double, name):
    make, shape = LAYERS[name]
    layer, x = make(keras), keras.Variable(numbers(shape), dtype="float64")
    weights = tg.asarray(numbers(layer(x.value, training=True).shape, seed=5))
    assert layer.trainable_variables
    check(lambda: tg.sum(layer(x.value, training=True) * weights), [*layer.trainable_variables, x])


@pytest.mark.parametrize(
    ("name", "words", "shape"),
    [
        ("MaxPooling2D", {"padding": "same"}, (1, 5, 4, 2)),
        ("AveragePooling2D", {"pool_size": 2, "padding": "same", "strides": 1}, (1, 3, 4, 2)),
        ("GlobalAveragePooling2D", {}, (2, 3, 2, 2)),
        ("GlobalMaxPooling1D", {}, (2, 3, 2)),
        ("UpSampling2D", {"interpolation": "bilinear"}, (1, 2, 3, 1)),
        ("ZeroPadding2D", {}, (1, 2, 2, 1)),
        ("Softmax", {}, (2, 3)),
        ("LeakyReLU", {}, (2, 3)),
        ("ELU", {}, (2, 3)),
        ("RepeatVector", {"n": 2}, (2, 3)),
        ("UnitNormalization", {}, (2, 3)),
    ],
)
def test_a_layer_without_weights_hands_gradients_on(keras, double, name, words, shape):
    layer, x = getattr(keras.layers, name)(**words), keras.Variable(numbers(shape), dtype="float64")
    weights = tg.asarray(numbers(layer(x.value).shape, seed=5))
    check(lambda: tg.sum(layer(x.value) * weights), [x])


def test_attention_has_the_gradients_of_differences(keras, double):
    layer = keras.layers.MultiHeadAttention(2, 3)
    q, v = (keras.Variable(numbers((2, n, 4), seed=n), dtype="float64") for n in (3, 5))
    layer(q.value, v.value)
    check(lambda: tg.sum(tg.square(layer(q.value, v.value, use_causal_mask=True))), [*layer.trainable_variables, q, v], 1e-5)


def test_an_embedding_has_gradients_for_the_rows_that_were_read(keras):
    layer = keras.layers.Embedding(5, 2)
    with tg.GradientTape() as tape:
        loss = tg.sum(layer(np.array([[1, 3], [1, 0]])) * 2.0)
    (g,) = tape.gradient(loss, layer.trainable_variables)
    assert np.asarray(g).tolist() == [[2, 2], [4, 4], [0, 0], [2, 2], [0, 0]]


@pytest.mark.parametrize(
    ("name", "words", "target"),
    [
        ("MeanSquaredError", {}, "real"),
        ("MeanAbsoluteError", {}, "real"),
        ("Huber", {}, "real"),
        ("LogCosh", {}, "real"),
        ("CosineSimilarity", {}, "real"),
        ("KLDivergence", {}, "shares"),
        ("Poisson", {}, "shares"),
        ("BinaryCrossentropy", {}, "bits"),
        ("BinaryCrossentropy", {"from_logits": True, "label_smoothing": 0.1}, "bits"),
        ("BinaryFocalCrossentropy", {}, "bits"),
        ("CategoricalCrossentropy", {}, "shares"),
        ("CategoricalCrossentropy", {"from_logits": True}, "shares"),
        ("SparseCategoricalCrossentropy", {}, "label"),
        ("SparseCategoricalCrossentropy", {"from_logits": True}, "label"),
        ("Hinge", {}, "bits"),
    ],
)
def test_a_loss_has_the_gradients_of_differences(keras, double, name, words, target):
    loss = getattr(keras.losses, name)(**words)
    shares = np.exp(numbers((3, 4)))
    shares /= shares.sum(-1, keepdims=True)
    y = {
        "real": numbers((3, 4), seed=2),
        "shares": shares,
        "bits": (numbers((3, 4), seed=2) > 0).astype("float64"),
        "label": np.array([0, 3, 1]),
    }[target]
    x = keras.Variable(np.abs(numbers((3, 4), seed=3)) / 4 + 0.05, dtype="float64")
    check(lambda: loss(y, x.value), [x], 1e-5)


def test_a_gradient_penalty_has_the_gradients_of_differences(keras, double):
    critic = keras.Sequential(
        [
            keras.Input((4, 4, 1)),
            keras.layers.Conv2D(3, 2, activation="tanh"),
            keras.layers.LayerNormalization(),
            keras.layers.Flatten(),
            keras.layers.Dense(1, use_bias=False),
        ]
    )
    x = tg.asarray(numbers((2, 4, 4, 1)))

    def penalty():
        with tg.GradientTape() as inner:
            inner.watch(x)
            score = critic(x, training=True)
        slopes = inner.gradient(score, x)
        return tg.mean((tg.sqrt(tg.sum(slopes * slopes, axis=(1, 2, 3))) - 1.0) ** 2)

    check(penalty, critic.trainable_variables, 1e-5)


def test_a_model_gives_gradients_to_a_structure_of_its_variables(keras):
    layer = keras.layers.Dense(1)
    layer.build((None, 2))
    with tg.GradientTape(persistent=True) as tape:
        y = tg.sum(layer(np.ones((3, 2), "float32")) + layer.kernel[0, 0] * 2)
    found = tape.gradient(y, {"kernel": layer.kernel, "rest": (layer.bias,)})
    assert np.asarray(found["kernel"]).tolist() == [[9.0], [3.0]]
    assert np.asarray(found["rest"][0]).tolist() == [3.0]
    assert tape.gradient(y, layer.kernel).shape == (2, 1)
    assert len(tape.watched_variables()) == 2


def test_a_layer_that_is_frozen_is_not_watched(keras):
    layer = keras.layers.Dense(1, trainable=False)
    with tg.GradientTape() as tape:
        y = tg.sum(layer(np.ones((3, 2), "float32")))
    assert tape.watched_variables() == ()
    assert tape.gradient(y, layer.kernel) is None


def test_a_custom_gradient_is_taken(keras):
    @keras.ops.custom_gradient
    def doubled_back(x):
        return x * 3.0, lambda *args, upstream: upstream * 2.0

    x = tg.asarray([1.5, -0.5])
    with tg.GradientTape() as tape:
        tape.watch(x)
        y = tg.sum(doubled_back(x))
    assert np.asarray(tape.gradient(y, x)).tolist() == [2.0, 2.0]
