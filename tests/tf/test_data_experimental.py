"""What `tf.data.experimental` names; saved datasets; options; optional elements."""

import numpy as np
import pytest

from tapegrad import tf

E = tf.data.experimental


def values(dataset):
    return [tf.nest.map_structure(lambda x: np.asarray(x.numpy()).tolist(), e) for e in dataset]


@pytest.mark.parametrize(("step", "found"), [
    (E.unbatch, [0, 1, 2, 3]), (lambda: E.enumerate_dataset(5), [(5, [0, 1]), (6, [2, 3])]),
    (lambda: E.map_and_batch(lambda x: x + 1, 2), [[[1, 2], [3, 4]]]), (lambda: E.take_while(lambda x: x[0] < 2), [[0, 1]]),
    (lambda: E.scan(np.int64(10), lambda s, x: (s + x[0], s)), [10, 10]),
    (lambda: E.parallel_interleave(tf.data.Dataset.from_tensor_slices, 2), [0, 2, 1, 3]),
])
def test_functions_for_apply(step, found):
    assert values(tf.data.Dataset.range(4).batch(2).apply(step())) == found


def test_groups_are_reduced_to_one_element_each():
    reducer = E.Reducer(lambda key: np.int64(0), lambda total, x: total + x, lambda total: total)
    assert values(tf.data.Dataset.range(10).apply(E.group_by_reducer(lambda x: x % 2, reducer))) == [20, 25]


def test_classes_come_as_often_as_they_should():
    source = tf.data.Dataset.from_tensor_slices([0] * 900 + [1] * 100).shuffle(1000, seed=1).repeat(5)
    for initial in (None, [0.9, 0.1]):
        kept = [c for c, _ in values(source.rejection_resample(lambda x: x, [0.5, 0.5], initial, seed=2))]
        assert np.mean(kept) == pytest.approx(0.5, abs=0.06)
    with pytest.raises(ValueError, match="of one shape"):
        source.rejection_resample(lambda x: x, [0.5, 0.5], [1.0])


def test_a_dataset_is_written_and_read(tmp_path):
    source = tf.data.Dataset.from_tensor_slices({"a": [1, 2, 3], "b": (["x", "y", "z"], [[0.5], [1.5], [2.5]])})
    source.save(tmp_path / "whole")
    again = tf.data.Dataset.load(tmp_path / "whole")
    assert values(again) == values(source)
    assert again.element_spec == source.element_spec
    assert len(again) == 3
    with pytest.raises(tf.errors.NotFoundError, match="no saved dataset"):
        tf.data.Dataset.load(tmp_path / "nowhere")


def test_a_snapshot_runs_its_source_once(tmp_path):
    runs = []

    def rows():
        runs.append(1)
        yield from range(3)

    source = tf.data.Dataset.from_generator(rows, output_signature=tf.TensorSpec((), tf.int32)).snapshot(tmp_path / "kept")
    assert values(source) == values(source) == [0, 1, 2]
    assert len(runs) == 1


def test_options_are_kept_and_merged():
    first, second = tf.data.Options(), tf.data.Options()
    first.deterministic = True
    first.threading.private_threadpool_size = 10
    second.autotune.enabled = False
    dataset = tf.data.Dataset.range(3).with_options(first).with_options(second)
    assert dataset.options().deterministic is True
    assert dataset.options().threading.private_threadpool_size == 10
    assert dataset.options().autotune.enabled is False
    assert first != second
    assert tf.data.Options() == tf.data.Options()
    with pytest.raises(AttributeError, match="Cannot set the property speed"):
        first.speed = 3


def test_the_next_element_may_be_absent():
    rows = iter(tf.data.Dataset.range(1))
    found, none = rows.get_next_as_optional(), rows.get_next_as_optional()
    assert (bool(found.has_value()), int(found.get_value())) == (True, 0)
    assert not none.has_value()
    with pytest.raises(tf.errors.InvalidArgumentError, match="does not have a value"):
        none.get_value()


def test_a_variable_that_two_names_lead_to_is_restored_by_either(tmp_path):
    v = tf.Variable(3.0)
    inner = tf.Module()
    inner.w = v
    path = tf.train.Checkpoint(first=inner, second=inner, third=v).write(tmp_path / "shared", tf.train.CheckpointOptions())
    for name in ("first", "second"):
        other = tf.Module()
        other.w = tf.Variable(0.0)
        tf.train.Checkpoint(**{name: other}).restore(path).expect_partial()
        assert float(other.w) == 3.0
    alone = tf.Variable(0.0)
    tf.train.Checkpoint(third=alone).restore(path).assert_existing_objects_matched()
    assert float(alone) == 3.0


def test_checkpoints_are_met_as_they_come(tmp_path):
    checkpoint = tf.train.Checkpoint(v=tf.Variable(1.0))
    first = checkpoint.save(tmp_path / "a")
    found = tf.train.checkpoints_iterator(tmp_path, timeout=0)
    assert next(found) == first
    assert list(found) == []


def test_threads_stop_together():
    import threading

    coordinator = tf.train.Coordinator()

    def work():
        with coordinator.stop_on_exception():
            raise ValueError("out of paper")

    threads = [threading.Thread(target=work), threading.Thread(target=coordinator.wait_for_stop)]
    for t in threads:
        t.start()
    with pytest.raises(ValueError, match="out of paper"):
        coordinator.join(threads)
    assert coordinator.should_stop()
