"""The graphs that TensorFlow builds: of functions, and of branches and loops in them."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

_BRANCHES = frozenset(["CondBranchFuncGraph", "WhileCondFuncGraph", "WhileBodyFuncGraph"])


def graph() -> Any:
    """The graph that is being built on this thread; None where TensorFlow computes at once."""
    return None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()


def is_branch(graph: Any) -> bool:
    """Whether a graph is that of a branch or a loop inside of a function."""
    return any(c.__name__ in _BRANCHES for c in type(graph).__mro__)


def function_graph() -> Any:
    """The graph of the function that is being traced, around those of its branches and loops."""
    found = graph()
    while is_branch(found):
        found = found.outer_graph
    return found
