"""Nested structures, in and out."""

import subprocess
import sys
from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest

import tapegrad as tg
from tapegrad.tree import flatten

Pair = namedtuple("Pair", "first second")


@pytest.mark.parametrize(
    "structure",
    [
        1,
        None,
        "leaf",
        [],
        (),
        {},
        [1, None, 2],
        (1, (2, [3])),
        {"b": 1, "a": [2, None]},
        Pair(1, [2]),
        OrderedDict(b=1, a=2),
        defaultdict(list, {"x": [1, 2]}),
        deque([1, (2,)]),
        [[], {}, ()],
    ],
    ids=repr,
)
def test_a_structure_is_rebuilt_from_its_leaves(structure: Any) -> None:
    leaves, rebuild = flatten(structure)
    found = rebuild(leaves)
    assert found == structure
    assert type(found) is type(structure)


def test_none_is_a_leaf() -> None:
    assert flatten([1, None, {"a": None}])[0] == [1, None, None]


def test_a_dict_keeps_its_own_order() -> None:
    leaves, rebuild = flatten({"b": 1, "a": 2, "c": 3})
    assert list(rebuild(leaves)) == ["b", "a", "c"]
    assert rebuild([10 * x for x in leaves]) == {"b": 10, "a": 20, "c": 30}


def test_lists_of_tensors_are_not_touched() -> None:
    xs = [tg.asarray(1.5), None, tg.asarray(2.5)]
    leaves, rebuild = flatten(xs)
    assert leaves == xs
    assert leaves is not xs
    assert rebuild(leaves) == xs


def test_a_tensor_is_a_leaf_although_it_can_be_iterated() -> None:
    x = tg.asarray([1.5, 2.5])
    assert flatten({"x": x})[0] == [x]


def test_plain_sources_do_without_optree() -> None:
    code = (
        "import sys, tapegrad as tg\n"
        "v, w = tg.Variable(1.5), tg.Variable(2.5)\n"
        "with tg.GradientTape(persistent=True) as tape:\n"
        "    y = v * w\n"
        "tape.gradient(y, v), tape.gradient(y, [v, w]), tape.gradient([y], (v, None))\n"
        "assert 'optree' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


class Holder:
    """Another library's variable."""

    def __init__(self, value):
        self.held = tg.Variable(value)

    def __tapegrad_tensor__(self):
        return self.held


def test_an_object_that_stands_for_a_tensor_is_a_source_and_an_argument():
    a, b = Holder([1.5, -2.0]), Holder([0.5, 1.0])
    with tg.GradientTape() as tape:
        loss = tg.sum(tg.multiply(tg.asarray(a), b) + tg.stack([a, b])[0] * 2)
    found = tape.gradient(loss, {"a": a, "b": [b]})
    assert found["a"].tolist() == [2.5, 3.0]
    assert found["b"][0].tolist() == [1.5, -2.0]
    with tg.GradientTape(watch_accessed_variables=False) as tape:
        tape.watch(a)
        loss = tg.sum(tg.square(a))
    assert tape.gradient(loss, a).tolist() == [3.0, -4.0]
