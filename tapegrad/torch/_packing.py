"""`saved_tensors_hooks`: what a graph saves goes through hooks of the user's while a context is active.

Ops save raw values, and know nothing of this: while hooks are active, each node is looked at as it is made, its saved tensors
are taken out, and an op is left in its place that unpacks them when the node is swept.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

from tapegrad.core.node import Node, Recorded
from tapegrad.core.tensor import PLAIN
from tapegrad.core.tensor import Tensor as Core
from tapegrad.kernels.batched import Batched
from tapegrad.registry.rules import Variant, is_array
from tapegrad.torch._elsewhere import lend
from tapegrad.torch._recorder import OWNERS
from tapegrad.torch._tensor import beside, wrap


class _Local(threading.local):
    def __init__(self) -> None:
        self.stack: list[tuple[Any, Any]] = []
        self.disabled: str | None = None


LOCAL = lend(_Local())


def active() -> tuple[Any, Any] | None:
    """The hooks in force: pack and unpack."""
    return LOCAL.stack[-1] if LOCAL.stack else None


def pack(hook: Any, t: Any) -> Any:
    """What a hook makes of a tensor that is to be saved; nothing of that is recorded, and no hook sees it."""
    from tapegrad.torch._recorder import switch
    from tapegrad.torch._views import store_of

    held, LOCAL.stack = LOCAL.stack, []
    was = switch(False)
    try:
        version = store_of(t).version if isinstance(t, Core) else 0
        found = hook(t)
        if store_of(t).version != version:
            raise RuntimeError("A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack hook cannot "
                               "be modified by in-place operations as this can lead to unexpected side-effects. Please open an "
                               "issue if you need to perform in-place operations on the input to a pack hook.")  # fmt: skip
        return found
    finally:
        switch(was)
        LOCAL.stack = held


class _ByPlace:
    """Unpacks what may have been packed by several hooks."""

    def __init__(self, usual: Any) -> None:
        self.usual = usual

    def __call__(self, held: tuple[Any, Any]) -> Any:
        unpack, packed = held
        return (self.usual if unpack is None else unpack)(packed)


class SavedTensor:
    """What a node has saved, before it is unpacked: hooks can be put on it."""

    _node: Any
    _place: int | None

    def __init__(self, *_: Any) -> None:
        raise TypeError("torch._C._autograd.SavedTensor: no constructor is defined: nodes have them, as `y.grad_fn._raw_saved_self`")

    @classmethod
    def _at(cls, node: Node, place: int | None) -> SavedTensor:
        made = object.__new__(cls)
        made._node, made._place = node, place
        return made

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Let `pack_hook` take the tensor at once, and `unpack_hook` give it when it is needed."""
        if not callable(pack_hook) or not callable(unpack_hook):
            raise TypeError("register_hooks(): incompatible function arguments: expected two functions, pack_hook and unpack_hook")
        node, place = self._node, self._place
        if place is None:
            raise RuntimeError("Calling register_hooks on a saved tensor with value None is forbidden")
        op: Any = node.op
        packed = op if type(op) is Packed else None
        form = op if packed is None else packed.op
        if packed is not None and packed.has(place):
            raise RuntimeError("Calling register_hooks on a saved tensor whose hooks have already been set. Hint: only one pair of hooks "
                               "is allowed at a time.")  # fmt: skip
        if type(form) is not Variant or node.s is None:
            from tapegrad.torch._errors import SPENT

            raise RuntimeError(SPENT)
        t = saved_tensor(node, node.s[place] if _in_tuple(form) else (node.s, node.t)[place])
        held = pack(pack_hook, t)
        _store(node, form, place, None)
        node.held = None
        if packed is None:
            node.op = Packed(form, unpack_hook, [(place, held)])
        else:
            packed.also(place, (pack_hook, unpack_hook), held)


