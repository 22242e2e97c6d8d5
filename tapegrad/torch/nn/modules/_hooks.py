"""Hooks of modules: before and after the forward pass, before and after the backward pass, of one module or of all.

The backward hooks ride on two identities: one around the outputs, whose backward sees the gradients that come in, and one
around the inputs, whose backward sees those that go out.
"""

from __future__ import annotations

import warnings
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from tapegrad.torch.nn.modules._names import is_tensor
from tapegrad.torch.utils.hooks import RemovableHandle

if TYPE_CHECKING:
    from collections.abc import Callable

#: Hooks of all modules by kind, and all of them together: a call asks whether there is any.
GLOBAL: dict[int, Any] = {}
_GLOBAL: dict[str, OrderedDict[int, Any]] = {
    kind: OrderedDict() for kind in ("forward_pre", "forward", "backward_pre", "backward")
}
_GLOBAL_WITH_KWARGS: dict[int, bool] = {}
_GLOBAL_ALWAYS: dict[int, bool] = {}


class Hooks:
    """Registration, as methods of a module."""

    _backward_pre_hooks: dict[int, Any]
    _backward_hooks: dict[int, Any]
    _is_full_backward_hook: bool | None
    _forward_hooks: dict[int, Any]
    _forward_hooks_with_kwargs: dict[int, bool]
    _forward_hooks_always_called: dict[int, bool]
    _forward_pre_hooks: dict[int, Any]
    _forward_pre_hooks_with_kwargs: dict[int, bool]
    _state_dict_hooks: dict[int, Any]
    _state_dict_pre_hooks: dict[int, Any]
    _load_state_dict_pre_hooks: dict[int, Any]
    _load_state_dict_post_hooks: dict[int, Any]

    def register_forward_pre_hook(
        self, hook: Callable[..., Any], *, prepend: bool = False, with_kwargs: bool = False
    ) -> RemovableHandle:
        """Call `hook(module, args)` before the forward pass; what it gives replaces the arguments."""
        handle = _add(self._forward_pre_hooks, hook, prepend, self._forward_pre_hooks_with_kwargs)
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        return handle

    def register_forward_hook(
        self,
        hook: Callable[..., Any],
        *,
        prepend: bool = False,
        with_kwargs: bool = False,
        always_call: bool = False,
    ) -> RemovableHandle:
        """Call `hook(module, args, output)` after the forward pass; what it gives replaces the output."""
        extra = [self._forward_hooks_with_kwargs, self._forward_hooks_always_called]
        handle = _add(self._forward_hooks, hook, prepend, extra)
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return handle

    def register_full_backward_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_output)` before the backward pass; what it gives replaces the gradients."""
        return _add(self._backward_pre_hooks, hook, prepend)

    def register_full_backward_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(module, grad_input, grad_output)` after the backward pass; what it gives replaces `grad_input`."""
        self._one_kind(True)
        return _add(self._backward_hooks, hook, prepend)

    def register_backward_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """The older form of `register_full_backward_hook`, which does the same here."""
        self._one_kind(False)
        return _add(self._backward_hooks, hook, False)

    def _one_kind(self, full: bool) -> None:
        if self._is_full_backward_hook not in (None, full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a single Module. "
                "Please use only one of them."
            )
        self._is_full_backward_hook = full

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        return _add(self._state_dict_hooks, hook, False)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` when the state was made."""

        def post(*args: Any) -> None:
            if hook(*args) is not None:
                raise RuntimeError("state_dict post-hook must return None")

        return _add(self._state_dict_hooks, post, False)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the state is made."""
        return _add(self._state_dict_pre_hooks, hook, False)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, ...)` before a state is loaded."""
        return _add(self._load_state_dict_pre_hooks, lambda *args: hook(self, *args), False)

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any], with_module: bool = False) -> RemovableHandle:
        return _add(self._load_state_dict_pre_hooks, (lambda *a: hook(self, *a)) if with_module else hook, False)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` when a state was loaded."""
        return _add(self._load_state_dict_post_hooks, hook, False)


def _add(hooks: Any, hook: Any, prepend: bool, extra: Any = None) -> RemovableHandle:
    handle = RemovableHandle(hooks, extra_dict=extra)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _add_global(kind: str, hook: Any, *extra: Any) -> RemovableHandle:
    handle = RemovableHandle(_GLOBAL[kind], extra_dict=[GLOBAL, *extra])
    _GLOBAL[kind][handle.id] = hook
    GLOBAL[handle.id] = kind
    for table in extra:
        table[handle.id] = True
    return handle


def register_module_forward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, args)` before the forward pass of every module."""
    return _add_global("forward_pre", hook)


def register_module_forward_hook(
    hook: Callable[..., Any], *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after the forward pass of every module."""
    extra = [t for t, wanted in ((_GLOBAL_WITH_KWARGS, with_kwargs), (_GLOBAL_ALWAYS, always_call)) if wanted]
    return _add_global("forward", hook, *extra)


