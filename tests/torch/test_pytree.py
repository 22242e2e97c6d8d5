"""Nested structures by PyTorch's names, as PyTorch takes them apart."""

from collections import OrderedDict, defaultdict, deque, namedtuple

import pytest

from tapegrad import torch  # noqa: F401
from tapegrad.torch.utils import _pytree as ours

theirs = pytest.importorskip("torch.utils._pytree")
Pair = namedtuple("Pair", "a b")

TREE = {
    "b": [1, 2, (3, None)], "a": Pair(4, [5]), "d": OrderedDict(y=1, x=2), "e": defaultdict(list, {"k": 7}), "q": deque([1, 2], maxlen=4),
    "empty": [],
}  # fmt: skip


def taken_apart(of):
    leaves, spec = of.tree_flatten(TREE)
    back = of.tree_unflatten([x and x * 10 for x in leaves], spec)
    return leaves, back, back["q"].maxlen, spec.num_leaves, spec.num_children, spec.num_nodes, spec.type, spec.context


def test_a_structure_comes_apart_and_together_as_in_pytorch():
    assert taken_apart(ours) == taken_apart(theirs)


def outcome(function, *args, **words):
    try:
        return function(*args, **words)
    except (ValueError, TypeError) as error:
        return type(error)


@pytest.mark.parametrize(
    ("name", "args", "words"),
    [
        ("tree_map", (lambda a, b: (a, b), {"x": 1, "y": [2]}, {"y": [3], "x": 4}), {}),
        ("tree_map", (lambda a, b: a + b, [1, 2], [3]), {}),
        ("tree_map", (lambda a, b: a + b, [1, 2], (3, 4)), {}),
        ("tree_map", (lambda a, b: a + b, {"x": 1}, {"y": 2}), {}),
        ("tree_map", (lambda a, b: b, [1, 2], [[3], {"z": 4}]), {}),
        ("tree_map", (len, [[1, 2], [3]]), {"is_leaf": lambda x: isinstance(x, list) and all(isinstance(v, int) for v in x)}),
        ("tree_map_only", (int, lambda a: -a, [1, 2.5, ("s", 3)]), {}),
        ("tree_map_only", ((float, str), lambda a: a * 2, [1, 2.5, ("s", 3)]), {}),
        ("tree_leaves", (TREE,), {}),
        ("tree_all", (lambda x: x is not None, TREE), {}),
        ("tree_any", (lambda x: x == 7, TREE), {}),
        ("tree_is_leaf", (None,), {}),
    ],
)
def test_what_is_done_with_trees_is_as_in_pytorch(name, args, words):
    assert outcome(getattr(ours, name), *args, **words) == outcome(getattr(theirs, name), *args, **words)


def test_too_few_leaves_are_refused():
    spec = ours.tree_structure([1, (2, 3)])
    with pytest.raises(ValueError, match=r"length 1 but .* holds 3 items"):
        spec.unflatten([1])
    assert "".join(repr(spec).split()) == "".join(repr(theirs.tree_structure([1, (2, 3)])).split())


def test_a_class_joins_once():
    class Box:
        def __init__(self, content):
            self.content = content

    ours.register_pytree_node(Box, lambda box: ([box.content], "box"), lambda children, _: Box(*children))
    assert ours.tree_leaves([Box([1, 2]), 3]) == [1, 2, 3]
    assert ours.tree_map(lambda x: x + 1, Box(1)).content == 2
    with pytest.raises(ValueError, match="already registered"):
        ours.register_pytree_node(Box, lambda box: ([], None), lambda *_: None)
