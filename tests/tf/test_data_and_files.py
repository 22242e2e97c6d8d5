"""tf.data, tf.random, tf.io, tf.train, tf.summary, tf.print: examples that need no TensorFlow."""

import os

import numpy as np
import pytest

from tapegrad import tf
from tapegrad.events import wire
from tapegrad.tf import records

Dataset = tf.data.Dataset

pytestmark = pytest.mark.usefixtures("kernels")


def numbers(dataset):
    return [np.asarray(x).tolist() for x in dataset.as_numpy_iterator()]


def test_the_order_of_a_shuffle_is_the_one_that_tensorflow_has_for_these_seeds():
    tf.random.set_seed(3)
    r = Dataset.range(10)
    assert numbers(r.shuffle(10, seed=1, reshuffle_each_iteration=False)) == [9, 5, 1, 7, 8, 4, 2, 3, 6, 0]
    assert numbers(r.shuffle(4, seed=1, reshuffle_each_iteration=False)) == [1, 4, 5, 0, 3, 8, 2, 7, 6, 9]
    again = r.shuffle(10, seed=1)
    assert numbers(again) == [7, 5, 3, 6, 1, 2, 0, 9, 8, 4]
    assert numbers(again) == [8, 1, 4, 0, 5, 3, 2, 7, 6, 9]


def test_numbers_of_a_seed_are_those_of_tensorflow():
    tf.random.set_seed(1234)
    np.testing.assert_allclose(tf.random.normal([2]).numpy(), [0.8369314, -0.73429775], rtol=1e-6)
    np.testing.assert_array_equal(tf.random.uniform([2]).numpy(), np.float32([0.3253647, 0.1387006]))
    np.testing.assert_array_equal(tf.random.stateless_uniform([2], [1, 2]).numpy(), np.float32([0.8440604, 0.19204533]))
    assert tf.random.Generator.from_seed(5).split(1)[0].state.numpy().tolist() == [0, 0, 511886651086640123]


def test_batches_windows_and_specs():
    r = Dataset.range(5)
    assert numbers(r.batch(2)) == [[0, 1], [2, 3], [4]]
    assert numbers(r.batch(2, drop_remainder=True)) == [[0, 1], [2, 3]]
    assert r.batch(2).element_spec == tf.TensorSpec([None], tf.int64)
    calls = []
    mapped = r.map(lambda x: calls.append(x) or tf.cast(x, tf.float32)).batch(2).prefetch(1)
    assert not calls  # what is known of the elements is found out when somebody asks
    assert mapped.element_spec == tf.TensorSpec([None], tf.float32)
    assert mapped.batch(3, drop_remainder=True).element_spec == tf.TensorSpec([3, None], tf.float32)
    assert numbers(r.window(3, shift=1, drop_remainder=True).flat_map(lambda w: w.batch(3))) == [[0, 1, 2], [1, 2, 3], [2, 3, 4]]
    assert numbers(Dataset.range(1, 4).map(lambda n: tf.fill([n], n)).padded_batch(3)) == [[[1, 0, 0], [2, 2, 0], [3, 3, 3]]]
    assert len(r.repeat(3).skip(2)) == 13


def test_structures_of_elements():
    d = Dataset.from_tensor_slices(({"a": [1, 2]}, [[1.0], [2.0]]))
    features, label = next(iter(d))
    assert features["a"].numpy() == 1
    assert label.dtype == tf.float32
    zipped = Dataset.zip((Dataset.range(2), d)).batch(2)
    assert zipped.element_spec[1][0]["a"].dtype == tf.int32


def test_a_generator_is_checked_against_its_signature():
    spec = (tf.TensorSpec([], tf.int32), tf.TensorSpec([None], tf.float32))
    d = Dataset.from_generator(lambda: iter([(1, [1.0]), (2, [1.0, 2.0])]), output_signature=spec)
    assert [x[1].shape[0] for x in d] == [1, 2]
    bad = Dataset.from_generator(lambda: iter([(1, 2)]), output_signature=spec)
    with pytest.raises(tf.errors.InvalidArgumentError, match="element of shape"):
        list(bad)


