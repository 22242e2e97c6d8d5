"""`Optimizer`: groups of parameters with their options, the state that belongs to each parameter, and both as a dictionary."""

from __future__ import annotations

import functools
import warnings
from collections import OrderedDict, defaultdict
from copy import deepcopy
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tapegrad.torch.nn.modules._names import is_tensor, typename
from tapegrad.torch.utils.hooks import RemovableHandle

if TYPE_CHECKING:
    from collections.abc import Callable


class _Required:
    """Stands for an option that has no default."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()

_pre_hooks: OrderedDict[int, Any] = OrderedDict()
_post_hooks: OrderedDict[int, Any] = OrderedDict()


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` before the step of every optimizer."""
    return _added(_pre_hooks, hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call `hook(optimizer, args, kwargs)` after the step of every optimizer."""
    return _added(_post_hooks, hook)


def _added(hooks: OrderedDict[int, Any], hook: Any, prepend: bool = False) -> RemovableHandle:
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """A step with the hooks around it."""

    @functools.wraps(step)
    def wrapper(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        self._opt_called = True
        if not (_pre_hooks or _post_hooks or self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks):
            return step(self, *args, **kwargs)
        given: tuple[Any, ...] = (self, *args)
        for hook in chain(_pre_hooks.values(), self._optimizer_step_pre_hooks.values()):
            found = hook(self, given, kwargs)
            if found is not None:
                if not (isinstance(found, tuple) and len(found) == 2):
                    raise RuntimeError(f"{step} must return None or a tuple of (new_args, new_kwargs), but got {found}.")
                given, kwargs = found
        out = step(*given, **kwargs)
        for hook in chain(self._optimizer_step_post_hooks.values(), _post_hooks.values()):
            hook(self, given, kwargs)
        return out

    wrapper.hooked = True  # type: ignore[attr-defined]
    return wrapper


class Optimizer:
    """The base of all optimizers: a subclass gives its defaults and defines `step`."""

    _opt_called = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        step = cls.__dict__.get("step")
        if step is not None and not hasattr(step, "hooked"):
            cls.step = _hooked(step)  # type: ignore[method-assign]

    def __init__(self, params: Any, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        for name in ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post"):
            setattr(self, f"_optimizer_{name}_hooks", OrderedDict())
        if is_tensor(params):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                f"but got {typename(params)}"
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(dict(group))

    #: Of an optimizer around another, which may never have been through `__init__`: none, and none can be added.
    _optimizer_step_pre_hooks: Any = MappingProxyType({})
    _optimizer_step_post_hooks: Any = MappingProxyType({})
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Any]

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters, with options that differ from the defaults."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if is_tensor(params):
            params = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets "
                "will change between runs. Please use a list instead."
            )
        params = list(params)
        if len({isinstance(p, tuple) for p in params}) > 1:
            raise ValueError("all optimizer params should be with/without names. Some param names are missing")
        if params and isinstance(params[0], tuple):  # named parameters
            param_group["param_names"] = [name for name, _ in params]
            params = [p for _, p in params]
        param_group["params"] = params
        for p in params:
            if not is_tensor(p):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {typename(p)}")
            if not hasattr(p, "is_leaf"):
                raise TypeError(
                    f"optimizer can only optimize Tensors of PyTorch's style, but one of the params is {typename(p)}; "
                    "write torch.nn.Parameter(torch.as_tensor(p)), or use tapegrad.tf.optimizers, which take variables"
                )
            if not self.defaults.get("differentiable") and not (p.is_leaf or p.retains_grad):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, default)
        if len({id(p) for p in params}) != len(params):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; "
                "see github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        known = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in known for p in params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients, or fill them with zeros."""
        for group in self.param_groups:
            for p in group["params"]:
                if set_to_none:
                    p.grad = None
                elif p.grad is not None:
                    p.grad = p.grad.detach().zero_()

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters; `closure` computes the loss anew."""
        raise NotImplementedError

    # -- hooks -------------------------------------------------------------------------------------------------
    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` before each step."""
        return _added(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(optimizer, args, kwargs)` after each step."""
        return _added(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` before the state is made."""
        return _added(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` when the state was made; what it gives replaces it."""
        return _added(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer, state_dict)` before a state is loaded; what it gives replaces it."""
        return _added(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call `hook(optimizer)` when a state was loaded."""
        return _added(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    # -- state -------------------------------------------------------------------------------------------------
    def state_dict(self) -> dict[str, Any]:
        """The state of each parameter by its number, and the groups with these numbers in the place of parameters."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        for group in self.param_groups:
            for p in group["params"]:
                numbers.setdefault(id(p), len(numbers))
            packed = {k: v for k, v in group.items() if k != "params"}
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {(numbers[id(k)] if is_tensor(k) else k): v for k, v in self.state.items()}
        found: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            found = hook(self, found) or found
        return found

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over a state that was made by an optimizer of as many parameters in as many groups."""
        given = dict(state_dict)
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            given = hook(self, given) or given
        groups, saved = self.param_groups, deepcopy(given["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(mine["params"]) != len(theirs["params"]) for mine, theirs in zip(groups, saved, strict=True)):
            raise ValueError("loaded state dict contains a parameter group that doesn't match the size of optimizer's group")
        ours = {
            number: p
            for mine, theirs in zip(groups, saved, strict=True)
            for number, p in zip(theirs["params"], mine["params"], strict=True)
        }
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in given["state"].items():
            if key in ours:
                state[ours[key]] = _fitted(ours[key], value)
            else:
                state[key] = value
        for mine, theirs in zip(groups, saved, strict=True):
            theirs["params"] = mine["params"]
            if "param_names" in mine and "param_names" not in theirs:
                theirs["param_names"] = mine["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for name in ("step_pre", "step_post", "state_dict_pre", "state_dict_post", "load_state_dict_pre", "load_state_dict_post"):
            self.__dict__.setdefault(f"_optimizer_{name}_hooks", OrderedDict())
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        lines = [f"{type(self).__name__} ("]
        for i, group in enumerate(self.param_groups):
            lines += [*([""] if i else []), f"Parameter Group {i}"]
            lines += [f"    {key}: {group[key]}" for key in sorted(group) if key != "params"]
        return "\n".join([*lines, ")"])


def _fitted(param: Any, value: Any, key: Any = None) -> Any:
    """A loaded value in the dtype and on the device of its parameter; counts of steps stay as they are."""
    if is_tensor(value):
        if key == "step":
            return value.detach().clone()
        if param.is_floating_point() or param.is_complex():
            return value.detach().to(device=param.device, dtype=param.dtype, copy=True)
        return value.detach().to(device=param.device, copy=True)
    if isinstance(value, dict):
        return {k: _fitted(param, v, k) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_fitted(param, v) for v in value)
    return value


def checked(**bounds: Any) -> None:
    """Raise for an option out of its bounds, given as `name=(words, value, ok)`."""
    for words, value, ok in bounds.values():
        if is_tensor(value) and value.numel() != 1:
            raise ValueError(f"Tensor {'lr' if words == 'learning rate' else words} must be 1-element")
        if not ok:
            raise ValueError(f"Invalid {words}: {value}")


_use_grad_for_differentiable = _hooked
