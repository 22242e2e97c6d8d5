"""The worked examples, one for each system, are run where it is installed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tapegrad.testing

TEXT = (Path(tapegrad.testing.__file__).parent / "EXAMPLES.md").read_text()
EXAMPLES = dict(re.findall(r"^## (\w+)\n.*?```python\n(.*?)```", TEXT, re.MULTILINE | re.DOTALL))
OURS = ("numpy", "tapegrad")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[] if n in OURS else [pytest.mark.interop(n)]) for n in EXAMPLES]
)
def test_the_example_of(name: str) -> None:
    exec(compile(EXAMPLES[name], f"EXAMPLES.md, {name}", "exec"), {"__name__": "__main__"})


def test_there_is_one_for_each_system() -> None:
    assert set(EXAMPLES) == {"numpy", "tapegrad", "torch", "tensorflow", "jax", "autograd", "mygrad"}