def test_an_iterator_ends_with_the_error_of_tensorflow():
    it = iter(Dataset.range(1))
    it.get_next()
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        it.get_next()


def test_png_files_are_read_and_written_without_another_library(tmp_path):
    pixels = np.random.default_rng(0).integers(0, 256, (5, 4, 3)).astype(np.uint8)
    name = str(tmp_path / "x.png")
    tf.io.write_file(name, tf.io.encode_png(pixels))
    np.testing.assert_array_equal(tf.io.decode_image(tf.io.read_file(name)).numpy(), pixels)
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        tf.io.read_file(name + "?")


def test_records_and_examples_come_back(tmp_path):
    name = str(tmp_path / "x.tfrecord")
    feature = {
        "n": tf.train.Feature(int64_list=tf.train.Int64List(value=[3, -4])),
        "s": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"text"])),
        "f": tf.train.Feature(float_list=tf.train.FloatList(value=[1.5])),
    }
    with tf.io.TFRecordWriter(name) as writer:
        writer.write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
    wanted = {
        "n": tf.io.FixedLenFeature([2], tf.int64),
        "s": tf.io.FixedLenFeature([], tf.string),
        "f": tf.io.VarLenFeature(tf.float32),
    }
    (found,) = tf.data.TFRecordDataset(name).map(lambda r: tf.io.parse_single_example(r, wanted))
    assert found["n"].numpy().tolist() == [3, -4]
    assert found["s"].numpy() == b"text"
    assert found["f"].values.numpy().tolist() == [1.5]
    with pytest.raises(tf.errors.InvalidArgumentError, match="required but could not be found"):
        tf.io.parse_single_example(next(records.read(name)), {"other": tf.io.FixedLenFeature([], tf.int64)})


@pytest.mark.parametrize(
    ("side_by_side", "wanted"), [(None, "a0 a1 a2 b0 c0 c1"), (2, "a0 b0 a1 a2 c0 c1"), (3, "a0 b0 c0 a1 c1 a2")]
)
def test_files_that_are_read_side_by_side_give_one_element_in_turn(tmp_path, side_by_side, wanted):
    records_of, lines_of = [], []
    for name, count in (("a", 3), ("b", 1), ("c", 2)):
        records_of.append(str(tmp_path / f"{name}.tfrecord"))
        lines_of.append(str(tmp_path / f"{name}.txt"))
        texts = [f"{name}{i}" for i in range(count)]
        (tmp_path / f"{name}.txt").write_text("\n".join(texts), "utf-8")
        with tf.io.TFRecordWriter(records_of[-1]) as writer:
            for text in texts:
                writer.write(text.encode())
    for dataset, names in ((tf.data.TFRecordDataset, records_of), (tf.data.TextLineDataset, lines_of)):
        assert b" ".join(x.numpy() for x in dataset(names, num_parallel_reads=side_by_side)).decode() == wanted


def test_a_damaged_record_is_noticed(tmp_path):
    name = tmp_path / "x.tfrecord"
    name.write_bytes(wire.framed(b"abc")[:-2])
    with pytest.raises(tf.errors.DataLossError, match="truncated"):
        list(records.read(str(name)))


def test_checkpoints_are_kept_restored_and_listed(tmp_path):
    class Net(tf.Module):
        def __init__(self, value):
            super().__init__()
            self.w = tf.Variable(value)
            self.parts = [tf.Variable([value, value])]

    net, step = Net(1.0), tf.Variable(7)
    manager = tf.train.CheckpointManager(tf.train.Checkpoint(net=net, step=step), tmp_path, max_to_keep=2)
    for k in range(3):
        net.w.assign(float(k))
        manager.save()
    assert [os.path.basename(p) for p in manager.checkpoints] == ["ckpt-2", "ckpt-3"]
    assert tf.train.latest_checkpoint(tmp_path).endswith("ckpt-3")
    other = Net(9.0)
    status = tf.train.Checkpoint(net=other).restore(manager.latest_checkpoint)
    assert other.w.numpy() == 2.0
    status.assert_existing_objects_matched()
    with pytest.raises(AssertionError, match="step"):
        status.assert_consumed()
    assert ("net/w/.ATTRIBUTES/VARIABLE_VALUE", []) in tf.train.list_variables(tmp_path)
    assert tf.train.load_checkpoint(tmp_path).get_tensor("step/.ATTRIBUTES/VARIABLE_VALUE") == 7


