"""``python -m tapegrad.testing``: what it prints, and its exit codes."""

from __future__ import annotations

import io
import sys
import time
from typing import TYPE_CHECKING

import pytest

from tapegrad.testing.__main__ import Bar, main

if TYPE_CHECKING:
    from pathlib import Path

MODULE = """
import numpy as np

def wave(x):
    return np.sin(x)

def wave_vjp(g, x):
    return g * np.cos(x)

def flat_vjp(g, x):
    return 0 * g

def other(x):
    return np.cos(x - np.pi / 2)

def other_vjp(g, x):
    return -g * np.sin(x - np.pi / 2)

def third(x):
    return np.sin(x) + 1e-3 * x

def rows(x):
    return x.sum(-1)

def rows_vjp(g, x):
    return np.repeat(g[..., None], x.shape[-1], -1)

def scaled(x, w, *, twice=False):
    return x * w

def scaled_vjp(g, x, w):
    return g * w, (g * x).sum(0)

def words(text):
    return text.upper()
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "waves.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


def test_a_right_derivative_is_one_line_and_code_0(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["waves:wave", "--vjp", "waves:wave_vjp", "x=b,n", "--profile", "fast"]) == 0
    assert capsys.readouterr().out.startswith("ok: ")


def test_a_wrong_one_is_a_report_and_code_1(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["waves:wave", "--vjp", "waves:flat_vjp", "--seed", "0x5"]) == 1
    out = capsys.readouterr().out
    assert "wave: the gradient is not the derivative" in out
    assert "the gradient of x is zero" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["waves.wave"], "write pkg.mod:f"),
        (["waves:nothing"], "has no 'nothing'"),
        (["waves:waev"], "waves has no 'waev'; it has wave\n"),
        (["elsewhere:f"], "cannot be imported"),
        (["waves:wave", "x"], "x=b,n"),
        (["waves:wave", "x=b,n"], "give --vjp pkg.mod:g"),
        (["waves:wave", "--vjp", "waves:wave_vjp", "--framework", "theano"], "framework='theano': expected one of"),
        (["waves:wave", "--vjp", "waves:wave_vjp", "--framework", "tapegrad"], "are for NumPy functions"),
        (["waves:wave", "y=b,n", "--vjp", "waves:wave_vjp"], "wave has no parameter 'y'; its parameters are x"),
    ],
)
def test_what_makes_no_sense_is_code_2(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert message in capsys.readouterr().err


def test_compare(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "waves:wave", "waves:other", "x=n", "--values", "--profile", "fast"]) == 0
    assert main(["compare", "waves:wave", "waves:third", "x=n", "--values", "--profile", "fast"]) == 1
    assert "the values differ by" in capsys.readouterr().out
    assert main(["compare", "waves:wave", "waves:other", "x=n"]) == 2
    told = capsys.readouterr().err
    assert "--values" in told
    assert "--vjp" not in told


def test_write_gives_a_module_that_runs(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["write", "waves"]) == 0
    text = capsys.readouterr().out
    compile(text, "test_waves.py", "exec")
    assert "def test_wave(gradcheck):\n    gradcheck(waves.wave, vjp=waves.wave_vjp)" in text
    assert (
        'gradcheck(waves.rows, x=("n",), vjp=waves.rows_vjp)' in text
        or "gradcheck(waves.rows, vjp=waves.rows_vjp)" in text
    )
    assert 'gradcheck(waves.scaled, x=("b", "n"), w=("n",), vjp=waves.scaled_vjp)' in text
    assert "# words: " in text


def test_a_seed_is_a_number(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as left:
        main(["waves:wave", "--seed", "many"])
    assert left.value.code == 2
    assert "invalid number value: 'many'" in capsys.readouterr().err


class Screen(io.StringIO):
    def __init__(self, *, tty: bool) -> None:
        super().__init__()
        self.tty = tty

    def isatty(self) -> bool:
        return self.tty


def test_a_bar_after_a_second_where_somebody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])
    shown = {}
    for tty in (True, False):
        screen = Screen(tty=tty)
        monkeypatch.setattr(sys, "stderr", screen)
        bar = Bar("f")
        bar(0.1)
        assert screen.getvalue() == ""
        now[0] += 2
        bar(0.5)
        shown[tty] = screen.getvalue()
        bar.end()
    assert "f [###############...............]  50%" in shown[True]
    assert shown[True].isascii()
    assert shown[False] == ""
    monkeypatch.setattr(sys, "stderr", None)  # Windows without a console
    bar = Bar("f")
    now[0] += 2
    bar(0.5)
    bar.end()
