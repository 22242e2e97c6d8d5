"""Files of weights from an address, and models of a folder."""

import hashlib

import pytest

from tapegrad import torch
from tapegrad.torch import hub
from tapegrad.torch.utils import model_zoo


@pytest.fixture
def folder(tmp_path):
    before = hub._DIR[:]
    hub.set_dir(tmp_path / "hub")
    yield tmp_path
    hub._DIR[:] = before


@pytest.fixture
def weights(folder):
    """The address of a file of weights whose name tells its hash."""
    torch.save({"w": torch.tensor([1.5, -2.0])}, folder / "net.pth")
    digest = hashlib.sha256((folder / "net.pth").read_bytes()).hexdigest()
    file = (folder / "net.pth").rename(folder / f"net-{digest[:8]}.pth")
    return file.as_uri()


def test_weights_are_fetched_once_and_read(folder, weights):
    state = hub.load_state_dict_from_url(weights, progress=False, check_hash=True)
    assert state["w"].tolist() == [1.5, -2.0]
    kept = folder / "hub" / "checkpoints"
    assert [f.name for f in kept.iterdir()] == [weights.rpartition("/")[2]]
    (folder / weights.rpartition("/")[2]).unlink()
    assert model_zoo.load_url(weights)["w"].tolist() == [1.5, -2.0]


def test_a_file_with_another_hash_is_not_kept(folder, weights):
    with pytest.raises(RuntimeError, match=r'invalid hash value .expected "0000"'):
        hub.download_url_to_file(weights, folder / "other.pth", "0000", progress=False)
    assert not (folder / "other.pth").exists()
    assert not list(folder.glob("*.partial"))


def test_what_is_downloaded_is_told(folder, weights, capsys):
    hub.download_url_to_file(weights, folder / "other.pth")
    assert f'Downloading: "{weights}" to' in capsys.readouterr().err


def test_a_folder_says_how_its_models_are_made(folder):
    (folder / "parts.py").write_text("SIZE = 3\n")
    (folder / "hubconf.py").write_text(
        'import parts\ndef net(n, *, half=False):\n    "A net."\n    return n, parts.SIZE, half\n'
    )
    place = str(folder)
    assert hub.load(place, "net", 2, half=True, source="local", trust_repo=True) == (2, 3, True)
    assert hub.list(place) == ["net"]
    assert hub.help(place, "net") == "A net."
    with pytest.raises(RuntimeError, match="Cannot find callable other in hubconf"):
        hub.load(place, "other", source="local")
    with pytest.raises(NotImplementedError, match=r"runs no programs from the web; fetch 'pytorch/vision'"):
        hub.load("pytorch/vision", "resnet18")


def test_the_folder_is_that_of_the_environment(monkeypatch):
    monkeypatch.setattr(hub, "_DIR", [])
    monkeypatch.setenv("TORCH_HOME", "/elsewhere")
    assert hub.get_dir() == "/elsewhere/hub"
