"""`Module`: parameters, buffers and children by name, and what is done to all of them.

Names live in three dictionaries, `_parameters`, `_buffers` and `_modules`, which scripts look into; an attribute that is none
of an object's own is looked up there.
"""

from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import TYPE_CHECKING, Any

from tapegrad.torch.nn.modules import _hooks, _state
from tapegrad.torch.nn.modules._convert import Conversions
from tapegrad.torch.nn.modules._hooks import (
    register_module_backward_hook,
    register_module_buffer_registration_hook,
    register_module_forward_hook,
    register_module_forward_pre_hook,
    register_module_full_backward_hook,
    register_module_full_backward_pre_hook,
    register_module_module_registration_hook,
    register_module_parameter_registration_hook,
    registered,
)
from tapegrad.torch.nn.modules._names import claim, is_buffer, is_parameter, is_persistent, is_tensor, typename
from tapegrad.torch.nn.modules._walks import Walks

if TYPE_CHECKING:
    from typing import Self


class _IncompatibleKeys(namedtuple("_IncompatibleKeys", ["missing_keys", "unexpected_keys"])):
    """The names that a state lacked, and those that it had in excess."""

    __slots__ = ()

    def __repr__(self) -> str:
        return super().__repr__() if self.missing_keys or self.unexpected_keys else "<All keys matched successfully>"

    __str__ = __repr__


#: The dictionaries that every module has, and of which a copy gets its own.
_TABLES = (
    "_parameters",
    "_buffers",
    "_modules",
    "_backward_pre_hooks",
    "_backward_hooks",
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
    "_state_dict_hooks",
    "_state_dict_pre_hooks",
    "_load_state_dict_pre_hooks",
    "_load_state_dict_post_hooks",
)


