"""Parameters that are computed from others: a module in the place of a tensor."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tapegrad.torch.nn.modules.container import ModuleDict, ModuleList
from tapegrad.torch.nn.parameter import Parameter

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "type_before_parametrizations",
]  # fmt: skip

_CACHE: dict[str, Any] = {"depth": 0, "values": {}}


@contextmanager
def cached() -> Iterator[None]:
    """A context in which each parametrized tensor is computed once."""
    _CACHE["depth"] += 1
    try:
        yield
    finally:
        _CACHE["depth"] -= 1
        if not _CACHE["depth"]:
            _CACHE["values"] = {}


class ParametrizationList(ModuleList):
    """The modules that a tensor goes through, and what it begins with."""

    def __init__(self, modules: Any, original: Any, unsafe: bool = False) -> None:
        from tapegrad.torch._modes import no_grad
        from tapegrad.torch._tensor import Tensor

        super().__init__(modules)
        self.unsafe = unsafe
        new = original
        with no_grad():
            for module in reversed(list(self)):
                if hasattr(module, "right_inverse"):
                    new = module.right_inverse(new)
        self.is_tensor = isinstance(new, Tensor)
        parts = [("original", new)] if self.is_tensor else [(f"original{i}", v) for i, v in enumerate(new)]
        self.ntensors = len(parts)
        for name, value in parts:
            if isinstance(original, Parameter):
                if value is original:
                    self.register_parameter(name, original)
                else:
                    self.register_parameter(name, Parameter(value, requires_grad=original.requires_grad))
            else:
                self.register_buffer(name, value)

    def right_inverse(self, value: Any) -> None:
        """Let the tensor have this value, by the inverses of its modules."""
        from tapegrad.torch._modes import no_grad

        with no_grad():
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
            if self.is_tensor:
                self.original.copy_(value)
            else:
                for i, v in enumerate(value):
                    getattr(self, f"original{i}").copy_(v)

    def forward(self) -> Any:
        first, *rest = list(self)
        given = (self.original,) if self.is_tensor else tuple(getattr(self, f"original{i}") for i in range(self.ntensors))
        x = first(*given)
        for module in rest:
            x = module(x)
        return x


def _inject(module: Any) -> None:
    """Give a module a class of its own, on which parametrized tensors are properties."""
    cls = type(module)
    made = type(f"Parametrized{cls.__name__}", (cls,), {"__module__": cls.__module__, "_before": cls})
    module.__class__ = made
    module.parametrizations = ModuleDict()


def _property(name: str) -> Any:
    def get(self: Any) -> Any:
        if _CACHE["depth"]:
            key = (id(self), name)
            if key not in _CACHE["values"]:
                _CACHE["values"][key] = self.parametrizations[name]()
            return _CACHE["values"][key]
        return self.parametrizations[name]()

    def put(self: Any, value: Any) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, put)


def is_parametrized(module: Any, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrized tensors, or this one."""
    found = module.__dict__.get("_modules", {}).get("parametrizations")
    if found is None or not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def register_parametrization(module: Any, tensor_name: str, parametrization: Any, *, unsafe: bool = False) -> Any:
    """Let a tensor of a module be what another module computes from it."""
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        module.parametrizations[tensor_name].append(parametrization)
        return module
    if tensor_name not in module._parameters and tensor_name not in module._buffers:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a parametrized element with name '{tensor_name}'"
        )
    original = getattr(module, tensor_name)
    made = ParametrizationList([parametrization], original, unsafe=unsafe)
    delattr(module, tensor_name)
    if not is_parametrized(module):
        _inject(module)
    setattr(type(module), tensor_name, _property(tensor_name))
    module.parametrizations[tensor_name] = made
    return module


def remove_parametrizations(module: Any, tensor_name: str, leave_parametrized: bool = True) -> Any:
    """Let a tensor of a module be a parameter, or a buffer, again."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parts = module.parametrizations[tensor_name]
    learned = "original" in parts._parameters or "original0" in parts._parameters
    if leave_parametrized:
        value = getattr(module, tensor_name).detach()
    elif parts.is_tensor:
        value = parts.original
    else:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is parametrized in terms of a "
                         "sequence of tensors.")  # fmt: skip
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if not is_parametrized(module):
        del module._modules["parametrizations"]
        module.__class__ = type(module)._before
    if learned:
        module.register_parameter(tensor_name, value if isinstance(value, Parameter) else Parameter(value))
    else:
        module.register_buffer(tensor_name, value)
    return module


def type_before_parametrizations(module: Any) -> type:
    """The class of a module as it was before it had parametrized tensors."""
    return type(module)._before if is_parametrized(module) else type(module)
