"""Event files of both facades: TensorFlow reads what they write, and damage is noticed."""

import io
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tapegrad.tf as ours
from tapegrad.events import EventFile, file, png, wire
from tapegrad.torch.utils.tensorboard import SummaryWriter


def messages(directory: Path) -> list[dict[int, Any]]:
    """The events of the one file in a directory, field by field."""
    (path,) = directory.glob("events.out.tfevents.*")
    with path.open("rb") as f:
        return [dict(wire.fields(record)) for record in wire.records(f)]


def theirs(directory: Path) -> list[Any]:
    """The same, read by TensorFlow, which checks every checksum."""
    import tensorflow as tf

    (path,) = directory.glob("events.out.tfevents.*")
    return list(tf.compat.v1.train.summary_iterator(str(path)))


def test_events_have_their_step_and_their_time(tmp_path: Path) -> None:
    events = EventFile(str(tmp_path / "new" / "place"))
    events.write(7, file.value("loss", wire.single(2, 0.5)), seconds=1.25)
    events.start_again(5)
    events.close()
    version, value, again = messages(tmp_path / "new" / "place")
    assert version[3] == b"brain.Event:2"
    assert value[2] == 7
    assert np.frombuffer(value[1], "<f8") == 1.25
    assert again[7] == wire.field(1, 1)


def test_what_is_flushed_is_in_the_file(tmp_path: Path) -> None:
    events = EventFile(str(tmp_path))
    events.write(1, file.value("loss", wire.single(2, 0.5)))
    events.flush()
    assert len(messages(tmp_path)) == 2
    events.close()


def test_a_closed_file_takes_no_event(tmp_path: Path) -> None:
    events = EventFile(str(tmp_path))
    events.close()
    events.close()
    with pytest.raises(ValueError, match="is closed"):
        events.write(1, b"")


@pytest.mark.parametrize(
    ("harm", "text"),
    [(lambda b: b[:-1], "truncated"), (lambda b: b[:5], "corrupted record at 0"), (lambda b: b"\x01" + b[1:], "corrupted record at 0")],
)  # fmt: skip
def test_damaged_records_are_noticed(harm: Any, text: str) -> None:
    with pytest.raises(wire.DamagedError, match=text):
        list(wire.records(io.BytesIO(harm(wire.framed(b"some bytes")))))


def test_a_message_that_ends_early_is_noticed() -> None:
    with pytest.raises(wire.DamagedError, match="ends inside a number"):
        list(wire.fields(b"\xff"))


@pytest.mark.parametrize("shape", [(2, 3), (2, 3, 5)])
def test_pixels_that_are_no_picture_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"channels|unpack"):
        png.encode(np.zeros(shape, np.uint8))


@pytest.mark.interop("tensorflow")
def test_tensorflow_reads_what_tf_summary_writes(tmp_path: Path) -> None:
    import tensorflow as tf

    pixels = np.random.default_rng(0).integers(0, 256, (1, 5, 7, 3), np.uint8)
    with ours.summary.create_file_writer(str(tmp_path)).as_default(step=3):
        ours.summary.scalar("loss", 0.25, description="how far off")
        ours.summary.text("note", ["a", "b"])
        ours.summary.image("digit", pixels)
        ours.summary.histogram("w", np.array([0.0, 1.0, 1.0, 4.0]), buckets=4)
    _, loss, note, digit, w = theirs(tmp_path)
    assert [e.step for e in (loss, note, digit, w)] == [3] * 4
    assert loss.summary.value[0].metadata.plugin_data.plugin_name == "scalars"
    assert loss.summary.value[0].metadata.summary_description == "how far off"
    assert tf.make_ndarray(loss.summary.value[0].tensor) == np.float32(0.25)
    assert tf.make_ndarray(note.summary.value[0].tensor).tolist() == [b"a", b"b"]
    width, height, picture = tf.make_ndarray(digit.summary.value[0].tensor).tolist()
    assert (width, height) == (b"7", b"5")
    assert np.array_equal(tf.io.decode_png(picture), pixels[0])
    assert tf.make_ndarray(w.summary.value[0].tensor).tolist() == [[0, 1, 1], [1, 2, 2], [2, 3, 0], [3, 4, 1]]


@pytest.mark.interop("tensorflow")
def test_tensorflow_reads_what_the_writer_of_pytorchs_style_writes(tmp_path: Path) -> None:
    import tensorflow as tf

    pixels = np.random.default_rng(0).integers(0, 256, (3, 5, 7), np.uint8)
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalar("loss", 0.25, 3, walltime=12.5)
        writer.add_scalar("exact", 0.1, 3, new_style=True, double_precision=True)
        writer.add_text("note", "*so*", 4)
        writer.add_image("digit", pixels, 5)
        writer.add_histogram("w", np.array([0.0, 1.0, 1.0, 4.0]), 6, bins=4)
    _, loss, exact, note, digit, w = theirs(tmp_path)
    assert (loss.step, loss.wall_time, loss.summary.value[0].simple_value) == (3, 12.5, 0.25)
    assert tf.make_ndarray(exact.summary.value[0].tensor) == 0.1
    assert note.summary.value[0].tag == "note/text_summary"
    assert tf.make_ndarray(note.summary.value[0].tensor).tolist() == [b"*so*"]
    picture = digit.summary.value[0].image
    assert (picture.height, picture.width, picture.colorspace) == (5, 7, 3)
    assert np.array_equal(tf.io.decode_png(picture.encoded_image_string), pixels.transpose(1, 2, 0))
    found = w.summary.value[0].histo
    assert (found.min, found.max, found.num, found.sum, found.sum_squares) == (0, 4, 4, 6, 18)
    assert list(found.bucket_limit) == [0, 1, 2, 3, 4]
    assert list(found.bucket) == [0, 1, 2, 0, 1]


@pytest.mark.interop("tensorflow")
def test_tensorflow_reads_records_as_a_dataset(tmp_path: Path) -> None:
    import tensorflow as tf

    writer = SummaryWriter(tmp_path)
    for step in range(20):
        writer.add_scalar("loss", 1 / (step + 1), step)
    writer.flush()
    (path,) = tmp_path.iterdir()
    assert len(list(tf.data.TFRecordDataset([str(path)]))) == 21
    writer.close()
