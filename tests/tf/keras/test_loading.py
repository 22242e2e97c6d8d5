"""How Keras is loaded, in processes of their own."""

import os
import subprocess
import sys
from urllib.error import URLError

import pytest

from tapegrad.keras import loading

pytestmark = pytest.mark.interop("keras")


def run(program, **settings):
    env = {**os.environ, **settings}
    return subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=False)


def test_no_other_framework_is_needed():
    program = """
import sys
class Blocker:
    def find_spec(self, name, *rest):
        if name.split(".")[0] in ("tensorflow", "torch", "jax"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocker())
import numpy as np
from tapegrad.keras import load
keras = load()
model = keras.Sequential([keras.layers.Conv2D(2, 2), keras.layers.Flatten(), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(np.ones((4, 3, 3, 1)), np.ones((4, 1)), verbose=0)
print("trained")
"""
    result = run(program)
    assert result.stdout.split() == ["trained"], result.stderr


def test_keras_with_another_backend_is_refused_with_the_way_out():
    result = run("import keras; from tapegrad.keras import load; load()", KERAS_BACKEND="numpy")
    assert "ImportError: tapegrad.keras: keras was imported before with the 'numpy' backend" in result.stderr
    assert "before anything that imports keras" in result.stderr


def test_a_version_of_keras_that_is_too_old_or_too_new_is_refused(monkeypatch):
    for version in ("3.11.3", "4.0.0"):
        monkeypatch.setattr("importlib.metadata.version", lambda name, version=version: version)
        with pytest.raises(ImportError, match=f"works with Keras 3.12 or newer, below 4, and {version} is installed"):
            loading._check_version()


def test_other_frameworks_that_are_installed_are_left_alone(tmp_path):
    program = f"""
import sys
import numpy as np
import tapegrad.tf as tf
tf.keras.utils.set_random_seed(1)
model = tf.keras.Sequential([tf.keras.layers.Dense(1, kernel_regularizer="l2"), tf.keras.layers.Dropout(0.5)])
model.compile("adam", "mse")
model.fit(np.ones((4, 3)), np.ones((4, 1)), verbose=0)
for name in ("a.keras", "a.h5", "a.weights.h5"):
    path = {str(tmp_path)!r} + "/" + name
    model.save_weights(path) if "weights" in name else model.save(path)
print([name for name in ("tensorflow", "torch", "jax") if name in sys.modules])
"""
    result = run(program)
    assert result.stdout.split() == ["[]"], result.stderr


def test_a_dataset_that_cannot_be_downloaded_says_what_to_do(keras, monkeypatch, tmp_path):
    def refused(*args, **words):
        raise URLError("no network")

    monkeypatch.setattr("keras.src.utils.file_utils.urlretrieve", refused)
    monkeypatch.setattr("keras.src.backend.config._KERAS_DIR", str(tmp_path))
    with pytest.raises(Exception, match=r"URL fetch failure on .*mnist\.npz.*no network") as found:
        keras.datasets.mnist.load_data()
    assert "make the same call on a machine that has one, and copy" in found.value.__notes__[0]
    assert str(tmp_path / "datasets") in found.value.__notes__[0]


def test_the_choice_of_a_backend_is_seen_by_nobody_else():
    program = "import os; from tapegrad.keras import load; load(); print(os.environ.get('KERAS_BACKEND'))"
    assert run(program, KERAS_BACKEND="torch").stdout.split() == ["torch"]


def test_tf_keras_has_the_tensors_and_variables_of_tapegrad_tf():
    program = """
import numpy as np
import tapegrad.tf as tf
from tapegrad.tf.keras import layers
seen = []
class Doubled(layers.Layer):
    def call(self, x):
        seen.append((type(x) is tf.Tensor, x.shape.as_list()[-1]))
        return x * 2.0
model = tf.keras.Sequential([layers.Dense(3), Doubled()])
with tf.GradientTape() as tape:
    y = model(np.ones((2, 4), "float32"))
    loss = tf.keras.losses.MeanSquaredError()(np.ones((2, 3)), y)
g = tape.gradient(loss, model.trainable_variables)
print({*seen}, {type(v) is tf.Tensor for v in (y, loss, *g)}, isinstance(model.weights[0].value, tf.Variable))
v = tf.Variable([1.0, 2.0])
tf.keras.optimizers.SGD(0.5).apply_gradients([(tf.constant([1.0, 1.0]), v)])
print(v.numpy().tolist(), tf.keras.metrics.Mean()(y).dtype.name)
ops = tf.keras.ops
print([str(x.dtype.name) for x in (ops.ones_like(y, dtype=tf.int32), ops.eye(2, dtype=y.dtype), ops.cast(y, tf.float16))])
z = layers.Dense(2)(layers.Masking()(tf.constant([[[1.0, 2.0], [0.0, 0.0]]])))
print(z._keras_mask.numpy().tolist(), hasattr(y, "_keras_mask"))
"""
    result = run(program)
    assert result.stdout.splitlines() == [
        "{(True, 3)} {True} True",
        "[0.5, 1.5] float32",
        "['int32', 'float32', 'float16']",
        "[[True, False]] False",
    ], result.stderr


