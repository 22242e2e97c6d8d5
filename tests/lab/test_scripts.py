"""The lab's scripts: real ones, and a few of them run here; `python -m interop` runs all."""

import ast

import pytest

from interop.__main__ import FRAMEWORKS, available, compare_script, main, scripts
from tapegrad.migrate import style_of


@pytest.mark.parametrize("style", FRAMEWORKS)
def test_there_are_at_least_twelve_of_each_style(style):
    assert len(scripts(style)) >= 12


@pytest.mark.parametrize("path", scripts(), ids=lambda p: f"{p.parent.name}-{p.stem}")
def test_they_know_nothing_of_tapegrad(path):
    source = path.read_text()
    assert "tapegrad" not in source
    assert "tg." not in source
    assert ast.get_docstring(ast.parse(source))
    assert style_of(source) == ({"pytorch": "torch", "tensorflow": "tf"}[path.parent.name],)


@pytest.mark.interop("torch")
@pytest.mark.parametrize("name", ["hooks", "lbfgs"])
def test_pytorch_scripts_print_the_same(name):
    (path,) = scripts("pytorch", name)
    for row, error in compare_script(path, available()):
        assert row.good, (row, error)


@pytest.mark.interop("tensorflow")
@pytest.mark.parametrize("name", ["regression", "custom_gradient"])
def test_tensorflow_scripts_print_the_same(name):
    (path,) = scripts("tensorflow", name)
    for row, error in compare_script(path, ["numpy"]):
        assert row.good, (row, error)


def test_a_name_that_no_script_has_is_no_success(capsys):
    assert main(["--only", "no_such_script"]) == 1
    assert "0 of 0" in capsys.readouterr().out
