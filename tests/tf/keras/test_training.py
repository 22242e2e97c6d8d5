"""Optimisers, fit and its kin, weights and files, as scripts use them."""

import numpy as np
import pytest

import tapegrad as tg

pytestmark = pytest.mark.interop("keras")


@pytest.fixture
def data():
    x = np.random.default_rng(0).standard_normal((64, 3)).astype("float32")
    return x, (x @ np.array([[1.5], [-2.0], [0.5]]) + 0.25).astype("float32")


def linear(keras, **words):
    model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    model.compile(**{"optimizer": keras.optimizers.SGD(0.1), "loss": "mse", "metrics": ["mae"], **words})
    return model


# -- optimisers ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SGD", {"momentum": 0.9, "nesterov": True}),
        ("Adam", {}),
        ("AdamW", {}),
        ("RMSprop", {}),
        ("Adagrad", {}),
        ("Nadam", {}),
        ("Adamax", {}),
        ("Ftrl", {}),
        ("Lion", {"global_clipnorm": 1.0}),
    ],
)
def test_an_optimizer_goes_the_same_way_for_variables_of_both_kinds(keras, name, words):
    ours, theirs = tg.Variable([1.0, -2.0]), keras.Variable([1.0, -2.0])
    for v in (ours, theirs):
        optimizer = getattr(keras.optimizers, name)(0.1, **words)
        for _ in range(3):
            with tg.GradientTape() as tape:
                loss = tg.sum(tg.square(v))
            optimizer.apply_gradients([(tape.gradient(loss, v), v)])
        assert int(optimizer.iterations) == 3
    assert np.asarray(ours).tolist() == theirs.numpy().tolist() != [1.0, -2.0]


def test_minimize_takes_a_function_or_a_loss_with_its_tape(keras):
    v = tg.Variable([1.0, -2.0])
    optimizer = keras.optimizers.SGD(0.25)
    optimizer.minimize(lambda: tg.sum(v * v), [v])
    with tg.GradientTape() as tape:
        loss = tg.sum(v * v)
    optimizer.minimize(loss, [v], tape=tape)
    assert np.asarray(v).tolist() == [0.25, -0.5]
    with pytest.raises(ValueError, match="`tape` is required"):
        optimizer.minimize(loss, [v])


def test_a_schedule_sets_the_learning_rate_of_each_step(keras):
    optimizer = keras.optimizers.SGD(keras.optimizers.schedules.PiecewiseConstantDecay([1], [0.5, 0.125]))
    v = keras.Variable(1.0)
    rates = []
    for _ in range(3):
        rates.append(float(optimizer.learning_rate))
        optimizer.apply_gradients([(tg.asarray(0.0), v)])
    assert rates == [0.5, 0.5, 0.125]


def test_a_sparse_gradient_is_applied(keras):
    table = tg.Variable(np.ones((3, 2), np.float32))
    keras.optimizers.SGD(1.0).apply_gradients([(tg.SparseRows([1, 1], np.ones((2, 2), np.float32), (3, 2)), table)])
    assert np.asarray(table).tolist() == [[1, 1], [-1, -1], [1, 1]]


# -- fit ---------------------------------------------------------------------------------------------------------
def test_fit_evaluate_and_predict(keras, data):
    model = linear(keras)
    history = model.fit(*data, epochs=30, batch_size=16, validation_split=0.25, verbose=0).history
    assert history.keys() == {"loss", "mae", "val_loss", "val_mae"}
    assert history["val_loss"][-1] < 1e-6 < history["val_loss"][0]
    loss, mae = model.evaluate(*data, verbose=0)
    assert loss < 1e-6
    assert mae < 1e-3
    predicted = model.predict(data[0], verbose=0)
    assert isinstance(predicted, np.ndarray)
    np.testing.assert_allclose(predicted, data[1], atol=1e-2)
    assert np.ravel(model.get_weights()[0]) == pytest.approx([1.5, -2.0, 0.5], abs=1e-2)


