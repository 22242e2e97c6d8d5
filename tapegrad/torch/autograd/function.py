"""`torch.autograd.Function`: a step with a derivative of the user's own."""

from __future__ import annotations

import functools
import inspect
import warnings
import weakref
from typing import Any

from tapegrad.core.node import Node as CoreNode
from tapegrad.core.node import Recorded, make_node
from tapegrad.core.recorder import EMPTY, shared, state
from tapegrad.core.tensor import Tensor as Core
from tapegrad.core.tensor import linked
from tapegrad.registry.batching import lift
from tapegrad.registry.op import spec_of
from tapegrad.registry.several import picked
from tapegrad.torch._inplace import rewrite
from tapegrad.torch._recorder import TRANSFORMS, is_enabled, is_leaf_node, own, switch
from tapegrad.torch._storage import wrote
from tapegrad.torch._tensor import STYLE, Tensor, wrap
from tapegrad.torch._views import alias, store_of, view_of
from tapegrad.torch._watching import bare, is_held
from tapegrad.torch._write_checks import check_view
from tapegrad.torch.autograd._function_context import BackwardCFunction, FunctionCtx, Saved
from tapegrad.torch.autograd._function_steps import FunctionOp


class FunctionMeta(type):
    """Gives each Function its class of contexts, and its op."""

    def __init__(cls, name: str, bases: Any, attrs: Any) -> None:
        super().__init__(name, bases, attrs)
        cls._backward_cls = type(f"{name}Backward", (BackwardCFunction,), {"_forward_cls": cls})
        cls._shown_cls = type(f"{name}Backward", (cls._backward_cls,), {"__slots__": ("_held",)})
        cls._op = FunctionOp(cls)


class Function(metaclass=FunctionMeta):
    """Subclass this with static methods `forward` and `backward`, and call `apply`."""

    generate_vmap_rule = False

    def __init__(self, *args: Any, **words: Any) -> None:
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all static, so you should invoke them on "
            "the class itself. Instantiating an autograd function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args: Any, **words: Any) -> Any:
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use new-style autograd function with "
            "static forward method. (Example: https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args: Any, **words: Any) -> Any:
        """Compute the value."""
        raise NotImplementedError("You must implement the forward function for custom autograd.Function.")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> Any:
        """Keep what `backward` needs, where `forward` has no context."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """The gradients of the inputs, from those of the outputs."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom autograd.Function to use it with backward mode AD."
        )

    vjp = backward

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """The tangents of the outputs, from those of the inputs."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with forward mode AD."
        )

    @staticmethod
    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        """The value on a batch: `(output, out_dims)`."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args: Any, **words: Any) -> Any:
        """The value of the function, with its derivative."""
        return _apply(cls, args, words)


def _bound(cls: Any, args: tuple[Any, ...], words: dict[str, Any], with_ctx: bool) -> tuple[Any, ...]:
    """All arguments in their order, where some were given by name."""
    if not words:
        return args
    names = inspect.signature(cls.forward)
    bound = names.bind(*([None] if with_ctx else []), *args, **words)
    if bound.kwargs:
        raise TypeError(f"{cls.__name__}.apply() takes no keyword-only arguments, got {', '.join(bound.kwargs)}")
    found = bound.args
    return found[1:] if with_ctx else found


