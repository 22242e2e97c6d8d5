"""The recorded forms of an op: for each choice of watched arguments, what is saved, and where it is found again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, final

from tapegrad.core.node import Recorded, parents
from tapegrad.core.tensor import PLAIN, linked
from tapegrad.registry import checks
from tapegrad.registry.op import Op
from tapegrad.registry.several import picked
from tapegrad.registry.signature import names_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tapegrad.core.node import Node


def shape_of(raw: Any) -> tuple[int, ...]:
    """The shape of a raw array or a Python scalar."""
    return () if type(raw) in PLAIN else raw.shape


def dtype_of(raw: Any) -> Any:
    """The dtype of a raw array; None for a Python scalar, which is never watched."""
    return None if type(raw) in PLAIN else raw.dtype


@final
class Variant(Recorded):
    """An op with these arguments watched.  Its steps are compiled when they are first run."""

    __slots__ = ("general", "guards", "layout", "op", "saved", "watched", "wide")

    def __init__(self, op: Op, watched: tuple[int, ...], wide: bool, general: bool) -> None:
        super().__init__(op.name, self._first_pull, self._first_pull_recorded, self._push, self._push_recorded)
        self.op = op
        self.watched = watched
        self.wide = wide
        self.general = general
        self.saved = _saved(op, watched)
        #: Where each of these comes from: from which of arrays, parameters and value, its place there, whether as a spec.
        self.layout = [_place(op, name) for name in self.saved] if op.outputs else []
        self.guards: dict[bool, Callable[[Node, Any], None]] = {}

    def forget(self) -> None:
        """Have its steps compiled anew."""
        self.pull, self.pull_recorded = self._first_pull, self._first_pull_recorded
        self.push, self.push_recorded = self._push, self._push_recorded
        self.guards.clear()

    def guarded(self, *, recorded: bool) -> Callable[[Node, Any], None]:
        """The step in which a zero cotangent gives zero, compiled where it is another."""
        found = self.guards.get(recorded)
        if found is not None:
            return found
        if not (self.op.pointwise or self.op.masks or self.op.guards) or self.op.variadic:
            return self.pull_recorded if recorded else self.pull
        from tapegrad.registry.reverse import compile_pull

        found = self.guards[recorded] = compile_pull(self, recorded=recorded, guarded=True)
        return found

    def _first_pull(self, node: Node, g: Any) -> None:
        from tapegrad.registry.reverse import compile_pull

        self.pull = compile_pull(self, recorded=False)
        self.pull(node, g)

    def _first_pull_recorded(self, node: Node, g: Any) -> None:
        from tapegrad.registry.reverse import compile_pull

        self.pull_recorded = compile_pull(self, recorded=True)
        self.pull_recorded(node, g)

    def _push(self, node: Node, tangents: tuple[Any, ...]) -> Any:
        from tapegrad.registry.forward import pushforward

        self.push = pushforward(self, recorded=False)
        return self.push(node, tangents)

    def _push_recorded(self, node: Node, tangents: tuple[Any, ...]) -> Any:
        from tapegrad.registry.forward import pushforward

        self.push_recorded = pushforward(self, recorded=True)
        return self.push_recorded(node, tangents)

    @property
    def parent_expressions(self) -> list[str]:
        """Where the parent of each watched argument is found."""
        if self.wide:
            return [f"node.q[{i}]" for i in range(len(self.op.arrays))]
        return ["node.p", "node.q"][: len(self.watched)]

    def where(self, name: str) -> str:
        """Where a saved value is found; what is saved whole serves as its own spec."""
        i = self.saved.index(name if name in self.saved else name.removesuffix(".spec"))
        if self.general or len(self.saved) > 2:
            return f"node.s[{i}]"
        return "node.s" if i == 0 else "node.t"


def is_wide(op: Op) -> bool:
    """Whether nodes of this op hold a tuple of parents."""
    return op.variadic or bool(op.outputs) or len(op.differentiable) > 2


def _watched_choices(op: Op) -> list[tuple[int, ...]]:
    index = tuple(i for i, a in enumerate(op.arrays) if a in op.differentiable)
    if not index:
        return []
    if is_wide(op):
        return [index]
    return [(index[0],)] if len(index) == 1 else [(index[0],), (index[1],), index]


def variants(op: Op) -> list[Variant]:
    """All recorded forms, in a fixed order; made once."""
    if not op.variants:
        found: list[Variant] = []
        for watched in _watched_choices(op):
            wide = is_wide(op)
            both = [True] if wide else [False, True]
            for general in both if op.kind == "elementwise" else [bool(op.outputs)]:
                op.variants[watched, general] = len(found), Variant(op, watched, wide, general)
                found.append(op.variants[watched, general][1])
    return [v for _, v in op.variants.values()]


def variant_for(op: Op, watched: tuple[int, ...] | None, general: bool) -> tuple[int, Variant]:
    variants(op)
    if watched is None:
        watched = _watched_choices(op)[0]
    found: tuple[int, Variant] = op.variants[watched, general]
    return found


def _saved(op: Op, watched: tuple[int, ...]) -> tuple[str, ...]:
    """The names that the rules of the watched arguments use; 'x.spec' where shape and dtype will do."""
    names: dict[str, None] = {}
    for i in watched:
        a = op.arrays[i]
        for n in names_of(op.rules[a], 1 if op.kind == "elementwise" else 2):
            names[as_spec(op, a, n)] = None
        for rule in (op.pushes.get(a), op.products.get(a)):
            for n in names_of(rule, 2):
                names[n] = None
        if checks.is_foreign(op) and op.kind != "elementwise":
            names[a + ".spec"] = None
        if op.kind == "primitive" and not op.outputs and (a not in op.pushes or checks.is_foreign(op)):
            names["y.spec"] = None  # the cotangent's shape, for a pullback that is applied twice
        if op.kind in ("linear", "multilinear"):  # what the pushforward needs: the op itself runs on the tangent
            for p in op.params:
                names[p.name] = None
            if op.kind == "multilinear":
                others = [b for b in op.arrays if b != a]
            else:
                others = [b for b in op.arrays if b not in op.differentiable]
                for b in op.arrays:
                    if (len(op.differentiable) > 1 or op.variadic) and b in op.differentiable:
                        names[b + ".spec"] = None
            for b in others:
                names[b] = None
    if not op.kept.keys().isdisjoint(names):  # in a recorded sweep it is the value of an op of these
        names.update(dict.fromkeys([*op.arrays, *(p.name for p in op.params)]))
    if isinstance(op.masks, str):
        names[op.masks] = None
    return tuple(n for n in names if not (n.endswith(".spec") and n[:-5] in names))


def _place(op: Op, name: str) -> tuple[int, int, bool]:
    """Where a saved value of an op of several outputs comes from."""
    bare = name.removesuffix(".spec")
    if bare == "y":
        return 2, 0, False
    if bare in op.arrays:
        return 0, op.arrays.index(bare), bare != name
    return 1, [p.name for p in op.params].index(bare), False


def as_spec(op: Op, own: str, name: str) -> str:
    """Under which name a value that a rule names is saved: its own, or that of its shape and dtype."""
    if name not in op.arrays:
        return name
    if op.variadic and op.kind == "multilinear":
        return name
    if (op.kind == "linear" and name in op.differentiable) or (op.kind == "multilinear" and name == own):
        return name + ".spec"
    return name


def linked_output(raw: Any, node: Node) -> Any:
    """The op's output as a Tensor; for an op of several outputs a tuple of them."""
    if type(raw) is tuple:
        return picked(raw, node)
    return linked(raw, node)