def register_module_full_backward_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_output)` before the backward pass of every module."""
    return _add_global("backward_pre", hook)


def register_module_full_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after the backward pass of every module."""
    return _add_global("backward", hook)


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """The older form of `register_module_full_backward_hook`, which does the same here."""
    return _add_global("backward", hook)


# -- a call with hooks -----------------------------------------------------------------------------------------
def call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The forward pass with everything that hooks into it."""
    called: set[int] = set()
    try:
        return _call(module, args, kwargs, called)
    except Exception:
        _always(module, args, kwargs, called)
        raise


def _always(module: Any, args: Any, kwargs: Any, called: set[int]) -> None:
    """Hooks that are called even where the forward pass fails."""
    for hooks, always, words in (
        (_GLOBAL["forward"], _GLOBAL_ALWAYS, _GLOBAL_WITH_KWARGS),
        (module._forward_hooks, module._forward_hooks_always_called, module._forward_hooks_with_kwargs),
    ):
        for key, hook in hooks.items():
            if key in always and key not in called:
                try:
                    hook(module, args, kwargs, None) if key in words else hook(module, args, None)
                except Exception as error:
                    warnings.warn(f"module forward hook with ``always_call=True`` raised an exception: {error}", stacklevel=2)


def _call(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any], called: set[int]) -> Any:
    for key, hook in [*_GLOBAL["forward_pre"].items(), *module._forward_pre_hooks.items()]:
        if key in module._forward_pre_hooks_with_kwargs:
            found = hook(module, args, kwargs)
            if found is not None:
                if not (isinstance(found, tuple) and len(found) == 2):
                    raise RuntimeError(f"forward pre-hook must return None or a tuple of (new_args, new_kwargs), but got {found}.")
                args, kwargs = found
        else:
            found = hook(module, args)
            if found is not None:
                args = found if isinstance(found, tuple) else (found,)
    backward = _Backward(module)
    if backward.wanted:
        args = backward.around_inputs(args)
    result = module.forward(*args, **kwargs)
    for key, hook in [*_GLOBAL["forward"].items(), *module._forward_hooks.items()]:
        called.add(key)
        with_kwargs = key in module._forward_hooks_with_kwargs or key in _GLOBAL_WITH_KWARGS
        found = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
        if found is not None:
            result = found
    return backward.around_outputs(result) if backward.wanted else result


class _Backward:
    """The backward hooks of one call."""

    def __init__(self, module: Any) -> None:
        self.module = module
        self.pre = [*_GLOBAL["backward_pre"].values(), *module._backward_pre_hooks.values()]
        self.post = [*_GLOBAL["backward"].values(), *module._backward_hooks.values()]
        self.wanted = bool(self.pre or self.post)
        self.inputs: list[int] = []
        self.count = 0
        self.watched = False
        self.grad_outputs: Any = None

    def around_inputs(self, args: tuple[Any, ...]) -> tuple[Any, ...]:
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
        if is_tensor(result):
            found = _identity(self._arriving, result) if result.requires_grad else (result,)
            return found[0]
        if isinstance(result, (tuple, list)):
            index = [i for i, y in enumerate(result) if is_tensor(y)]
            if not any(result[i].requires_grad for i in index):
                return result
            made = list(result)
            for i, t in zip(index, _identity(self._arriving, *(result[i] for i in index)), strict=True):
                made[i] = t
            return type(result)(*made) if hasattr(result, "_fields") else type(result)(made)
        return result

    def _arriving(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        for hook in self.pre:
            found = hook(self.module, grads)
            if found is not None:
                grads = found if isinstance(found, tuple) else (found,)
        self.grad_outputs = grads
        if self.post and not self.watched:
            for hook in self.post:
                if hook(self.module, (None,) * self.count, grads) is not None:
                    raise RuntimeError(
                        "Backward hook for Modules where no input requires gradient should always return None "
                        "or None for all gradients."
                    )
        return grads

    def _leaving(self, grads: tuple[Any, ...]) -> tuple[Any, ...]:
        full: list[Any] = [None] * self.count
        for i, g in zip(self.inputs, grads, strict=True):
            full[i] = g
        found = tuple(full)
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


def _identity(on_grads: Callable[[tuple[Any, ...]], tuple[Any, ...]], *tensors: Any) -> tuple[Any, ...]:
    """The tensors as they are, whose gradients pass through a function."""
    from tapegrad.torch.autograd import Function

    class BackwardHookFunction(Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            ctx.mark_non_differentiable(*[a for a in args if not a.requires_grad])
            return args

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return on_grads(grads)

    found = BackwardHookFunction.apply(*tensors)
    return found if isinstance(found, tuple) else (found,)
