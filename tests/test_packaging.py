"""What an installation of tapegrad says of itself and brings along."""

import re
import subprocess
import sys
from importlib.metadata import metadata, version
from pathlib import Path

import tapegrad
from tapegrad import _version


def test_the_version_is_the_same_everywhere() -> None:
    assert tapegrad.__version__ == _version.__version__ == version("tapegrad")


def test_the_package_is_marked_as_typed() -> None:
    assert (Path(tapegrad.__file__).parent / "py.typed").is_file()


def test_every_hard_dependency_is_one_of_four() -> None:
    requirements = metadata("tapegrad").get_all("Requires-Dist") or []
    hard = {re.split(r"[^\w-]", line)[0] for line in requirements if "extra ==" not in line}
    assert hard == {"numpy", "scipy", "optree", "ml-dtypes"}


def test_the_import_brings_no_module_that_numpy_does_not_have_anyway() -> None:
    program = (
        "import sys, numpy; before = set(sys.modules); import tapegrad\n"
        "print(*sorted(m for m in set(sys.modules) - before if m.partition('.')[0] not in ('tapegrad', '__future__')))\n"
        "print(*sorted(m for m in ('source', 'rules', 'reverse') if f'tapegrad.registry.{m}' in sys.modules))"
    )
    out = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert out == "\n\n"  # and what compiles ops waits for the first op
