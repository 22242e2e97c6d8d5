"""What one call of a `Function` keeps between `forward` and `backward`: its context, and the tensors that it has saved."""

from __future__ import annotations

from typing import Any, final

from tapegrad.core.node import make_node
from tapegrad.core.tensor import Tensor as Core
from tapegrad.torch import _graph, _packing
from tapegrad.torch._errors import SPENT
from tapegrad.torch._recorder import is_enabled
from tapegrad.torch._tensor import wrap
from tapegrad.torch._views import give_memory, store_of
from tapegrad.torch._warnings import warn
from tapegrad.torch.autograd._function_steps import backward_of


class FunctionCtx:
    """What `forward` leaves for `backward`."""

    materialize_grads = True

    def save_for_backward(self, *tensors: Any) -> None:
        """Keep tensors, or None, for `backward`."""
        for t in tensors:
            if t is not None and not isinstance(t, Core):
                raise TypeError(f"save_for_backward can only save variables, but argument {tensors.index(t)} is of type {type(t).__name__}")
        self.to_save = tensors

    def save_for_forward(self, *tensors: Any) -> None:
        """Keep tensors, or None, for `jvp`."""
        self.saved_for_forward = tensors

    def mark_dirty(self, *args: Any) -> None:
        """Say that these inputs were written to."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args: Any) -> None:
        """Say that these outputs have no derivative."""
        self.non_differentiable = args

    def set_materialize_grads(self, value: bool) -> None:
        """Whether gradients of unused outputs arrive as zeros, or as None."""
        self.materialize_grads = value


class BackwardCFunction(FunctionCtx, _graph.Node):
    """The context of one call, which is also its `grad_fn`."""

    _forward_cls: Any
    _of: Any = None
    _kept: tuple[Any, ...] | None = ()
    _in_jvp = False
    saved_for_forward: tuple[Any, ...] = ()
    _materialize_non_diff_grads = True
    _are_tensors: tuple[bool, ...] = ()  # of the outputs
    _fixed: frozenset[int] = frozenset()  # the outputs, of those that are tensors, that have no derivative

    def __init__(self) -> None:
        self.needs_input_grad: tuple[bool, ...] = ()
        self._written: dict[int, int] = {}  # the outputs that are arguments which were written to

    @property
    def _node(self) -> Any:  # type: ignore[override]
        found = getattr(self, "_held", None)  # of what `grad_fn` gives
        if found is None and self._of is not None:
            found = self._of()
        if found is None:
            raise RuntimeError("this context is no longer part of a graph")
        return found

    def name(self) -> str:
        return type(self).__name__

    @property
    def saved_tensors(self) -> tuple[Any, ...]:
        """What `save_for_backward` has kept."""
        if self._kept is None:
            raise RuntimeError(SPENT)
        if self._in_jvp:
            return tuple(self.saved_for_forward)
        if not self._kept and getattr(self, "to_save", None):
            return tuple(self.to_save)
        return tuple(None if k is None else k.get(self) for k in self._kept)

    @property
    def saved_variables(self) -> tuple[Any, ...]:
        """The old name."""
        warn("'saved_variables' is deprecated; use 'saved_tensors'", DeprecationWarning)
        return self.saved_tensors

    def apply(self, *args: Any) -> Any:
        """Run `backward`."""
        return backward_of(self._forward_cls)(self, *args)

    def __getattr__(self, name: str) -> Any:
        if name == "_held":
            return None
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __hash__(self) -> int:
        return id(self.__dict__)

    def __eq__(self, other: object) -> bool:
        """A context and what `grad_fn` gives are one."""
        return isinstance(other, BackwardCFunction) and self.__dict__ is other.__dict__

    def __repr__(self) -> str:
        return f"<torch.autograd.function.{type(self).__name__} object at {id(self):#x}>"


@final
class Saved:
    """A tensor that a context has kept: an output by its value and its storage alone, for the tensor refers to the context."""

    __slots__ = ("index", "node", "packed", "raw", "store", "tensor", "version")

    def __init__(self, t: Any, index: int | None) -> None:
        self.index = index
        self.node = None
        hooks = _packing.active()
        self.packed = self.tensor = self.raw = self.store = None
        self.version = 0
        if hooks is not None:
            self.node = None if index is not None else t.node
            self.packed = (hooks[1], _packing.pack(hooks[0], t))
            return
        self.version = 0 if getattr(t, "_is_inference", False) else t._version
        if index is None:
            self.tensor = t
            return
        give_memory(t)
        self.raw = t.array
        self.store = store_of(t)
        self.store.shared = True

    def get(self, ctx: Any) -> Any:
        if self.packed is not None:
            unpack, held = self.packed
            found = unpack(held)
            if not isinstance(found, Core):
                raise TypeError("Output of saved tensor unpack_hook expected to be a Tensor but got result of type "
                                f"{type(found).__name__}")  # fmt: skip
            return wrap(found.read()[0], self.node if self.index is None else _node_of_output(ctx, self.index))
        t: Any = wrap(self.raw) if self.index is not None else self.tensor
        if self.index is not None:
            t._store = self.store
        now = 0 if getattr(t, "_is_inference", False) else store_of(t).version
        if now != self.version:
            from tapegrad.torch._versions import written

            by = type(ctx).__name__
            made = t.grad_fn if self.index is None else None
            if self.index is not None:
                raise written(t.array, by, self.index, now, self.version, by)
            raise written(t.array, None if made is None else made.name(), 0 if made is None else t.output_nr, now, self.version, by)
        if self.index is None:
            return t
        t.node = _node_of_output(ctx, self.index)
        return t



def _node_of_output(ctx: Any, index: int) -> Any:
    node = None if ctx._of is None else ctx._of()
    if node is None or not is_enabled():
        return None
    if len(node.t) == 1:
        return node
    from tapegrad.registry.several import PICK

    return make_node(PICK, node, None, index, len(node.t), node.owners)
