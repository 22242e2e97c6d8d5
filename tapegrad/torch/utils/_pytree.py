"""Nested structures, in the order in which they were made: `tree_flatten` and what goes with it.

Lists, tuples, named tuples, dicts (ordered and with defaults too) and deques have children; all else is a leaf, None too.  Other
classes join by `register_pytree_node`.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tapegrad.torch._missing import refusing


class _Kind(NamedTuple):
    """How values of a class come apart, and are put together from children and what is left."""

    apart: Callable[[Any], tuple[Iterable[Any], Any]]
    together: Callable[[Iterable[Any], Any], Any]


def _items(x: Any) -> tuple[Iterable[Any], Any]:
    return list(x.values()), list(x)


_KINDS: dict[type, _Kind] = {
    list: _Kind(lambda x: (x, None), lambda children, _: list(children)),
    tuple: _Kind(lambda x: (x, None), lambda children, _: tuple(children)),
    deque: _Kind(lambda x: (x, x.maxlen), lambda children, longest: deque(children, maxlen=longest)),
    dict: _Kind(_items, lambda children, keys: dict(zip(keys, children, strict=True))),
    OrderedDict: _Kind(_items, lambda children, keys: OrderedDict(zip(keys, children, strict=True))),
    defaultdict: _Kind(
        lambda x: (list(x.values()), [x.default_factory, list(x)]),
        lambda children, context: defaultdict(context[0], zip(context[1], children, strict=True)),
    ),
}
_NAMED = _Kind(lambda x: (x, type(x)), lambda children, made: made(*children))


@dataclass(frozen=True)
class TreeSpec:
    """The structure around leaves."""

    type: Any
    context: Any
    children_specs: list[TreeSpec] = field(default_factory=list)

    @property
    def num_children(self) -> int:
        """The children of the outermost structure."""
        return len(self.children_specs)

    @property
    def num_leaves(self) -> int:
        """The leaves at every depth."""
        return 1 if self.is_leaf() else sum(child.num_leaves for child in self.children_specs)

    @property
    def num_nodes(self) -> int:
        """The leaves, and the structures around them."""
        return 1 + sum(child.num_nodes for child in self.children_specs)

    def is_leaf(self) -> bool:
        """Whether there is no structure."""
        return self.type is None

    def child(self, index: int) -> TreeSpec:
        """The structure of one child."""
        return self.children_specs[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The structure with these leaves."""
        return tree_unflatten(leaves, self)

    def __repr__(self) -> str:
        if self.is_leaf():
            return "*"
        kind = "namedtuple" if _is_named(self.type) else self.type.__name__
        return f"TreeSpec({kind}, {self.context}, {self.children_specs})"


class LeafSpec(TreeSpec):
    """The structure of a leaf: none."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


def _is_named(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def _kind_of(x: Any) -> _Kind | None:
    return _KINDS.get(type(x)) or (_NAMED if _is_named(type(x)) else None)


def register_pytree_node(
    cls: type, flatten_fn: Callable[[Any], tuple[Iterable[Any], Any]], unflatten_fn: Callable[[Iterable[Any], Any], Any], **_: Any
) -> None:
    """Let values of a class have children: how they come apart, and are put together."""
    if cls in _KINDS:
        raise ValueError(f"{cls} is already registered as pytree node.")
    _KINDS[cls] = _Kind(flatten_fn, unflatten_fn)


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether a value has no children."""
    return bool(is_leaf is not None and is_leaf(tree)) or _kind_of(tree) is None


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], TreeSpec]:
    """The leaves, and the structure around them."""
    leaves: list[Any] = []

    def walk(x: Any) -> TreeSpec:
        if tree_is_leaf(x, is_leaf):
            leaves.append(x)
            return LeafSpec()
        kind = _kind_of(x)
        assert kind is not None
        children, context = kind.apart(x)
        return TreeSpec(type(x), context, [walk(child) for child in children])

    spec = walk(tree)
    return leaves, spec


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The structure with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"tree_unflatten(leaves, treespec): expected a TreeSpec, got {type(treespec).__name__}")
    found = list(leaves)
    if len(found) != treespec.num_leaves:
        raise ValueError(
            f"treespec.unflatten(leaves): `leaves` has length {len(found)} but the spec refers to a pytree that holds "
            f"{treespec.num_leaves} items ({treespec})."
        )
    rest = iter(found)

    def build(spec: TreeSpec) -> Any:
        if spec.is_leaf():
            return next(rest)
        kind = _KINDS.get(spec.type) or _NAMED
        return kind.together([build(child) for child in spec.children_specs], spec.context)

    return build(treespec)


def tree_iter(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """The leaves, one by one."""
    return iter(tree_flatten(tree, is_leaf)[0])


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> TreeSpec:
    """The structure around the leaves."""
    return tree_flatten(tree, is_leaf)[1]


def _beside(spec: TreeSpec, tree: Any) -> list[Any]:
    """What a second tree has at the leaves of a first."""
    if spec.is_leaf():
        return [tree]
    if type(tree) is not spec.type:
        raise ValueError(f"Node type mismatch; expected {spec.type}, but got {type(tree)}.")
    kind = _kind_of(tree)
    assert kind is not None
    children, context = kind.apart(tree)
    children = list(children)
    if len(children) != spec.num_children:
        raise ValueError(f"Node arity mismatch; expected {spec.num_children}, but got {len(children)}.")
    if isinstance(tree, dict):
        keys = spec.context[1] if spec.type is defaultdict else spec.context
        if set(keys) != set(tree):
            raise ValueError(f"Node keys mismatch; expected {sorted(map(str, keys))}, but got {sorted(map(str, tree))}.")
        children = [tree[k] for k in keys]
    elif context != spec.context:
        raise ValueError(f"Node context mismatch for {spec.type}: expected {spec.context}, but got {context}.")
    return [leaf for child, x in zip(spec.children_specs, children, strict=True) for leaf in _beside(child, x)]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The structure with a function of each leaf, and of what other trees have there."""
    leaves, spec = tree_flatten(tree, is_leaf)
    return tree_unflatten([func(*found) for found in zip(leaves, *[_beside(spec, r) for r in rests], strict=True)], spec)


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The tree, after a function was called with each leaf."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _picks(types: Any) -> Callable[[Any], bool]:
    return types if callable(types) and not isinstance(types, type | tuple) else lambda x: isinstance(x, types)


def tree_map_only(types: Any, func: Any, tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """The structure with a function of each leaf of some types; the others as they are."""
    picks = _picks(types)
    return tree_map(lambda x: func(x) if picks(x) else x, tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether something holds for every leaf."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether something holds for a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


__getattr__ = refusing(globals())

__all__ = [
    "LeafSpec", "TreeSpec", "register_pytree_node", "tree_all", "tree_any", "tree_flatten", "tree_is_leaf", "tree_iter", "tree_leaves",
    "tree_map", "tree_map_", "tree_map_only", "tree_structure", "tree_unflatten",
]  # fmt: skip