def test_a_checkpoint_of_tensorflow_is_refused(tmp_path):
    (tmp_path / "x-1.index").write_bytes(b"\x00\x00\xff\xfe")
    with pytest.raises(tf.errors.DataLossError, match="no checkpoint of tapegrad's"):
        tf.train.load_checkpoint(tmp_path / "x-1")


def test_summaries_are_events_in_a_file(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))
    with writer.as_default(step=4):
        assert tf.summary.scalar("loss", 0.5)
        assert tf.summary.histogram("w", tf.random.normal([20]))
        assert tf.summary.image("x", np.zeros((1, 2, 2, 1)), step=5)
    assert not tf.summary.scalar("loss", 0.5, step=1)
    (name,) = tmp_path.iterdir()
    events = [dict(wire.fields(r)) for r in records.read(str(name))]
    assert [e.get(2) for e in events] == [None, 4, 4, 5]
    value = dict(wire.fields(dict(wire.fields(events[1][5]))[1]))
    assert value[1] == b"loss"
    assert records.tensor_of(value[8]) == np.float32(0.5)


def test_print_shows_the_ends_of_long_axes(capsys):
    tf.print("x:", tf.range(10), [tf.constant(1.0)], {"a": tf.constant(["t"])}, summarize=2)
    assert capsys.readouterr().err == "x: [0 1 ... 8 9] [1] {'a': [\"t\"]}\n"


def test_asserts_check_at_once():
    tf.debugging.assert_equal(1, 1)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"sizes\nCondition x == y did not hold"):
        tf.debugging.assert_equal(1, 2, message="sizes")
    with pytest.raises(tf.errors.InvalidArgumentError, match="Tensor had NaN"):
        tf.debugging.check_numerics(tf.constant([np.nan]), "loss")


def test_devices_are_answered_honestly():
    assert tf.config.list_physical_devices("GPU") == []
    assert tf.config.list_physical_devices("CPU")[0].device_type == "CPU"
    with tf.device("/GPU:0"):
        assert "CPU" in tf.ones([1]).device


def test_a_strategy_has_one_replica():
    strategy = tf.distribute.MirroredStrategy(cross_device_ops=tf.distribute.HierarchicalCopyAllReduce())
    with strategy.scope():
        assert tf.distribute.get_strategy() is strategy
    assert strategy.run(lambda x: x + 1, (1,)) == 2
    assert not isinstance(strategy, (tf.distribute.TPUStrategy, tf.distribute.experimental.ParameterServerStrategy))


def test_strategies_of_other_devices_can_be_named_and_not_made():
    class Mine(tf.distribute.MultiWorkerMirroredStrategy):
        pass

    with pytest.raises(NotImplementedError, match=r"tf\.distribute\.Mine: the facade has one replica"):
        Mine()
    with pytest.raises(ValueError, match="provide a TPU Name"):  # the class that scripts catch to go on with the CPU
        tf.distribute.TPUStrategy(tf.distribute.cluster_resolver.TPUClusterResolver())


def test_asking_what_elements_are_does_not_change_the_order_of_a_shuffle():
    orders = []
    for look in (False, True):
        tf.random.set_seed(2)
        rows = tf.data.Dataset.range(7).map(lambda c: (c + 1, c)).shuffle(100)
        if look:
            assert len(rows.element_spec) == 2
        orders.append([[int(a) for a, _ in rows] for _ in range(2)])
    assert orders[0] == orders[1] == [[5, 7, 6, 2, 1, 3, 4], [4, 7, 1, 6, 5, 3, 2]]  # TensorFlow's