def values(variant: Variant, node: Node, *, recorded: bool) -> dict[str, Any]:
    """All that a node has saved, by name; on Tensors if recorded."""
    op = variant.op
    found: dict[str, Any] = {}
    ps = parents(node)
    for i, name in enumerate(variant.saved):
        raw = node.s[i] if variant.general or len(variant.saved) > 2 else (node.s, node.t)[i]
        if recorded and name == "y":
            raw = linked_output(raw, node)
        elif recorded and name in op.arrays:
            k = op.arrays.index(name)
            if op.variadic:
                raw = tuple(map(linked, raw, ps))
            else:
                parent = ps[k if variant.wide else variant.watched.index(k)] if k in variant.watched else None
                raw = linked(raw, parent)
        found[name] = raw
    if recorded and op.kept:
        from tapegrad.registry.entry import recalled

        for name, kept in op.kept.items():
            if name in found:
                found[name] = recalled(kept)(found[name], *(found[n] for n in (*op.arrays, *(p.name for p in kept.params))))
    return found


def is_array(op: Op, name: str) -> bool:
    """Whether what an op has saved under this name is an array, and no parameter or spec."""
    return name == "y" or name in op.arrays or name in op.kept


def parent_order(variant: Variant) -> Sequence[int]:
    """For each parent of a node, which argument it is."""
    return range(len(variant.op.arrays)) if variant.wide else variant.watched
