"""What scripts of `tf.keras` ask for beside layers, where TensorFlow is not installed."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.interop("keras")

START = """
import sys
class Blocker:
    def find_spec(self, name, *rest):
        if name.split(".")[0] in ("tensorflow", "torch", "jax"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Blocker())
import numpy as np
import tapegrad.tf as tf
keras = tf.keras
layers, K = keras.layers, keras.backend
def said(f):
    try:
        f()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
"""


def run(program):
    found = subprocess.run([sys.executable, "-c", START + program], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr[-2000:]


def test_layers_of_strings_do_without_tensorflow():
    run("""
assert layers.Hashing(5)(np.array(["a", "b", "c"])).numpy().tolist() == [4, 2, 2]  # as TensorFlow hashes them
salted = tf.strings.to_hash_bucket_strong([bytes(range(15))], 2**62, [0x0706050403020100, 0x0F0E0D0C0B0A0908])
assert salted.numpy().tolist() == [0xA129CA6149BE45E5 % 2**62]  # the example of the paper on SipHash
assert layers.Hashing(5, salt=133)(np.array(["a", "b", "c"])).numpy().max() < 5
crossed = layers.HashedCrossing(5)((np.array(["a", "b"]), np.array([1, 2])))
assert crossed.shape == (2,) and crossed.numpy().max() < 5
words = layers.TextVectorization(output_sequence_length=4)
words.adapt(tf.data.Dataset.from_tensor_slices(["the cat sat", "the dog ran far"]).batch(2))
assert words.get_vocabulary()[2] == "the"
assert words(["the zebra", "the the the the the"]).numpy().tolist() == [[2, 1, 0, 0], [2, 2, 2, 2]]
for mode, wanted in (("multi_hot", [[0, 1, 1], [1, 0, 1]]), ("count", [[0, 1, 2], [1, 0, 1]])):
    bag = layers.TextVectorization(output_mode=mode, vocabulary=["cat", "the"])
    assert bag(["the the cat", "a the"]).numpy().tolist() == wanted
pairs = layers.TextVectorization(output_mode="multi_hot", ngrams=2, vocabulary=["the cat", "cat"])
assert pairs(["the cat sat", "cat"]).numpy().tolist() == [[1, 1, 1], [0, 0, 1]]
bag = layers.TextVectorization(output_mode="tf_idf", vocabulary=["cat", "the"], idf_weights=[2.0, 0.5])
assert bag(["the the cat", "a the"]).numpy()[0].tolist() == [0.0, 2.0, 1.0]
there = layers.StringLookup(vocabulary=["a", "b"])
back = layers.StringLookup(vocabulary=["a", "b"], invert=True)
assert back(there(np.array(["b", "z"]))).numpy().tolist() == [b"b", b"[UNK]"]
""")


def test_a_model_takes_strings():
    run("""
words = layers.TextVectorization(max_tokens=9, output_sequence_length=3, vocabulary=["the", "cat"])
model = keras.Sequential([keras.Input((1,), dtype="string"), words, layers.Embedding(9, 4), layers.Flatten(), layers.Dense(1)])
x, y = tf.constant([["the cat"], ["a dog"]]), tf.constant([[1.0], [2.0]])
once = model(x).numpy()
for given in (x, np.array([["the cat"], ["a dog"]], object)):
    np.testing.assert_allclose(model.predict(given, verbose=0), once, rtol=1e-6)
model.compile("adam", "mse")
for data in ((x, y), (tf.data.Dataset.from_tensor_slices((x, y)).batch(1),)):
    assert np.isfinite(model.fit(*data, verbose=0).history["loss"][0])
assert np.abs(model(x).numpy() - once).max() > 0
""")


def test_a_script_that_asks_for_the_backend_takes_the_way_of_tensorflow():
    run("""
import keras as public
assert [k.backend() for k in (K, keras.config, public.backend, public.config)] == ["tensorflow"] * 4
""")


def test_variables_have_the_shapes_of_tensorflow():
    run("""
