"""The Python of the README and of the migration guide is run, prints what its comments say, and shows the demo's own code."""

import ast
import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from tapegrad.demo import digits

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
GUIDE = (ROOT / "interop" / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README + GUIDE, re.MULTILINE | re.DOTALL)
TRAINING = next(block for block in BLOCKS if "def train(" in block)


def output(block: str) -> str:
    stdout = StringIO()
    with redirect_stdout(stdout):
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    return stdout.getvalue()


@pytest.mark.parametrize("block", [block for block in BLOCKS if block is not TRAINING])
def test_a_block_prints_what_its_comments_say(block: str) -> None:
    said = re.findall(r"^print\(.*\)  # (.*)$", block, re.MULTILINE)
    assert said, "a block that shows nothing tests nothing"
    assert output(block).splitlines() == said


def test_the_training_loop_is_the_demos() -> None:
    source = Path(digits.__file__).read_text("utf-8")
    docstring = ast.parse(source).body[0]
    assert TRAINING.startswith("\n".join(source.splitlines()[docstring.end_lineno :]).strip())


def test_the_training_loop_learns() -> None:
    accuracy = re.search(r"^test accuracy: ([\d.]+)%$", output(TRAINING), re.MULTILINE)
    assert accuracy is not None
    assert float(accuracy[1]) > 97


@pytest.mark.parametrize("name", ["demo", "test"])
def test_the_commands_that_ci_runs_are_marked(name: str) -> None:
    assert re.search(rf"^<!-- ci: {name} -->\n```sh\n.+\n```$", README, re.MULTILINE)
