"""SummaryWriter: files, runs below them, layouts of pictures, hyperparameters, and what it refuses."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tapegrad import torch
from tapegrad.events import wire
from tapegrad.tf import pictures
from tapegrad.torch import _summaries
from tapegrad.torch.utils.tensorboard import SummaryWriter


def values(directory: Path) -> list[tuple[int, dict[int, Any]]]:
    """Step and value of each event of the one file in a directory; the first, which tells the version, is left out."""
    (path,) = directory.glob("events.out.tfevents.*")
    with path.open("rb") as f:
        events = [dict(wire.fields(record)) for record in wire.records(f)]
    return [(e[2], dict(wire.fields(dict(wire.fields(e[5]))[1]))) for e in events if 5 in e]


def number(value: dict[int, Any]) -> float:
    return float(np.frombuffer(value[2], "<f4")[0])


def picture(value: dict[int, Any]) -> Any:
    return pictures.decode(dict(wire.fields(value[4]))[4], 0)


def test_numbers_are_tensors_arrays_or_pythons(tmp_path: Path) -> None:
    with SummaryWriter(str(tmp_path)) as writer:
        x = torch.tensor([1.5], requires_grad=True)
        for step, found in enumerate((x, (x * 2).sum(), torch.tensor(3, dtype=torch.bfloat16), np.float64(4), 5, True)):
            writer.add_scalar("x", found, torch.tensor(step))
    assert [(step, number(value)) for step, value in values(tmp_path)] == [
        (0, 1.5),
        (1, 3),
        (2, 3),
        (3, 4),
        (4, 5),
        (5, 1),
    ]


def test_a_number_has_one_element() -> None:
    with pytest.raises(AssertionError, match="should contain one element"):
        _summaries.scalar("x", torch.ones(2))


def test_text_is_no_number() -> None:
    with pytest.raises(NotImplementedError, match="are expected"):
        _summaries.scalar("x", "much")


def test_the_default_directory_is_in_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    writer = SummaryWriter(comment="_lr_0.1")
    writer.close()
    assert Path(writer.get_logdir()).parent == Path("runs")
    assert writer.log_dir.endswith("_lr_0.1")


def test_numbers_of_one_chart_have_runs_of_their_own(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_scalars("a/loss", {"train": 0.5, "test": 0.75}, 2)
    found = {name: values(tmp_path / f"a_loss_{name}") for name in ("train", "test")}
    assert {k: [(step, v[1], number(v)) for step, v in vs] for k, vs in found.items()} == {
        "train": [(2, b"a/loss", 0.5)],
        "test": [(2, b"a/loss", 0.75)],
    }


def test_a_writer_that_was_closed_writes_a_new_file(tmp_path: Path) -> None:
    writer = SummaryWriter(tmp_path)
    writer.close()
    writer.add_scalar("x", 1.0)
    writer.close()
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize("layout", ["CHW", "HWC", "HW", "chw"])
def test_pictures_of_any_layout(tmp_path: Path, layout: str) -> None:
    pixels = np.random.default_rng(1).integers(0, 256, (4, 6, 3), np.uint8)
    given = {"C": pixels.transpose(2, 0, 1), "H": pixels}[layout.upper()[0]] if len(layout) == 3 else pixels[..., 0]
    with SummaryWriter(tmp_path) as writer:
        writer.add_image("x", torch.from_numpy(given.copy()), dataformats=layout)
        writer.add_image("x", torch.from_numpy(given / np.float32(255)), dataformats=layout)
    whole = pixels if len(layout) == 3 else np.repeat(pixels[..., :1], 3, axis=2)
    first, second = (picture(value) for _, value in values(tmp_path))
    assert np.array_equal(first, whole)
    assert np.abs(second.astype(int) - whole).max() <= 1


def test_several_pictures_stand_side_by_side(tmp_path: Path) -> None:
    pixels = np.random.default_rng(2).integers(0, 256, (9, 1, 2, 3), np.uint8)
    with SummaryWriter(tmp_path) as writer:
        writer.add_images("x", pixels)
    ((_, value),) = values(tmp_path)
    found = picture(value)[..., 0]
    assert found.shape == (4, 24)
    assert np.array_equal(found[:2, 21:], pixels[7, 0])
    assert np.array_equal(found[2:, :3], pixels[8, 0])
    assert not found[2:, 3:].any()


@pytest.mark.parametrize(("layout", "text"), [("HW", "are different"), ("CCW", "twice")])
def test_layouts_that_do_not_fit_are_refused(layout: str, text: str) -> None:
    with pytest.raises(AssertionError, match=text):
        _summaries.image("x", np.zeros((3, 2, 2)), layout)


def test_figures_are_drawn_and_closed(tmp_path: Path) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("agg")
    from matplotlib import pyplot

    figure = pyplot.figure(figsize=(0.5, 0.4), dpi=50, facecolor="red")
    with SummaryWriter(tmp_path) as writer:
        writer.add_figure("x", figure)
    assert not pyplot.fignum_exists(figure.number)
    ((_, value),) = values(tmp_path)
    assert picture(value).shape == (20, 25, 3)
    assert picture(value)[0, 0].tolist() == [255, 0, 0]


def test_histograms_leave_out_the_empty_ends(tmp_path: Path) -> None:
    x = torch.tensor([-1.0, 0.0, 0.5, 0.5])
    with SummaryWriter(tmp_path) as writer:
        writer.add_histogram("x", x)
    ((_, value),) = values(tmp_path)
    found = dict(wire.fields(value[5]))
    limits, counts = (np.frombuffer(found[i], "<f8") for i in (6, 7))
    assert len(limits) == len(counts)
    assert counts.sum() == 4
    assert counts[0] == 0
    assert counts[1] == 1
    assert counts[-1] == 2
    assert limits[0] <= -1 < limits[1]
    assert limits[-2] <= 0.5 < limits[-1]


@pytest.mark.parametrize("x", [np.zeros(0), np.full(3, np.nan)])
def test_a_histogram_of_nothing_is_refused(x: Any) -> None:
    with pytest.raises(ValueError, match=r"no element|no value|finite"):
        _summaries.histogram("x", x, "tensorflow")


def test_hyperparameters_are_a_run_of_their_own(tmp_path: Path) -> None:
    with SummaryWriter(tmp_path) as writer:
        writer.add_hparams({"lr": 0.1, "opt": "sgd", "wide": True, "n": 3}, {"accuracy": 0.5}, run_name="first")
    *told, (_, accuracy) = values(tmp_path / "first")
    assert [value[1] for _, value in told] == [
        f"_hparams_/{x}".encode() for x in ("experiment", "session_start_info", "session_end_info")
    ]
    assert number(accuracy) == 0.5
    start = dict(wire.fields(dict(wire.fields(dict(wire.fields(told[1][1][9]))[1]))[2]))[3]
    pairs = [dict(wire.fields(v)) for _, v in wire.fields(start)]
    assert {p[1].decode(): dict(wire.fields(p[2])) for p in pairs} == {
        "lr": {2: np.float64(0.1).tobytes()},
        "opt": {3: b"sgd"},
        "wide": {4: 1},
        "n": {2: np.float64(3).tobytes()},
    }


@pytest.mark.parametrize(
    ("given", "text"), [(({"lr": [1]}, {}), "int, float, str, bool"), (([], {}), "hparam_dict"), (({}, []), "metric_dict"),
                        (({"a": 1}, {}, {"a": ["x"]}), r"hparam_domain_discrete\[a\]")],
)  # fmt: skip
def test_hyperparameters_that_cannot_be_told_are_refused(tmp_path: Path, given: Any, text: str) -> None:
    with SummaryWriter(tmp_path) as writer, pytest.raises((TypeError, ValueError), match=text):
        writer.add_hparams(*given)


def test_a_graph_is_not_drawn_and_a_warning_says_so(tmp_path: Path) -> None:
    model = torch.nn.Linear(2, 2)
    with SummaryWriter(tmp_path) as writer, pytest.warns(UserWarning, match="no graph; nothing is written"):
        writer.add_graph(model, torch.ones(1, 2))
    assert values(tmp_path) == []


@pytest.mark.parametrize(
    ("name", "what"), [("add_embedding", "projector"), ("add_video", "films"), ("add_pr_curve", "precision")]
)
def test_what_is_not_written_says_so(tmp_path: Path, name: str, what: str) -> None:
    with SummaryWriter(tmp_path) as writer:
        assert hasattr(writer, name)
        with pytest.raises(NotImplementedError, match=f"{name}: tapegrad writes no .*{what}"):
            getattr(writer, name)(torch.ones(2, 2))
        with pytest.raises(AttributeError, match="no attribute 'add_nothing'"):
            writer.add_nothing  # type: ignore[attr-defined]