layer = layers.Dense(2)
layer.build((None, 3))
optimizer = keras.optimizers.Adam()
optimizer.build(layer.trainable_variables)
for v in (layer.kernel, optimizer.variables[2]):
    assert isinstance(v.shape, tf.TensorShape) and v.shape.as_list() == [3, 2] and v.shape.num_elements() == 6
    assert v.shape == (3, 2) and str(v.shape) == "(3, 2)"
    assert int(keras.ops.prod(v.shape)) == 6 and keras.ops.convert_to_tensor(v.shape).numpy().tolist() == [3, 2]
assert keras.ops.reshape(tf.ones((6,)), layer.kernel.shape).shape == (3, 2)
""")


def test_names_of_older_scripts():
    run("""
x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
assert K.gather(x, [1]).numpy().tolist() == [[3.0, 4.0]]
assert K.map_fn(lambda row: row * 2, x).numpy().tolist() == [[2.0, 4.0], [6.0, 8.0]]
np.testing.assert_allclose(K.softmax(x), tf.nn.softmax(x), rtol=1e-6)
assert K.temporal_padding(tf.ones((1, 2, 2))).shape == (1, 4, 2)
assert tf.compat.v1.keras is tf.keras
first, second = keras.utils.split_dataset(tf.data.Dataset.range(10), left_size=0.8)
assert [len(first), len(second)] == [8, 2]
""")


def test_what_is_not_there_says_so():
    run("""
model = keras.Sequential([keras.Input((3,)), layers.Dense(2)])
assert "NotImplementedError: model.export: tapegrad has no graphs" in said(lambda: model.export("somewhere"))
assert "You must call `compile()`" in said(lambda: model.evaluate(np.ones((2, 3)), np.ones((2, 2))))
""")


@pytest.mark.parametrize("place", ["", "tf.summary; sys.modules['tensorflow'], tf.__name__ = tf, 'tensorflow'"], ids=["imported", "run"])
def test_a_board_is_written(tmp_path, place):
    run(f"""
import os
{place}
model = keras.Sequential([keras.Input((2,)), layers.Dense(1)])
model.compile("adam", "mse")
board = keras.callbacks.TensorBoard({str(tmp_path)!r}, histogram_freq=1, update_freq=1)
x, y = np.ones((8, 2)), np.ones((8, 1))
model.fit(x, y, epochs=2, verbose=0, validation_data=(x, y), callbacks=[board])
for part in ("train", "validation"):
    name, = os.listdir(os.path.join({str(tmp_path)!r}, part))
    with open(os.path.join({str(tmp_path)!r}, part, name), "rb") as file:
        written = file.read()
    wanted = [b"epoch_loss"] if part == "validation" else [b"epoch_loss", b"graph_keras_model", b"histograms"]
    assert all(name in written for name in wanted), (part, written[:400])
""")


def test_a_model_is_a_function_to_compile():
    run("""
model = keras.Sequential([keras.Input((3,)), layers.Dense(2)])
model.compile("sgd", "mse")
x = tf.ones((1, 3))
compiled = tf.function(model)
assert compiled(x).numpy().tolist() == compiled(x).numpy().tolist() == model(x).numpy().tolist()
""")


def test_a_tensor_that_is_converted_already_is_itself():
    run("""
x = tf.constant([1.0, 2.0])
assert keras.ops.convert_to_tensor(x) is x is keras.ops.convert_to_tensor(x, "float32") is keras.ops.cast(x, "float32")
assert keras.ops.cast(x, "float64").dtype == tf.float64 and keras.ops.convert_to_tensor(x, dtype="int32").dtype == tf.int32
v = tf.Variable([1.0])
kept = keras.ops.convert_to_tensor(v, "float32")
v.assign([5.0])
assert kept.numpy().tolist() == [1.0]  # a variable's value is taken when it is asked for
""")
