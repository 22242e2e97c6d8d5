"""What stands in the place of a node's op once a sweep has let go of its values."""

from __future__ import annotations

import functools
from typing import Any

from tapegrad.core.backward import Hooked, Let
from tapegrad.core.node import Recorded
from tapegrad.registry.rules import Variant, is_array
from tapegrad.torch._errors import SPENT
from tapegrad.torch._node_names import key_of_nodes, pattern_of
from tapegrad.torch._recorder import OWNERS


def _spent(node: Any, _: Any) -> Any:
    raise RuntimeError(SPENT)


class Spent(Recorded):
    """An op of a node whose values are gone."""

    __slots__ = ("pattern",)

    def __init__(self, name: str, pattern: str) -> None:
        super().__init__(name, _spent, _spent, _spent, _spent)
        self.pattern = pattern  # as it was shown, and is


def _twin(node: Any) -> Recorded | None:
    """The op that takes the place of a node's own once its values are gone; itself if it has saved none."""
    op = node.op
    inner = op.op if type(op) is Hooked else op
    if type(inner) is Spent:
        return None
    if type(inner) is Variant:
        if not _keeps_arrays(inner):
            return None if type(op) is Hooked else op
        keyed = key_of_nodes(inner)
        if keyed is not None:  # a name such as MmBackward0 is a matter of the node: a twin for each key
            key = inner, keyed(node)
            twin = _TWINS.get(key) or _TWINS.setdefault(key, Spent(op.name, pattern_of(node)))
            if type(op) is Hooked:
                op.op = twin
            else:
                node.op = twin
            node.s = node.t = node.held = None
            return None
        twin = Spent(op.name, pattern_of(node))
    else:
        release = getattr(inner, "release", None)
        if release is not None:
            release(node)
            return None
        if node.s is None or inner.name == "pick":
            return op
        twin = Spent(op.name, pattern_of(node))
    if type(op) is Hooked:
        op.op = twin
        node.s = node.t = node.held = None
        return None
    return twin


@functools.cache
def _keeps_arrays(op: Variant) -> bool:
    return any(is_array(op.op, n) for n in op.saved)


#: Spent ops by the recorded form of an op and the key of its nodes.
_TWINS: dict[Any, Spent] = {}

#: What the engine does with the values of the nodes of this style that it has swept.
LET = Let(OWNERS, _twin)