def test_callbacks_are_called_and_stop_training(keras, data, tmp_path):
    seen = []

    class Watcher(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            seen.append((batch, float(logs["loss"])))

    path = tmp_path / "best.weights.h5"
    callbacks = [
        Watcher(),
        keras.callbacks.EarlyStopping(monitor="loss", patience=0, min_delta=1e9),
        keras.callbacks.ModelCheckpoint(path, save_weights_only=True),
        keras.callbacks.ReduceLROnPlateau(monitor="loss"),
    ]
    model = linear(keras)
    model.fit(*data, epochs=10, batch_size=32, callbacks=callbacks, verbose=0)
    assert [batch for batch, _ in seen] == [0, 1, 0, 1]
    before = model.get_weights()
    model.set_weights([0 * w for w in before])
    model.load_weights(path)
    assert all(np.array_equal(a, b) for a, b in zip(before, model.get_weights(), strict=True))


def test_generators_and_datasets_feed_fit(keras, data):
    class Batches(keras.utils.PyDataset):
        def __len__(self):
            return 4

        def __getitem__(self, i):
            return tuple(v[16 * i : 16 * (i + 1)] for v in data)

    model = linear(keras)
    model.fit(Batches(), epochs=2, verbose=0)
    with pytest.warns(UserWarning, match="ran out of data"):  # nobody knows how long a generator is
        model.fit((tuple(v[:16] for v in data) for _ in range(4)), epochs=1, shuffle=False, verbose=0)
    assert int(model.optimizer.iterations) == 12


def test_a_dataset_feeds_fit_evaluate_and_predict(keras, data):
    class Dataset:
        """What `tapegrad.tf.data` has of a dataset."""

        element_spec = None

        def __init__(self, *arrays):
            self.arrays = arrays

        def __iter__(self):
            for i in range(4):
                batch = tuple(tg.asarray(v[16 * i : 16 * (i + 1)]) for v in self.arrays)
                yield batch if len(batch) > 1 else batch[0]

        def cardinality(self):
            return tg.asarray(4)

    model = linear(keras)
    history = model.fit(Dataset(*data), epochs=20, validation_data=Dataset(*data), verbose=0).history
    assert history["val_loss"][-1] < 1e-4
    assert model.evaluate(Dataset(*data), verbose=0)[0] < 1e-4
    assert model.predict(Dataset(data[0]), verbose=0).shape == (64, 1)
    with pytest.raises(ValueError, match="`y` should not be passed"):
        model.fit(Dataset(*data), data[1])


def test_batches_one_by_one(keras, data):
    model = linear(keras)
    first, _ = model.train_on_batch(*data)
    second, _ = model.train_on_batch(*data, sample_weight=np.ones(64))
    assert second < first
    assert model.test_on_batch(*data, return_dict=True)["loss"] < second
    assert model.predict_on_batch(data[0]).shape == (64, 1)


def test_steps_per_execution(keras, data):
    model = linear(keras, steps_per_execution=4)
    model.fit(*data, epochs=1, batch_size=16, verbose=0)
    assert int(model.optimizer.iterations) == 4


def test_a_train_step_of_a_subclass_with_a_tape_inside(keras, data):
    class Model(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(1)

        def call(self, x, training=False):
            return self.dense(x)

        def train_step(self, batch):
            x, y = batch
            with tg.GradientTape() as tape:
                loss = self.compute_loss(x, y, self(x, training=True))
            weights = self.trainable_variables
            self.optimizer.apply_gradients(zip(tape.gradient(loss, weights), weights, strict=True))
            for metric in self.metrics:
                metric.update_state(loss) if metric.name == "loss" else metric.update_state(y, self(x))
            return {metric.name: metric.result() for metric in self.metrics}

    model = Model()
    model.compile("adam", "mse", metrics=["mae"])
    history = model.fit(*data, epochs=3, verbose=0).history
    assert history["loss"][-1] < history["loss"][0]


# -- models ------------------------------------------------------------------------------------------------------
def test_a_functional_model_with_two_inputs_and_outputs(keras):
    a, b = keras.Input((2,)), keras.Input((3,))
    joined = keras.layers.Concatenate()([a, keras.layers.Dense(2)(b)])
    model = keras.Model([a, b], [keras.layers.Dense(1)(joined), keras.layers.Reshape((2, 2))(joined)])
    first, second = model([np.ones((4, 2)), np.ones((4, 3))])
    assert (first.shape, second.shape) == ((4, 1), (4, 2, 2))
    assert model.count_params() == 8 + 5


def test_a_layer_with_weights_of_its_own(keras):
    class Scale(keras.layers.Layer):
        def build(self, shape):
            self.scale = self.add_weight(
                shape=(shape[-1],), initializer="ones", regularizer=keras.regularizers.L2(0.5), name="scale"
            )

        def call(self, x):
            return x * self.scale

    layer = Scale()
    with tg.GradientTape() as tape:
        y = tg.sum(layer(np.ones((2, 3), "float32"))) + tg.sum(tg.stack(layer.losses))
    (g,) = tape.gradient(y, layer.trainable_variables)
    assert np.asarray(g).tolist() == [3.0, 3.0, 3.0]


def test_batch_statistics_move_in_training_alone(keras):
    layer = keras.layers.BatchNormalization(momentum=0.5)
    x = np.array([[0.0], [2.0]], "float32")
    layer(x)
    assert float(layer.moving_mean[0]) == 0.0
    with tg.GradientTape() as tape:
        y = tg.sum(layer(x, training=True))
    assert float(layer.moving_mean[0]) == 0.5
    assert tape.gradient(y, layer.trainable_variables)[1].tolist() == [2.0]


def test_a_whole_model_is_saved_and_loaded(keras, data, tmp_path):
    model = linear(keras)
    model.fit(*data, epochs=1, verbose=0)
    model.save(tmp_path / "model.keras")
    again = keras.models.load_model(tmp_path / "model.keras")
    assert all(np.array_equal(a, b) for a, b in zip(model.get_weights(), again.get_weights(), strict=True))
    assert int(again.optimizer.iterations) == 2


def test_the_same_seed_gives_the_same_model(keras):
    made = []
    for _ in range(2):
        keras.utils.set_random_seed(7)
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2), keras.layers.Dropout(0.5)])
        made.append(np.asarray(model(np.ones((4, 3)), training=True)))
    np.testing.assert_array_equal(*made)


