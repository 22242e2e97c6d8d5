"""`tf.nest`: nested structures of lists, tuples, named tuples and dicts (in the order of their keys)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tapegrad.core.tensor import Tensor

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]


def is_nested(structure: Any) -> bool:
    """Whether it is a structure, and not a leaf."""
    kind = type(structure)
    if kind is list or kind is tuple or kind is dict:
        return True
    if isinstance(structure, Tensor):  # the usual leaf: asking for the others takes five times as long
        return False
    return (isinstance(structure, list | Mapping) or _is_tuple(structure)) and not hasattr(structure, "as_numpy_dtype")


def _is_tuple(x: Any) -> bool:
    """Tuples and named tuples; a TensorShape is a leaf."""
    return isinstance(x, tuple) and (type(x) is tuple or hasattr(x, "_fields") or type(x).__name__ == "ListWrapper")


def _items(structure: Any) -> Any:
    if isinstance(structure, Mapping):
        try:
            return [structure[k] for k in sorted(structure)]
        except TypeError:
            raise TypeError("nest only supports dicts with sortable keys.") from None
    return structure


def flatten(structure: Any, expand_composites: bool = False) -> list[Any]:
    """The leaves, in order."""
    if not is_nested(structure):
        return structure._components() if expand_composites and hasattr(structure, "_components") else [structure]
    return [leaf for part in _items(structure) for leaf in flatten(part, expand_composites)]


def _packed(structure: Any, leaves: Iterator[Any]) -> Any:
    if not is_nested(structure):
        return next(leaves)
    if isinstance(structure, Mapping):
        made = {k: _packed(structure[k], leaves) for k in sorted(structure)}
        ordered = {k: made[k] for k in structure}
        if type(structure) is dict:
            return ordered
        try:
            found = structure.copy()  # type: ignore[attr-defined]  # a defaultdict keeps its factory
            found.update(ordered)
            return found
        except AttributeError:
            return type(structure)(ordered)  # type: ignore[call-arg]
    parts = [_packed(part, leaves) for part in structure]
    kind = type(structure)
    if hasattr(structure, "_fields"):
        return kind(*parts)
    return parts if kind is list else kind(parts)


def pack_sequence_as(structure: Any, flat_sequence: Any, expand_composites: bool = False) -> Any:
    """The structure with these leaves in the place of its own."""
    leaves = list(flat_sequence)
    count = len(flatten(structure))
    if not is_nested(structure):
        if len(leaves) != 1:
            raise ValueError(
                f"The target structure is of type {type(structure)} but the input is a sequence of length {len(leaves)}"
            )
        return leaves[0]
    if len(leaves) != count:
        raise ValueError(
            f"Could not pack sequence. Structure had {count} atoms, but flat_sequence had {len(leaves)} items. "
            f"Structure: {structure}, flat_sequence: {leaves}."
        )
    return _packed(structure, iter(leaves))


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True, expand_composites: bool = False) -> None:
    """Raises ValueError where two structures differ, TypeError where the types of their sequences do."""
    error = _difference(nest1, nest2, check_types)
    if error is not None:
        raise type(error)(f"{error}.\nFirst structure: {nest1}\nSecond structure: {nest2}")


def _difference(a: Any, b: Any, check: bool) -> Exception | None:
    """What is said of the first difference, if there is one; values are not looked at."""
    if is_nested(a) != is_nested(b):
        return ValueError("The two structures don't have the same nested structure")
    if not is_nested(a):
        return None
    if isinstance(a, Mapping) != isinstance(b, Mapping) or (check and type(a) is not type(b) and not isinstance(a, Mapping)):
        return TypeError(f"The two structures don't have the same sequence type: {type(a)} and {type(b)}")
    if isinstance(a, Mapping) and set(a) != set(b):
        return ValueError(f"The two dictionaries don't have the same set of keys: {list(a)} and {list(b)}")
    left, right = list(_items(a)), list(_items(b))
    if len(left) != len(right):
        return ValueError(f"The two structures don't have the same number of elements: {len(left)} and {len(right)}")
    return next((e for x, y in zip(left, right, strict=True) if (e := _difference(x, y, check)) is not None), None)


def map_structure(func: Any, *structure: Any, **kwargs: Any) -> Any:
    """The structure with the function applied to its leaves, or to those of several structures of one form."""
    check = kwargs.pop("check_types", True)
    kwargs.pop("expand_composites", None)
    if kwargs:
        raise ValueError(f"Only valid keyword arguments are `check_types` and `expand_composites`, not: `{list(kwargs)}`")
    if not callable(func):
        raise TypeError(f"`func` must be callable. Received: {func}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check)
    leaves = [flatten(s) for s in structure]
    return pack_sequence_as(structure[0], [func(*xs) for xs in zip(*leaves, strict=True)])