class Packed(Recorded):
    """An op of a node whose saved tensors are packed."""

    __slots__ = ("held", "op", "unpack")

    def __init__(self, op: Any, unpack: Any, held: list[tuple[int, Any]]) -> None:
        self.name = op.name  # not by the constructor of the base: bound methods kept here would be a cycle
        self.op = op
        self.unpack = unpack
        self.held = held

    @property
    def pattern(self) -> str:
        """How it is shown."""
        from tapegrad.torch._node_names import pattern_of

        stand_in = Node()
        stand_in.op, stand_in.q, stand_in.p, stand_in.s, stand_in.t = self.op, None, None, None, None
        return pattern_of(stand_in)

    def unpacked(self, place: int) -> Any:
        """The tensor that was saved at a place, as the hook gives it back."""
        return next((self.unpack(held) for at, held in self.held if at == place), None)

    def has(self, place: int) -> bool:
        """Whether what was saved at a place is packed."""
        return any(at == place for at, _ in self.held)

    def also(self, place: int, hooks: tuple[Any, Any], held: Any) -> None:
        """Pack what was saved at another place too, by hooks of its own."""
        if type(self.unpack) is not _ByPlace:
            self.unpack = _ByPlace(self.unpack)
            self.held = [(at, (None, h)) for at, h in self.held]
        self.held.append((place, (hooks[1], held)))

    def _open(self, node: Node, other: Any) -> tuple[Any, Any]:
        before = node.s, node.t
        places = set()
        for place, held in self.held:
            found = self.unpack(held)
            if not isinstance(found, Core):
                raise TypeError(
                    f"Output of saved tensor unpack_hook expected to be a Tensor but got result of type {type(found).__name__}"
                )
            raw = found.read()[0]
            if other is not None:
                raw = beside(raw, other)
            if place in places:  # of x * x, whose derivative is the sum of both
                raw = 0.5 * (raw + node.s)
            places.add(place)
            _store(node, self.op, place, raw)
        return before

    def _run(self, name: str, node: Node, x: Any) -> Any:
        given = x[0] if type(x) is tuple else x
        before = self._open(node, given.array if isinstance(given, Core) else given)
        try:
            return getattr(self.op, name)(node, x)
        finally:
            node.s, node.t = before

    def pull(self, node: Node, g: Any) -> None:
        """The op's own step, with its values unpacked, as are the following."""
        self._run("pull", node, g)

    def pull_recorded(self, node: Node, g: Any) -> None:
        self._run("pull_recorded", node, g)

    def push(self, node: Node, tangents: Any) -> Any:
        return self._run("push", node, tangents)

    def push_recorded(self, node: Node, tangents: Any) -> Any:
        return self._run("push_recorded", node, tangents)

    def release(self, node: Node) -> None:
        """Let go of what is packed."""
        from tapegrad.torch._spent import Spent

        node.op = Spent(self.op.name, self.pattern)
        node.s = node.t = None


def _in_tuple(op: Any) -> bool:
    return bool(op.general or len(op.saved) > 2)


def _store(node: Node, op: Any, place: int, raw: Any) -> None:
    if _in_tuple(op):
        s = list(node.s)
        s[place] = raw
        node.s = tuple(s)
    elif place:
        node.t = raw
    else:
        node.s = raw


def saved_tensor(node: Node, raw: Any) -> Any:
    """The tensor whose value a node has saved, if the node holds it; else a tensor of the value."""
    held = getattr(node, "held", None)
    for x in held if type(held) is tuple else (held,):
        if isinstance(x, Core) and x.array is raw:
            return x
    return wrap(raw)


def _of_product() -> bool:
    """Whether the square that is being recorded is that of `x * x`, which saves two tensors: only the stack knows."""
    names: list[str] = []
    frame: Any = sys._getframe(1)
    while frame is not None and len(names) < 8:
        names.append(frame.f_code.co_name)
        frame = frame.f_back
    caller = next((n for n in names[names.index("square") + 1 :] if n != "_uncompiled"), "") if "square" in names else ""
    return caller == "multiply"


def pack_node(node: Node, _: Any = None) -> None:
    """Take the tensors out of a node that was just made."""
    hooks = active()
    op = node.op
    if hooks is None or type(op) is not Variant or op.op.variadic or op.op.outputs:
        return
    held = []
    for place, name in enumerate(op.saved):
        if not is_array(op.op, name):
            continue
        raw = node.s[place] if _in_tuple(op) else (node.s, node.t)[place]
        if type(raw) in PLAIN or type(raw) is Batched:
            continue
        t = saved_tensor(node, raw)
        held += [(place, pack(hooks[0], t)) for _ in range(2 if op.name == "square" and _of_product() else 1)]
    if held:
        for place, _packed in held:
            _store(node, op, place, None)
        node.held = None
        node.op = Packed(op, hooks[1], held)


def enter(pack_hook: Any, unpack_hook: Any) -> None:
    """Put these hooks in force on this thread."""
    LOCAL.stack.append((pack_hook, unpack_hook))
    on_nodes(pack_node, True)


def leave() -> None:
    """Take the latest hooks off again."""
    LOCAL.stack.pop()
    on_nodes(pack_node, False)


# -- who looks at nodes as they are made -----------------------------------------------------------------
_LOOKERS: dict[Any, int] = {}
_LOCK = threading.Lock()
_USUAL = OWNERS.keep


def on_nodes(look: Any, on: bool) -> None:
    """Let `look` see each node that the implicit recorder alone makes; it costs nothing while nobody looks."""
    with _LOCK:
        count = _LOOKERS.get(look, 0) + (1 if on else -1)
        if count:
            _LOOKERS[look] = count
        else:
            _LOOKERS.pop(look, None)
        looks = tuple(_LOOKERS)

        def keep(node: Node) -> None:
            for f in looks:
                f(node)

        OWNERS.keep = keep if looks else _USUAL
