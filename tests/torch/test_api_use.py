"""The names that public scripts use are there; names that aren't say so, and what is nearest.

`names_by_use.csv` counts, over 541 public scripts that call `backward()`, how many use each name, and ranks names in the order
in which adding them completes most scripts: the first 397 complete 95 % of the scripts that need no other packages.
"""

import csv
from pathlib import Path
from typing import Any

import pytest

from tapegrad import torch

ROWS = list(csv.DictReader(Path(__file__).with_name("names_by_use.csv").read_text().splitlines()))
PLAIN = 397

#: Not there, each with the reason.
LACKING = {
    "torch.onnx.export": "a graph format of PyTorch's",
    "torch.futures.Future": "for calls to other processes",
    "torch.futures.wait_all": "for calls to other processes",
    "Tensor.reinforce": "taken out of PyTorch long ago",
}


def whole(name: str) -> Any:
    """The object of a dotted name below `torch`."""
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part)
    return found


def is_there(name: str) -> bool:
    kind, _, member = name.partition(".")
    places: dict[str, Any] = {
        "Tensor": lambda: [torch.ones(2, 2), torch.ones(2, 2).to_sparse()],
        "Module": lambda: [torch.nn.Linear(2, 2)],
        "Optimizer": lambda: [torch.optim.SGD([torch.ones(1, requires_grad=True)], lr=0.1)],
        "Distribution": lambda: [torch.distributions.Bernoulli(torch.tensor(0.5)), torch.distributions.Normal(0.0, 1.0)],
    }
    if kind in places:
        return any(hasattr(x, member) for x in places[kind]())
    try:
        whole(name)
    except (AttributeError, ModuleNotFoundError):
        return False
    return True


def missing(rows: list[dict[str, str]]) -> list[str]:
    return [row["name"] for row in rows if not is_there(row["name"])]


def test_names_that_complete_95_percent_of_plain_scripts_are_there() -> None:
    rows = [row for row in ROWS if int(row["greedy_rank"]) <= PLAIN]
    lacking = missing(rows)
    used = sum(int(row["scripts"]) for row in rows)
    unused = sum(int(row["scripts"]) for row in rows if row["name"] in lacking)
    assert len(lacking) <= 0.05 * len(rows), lacking
    assert unused <= 0.02 * used, lacking


@pytest.mark.parametrize("row", [row for row in ROWS if not row["name"].startswith("torch.distributed")], ids=lambda r: r["name"])
def test_each_name_is_there_or_is_listed_as_lacking(row: dict[str, str]) -> None:
    if row["name"] in LACKING:
        pytest.skip(f"lacking: {LACKING[row['name']]}")
    assert is_there(row["name"])


@pytest.mark.parametrize(
    ("place", "name", "near"),
    [("", "arrange", "torch.arange"), ("nn", "Linaer", "torch.nn.Linear"), ("nn.functional", "conv2", "torch.nn.functional.conv2d"),
     ("cuda", "is_avaliable", "torch.cuda.is_available")],
)  # fmt: skip
def test_a_name_that_is_lacking_says_so_and_names_the_nearest(place: str, name: str, near: str) -> None:
    module = whole(f"torch.{place}" if place else "torch")
    with pytest.raises(AttributeError, match=f"lacks it.*did you mean {near}"):
        getattr(module, name)


@pytest.mark.parametrize(
    ("place", "name", "instead"),
    [("", "export", "call the function or module itself"), ("utils", "cpp_extension", "in Python")],
)  # fmt: skip
def test_a_part_that_is_not_here_says_what_to_do_without_it(place: str, name: str, instead: str) -> None:
    with pytest.raises(AttributeError, match=f"lacks it; .*{instead}"):
        getattr(whole(f"torch.{place}" if place else "torch"), name)


def test_what_python_itself_asks_of_a_module_is_answered_without_a_search(monkeypatch: pytest.MonkeyPatch) -> None:
    import difflib

    monkeypatch.setattr(difflib, "get_close_matches", lambda *_, **__: pytest.fail("a search"))
    for place in ("nn.parameter", "nn.functional", "linalg"):
        with pytest.raises(AttributeError, match=r"has no attribute '__wrapped__'$"):
            _ = whole(f"torch.{place}").__wrapped__


def test_a_name_that_is_near_nothing_is_given_no_other() -> None:
    with pytest.raises(AttributeError, match=r"facade lacks it$"):
        _ = torch.package


def test_sizes_become_tuples_by_the_functions_that_layers_of_scripts_import() -> None:
    from tapegrad.torch.nn.modules.utils import _pair, _triple

    assert (_pair(3), _pair([1, 2]), _triple(4)) == ((3, 3), (1, 2), (4, 4, 4))
    assert torch.vmap is torch.func.vmap
