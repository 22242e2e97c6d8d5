"""What an installation of tapegrad says of itself and brings along."""

import re
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
