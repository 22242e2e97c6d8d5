"""tf.Tensor, tf.Variable, dtypes, shapes and conversion: examples that need no TensorFlow."""

import copy
import pickle

import numpy as np
import pytest

import tapegrad as tg
from tapegrad import tf

pytestmark = pytest.mark.usefixtures("kernels")


def test_a_tensor_shows_itself_as_tensorflow_does():
    x = tf.constant([1.5, -2.0])
    assert repr(x) == "<tf.Tensor: shape=(2,), dtype=float32, numpy=array([ 1.5, -2. ], dtype=float32)>"
    assert str(tf.constant(1)) == "tf.Tensor(1, shape=(), dtype=int32)"
    assert f"{tf.constant(1.25):.1f}" == "1.2"
    assert repr(tf.constant("a")) == "<tf.Tensor: shape=(), dtype=string, numpy=b'a'>"


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, tf.int32),
        (2**40, tf.int64),
        (1.5, tf.float32),
        (1j, tf.complex128),
        (True, tf.bool),
        ("a", tf.string),
        ([1, 2.5], tf.float32),
        ([], tf.float32),
        (np.ones(2), tf.float64),
        (np.float16(1), tf.float16),
        ([np.float64(1)], tf.float64),
    ],
)
def test_a_value_has_the_dtype_that_tensorflow_gives_it(value, dtype):
    assert tf.constant(value).dtype == dtype