def test_a_model_that_cannot_be_built_says_why(keras):
    model = keras.Sequential([keras.layers.Conv2D(2, 5)])
    model.compile("sgd", "mse")
    with pytest.raises(ValueError, match="output size would be zero or negative"):
        model.fit(np.ones((2, 3, 3, 1)), np.ones((2, 1)), verbose=0)


def test_callbacks_are_called_in_the_thread_of_the_step(keras, data, monkeypatch):
    monkeypatch.setattr("concurrent.futures.ThreadPoolExecutor", None)
    model = linear(keras)
    assert model.fit(*data, verbose=0).epoch == [0]
    assert len(model.evaluate(*data, verbose=0)) == 2


def test_a_quotient_without_nan_and_its_derivative(keras):
    for divisor in ([2.0, -4.0], [2.0, 0.0]):
        a, b = tg.Variable([1.0, 3.0]), tg.Variable(divisor)
        with tg.GradientTape() as tape:
            y = keras.ops.divide_no_nan(a, b)
        wanted = [x / d if d else 0.0 for x, d in zip([1.0, 3.0], divisor, strict=True)]
        assert np.asarray(y).tolist() == wanted
        da, db = tape.gradient(y, [a, b])
        assert np.asarray(da).tolist() == [1 / d if d else 0.0 for d in divisor]
        assert np.asarray(db).tolist() == [-w / d if d else 0.0 for w, d in zip(wanted, divisor, strict=True)]


# -- dtypes ------------------------------------------------------------------------------------------------------
def test_what_is_cast_to_bfloat16_is_bfloat16(keras):
    x = tg.asarray(np.array([1.0, 2.5]))
    assert x.dtype == np.float64
    for y in (keras.ops.cast(x, "bfloat16"), keras.ops.saturate_cast(keras.ops.cast(x, "float32"), "bfloat16")):
        assert keras.backend.standardize_dtype(y.dtype) == "bfloat16"


def test_numbers_of_eight_bits_are_refused_by_name(keras):
    with pytest.raises(NotImplementedError, match=r"no numbers of 8 bits .*float8_e4m3fn.*'int8' or 'int4'"):
        keras.ops.cast(tg.asarray([1.0]), "float8_e4m3fn")
    layer = keras.layers.Dense(2, dtype="float8_from_float32")
    with pytest.raises(NotImplementedError, match="'int8' or 'int4'"):
        layer(np.ones((1, 2), "float32"))


def test_a_length_and_an_angle_are_a_complex_number(keras):
    np.testing.assert_allclose(keras.ops.polar(tg.asarray([1.0, 2.0]), tg.asarray([0.0, 0.5])), [1, 2 * np.exp(0.5j)], rtol=1e-6)


def test_the_grey_of_an_image_is_spread_over_its_range(keras):
    image = np.repeat(np.arange(100, 116, dtype="float32").reshape(1, 4, 4, 1), 3, axis=-1)
    found = np.asarray(keras.layers.Equalization()(image))
    assert found.min() == 0
    assert found.max() == 255
    assert (np.diff(found[0, :, :, 0].ravel()) > 0).all()
