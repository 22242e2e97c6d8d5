"""What happens when another package is imported, before tapegrad or after it."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from tapegrad.ecosystem import arrivals

SIN = "y = tf.sin(tg.asarray([0.5])); print(type(y).__module__)"


def run(program: str) -> list[str]:
    result = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", "-c", program], capture_output=True, text=True, check=True
    )
    return result.stdout.split()


@pytest.mark.interop("tensorflow")
@pytest.mark.parametrize(
    "order", ["import tapegrad as tg, tensorflow as tf", "import tensorflow as tf, tapegrad as tg"]
)
def test_tensorflow_learns_of_tensors_whichever_is_imported_first(order: str) -> None:
    assert run(f"{order}; {SIN}") == ["tapegrad.core.tensor"]


@pytest.mark.interop("einops")
@pytest.mark.parametrize("order", ["import tapegrad as tg, einops", "import einops, tapegrad as tg"])
def test_einops_learns_of_tensors_whichever_is_imported_first(order: str) -> None:
    assert run(f"{order}; print(einops.rearrange(tg.ones((2, 3)), 'a b -> (b a)').shape)") == ["(6,)"]


def test_a_module_keeps_its_own_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a_late_one.py").write_text("value = 2.5\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", sys.meta_path[:])
    monkeypatch.setattr(arrivals, "_WAITING", {})
    called = []
    monkeypatch.setattr(arrivals, "_install", lambda package, module: called.append((package, module)))
    arrivals.when_imported("a_late_one", "nothing")
    assert importlib.util.find_spec("a_late_one") is not None  # a look for it is no import
    assert called == []
    module = importlib.import_module("a_late_one")
    assert called == [("a_late_one", "nothing")]
    assert module.value == 2.5
    assert type(module.__loader__).__name__ == type(module.__spec__.loader).__name__ == "SourceFileLoader"
    arrivals.when_imported("a_late_one", "again")
    assert called[1:] == [("a_late_one", "again")]


def test_a_package_that_cannot_be_told_is_imported_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arrivals, "_WAITING", {})
    with pytest.warns(RuntimeWarning, match="cannot make its tensors known to this version of json"):
        arrivals.when_imported("json", "no_such_module")


def test_the_watch_ends_when_nothing_is_waited_for() -> None:
    program = "import sys, tapegrad\nfrom tapegrad.ecosystem import arrivals\nprint(arrivals._WATCH in sys.meta_path)\n"
    program += "arrivals._WAITING.clear()\narrivals.when_imported('wave', 'x')\n"
    program += "arrivals._install = print\nimport wave\nprint(arrivals._WATCH in sys.meta_path)"
    assert run(program) == ["True", "wave", "x", "False"]
