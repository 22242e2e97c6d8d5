"""Hooks of modules: before and after the forward pass, before and after the backward pass, at registration; of one module or of all."""

from __future__ import annotations

import warnings
import weakref
from collections import OrderedDict
from typing import TYPE_CHECKING, Any

from tapegrad.torch.nn.modules._backward_hooks import BackwardHooks, ride_on_last_node
from tapegrad.torch.utils.hooks import RemovableHandle

if TYPE_CHECKING:
    from collections.abc import Callable

#: Hooks of all modules by kind, and all of them together: a call asks whether there is any.
GLOBAL: dict[int, Any] = {}
_GLOBAL: dict[str, OrderedDict[int, Any]] = {
    kind: OrderedDict() for kind in ("forward_pre", "forward", "backward_pre", "backward", "older_backward")
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
        """The older form of `register_full_backward_hook`: the hook sees the gradients of the last node alone."""
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
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError("Cannot register the same function as the state dict post hook that was previously registered "
                               "via register_state_dict_post_hook")  # fmt: skip
        return _add(self._state_dict_hooks, hook, False)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, local_metadata)` when the state was made."""
        hook._from_public_api = True  # type: ignore[attr-defined]
        return _add(self._state_dict_hooks, hook, False)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, prefix, keep_vars)` before the state is made."""
        return _add(self._state_dict_pre_hooks, hook, False)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, state_dict, prefix, ...)` before a state is loaded."""
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def _register_load_state_dict_pre_hook(self, hook: Callable[..., Any], with_module: bool = False) -> RemovableHandle:
        return _add(self._load_state_dict_pre_hooks, LoadHook(hook, self if with_module else None), False)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(module, incompatible_keys)` when a state was loaded."""
        return _add(self._load_state_dict_post_hooks, hook, False)


class LoadHook:
    """A hook before a state is loaded, with the module that it is to be given: by a weak reference, and in pickles by itself."""

    def __init__(self, hook: Callable[..., Any], module: Any = None) -> None:
        self.hook = hook
        self.with_module = module is not None
        self._module = weakref.ref(module) if module is not None else None

    def __call__(self, *args: Any) -> Any:
        if not self.with_module:
            return self.hook(*args)
        module = self._module() if self._module is not None else None
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args)

    def __getstate__(self) -> dict[str, Any]:
        return {"hook": self.hook, "with_module": self.with_module, "module": self._module() if self._module else None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.hook, self.with_module = state["hook"], state["with_module"]
        self._module = weakref.ref(state["module"]) if state["module"] is not None else None


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
    return _add_backward("backward", hook, "older_backward")


def register_module_backward_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """The older form of `register_module_full_backward_hook`: the hook sees the gradients of the last node alone."""
    return _add_backward("older_backward", hook, "backward")


def _add_backward(kind: str, hook: Callable[..., Any], other: str) -> RemovableHandle:
    if _GLOBAL[other]:
        raise RuntimeError(
            "Cannot use both regular backward hooks and full backward hooks as a global Module hook. Please use only one of them."
        )
    return _add_global(kind, hook)


# -- registration of parameters, buffers and children ------------------------------------------------------------
_AT_REGISTRATION: dict[str, OrderedDict[int, Any]] = {kind: OrderedDict() for kind in ("buffer", "module", "parameter")}


def register_module_buffer_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, buffer)` when any module registers a buffer; what it gives is registered instead."""
    return _add(_AT_REGISTRATION["buffer"], hook, False)


def register_module_module_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, submodule)` when any module registers a child; what it gives is registered instead."""
    return _add(_AT_REGISTRATION["module"], hook, False)


def register_module_parameter_registration_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(module, name, param)` when any module registers a parameter; what it gives is registered instead."""
    return _add(_AT_REGISTRATION["parameter"], hook, False)


def registered(kind: str, module: Any, name: str, value: Any) -> Any:
    """What is registered in the end: the value, or what the hooks put in its place."""
    for hook in _AT_REGISTRATION[kind].values():
        found = hook(module, name, value)
        if found is not None:
            value = found
    return value


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
    backward = _backward_hooks(module)
    if backward is not None:
        args = backward.around_inputs(args)
    result = module.forward(*args, **kwargs)
    for key, hook in [*_GLOBAL["forward"].items(), *module._forward_hooks.items()]:
        called.add(key)
        with_kwargs = key in module._forward_hooks_with_kwargs or key in _GLOBAL_WITH_KWARGS
        found = hook(module, args, kwargs, result) if with_kwargs else hook(module, args, result)
        if found is not None:
            result = found
    if backward is not None:
        result = backward.around_outputs(result)
    older = _older_hooks(module)
    if older:
        ride_on_last_node(module, older, args, result)
    return result


def _backward_hooks(module: Any) -> BackwardHooks | None:
    """The full backward hooks of a call, if there are any."""
    pre = [*_GLOBAL["backward_pre"].values(), *module._backward_pre_hooks.values()]
    post = [*_GLOBAL["backward"].values()]
    if module._is_full_backward_hook is not False:
        post += module._backward_hooks.values()
    return BackwardHooks(module, pre, post) if pre or post else None


def _older_hooks(module: Any) -> list[Any]:
    """Backward hooks of the older kind, which are registered with the last node."""
    own = module._backward_hooks.values() if module._is_full_backward_hook is False else ()
    return [*_GLOBAL["older_backward"].values(), *own]
