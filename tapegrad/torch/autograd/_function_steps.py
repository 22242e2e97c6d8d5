"""What the engine runs for a `Function`: the user's `backward` and `jvp`, with what they give checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from tapegrad.core.marks import LentFrom
from tapegrad.core.node import Node as CoreNode
from tapegrad.core.node import Recorded, receive
from tapegrad.core.recorder import EMPTY, state
from tapegrad.core.tensor import Tensor as Core
from tapegrad.core.tensor import linked
from tapegrad.registry.space import F, space_of_type
from tapegrad.torch._tensor import STYLE, beside, wrap
from tapegrad.torch._watching import SHOWN


def backward_of(cls: Any) -> Any:
    """The derivative that a Function has."""
    if not getattr(cls.backward, "is_absent", False) and not getattr(cls.vjp, "is_absent", False):
        raise RuntimeError("Implementing both 'backward' and 'vjp' for a custom Function is not allowed. You should only implement "
                           "one of them.")  # fmt: skip
    return cls.backward if getattr(cls.vjp, "is_absent", False) else cls.vjp


def _arrived(node: CoreNode, g: Any, recorded: bool) -> list[Any]:
    """The gradients of all outputs, as tensors; None for outputs that are no tensors."""
    gs = g if type(g) is list else [g]
    ctx = node.s
    found = []
    for i, (arrived, spec) in enumerate(zip(gs, node.t, strict=True)):
        c = arrived
        if c is None and ctx.materialize_grads and (ctx._materialize_non_diff_grads or i not in ctx._fixed):
            space: Any = F if recorded else space_of_type(type(next(v for v in gs if v is not None)))
            c = space.zeros(spec.shape, dtype=spec.dtype)
        found.append(c if c is None else STYLE.adopt(c) if type(c) is Core else wrap(c))
    if all(ctx._are_tensors):
        return found
    rest = iter(found)
    return [next(rest) if is_tensor else None for is_tensor in ctx._are_tensors]


def _gradients(node: CoreNode, gs: list[Any]) -> list[Any]:
    """What `backward` gives for each argument, checked, as tensors."""
    ctx = node.s
    cls = ctx._forward_cls
    found = backward_of(cls)(ctx, *gs)
    found = found if isinstance(found, tuple) else (found,)
    specs = ctx._specs
    while len(found) > len(specs) and found[-1] is None:
        found = found[:-1]
    if len(found) != len(specs):
        raise RuntimeError(
            f"function {cls.__name__}Backward returned an incorrect number of gradients (expected {len(specs)}, got {len(found)})"
        )
    given = next((g.array for g in gs if g is not None), None)
    return [_fitted(cls, i, c, s, given) for i, (c, s) in enumerate(zip(found, specs, strict=True))]


def _fitted(cls: Any, i: int, c: Any, spec: Any, given: Any) -> Any:
    if c is None:
        return None
    if not isinstance(c, Core):
        raise RuntimeError(f"expected Variable or None (got {type(c).__name__})")
    if spec is None:
        return None
    if type(c.array) is not type(given) and given is not None:
        c = wrap(beside(c.array, given), c.node)
    if c.array.shape != spec.shape:
        if not _expands(spec.shape, c.array.shape):
            raise RuntimeError(
                f"Function {cls.__name__}Backward returned an invalid gradient at index {i} - got {list(c.array.shape)} but expected "
                f"shape compatible with {list(spec.shape)}"
            )
        c = STYLE.sum_to(c, spec.shape)
    if c.array.dtype != spec.dtype:
        if c.array.dtype.kind == "c" and spec.dtype.kind != "c":
            c = STYLE.real(c)
        c = STYLE.astype(c, spec.dtype)
    return c


def _expands(small: tuple[int, ...], large: tuple[int, ...]) -> bool:
    extra = len(large) - len(small)
    return extra >= 0 and all(a in (1, b) for a, b in zip(small, large[extra:], strict=True))


def _pull(node: CoreNode, g: Any) -> None:
    before, state.active = state.active, EMPTY
    try:
        with LentFrom(node):
            found = _gradients(node, _arrived(node, g, False))
    finally:
        state.active = before
    _pass_on(node, [None if c is None else c.read()[0] for c in found])


def _pull_recorded(node: CoreNode, g: Any) -> None:
    with LentFrom(node):
        found = _gradients(node, _arrived(node, g, True))
    _pass_on(node, [None if c is None else linked(*c.read()) for c in found])


def _pass_on(node: CoreNode, found: list[Any]) -> None:
    assert type(node.q) is tuple
    for parent, c in zip(node.q, found, strict=True):
        if parent is not None and c is not None and parent.mark is node.mark:
            receive(parent, c)


def _push(node: CoreNode, tangents: tuple[Any, ...]) -> Any:
    before, state.active = state.active, EMPTY
    try:
        found = _tangents(node, tangents)
    finally:
        state.active = before
    made = tuple(t.read()[0] for t in found)
    return made if len(made) > 1 else made[0]


def _push_recorded(node: CoreNode, tangents: tuple[Any, ...]) -> Any:
    made = tuple(linked(*t.read()) for t in _tangents(node, tangents))
    return made if len(made) > 1 else made[0]


def _tangents(node: CoreNode, tangents: tuple[Any, ...]) -> list[Any]:
    ctx = node.s
    given = [_tangent(ctx, t, spec) for t, spec in zip(tangents, ctx._specs, strict=True)]
    before = [None if t is None else t._version for t in given]
    ctx._in_jvp = True
    try:
        found = ctx._forward_cls.jvp(ctx, *given)
    finally:
        ctx._in_jvp = False
    found = found if isinstance(found, tuple) else (found,)
    if len(found) != len(ctx._are_tensors):
        raise RuntimeError(
            f"expected {len(ctx._are_tensors)} tangents from the jvp of {ctx._forward_cls.__name__}, one for each output, got {len(found)}"
        )
    found = tuple(t for t, is_tensor in zip(found, ctx._are_tensors, strict=True) if is_tensor)
    for i in ctx._fixed:
        if found[i] is not None:
            raise RuntimeError(
                f"the jvp of {ctx._forward_cls.__name__} gives a tangent for output {i}, which has none: it is marked as "
                "non-differentiable or is not of a floating or complex dtype. You should return None at that position instead."
            )
    for out, arg in ctx._written.items():
        if found[out] is not given[arg] or found[out]._version == before[arg]:
            raise RuntimeError(
                f"An inplace custom Function is not modifying the forward mode gradients inplace: {ctx._forward_cls.__name__} writes into "
                f"argument {arg}, so its jvp function must modify the corresponding gradient inplace, and return it."
            )
    return [wrap(np.zeros(s.shape, s.dtype)) if t is None else t for t, s in zip(found, node.t, strict=True)]


def _tangent(ctx: Any, t: Any, spec: Any) -> Any:
    """What `jvp` is given for an argument: zeros where it has no tangent, None for what can have none."""
    if t is not None:
        return STYLE.adopt(linked(t.array, t.node)) if type(t) is Core else wrap(t)
    if spec is None or spec.dtype.kind not in "fcV" or not ctx.materialize_grads:
        return None
    return wrap(np.zeros(spec.shape, spec.dtype))


class FunctionOp(Recorded):
    """The steps of the engine for one Function."""

    __slots__ = ("backward_name", "cls")

    def __init__(self, cls: Any) -> None:
        super().__init__(cls.__name__, _pull, _pull_recorded, _push, _push_recorded)
        self.cls = cls
        self.backward_name = f"{cls.__name__}Backward"

    @staticmethod
    def shown(node: CoreNode) -> Any:
        """The `grad_fn` of a node: its context, in a form that holds the node, so that it may be followed when the output is gone.

        The context itself does not: the two would live until the next garbage collection.
        """
        found = SHOWN.get(id(node))
        if found is None or found._held is not node:
            found = object.__new__(node.s._forward_cls._shown_cls)
            found.__dict__ = node.s.__dict__
            found._held = node
            SHOWN[id(node)] = found
        return found

    @staticmethod
    def release(node: CoreNode) -> None:
        """Let go of what a context has kept."""
        node.s._kept = None
        node.s.to_save = ()