@pytest.mark.interop("tensorflow")
def test_a_compiled_step_of_keras_is_what_it_is_at_once_on_tensorflows_kernels():
    program = """
import numpy as np
import tapegrad.tf as tf
x = np.random.default_rng(0).normal(size=(32, 8)).astype("float32")
y = (x.sum(1) > 0).astype("int32")
first = []
def trained(compiled):
    net = tf.keras.Sequential([tf.keras.layers.Dense(6, "relu"), tf.keras.layers.BatchNormalization(), tf.keras.layers.Dense(2)])
    optimizer, loss_of = tf.keras.optimizers.Adam(0.01), tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    mean = tf.keras.metrics.Mean()
    net(x)
    first.extend([] if first else net.get_weights())
    net.set_weights(first)
    def step(x, y):
        with tf.GradientTape() as tape:
            loss = loss_of(y, net(x, training=True))
        gradients = tape.gradient(loss, net.trainable_variables)
        optimizer.apply_gradients(zip(gradients, net.trainable_variables))
        mean.update_state(loss)
        return loss
    run = tf.function(step) if compiled else step
    for k in range(4):
        for a, b in tf.data.Dataset.from_tensor_slices((x, y)).batch(16):
            loss = run(a, b)
    return [float(loss), float(mean.result()), float(tf.reduce_sum(net.layers[1].moving_mean)), int(optimizer.iterations)]
a, b = trained(False), trained(True)
np.testing.assert_allclose(a, b, rtol=1e-4)
dropout = tf.keras.layers.Dropout(0.5)
drop = tf.function(lambda x: dropout(x, training=True))
one, two = drop(tf.ones([100])), drop(tf.ones([100]))
assert set(one.numpy().tolist()) == {0.0, 2.0} and (one.numpy() != two.numpy()).any()
from tapegrad.kernels.tensorflow_array import TFArray
print(type(dropout.seed_generator.state.value.array) is TFArray, type(one.array) is TFArray)
"""
    result = run(program, TAPEGRAD_BACKEND="tensorflow", TF_CPP_MIN_LOG_LEVEL="3")
    assert result.stdout.split() == ["True", "True"], result.stderr


def test_a_checkpoint_is_restored_into_a_model_that_is_not_built_yet(tmp_path):
    program = f"""
import numpy as np
import tapegrad.tf as tf
x = np.linspace(-1, 1, 12, dtype="float32").reshape(4, 3)
class Net(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.inner, self.outer = tf.keras.layers.Dense(4), tf.keras.layers.Dense(2)
    def call(self, x):
        return self.outer(self.inner(x))
def step(net, optimizer):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.square(net(x) - 1.0))
    optimizer.apply_gradients(zip(tape.gradient(loss, net.trainable_variables), net.trainable_variables))
    return float(loss)
def parts():
    net, optimizer = Net(), tf.keras.optimizers.Adam(0.1)
    return net, optimizer, tf.train.Checkpoint(net=net, optimizer=optimizer)
net, optimizer, checkpoint = parts()
for _ in range(3):
    step(net, optimizer)
path = checkpoint.save({str(tmp_path / "net")!r})
wanted = [step(net, optimizer) for _ in range(2)]
net, optimizer, checkpoint = parts()
checkpoint.restore(path)
print([step(net, optimizer) for _ in range(2)] == wanted, int(optimizer.iterations), "_maybe_build" in vars(net))
"""
    result = run(program)
    assert result.stdout.split() == ["True", "5", "False"], result.stderr
