"""The backward hooks of one call of a module.

They ride on two identities: one around the outputs, whose backward sees the gradients that come in, and one around the
inputs, whose backward sees those that go out.  The older kind rides on the last node that the module recorded.
"""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

from tapegrad.torch.nn.modules._names import is_tensor

if TYPE_CHECKING:
    from collections.abc import Callable


class BackwardHooks:
    """The full backward hooks, and those before the backward pass."""

    def __init__(self, module: Any, pre: list[Any], post: list[Any]) -> None:
        self.module = module
        self.pre = pre
        self.post = post
        self.inputs: list[int] = []
        self.count = 0
        self.watched = False
        self.grad_outputs: Any = None

    def around_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments, whose gradients will be seen."""
        self.count = len(args)
        self.inputs = [i for i, a in enumerate(args) if is_tensor(a)]
        self.watched = any(args[i].requires_grad for i in self.inputs)
        if not self.watched or not self.post:
            return args
        args_ = list(args)
        for i, t in zip(self.inputs, _identity(self._leaving, *(args[i] for i in self.inputs)), strict=True):
            args_[i] = t
        return tuple(args_)

    def around_outputs(self, result: Any) -> Any:
        """What the module gave, whose gradients will be seen; only a tensor or a tuple of them is looked into."""
        if is_tensor(result):
            if not result.requires_grad:
                return result
            (found,) = _identity(lambda grads: self._arriving(grads, [0], 1), result, as_they_came=True)
            return found
        if not isinstance(result, tuple):
            warnings.warn(
                "For backward hooks to be called, module output should be a Tensor or a tuple of Tensors "
                f"but received {type(result)}",
                stacklevel=5,
            )
            return result
        index = [i for i, y in enumerate(result) if is_tensor(y)]
        if not any(result[i].requires_grad for i in index):
            return result
        made = list(result)
        seen = _identity(lambda grads: self._arriving(grads, index, len(made)), *(result[i] for i in index), as_they_came=True)
        for i, t in zip(index, seen, strict=True):
            made[i] = t
        return type(result)(*made) if hasattr(result, "_fields") else tuple(made)

    def _arriving(self, grads: tuple[Any, ...], index: list[int], count: int) -> tuple[Any, ...]:
        full = _spread(grads, index, count)
        for hook in self.pre:
            found = hook(self.module, full)
            if found is not None:
                found = found if isinstance(found, tuple) else (found,)
                if len(found) != count:
                    raise RuntimeError(
                        f"Backward pre hook returned an invalid number of grad_output, got {len(found)}, but expected {count}"
                    )
                full = found
        self.grad_outputs = full
        if self.post and not self.watched:
            for hook in self.post:
                found = hook(self.module, (None,) * self.count, full)
                if found is not None and not (isinstance(found, tuple) and all(g is None for g in found)):
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None "
                        "or None for all gradients."
                    )
            self.grad_outputs = None
        return tuple(full[i] for i in index)

    def _leaving(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        found = _spread(grads, self.inputs, self.count)
        if self.grad_outputs is None:
            return grads  # no gradient came to the outputs of this call
        for hook in self.post:
            new = hook(self.module, found, self.grad_outputs)
            if new is not None:
                new = new if isinstance(new, tuple) else (new,)
                if len(new) != len(found):
                    raise RuntimeError(
                        f"Backward hook returned an invalid number of grad_input, got {len(new)}, but expected {len(found)}"
                    )
                found = new
        self.grad_outputs = None
        return tuple(found[i] for i in self.inputs)


def _spread(values: tuple[Any, ...], index: list[int], count: int) -> tuple[Any, ...]:
    """Values at their places, and None at the others."""
    full: list[Any] = [None] * count
    for i, value in zip(index, values, strict=True):
        full[i] = value
    return tuple(full)


def _identity(
    on_grads: Callable[[tuple[Any, ...]], tuple[Any, ...]], *tensors: Any, as_they_came: bool = False
) -> tuple[Any, ...]:
    """The tensors as they are, whose gradients pass through a function: with None for one that nobody has used, if `as_they_came`."""
    from tapegrad import torch
    from tapegrad.torch.autograd import Function

    class BackwardHookFunction(Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
            ctx.set_materialize_grads(False)
            ctx.zeros = [functools.partial(torch.zeros, a.shape, dtype=a.dtype, device=a.device) for a in args]
            return args

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return filled(ctx, on_grads(grads)) if as_they_came else on_grads(filled(ctx, grads))

    def filled(ctx: Any, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(zeros() if g is None else g for g, zeros in zip(grads, ctx.zeros, strict=True))

    found = BackwardHookFunction.apply(*tensors)
    return found if isinstance(found, tuple) else (found,)


# -- the older kind ----------------------------------------------------------------------------------------------
_FULL = "Please use register_full_backward_hook to get the documented behavior."


def ride_on_last_node(module: Any, hooks: list[Any], args: Any, result: Any) -> None:
    """Register hooks with the node that recorded the result, and warn of what such hooks don't see."""
    found = result
    while not is_tensor(found):
        found = next(v for v in found.values() if is_tensor(v)) if isinstance(found, dict) else found[0]
    node = found.grad_fn
    if node is None:
        return
    for hook in hooks:
        node.register_hook(functools.partial(_checked, hook, module))
    if warning := _unseen(args, result, node):
        warnings.warn(warning, FutureWarning, stacklevel=5)


def _checked(hook: Any, module: Any, grad_inputs: Any, grad_outputs: Any) -> Any:
    found = hook(module, grad_inputs, grad_outputs)
    if found is not None:
        found = found if isinstance(found, tuple) else (found,)
        if len(found) != len(grad_inputs):
            raise RuntimeError(
                f"hook {getattr(hook, '__name__', hook)!r} has returned an incorrect number of values "
                f"(got {len(found)}, but expected {len(grad_inputs)})"
            )
    return found


def _unseen(args: Any, result: Any, node: Any) -> str:
    """What a hook on the last node misses of the gradients of this call."""

    def tensors(values: Any) -> Any:
        if is_tensor(values):
            return (values,)
        return values if isinstance(values, tuple) and all(is_tensor(v) for v in values) else None

    outputs, inputs = tensors(result), tensors(args)
    start, end = "Using non-full backward hooks on a Module that does not", "is deprecated and will be removed in future versions. "
    if outputs is None:
        return f"{start} return a single Tensor or a tuple of Tensors {end}This hook will be missing some of the grad_output. {_FULL}"
    if inputs is None:
        return (
            f"{start} take as input a single Tensor or a tuple of Tensors {end}"
            f"This hook will be missing some of the grad_input. {_FULL}"
        )
    out_nodes = {y.grad_fn for y in outputs if y.grad_fn is not None}
    if len(out_nodes) > 1:
        return (
            f"Using a non-full backward hook when outputs are generated by different autograd Nodes {end}"
            f"This hook will be missing some grad_output. {_FULL}"
        )
    before = {x.grad_fn for x in inputs if x.grad_fn is not None}
    if before != {n for n, _ in node.next_functions}:
        return (
            f"Using a non-full backward hook when the forward contains multiple autograd Nodes {end}"
            f"This hook will be missing some grad_input. {_FULL}"
        )
    return ""