def test_lists_with_tensors_in_them_keep_their_history():
    x = tf.constant(2.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.reduce_sum(tf.convert_to_tensor([x, 3.0, x * x]))
    assert tape.gradient(y, x).numpy() == 5.0


@pytest.mark.parametrize("name", ["sum", "mean", "astype", "T", "item", "tolist", "reshape", "op", "graph", "name"])
def test_what_tensorflow_has_not_is_not_there(name):
    assert not hasattr(tf.ones([2]), name)


def test_numpy_gives_a_copy():
    x = tf.ones([2])
    x.numpy()[0] = 5
    assert x.numpy()[0] == 1
    assert isinstance(tf.constant(1.0).numpy(), np.float32)


def test_numpy_functions_give_arrays_and_operators_tensors():
    x = tf.constant([1.0, 2.0])
    assert type(np.sin(x)) is np.ndarray
    assert type(np.mean(x)) is np.float32
    assert type(np.ones(2) * x) is tf.Tensor
    assert (np.float64(2) * x).dtype == tf.float32


def test_equality_is_elementwise_and_hashing_refused():
    x = tf.constant([1.0, 2.0])
    assert (x == 1.0).numpy().tolist() == [True, False]
    assert (x == None) is False  # noqa: E711
    with pytest.raises(TypeError, match=r"unhashable.*ref"):
        hash(x)
    assert {x.ref(): 1}[x.ref()] == 1
    assert x.ref().deref() is x


def test_assignment_to_elements_is_refused():
    with pytest.raises(TypeError, match="does not support item assignment"):
        tf.ones([2])[0] = 1.0
    with pytest.raises(TypeError, match="does not support item assignment"):
        tf.Variable([1.0])[0] = 1.0


def test_an_operator_in_place_makes_a_new_tensor():
    x = y = tf.constant([1.0])
    x += 1.0
    assert y.numpy() == [1.0]
    v = tf.Variable(1.0)
    with pytest.raises(RuntimeError, match=r"`variable\.assign_add"):
        v += 1.0


def test_tensors_are_pickled_and_copied():
    x = tf.constant([1.0, 2.0])
    for y in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert type(y) is tf.Tensor
        np.testing.assert_array_equal(y.numpy(), x.numpy())
    v = copy.deepcopy(tf.Variable([1.0], name="w", trainable=False))
    assert (v.name, v.trainable) == ("w:0", False)


def test_indices_are_those_that_tensorflow_takes():
    x = tf.reshape(tf.range(6), [2, 3])
    assert x[tf.constant(1), ..., tf.newaxis].shape == (3, 1)
    assert x[x > 2].numpy().tolist() == [3, 4, 5]
    assert x[[0, 1]].numpy() == 1  # a list is a tuple here
    for key in (1.5, np.array([0, 1]), True):
        with pytest.raises(TypeError, match="Only integers, slices"):
            x[key]


def test_shapes_compare_and_combine():
    shape = tf.TensorShape([2, None])
    assert shape.is_compatible_with([2, 5])
    assert not shape.is_compatible_with([3, 5])
    assert (shape + [4]).as_list() == [2, None, 4]  # noqa: RUF005  the sum is what is tested
    assert tf.TensorShape(None).rank is None
    assert repr(shape) == "TensorShape([2, None])"
    assert shape.merge_with([None, 3]) == (2, 3)
    with pytest.raises(ValueError, match="incompatible"):
        shape.assert_is_compatible_with([3, 1])


def test_dtypes_know_themselves():
    assert tf.as_dtype("float32") is tf.float32
    assert tf.float32 == np.float32
    assert tf.bfloat16.size == 2
    assert tf.uint8.max == 255
    assert tf.complex64.real_dtype is tf.float32
    assert {tf.float32: 1}[tf.float32] == 1
    with pytest.raises(TypeError, match="Cannot convert"):
        tf.as_dtype("nonsense")


def test_a_slice_of_a_variable_is_assigned():
    v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    v[0].assign([5.0, 6.0])
    v[:, 1].assign_add([10.0, 10.0])
    np.testing.assert_array_equal(v.numpy(), [[5, 16], [3, 14]])
    with tf.GradientTape() as tape:
        y = v[0] * 2.0
    np.testing.assert_array_equal(tape.gradient(y, v).numpy(), [[2, 2], [0, 0]])


def test_variables_check_what_is_assigned():
    v = tf.Variable([1.0, 2.0], name="w")
    with pytest.raises(ValueError, match=r"w:0.*Shape mismatch"):
        v.assign([1.0])
    with pytest.raises(ValueError, match="dtype float32 for Tensor with dtype float64"):
        v.assign(tf.ones([2], tf.float64))
    free = tf.Variable([1.0], shape=[None])
    free.assign([1.0, 2.0, 3.0])
    assert free.shape.as_list() == [None]
    with pytest.raises(ValueError, match="initial_value"):
        tf.Variable()


def test_names_of_variables_stand_in_scopes():
    with tf.name_scope("a"), tf.name_scope("b"):
        assert tf.Variable(1.0, name="w").name == "a/b/w:0"


def test_styles_mix_on_the_same_tensors():
    x = tf.constant([1.0, 2.0])
    y = tg.asarray([3.0, 4.0])
    assert type(x * y) is tf.Tensor
    assert type(tg.sin(x)) is tg.Tensor
    with tg.GradientTape() as tape:
        tape.watch(x)
        z = tg.sum(tf.square(x) * tg.exp(x))
    np.testing.assert_allclose(tape.gradient(z, x).numpy(), (2 * x.numpy() + x.numpy() ** 2) * np.exp(x.numpy()), rtol=1e-6)


def test_modules_find_their_variables():
    class Dense(tf.Module):
        def __init__(self):
            super().__init__()
            self.w = tf.Variable([1.0])
            self.b = tf.Variable([2.0], trainable=False)

    class Net(tf.Module):
        def __init__(self):
            super().__init__(name="net")
            self.layers = [Dense(), Dense()]
            self.extra = {"scale": tf.Variable(1.0)}

    net = Net()
    assert len(net.variables) == 5
    assert len(net.trainable_variables) == 3
    assert [m.name for m in net.submodules] == ["dense", "dense"]
    assert net.variables[0] is net.extra["scale"]


def test_nests_are_flattened_by_sorted_keys():
    s = {"b": [1, (2,)], "a": 3}
    assert tf.nest.flatten(s) == [3, 1, 2]
    assert tf.nest.map_structure(lambda v: 2 * v, s) == {"b": [2, (4,)], "a": 6}
    with pytest.raises(ValueError, match="number of elements"):
        tf.nest.assert_same_structure([1, 2], [1])


def test_what_is_not_here_says_so():
    with pytest.raises(NotImplementedError, match="custom_gradient"):
        tf.RegisterGradient("Sin")
    with pytest.raises(RuntimeError, match="GradientTape"):
        tf.gradients(1, 2)
