"""Nested structures: lists, tuples, dicts and whatever `optree` knows, imported only where it is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tapegrad.core.tensor import Tensor, standing_for

if TYPE_CHECKING:
    from collections.abc import Callable


def flatten(structure: Any) -> tuple[list[Any], Callable[[list[Any]], Any]]:
    """The leaves of a structure, and a function that puts others in their place.  None is a leaf.

    A leaf that stands for a tensor is that tensor.
    """
    if isinstance(structure, Tensor) or structure is None:
        return [structure], _only
    kind = type(structure)
    if kind is list or kind is tuple:
        for v in structure:
            if not isinstance(v, Tensor) and v is not None:
                break
        else:
            return list(structure), kind
    if not isinstance(structure, list | tuple | dict) and not _is_node(structure):
        return [standing_for(structure)], _only
    import optree

    leaves, definition = optree.tree_flatten(structure, none_is_leaf=True, namespace="tapegrad")
    return [*map(standing_for, leaves)], definition.unflatten


def unchanged_leaves(structure: Any) -> list[Any]:
    """The leaves of a structure as they are, whatever they stand for."""
    if isinstance(structure, Tensor):
        return [structure]
    if type(structure) is list and all(map(_is_tensor, structure)):
        return structure
    if not (isinstance(structure, list | tuple | dict) or _is_node(structure)):
        return [structure]
    import optree

    leaves: list[Any] = optree.tree_leaves(structure, none_is_leaf=True, namespace="tapegrad")
    return leaves


def _is_tensor(x: Any) -> bool:
    return isinstance(x, Tensor)


def _only(leaves: list[Any]) -> Any:
    return leaves[0]


def _is_node(structure: Any) -> bool:
    import optree

    return not optree.tree_is_leaf(structure, none_is_leaf=True, namespace="tapegrad")