class Module(_hooks.Hooks, Walks, Conversions):
    """The base of all layers and models: subclasses register parameters by assignment, and compute in `forward`."""

    dump_patches = False
    training: bool
    call_super_init = False
    _version = 1

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if self.call_super_init is False and (args or kwargs):
            given = next(iter(kwargs), None)
            if given is not None:
                raise TypeError(f"{type(self).__name__}.__init__() got an unexpected keyword argument '{given}'")
            raise TypeError(
                f"{type(self).__name__}.__init__() takes 1 positional argument but {len(args) + 1} were given"
            )
        mine = self.__dict__
        mine["training"] = True
        for table in _TABLES:
            mine[table] = OrderedDict() if table.endswith("hooks") else {}
        mine["_non_persistent_buffers_set"] = set()
        mine["_is_full_backward_hook"] = None
        if self.call_super_init:
            super().__init__(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """What the module computes; a subclass defines it."""
        raise NotImplementedError(f'Module [{type(self).__name__}] is missing the required "forward" function')

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            hooked = (
                self._forward_hooks
                or self._forward_pre_hooks
                or self._backward_hooks
                or self._backward_pre_hooks
                or _hooks.GLOBAL
            )
        except AttributeError:
            self._check_initialised()
            raise
        if hooked:
            return _hooks.call(self, args, kwargs)
        return self.forward(*args, **kwargs)

    def _check_initialised(self) -> None:
        if "_parameters" not in self.__dict__:
            raise AttributeError(f"'{type(self).__name__}' object has no attribute '_parameters': "
                                 "call super().__init__() first")  # fmt: skip

    # -- registration ------------------------------------------------------------------------------------------
    def register_buffer(self, name: str, tensor: Any, persistent: bool = True) -> None:
        """Add a tensor that is no parameter, and is part of the state unless it isn't persistent."""
        claim(self, name, "_buffers", "buffer")
        if tensor is not None and not is_tensor(tensor):
            raise TypeError(
                f"cannot assign '{typename(tensor)}' object to buffer '{name}' (torch Tensor or None required)"
            )
        self._buffers[name] = registered("buffer", self, name, tensor)
        self._mark_persistent(name, persistent)

    def _mark_persistent(self, name: str, persistent: bool) -> None:
        if persistent:
            self._non_persistent_buffers_set.discard(name)
        else:
            self._non_persistent_buffers_set.add(name)

    def register_parameter(self, name: str, param: Any) -> None:
        """Add a parameter, or None in the place of one."""
        claim(self, name, "_parameters", "parameter")
        if param is None:
            self._parameters[name] = None
            return
        if not is_parameter(param):
            raise TypeError(
                f"cannot assign '{typename(param)}' object to parameter '{name}' (torch.nn.Parameter or None required)"
            )
        if param.grad_fn is not None:
            raise ValueError(
                f"Cannot assign non-leaf Tensor to parameter '{name}'. Model parameters must be created explicitly. "
                f"To express '{name}' as a function of another Tensor, compute the value in the forward() method."
            )
        self._parameters[name] = registered("parameter", self, name, param)

    def add_module(self, name: str, module: Module | None) -> None:
        """Add a child, or None in the place of one."""
        if module is not None and not isinstance(module, Module):
            raise TypeError(f"{typename(module)} is not a Module subclass")
        claim(self, name, "_modules", "module")
        self._modules[name] = registered("module", self, name, module)

    def register_module(self, name: str, module: Module | None) -> None:
        """Alias of `add_module`."""
        self.add_module(name, module)

    # -- attributes --------------------------------------------------------------------------------------------
    def __getattr__(self, name: str) -> Any:
        mine = self.__dict__
        for table in ("_modules", "_parameters", "_buffers"):
            if table in mine and name in mine[table]:
                return mine[table][name]
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __setattr__(self, name: str, value: Any) -> None:
        mine = self.__dict__
        params = mine.get("_parameters")
        if is_parameter(value):
            if params is None:
                raise AttributeError("cannot assign parameters before Module.__init__() call")
            self._forget(name, "_parameters")
            self.register_parameter(name, value)
        elif params is not None and name in params:
            if value is not None:
                raise TypeError(
                    f"cannot assign '{typename(value)}' as parameter '{name}' (torch.nn.Parameter or None expected)"
                )
            self.register_parameter(name, value)
        elif isinstance(value, Module):
            if params is None:
                raise AttributeError("cannot assign module before Module.__init__() call")
            self._forget(name, "_modules")
            self._modules[name] = registered("module", self, name, value)
        elif params is not None and name in self._modules:
            if value is not None:
                raise TypeError(f"cannot assign '{typename(value)}' as child module '{name}' (torch.nn.Module or None expected)")
            self._modules[name] = registered("module", self, name, value)
        else:
            self._set_buffer_or_plain(name, value)

    def _set_buffer_or_plain(self, name: str, value: Any) -> None:
        buffers = self.__dict__.get("_buffers")
        if buffers is not None and (name in buffers or is_buffer(value)):
            if value is not None and not is_tensor(value):
                raise TypeError(
                    f"cannot assign '{typename(value)}' as buffer '{name}' (torch.nn.Buffer, torch.Tensor or None expected)"
                )
            if is_buffer(value):
                if name not in buffers:
                    self._forget(name, "_buffers")
                    claim(self, name, "_buffers", "buffer")
                self._mark_persistent(name, is_persistent(value))
            buffers[name] = registered("buffer", self, name, value)
        elif is_buffer(value):
            raise AttributeError("cannot assign buffer before Module.__init__() call")
        else:
            object.__setattr__(self, name, value)

    def _forget(self, name: str, but: str) -> None:
        """Take a name out of where else it is registered."""
        self.__dict__.pop(name, None)
        for table in ("_parameters", "_buffers", "_modules"):
            if table != but:
                self.__dict__[table].pop(name, None)
        self._non_persistent_buffers_set.discard(name)

    def __delattr__(self, name: str) -> None:
        for table in ("_parameters", "_buffers", "_modules"):
            if name in self.__dict__[table]:
                del self.__dict__[table][name]
                self._non_persistent_buffers_set.discard(name)
                return
        object.__delattr__(self, name)

    def __dir__(self) -> list[str]:
        names = [*dir(type(self)), *self.__dict__, *self._parameters, *self._modules, *self._buffers]
        return sorted(name for name in set(names) if not name[:1].isdigit())

    # -- modes -------------------------------------------------------------------------------------------------
    def train(self, mode: bool = True) -> Self:
        """Set training mode, here and below; or evaluation mode."""
        if not isinstance(mode, bool):
            raise ValueError("training mode is expected to be boolean")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """Set evaluation mode, here and below."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Say whether the parameters learn."""
        for p in self.parameters():
            p.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the parameters' gradients, or fill them with zeros."""
        for p in self.parameters():
            if p.grad is None:
                continue
            if set_to_none:
                p.grad = None
            else:
                p.grad = p.grad.detach().zero_()

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Nothing is compiled: the module runs eagerly, with the same results."""

    # -- state -------------------------------------------------------------------------------------------------
    def get_extra_state(self) -> Any:
        """What a subclass wants in its state besides tensors."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state: Any) -> None:
        """Take back what `get_extra_state` gave."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        _state.save_own(self, destination, prefix, keep_vars)

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """All parameters and persistent buffers by dotted name, sharing their memory."""
        given = dict(zip(("destination", "prefix", "keep_vars"), args, strict=False))
        destination = given.get("destination", destination)
        return _state.save(self, destination, given.get("prefix", prefix), given.get("keep_vars", keep_vars))

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        _state.load_own(self, state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        """Copy a state into parameters and buffers; with `strict`, every name must match."""
        return _IncompatibleKeys(*_state.load(self, state_dict, strict, assign))

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        for table in _TABLES:
            self.__dict__.setdefault(table, OrderedDict() if table.endswith("hooks") else {})
        self.__dict__.setdefault("_non_persistent_buffers_set", set())
        self.__dict__.setdefault("_is_full_backward_hook", None)

    def _replicate_for_data_parallel(self) -> Module:
        twin: Module = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        for table in ("_parameters", "_buffers", "_modules"):
            twin.__dict__[table] = dict(self.__dict__[table])
        return twin

    # -- text --------------------------------------------------------------------------------------------------
    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands between the brackets of the text form."""
        return ""

    def __repr__(self) -> str:
        extra = self.extra_repr()
        own = extra.split("\n") if extra else []
        below = [f"({name}): {_addindent(repr(module), 2)}" for name, module in self._modules.items()]
        if len(own) == 1 and not below:
            return f"{self._get_name()}({own[0]})"
        if not own and not below:
            return f"{self._get_name()}()"
        return f"{self._get_name()}(\n  " + "\n  ".join(own + below) + "\n)"


def _addindent(s_: str, numSpaces: int) -> str:
    """A text whose lines but the first are moved in."""
    first, *rest = s_.split("\n")
    return "\n".join([first, *(" " * numSpaces + line for line in rest)])


__all__ = [
    "Module",
    "register_module_backward_hook",
    "register_module_buffer_registration_hook",
    "register_module_forward_hook",
    "register_module_forward_pre_hook",
    "register_module_full_backward_hook",
    "register_module_full_backward_pre_hook",
    "register_module_module_registration_hook",
    "register_module_parameter_registration_hook",
]