def test_an_iterator_that_has_started_has_drawn_its_order():
    orders = []
    for unused in range(2):
        tf.random.set_seed(2)
        rows = tf.data.Dataset.range(7).shuffle(100).batch(4).shuffle(3)
        for _ in range(unused):
            rows.started()
        orders.append([[x.numpy().tolist() for x in (rows.started() if unused else rows)] for _ in range(3 - unused)])
    assert orders[0][1:] == orders[1]


def test_a_range_casts_tensors_to_the_dtype_that_is_asked_for():
    assert tf.range(tf.constant(2), tf.constant(4), dtype=tf.int64).dtype == tf.int64
    assert tf.range(tf.constant(2, tf.int64), 4, dtype=tf.float32).numpy().tolist() == [2.0, 3.0]


def test_a_table_whose_initializer_has_dtypes_alone_is_empty():
    class Nothing:
        key_dtype, value_dtype = tf.int64, tf.float32

    table = tf.lookup.StaticHashTable(Nothing(), 0.5)
    assert (int(table.size()), table.lookup(tf.constant([3], tf.int64)).numpy().tolist()) == (0, [0.5])


def test_the_place_of_an_iteration_is_saved_and_restored(tmp_path):
    data = tf.data.Dataset.range(20).batch(2)
    iterator, step = iter(data), tf.Variable(1)
    checkpoint = tf.train.Checkpoint(step=step, iterator=iterator)
    assert [next(iterator).numpy().tolist() for _ in range(3)] == [[0, 1], [2, 3], [4, 5]]
    manager = tf.train.CheckpointManager(checkpoint, tmp_path, max_to_keep=2)
    path = manager.save()
    next(iterator)
    checkpoint.restore(path)
    assert iterator.get_next().numpy().tolist() == [6, 7]
    other, steps = iter(data), tf.Variable(0)
    tf.train.Checkpoint(step=steps, iterator=other).restore(manager.latest_checkpoint).assert_existing_objects_matched()
    assert (next(other).numpy().tolist(), int(steps)) == ([6, 7], 1)
    for _ in other:
        pass
    ended = tf.train.Checkpoint(iterator=other).save(tmp_path / "end")
    again = iter(data)
    tf.train.Checkpoint(iterator=again).restore(ended)
    with pytest.raises(tf.errors.OutOfRangeError, match="End of sequence"):
        again.get_next()


def test_a_stream_of_random_numbers_goes_on_from_where_it_was_saved(tmp_path):
    g = tf.random.Generator.from_seed(7)
    checkpoint = tf.train.Checkpoint(g=g)
    g.normal([3])
    checkpoint.write(tmp_path / "stream")
    first = g.normal([2]).numpy()
    assert not np.array_equal(g.normal([2]), first)
    checkpoint.restore(tmp_path / "stream").assert_consumed()
    np.testing.assert_array_equal(g.normal([2]), first)


def test_what_a_module_makes_after_it_was_restored_has_its_saved_value(tmp_path):
    class Net(tf.Module):
        def build(self, value):
            self.w = tf.Variable(value)
            self.inner = tf.Module()
            self.inner.b = [tf.Variable(2 * value), tf.Variable(3 * value)]
            return self

    saved = tf.train.Checkpoint(net=Net().build(2.5)).save(tmp_path / "c")
    fresh = Net()
    status = tf.train.Checkpoint(net=fresh).restore(saved)
    with pytest.raises(AssertionError, match="net/w"):
        status.assert_consumed()
    fresh.build(0.0)
    assert [float(v) for v in fresh.variables] == [2.5, 5.0, 7.5]
    fresh.w = tf.Variable(0.5)  # a value is given once
    assert float(fresh.w) == 0.5


def test_a_central_storage_strategy_has_one_replica():
    strategy = tf.distribute.experimental.CentralStorageStrategy()
    assert strategy.num_replicas_in_sync == 1
    assert float(strategy.run(lambda x: x * 2, args=(tf.constant(1.5),))) == 3.0