def _with_defaults(cls: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """All arguments that `setup_context` is to see: those that were not given have their defaults."""
    code = getattr(cls.forward, "__code__", None)
    if code is None or code.co_argcount <= len(args):
        return args
    bound = inspect.signature(cls.forward).bind(*args)
    bound.apply_defaults()
    return bound.args


def _apply(cls: Any, args: tuple[Any, ...], words: dict[str, Any]) -> Any:
    separate = cls.setup_context is not Function.setup_context
    args = _bound(cls, args, words, not separate)
    if separate:
        args = _with_defaults(cls, args)
    batched = _batched(args)
    if not separate and (batched or TRANSFORMS.depth):
        raise RuntimeError(
            "In order to use an autograd.Function with functorch transforms (vmap, grad, jvp, jacrev, ...), it must override the "
            "setup_context staticmethod. For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"
        )
    if batched:
        from tapegrad.torch.autograd._function_batches import run_vmap

        own_rule = cls.vmap is not Function.vmap
        if own_rule and cls.generate_vmap_rule:
            raise RuntimeError(
                f"You tried to vmap over {cls.__name__}, but it has both generate_vmap_rule=True and an overridden vmap staticmethod. "
                "Please set generate_vmap_rule=False or delete the overridden vmap staticmethod to avoid ambiguity."
            )
        if own_rule:
            return run_vmap(cls, args)
        if not cls.generate_vmap_rule:
            raise RuntimeError(
                f"You tried to vmap over {cls.__name__}, but it does not have vmap support. Please override and implement the vmap "
                "staticmethod or set generate_vmap_rule=True."
            )
    ctx = cls._backward_cls()
    nodes = [a.read()[1] if isinstance(a, Core) else None for a in args]  # before forward writes into them
    ctx.needs_input_grad = tuple(n is not None and (own(n) is not None or _is_known(n)) for n in nodes)
    before, state.active = state.active, EMPTY
    try:
        if separate:
            outputs = cls.forward(*args)
            cls.setup_context(ctx, args, outputs)
        else:
            outputs = cls.forward(ctx, *args)
    finally:
        state.active = before
    several = isinstance(outputs, tuple | list)
    made = _record(cls, ctx, args, nodes, tuple(outputs) if several else (outputs,), several)
    if not several:
        return made[0]
    return made if isinstance(outputs, tuple) else list(made)


def _batched(args: tuple[Any, ...]) -> bool:
    from tapegrad.kernels.batched import Batched

    return any(isinstance(a, Core) and type(a.array) is Batched and a.array.level.name for a in args)


def _record(
    cls: Any, ctx: Any, args: tuple[Any, ...], nodes: list[Any], outputs: tuple[Any, ...], several: bool
) -> tuple[Any, ...]:
    dirty = {id(t) for t in getattr(ctx, "dirty_tensors", ())}
    fixed = {id(t) for t in getattr(ctx, "non_differentiable", ())}
    given = {id(a): a for a in args if isinstance(a, Core)}
    if dirty - {id(y) for y in outputs}:
        raise RuntimeError(
            "Some elements marked as dirty during the forward method were not returned as output. The inputs that are modified "
            "inplace must all be outputs of the Function."
        )
    if dirty - given.keys():
        warnings.warn(
            "ctx.mark_dirty() received a tensor that was not an input. Only input Tensors that have been mutated should be passed to "
            "ctx.mark_dirty().",
            UserWarning,
            stacklevel=4,
        )
    ys = [y for y in outputs if isinstance(y, Core)]
    kept = getattr(ctx, "to_save", ())
    for y in ys:
        if id(y) in dirty:
            wrote(store_of(y), y.array)
    _refuse_leaves(dirty, given)
    raws = tuple(y.read()[0] for y in ys)
    _refuse_views(ys, dirty)
    ctx._are_tensors = tuple(isinstance(y, Core) for y in outputs)
    ctx._fixed = frozenset(i for i, y in enumerate(ys) if _is_constant(y, fixed))
    ctx._written = {i: next(k for k, a in enumerate(args) if a is y) for i, y in enumerate(ys) if id(y) in dirty & given.keys()}
    for i in ctx._written.values():
        info = view_of(args[i])
        if info is not None and is_held(nodes[i], info.base.node):
            nodes[i] = bare(nodes[i], info.base.node)
    node = _node(cls, ctx, args, nodes, raws)
    if node is None:
        results = tuple(_untracked(y, given, dirty) if isinstance(y, Core) else y for y in outputs)
        _forbid_all(results, outputs, dirty, cls.__name__, several)
        return results
    ctx._of = weakref.ref(node)
    made: list[Any] = picked(raws, node) if len(ys) > 1 else [linked(r, node) for r in raws]  # type: ignore[assignment]
    found = iter([(y, m) for y, m in zip(ys, made, strict=True)])
    results = tuple(_result(*next(found), given, dirty, fixed) if isinstance(y, Core) else y for y in outputs)
    _forbid_all(results, outputs, dirty, cls.__name__, several)
    places = {id(y): i for i, y in enumerate(ys)}
    ctx._kept = tuple(
        None if t is None else Saved(t, None if id(t) in given and id(t) not in dirty else places.get(id(t))) for t in kept
    )
    ctx.to_save = ()
    ctx.dirty_tensors = ctx.non_differentiable = ()
    return results


def _forbid_all(results: tuple[Any, ...], outputs: tuple[Any, ...], dirty: set[int], name: str, several: bool) -> None:
    for i, (y, made) in enumerate(zip(results, outputs, strict=True)):
        if isinstance(y, Core) and id(made) not in dirty:
            _forbid_writes(y, name, i if several and len(outputs) > 1 else None)


def _forbid_writes(y: Any, name: str, number: int | None) -> None:
    """A view that a Function gives: a write to it would pass by the Function's derivative."""
    info = view_of(y)
    if info is not None and is_enabled():
        info.untracked = ""
        if number is not None:
            info.several = name, number
        else:
            info.custom, info.several = name, None


def _is_constant(y: Any, fixed: set[int]) -> bool:
    return id(y) in fixed or y.array.dtype.kind not in "fcV"


def _refuse_leaves(dirty: set[int], given: dict[int, Any]) -> None:
    if is_enabled():
        for key in dirty & given.keys():
            info = view_of(given[key])
            node = own(given[key].node)
            if info is not None and not info.cut:
                check_view(given[key], info, node)
            elif node is not None and is_leaf_node(node):
                raise RuntimeError("a leaf Variable that requires grad has been used in an in-place operation.")


def _refuse_views(ys: list[Any], dirty: set[int]) -> None:
    """A write into a view, along with other outputs: what its base would be then is not known."""
    if len(ys) < 2 or not is_enabled():
        return
    for y in ys:
        info = view_of(y) if id(y) in dirty else None
        if info is not None and not info.cut and (own(y.node) is not None or own(info.base.node) is not None):
            raise RuntimeError(
                "If your Function modifies inplace an input that is a view of another Tensor, your Function cannot return more than one "
                "Tensor: make sure that the input is not a view (for example with .clone()), or split the Function into one that writes "
                "and gives a single Tensor, and another for the rest."
            )


def _node(
    cls: Any, ctx: Any, args: tuple[Any, ...], nodes: list[Any], raws: tuple[Any, ...]
) -> CoreNode | None:
    """The node for the whole call, if anybody records it."""
    owners = shared(state.active, nodes)
    if owners is None or not raws:
        return None
    values = [a.array if isinstance(a, Core) else 0.0 for a in args]
    lifted = lift([*values, *raws], [*nodes, *[None] * len(raws)])
    if lifted is not None:
        nodes = [x.node if isinstance(x, Core) else None for x in lifted[: len(nodes)]]
    parents = tuple(n if _is_known(n) else None for n in nodes)
    first = next(n for n in parents if n is not None)
    ctx._specs = tuple(spec_of(a.array) if isinstance(a, Core) else None for a in args)
    return make_node(cls._op, first, parents, ctx, tuple(map(spec_of, raws)), owners)


def _is_known(node: CoreNode | None) -> bool:
    return node is not None and not node.owners.recorders.isdisjoint(state.active.recorders)


def _untracked(y: Any, given: dict[int, Any], dirty: set[int]) -> Any:
    if id(y) in given and id(y) not in dirty:
        return alias(y)
    return y if isinstance(y, Tensor) else STYLE.adopt(y)


def _result(y: Any, made: Any, given: dict[int, Any], dirty: set[int], fixed: set[int]) -> Any:
    if id(y) in dirty:
        rewrite(y, made.node)
        return y
    constant = _is_constant(y, fixed)
    if id(y) in given:
        y = alias(y)
        y._view.cut = True
    if constant:
        return y
    y = y if isinstance(y, Tensor) else STYLE.adopt(y)
    y.node = made.node
    return y


# -- once ---------------------------------------------------------------------------------------------
def _twice(node: CoreNode, _: Any) -> Any:
    raise RuntimeError("trying to differentiate twice a function that was marked with @once_differentiable")


_ONCE = Recorded("once_differentiable", _twice, _twice, _twice, _twice)


def once_differentiable(function: Any) -> Any:
    """A `backward` whose results have no derivative: asking for one raises."""

    @functools.wraps(function)
    def wrapped(ctx: Any, *args: Any) -> Any:
        was = switch(False)
        try:
            found = function(ctx, *args)
        finally:
            switch(was)
        if not was or not any(isinstance(a, Core) and own(a.node) is not None for a in args):
            return found
        several = isinstance(found, tuple)
        parents = tuple(n for a in args if isinstance(a, Core) and (n := own(a.node)) is not None)

        def mark(c: Any) -> Any:
            if not isinstance(c, Core):
                return c
            return wrap(c.read()[0], make_node(_ONCE, parents[0], parents, None, None, parents[0].owners))

        return tuple(map(mark, found)) if several else mark(found)

    return wrapped


Function.backward.is_absent = True  # type: ignore[attr-defined]  # vjp is the same


class InplaceFunction(Function):
    """Kept for old scripts: a Function that may write into its input."""


__all__ = ["Function", "FunctionCtx", "InplaceFunction", "once_differentiable"]
